"""The map of a scenario as coloured text, with a list of what its signs stand for."""

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

from rich.text import Text

from tickmind.cli.screen import harmless
from tickmind.protocol.record import AWAY

if TYPE_CHECKING:
    from tickmind.world import Scenario

ACTOR, HEAP = "@", "*"
MOST_NAMES = 12  # of actors in the list
_FLOORS = {(True, False): (".", "green"), (False, False): ("~", "blue"), (True, True): (",", "white")}
_WALL = ("#", "white")


def draw_map(scenario: "Scenario") -> Text:
    """Draw a map row by row: floors, then what lies and stands on them."""
    floors = [_FLOORS.get((floor.walkable, floor.opaque), _WALL) for floor in scenario.floors]
    width = scenario.width
    tiles = [floors[code] for code in scenario.floor_codes]
    for heap in scenario.ground:
        tiles[heap.y * width + heap.x] = (HEAP, "magenta")
    signs = signs_of(scenario)
    walkable = {kind.name: {state.name: state.walkable for state in kind.states} for kind in scenario.kinds}
    sizes = {kind.name: kind.size for kind in scenario.kinds}
    for thing in scenario.objects:
        if thing.x == AWAY:
            continue  # it may be built later
        style = "cyan" if walkable[thing.kind][thing.state] else "bold cyan"
        wide, high = sizes[thing.kind]
        for x, y in product(range(thing.x, thing.x + wide), range(thing.y, thing.y + high)):
            tiles[y * width + x] = (signs[thing.kind], style)
    for actor in scenario.actors:
        tiles[actor.y * width + actor.x] = (ACTOR, "bold yellow")
    drawing = Text(no_wrap=True, overflow="ignore")
    for y in range(scenario.height):
        for sign, style in tiles[y * width : (y + 1) * width]:
            drawing.append(sign, style)
        drawing.append("\n")
    return drawing


def signs_of(scenario: "Scenario") -> dict[str, str]:
    """Return a sign for each kind of object: the first letter of its name that is free, else a question mark."""
    signs: dict[str, str] = {}
    for kind in scenario.kinds:
        letters = (*kind.name, *kind.name.upper())
        free = (letter for letter in letters if letter.isalnum() and letter.isascii() and letter not in signs.values())
        signs[kind.name] = next(free, "?")
    return signs


def legend_of(scenario: "Scenario") -> str:
    """Return what the signs of the map stand for, in one line each."""
    counts = Counter(thing.kind for thing in scenario.objects if thing.x != AWAY)
    lines = [f"{sign} {kind}, {counts[kind]:,} of them" for kind, sign in signs_of(scenario).items() if counts[kind]]
    if scenario.ground:
        lines.append(f"{HEAP} items on the ground")
    if scenario.actors:
        names = [actor.entity_id for actor in scenario.actors]
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        lines.append(f"{ACTOR} {', '.join(names[:MOST_NAMES])}{more}")
    return harmless("\n".join(lines))
