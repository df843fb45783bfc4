"""Hearing: the actors within a square around each speaker, walls or not."""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.compiled import kernel, reads, writes
from tickmind.world.kernels.errors import KernelError
from tickmind.world.kernels.lists import RowLists
from tickmind.world.kernels.placed import Index, Placed, count_before

Column: TypeAlias = NDArray[np.int32]


def hearers(x: Column, y: Column, speakers: Column, radius: int, placed: Placed) -> RowLists:
    """Return for each speaker (a row) the rows within so many tiles of it in both directions, without the speaker.

    They are in the map's order. Speakers that are not on the map have no hearers.
    """
    height, width = placed.occupancy.shape
    if radius < 0 or len(x) != len(y):
        raise KernelError("hearing needs a radius of 0 or more, and an x and a y for each row")
    if len(speakers) and not 0 <= speakers.min() <= speakers.max() < len(x):
        raise KernelError("a speaker is not among the rows")
    at_x, at_y = x[speakers], y[speakers]
    if len(speakers) and not (-1 <= at_x.min() <= at_x.max() < width and -1 <= at_y.min() <= at_y.max() < height):
        raise KernelError("a speaker stands outside the map; only x = -1 means that it is nowhere")
    offsets = np.zeros(len(speakers) + 1, dtype=np.int64)
    area = (height, width, radius)
    ids = np.empty(_count(at_x, at_y, *area, placed.index), dtype=np.int32)
    _list(at_x, at_y, *area, placed.index, speakers, placed.standing, offsets, ids)
    return RowLists(offsets, ids[: offsets[-1]])


@kernel(
    types.int64,
    reads(types.int32, 1),
    reads(types.int32, 1),
    types.int64,
    types.int64,
    types.int64,
    reads(types.uint64, 3),
)
def _count(x: Column, y: Column, height: int, width: int, radius: int, index: Index) -> int:
    """Count the actors around all speakers together, the speakers themselves included."""
    total = 0
    for number in range(len(x)):
        at_x, at_y = int(x[number]), int(y[number])
        if at_x == -1:
            continue
        west, east = max(0, at_x - radius), min(width, at_x + radius + 1)
        for line in range(max(0, at_y - radius), min(height, at_y + radius + 1)):
            total += count_before(index, line, east) - count_before(index, line, west)
    return total


@kernel(
    types.void,
    reads(types.int32, 1),
    reads(types.int32, 1),
    types.int64,
    types.int64,
    types.int64,
    reads(types.uint64, 3),
    reads(types.int32, 1),
    reads(types.int32, 1),
    writes(types.int64, 1),
    writes(types.int32, 1),
)
def _list(
    x: Column,
    y: Column,
    height: int,
    width: int,
    radius: int,
    index: Index,
    speakers: Column,
    standing: Column,
    offsets: NDArray[np.int64],
    ids: Column,
) -> None:
    """List the actors around each speaker; those on one line of the map are adjacent in memory."""
    total = 0
    for number in range(len(x)):
        at_x, at_y = int(x[number]), int(y[number])
        if at_x != -1:
            west, east = max(0, at_x - radius), min(width, at_x + radius + 1)
            for line in range(max(0, at_y - radius), min(height, at_y + radius + 1)):
                first = count_before(index, line, west)
                for place in range(first, count_before(index, line, east)):
                    if standing[place] != speakers[number]:
                        ids[total] = standing[place]
                        total += 1
        offsets[number + 1] = total
