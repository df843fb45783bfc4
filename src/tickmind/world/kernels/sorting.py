"""Sorting the many short lists of a tick."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tickmind.world.kernels.compiled import helper

Column: TypeAlias = NDArray[np.int32]
_PAD = 32  # lists are filled up to a multiple of this, for whole vectors
_LARGE = 512  # longer lists are sorted by the usual means
_LAST = np.int32(2**31 - 1)
SORT_MEMORY = _LARGE + _PAD  # places that `work` and `ranks` need


@helper
def sort_into(source: Column, start: int, count: int, work: Column, ranks: Column, into: Column, at: int) -> None:
    """Copy different rows in ascending order: each goes to the place that the number of smaller ones tells.

    For lists of usual length that is faster than sorts whose branches depend on the rows.
    """
    if count > _LARGE:
        into[at : at + count] = np.sort(source[start : start + count])
        return
    padded = (count + _PAD - 1) // _PAD * _PAD
    for place in range(padded):
        ranks[place] = 0
    for place in range(count):
        work[place] = source[start + place]
    for place in range(count, padded):
        work[place] = _LAST
    for one in range(0, count, 4):
        first, second, third, fourth = work[one], work[one + 1], work[one + 2], work[one + 3]
        for place in range(padded):
            row = work[place]
            ranks[place] += np.int32(first < row) + np.int32(second < row)
            ranks[place] += np.int32(third < row) + np.int32(fourth < row)
    for place in range(count):
        into[at + ranks[place]] = work[place]
