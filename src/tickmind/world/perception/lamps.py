"""`Lamps`: which tiles are lit when it is dark."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol.record import AWAY
from tickmind.world.kernels import Sight, SightRule
from tickmind.world.kernels.sight import SIGHT_CACHE
from tickmind.world.state.maps import Maps
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, UInt8

_NO_CACHE = SIGHT_CACHE.at(0)


class Lamps:
    """The light of objects, which goes as far as one can see from them; worked out anew only when one has changed."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._opaque: Bool | None = None  # the map for which `_lit` was worked out
        self._radii: UInt8 = np.zeros(0, dtype=np.uint8)  # object row -> how far it shone then
        self._tiles: Int32 = np.zeros(0, dtype=np.int32)  # 2 x objects: where they were then, if they come and go
        self._lit: Bool = np.zeros((0, 0), dtype=np.bool_)

    def lit(self, tick_id: int, maps: Maps, object_state: "UInt8") -> "Bool | None":
        """Return the lit tiles in a tick; None while it is not dark. The map is replaced, never written to."""
        tables = self._tables
        scenario = tables.scenario
        if scenario.rules.night_sight_radius is None or not scenario.setting.calendar.at(tick_id).night:
            return None
        radii, tiles = tables.kind_light[tables.object_kind, object_state], self._tiles
        if tables.objects_move:
            radii[maps.object_x == AWAY] = 0
            tiles = np.stack((maps.object_x, maps.object_y))
        same = np.array_equal(radii, self._radii) and np.array_equal(tiles, self._tiles)
        if maps.opaque is not self._opaque or not same:
            self._opaque, self._radii, self._tiles, self._lit = maps.opaque, radii, tiles, self._shine(maps, radii)
        return self._lit

    def _shine(self, maps: Maps, radii: "UInt8") -> "Bool":
        tables, opaque = self._tables, maps.opaque
        height, width = opaque.shape
        lit = np.zeros(opaque.shape, dtype=np.bool_)
        rule = SightRule(tables.scenario.rules.sight_rule)
        for radius in np.unique(radii[radii > 0]).tolist():
            rows = np.flatnonzero(radii == radius)
            _, (y, x) = maps.tiles_of(rows)
            masks = Sight(opaque, radius=radius, rule=rule, cache=_NO_CACHE).look(x, y)
            side = 2 * radius + 1
            raw = np.ascontiguousarray(masks.astype("<u8", copy=False)).view(np.uint8)
            seen = np.unpackbits(raw, axis=1, count=side * side, bitorder="little").view(np.bool_)
            lamp, tile = np.nonzero(seen)
            at_y, at_x = y[lamp] + tile // side - radius, x[lamp] + tile % side - radius
            inside = (at_x >= 0) & (at_x < width) & (at_y >= 0) & (at_y < height)
            lit[at_y[inside], at_x[inside]] = True
        return lit
