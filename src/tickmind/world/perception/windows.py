"""`WindowColumns`: what many actors see and feel as numbers of one shape, for programs that learn."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ActorStatus
from tickmind.protocol.record import AWAY
from tickmind.world.kernels.learning.windows import CHANNELS, fill_windows
from tickmind.world.scenario.settings import NEED_MOST
from tickmind.world.state.columns import WorldColumns
from tickmind.world.state.maps import Maps
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol.columns import Float32, Int32, Int64, UInt8, UInt64

_DAY_MINUTES = 24 * 60
_MOST_CODE = 255


@dataclass(frozen=True, slots=True, eq=False)
class WindowColumns:
    """What n actors see and feel: bytes for the tiles around them, numbers from 0 to 1 for themselves."""

    tiles: "UInt8"  # n x side x side x channel
    body: "Float32"  # n x `body_names`


class WindowMaker:
    """Make windows of one world. Codes in windows are one more than in columns; 0 stands for nothing."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        scenario = tables.scenario
        self.floor: UInt8 = np.where(tables.on_map, tables.floor + 1, 0).astype(np.uint8)
        types = sorted({actor.type for actor in scenario.actors})
        codes = [min(types.index(actor.type) + 1, _MOST_CODE) for actor in scenario.actors]
        copies = len(tables.actor_ids) // tables.actors_each
        self._actor_type: UInt8 = np.tile(np.array(codes, dtype=np.uint8), max(copies, 1))
        self._item_at: UInt8 = np.zeros((tables.height, tables.width), dtype=np.uint8)
        self._key: Int64 | None = None  # of the items on the ground that `_item_at` shows
        self._at = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self.body_names = body_names(tables)

    def item_at(self, key: "Int64") -> "UInt8":
        """Return tile -> code of the first kind of item on it + 1; 0 where nothing lies."""
        if key is not self._key:
            self._item_at[self._at] = 0
            kinds = max(len(self._tables.item_names), 1)
            tiles, items = np.divmod(key[::-1], kinds)  # of several on a tile the first one is written last
            self._at = np.divmod(tiles, self._tables.width)
            self._item_at[self._at] = np.minimum(items + 1, _MOST_CODE)
            self._key = key
        return self._item_at

    def make(
        self, tick_id: int, state: WorldColumns, maps: Maps, rows: "Int32", masks: "UInt64", radius: int
    ) -> WindowColumns:
        """Return the windows of these actors; those that are away get zeros."""
        side = 2 * radius + 1
        tiles = np.empty((len(rows), side, side, len(CHANNELS)), dtype=np.uint8)
        fill_windows(
            state.x[rows],
            state.y[rows],
            masks,
            self._tables.scenario.rules.sight_radius,
            radius,
            self.floor,
            maps.object_at,
            self._tables.object_kind,
            state.object_state,
            state.object_stock,
            self.item_at(state.ground_key),
            maps.occupancy,
            self._actor_type,
            tiles,
        )
        return WindowColumns(tiles, self._body(tick_id, state, rows))

    def _body(self, tick_id: int, state: WorldColumns, rows: "Int32") -> "Float32":
        tables, rules = self._tables, self._tables.scenario.rules
        body: NDArray[np.float32] = np.empty((len(rows), len(self.body_names)), dtype=np.float32)
        x, y = tables.in_own_copy(state.x, state.y, rows.astype(np.int64))
        status = state.status[rows]
        calendar = tables.scenario.setting.calendar
        ticks = tables.ticks_of_copies(tick_id)[rows // tables.actors_each]
        minutes = (calendar.first_minute + ticks * _DAY_MINUTES // calendar.day_ticks) % _DAY_MINUTES
        first = [
            x / tables.scenario.width,
            y / tables.scenario.height,
            state.facing[rows] / 8,
            (status & int(ActorStatus.ASLEEP)) != 0,
            (status & int(ActorStatus.INCAPACITATED)) != 0,
            minutes / _DAY_MINUTES,
        ]
        if rules.needs is not None:
            first += [state.energy[rows] / NEED_MOST, state.hunger[rows] / NEED_MOST]
        for column, values in enumerate(first):
            body[:, column] = values
        after = len(first) + len(tables.needs.names)
        if after > len(first):
            body[:, len(first) : after] = state.own_needs[rows] / NEED_MOST
        np.divide(state.inventory[rows], np.float32(rules.inventory_limit), out=body[:, after:])
        away = state.x[rows] == AWAY
        if away.any():
            body[away] = 0
        return body


def body_names(tables: Tables) -> tuple[str, ...]:
    """Return what the numbers of `WindowColumns.body` are."""
    needs = ("energy", "hunger") if tables.scenario.rules.needs is not None else ()
    carried = (f"carried_{name}" for name in tables.item_names)
    return ("x", "y", "facing", "asleep", "incapacitated", "time", *needs, *tables.needs.names, *carried)
