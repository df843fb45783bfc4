"""The map of a scenario as coloured text, with a list of what its signs stand for."""

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

from rich.text import Text

from tickmind.cli.screen import harmless
from tickmind.protocol.record import AWAY

if TYPE_CHECKING:
    from tickmind.world import Scenario

MOST_NAMES = 12  # of actors in the list
_STYLES = {".": "green", "~": "blue", ",": "white", "#": "white"}  # of floors


def draw_map(scenario: "Scenario") -> Text:
    """Draw a map row by row: floors, then what lies and stands on them."""
    from tickmind.world.scenario.signs import ACTOR_SIGN, HEAP_SIGN, floor_sign, signs_of

    floors = [(sign, _STYLES[sign]) for sign in map(floor_sign, scenario.floors)]
    width = scenario.width
    tiles = [floors[code] for code in scenario.floor_codes]
    for heap in scenario.ground:
        tiles[heap.y * width + heap.x] = (HEAP_SIGN, "magenta")
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
        tiles[actor.y * width + actor.x] = (ACTOR_SIGN, "bold yellow")
    drawing = Text(no_wrap=True, overflow="ignore")
    for y in range(scenario.height):
        for sign, style in tiles[y * width : (y + 1) * width]:
            drawing.append(sign, style)
        drawing.append("\n")
    return drawing


def legend_of(scenario: "Scenario") -> str:
    """Return what the signs of the map stand for, in one line each."""
    from tickmind.world.scenario.signs import ACTOR_SIGN, HEAP_SIGN, signs_of

    counts = Counter(thing.kind for thing in scenario.objects if thing.x != AWAY)
    lines = [f"{sign} {kind}, {counts[kind]:,} of them" for kind, sign in signs_of(scenario).items() if counts[kind]]
    if scenario.ground:
        lines.append(f"{HEAP_SIGN} items on the ground")
    if scenario.actors:
        names = [actor.entity_id for actor in scenario.actors]
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        lines.append(f"{ACTOR_SIGN} {', '.join(names[:MOST_NAMES])}{more}")
    return harmless("\n".join(lines))
