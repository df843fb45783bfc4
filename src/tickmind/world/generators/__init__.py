"""Scenarios from a seed, as text that can be read, changed and kept."""

from tickmind.world.generators.caves import generate_caves
from tickmind.world.generators.island import generate_island
from tickmind.world.generators.village import generate_village

__all__ = ["generate_caves", "generate_island", "generate_village"]
