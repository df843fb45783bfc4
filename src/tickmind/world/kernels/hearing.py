"""Who hears whom: everybody within a square around the speaker, walls or not."""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.bitmap import Bitmap, line_of
from tickmind.world.kernels.compiled import kernel, lowest_one, reads, writes
from tickmind.world.kernels.errors import KernelError
from tickmind.world.kernels.lists import RowLists
from tickmind.world.kernels.placed import Placed
from tickmind.world.kernels.sorting import SORT_MEMORY, sort_into

Column: TypeAlias = NDArray[np.int32]
Map: TypeAlias = NDArray[np.int32]
_MORE = 4096  # rows by which working memory grows at least


def hearers(x: Column, y: Column, speakers: Column, radius: int, placed: Placed) -> RowLists:
    """For each speaker (a row) the rows within so many tiles of it in both directions, without the speaker itself.

    Speakers that are not on the map are heard by nobody.
    """
    if radius < 0 or len(x) != len(y):
        raise KernelError("hearing needs a radius of 0 or more, and an x and a y for each row")
    if len(speakers) and not 0 <= speakers.min() <= speakers.max() < len(x):
        raise KernelError("a speaker is not among the rows")
    most = min(len(x), (2 * radius + 1) ** 2)
    found, ids = np.empty(most, dtype=np.int32), np.empty(len(speakers) * min(most, 64) + most, dtype=np.int32)
    offsets = np.zeros(len(speakers) + 1, dtype=np.int64)
    done = 0
    while True:
        done = _hear(x, y, speakers, radius, placed.occupancy, placed.present, done, found, offsets, ids)
        if done == len(speakers):
            return RowLists(offsets, ids[: offsets[-1]].copy())
        if done < 0:
            raise KernelError("the places of the listeners are not up to date; call Placed.update after each move")
        ids = np.concatenate([ids, np.empty(len(ids) + _MORE, dtype=np.int32)])


@kernel(
    types.int64,
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.int32, 1),
    types.int64,
    reads(types.int32, 2),
    reads(types.uint64, 2),
    types.int64,
    writes(types.int32, 1),
    writes(types.int64, 1),
    writes(types.int32, 1),
)
def _hear(
    x: Column,
    y: Column,
    speakers: Column,
    radius: int,
    occupancy: Map,
    present: Bitmap,
    done: int,
    found: Column,
    offsets: NDArray[np.int64],
    ids: Column,
) -> int:
    """List for speakers from number `done` on; give the first for whom `ids` may be too short, or -1 on a mismatch."""
    height, width = occupancy.shape
    work = np.empty((2, SORT_MEMORY), dtype=np.int32)
    for number in range(done, len(speakers)):
        at = offsets[number]
        if at + len(found) > len(ids):
            return number
        speaker = speakers[number]
        at_x, at_y = int(x[speaker]), int(y[speaker])
        count = 0
        if 0 <= at_x < width and 0 <= at_y < height:
            last = min(at_x + radius, width - 1)
            for line in range(max(0, at_y - radius), min(at_y + radius, height - 1) + 1):
                for start in range(max(0, at_x - radius), last + 1, 64):
                    bits = line_of(present, line, start)
                    if last - start < 63:
                        bits &= (np.uint64(1) << np.uint64(last - start + 1)) - np.uint64(1)
                    while bits:
                        row = occupancy[line, start + int(lowest_one(bits))]
                        bits &= bits - np.uint64(1)
                        if row < 0 or count == len(found):
                            return -1
                        if row != speaker:
                            found[count] = row
                            count += 1
        sort_into(found, 0, count, work[0], work[1], ids, at)
        offsets[number + 1] = at + count
    return len(speakers)
