"""Movement: every actor goes at most one tile, all at once."""

import numpy as np

from tickmind.protocol import REASON_CODES, ActionType, Reason
from tickmind.world.kernels import MoveResult, MoveScratch, resolve_moves
from tickmind.world.rules.turn import Turn

_REASONS = {
    MoveResult.MOVED: Reason.NONE,
    MoveResult.STAYED: Reason.NONE,
    MoveResult.OUT_OF_BOUNDS: Reason.OUT_OF_BOUNDS,
    MoveResult.NOT_WALKABLE: Reason.NOT_WALKABLE,
    MoveResult.ILLEGAL_DIAGONAL: Reason.ILLEGAL_DIAGONAL,
    MoveResult.TILE_CONTESTED: Reason.TILE_CONTESTED,
    MoveResult.SWAP: Reason.SWAP,
    MoveResult.CYCLE: Reason.CYCLE,
    MoveResult.OCCUPIED: Reason.OCCUPIED,
    MoveResult.BLOCKED_BY_FAILED_MOVE: Reason.BLOCKED_BY_FAILED_MOVE,
}
# move result -> code of the reason
_CODES = np.array([REASON_CODES[_REASONS[result]] for result in sorted(MoveResult)], dtype=np.uint8)


def move(turn: Turn, scratch: MoveScratch) -> None:
    """Resolve all moves. An actor faces where it tried to go, whether it got there or not."""
    state = turn.state
    places = turn.places(ActionType.MOVE)
    if not len(places):
        return
    direction = turn.intents.direction[places]
    places = turn.keep(places, (direction >= 0) & (direction < 8), Reason.ILLEGAL_ACTION)
    if len(state.free_at):
        is_free = state.free_at[turn.intents.actor[places]] <= turn.tick_id
        places = turn.keep(places, is_free, Reason.STILL_WALKING)
    if not len(places):
        return
    rows = turn.intents.actor[places]
    ways = np.full(len(state.x), -1, dtype=np.int8)
    ways[rows] = turn.intents.direction[places]
    state.x, state.y, state.facing = state.x.copy(), state.y.copy(), state.facing.copy()
    turn.has_own_positions = True
    state.facing[rows] = ways[rows]
    results = resolve_moves(state.x, state.y, ways, turn.maps.walkable, turn.maps.occupancy, scratch)
    turn.reason[places] = _CODES[results[rows]]
    if len(state.free_at):
        moved = rows[results[rows] == MoveResult.MOVED]
        floor = turn.tables.floor[state.y[moved], state.x[moved]]
        state.free_at[moved] = turn.tick_id + turn.tables.floor_step_ticks[floor]
