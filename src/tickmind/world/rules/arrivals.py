"""Arrivals and departures: actors come into the world and leave it, by the scenario, a rule or an operator's order."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tickmind.protocol import Placement, Reason
from tickmind.protocol.record import AWAY
from tickmind.world.rules.turn import Turn
from tickmind.world.scenario.scenario import NEVER


def come_and_go(turn: Turn) -> None:
    """Let actors leave and arrive whose time comes with the next tick; one whose tile is not free waits."""
    state, tables, next_tick = turn.state, turn.tables, turn.tick_id + 1
    if len(state.leave_due):
        for row in np.flatnonzero(state.leave_due <= next_tick).tolist():
            state.leave_due[row] = NEVER
            if len(state.arrive_due):
                state.arrive_due[row] = NEVER  # it had no room until now
            leave(turn, row)
    if len(state.arrive_due):
        for row in np.flatnonzero(state.arrive_due <= next_tick).tolist():
            if state.x[row] != AWAY or arrive(turn, row, *tables.start_of(row)) is Reason.NONE:
                state.arrive_due[row] = NEVER


def place_actors(turn: Turn, placements: Iterable[Placement]) -> None:
    """Carry out orders of operators, one after another, and note their outcomes."""
    for order in placements:
        row = turn.tables.actor_row[order.actor_id]
        is_away = bool(turn.state.x[row] == AWAY)
        if order.leaves:
            reason = Reason.AWAY if is_away else Reason.NONE
            leave(turn, row)
        else:
            reason = arrive(turn, row, order.x, order.y) if is_away else Reason.ALREADY_THERE
        turn.placements.append(replace(order, reason=reason))


def leave(turn: Turn, row: int) -> None:
    """Take an actor out of the world, with all that it carries."""
    state = turn.state
    if state.x[row] == AWAY:
        return
    turn.maps.occupancy[state.y[row], state.x[row]] = -1
    if len(state.offers):
        state.offers = state.offers[(state.offers[:, :2] != row).all(axis=1)]  # neither its maker nor its taker
    _place(turn, row, AWAY, AWAY)


def arrive(turn: Turn, row: int, x: int, y: int) -> Reason:
    """Bring an actor that is away to a tile. Return why it can't stand there now; `NONE` if it came."""
    reason = _why_not_at(turn, x, y)
    if reason is Reason.NONE:
        turn.maps.occupancy[y, x] = row
        _place(turn, row, x, y)
    return reason


def _why_not_at(turn: Turn, x: int, y: int) -> Reason:
    """Return why no further actor can stand on a tile now; `NONE` if one can."""
    maps, tables = turn.maps, turn.tables
    if not (0 <= x < tables.width and 0 <= y < tables.height):
        return Reason.OUT_OF_BOUNDS
    thing = int(maps.object_at[y, x])  # `maps.walkable` follows only at the end of the tick
    blocked = thing >= 0 and not tables.kind_walkable[tables.object_kind[thing], turn.state.object_state[thing]]
    if blocked or not tables.floor_walkable[y, x]:
        return Reason.NOT_WALKABLE
    return Reason.OCCUPIED if maps.occupancy[y, x] >= 0 else Reason.NONE


def _place(turn: Turn, row: int, x: int, y: int) -> None:
    state = turn.state
    if not turn.has_own_positions:
        state.x, state.y = state.x.copy(), state.y.copy()  # the record of the tick before has the old ones
        turn.has_own_positions = True
    state.x[row], state.y[row] = x, y
