"""`Maps`: maps derived from the state: occupancy, objects, walkable tiles, opaque tiles."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tickmind.protocol.record import AWAY
from tickmind.world.state.columns import WorldColumns
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol.columns import Bool, Int32, UInt8

    Tiles: TypeAlias = tuple[Int32, Int32]  # y and x of each


class Maps:
    """Maps of height x width, updated by the rules. `opaque` is replaced, never written to, when it changes."""

    def __init__(self, tables: Tables, state: WorldColumns) -> None:
        self._tables = tables
        self.object_x: Int32 = state.object_x if tables.objects_move else tables.object_x  # -1: it is not there
        self.object_y: Int32 = state.object_y if tables.objects_move else tables.object_y
        there = np.flatnonzero(self.object_x != AWAY).astype(np.int32)
        which, at = self.tiles_of(there)
        there = there[which]
        self.object_at: Int32 = np.full((tables.height, tables.width), -1, dtype=np.int32)  # rows of objects
        self.object_at[at] = there
        kind, now = tables.object_kind[there], state.object_state[there]
        self.walkable: Bool = tables.floor_walkable.copy()
        self.walkable[at] &= tables.kind_walkable[kind, now]
        self.opaque: Bool = tables.floor_opaque.copy()
        self.opaque[at] |= tables.kind_opaque[kind, now]
        self.occupancy: Int32 = np.full((tables.height, tables.width), -1, dtype=np.int32)
        there = np.flatnonzero(state.x != AWAY).astype(np.int32)
        self.occupancy[state.y[there], state.x[there]] = there

    def tiles_of(self, rows: "NDArray[np.integer[Any]]") -> "tuple[NDArray[np.intp], Tiles]":
        """Return the tiles of objects that are there, each with the place of its object among the rows."""
        tables = self._tables
        y, x = self.object_y[rows], self.object_x[rows]
        if not tables.some_are_large:
            return np.arange(len(rows)), (y, x)
        width, height = tables.object_width[rows], tables.object_height[rows]
        which = np.repeat(np.arange(len(rows)), width * height)
        number = np.arange(len(which)) - np.repeat(np.cumsum(width * height) - width * height, width * height)
        dy, dx = np.divmod(number.astype(np.int32), width[which])
        return which, (y[which] + dy, x[which] + dx)

    def place(self, row: int, x: int, y: int) -> None:
        """Put an object that is not there on a tile, or on more from there on; `update` then says what it blocks."""
        self.object_x[row], self.object_y[row] = x, y
        self.object_at[self.tiles_of(np.array([row]))[1]] = row

    def remove(self, row: int) -> list[tuple[int, int]]:
        """Take an object away, and return its tiles; `update` then says that nothing is in the way there."""
        _, at = self.tiles_of(np.array([row]))
        self.object_at[at] = -1
        self.object_x[row] = self.object_y[row] = AWAY
        return list(zip(*(side.tolist() for side in at), strict=True))

    def update(self, object_state: "UInt8", rows: list[int], bare: list[tuple[int, int]]) -> None:
        """Apply new states of some objects, and tiles (y, x) from which objects were removed."""
        if bare:
            y, x = np.array(bare, dtype=np.int32).T
            self._block((y, x), object_state)
            rows = [row for row in rows if self.object_x[row] != AWAY]
        if rows:
            self._block(self.tiles_of(np.array(rows))[1], object_state)

    def _block(self, at: "Tiles", object_state: "UInt8") -> None:
        """Work out anew what blocks some tiles."""
        tables = self._tables
        row = self.object_at[at]
        bare, kind, now = row < 0, tables.object_kind[row], object_state[row]  # of the last object where a tile is bare
        self.walkable[at] = tables.floor_walkable[at] & (bare | tables.kind_walkable[kind, now])
        opaque = tables.floor_opaque[at] | (~bare & tables.kind_opaque[kind, now])
        if (self.opaque[at] != opaque).any():
            self.opaque = self.opaque.copy()
            self.opaque[at] = opaque
