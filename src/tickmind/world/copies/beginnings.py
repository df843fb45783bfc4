"""`Beginnings`: the state in which copies of a scenario begin, written into the columns of all of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol.record import AWAY
from tickmind.world.copies.layout import Layout
from tickmind.world.copies.tables import CopiedTables
from tickmind.world.errors import WorldError
from tickmind.world.scenario.scenario import NEVER, Scenario
from tickmind.world.state.columns import WorldColumns, first_state
from tickmind.world.state.maps import Maps
from tickmind.world.state.tables import Tables
from tickmind.world.state.timing import change_times, stock_times

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32, Int64, UInt64

_ACTORS = ("status", "facing", "energy", "hunger", "inventory", "own_needs", "free_at")
_OBJECTS = ("object_state", "object_work", "object_stock")


class Beginnings:
    """Write the first state of copies: again and again, since copies begin anew while others go on."""

    def __init__(
        self, single: Tables, tables: CopiedTables, layout: Layout, at_seed: Callable[[int], Scenario] | None
    ) -> None:
        self._tables = tables
        self._layout = layout
        self._scenario = single.scenario
        self._at_seed = at_seed if single.scenario.scatters else None
        self._first = first_state(single)
        self._maps = Maps(single, self._first)

    def everything(self) -> WorldColumns:
        """Return columns for all copies, still to be written with `write`."""
        first, layout, count = self._first, self._layout, self._layout.count
        repeated = {
            name: np.tile(column, (count,) + (1,) * (column.ndim - 1))
            for name, column in first.columns()
            if name not in {"ground_key", "ground_amount", "own_rule_off"}
        }
        repeated["ground_key"] = layout.whole_keys(np.zeros(0, dtype=np.int64), first.ground_key).reshape(-1)
        repeated["ground_amount"] = first.ground_amount[:0].copy()
        repeated["own_rule_off"] = first.own_rule_off.copy()
        return WorldColumns.of(repeated)

    def write(self, state: WorldColumns, copies: "Int64", seeds: "UInt64", ticks_before: int) -> None:
        """Let some copies begin with the tick after `ticks_before`, each with its seed."""
        tables, first = self._tables, self._first
        tables.chance.begin(copies, seeds, ticks_before)
        tables.forget_weather()
        rows = self._layout.actor_rows(copies)
        for name in _ACTORS:
            if len(column := getattr(state, name)):
                column[rows] = getattr(first, name)
        state.x[rows], state.y[rows] = self._starts(copies, seeds)
        for name in ("arrive_due", "leave_due"):
            if len(column := getattr(state, name)):
                due = getattr(first, name)
                column[rows] = np.where(due == NEVER, NEVER, due + ticks_before)
        self._write_objects(state, copies, ticks_before)
        self._write_ground(state, copies)
        for goal in tables.goals:
            state.goal_reached[goal.entries].reshape(self._layout.count, -1)[copies] = False
        if len(state.offers):
            state.offers = state.offers[~np.isin(state.offers[:, 0] // tables.actors_each, copies)]
        state.own_rule_off[:] = False

    def draw_maps(self, maps: Maps, state: WorldColumns, copies: "Int64") -> None:
        """Draw the maps of some copies as they begin. `opaque` is replaced, as always."""
        layout, first = self._layout, self._maps
        maps.opaque = maps.opaque.copy()
        for copy in copies.tolist():
            west, north = int(layout.west[copy]), int(layout.north[copy])
            there = slice(north, north + layout.height), slice(west, west + layout.width)
            rows = first.object_at + np.int32(copy * layout.objects)
            maps.object_at[there] = np.where(first.object_at >= 0, rows, -1)
            maps.walkable[there] = first.walkable
            maps.opaque[there] = first.opaque
            maps.occupancy[there] = -1
        rows = layout.actor_rows(copies).reshape(-1)
        rows = rows[state.x[rows] != AWAY]
        maps.occupancy[state.y[rows], state.x[rows]] = rows

    def _starts(self, copies: "Int64", seeds: "UInt64") -> "tuple[Int32, Int32]":
        """Return x and y of the actors of some copies: copies x actors."""
        first, layout = self._first, self._layout
        x, y = (np.tile(column, (len(copies), 1)) for column in (first.x, first.y))
        if self._at_seed is not None:
            for place, seed in enumerate(seeds.tolist()):
                scenario = self._at_seed(seed)
                if len(scenario.actors) != layout.actors:
                    raise WorldError("the scenario has other actors with another seed; it must be the same file")
                for row, actor in enumerate(scenario.actors):
                    if not actor.arrives:
                        x[place, row], y[place, row] = actor.x, actor.y
        there = x != AWAY
        x[there] += np.broadcast_to(layout.west[copies, None], x.shape)[there]
        y[there] += np.broadcast_to(layout.north[copies, None], y.shape)[there]
        return x, y

    def _write_objects(self, state: WorldColumns, copies: "Int64", ticks_before: int) -> None:
        tables, first, layout = self._tables, self._first, self._layout
        rows = layout.object_rows(copies)
        for name in _OBJECTS:
            getattr(state, name)[rows] = getattr(first, name)
        flat = rows.reshape(-1)
        if tables.objects_move:
            state.object_x[flat], state.object_y[flat] = tables.object_x[flat], tables.object_y[flat]
        there = tables.object_x[flat] != AWAY
        changes = change_times(tables, flat, state.object_state[flat], ticks_before)
        stocks = stock_times(tables, flat, state.object_stock[flat], ticks_before)
        state.change_due[flat] = np.where(there, changes, NEVER)
        state.stock_due[flat] = np.where(there, stocks, NEVER)

    def _write_ground(self, state: WorldColumns, copies: "Int64") -> None:
        key, amount = state.ground_key, state.ground_amount
        if not len(key) and not len(self._first.ground_key):
            return
        stays = ~np.isin(self._layout.local_keys(key)[0], copies)
        fresh = self._layout.whole_keys(copies, self._first.ground_key).reshape(-1)
        key = np.concatenate((key[stays], fresh))
        amount = np.concatenate((amount[stays], np.tile(self._first.ground_amount, len(copies))))
        order = np.argsort(key)
        state.ground_key, state.ground_amount = key[order], amount[order]


def columns_of_copy(state: WorldColumns, tables: CopiedTables, copy: int) -> WorldColumns:
    """Return the columns of one copy as a world of its own would have them."""
    layout, before = tables.layout, int(tables.chance.ticks_before[copy])
    actors = slice(copy * layout.actors, (copy + 1) * layout.actors)
    objects = slice(copy * layout.objects, (copy + 1) * layout.objects)
    west, north = layout.west[copy], layout.north[copy]
    parts = {name: getattr(state, name)[actors].copy() for name in _ACTORS if len(getattr(state, name))}
    parts |= {name: getattr(state, name)[objects].copy() for name in _OBJECTS}
    for names, rows in ((("x", "y"), actors), (("object_x", "object_y"), objects)):
        if len(x := getattr(state, names[0])):
            there = x[rows] != AWAY
            for name, first in zip(names, (west, north), strict=True):
                parts[name] = np.where(there, getattr(state, name)[rows] - first, AWAY).astype(np.int32)
    times = {"arrive_due": actors, "leave_due": actors, "change_due": objects, "stock_due": objects}
    for name, rows in times.items():
        if len(column := getattr(state, name)):
            parts[name] = np.where(column[rows] == NEVER, NEVER, column[rows] - before)
    if "free_at" in parts:
        parts["free_at"] = np.where(parts["free_at"] == 0, 0, parts["free_at"] - before)
    copies, keys = layout.local_keys(state.ground_key)
    parts["ground_key"], parts["ground_amount"] = keys[copies == copy], state.ground_amount[copies == copy]
    offers = state.offers[state.offers[:, 0] // tables.actors_each == copy].copy()
    offers[:, :2] -= copy * layout.actors
    offers[:, -1] -= before
    reached = [state.goal_reached[goal.entries].reshape(layout.count, -1)[copy] for goal in tables.goals]
    parts["goal_reached"] = np.concatenate(reached) if reached else np.zeros(0, dtype=np.bool_)
    return replace(WorldColumns.of(parts), offers=offers, own_rule_off=state.own_rule_off)
