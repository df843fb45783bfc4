"""Order observers so that those near each other on the map come one after another.

Rows are in no such order, and processing a large crowd by rows would fetch a distant part of every map for each of
them. By areas, what one observer's window needs is still in the processor's cache for the next one.
"""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.compiled import kernel, reads, writes
from tickmind.world.kernels.errors import KernelError

_AREA = 4  # areas have 2^4 tiles a side

Column: TypeAlias = NDArray[np.int32]


def order_by_area(x: Column, y: Column, height: int, width: int) -> Column:
    """Return the places of all observers, area by area; those with x = -1 are nowhere and come first."""
    if len(x) != len(y):
        raise KernelError("x and y have to be of one length")
    across = (width >> _AREA) + 1
    counts = np.zeros(across * ((height >> _AREA) + 1) + 2, dtype=np.int32)
    order = np.empty(len(x), dtype=np.int32)
    if not _sort(x, y, height, width, across, counts, order):
        raise KernelError("an observer stands outside the map; only x = -1 means that it is nowhere")
    return order


@kernel(
    types.boolean,
    reads(types.int32, 1),
    reads(types.int32, 1),
    types.int64,
    types.int64,
    types.int64,
    writes(types.int32, 1),
    writes(types.int32, 1),
)
def _sort(x: Column, y: Column, height: int, width: int, across: int, counts: Column, order: Column) -> bool:
    """Count the observers in each area, add up where each area begins, and sort; false if an observer is outside."""
    for place in range(len(x)):
        if x[place] == -1:
            counts[1] += 1
        elif 0 <= x[place] < width and 0 <= y[place] < height:
            counts[(y[place] >> _AREA) * across + (x[place] >> _AREA) + 2] += 1
        else:
            return False
    for area in range(1, len(counts)):
        counts[area] += counts[area - 1]
    for place in range(len(x)):
        area = (y[place] >> _AREA) * across + (x[place] >> _AREA) + 1 if x[place] != -1 else 0
        order[counts[area]] = place
        counts[area] += 1
    return True
