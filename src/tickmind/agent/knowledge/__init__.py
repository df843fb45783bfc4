"""The knowledge of a character from its own observations: tiles, ways, others, things and talk."""

from tickmind.agent.knowledge.paths import direction_to, distance, find_path, nearest_tile
from tickmind.agent.knowledge.speech import Speech, SpokenLine
from tickmind.agent.knowledge.surroundings import Person, Surroundings, Thing
from tickmind.agent.knowledge.tiles import Tile, TileMemory

__all__ = [
    "Person",
    "Speech",
    "SpokenLine",
    "Surroundings",
    "Thing",
    "Tile",
    "TileMemory",
    "direction_to",
    "distance",
    "find_path",
    "nearest_tile",
]
