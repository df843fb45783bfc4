"""Cached views of actors and objects from a host's packed observations, renewed only for what has changed.

A view that is unchanged since any entity of the host saw it last is the same object as then, so that readers can
compare it by identity.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.protocol import (
    ActorStatus,
    Direction,
    ItemStack,
    ObservationColumns,
    VisibleEntity,
    VisibleObject,
    VisibleTiles,
    WorldInfo,
)
from tickmind.protocol.observation import GROUND

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol.columns import Bool, Int32, UInt8

MOST_PILES = 10_000  # heaps on the ground whose views are kept
DIRECTIONS = tuple(Direction)
STATUS = tuple(ActorStatus(bits) for bits in range(8))


class ActorLooks:
    """The actors of a world, each as it was seen last."""

    def __init__(self, world: WorldInfo) -> None:
        self._actors = world.actors
        count = len(world.actors)
        self.views: list[Any] = [None] * count
        """Actor row -> its `VisibleEntity`; None for those that were never seen."""
        self._x, self._y = (np.full(count, -1, dtype=np.int32) for _ in range(2))
        self._status, self._facing = (np.full(count, -1, dtype=np.int16) for _ in range(2))
        self._before = self._x, self._y

    def begin_tick(self) -> None:
        """Count everything seen so far as seen before."""
        self._before = self._x.copy(), self._y.copy()

    def seen_before(self, rows: "Int32") -> list[tuple[int, int]]:
        """Return where some actors were seen before this tick; -1 for those that were not."""
        x, y = self._before
        return list(zip(x[rows].tolist(), y[rows].tolist(), strict=True))

    def take_in(self, columns: ObservationColumns) -> None:
        """Update the views of the actors that changed."""
        rows, status, facing = columns.entity, columns.entity_status, columns.entity_facing
        observer = np.repeat(np.arange(len(columns)), np.diff(columns.entity_offset))
        x, y = columns.x[observer] + columns.entity_dx, columns.y[observer] + columns.entity_dy
        changed = (self._x[rows] != x) | (self._y[rows] != y)
        changed |= (self._status[rows] != status) | (self._facing[rows] != facing)
        rows, places = _each_once(rows, changed)
        x, y, status, facing = x[places], y[places], status[places], facing[places]
        self._x[rows], self._y[rows], self._status[rows], self._facing[rows] = x, y, status, facing
        actors, views = self._actors, self.views
        for row, at_x, at_y, bits, way in zip(*(part.tolist() for part in (rows, x, y, status, facing)), strict=True):
            actor, state, to = actors[row], STATUS[bits], DIRECTIONS[way]
            views[row] = VisibleEntity(actor.entity_id, at_x, at_y, actor.type, actor.tags, state, to)


class ObjectLooks:
    """The objects of a world, each as it was seen last, items on the ground, and which tiles they leave walkable."""

    def __init__(self, world: WorldInfo) -> None:
        self._world = world
        count = len(world.objects)
        kinds = {kind.name: kind for kind in world.kinds}
        self._kinds = [kinds[thing.kind] for thing in world.objects]  # object row -> its kind
        self._verbs = {name: kind.verbs for name, kind in kinds.items()}
        self.views: list[Any] = [None] * count
        """Object row -> its `VisibleObject`; None for those that were never seen."""
        self._state = np.full(count, -1, dtype=np.int16)
        self._work, self._stock = (np.full(count, -1, dtype=np.int32) for _ in range(2))
        codes = np.frombuffer(world.floor_codes, dtype=np.uint8).reshape(world.height, world.width)
        self._floor_walkable = np.array([floor.walkable for floor in world.floors], dtype=np.bool_)[codes]
        self._codes = codes if any(floor.hinders for floor in world.floors) else None  # if ways depend on floors
        self._walkable = self._floor_walkable.copy()  # with the objects that were seen
        self._lay_out(world.sight_radius)
        self._in_the_way: dict[int, bool] = {}  # object row -> whether it blocked its tile when seen last
        self._x, self._y = (
            np.array([getattr(thing, side) for thing in world.objects], dtype=np.int32) for side in "xy"
        )
        self._moving = np.flatnonzero([kind.comes_and_goes for kind in self._kinds])  # rows that come and go
        self._some_are_large = any(kind.size != (1, 1) for kind in world.kinds)
        self._at: dict[tuple[int, int], list[int]] = {}  # tile -> rows of the objects on it
        for row in range(count):
            for tile in self._tiles(row):
                self._at.setdefault(tile, []).append(row)
        self._piles: dict[tuple[int, int], VisibleObject] = {}  # tile -> the heap that was seen there last

    def take_in(self, columns: ObservationColumns) -> None:
        """Update the views of the objects that changed, and the tiles that they leave walkable."""
        if len(self._moving):
            self._take_in_places(columns)
        rows, state, work, stock = columns.object, columns.object_state, columns.object_work, columns.object_stock
        changed = (self._state[rows] != state) | (self._work[rows] != work) | (self._stock[rows] != stock)
        rows, places = _each_once(rows, changed)
        columns_of = (rows, state[places], work[places], stock[places])
        self._work[rows], self._stock[rows] = work[places], stock[places]
        for row, code, left, items in zip(*(column.tolist() for column in columns_of), strict=True):
            if self._state[row] != code:
                self._state[row] = code
                self._note_obstacle(row, in_the_way=not self._kinds[row].walkable[code])
            thing, kind = self._world.objects[row], self._kinds[row]
            self.views[row] = VisibleObject(
                thing.object_id,
                thing.kind,
                int(self._x[row]),
                int(self._y[row]),
                kind.states[code],
                left,
                (ItemStack(kind.stock_item, items),) if kind.stock_item and items else (),
                self._verbs[thing.kind][code],
                thing.owner,
                kind.size,
            )

    def _note_obstacle(self, row: int, *, in_the_way: bool) -> None:
        if self._in_the_way.get(row) is in_the_way:
            return
        self._in_the_way[row] = in_the_way
        for x, y in self._tiles(row):
            blocked = any(self._in_the_way.get(other, False) for other in self._at[x, y])
            self._walkable[y, x] = self._floor_walkable[y, x] and not blocked

    def _tiles(self, row: int) -> list[tuple[int, int]]:
        """Return the tiles of an object; none if it is not there."""
        (x, y), (width, height) = (int(self._x[row]), int(self._y[row])), self._kinds[row].size
        return [(x + dx, y + dy) for dy in range(height) for dx in range(width)] if x >= 0 else []

    def _take_in_places(self, columns: ObservationColumns) -> None:
        """Note which objects were built, and which are gone: their tiles are in sight, and they are not."""
        seen = np.zeros(len(self._x), dtype=np.bool_)
        seen[columns.object] = True
        looked_at = np.zeros(self._walkable.shape, dtype=np.bool_)
        side = 2 * columns.radius + 1
        masks = np.ascontiguousarray(columns.visible.astype("<u8", copy=False)).view(np.uint8)
        observer, tile = np.nonzero(np.unpackbits(masks, axis=1, count=side * side, bitorder="little"))
        y, x = np.divmod(tile, side)
        looked_at[columns.y[observer] + y - columns.radius, columns.x[observer] + x - columns.radius] = True
        known = self._moving[(self._x[self._moving] >= 0) & ~seen[self._moving]]
        gone = looked_at[self._y[known], self._x[known]]
        for row in (*known[gone].tolist(), *self._large_ones(known[~gone])):
            if any(looked_at[tile_y, tile_x] for tile_x, tile_y in self._tiles(row)):
                self._put(row, -1, -1)
        for row, to_x, to_y in columns.placed:
            if (self._x[row], self._y[row]) != (to_x, to_y):
                self._put(row, to_x, to_y)

    def _large_ones(self, rows: "NDArray[np.intp]") -> list[int]:
        """Return the objects that have several tiles, of which another one may be in sight."""
        return [row for row in rows.tolist() if self._kinds[row].size != (1, 1)] if self._some_are_large else []

    def _put(self, row: int, x: int, y: int) -> None:
        """Note that an object is now on another tile, or nowhere."""
        self._note_obstacle(row, in_the_way=False)
        for tile in self._tiles(row):
            self._at[tile].remove(row)
        self._in_the_way.pop(row, None)
        self._x[row], self._y[row] = x, y
        for tile in self._tiles(row):
            self._at.setdefault(tile, []).append(row)
        self._state[row] = -1  # it is to be looked at anew

    def piles(self, columns: ObservationColumns) -> Iterator[list[VisibleObject]]:
        """Yield the items on tiles in sight of each observer, one object for each tile."""
        kinds, cuts = self._world.item_kinds, columns.ground_offset.tolist()
        if not cuts[-1]:
            yield from ([] for _ in range(len(columns)))
            return
        observer = np.repeat(np.arange(len(columns)), np.diff(columns.ground_offset))
        x, y = (columns.x[observer] + columns.ground_dx).tolist(), (columns.y[observer] + columns.ground_dy).tolist()
        kind, amount = columns.ground_kind.tolist(), columns.ground_amount.tolist()
        for start, end in pairwise(cuts):
            lying: dict[tuple[int, int], list[ItemStack]] = {}
            for item in range(start, end):
                lying.setdefault((x[item], y[item]), []).append(ItemStack(kinds[kind[item]], amount[item]))
            yield [self._pile(at, tuple(stacks)) for at, stacks in lying.items()]

    def _pile(self, at: tuple[int, int], stacks: tuple[ItemStack, ...]) -> VisibleObject:
        known = self._piles.get(at)
        if known is None or known.items != stacks:
            if len(self._piles) >= MOST_PILES:
                self._piles.clear()
            known = self._piles[at] = VisibleObject(f"{GROUND}:{at[0]},{at[1]}", GROUND, *at, items=stacks)
        return known

    def tiles(self, columns: ObservationColumns) -> list[VisibleTiles]:
        """Return what each observer sees of the map."""
        if columns.radius != self._radius:
            self._lay_out(columns.radius)
        windows = self._windows[columns.y, columns.x].reshape(len(columns), -1)
        walkable = np.packbits(windows, axis=1, bitorder="little")
        masks = np.ascontiguousarray(columns.visible.astype("<u8", copy=False)).view(np.uint8)
        visible = masks[:, : walkable.shape[1]]
        walkable &= visible
        floors = self._floors(columns, visible)
        centres = zip(columns.x.tolist(), columns.y.tolist(), strict=True)
        return [
            VisibleTiles(
                columns.radius, x, y, visible[place].tobytes(), walkable[place].tobytes(), floors[place].tobytes()
            )
            for place, (x, y) in enumerate(centres)
        ]

    def _floors(self, columns: ObservationColumns, visible: "UInt8") -> "UInt8":
        """Return the codes of the floors in sight of each observer, 0 for others; no codes if no way needs them."""
        if self._codes is None:
            return visible[:, :0]
        side = 2 * columns.radius + 1
        height, width = self._codes.shape
        down, across = np.divmod(np.arange(side * side, dtype=np.int32), side)
        y = np.clip(columns.y[:, None] + (down - columns.radius), 0, height - 1)
        x = np.clip(columns.x[:, None] + (across - columns.radius), 0, width - 1)
        codes: UInt8 = self._codes[y, x] * np.unpackbits(visible, axis=1, count=side * side, bitorder="little")
        return codes

    def _lay_out(self, radius: int) -> None:
        """Prepare the window around each tile; tiles off the map are not walkable."""
        height, width = self._walkable.shape
        ground = np.zeros((height + 2 * radius, width + 2 * radius), dtype=np.bool_)
        inner = ground[radius : radius + height, radius : radius + width]
        inner[:] = self._walkable
        self._walkable, self._radius = inner, radius
        self._windows = np.lib.stride_tricks.sliding_window_view(ground, (2 * radius + 1, 2 * radius + 1))


def _each_once(rows: "Int32", chosen: "Bool") -> "tuple[Int32, NDArray[np.intp]]":
    """Return the chosen rows, each once, and a place of each."""
    places = np.flatnonzero(chosen)
    each, first = np.unique(rows[places], return_index=True)
    return each, places[first]
