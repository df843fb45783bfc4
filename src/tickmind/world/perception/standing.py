"""`StandingObjects`: where objects stand, for those who look."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol.record import AWAY
from tickmind.world.kernels import Placed, RowLists
from tickmind.world.state.maps import Maps
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32


class StandingObjects:
    """The tiles of all objects. Where some have several tiles, each tile is a part, and parts stand on the map."""

    def __init__(self, tables: Tables, maps: Maps) -> None:
        self._tables = tables
        self._maps = maps
        self._row_of: Int32 = np.zeros(0, dtype=np.int32)  # part -> row of its object
        self.placed = Placed(maps.object_at)
        self.update()

    def update(self) -> None:
        """Look where objects are; call it whenever some were built or removed."""
        maps = self._maps
        if not self._tables.some_are_large:
            self.placed.update(maps.object_x, maps.object_y)
            return
        there = np.flatnonzero(maps.object_x != AWAY).astype(np.int32)
        which, (y, x) = maps.tiles_of(there)
        self._row_of = there[which]
        part_at = np.full(maps.object_at.shape, -1, dtype=np.int32)
        part_at[y, x] = np.arange(len(which), dtype=np.int32)
        self.placed = Placed(part_at)
        self.placed.update(x, y)

    def whole(self, seen: RowLists) -> RowLists:
        """Return the objects for what observers see of `placed`, each once for each of them."""
        if not self._tables.some_are_large:
            return seen
        rows = self._row_of[seen.ids]
        observers = len(seen.offsets) - 1
        observer = np.repeat(np.arange(observers), np.diff(seen.offsets))
        _, first = np.unique(observer * len(self._tables.object_ids) + rows, return_index=True)
        first.sort()
        return RowLists(np.searchsorted(observer[first], np.arange(observers + 1)).astype(np.int64), rows[first])
