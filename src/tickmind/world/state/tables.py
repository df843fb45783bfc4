"""`Tables`: a scenario as tables that the rules look up by number. They never change during a run."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tickmind.protocol import (
    ActionInfo,
    EntityInfo,
    FloorInfo,
    GroundInfo,
    InventoryInfo,
    ItemInfo,
    KindInfo,
    ObjectInfo,
    WorldInfo,
)
from tickmind.world.chance import Chance
from tickmind.world.scenario.kinds import Items, ObjectAction, ObjectKind
from tickmind.world.scenario.scenario import NEVER, Scenario
from tickmind.world.state.goals import goal_tables
from tickmind.world.state.needs import NeedTables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tickmind.protocol.columns import Bool, Int32, Int64, UInt8, UInt16


class Tables:
    """The static side of a world: names by number, numbers by name, and the properties of each state of each kind."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.chance = Chance(scenario.seed)
        self.width, self.height = scenario.width, scenario.height
        self.item_names = tuple(item.name for item in scenario.items)
        self.item_code = {name: code for code, name in enumerate(self.item_names)}
        self.item_usable: Bool = np.array([item.usable for item in scenario.items], dtype=np.bool_)
        self.item_hunger: Int32 = np.array([item.hunger for item in scenario.items], dtype=np.int32)
        self.item_energy: Int32 = np.array([item.energy for item in scenario.items], dtype=np.int32)
        self.item_lasts: Int64 = np.array([item.lasts for item in scenario.items], dtype=np.int64)  # 0: for ever
        self.decaying = tuple(np.flatnonzero(self.item_lasts).tolist())  # codes of items
        self._build_floors()
        self._build_kinds()
        self._build_objects()
        self.needs = NeedTables(scenario, self.object_kind)
        self.actor_ids = tuple(actor.entity_id for actor in scenario.actors)
        self.actor_row = {name: row for row, name in enumerate(self.actor_ids)}
        self.actors_each = max(len(self.actor_ids), 1)  # rows of actors and objects of one copy of the world; of all
        self.objects_each = len(self.object_ids)
        self.actor_arrives: Int64 = np.array([actor.arrives or NEVER for actor in scenario.actors], dtype=np.int64)
        self.actor_leaves: Int64 = np.array([actor.leaves or NEVER for actor in scenario.actors], dtype=np.int64)
        self.object_owner_row: Int32 = np.full(len(self.object_ids), -1, dtype=np.int32)
        for row, owner in self.object_owner.items():
            self.object_owner_row[row] = self.actor_row[owner]
        self.goals = goal_tables(scenario, self.item_code, self.object_row)
        self.info = self._make_info()

    def _build_floors(self) -> None:
        floors = self.scenario.floors
        codes = np.frombuffer(self.scenario.floor_codes, dtype=np.uint8).reshape(self.height, self.width)
        self.floor: UInt8 = codes
        self.on_map: Bool = np.ones(codes.shape, dtype=np.bool_)  # what lies between copies of a map is not
        self.floor_walkable: Bool = np.array([floor.walkable for floor in floors], dtype=np.bool_)[codes]
        self.floor_opaque: Bool = np.array([floor.opaque for floor in floors], dtype=np.bool_)[codes]
        self.floor_energy: Int32 = np.array([floor.energy for floor in floors], dtype=np.int32)  # by code
        self.floor_hunger: Int32 = np.array([floor.hunger for floor in floors], dtype=np.int32)
        self.floor_step_ticks: Int64 = np.array([floor.step_ticks for floor in floors], dtype=np.int64)
        self.some_steps_take_longer = bool((self.floor_step_ticks > 1).any())
        self.floors_change_needs = bool(self.floor_energy.any() or self.floor_hunger.any())

    def _build_kinds(self) -> None:
        kinds = self.scenario.kinds
        shape = (len(kinds), max((len(kind.states) for kind in kinds), default=1))
        verbs = sorted({action.verb for kind in kinds for state in kind.states for action in state.actions})
        self.verbs = ("", *verbs)
        self.verb_code = {verb: code for code, verb in enumerate(self.verbs)}
        self.kind_walkable: Bool = np.ones(shape, dtype=np.bool_)  # kind, state
        self.kind_opaque: Bool = np.zeros(shape, dtype=np.bool_)
        self.kind_light: UInt8 = np.zeros(shape, dtype=np.uint8)
        self.kind_work: Int32 = np.zeros(shape, dtype=np.int32)  # work left when an object enters this state
        self.change_to: UInt8 = np.zeros(shape, dtype=np.uint8)
        self.change_ticks: Int64 = np.zeros(shape, dtype=np.int64)  # 0: the state lasts
        self.change_spread: Int64 = np.zeros(shape, dtype=np.int64)
        self.kind_restful: Bool = np.zeros(len(kinds), dtype=np.bool_)
        self.stock_item: Int32 = np.full(len(kinds), -1, dtype=np.int32)
        self.stock_most: Int32 = np.zeros(len(kinds), dtype=np.int32)
        self.stock_ticks: Int64 = np.zeros(len(kinds), dtype=np.int64)
        self.stock_spread: Int64 = np.zeros(len(kinds), dtype=np.int64)
        self.stock_doubles: Bool = np.zeros(len(kinds), dtype=np.bool_)
        self.kind_code = {kind.name: code for code, kind in enumerate(kinds)}
        self.kind_moves: Bool = np.array([kind.comes_and_goes for kind in kinds], dtype=np.bool_)
        self.objects_move = bool(self.kind_moves.any())  # whether some are built or removed in a run
        self._build_actions()
        for row, kind in enumerate(kinds):
            self.kind_restful[row] = self.scenario.rules.rest_tag in kind.tags
            self._build_states(row, kind)
            if kind.stock:
                self.stock_item[row] = self.item_code[kind.stock.item]
                self.stock_most[row] = kind.stock.most
                self.stock_ticks[row] = kind.stock.ticks
                self.stock_spread[row] = kind.stock.spread
                self.stock_doubles[row] = kind.stock.doubles

    def _build_actions(self) -> None:
        """Number all actions, and find them by kind, state and verb; verb 0 is the first action of a state."""
        actions: list[tuple[int, ObjectAction]] = []  # kind, and what can be done with it
        numbers: dict[int, int] = {}  # key -> number of the action
        for row, kind in enumerate(self.scenario.kinds):
            for code, state in enumerate(kind.states):
                for action in state.actions:
                    numbers.setdefault(self._action_key(row, code, 0), len(actions))
                    numbers[self._action_key(row, code, self.verb_code[action.verb])] = len(actions)
                    actions.append((row, action))
        self.actions = tuple(actions)
        keys = sorted(numbers)
        self._action_keys: Int64 = np.array([*keys, NEVER], dtype=np.int64)
        self._action_numbers: Int64 = np.array([*(numbers[key] for key in keys), -1], dtype=np.int64)

    def _action_key(self, kind: Any, state: Any, verb: Any) -> Any:
        return (kind * self.kind_walkable.shape[1] + state) * len(self.verbs) + verb

    def find_actions(self, objects: "Int32", states: "UInt8", verbs: "Int32") -> "Int64":
        """Return the numbers of what verbs do with objects in these states; -1 where they do nothing."""
        keys = self._action_key(self.object_kind[objects].astype(np.int64), states.astype(np.int64), verbs)
        place = np.searchsorted(self._action_keys, keys)
        return np.where(self._action_keys[place] == keys, self._action_numbers[place], -1)

    def _build_states(self, row: int, kind: ObjectKind) -> None:
        for code, state in enumerate(kind.states):
            self.kind_walkable[row, code] = state.walkable
            self.kind_opaque[row, code] = state.opaque
            self.kind_light[row, code] = state.light
            self.kind_work[row, code] = max((action.work for action in state.actions), default=0)
            if state.change:
                self.change_to[row, code] = kind.state_code(state.change.to)
                self.change_ticks[row, code] = state.change.ticks
                self.change_spread[row, code] = state.change.spread

    def _build_objects(self) -> None:
        objects, kinds = self.scenario.objects, self.scenario.kinds
        self.object_ids = tuple(thing.object_id for thing in objects)
        self.object_row = {name: row for row, name in enumerate(self.object_ids)}
        self.object_kind: UInt16 = np.array([self.kind_code[thing.kind] for thing in objects], dtype=np.uint16)
        self.object_x: Int32 = np.array([thing.x for thing in objects], dtype=np.int32)  # at the beginning
        self.object_y: Int32 = np.array([thing.y for thing in objects], dtype=np.int32)
        sizes = np.array([kind.size for kind in kinds], dtype=np.int32).reshape(-1, 2)[self.object_kind]
        self.object_width: Int32 = sizes[:, 0]
        self.object_height: Int32 = sizes[:, 1]
        self.some_are_large = bool((sizes > 1).any())  # whether objects have several tiles
        holds = np.array([kind.container is not None for kind in kinds], dtype=np.bool_)
        self.is_container: Bool = holds[self.object_kind]  # object row -> whether it is one
        self.ground_ids: dict[int, str] = {}  # tile -> id of the items on it, for tiles that have had some
        self.object_owner = {row: thing.owner for row, thing in enumerate(objects) if thing.owner}

    def start_of(self, row: int) -> tuple[int, int]:
        """Return the tile at which the scenario puts an actor."""
        actor = self.scenario.actors[row]
        return actor.x, actor.y

    def in_own_copy(self, x: "Int32", y: "Int32", rows: "Int64") -> "tuple[Int32, Int32]":
        """Return the tiles of actors as those of the scenario's map; they differ where the world has copies of it."""
        return x[rows], y[rows]

    def ticks_of_copies(self, tick_id: int) -> "Int64":
        """Return the tick for each copy of the world; there is one."""
        return np.array([tick_id], dtype=np.int64)

    def weather_of_copies(self, day: int) -> "NDArray[np.str_] | None":  # noqa: ARG002 - copies have days
        """Return None: all have the weather of the scenario."""
        return None

    def kind_of(self, object_row: int) -> ObjectKind:
        """Return the kind of an object."""
        return self.scenario.kinds[int(self.object_kind[object_row])]

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
                FloorInfo(
                    floor.name,
                    floor.walkable,
                    floor.opaque,
                    floor.hazards,
                    floor.energy,
                    floor.hunger,
                    floor.step_ticks,
                    floor.own_needs,
                )
                for floor in scenario.floors
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
                    doubling_ticks=kind.stock.ticks if kind.stock and kind.stock.doubles else 0,
                    container=kind.container,
                    each_tick=tuple(state.each_tick for state in kind.states)
                    if any(state.each_tick for state in kind.states)
                    else (),
                    build=None if kind.build is None else _shown(kind.build),
                    most_built=kind.most_built,
                    size=kind.size,
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
            goals=scenario.goals,
            own_needs=self.needs.names,
            items=tuple(ItemInfo(item.name, item.changes, item.lasts, item.becomes) for item in scenario.items),
        )


def _shown(action: ObjectAction) -> ActionInfo:
    return ActionInfo(
        verb=action.verb,
        to=action.to,
        work=action.work,
        needs=action.needs,
        consumes=action.consumes,
        yields=action.yields,
        hours=action.hours,
        seasons=action.seasons,
        weather=action.weather,
        wears=action.wears,
        removes=action.removes,
    )
