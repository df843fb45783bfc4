"""`Placed`: where things of one kind stand."""

from typing import TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

from tickmind.world.kernels.bitmap import MARGIN_LINES, Bitmap, empty_bitmap, mark_tiles
from tickmind.world.kernels.compiled import count_ones, helper, kernel, lowest_one, reads, writes
from tickmind.world.kernels.errors import KernelError

Column: TypeAlias = NDArray[np.int32]
Map: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]
_MORE = 4096  # places by which room for pairs grows at least; more than one observer can fill
Index: TypeAlias = NDArray[np.uint64]  # line and word of a bitmap -> the word, and how many stand before it


class PairRoom:
    """Working memory for `visible_pairs`, kept from tick to tick, because fresh memory is slow for a large crowd."""

    def __init__(self) -> None:
        self.found: Column = np.empty(_MORE, dtype=np.int32)  # lists of rows, in the order in which they were found
        self._bounds: Offsets = np.empty((0, 2), dtype=np.int64)  # observer -> where its list begins and ends

    def bounds_for(self, observers: int) -> Offsets:
        """Return room for the bounds of so many lists."""
        if len(self._bounds) != observers:
            self._bounds = np.empty((observers, 2), dtype=np.int64)
        return self._bounds

    def grow(self, filled: int) -> Column:
        """Double the room for rows, keep those that are there, and return it."""
        larger = np.empty(2 * len(self.found) + _MORE, dtype=np.int32)
        larger[:filled] = self.found[:filled]
        self.found = larger
        return larger


class Placed:
    """Where things of one kind stand, at most one on a tile: actors, or objects. Update it whenever they move.

    `occupancy` is a map of rows, -1 where nothing stands; it is not copied.
    """

    def __init__(self, occupancy: Map) -> None:
        self.occupancy = occupancy
        self.present = empty_bitmap(*occupancy.shape)
        self.index: Index = np.zeros((*self.present.shape, 2), dtype=np.uint64)
        self.standing = np.zeros(0, dtype=np.int32)  # rows in the map's order: line by line, west to east
        self.room = PairRoom()

    def update(self, x: Column, y: Column) -> None:
        """Update where everything stands; rows with x = -1 are nowhere."""
        mark_tiles(self.present, x, y, *self.occupancy.shape)
        if len(self.standing) < len(x):
            self.standing = np.zeros(len(x), dtype=np.int32)
        if not _register(x, y, self.occupancy, self.present, self.index, self.standing):
            raise KernelError("occupancy and positions differ; build occupancy from x and y first")


@helper
def count_before(index: Index, line: int, column: int) -> int:
    """Count what stands before a tile in the map's order."""
    place = (column >> 6) + 1
    below = (np.uint64(1) << np.uint64(column & 63)) - np.uint64(1)
    return int(index[line + MARGIN_LINES, place, 1] + count_ones(index[line + MARGIN_LINES, place, 0] & below))


@kernel(
    types.boolean,
    reads(types.int32, 1),
    reads(types.int32, 1),
    reads(types.int32, 2),
    reads(types.uint64, 2),
    writes(types.uint64, 3),
    writes(types.int32, 1),
)
def _register(x: Column, y: Column, occupancy: Map, present: Bitmap, index: Index, standing: Column) -> bool:
    """List the rows in the map's order; false if `occupancy` shows others than `present`."""
    lines, words = present.shape
    count = 0
    for line in range(lines):
        for place in range(words):
            bits = present[line, place]
            index[line, place, 0], index[line, place, 1] = bits, count
            while bits:
                at_x, at_y = ((place - 1) << 6) + int(lowest_one(bits)), line - MARGIN_LINES
                bits &= bits - np.uint64(1)
                row = occupancy[at_y, at_x]
                if not 0 <= row < len(x) or x[row] != at_x or y[row] != at_y:
                    return False
                standing[count] = row
                count += 1
    on_map = 0
    for row in range(len(x)):
        on_map += x[row] != -1
    return count == on_map
