"""`Maps`: maps derived from the state: occupancy, objects, walkable tiles, opaque tiles."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol.record import AWAY
from tickmind.world.state.columns import WorldColumns
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, UInt8


class Maps:
    """Maps of height x width, updated by the rules. `opaque` is replaced, never written to, when it changes."""

    def __init__(self, tables: Tables, state: WorldColumns) -> None:
        self._tables = tables
        self.object_x: Int32 = state.object_x if tables.objects_move else tables.object_x  # -1: it is not there
        self.object_y: Int32 = state.object_y if tables.objects_move else tables.object_y
        there = np.flatnonzero(self.object_x != AWAY).astype(np.int32)
        at = (self.object_y[there], self.object_x[there])
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

    def place(self, row: int, x: int, y: int) -> None:
        """Put an object that is not there on a tile; `update` then says what it blocks."""
        self.object_x[row], self.object_y[row] = x, y
        self.object_at[y, x] = row

    def remove(self, row: int) -> tuple[int, int]:
        """Take an object away, and return its tile; `update` then says that nothing is in the way there."""
        x, y = int(self.object_x[row]), int(self.object_y[row])
        self.object_at[y, x] = -1
        self.object_x[row] = self.object_y[row] = AWAY
        return x, y

    def update(self, object_state: "UInt8", rows: list[int], bare: list[tuple[int, int]]) -> None:
        """Apply new states of some objects, and tiles from which objects were removed."""
        if bare:
            self._block(np.array([y for _, y in bare]), np.array([x for x, _ in bare]), object_state)
            rows = [row for row in rows if self.object_x[row] != AWAY]
        if rows:
            self._block(self.object_y[rows], self.object_x[rows], object_state)

    def _block(self, y: "Int32", x: "Int32", object_state: "UInt8") -> None:
        """Work out anew what blocks some tiles."""
        tables, at = self._tables, (y, x)
        row = self.object_at[at]
        bare, kind, now = row < 0, tables.object_kind[row], object_state[row]  # of the last object where a tile is bare
        self.walkable[at] = tables.floor_walkable[at] & (bare | tables.kind_walkable[kind, now])
        opaque = tables.floor_opaque[at] | (~bare & tables.kind_opaque[kind, now])
        if (self.opaque[at] != opaque).any():
            self.opaque = self.opaque.copy()
            self.opaque[at] = opaque
