"""`NeedTables`: what changes needs, by numbers, as the rules look it up."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import NeedChanges
from tickmind.world.scenario.scenario import Scenario

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, Int64, UInt16

BODY = 2  # columns before those of own needs, in what objects add: energy and hunger


class NeedTables:
    """The own needs of a scenario, numbered in its order, and all that adds to them in a tick."""

    def __init__(self, scenario: Scenario, object_kind: "UInt16") -> None:
        needs = scenario.rules.needs
        own = () if needs is None else needs.own
        self.names = tuple(need.name for need in own)
        self._code = {name: code for code, name in enumerate(self.names)}
        self.each_tick: Int32 = np.array([need.each_tick for need in own], dtype=np.int32)
        self.at_night: Int32 = np.array([need.at_night for need in own], dtype=np.int32)
        kinds = {name for need in own for name, _ in need.in_weather}
        self.in_weather: dict[str, Int32] = {  # weather -> what it adds to each need
            weather: np.array([dict(need.in_weather).get(weather, 0) for need in own], dtype=np.int32)
            for weather in kinds
        }
        self.go_by_calendar = any(need.goes_by_calendar for need in own)
        self.at_zero = self._rows(need.at_zero for need in own)  # need that is 0, need
        self.when_starving = self._rows([() if needs is None else needs.when_starving])[0]
        self.incapacitates: Int64 = np.flatnonzero([need.incapacitates for need in own])
        self.items = self._rows(item.own_needs for item in scenario.items)  # item code, need
        self.floors = self._rows(floor.own_needs for floor in scenario.floors)  # floor code, need
        self._build_objects(scenario, object_kind)

    def _rows(self, changes: Iterable[NeedChanges]) -> "Int32":
        listed = list(changes)
        rows = np.zeros((len(listed), len(self.names)), dtype=np.int32)
        for row, pairs in enumerate(listed):
            for need, by in pairs:
                rows[row, self._code[need]] = by
        return rows

    def _build_objects(self, scenario: Scenario, object_kind: "UInt16") -> None:
        kinds = scenario.kinds
        most = max((len(kind.states) for kind in kinds), default=1)
        column = {"energy": 0, "hunger": 1} | {name: BODY + code for name, code in self._code.items()}
        self.states: Int32 = np.zeros((len(kinds), most, len(column)), dtype=np.int32)  # kind, state, need
        for row, kind in enumerate(kinds):
            for code, state in enumerate(kind.states):
                for need, by in state.each_tick:
                    self.states[row, code, column[need]] = by
        changing: Bool = (self.states != 0).any(axis=2).any(axis=1)
        self.objects: Int64 = np.flatnonzero(changing[object_kind])  # rows of objects that add to needs in some state

    def first_values(self, scenario: Scenario) -> "Int32":
        """Return the own needs before the first tick, by actor row; empty if there are none."""
        needs = scenario.rules.needs
        if needs is None or not self.names:
            return np.zeros((0, 0), dtype=np.int32)
        values = np.tile(np.array([need.begins for need in needs.own], dtype=np.int32), (len(scenario.actors), 1))
        for row, actor in enumerate(scenario.actors):
            for need, value in actor.needs:
                values[row, self._code[need]] = value
        return values
