"""Arrivals and departures: actors come into the world and leave it, as the scenario says or a rule wishes."""

import numpy as np

from tickmind.protocol.record import AWAY
from tickmind.world.rules.turn import Turn
from tickmind.world.state.tables import NEVER


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
            actor = tables.scenario.actors[row]
            if state.x[row] != AWAY or arrive(turn, row, actor.x, actor.y):
                state.arrive_due[row] = NEVER


def leave(turn: Turn, row: int) -> None:
    """Take an actor out of the world, with all that it carries."""
    state = turn.state
    if state.x[row] == AWAY:
        return
    turn.maps.occupancy[state.y[row], state.x[row]] = -1
    if len(state.offers):
        state.offers = state.offers[(state.offers[:, :2] != row).all(axis=1)]  # neither made by it nor to it
    _place(turn, row, AWAY, AWAY)


def arrive(turn: Turn, row: int, x: int, y: int) -> bool:
    """Bring an actor that is away to a tile. Return False if no actor can stand there now."""
    maps, tables, state = turn.maps, turn.tables, turn.state
    if not maps.walkable[y, x] or maps.occupancy[y, x] >= 0:
        return False
    thing = int(maps.object_at[y, x])  # which may have closed in this tick, before the maps show it
    if thing >= 0 and not tables.kind_walkable[tables.object_kind[thing], state.object_state[thing]]:
        return False
    maps.occupancy[y, x] = row
    _place(turn, row, x, y)
    return True


def _place(turn: Turn, row: int, x: int, y: int) -> None:
    state = turn.state
    if not turn.has_own_positions:
        state.x, state.y = state.x.copy(), state.y.copy()  # the record of the tick before has the old ones
        turn.has_own_positions = True
    state.x[row], state.y[row] = x, y
