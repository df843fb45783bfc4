"""Who sees whom: for each observer the rows of those that stand on tiles it sees."""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.bitmap import MARGIN_LINES
from tickmind.world.kernels.compiled import count_ones, kernel, reads, writes
from tickmind.world.kernels.errors import KernelError
from tickmind.world.kernels.lists import RowLists
from tickmind.world.kernels.placed import Index, Placed
from tickmind.world.kernels.shadows import Words, mask_words

Column: TypeAlias = NDArray[np.int32]
_MORE = 4096  # places by which room for pairs grows at least; more than one observer can fill
_U0, _U1, _U6, _U63 = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)


def visible_pairs(x: Column, y: Column, masks: Words, radius: int, placed: Placed, *, own_tile: bool) -> RowLists:
    """For each observer the rows of all that stand on tiles it sees, by the masks of `Sight.look`.

    They are in the map's order: line by line from the north, each from west to east. `own_tile` says whether what
    stands on the observer's own tile is listed: objects yes; actors no, because that is the observer itself.
    """
    height, width = placed.occupancy.shape
    if masks.shape != (len(x), mask_words(radius)) or len(x) != len(y):
        raise KernelError("each observer needs an x, a y and a mask of this radius")
    offsets = np.zeros(len(x) + 1, dtype=np.int64)
    ids = np.empty(placed.expected + placed.expected // 8 + _MORE, dtype=np.int32)
    done = 0
    while True:
        done = _find(
            x,
            y,
            height,
            width,
            masks,
            radius,
            placed.index,
            placed.standing,
            own_tile,
            done,
            offsets,
            ids,
        )
        if done == len(x):
            placed.expected = int(offsets[-1])
            return RowLists(offsets, ids[: placed.expected])
        if done < 0:
            raise KernelError("an observer stands outside the map; only x = -1 means that it is nowhere")
        ids = np.concatenate([ids, np.empty(len(ids) + _MORE, dtype=np.int32)])


@kernel(
    types.int64,
    reads(types.int32, 1),
    reads(types.int32, 1),
    types.int64,
    types.int64,
    reads(types.uint64, 2),
    types.int64,
    reads(types.uint64, 3),
    reads(types.int32, 1),
    types.boolean,
    types.int64,
    writes(types.int64, 1),
    writes(types.int32, 1),
)
def _find(
    x: Column,
    y: Column,
    height: int,
    width: int,
    masks: Words,
    radius: int,
    index: Index,
    standing: Column,
    own_tile: bool,
    done: int,
    offsets: NDArray[np.int64],
    ids: Column,
) -> int:
    """List for observers from `done` on; give the first for whom `ids` may be too short, or -1 for one off the map."""
    words, side, own = masks.shape[1], 2 * radius + 1, (2 * radius + 1) ** 2 // 2
    flat, stride = index.reshape(index.size), np.uint64(2 * index.shape[1])
    whole = (_U1 << np.uint64(side)) - _U1
    mask = np.zeros(words + 1, dtype=np.uint64)
    for number in range(done, len(x)):
        total = offsets[number]
        offsets[number + 1] = total
        at_x, at_y = int(x[number]), int(y[number])
        if at_x == -1:
            continue
        if not (0 <= at_x < width and 0 <= at_y < height):
            return -1
        if total + side * side > len(ids):
            return number
        for word in range(words):
            mask[word] = masks[number, word]
        if not own_tile:
            mask[own >> 6] &= ~(_U1 << np.uint64(own & 63))
        start = at_x - radius + 64
        shift, rest = np.uint64(start & 63), np.uint64(63 - (start & 63))
        before = (_U1 << shift) - _U1
        source = np.uint64(2 * ((at_y - radius + MARGIN_LINES) * index.shape[1] + (start >> 6)))
        at = _U0
        for _ in range(side):
            low = flat[source]
            there = (low >> shift | flat[source + np.uint64(2)] << rest << _U1) & whole
            place, by = at >> _U6, at & _U63
            seen = there & (mask[place] >> by | mask[place + _U1] << (_U63 - by) << _U1)
            if seen:
                first = flat[source + _U1] + count_ones(low & before)
                while seen:
                    below = (seen & (_U0 - seen)) - _U1  # the bits below the lowest
                    seen &= seen - _U1
                    ids[total] = standing[first + count_ones(there & below)]
                    total += 1
            source += stride
            at += np.uint64(side)
        offsets[number + 1] = total
    return len(x)
