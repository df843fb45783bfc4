"""`Tables`: a scenario as tables that the rules look up by number. They never change during a run."""

from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import (
    ActionInfo,
    EntityInfo,
    FloorInfo,
    GroundInfo,
    InventoryInfo,
    KindInfo,
    ObjectInfo,
    WorldInfo,
)
from tickmind.world.scenario.kinds import Items, ObjectAction, ObjectKind
from tickmind.world.scenario.scenario import Scenario

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int32, Int64, UInt8, UInt16

NEVER = np.iinfo(np.int64).max  # a tick that does not come


class Tables:
    """The static side of a world: names by number, numbers by name, and the properties of each state of each kind."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.width, self.height = scenario.width, scenario.height
        self.item_names = tuple(item.name for item in scenario.items)
        self.item_code = {name: code for code, name in enumerate(self.item_names)}
        self.item_usable: Bool = np.array([item.usable for item in scenario.items], dtype=np.bool_)
        self.item_hunger: Int32 = np.array([item.hunger for item in scenario.items], dtype=np.int32)
        self.item_energy: Int32 = np.array([item.energy for item in scenario.items], dtype=np.int32)
        self._build_floors()
        self._build_kinds()
        self._build_objects()
        self.actor_ids = tuple(actor.entity_id for actor in scenario.actors)
        self.actor_row = {name: row for row, name in enumerate(self.actor_ids)}
        self.info = self._make_info()

    def _build_floors(self) -> None:
        floors = self.scenario.floors
        codes = np.frombuffer(self.scenario.floor_codes, dtype=np.uint8).reshape(self.height, self.width)
        self.floor: UInt8 = codes
        self.floor_walkable: Bool = np.array([floor.walkable for floor in floors], dtype=np.bool_)[codes]
        self.floor_opaque: Bool = np.array([floor.opaque for floor in floors], dtype=np.bool_)[codes]

    def _build_kinds(self) -> None:
        kinds = self.scenario.kinds
        shape = (len(kinds), max((len(kind.states) for kind in kinds), default=1))
        verbs = sorted({action.verb for kind in kinds for state in kind.states for action in state.actions})
        self.verbs = ("", *verbs)
        self.verb_code = {verb: code for code, verb in enumerate(self.verbs)}
        self.kind_walkable: Bool = np.ones(shape, dtype=np.bool_)  # kind, state
        self.kind_opaque: Bool = np.zeros(shape, dtype=np.bool_)
        self.kind_work: Int32 = np.zeros(shape, dtype=np.int32)  # work left when an object enters this state
        self.change_to: UInt8 = np.zeros(shape, dtype=np.uint8)
        self.change_ticks: Int64 = np.zeros(shape, dtype=np.int64)  # 0: the state lasts
        self.change_spread: Int64 = np.zeros(shape, dtype=np.int64)
        self.kind_restful: Bool = np.zeros(len(kinds), dtype=np.bool_)
        self.stock_item: Int32 = np.full(len(kinds), -1, dtype=np.int32)
        self.stock_most: Int32 = np.zeros(len(kinds), dtype=np.int32)
        self.stock_ticks: Int64 = np.zeros(len(kinds), dtype=np.int64)
        self.stock_spread: Int64 = np.zeros(len(kinds), dtype=np.int64)
        for row, kind in enumerate(kinds):
            self.kind_restful[row] = self.scenario.rules.rest_tag in kind.tags
            self._build_states(row, kind)
            if kind.stock:
                self.stock_item[row] = self.item_code[kind.stock.item]
                self.stock_most[row] = kind.stock.most
                self.stock_ticks[row] = kind.stock.ticks
                self.stock_spread[row] = kind.stock.spread

    def _build_states(self, row: int, kind: ObjectKind) -> None:
        for code, state in enumerate(kind.states):
            self.kind_walkable[row, code] = state.walkable
            self.kind_opaque[row, code] = state.opaque
            self.kind_work[row, code] = max((action.work for action in state.actions), default=0)
            if state.change:
                self.change_to[row, code] = kind.state_code(state.change.to)
                self.change_ticks[row, code] = state.change.ticks
                self.change_spread[row, code] = state.change.spread

    def _build_objects(self) -> None:
        objects, kinds = self.scenario.objects, self.scenario.kinds
        kind_code = {kind.name: code for code, kind in enumerate(kinds)}
        self.object_ids = tuple(thing.object_id for thing in objects)
        self.object_row = {name: row for row, name in enumerate(self.object_ids)}
        self.object_kind: UInt16 = np.array([kind_code[thing.kind] for thing in objects], dtype=np.uint16)
        self.object_x: Int32 = np.array([thing.x for thing in objects], dtype=np.int32)
        self.object_y: Int32 = np.array([thing.y for thing in objects], dtype=np.int32)
        self.object_at: Int32 = np.full((self.height, self.width), -1, dtype=np.int32)
        self.object_at[self.object_y, self.object_x] = np.arange(len(objects), dtype=np.int32)
        self.object_owner = {row: thing.owner for row, thing in enumerate(objects) if thing.owner}

    def kind_of(self, object_row: int) -> ObjectKind:
        """Return the kind of an object."""
        return self.scenario.kinds[int(self.object_kind[object_row])]

    def action(self, object_row: int, state: int, verb: int) -> ObjectAction | None:
        """Return the action of a verb on an object in this state; verb 0 is the first action that it offers."""
        actions = self.kind_of(object_row).states[state].actions
        if verb == 0:
            return actions[0] if actions else None
        name = self.verbs[verb]
        return next((action for action in actions if action.verb == name), None)

    def item_codes(self, items: Items) -> list[tuple[int, int]]:
        """Return items by their numbers."""
        return [(self.item_code[name], amount) for name, amount in items]

    def _make_info(self) -> WorldInfo:
        scenario, rules = self.scenario, self.scenario.rules
        return WorldInfo(
            name=scenario.name,
            seed=scenario.seed,
            world_version=rules.world_version,
            width=self.width,
            height=self.height,
            sight_radius=rules.sight_radius,
            hearing_radius=rules.hearing_radius,
            tick_duration_ms=rules.tick_duration_ms,
            intent_deadline_ms=rules.intent_deadline_ms,
            floors=tuple(
                FloorInfo(floor.name, floor.walkable, floor.opaque, floor.hazards) for floor in scenario.floors
            ),
            floor_codes=scenario.floor_codes,
            item_kinds=self.item_names,
            verbs=self.verbs,
            kinds=tuple(
                KindInfo(
                    name=kind.name,
                    states=tuple(state.name for state in kind.states),
                    walkable=tuple(state.walkable for state in kind.states),
                    opaque=tuple(state.opaque for state in kind.states),
                    actions=tuple(tuple(map(_shown, state.actions)) for state in kind.states),
                    tags=kind.tags,
                    stock_item=kind.stock.item if kind.stock else "",
                    container=kind.container,
                )
                for kind in scenario.kinds
            ),
            objects=tuple(
                ObjectInfo(thing.object_id, thing.kind, thing.x, thing.y, thing.state, thing.stock, thing.owner)
                for thing in scenario.objects
            ),
            actors=tuple(
                EntityInfo(actor.entity_id, actor.type, actor.tags, persona=actor.persona) for actor in scenario.actors
            ),
            setting=scenario.setting,
            ground=tuple(GroundInfo(pile.x, pile.y, pile.item, pile.amount) for pile in scenario.ground),
            inventories=tuple(
                InventoryInfo(actor.entity_id, item, amount)
                for actor in scenario.actors
                for item, amount in actor.inventory
            ),
        )


def _shown(action: ObjectAction) -> ActionInfo:
    return ActionInfo(action.verb, action.to, action.work, action.needs, action.consumes, action.yields, action.hours)
