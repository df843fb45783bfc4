"""One tick of movement: claim, resolve, enact.

Rows of actors are in priority order, row 0 first. Two actors never stand on one tile: a move onto a tile succeeds only
if the tile is empty or its occupant leaves it in the same tick. What stops a move, in this order:

1. It leads off the map, onto a tile that is not walkable, or diagonally past one that is not; only the ground counts
      there, not actors. All other moves are claims.
2. The claimed tile's occupant makes no move.
3. The claim is part of a ring, each onto the next one's tile: a swap of two or a longer cycle.
4. A smaller row claims the same tile.
5. The claimed tile's occupant fails to move, for whatever reason.
"""

from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.base import Limit
from tickmind.world.kernels.compiled import helper, kernel, lowest_one, reads, writes
from tickmind.world.kernels.errors import KernelError

MAX_TILES = Limit("number of tiles of a map", 2**31 - 1)
STEP_X = np.array([0, 1, 1, 1, 0, -1, -1, -1], dtype=np.int32)  # direction -> step; 0 is north, then clockwise
STEP_Y = np.array([-1, -1, 0, 1, 1, 1, 0, -1], dtype=np.int32)


Column: TypeAlias = NDArray[np.int32]
Table: TypeAlias = NDArray[np.int32]  # two dimensions
Ways: TypeAlias = NDArray[np.int8]
Codes: TypeAlias = NDArray[np.uint8]


class MoveResult(IntEnum):
    """The outcome of an actor's move."""

    MOVED = 0
    STAYED = 1  # it made no move
    OUT_OF_BOUNDS = 2
    NOT_WALKABLE = 3
    ILLEGAL_DIAGONAL = 4
    TILE_CONTESTED = 5
    SWAP = 6
    CYCLE = 7
    OCCUPIED = 8
    BLOCKED_BY_FAILED_MOVE = 9


_MOVED, _STAYED = int(MoveResult.MOVED), int(MoveResult.STAYED)
_OUT_OF_BOUNDS, _NOT_WALKABLE = int(MoveResult.OUT_OF_BOUNDS), int(MoveResult.NOT_WALKABLE)
_ILLEGAL_DIAGONAL, _TILE_CONTESTED = int(MoveResult.ILLEGAL_DIAGONAL), int(MoveResult.TILE_CONTESTED)
_SWAP, _CYCLE = int(MoveResult.SWAP), int(MoveResult.CYCLE)
_OCCUPIED, _BLOCKED = int(MoveResult.OCCUPIED), int(MoveResult.BLOCKED_BY_FAILED_MOVE)
_OPEN, _ON_PATH = 16, 32  # each plus the direction: a claim not visited yet, and one on the current chain


class MoveScratch:
    """Working memory for `resolve_moves` on one map; keep it from tick to tick, so that a tick allocates no map."""

    def __init__(self, height: int, width: int) -> None:
        MAX_TILES.check(height * width)
        self.shape = (height, width)
        self.present = np.zeros(-(-height * width // 64), dtype=np.uint64)  # a bit per tile; zero between ticks
        self.claimed = np.zeros(height * width, dtype=np.uint8)  # tile -> winner's direction + 1; zero between ticks
        self.state = np.empty(height * width, dtype=np.uint8)  # tile -> MoveResult of its occupant, or a claim
        self.standing = np.empty(
            (4, 0), dtype=np.int32
        )  # in the map's order: tiles, rows, targets; and a stack of tiles

    def fit(self, rows: int) -> None:
        """Make room for so many actors."""
        if self.standing.shape[1] < rows:
            self.standing = np.empty((4, rows), dtype=np.int32)


def resolve_moves(
    x: NDArray[np.int32],
    y: NDArray[np.int32],
    direction: NDArray[np.int8],
    walkable: NDArray[np.bool_],
    occupancy: NDArray[np.int32],
    scratch: MoveScratch | None = None,
) -> NDArray[np.int8]:
    """Move all actors by at most one tile, at once, and return a `MoveResult` for each row.

    `direction` is -1 for no move or 0 to 7 for N, NE, E, SE, S, SW, W, NW; y grows to the south. `walkable` and
    `occupancy` (row or -1) are maps of height x width. `x`, `y` and `occupancy` are changed in place; rows with
    x = -1 are not on the map.
    """
    if scratch is None:
        scratch = MoveScratch(*occupancy.shape)
    if not walkable.shape == occupancy.shape == scratch.shape or not len(x) == len(y) == len(direction):
        raise KernelError("maps have to be of one shape and columns of one length; pass those of one world")
    scratch.fit(len(x))
    result = np.empty(len(x), dtype=np.int8)
    maps = (walkable, occupancy, scratch.present, scratch.claimed, scratch.state)
    if not _resolve(x, y, direction, *maps, scratch.standing, result):
        raise KernelError(
            "occupancy and positions differ, or a direction is above 7; build occupancy from x and y before the tick"
        )
    return result


@helper
def _mark(row: int, tile: int) -> np.uint64:
    """Return a number for a row on a tile; sums of them are equal if two lists name the same pairs, in any order."""
    mixed = (np.uint64(row) << np.uint64(32) | np.uint64(tile)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)


@helper
def _register(
    x: Column, y: Column, direction: Ways, here: Column, width: int, present: NDArray[np.uint64], standing: Table
) -> int:
    """List the occupants in the map's order, in which neighbours are near in memory; -1 if `here` differs."""
    height = len(here) // width
    right = True
    expected, shown = np.uint64(0), np.uint64(0)
    for row in range(len(x)):
        if x[row] == -1:
            continue
        if not (0 <= x[row] < width and 0 <= y[row] < height) or direction[row] > 7:
            right = False
            continue
        tile = int(y[row]) * width + x[row]
        present[tile >> 6] |= np.uint64(1) << np.uint64(tile & 63)
        expected += _mark(row, tile)
    tiles, rows = standing[0], standing[1]
    count = 0
    for place in range(len(present)):
        word = present[place]
        present[place] = 0
        while word:
            tile = int(place << 6) + int(lowest_one(word))
            word &= word - np.uint64(1)
            tiles[count] = tile
            rows[count] = here[tile]
            shown += _mark(here[tile], tile)
            count += 1
    return count if right and shown == expected else -1


@helper
def _claim(
    count: int,
    direction: Ways,
    ground: NDArray[np.bool_],
    here: Column,
    width: int,
    claimed: Codes,
    state: Codes,
    standing: Table,
) -> None:
    """Refuse what the ground refuses, and give each claimed tile to its smallest row."""
    tiles, rows, targets = standing[0], standing[1], standing[2]
    height = len(here) // width
    at_y, line = 0, 0  # the map's line, and its first tile
    for place in range(count):
        tile, row = int(tiles[place]), rows[place]
        while tile >= line + width:
            at_y += 1
            line += width
        way = int(direction[row])
        targets[place] = -1
        if way < 0:
            state[tile] = _STAYED
            continue
        at_x = tile - line
        to_x, to_y = at_x + STEP_X[way], at_y + STEP_Y[way]
        to = to_y * width + to_x
        if not (0 <= to_x < width and 0 <= to_y < height):
            state[tile] = _OUT_OF_BOUNDS
        elif not ground[to]:
            state[tile] = _NOT_WALKABLE
        elif way & 1 and not (ground[line + to_x] and ground[to - to_x + at_x]):
            state[tile] = _ILLEGAL_DIAGONAL
        else:
            state[tile] = _OPEN + way
            targets[place] = to
            other = int(claimed[to]) - 1
            if other < 0 or row < here[to - STEP_Y[other] * width - STEP_X[other]]:
                claimed[to] = way + 1


@helper
def _follow(tile: int, here: Column, width: int, state: Codes, stack: Column) -> tuple[int, bool]:
    """Stack a chain of claims up to its end: how many are left to decide, and whether the last one's tile is free."""
    depth = 0
    while True:
        way = int(state[tile]) - _OPEN
        state[tile] = _ON_PATH + way
        stack[depth] = tile
        depth += 1
        to = tile + STEP_Y[way] * width + STEP_X[way]
        if here[to] < 0:
            return depth, True
        ahead = state[to]
        if _OPEN <= ahead < _ON_PATH:
            tile = to
            continue
        if ahead == _STAYED:
            state[tile] = _OCCUPIED
            return depth - 1, False
        if ahead >= _ON_PATH:
            ring = _SWAP if depth >= 2 and stack[depth - 2] == to else _CYCLE
            while state[to] >= _ON_PATH:
                depth -= 1
                state[stack[depth]] = ring
        return depth, ahead == _MOVED


@helper
def _decide(count: int, here: Column, width: int, claimed: Codes, state: Codes, standing: Table) -> None:
    """Follow each chain of claims once, then decide it from its end backwards."""
    tiles, stack = standing[0], standing[3]
    for place in range(count):
        tile = int(tiles[place])
        if not _OPEN <= state[tile] < _ON_PATH:
            continue
        depth, free = _follow(tile, here, width, state, stack)
        while depth > 0:
            depth -= 1
            tile = int(stack[depth])
            way = int(state[tile]) - _ON_PATH
            if claimed[tile + STEP_Y[way] * width + STEP_X[way]] != way + 1:
                state[tile] = _TILE_CONTESTED
                free = False
            elif free:
                state[tile] = _MOVED
            else:
                state[tile] = _BLOCKED


@helper
def _enact(count: int, here: Column, claimed: Codes, state: Codes, standing: Table, result: Ways) -> None:
    """Move the occupants; only an occupant that still stands there clears its tile, so that any order is right."""
    tiles, rows, targets = standing[0], standing[1], standing[2]
    for place in range(count):
        tile, row, to = int(tiles[place]), rows[place], int(targets[place])
        result[row] = state[tile]
        if to < 0:
            continue
        claimed[to] = 0
        if state[tile] == _MOVED:
            if here[tile] == row:
                here[tile] = -1
            here[to] = row


@kernel(
    types.boolean,
    writes(types.int32, 1),
    writes(types.int32, 1),
    reads(types.int8, 1),
    reads(types.boolean, 2),
    writes(types.int32, 2),
    writes(types.uint64, 1),
    writes(types.uint8, 1),
    writes(types.uint8, 1),
    writes(types.int32, 2),
    writes(types.int8, 1),
)
def _resolve(
    x: Column,
    y: Column,
    direction: Ways,
    walkable: NDArray[np.bool_],
    occupancy: Table,
    present: NDArray[np.uint64],
    claimed: Codes,
    state: Codes,
    standing: Table,
    result: Ways,
) -> bool:
    """Run all phases; false, and nothing done, if positions and occupancy differ."""
    width = occupancy.shape[1]
    here, ground = occupancy.reshape(occupancy.size), walkable.reshape(walkable.size)
    count = _register(x, y, direction, here, width, present, standing)
    if count < 0:
        return False
    _claim(count, direction, ground, here, width, claimed, state, standing)
    _decide(count, here, width, claimed, state, standing)
    result[:] = _STAYED  # also rows that are not on the map
    _enact(count, here, claimed, state, standing, result)
    for row in range(len(x)):
        if result[row] == _MOVED:
            x[row] += STEP_X[direction[row]]
            y[row] += STEP_Y[direction[row]]
    return True
