"""Building: actors put new objects on tiles beside them.

A kind has as many rows of objects as there are at the beginning and can be built; those that are not there wait for it.
"""

from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ActionType, Direction, Reason
from tickmind.protocol.record import AWAY
from tickmind.world.rules.objects import able_now, exchange_items, place_object
from tickmind.world.rules.piles import is_bare
from tickmind.world.rules.turn import Turn
from tickmind.world.scenario.kinds import ObjectAction

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool

_STEPS = tuple((way.dx, way.dy) for way in Direction)


def build(turn: Turn) -> None:
    """Let actors build. What each of them takes is checked for all at once, its tile one after another."""
    places = turn.places(ActionType.BUILD)
    if not len(places):
        return
    directions = turn.intents.direction[places]
    places = turn.keep(places, (directions >= 0) & (directions < len(_STEPS)), Reason.ILLEGAL_ACTION)
    able: list[tuple[int, ObjectAction]] = []  # places, each with what its actor does
    free: dict[tuple[int, int], list[int]] = {}  # kind and copy of the world -> rows not there, the first one last
    for kind in np.unique(turn.intents.kind[places]).tolist():
        alike = places[turn.intents.kind[places] == kind]
        action = turn.tables.scenario.kinds[kind].build if 0 <= kind < len(turn.tables.kind_code) else None
        if action is None:
            turn.refuse(alike, Reason.UNKNOWN_KIND)
            continue
        able += [(place, action) for place in able_now(turn, alike, action).tolist()]
    for place, action in sorted(able, key=itemgetter(0)):
        kind, copy = int(turn.intents.kind[place]), int(turn.intents.actor[place]) // turn.tables.actors_each
        if (kind, copy) not in free:
            free[kind, copy] = _free_rows(turn, kind, copy)
        _build(turn, place, action, free[kind, copy])


def _build(turn: Turn, place: int, action: ObjectAction, free: list[int]) -> None:
    intents, state = turn.intents, turn.state
    row = int(intents.actor[place])
    kind = int(intents.kind[place])
    x, y = (
        int(at[row]) + (step if step >= 0 else -side)
        for at, step, side in zip(
            (state.x, state.y), _STEPS[intents.direction[place]], turn.tables.scenario.kinds[kind].size, strict=True
        )
    )
    why = why_not(turn, kind, x, y)
    if why is Reason.NONE and not free:
        why = Reason.NONE_LEFT
    if why is not Reason.NONE:
        turn.refuse(place, why)
        return
    thing = free.pop()
    turn.target_ids[place] = turn.tables.object_ids[thing]
    turn.deltas += place_object(turn, thing, x, y)
    exchange_items(turn, np.array([place]), action, ())


def why_not(turn: Turn, kind: int, x: int, y: int) -> Reason:
    """Return why no object of a kind can be built with this as its north-west tile; `NONE` if it can.

    An object on which no actor can step is not built on items, which could not be picked up any more.
    """
    tables, maps = turn.tables, turn.maps
    width, height = tables.scenario.kinds[kind].size
    if not (0 <= x <= tables.width - width and 0 <= y <= tables.height - height):
        return Reason.OUT_OF_BOUNDS
    tiles = slice(y, y + height), slice(x, x + width)
    if not tables.floor_walkable[tiles].all():
        return Reason.NOT_WALKABLE
    if (maps.object_at[tiles] >= 0).any():
        return Reason.TARGET_OCCUPIED
    if tables.kind_walkable[kind, 0]:
        return Reason.NONE
    lines = (line * tables.width + x for line in range(y, y + height))
    taken = (maps.occupancy[tiles] >= 0).any() or not all(is_bare(turn, tile, width) for tile in lines)
    return Reason.TARGET_OCCUPIED if taken else Reason.NONE


def free_row(turn: Turn, kind: int) -> int | None:
    """Return the first object of a kind that is not there; None if all are."""
    missing = _not_there(turn, kind)
    return int(missing.argmax()) if missing.any() else None


def _free_rows(turn: Turn, kind: int, copy: int) -> list[int]:
    """Return the objects of a kind in a copy of the world that are not there, the first one last."""
    first = copy * turn.tables.objects_each
    rows = first + np.flatnonzero(_not_there(turn, kind)[first : first + turn.tables.objects_each])
    return list(rows[::-1].tolist())


def _not_there(turn: Turn, kind: int) -> "Bool":
    """Return object row -> whether it is one of a kind that is not there."""
    missing: Bool = (turn.tables.object_kind == kind) & (turn.maps.object_x == AWAY)
    return missing
