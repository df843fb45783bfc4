"""`Presence`: where villagers were by day, and in which of their working hours they worked."""

import math
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tickmind.base import Limit
from tickmind.mind.plans import usual_day
from tickmind.protocol import ACTION_TYPES, ActionType, ActorStatus
from tickmind.protocol.setting import DAY_MINUTES, Persona, in_hours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol import TickRecord, WorldInfo

TRADE = frozenset({ActionType.PICKUP, ActionType.INTERACT, ActionType.SELL})
"""Actions with which one works, where they change what one carries; who buys or gives may do so for other reasons."""
AT_WORK = 0.5  # share of an hour at its place of work that counts as worked
ON_THE_WAY = 2  # hours of walking between two worked ones, as to fetch ore, that count as worked at most
MAX_LOOKS = Limit("number of hours of which it is kept where all were", 2_000)
_OUTSIDE = -1


class Presence:
    """Counts, tick by tick, where actors with a persona were while they were awake by day, and when they worked."""

    def __init__(self, info: "WorldInfo") -> None:
        self._calendar = info.setting.calendar
        self.zones = tuple(zone.name for zone in info.setting.zones)
        self._grid = _zone_grid(info)
        personas = {row: actor.persona for row, actor in enumerate(info.actors) if actor.persona is not None}
        self._rows = {actor.entity_id: row for row, actor in enumerate(info.actors) if row in personas}
        self._of = np.array(sorted(personas), dtype=np.int64)  # rows of actors with a persona
        self._counts = np.zeros((len(info.actors) if self.zones else 0, len(self.zones)), dtype=np.int64)
        self._work = {
            row: (self.zones.index(persona.work), hours)
            for row, persona in personas.items()
            if persona.work in self.zones and (hours := working_hours(persona, self.zones))
        }  # row -> zone and hours
        self._there: dict[tuple[int, int], int] = {}  # (row, hour since the beginning) -> ticks at its place of work
        self._did: set[tuple[int, int]] = set()  # hours in which it did something of its trade
        self._hours: dict[int, int] = {}  # hour since the beginning, if it has no festival -> ticks that were seen
        self._festive: set[int] = set()  # hours since the beginning that have one
        self._walked: dict[tuple[int, int], int] = {}  # (row, hour) -> ticks in which it moved
        self._before: dict[int, tuple[int, int]] = {}  # row -> where it was in the tick before
        self._next_look = 0
        self.size = info.width, info.height
        self.areas = tuple((zone.name, area) for zone in info.setting.zones for area in zone.areas)
        self.hourly: list[tuple[int, dict[str, tuple[int, int]]]] = []  # tick -> actor -> tile, once an hour

    def follow(self, record: "TickRecord") -> None:
        """Count a tick."""
        if not self.zones or not len(self._of):
            return
        state, time = record.actor_state, self._calendar.at(record.tick_id)
        x, y = state.x[self._of], state.y[self._of]
        (height, width), bits = self._grid.shape, state.status_bits[self._of]
        awake = (x >= 0) & (x < width) & (y >= 0) & (y < height) & (bits & ActorStatus.ASLEEP == 0)
        zones = np.where(awake, self._grid[y.clip(0, height - 1), x.clip(0, width - 1)], _OUTSIDE)
        if not time.night:
            inside = zones >= 0
            np.add.at(self._counts, (self._of[inside], zones[inside]), 1)
        hour = (time.day - 1) * 24 + time.minute // 60
        if record.tick_id >= self._next_look and MAX_LOOKS.allows(len(self.hourly) + 1):
            self._next_look = record.tick_id + max(1, self._calendar.day_ticks // 24)
            tiles = {who: (int(state.x[row]), int(state.y[row])) for who, row in self._rows.items()}
            self.hourly.append((record.tick_id, {who: tile for who, tile in tiles.items() if tile[0] >= 0}))
        if time.festivals:
            self._festive.add(hour)
        else:
            self._hours[hour] = self._hours.get(hour, 0) + 1
        at = dict(zip(self._of.tolist(), zones.tolist(), strict=True))
        for row, (work, _) in self._work.items():
            if at[row] == work:
                self._there[row, hour] = self._there.get((row, hour), 0) + 1
            tile = int(state.x[row]), int(state.y[row])
            if self._before.get(row, tile) != tile:
                self._walked[row, hour] = self._walked.get((row, hour), 0) + 1
            self._before[row] = tile
        for place, effects in record.results.effects.items():
            row = int(record.results.actor[place])
            if row in self._work and not record.results.reason[place]:
                action = ACTION_TYPES[int(record.results.action[place])]
                if action in TRADE and any(effect.name.startswith("inventory.") for effect in effects):
                    self._did.add((row, hour))

    def share(self, who: str, zone: str) -> float:
        """Return the share of its waking ticks by day in named places that an actor was at one of them."""
        row = self._rows.get(who)
        counts = self._counts[row] if row is not None and len(self._counts) else np.zeros(0, dtype=np.int64)
        return float(counts[self.zones.index(zone)] / counts.sum()) if zone in self.zones and counts.sum() else 0.0

    def haunt(self, who: str) -> str:
        """Return the place where an actor was most by day; empty if it was at none."""
        return max(self.zones, key=lambda zone: self.share(who, zone), default="") if self._seen(who) else ""

    def _seen(self, who: str) -> bool:
        row = self._rows.get(who)
        return row is not None and len(self._counts) > 0 and bool(self._counts[row].any())

    @cached_property
    def worked(self) -> tuple[int, int]:
        """How many working hours of all were worked, and how many there were; a part of an hour is none.

        An hour is worked if one did something of one's trade in it, was at one's place of work for half of it, or
        walked for half of it between two such hours. Hours of a festival are none, nor is the one after it, which is
        for the way, as the first of the day is.
        """
        whole = self._calendar.day_ticks // 24
        worked = count = 0
        for row, (_, hours) in self._work.items():
            whole_hours = (hour for hour, ticks in self._hours.items() if ticks >= whole)
            due = [hour for hour in whole_hours if hour % 24 in hours and hour - 1 not in self._festive]
            done = {hour for hour in self._hours if self._works(row, hour)}
            count += len(due)
            worked += sum(hour in done or self._is_on_the_way(row, hour, done) for hour in due)
        return worked, count

    def _works(self, row: int, hour: int) -> bool:
        return (row, hour) in self._did or self._there.get((row, hour), 0) >= AT_WORK * self._hours[hour]

    def _is_on_the_way(self, row: int, hour: int, done: set[int]) -> bool:
        first, last = hour, hour
        while self._walks(row, first) and first not in done:
            first -= 1
        while self._walks(row, last) and last not in done:
            last += 1
        return first in done and last in done and last - first - 1 <= ON_THE_WAY

    def _walks(self, row: int, hour: int) -> bool:
        return self._walked.get((row, hour), 0) >= AT_WORK * self._hours.get(hour, math.inf)


def working_hours(persona: Persona, places: Iterable[str]) -> frozenset[int]:
    """Return the hours of the day in which a persona is to be at work, by its habits or as is usual.

    The hour in which its work begins is for the way there.
    """
    errands = sorted(usual_day(persona, places), key=lambda errand: errand.minute)
    spans = [
        ((one.minute + 60) % DAY_MINUTES, following.minute)
        for one, following in zip(errands, (*errands[1:], *errands[:1]), strict=True)
        if one.skill == "work"
    ]
    return frozenset(
        hour
        for hour in range(DAY_MINUTES // 60)
        if any(in_hours(60 * hour, span) and in_hours(60 * hour + 59, span) for span in spans)
    )


def _zone_grid(info: "WorldInfo") -> "NDArray[np.int32]":
    """Return the zone of each tile, the smallest of those that hold it; `_OUTSIDE` for the others."""
    grid = np.full((info.height, info.width), _OUTSIDE, dtype=np.int32)
    for place, zone in sorted(enumerate(info.setting.zones), key=lambda pair: -pair[1].size):
        for west, north, east, south in zone.areas:
            grid[north : south + 1, west : east + 1] = place
    return grid
