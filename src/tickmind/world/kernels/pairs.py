"""Visible pairs: for each observer the rows of those that stand on tiles it sees."""

from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.compiled import count_ones, fetch_early, kernel, lowest_one_or_64, reads, writes
from tickmind.world.kernels.errors import KernelError
from tickmind.world.kernels.lists import RowLists
from tickmind.world.kernels.nearby import order_by_area
from tickmind.world.kernels.placed import Placed
from tickmind.world.kernels.shadows import Words, mask_words
from tickmind.world.kernels.sight import gather_window

Column: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]
_STEPS = 65  # for each word of a mask: the steps to its 64 tiles, and none
_AHEAD = 8  # observers for whom memory is fetched early
_U0, _U1, _U8, _U16, _U32 = (np.uint64(number) for number in (0, 1, 8, 16, 32))


def visible_pairs(x: Column, y: Column, masks: Words, radius: int, placed: Placed, *, own_tile: bool) -> RowLists:
    """Return for each observer the rows of all that stand on tiles it sees, by the masks of `Sight.look`.

    They are in the map's order: line by line from the north, each from west to east. `own_tile` says whether the
    observer's own tile counts: for objects yes; for actors no, because that is the observer itself.
    """
    height, width = placed.occupancy.shape
    if masks.shape != (len(x), mask_words(radius)) or len(x) != len(y):
        raise KernelError("each observer needs an x, a y and a mask of this radius")
    order = order_by_area(x, y, height, width)
    bounds = placed.room.bounds_for(len(x))
    found = placed.room.found
    steps, done, total = _steps(radius, width), 0, 0
    while done < len(x):
        done, total = _find(
            x,
            y,
            masks,
            radius,
            placed.present,
            placed.occupancy,
            steps,
            own_tile,
            order,
            done,
            total,
            bounds,
            found,
        )
        if done < len(x):
            found = placed.room.grow(total)
    offsets, ids = np.zeros(len(x) + 1, dtype=np.int64), np.empty(total + 8, dtype=np.int32)
    _bring_in_order(bounds, found, offsets, ids)
    return RowLists(offsets, ids[:total])


@lru_cache(maxsize=16)
def _steps(radius: int, width: int) -> Offsets:
    """Return how far each tile of a window is from its centre in a map laid out flat; see `_STEPS`."""
    side = 2 * radius + 1
    lines, across = np.divmod(np.arange(mask_words(radius) * 64, dtype=np.int64), side)
    steps = np.zeros((mask_words(radius), _STEPS), dtype=np.int64)
    steps[:, :64] = ((lines - radius) * width + across - radius).reshape(-1, 64)
    steps.flags.writeable = False
    return steps.reshape(-1)


@kernel(
    types.UniTuple(types.int64, 2),  # type: ignore[no-untyped-call]  # numba has no types for its types
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.uint64, 2),
    types.int64,
    reads(types.uint64, 2),
    reads(types.int32, 2),
    reads(types.int64, 1),
    types.boolean,
    reads(types.int32, 1),
    types.int64,
    types.int64,
    writes(types.int64, 2),
    writes(types.int32, 1),
)
def _find(
    x: Column,
    y: Column,
    masks: Words,
    radius: int,
    present: Words,
    occupancy: Column,
    steps: Offsets,
    own_tile: bool,
    order: Column,
    done: int,
    total: int,
    bounds: Offsets,
    found: Column,
) -> tuple[int, int]:
    """List pairs from some observer of the order on: how many observers are done when room ends, and all pairs.

    Tiles in sight are looked up four at a time, whether there are as many or not, because a processor can't predict
    where a list ends. Surplus entries are overwritten; steps of no tile lead to the observer's own.
    """
    words, side, own = masks.shape[1], 2 * radius + 1, (2 * radius + 1) ** 2 // 2
    tiles, rows, width = present.reshape(present.size), occupancy.reshape(occupancy.size), occupancy.shape[1]
    seen_by, places = masks.reshape(masks.size), bounds.reshape(bounds.size)
    window = np.empty(words + 1, dtype=np.uint64)
    filled = np.uint64(total)
    for place in range(done, len(order)):
        number = np.uint64(order[place])
        if place + _AHEAD < len(order):
            soon = np.uint64(order[place + _AHEAD])
            fetch_early(x, soon)
            fetch_early(y, soon)
            fetch_early(seen_by, soon * np.uint64(words))
            fetch_early(seen_by, soon * np.uint64(words) + _U8)
            fetch_early(places, soon * np.uint64(2))
        bounds[number, 0] = bounds[number, 1] = filled
        at_x, at_y = int(x[number]), int(y[number])
        if at_x == -1:
            continue
        if int(filled) + side * side + 8 > len(found):
            return place, int(filled)
        gather_window(tiles, present.shape[1], at_x, at_y, radius, window)
        if not own_tile:
            window[own >> 6] &= ~(_U1 << np.uint64(own & 63))
        here, table, mask = at_y * width + at_x, _U0, number * np.uint64(words)
        for word in range(words):
            seen = window[word] & seen_by[mask]
            mask += _U1
            end = filled + count_ones(seen)
            at = filled
            while at < end:
                for _ in range(4):
                    found[at] = rows[np.uint64(here + steps[table + lowest_one_or_64(seen)])]
                    seen &= seen - _U1
                    at += _U1
            filled = end
            table += np.uint64(_STEPS)
        bounds[number, 1] = filled
    return len(order), int(filled)


@kernel(types.void, reads(types.int64, 2), reads(types.int32, 1), writes(types.int64, 1), writes(types.int32, 1))
def _bring_in_order(bounds: Offsets, found: Column, offsets: Offsets, ids: Column) -> None:
    """Copy the lists one after another in the order of the observers, eight at a time for the reason given above."""
    count, total = len(bounds), _U0
    for number in range(count):
        if number + _AHEAD < count:
            soon = np.uint64(bounds[number + _AHEAD, 0])
            fetch_early(found, soon)
            fetch_early(found, soon + _U16)
            fetch_early(found, soon + _U32)
        at, end = np.uint64(bounds[number, 0]), np.uint64(bounds[number, 1])
        to, total = total, total + end - at
        while at < end:
            for _ in range(8):
                ids[to] = found[at]
                to += _U1
                at += _U1
        offsets[number + 1] = total
