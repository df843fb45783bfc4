"""`CopiedTables`: the tables of a scenario for many copies of it."""

import copy as copying
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tickmind.world.copies.chance import CopyChance
from tickmind.world.copies.layout import Layout
from tickmind.world.scenario.readers.calendar_reader import weather_key
from tickmind.world.state.goals import GoalTable
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol.columns import Int32, Int64


class RepeatedNames(Sequence[str]):
    """The names of one copy, again for each copy: a row is a place of one of them."""

    def __init__(self, names: Sequence[str], count: int) -> None:
        self._names = names
        self._count = count

    def __len__(self) -> int:
        return len(self._names) * self._count

    def __getitem__(self, row: int) -> str:  # type: ignore[override]  # nothing takes a part of them
        if not 0 <= row < len(self):
            raise IndexError(row)
        return self._names[row % len(self._names)]

    def __iter__(self) -> Iterator[str]:
        for _ in range(self._count):
            yield from self._names


class CopiedTables(Tables):
    """The tables of one copy, with the columns by rows and the maps repeated. Names are those of one copy."""

    def __init__(self, single: Tables, layout: Layout) -> None:
        vars(self).update(vars(single))
        self.layout = layout
        self.chance: CopyChance = CopyChance(layout)
        self.weather_by_seed = False  # each copy has the weather of its own seed
        self._weather: tuple[int, NDArray[np.str_]] | None = None  # of the last day asked for: copy -> weather
        if layout.count == 1:
            return
        self.width, self.height = layout.whole_width, layout.whole_height
        self._repeat_map(single)
        self._repeat_rows(single)
        self.goals = _repeated_goals(single.goals, layout)
        self.ground_ids = {}

    def _repeat_map(self, single: Tables) -> None:
        """Lay the map out; what is between the copies is of the first floor, and can't be walked on."""
        layout, shape = self.layout, (self.height, self.width)
        self.floor = np.zeros(shape, dtype=np.uint8)
        self.floor_walkable = np.zeros(shape, dtype=np.bool_)
        self.floor_opaque = np.zeros(shape, dtype=np.bool_)
        self.on_map = np.zeros(shape, dtype=np.bool_)
        for west, north in zip(layout.west.tolist(), layout.north.tolist(), strict=True):
            there = slice(north, north + layout.height), slice(west, west + layout.width)
            self.on_map[there] = True
            self.floor[there] = single.floor
            self.floor_walkable[there] = single.floor_walkable
            self.floor_opaque[there] = single.floor_opaque

    def _repeat_rows(self, single: Tables) -> None:
        layout, count = self.layout, self.layout.count
        self.actor_ids = RepeatedNames(single.actor_ids, count)  # type: ignore[assignment]  # read as a sequence only
        self.object_ids = RepeatedNames(single.object_ids, count)  # type: ignore[assignment]
        self.actor_arrives = np.tile(single.actor_arrives, count)
        self.actor_leaves = np.tile(single.actor_leaves, count)
        self.object_kind = np.tile(single.object_kind, count)
        self.object_x, self.object_y = layout.place(
            np.tile(single.object_x, count), np.tile(single.object_y, count), layout.objects
        )
        self.object_width = np.tile(single.object_width, count)
        self.object_height = np.tile(single.object_height, count)
        self.is_container = np.tile(single.is_container, count)
        owners = np.tile(single.object_owner_row, count)
        first = np.repeat(np.arange(count, dtype=np.int32) * layout.actors, layout.objects)
        self.object_owner_row = np.where(owners >= 0, owners + first, -1).astype(np.int32)
        self.needs = copying.copy(single.needs)
        objects = np.arange(count)[:, None] * layout.objects + single.needs.objects
        self.needs.objects = objects.reshape(-1).astype(np.int64)

    def start_of(self, row: int) -> tuple[int, int]:
        """Return the tile at which the scenario puts an actor."""
        copy, actor = divmod(row, self.actors_each)
        x, y = super().start_of(actor)
        return x + int(self.layout.west[copy]), y + int(self.layout.north[copy])

    def in_own_copy(self, x: "Int32", y: "Int32", rows: "Int64") -> "tuple[Int32, Int32]":
        """Return the tiles of actors as those of the scenario's map."""
        copies = rows // self.actors_each
        return x[rows] - self.layout.west[copies], y[rows] - self.layout.north[copies]

    def weather_of_copies(self, day: int) -> "NDArray[np.str_] | None":
        """Return the weather of each copy on a day; None if all have that of the scenario."""
        if not self.weather_by_seed:
            return None
        if self._weather is None or self._weather[0] != day:
            calendar = self.scenario.setting.calendar
            keys = map(weather_key, self.chance.seeds.tolist())
            kinds = [replace(calendar, weather_key=key).weather_of(day) for key in keys]
            self._weather = day, np.array(kinds)
        return self._weather[1]

    def forget_weather(self) -> None:
        """Look the weather up anew: copies begin with other seeds."""
        self._weather = None

    def ticks_of_copies(self, tick_id: int) -> "Int64":
        """Return the tick for each copy."""
        return tick_id - self.chance.ticks_before


def _repeated_goals(goals: Sequence[GoalTable], layout: Layout) -> tuple[GoalTable, ...]:
    """Return goals for all copies, the entries of all copies for one goal one after another."""
    repeated = []
    numbers = np.arange(layout.count, dtype=np.int64)
    for goal in goals:
        many = copying.copy(goal)
        many.rows = numbers[:, None] * layout.actors + goal.rows
        many.object_row = numbers * layout.objects + goal.object_row
        many.entries = slice(goal.entries.start * layout.count, goal.entries.stop * layout.count)
        repeated.append(many)
    return tuple(repeated)
