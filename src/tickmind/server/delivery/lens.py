"""Lenses: the tiles of a viewer's regions, computed once for fast lookups."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.wire import Region

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32

MOST_LENSES = 256  # that are kept; each is half a megabyte at most


class Lens:
    """A union of regions of a map. Without any region it holds every tile.

    The edges of all regions cut the map into a grid, which is small however large the map is; a lookup costs the same
    for any number of regions.
    """

    __slots__ = ("_all", "_cells", "_column", "_row")

    def __init__(self, regions: tuple[Region, ...], width: int, height: int) -> None:
        self._all = not regions
        min_x, min_y, max_x, max_y = (
            np.array([(at.min_x, at.min_y, at.max_x, at.max_y) for at in regions], dtype=np.int64).reshape(-1, 4).T
        )
        self._column, west, east = _cuts(min_x, max_x, width)
        self._row, north, south = _cuts(min_y, max_y, height)
        edges = np.zeros((self._row[-1] + 2, self._column[-1] + 2), dtype=np.int16)
        for rows, columns, step in ((north, west, 1), (north, east, -1), (south, west, -1), (south, east, 1)):
            np.add.at(edges, (rows, columns), step)
        covered = edges.cumsum(axis=0, dtype=np.int16).cumsum(axis=1, dtype=np.int16) > 0
        self._cells = np.packbits(covered, axis=1, bitorder="little")  # cell of the grid -> whether it is in a region

    def holds(self, x: "Int32", y: "Int32") -> "Bool":
        """Return which of these tiles lie in a region."""
        if self._all:
            return np.ones(len(x), dtype=np.bool_)
        column = self._column[x]
        inside: Bool = (self._cells[self._row[y], column >> 3] >> (column & 7).astype(np.uint8) & 1).astype(np.bool_)
        return inside


def _cuts(low: Any, high: Any, size: int) -> tuple[Any, Any, Any]:
    """Return tile -> cell along one side of the map; and each region's first cell, and the first cell after it."""
    low, after = np.minimum(low, size), np.minimum(high + 1, size)
    edges = np.unique(np.concatenate((low, after, [size])))
    cells = np.searchsorted(edges, np.arange(size + 1), side="right").astype(np.int32)
    return cells, cells[low], cells[after]


class Lenses:
    """A cache of the lenses of one map, by last use."""

    def __init__(self, width: int, height: int) -> None:
        self._size = width, height
        self._known: dict[tuple[Region, ...], Lens] = {}  # those that were used last at the end

    def of(self, regions: tuple[Region, ...]) -> Lens:
        """Return the lens of some regions."""
        lens = self._known.pop(regions, None) or Lens(regions, *self._size)
        self._known[regions] = lens
        if len(self._known) > MOST_LENSES:
            del self._known[next(iter(self._known))]
        return lens
