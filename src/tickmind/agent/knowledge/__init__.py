"""What a character knows by itself: tiles, ways, others, things, memories and talk, all from its own observations."""

from tickmind.agent.knowledge.memory import Memory, Note, Weights
from tickmind.agent.knowledge.paths import direction_to, distance, find_path
from tickmind.agent.knowledge.speech import Line, Speech
from tickmind.agent.knowledge.surroundings import Person, Surroundings, Thing
from tickmind.agent.knowledge.tiles import Tile, TileMemory

__all__ = [
    "Line",
    "Memory",
    "Note",
    "Person",
    "Speech",
    "Surroundings",
    "Thing",
    "Tile",
    "TileMemory",
    "Weights",
    "direction_to",
    "distance",
    "find_path",
]
