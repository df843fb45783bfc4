"""The ticks in which objects change by themselves."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.world.scenario.scenario import NEVER
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32, Int64, UInt8

_STOCK = 2  # purpose of the random numbers
_CHANGE = 3


def change_times(tables: Tables, rows: "Int64", states: "UInt8", tick_id: int) -> "Int64":
    """Return the ticks in which objects that are in these states since `tick_id` leave them, or NEVER."""
    kinds = tables.object_kind[rows]
    wait = tables.change_ticks[kinds, states]
    more = tables.chance.for_objects(_CHANGE, tick_id, rows, tables.change_spread[kinds, states] + 1)
    return np.where(wait > 0, tick_id + wait + more, NEVER)


def stock_times(tables: Tables, rows: "Int64", stock: "Int32", tick_id: int) -> "Int64":
    """Return the ticks in which the stock of objects grows that have so much since `tick_id`, or NEVER."""
    kinds = tables.object_kind[rows]
    wait = tables.stock_ticks[kinds]
    more = tables.chance.for_objects(_STOCK, tick_id, rows, tables.stock_spread[kinds] + 1)
    grows = (wait > 0) & (stock < tables.stock_most[kinds]) & ((stock > 0) | ~tables.stock_doubles[kinds])
    return np.where(grows, tick_id + wait + more, NEVER)
