"""Who sees whom: for each observer the rows of those that stand on tiles it sees."""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.bitmap import Bitmap
from tickmind.world.kernels.compiled import kernel, lowest_one, reads, writes
from tickmind.world.kernels.errors import KernelError
from tickmind.world.kernels.lists import RowLists
from tickmind.world.kernels.placed import Placed
from tickmind.world.kernels.shadows import Words, mask_words
from tickmind.world.kernels.sight import gather_window
from tickmind.world.kernels.sorting import SORT_MEMORY, sort_into

Column: TypeAlias = NDArray[np.int32]
Map: TypeAlias = NDArray[np.int32]
_MORE = 4096  # rows by which working memory grows at least
_AREA = 4  # observers are grouped by areas of 2^4 tiles a side


def visible_pairs(x: Column, y: Column, masks: Words, radius: int, placed: Placed, *, own_tile: bool) -> RowLists:
    """For each observer the rows of all that stand on tiles it sees, by the masks of `Sight.look`.

    `own_tile` says whether what stands on the observer's own tile is listed: objects yes; actors no, because that is
    the observer itself.
    """
    if masks.shape != (len(x), mask_words(radius)) or len(x) != len(y):
        raise KernelError("each observer needs an x, a y and a mask of this radius")
    order = np.empty(len(x), dtype=np.int32)
    height, width = placed.occupancy.shape
    count = _order_by_area(x, y, height, width, order)
    if count < 0:
        raise KernelError("an observer stands outside the map; only x = -1 means that it is nowhere")
    order = order[:count]
    lengths = np.zeros(len(x), dtype=np.int64)
    done = total = 0
    while True:
        done, total = _find(
            x,
            y,
            masks,
            radius,
            placed.occupancy,
            placed.present,
            own_tile,
            order,
            done,
            total,
            lengths,
            placed.found,
        )
        if done == count:
            break
        placed.found = np.concatenate([placed.found, np.empty(len(placed.found) + _MORE, dtype=np.int32)])
    offsets = np.zeros(len(x) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    ids = np.empty(total, dtype=np.int32)
    _lay_out(order, placed.found, offsets, ids)
    return RowLists(offsets, ids)


@kernel(types.int64, reads(types.int32, 1), reads(types.int32, 1), types.int64, types.int64, writes(types.int32, 1))
def _order_by_area(x: Column, y: Column, height: int, width: int, order: Column) -> int:
    """Order rows so that neighbours on the map come together and memory is read nearby; how many are on the map."""
    across = (width >> _AREA) + 1
    starts = np.zeros(((height >> _AREA) + 1) * across + 1, dtype=np.int32)
    for row in range(len(x)):
        if x[row] == -1:
            continue
        if not (0 <= x[row] < width and 0 <= y[row] < height):
            return -1
        starts[(y[row] >> _AREA) * across + (x[row] >> _AREA) + 1] += 1
    for area in range(1, len(starts)):
        starts[area] += starts[area - 1]
    for row in range(len(x)):
        if x[row] != -1:
            area = (y[row] >> _AREA) * across + (x[row] >> _AREA)
            order[starts[area]] = row
            starts[area] += 1
    return int(starts[-1])


@kernel(
    types.UniTuple(types.int64, 2),  # type: ignore[no-untyped-call]  # numba gives it no type
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.uint64, 2),
    types.int64,
    reads(types.int32, 2),
    reads(types.uint64, 2),
    types.boolean,
    reads(types.int32, 1),
    types.int64,
    types.int64,
    writes(types.int64, 1),
    writes(types.int32, 1),
)
def _find(
    x: Column,
    y: Column,
    masks: Words,
    radius: int,
    occupancy: Map,
    present: Bitmap,
    own_tile: bool,
    order: Column,
    done: int,
    total: int,
    lengths: NDArray[np.int64],
    found: Column,
) -> tuple[int, int]:
    """Find what each observer sees, in order, from number `done` on; give how far it came if `found` was too short."""
    words, width, side = masks.shape[1], occupancy.shape[1], 2 * radius + 1
    here, bits, stride = occupancy.reshape(occupancy.size), present.reshape(present.size), present.shape[1]
    window = np.empty(words + 1, dtype=np.uint64)
    steps = np.empty(words * 64, dtype=np.int32)  # tile of the window -> step on the map
    for tile in range(side * side):
        steps[tile] = (tile // side - radius) * width + tile % side - radius
    own = side * side // 2
    for number in range(done, len(order)):
        row = order[number]
        at_x, at_y = int(x[row]), int(y[row])
        gather_window(bits, stride, at_x, at_y, radius, window)
        if not own_tile:
            window[own >> 6] &= ~(np.uint64(1) << np.uint64(own & 63))
        if total + side * side > len(found):
            return number, total
        centre = at_y * width + at_x
        before = total
        for word in range(words):
            seen = window[word] & masks[row, word]
            while seen:
                step = steps[np.uint64(word << 6) + lowest_one(seen)]
                seen &= seen - np.uint64(1)
                found[total] = here[np.uint64(centre + step)]
                total += 1
        lengths[row] = total - before
    return len(order), total


@kernel(types.void, reads(types.int32, 1), reads(types.int32, 1), reads(types.int64, 1), writes(types.int32, 1))
def _lay_out(order: Column, found: Column, offsets: NDArray[np.int64], ids: Column) -> None:
    """Bring the lists into the order of rows, each sorted."""
    work = np.empty((2, SORT_MEMORY), dtype=np.int32)
    start = 0
    for number in range(len(order)):
        row = order[number]
        at = offsets[row]
        count = offsets[row + 1] - at
        sort_into(found, start, count, work[0], work[1], ids, at)
        start += count
