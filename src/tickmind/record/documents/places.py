"""People and places of a run: names that tell actors apart, and which zone each tile belongs to."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from tickmind.base import Limit
from tickmind.protocol import Persona, WorldSetting

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int16, Int32

MAX_ZONES: Final = Limit("zones of a run", 1000)
MAX_AREAS: Final = Limit("rectangles of a zone of a run", 64)
MAX_NAME_CHARS: Final = 200  # longer names are cut


def display_names(actors: Sequence[tuple[str, Persona | None]]) -> dict[str, str]:
    """Return the names of actors by their ids, with the id behind a name that another actor has too.

    >>> display_names([("ada", Persona("Ada")), ("bo", Persona("Bo")), ("bo:2", Persona("Bo")), ("cleo", None)])
    {'ada': 'Ada', 'bo': 'Bo (bo)', 'bo:2': 'Bo (bo:2)'}
    """
    named = {actor_id: persona.name[:MAX_NAME_CHARS] for actor_id, persona in actors if persona and persona.name}
    if not named:
        return {}
    uses = Counter(named.get(actor_id, actor_id) for actor_id, _ in actors)
    return {actor_id: name if uses[name] == 1 else f"{name} ({actor_id})" for actor_id, name in named.items()}


def zone_tiles(setting: WorldSetting, width: int, height: int) -> "tuple[Int32, Int16]":
    """Return all tiles in zones, as places row by row, and for each the number of its smallest zone."""
    MAX_ZONES.check(len(setting.zones))
    MAX_AREAS.check(max((len(zone.areas) for zone in setting.zones), default=0))
    numbers = np.full((height, width), -1, dtype=np.int16)
    # The last one painted stays: the smallest, and the first among equals.
    for number in sorted(range(len(setting.zones)), key=lambda each: (-setting.zones[each].size, -each)):
        for west, north, east, south in setting.zones[number].areas:
            numbers[max(north, 0) : max(south + 1, 0), max(west, 0) : max(east + 1, 0)] = number
    tiles = np.flatnonzero(numbers >= 0)
    return tiles.astype(np.int32), numbers.ravel()[tiles]
