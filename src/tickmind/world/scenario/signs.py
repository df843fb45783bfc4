"""The signs of a map drawn as text."""

from tickmind.world.scenario.kinds import FloorKind
from tickmind.world.scenario.scenario import Scenario

ACTOR_SIGN, HEAP_SIGN = "@", "*"
_FLOORS = {(True, False): ".", (False, False): "~", (True, True): ","}


def floor_sign(floor: FloorKind) -> str:
    """Return a sign for a floor, by what it blocks."""
    return _FLOORS.get((floor.walkable, floor.opaque), "#")


def signs_of(scenario: Scenario) -> dict[str, str]:
    """Return a sign for each kind of object: the first letter of its name that is free, else a question mark."""
    signs: dict[str, str] = {}
    for kind in scenario.kinds:
        letters = (*kind.name, *kind.name.upper())
        free = (letter for letter in letters if letter.isalnum() and letter.isascii() and letter not in signs.values())
        signs[kind.name] = next(free, "?")
    return signs
