"""`WorldView`: the whole world at one moment, for outside viewers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ActorColumns, NeedColumns
from tickmind.world.rules.needs_reporting import all_needs
from tickmind.world.state.columns import WorldColumns
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32, Int64, UInt8, UInt16


@dataclass(frozen=True, slots=True, eq=False)
class WorldView:
    """The positions and states of everything after tick `tick_id`; 0 is before the first one."""

    tick_id: int
    sim_time_ms: int
    actors: ActorColumns  # by actor row
    object_state: "UInt8"  # by object row
    object_work: "Int32"
    object_stock: "Int32"
    object_x: "Int32"  # -1, as y: it is not there
    object_y: "Int32"
    ground_x: "Int32"  # one entry for each kind of item on each tile
    ground_y: "Int32"
    ground_kind: "UInt16"
    ground_amount: "Int64"
    needs: NeedColumns | None  # of all actors; None where the world has none


def take_view(tick_id: int, tables: Tables, state: WorldColumns) -> WorldView:
    """Copy the present state, so that later ticks do not change it."""
    tile, kind = np.divmod(state.ground_key, max(len(tables.item_names), 1))
    y, x = np.divmod(tile, tables.width)
    return WorldView(
        tick_id=tick_id,
        sim_time_ms=tick_id * tables.scenario.rules.tick_duration_ms,
        actors=ActorColumns(state.x.copy(), state.y.copy(), state.status.copy(), state.facing.copy()),
        object_state=state.object_state.copy(),
        object_work=state.object_work.copy(),
        object_stock=state.object_stock.copy(),
        object_x=state.object_x.copy() if tables.objects_move else tables.object_x,
        object_y=state.object_y.copy() if tables.objects_move else tables.object_y,
        ground_x=x.astype(np.int32),
        ground_y=y.astype(np.int32),
        ground_kind=kind.astype(np.uint16),
        ground_amount=state.ground_amount.copy(),
        needs=None if tables.scenario.rules.needs is None else all_needs(state),
    )
