"""`Maps`: maps derived from the state: occupancy, walkable tiles, opaque tiles."""

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
        self.walkable: Bool = tables.floor_walkable.copy()
        self.walkable[tables.object_y, tables.object_x] &= tables.kind_walkable[tables.object_kind, state.object_state]
        self.opaque: Bool = opacity(tables, state.object_state)
        self.occupancy: Int32 = np.full((tables.height, tables.width), -1, dtype=np.int32)
        there = np.flatnonzero(state.x != AWAY).astype(np.int32)
        self.occupancy[state.y[there], state.x[there]] = there

    def update(self, object_state: "UInt8", rows: list[int]) -> None:
        """Apply new states of some objects."""
        if not rows:
            return
        tables = self._tables
        kind, now = tables.object_kind[rows], object_state[rows]
        at = (tables.object_y[rows], tables.object_x[rows])
        self.walkable[at] = tables.floor_walkable[at] & tables.kind_walkable[kind, now]
        opaque = tables.floor_opaque[at] | tables.kind_opaque[kind, now]
        if (self.opaque[at] != opaque).any():
            self.opaque = self.opaque.copy()
            self.opaque[at] = opaque


def opacity(tables: Tables, object_state: "UInt8") -> "Bool":
    """Return the tiles that block sight when objects are in these states."""
    opaque = tables.floor_opaque.copy()
    opaque[tables.object_y, tables.object_x] |= tables.kind_opaque[tables.object_kind, object_state]
    return opaque
