"""`Turn`: one tick while it is being resolved, with its intents and their outcomes so far."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import (
    ACTION_CODES,
    REASON_CODES,
    ActionType,
    Effect,
    IntentColumns,
    ObjectDelta,
    Placement,
    Reason,
    RuleEvent,
    Utterance,
    WorldTime,
)
from tickmind.protocol.record import AWAY
from tickmind.protocol.setting import Area
from tickmind.world.state.columns import WorldColumns
from tickmind.world.state.maps import Maps
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, Int64, UInt8


_ACTION_CODES = 256  # that a byte can be
_NOWHERE: "Int64" = np.zeros(0, dtype=np.int64)
_NOWHERE.flags.writeable = False


class Turn:
    """The intents of one tick by their place in the columns, with the reason for which each has failed, if it has."""

    def __init__(self, tick_id: int, tables: Tables, state: WorldColumns, maps: Maps, intents: IntentColumns) -> None:
        self.tick_id = tick_id
        self.tables = tables
        self.rules = tables.scenario.rules_at(tick_id)
        self.state = state
        self.maps = maps
        self.intents = intents
        self._asked: Int64 = np.bincount(intents.action, minlength=_ACTION_CODES)  # code -> how many intents
        self.reason: UInt8 = np.zeros(len(intents), dtype=np.uint8)  # place -> code of the reason, 0: none so far
        self.target_ids: dict[int, str] = {}  # place -> id
        self.effects: dict[int, tuple[Effect, ...]] = {}  # place -> effects
        self.utterances: list[Utterance] = []
        self.deltas: list[ObjectDelta] = []
        self.rule_events: list[RuleEvent] = []
        self.placements: list[Placement] = []  # with their outcomes
        self.has_own_positions = False  # whether x and y of the state are copies that this tick may change
        self.changed_objects: list[int] = []  # rows with a new state, which the maps take over at the end of the tick
        self.bare_tiles: list[tuple[int, int]] = []  # y and x of tiles from which objects were removed, likewise
        self.objects_moved = False  # whether some were built or removed

    @cached_property
    def time(self) -> WorldTime:
        """The time in the world."""
        return self.tables.scenario.setting.calendar.at(self.tick_id)

    def times(self, rows: "Int64") -> "list[tuple[WorldTime, Bool | slice]]":
        """Return the time for some actors, with which of them it is for; copies of a world differ in weather alone."""
        weather = self.tables.weather_of_copies(self.time.day)
        if weather is None:
            return [(self.time, slice(None))]
        theirs = weather[rows // self.tables.actors_each]
        return [(replace(self.time, weather=str(kind)), theirs == kind) for kind in np.unique(theirs)]

    def places(self, action: ActionType) -> "Int64":
        """Return the places of all intents of this type that have not failed yet."""
        code = ACTION_CODES[action]
        if not self._asked[code]:
            return _NOWHERE
        return np.flatnonzero((self.intents.action == code) & (self.reason == 0))

    def refuse(self, places: "Int64 | int", reason: Reason) -> None:
        """Set the reason why these fail."""
        self.reason[places] = REASON_CODES[reason]

    def keep(self, places: "Int64", good: "Bool", reason: Reason) -> "Int64":
        """Return the places that pass a check; the others fail for this reason."""
        if good.all():
            return places
        self.refuse(places[~good], reason)
        return places[good]

    def with_object(self, places: "Int64") -> "Int64":
        """Return the places of all intents whose object there is; their results name it."""
        target = self.intents.target[places]
        places = self.keep(places, (target >= 0) & (target < len(self.tables.object_ids)), Reason.UNKNOWN_TARGET)
        places = self.still_there(places)
        names, target = self.tables.object_ids, self.intents.target[places]
        self.target_ids.update(zip(places.tolist(), [names[row] for row in target.tolist()], strict=True))
        return places

    def still_there(self, places: "Int64") -> "Int64":
        """Return the places of all intents whose object was not removed."""
        if not self.tables.objects_move:
            return places
        return self.keep(places, self.maps.object_x[self.intents.target[places]] != AWAY, Reason.UNKNOWN_TARGET)

    def in_reach(self, places: "Int64") -> "Int64":
        """Return the places of all intents whose object is on the actor's tile or one beside it, or a part of it is."""
        rows, target = self.intents.actor[places], self.intents.target[places]
        across = self.state.x[rows] - self.maps.object_x[target]
        down = self.state.y[rows] - self.maps.object_y[target]
        away = np.maximum(np.abs(across), np.abs(down))
        if self.tables.some_are_large:
            past_x, past_y = across - self.tables.object_width[target], down - self.tables.object_height[target]
            away = np.maximum(np.maximum(-across, past_x + 1), np.maximum(-down, past_y + 1))
        return self.keep(places, away <= 1, Reason.TOO_FAR)

    def near(self, one: int, other: int) -> bool:
        """Return whether two actors stand on tiles beside each other."""
        x, y = self.state.x, self.state.y
        if AWAY in (x[one], x[other]):
            return False
        return max(abs(int(x[one]) - int(x[other])), abs(int(y[one]) - int(y[other]))) <= 1

    def first_at_each(self, places: "Int64") -> "Bool":
        """Return which of these intents are the first for their object."""
        now: Bool = np.zeros(len(places), dtype=np.bool_)
        now[np.unique(self.intents.target[places], return_index=True)[1]] = True
        return now

    def missing(self, carried: Sequence[int], wanted: Iterable[tuple[int, int]]) -> tuple[Effect, ...]:
        """Return what is missing of some items in an inventory."""
        lacks = ((self.tables.item_names[kind], amount - carried[kind]) for kind, amount in wanted)
        return tuple(Effect(f"missing.{name}", amount) for name, amount in lacks if amount > 0)

    def set_effects(self, places: "Int64", first: tuple[Effect, ...], changes: "list[tuple[str, Int64]]") -> None:
        """Set the effects of intents: the first for all of them, then named changes by a number each, if it is not 0.

        Equal effects are one object.
        """
        if all(values.min() == values.max() for _, values in changes):
            shared = (*first, *(Effect(name, int(values[0])) for name, values in changes if values[0]))
            self.effects.update(dict.fromkeys(places.tolist(), shared))
            return
        made: dict[tuple[int, ...], tuple[Effect, ...]] = {}  # values -> effects
        rows = zip(*(values.tolist() for _, values in changes), strict=True)
        for place, row in zip(places.tolist(), rows, strict=True):
            effects = made.get(row)
            if effects is None:
                named = zip(changes, row, strict=True)
                effects = made[row] = (*first, *(Effect(name, value) for (name, _), value in named if value))
            self.effects[place] = effects

    def items(self, action: ActionType) -> "Int64":
        """Return the places of all intents of this type that name a kind of item and a positive amount."""
        places = self.places(action)
        if not len(places):
            return places
        places = self.keep(places, self.intents.amount[places] > 0, Reason.ILLEGAL_ACTION)
        kind = self.intents.kind[places]
        return self.keep(places, (kind >= 0) & (kind < len(self.tables.item_names)), Reason.UNKNOWN_KIND)

    def carried(self, places: "Int64") -> "Int32":
        """Return how many of the named items the actors have."""
        return self.state.inventory[self.intents.actor[places], self.intents.kind[places]].astype(np.int32)

    def room(self, rows: "Int32") -> "Int64":
        """Return how many more items these actors can carry."""
        carried: Int64 = self.state.inventory[rows].sum(axis=1, dtype=np.int64)
        return self.rules.inventory_limit - carried

    def in_areas(self, areas: Iterable[Area], rows: "Int64") -> "Bool":
        """Return which of these actors stand in one of some rectangles."""
        x, y = self.tables.in_own_copy(self.state.x, self.state.y, rows)
        inside = np.zeros(rows.shape, dtype=np.bool_)
        for west, north, east, south in areas:
            inside |= (x >= west) & (x <= east) & (y >= north) & (y <= south)
        return inside

    def tile(self, rows: "Int32") -> "Int64":
        """Return the tiles where these actors stand."""
        tiles: Int64 = self.state.y[rows].astype(np.int64) * self.tables.width + self.state.x[rows]
        return tiles
