"""`Stays`: where actors were, zone by zone."""

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tickmind.protocol.record import AWAY, ActorColumns
from tickmind.record.documents.places import zone_tiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tickmind.protocol import WorldInfo
    from tickmind.protocol.columns import Int16

NOWHERE = -1  # the number of no zone


class Stay(NamedTuple):
    """The ticks in which an actor was in a zone without a break."""

    row: int
    zone: str
    first_tick_id: int
    last_tick_id: int


class Stays:
    """Follows in which zones actors are, one tick after another."""

    def __init__(self, info: "WorldInfo") -> None:
        self._names = tuple(zone.name for zone in info.setting.zones)
        self._width, self._height = info.width, info.height
        self._numbers = np.full(info.width * info.height, NOWHERE, dtype=np.int16)  # tile -> zone
        if self._names:
            tiles, numbers = zone_tiles(info.setting, info.width, info.height)
            self._numbers[tiles] = numbers
        self._now = np.full(len(info.actors), NOWHERE, dtype=np.int16)  # row -> zone
        self._rows = {actor.entity_id: row for row, actor in enumerate(info.actors)}
        self._since: list[tuple[list[int], list[int]]] = [([], []) for _ in info.actors]  # row -> ticks, and its zones
        self._last_tick = 0

    def add(self, tick_id: int, state: ActorColumns) -> "Int16":
        """Note where all actors are after a tick, and return the zone of each row."""
        self._last_tick = tick_id
        if not self._names:
            return self._now
        there = (state.x != AWAY) & (state.x < self._width) & (state.y >= 0) & (state.y < self._height)
        tiles = np.where(there, state.y.astype(np.int64) * self._width + state.x, 0)
        zones: Int16 = np.where(there, self._numbers[tiles], NOWHERE).astype(np.int16)
        for row in np.flatnonzero(zones != self._now).tolist():
            ticks, numbers = self._since[row]
            ticks.append(tick_id)
            numbers.append(int(zones[row]))
        self._now = zones
        return zones

    def name(self, number: int) -> str:
        """Return the name of a zone; empty for none."""
        return self._names[number] if number != NOWHERE else ""

    def at(self, entity_id: str, tick_id: int) -> str:
        """Return the zone in which an actor was after a tick; empty for none."""
        row = self._rows.get(entity_id)
        if row is None:
            return ""
        ticks, numbers = self._since[row]
        place = bisect_right(ticks, tick_id) - 1
        return self.name(numbers[place]) if place >= 0 else ""

    def __iter__(self) -> "Iterator[Stay]":
        for row, (ticks, numbers) in enumerate(self._since):
            for place, number in enumerate(numbers):
                if number != NOWHERE:
                    end = ticks[place + 1] - 1 if place + 1 < len(ticks) else self._last_tick
                    yield Stay(row, self.name(number), ticks[place], end)
