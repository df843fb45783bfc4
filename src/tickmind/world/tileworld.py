"""`TileWorld`: the state and rules of the tile world."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import (
    ACTION_TYPES,
    ActorColumns,
    Intent,
    IntentColumns,
    NeedColumns,
    Observation,
    ObservationColumns,
    Placement,
    ResultColumns,
    TickRecord,
    VisibleObject,
    WorldInfo,
)
from tickmind.protocol.record import AWAY
from tickmind.world.choices.choosing import Choosing
from tickmind.world.errors import BadIntentsError, OwnRuleError, SnapshotMismatchError, WorldError
from tickmind.world.kernels import MoveScratch
from tickmind.world.perception.lamps import Lamps
from tickmind.world.perception.observer import Observer
from tickmind.world.perception.packer import GroundMap, Packer
from tickmind.world.perception.perception import Eyes, Perception
from tickmind.world.perception.standing import StandingObjects
from tickmind.world.perception.view import WorldView, take_view
from tickmind.world.perception.windows import WindowColumns, WindowMaker
from tickmind.world.rules.aftermath import NOTHING, Aftermath
from tickmind.world.rules.arrivals import come_and_go, place_actors
from tickmind.world.rules.building import build
from tickmind.world.rules.decay import decay
from tickmind.world.rules.exchange.containers import use_containers
from tickmind.world.rules.exchange.trade import trade
from tickmind.world.rules.goals import reach_goals
from tickmind.world.rules.intents import check_intents, compile_intents
from tickmind.world.rules.inventory import drop_items, give_items, pick_up_items, use_items
from tickmind.world.rules.movement import move
from tickmind.world.rules.needs_and_rest import (
    fall_asleep_and_wake,
    feel_needs,
    leave_alone,
    stop_the_unable,
    take_control,
)
from tickmind.world.rules.needs_reporting import NeedsBefore
from tickmind.world.rules.objects import change_objects, grow_stock, interact
from tickmind.world.rules.own_rules import OwnRule, intervene, run_own_rules
from tickmind.world.rules.speech import speak
from tickmind.world.rules.turn import Turn
from tickmind.world.scenario.scenario import Scenario
from tickmind.world.state.columns import WorldColumns, first_state
from tickmind.world.state.maps import Maps
from tickmind.world.state.snapshot import Snapshot, pack, unpack
from tickmind.world.state.tables import Tables

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool, Int8, Int32, Int64, UInt8


class TileWorld:
    """A world of tiles and all that is in it. The same scenario and the same inputs give the same world.

    It has no clock: its owner calls `step` when a tick is due, and `observe` for the actors that need
    observations. Threads must not share it.

        world = TileWorld.from_scenario(load_scenario("clearing.yaml"))
        record = world.step({world.row_of("entity:1"): Move(Direction.E)})
    """

    def __init__(
        self, tables: Tables, own_rules: Mapping[str, OwnRule] | None = None, state: WorldColumns | None = None
    ) -> None:
        self._tables = tables
        self._own_rules = _named_rules(tables.scenario, own_rules)
        self._state = first_state(tables) if state is None else state
        self._maps = Maps(tables, self._state)
        self._everybody = np.arange(len(tables.actor_ids), dtype=np.int32)
        self._scratch = MoveScratch(tables.height, tables.width)
        self._tick_id = 1
        self._objects = StandingObjects(tables, self._maps)
        self._ground = GroundMap(tables)
        self._eyes = Eyes(tables.scenario.rules, self._maps.opaque, self._maps.occupancy)
        self._lamps = Lamps(tables)
        self._now = self._perceive()
        self._before: Perception | None = None
        self._last = NOTHING
        self._observer: Observer | None = None  # of the present tick, once it is needed
        self._views: dict[int, VisibleObject] = {}  # object row -> its view; without those that have changed

    @classmethod
    def from_scenario(cls, scenario: Scenario, own_rules: Mapping[str, OwnRule] | None = None) -> "TileWorld":
        """Return a world before its first tick.

        `own_rules` are the functions that the scenario names. Without them a world of such a scenario can be looked at,
        and `step` raises `OwnRuleError`: a scenario is data, so it brings no code with it.
        """
        return cls(Tables(scenario), own_rules)

    @property
    def tick_id(self) -> int:
        """The tick that the next `step` resolves; the first is 1."""
        return self._tick_id

    @property
    def world_version(self) -> str:
        """The rule set, as a semantic version."""
        return self._tables.scenario.rules.world_version

    @property
    def mind_seed(self) -> int:
        """The seed of all chance in minds, derived from the scenario's."""
        return self._tables.scenario.mind_seed

    @property
    def thinking_ticks(self) -> int:
        """After how many ticks a reply of a model takes effect; 0: as soon as it arrives."""
        return self._tables.scenario.thinking_ticks

    @property
    def info(self) -> WorldInfo:
        """The map and the names behind the numbers in columns."""
        return self._tables.info

    @property
    def present(self) -> "Bool":
        """Row of an actor -> whether it is in the world now; the others have not come yet, or have left."""
        present: Bool = self._state.x != AWAY
        return present

    def start_of(self, row: int) -> tuple[int, int]:
        """Return the tile at which the scenario puts an actor."""
        return self._tables.start_of(row)

    def row_of(self, entity_id: str) -> int | None:
        """Return the row of an actor in columns, or None if there is no such actor."""
        return self._tables.actor_row.get(entity_id)

    def compile(self, intents: Mapping[int, Intent]) -> IntentColumns:
        """Compile intents by actor row to columns."""
        return compile_intents(self._tables, intents)

    def state_hash(self) -> bytes:
        """Return a hash of everything that can differ between two runs of a scenario."""
        return self._state.digest(self._tick_id)

    def repeat(self, record: TickRecord) -> bool:
        """Resolve a recorded tick again. Return whether it leads to the recorded state."""
        return self.step(record.intents, record.controlled, record.placements).state_hash == record.state_hash

    def step(
        self,
        intents: Mapping[int, Intent] | IntentColumns,
        controlled: "Bool | None" = None,
        placements: Sequence[Placement] = (),
    ) -> TickRecord:
        """Resolve one tick: movement, then actions, then what happens by itself. An actor without an intent waits.

        `controlled` says for each row whether a controller holds its lease; None means all of them. `placements` are
        carried out at the end of the tick, in their order. Raises `OwnRuleError` if rules of the user's own are not
        loaded, and `BadIntentsError` for intents, `controlled` or `placements` that do not fit the world.
        """
        if self._own_rules is None:
            raise OwnRuleError(
                f"the world has rules of its user's own ({', '.join(self._tables.scenario.own_rules)}); "
                "only `tickmind world` and `tickmind up` load them, or pass them to from_scenario()"
            )
        columns = intents if isinstance(intents, IntentColumns) else self.compile(intents)
        check_intents(self._tables, columns)
        if controlled is not None:
            controlled = np.array(controlled, dtype=np.bool_)  # a copy, because the record keeps it
            if controlled.shape != self._state.x.shape:
                raise BadIntentsError(f"controlled must have {len(self._state.x)} values, not {len(controlled)}")
        if unknown := [order.actor_id for order in placements if order.actor_id not in self._tables.actor_row]:
            raise BadIntentsError(f"there is no actor {unknown[0]!r} to bring or to send away")
        turn = Turn(self._tick_id, self._tables, self._state, self._maps, columns)
        needs = None if turn.rules.needs is None else NeedsBefore(self._state)
        take_control(turn, controlled)
        stop_the_unable(turn)
        move(turn, self._scratch)
        use_items(turn)
        drop_items(turn)
        pick_up_items(turn)
        give_items(turn)
        use_containers(turn)
        trade(turn)
        interact(turn)
        build(turn)
        fall_asleep_and_wake(turn)
        speak(turn)
        change_objects(turn)
        grow_stock(turn)
        decay(turn)
        leave_alone(turn)
        feel_needs(turn)
        run_own_rules(turn, self._own_rules)
        intervene(turn)
        reach_goals(turn)
        self._maps.update(self._state.object_state, turn.changed_objects, turn.bare_tiles)
        if turn.objects_moved:
            self._objects.update()
        come_and_go(turn)
        place_actors(turn, placements)
        self._tick_id += 1
        self._eyes.adapt(self._maps.opaque)
        self._before, self._now = self._now.pass_by(), self._perceive()
        record = self._record(turn, controlled, None if needs is None else needs.moved(turn.tick_id, self._state))
        self._last = Aftermath(record.results, record.utterances)
        self._observer = None
        for delta in record.object_deltas if self._views else ():
            self._views.pop(self._tables.object_row.get(delta.object_id, -1), None)
        return record

    def observe(self, rows: Sequence[int], deadline_ms: int | None = None, *, floors: bool = True) -> list[Observation]:
        """Return what these actors perceive at the start of `tick_id`, with the events of the tick before.

        Without a deadline it is the rules' own. What several of them perceive is one object for all.
        """
        if self._observer is None:
            self._observer = Observer(self._tables, self._state, self._maps, self._before, self._last, self._views)
        columns = self.observe_columns(np.asarray(rows, dtype=np.int32), deadline_ms)
        return self._observer.observe(columns, floors=floors)

    def observe_columns(self, rows: "Int32 | None" = None, deadline_ms: int | None = None) -> ObservationColumns:
        """Return the observations of `observe`, packed, for hosts of many actors; without rows for all that are there.

        Passing the same rows tick after tick is cheapest. Raises `WorldError` if a row is not there, or its actor is
        away.
        """
        some_away = self._state.some_away
        if rows is None:
            rows = np.flatnonzero(self.present).astype(np.int32) if some_away else self._everybody
        else:
            rows = np.array(rows, dtype=np.int32)  # a copy, because it is kept
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self._everybody):
            raise WorldError(f"rows of actors go from 0 to {len(self._everybody) - 1}; look them up with row_of()")
        if some_away and (self._state.x[rows] == AWAY).any():
            raise WorldError("an actor that is away perceives nothing; ask `present` who is there")
        if deadline_ms is None:
            deadline_ms = self._tables.scenario.rules.intent_deadline_ms
        packer = Packer(
            self._tick_id,
            self._tables,
            self._state,
            self._maps,
            self._objects,
            self._ground,
            self._now,
            self._before,
            self._last,
        )
        return packer.pack(rows, deadline_ms)

    def observe_windows(self, rows: "Int32", radius: int) -> WindowColumns:
        """Return what actors see within a radius, and how they are, as numbers of one shape; of those away zeros.

        Raises `WorldError` if the radius is beyond what actors see.
        """
        if not 0 <= radius <= self._tables.scenario.rules.sight_radius:
            raise WorldError(
                f"a window's radius goes from 0 to {self._tables.scenario.rules.sight_radius}, not {radius}"
            )
        masks = self._now.tiles_seen_by(rows)
        return self.windows.make(self._tick_id, self._state, self._maps, rows, masks, radius)

    @cached_property
    def windows(self) -> WindowMaker:
        """What makes windows, with the names of their numbers."""
        return WindowMaker(self._tables)

    @cached_property
    def choosing(self) -> Choosing:
        """The actions that the scenario offers, as numbered choices."""
        return Choosing(self._tables)

    def choices_of(self, rows: "Int32") -> "Int8":
        """Return actors x numbered actions: 1 for what is possible now by place, state and inventory, else 0."""
        items = self.windows.item_at(self._state.ground_key)
        return self.choosing.mask(self._tick_id, self._state, self._maps, items, rows)

    def intents_of(self, rows: "Int32", numbers: "Int64") -> IntentColumns:
        """Return the intents of actors, by ascending rows, that choose these numbered actions."""
        return self.choosing.intents(self._state, self._maps, rows, numbers)

    def look(self, rows: "Int32") -> None:
        """Compute the sight of many actors at once before they are observed in parts, which is cheaper in all."""
        self._now.seen_by(rows)
        if self._before is not None:
            self._before.seen_by(rows)

    def view(self) -> WorldView:
        """Return all that a viewer shows, as it is now; later ticks do not change it."""
        return take_view(self._tick_id - 1, self._tables, self._state)

    def snapshot(self) -> bytes:
        """Return everything that the rest of the run depends on, for `restore` of a world of the same scenario."""
        columns = dict(self._state.columns()) | self._last.columns()
        if self._before is not None:
            columns |= {
                "old_x": self._before.x,
                "old_y": self._before.y,
                "old_opaque": np.packbits(self._before.opaque),
            }
            if self._before.lit is not None:
                columns["old_lit"] = np.packbits(self._before.lit)
        scenario = self._tables.scenario
        return pack(Snapshot(self.world_version, scenario.digest, self._tick_id, self._last.notes(), columns))

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot. Raises `SnapshotMismatchError` if it is not one of this world and rule set."""
        saved = unpack(data)
        rules, digest = self._tables.scenario.rules, self._tables.scenario.digest
        if saved.world_version != self.world_version:
            versions = f"rule set {saved.world_version}, this world {self.world_version}"
            raise SnapshotMismatchError(f"the snapshot follows {versions}; use the scenario with which it was made")
        if saved.scenario_digest != digest:
            raise SnapshotMismatchError("the snapshot was made in another scenario; use the one with which it was made")
        columns = dict(saved.columns)
        last = Aftermath.read(columns, saved.notes)
        self._state = WorldColumns.of(columns)
        self._maps = Maps(self._tables, self._state)
        self._objects = StandingObjects(self._tables, self._maps)
        self._eyes = Eyes(rules, self._maps.opaque, self._maps.occupancy)
        self._tick_id = saved.tick_id
        self._last = last
        self._observer = None
        self._views.clear()
        self._now = self._perceive()
        self._before = None
        if "old_x" in columns:
            opaque, lit = (self._unpacked(columns.get(name)) for name in ("old_opaque", "old_lit"))
            assert opaque is not None, "it is packed with the positions"
            self._before = Perception(rules, columns["old_x"], columns["old_y"], opaque, lit=lit)

    def _unpacked(self, bits: "UInt8 | None") -> "Bool | None":
        """Return a map of flags from a snapshot."""
        whole = self._maps.opaque
        return None if bits is None else np.unpackbits(bits, count=whole.size).view(np.bool_).reshape(whole.shape)

    def _perceive(self) -> Perception:
        state, opaque = self._state, self._maps.opaque
        lit = self._lamps.lit(self._tick_id, self._maps, state.object_state)
        return Perception(self._tables.scenario.rules, state.x, state.y, opaque, self._eyes, lit)

    def _record(self, turn: Turn, controlled: "Bool | None", needs: NeedColumns | None) -> TickRecord:
        state = self._state
        for column in (state.x, state.y, state.status, state.facing):
            column.flags.writeable = False  # the record has them now; the next tick makes new ones
        known = turn.intents.action < len(ACTION_TYPES)
        actions = turn.intents.action if known.all() else np.where(known, turn.intents.action, 0)
        return TickRecord(
            tick_id=turn.tick_id,
            sim_time_ms=turn.tick_id * turn.rules.tick_duration_ms,
            world_version=self.world_version,
            state_hash=self.state_hash(),
            actor_ids=self._tables.actor_ids,
            actor_state=ActorColumns(state.x, state.y, state.status, state.facing),
            results=ResultColumns(turn.intents.actor, actions, turn.reason, turn.target_ids, turn.effects),
            utterances=tuple(turn.utterances),
            object_deltas=tuple(turn.deltas),
            intents=turn.intents,
            controlled=controlled,
            needs=needs,
            rule_events=tuple(turn.rule_events),
            placements=tuple(turn.placements),
        )


def _named_rules(scenario: Scenario, functions: Mapping[str, OwnRule] | None) -> tuple[tuple[str, OwnRule], ...] | None:
    """Return the rules of the user's own in the order of the scenario; None if it names some and none are given."""
    if functions is None:
        return None if scenario.own_rules else ()
    missing = [name for name in scenario.own_rules if name not in functions]
    if missing:
        raise OwnRuleError(f"the scenario names rules that are not given: {', '.join(missing)}")
    return tuple((name, functions[name]) for name in scenario.own_rules)
