"""Where things of one kind stand."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tickmind.world.kernels.bitmap import empty_bitmap, mark_tiles

Column: TypeAlias = NDArray[np.int32]
Map: TypeAlias = NDArray[np.int32]


class Placed:
    """Where things of one kind stand, at most one on a tile: actors, or objects. Update it whenever they move.

    `occupancy` is a map of rows, -1 where nothing stands; it is not copied.
    """

    def __init__(self, occupancy: Map) -> None:
        self.occupancy = occupancy
        self.present = empty_bitmap(*occupancy.shape)  # a bit for each row's tile
        self.found = np.empty(0, dtype=np.int32)  # working memory of `visible_pairs`

    def update(self, x: Column, y: Column) -> None:
        """Take over where everything stands now; rows with x = -1 are nowhere."""
        mark_tiles(self.present, x, y, *self.occupancy.shape)
