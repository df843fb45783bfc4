"""Reach: which objects and actors an actor could act upon, and which steps it could take."""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.compiled import helper, kernel, reads, writes
from tickmind.world.kernels.movement import STEP_X, STEP_Y

Column: TypeAlias = NDArray[np.int32]
Codes: TypeAlias = NDArray[np.uint8]
Flags: TypeAlias = NDArray[np.bool_]


@helper
def _neighbour(number: int, x: int, y: int, height: int, width: int) -> tuple[int, int, bool]:
    """Return a tile in reach, the own one first, and whether it is on the map."""
    if number:
        x, y = x + STEP_X[number - 1], y + STEP_Y[number - 1]
    return x, y, 0 <= x < width and 0 <= y < height


@kernel(
    types.void,
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.boolean, 2),
    reads(types.int32, 2),
    reads(types.int32, 2),
    reads(types.uint16, 1),
    reads(types.uint8, 1),
    reads(types.uint8, 3),
    writes(types.uint8, 2),
    writes(types.uint8, 2),
)
def mark_reach(
    x: Column,
    y: Column,
    walkable: Flags,
    occupancy: Column,
    object_at: Column,
    object_kind: NDArray[np.uint16],
    object_state: Codes,
    usable: Codes,
    ways: Codes,
    deeds: Codes,
) -> None:
    """Mark for each actor the directions in which it can step, then what can be done with objects in its reach.

    `usable` is kind x state x deed; deed 0 says whether there are others. The last of `ways` says whether another actor
    is beside it.
    """
    height, width = walkable.shape
    for place in range(len(x)):
        ways[place] = 0
        deeds[place] = 0
        at_x, at_y = int(x[place]), int(y[place])
        if at_x == -1:
            continue
        for number in range(9):
            to_x, to_y, inside = _neighbour(number, at_x, at_y, height, width)
            if not inside:
                continue
            if number:
                free = walkable[to_y, to_x]
                if (number - 1) & 1:
                    free = free and walkable[at_y, to_x] and walkable[to_y, at_x]
                ways[place, number - 1] = free
                if occupancy[to_y, to_x] >= 0:
                    ways[place, 8] = 1
            thing = object_at[to_y, to_x]
            if thing >= 0:
                possible = usable[object_kind[thing], object_state[thing]]
                if possible[0]:
                    for deed in range(len(possible)):
                        deeds[place, deed] |= possible[deed]


@kernel(
    types.void,
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.int32, 2),
    reads(types.int32, 2),
    reads(types.uint16, 1),
    reads(types.uint8, 1),
    reads(types.uint8, 3),
    writes(types.int32, 1),
)
def find_targets(
    x: Column,
    y: Column,
    wanted: Column,
    occupancy: Column,
    object_at: Column,
    object_kind: NDArray[np.uint16],
    object_state: Codes,
    usable: Codes,
    target: Column,
) -> None:
    """Find for each actor the first object in its reach with which its deed can be done; -1 if there is none.

    The own tile comes first, then those beside it clockwise from the north. A deed of -2 wants the first actor
    beside it, one of -1 nothing.
    """
    height, width = occupancy.shape
    for place in range(len(x)):
        target[place] = -1
        at_x, at_y = int(x[place]), int(y[place])
        if at_x == -1 or wanted[place] == -1:
            continue
        for number in range(9):
            to_x, to_y, inside = _neighbour(number, at_x, at_y, height, width)
            if not inside:
                continue
            if wanted[place] == -2:
                if number and occupancy[to_y, to_x] >= 0:
                    target[place] = occupancy[to_y, to_x]
                    break
                continue
            thing = object_at[to_y, to_x]
            if thing >= 0 and usable[object_kind[thing], object_state[thing], wanted[place]]:
                target[place] = thing
                break
