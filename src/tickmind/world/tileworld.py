"""The tile world: state and rules together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tickmind.protocol import ActorColumns, Intent, IntentColumns, ResultColumns, TickRecord, WorldInfo
from tickmind.world.errors import BadIntentsError
from tickmind.world.intents import check_intents, compile_intents
from tickmind.world.inventory import drop_items, give_items, pick_up_items, use_items
from tickmind.world.kernels import MoveScratch
from tickmind.world.maps import Maps
from tickmind.world.movement import move
from tickmind.world.objects import change_objects, grow_stock, interact
from tickmind.world.rest import fall_asleep_and_wake, feel_needs, leave_alone, stop_the_unable, take_control
from tickmind.world.scenario import Scenario
from tickmind.world.speech import speak
from tickmind.world.state import first_state
from tickmind.world.tables import Tables
from tickmind.world.turn import Turn

if TYPE_CHECKING:
    from tickmind.protocol.columns import Bool


class TileWorld:
    """A world of tiles with all that is in it. The same scenario and the same intents give the same world.

    It has no clock: whoever owns it calls `step` when a tick is due, and `observe` for those who want to know what
    they perceive. Threads must not share it.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._state = first_state(tables)
        self._maps = Maps(tables, self._state)
        self._scratch = MoveScratch(tables.height, tables.width)
        self._tick_id = 1

    @classmethod
    def from_scenario(cls, scenario: Scenario) -> "TileWorld":
        """A world before its first tick."""
        return cls(Tables(scenario))

    @property
    def tick_id(self) -> int:
        """The tick that the next `step` resolves; the first is 1."""
        return self._tick_id

    @property
    def world_version(self) -> str:
        """The rule set, as a semantic version."""
        return self._tables.scenario.rules.world_version

    @property
    def info(self) -> WorldInfo:
        """The map and the names behind the numbers in columns."""
        return self._tables.info

    def row_of(self, entity_id: str) -> int | None:
        """The row of an actor in columns, or None if there is no such actor."""
        return self._tables.actor_row.get(entity_id)

    def compile(self, intents: Mapping[int, Intent]) -> IntentColumns:
        """Make columns of intents by actor row."""
        return compile_intents(self._tables, intents)

    def state_hash(self) -> bytes:
        """A hash of everything that can differ between two runs of a scenario."""
        return self._state.digest(self._tick_id)

    def step(self, intents: Mapping[int, Intent] | IntentColumns, controlled: "Bool | None" = None) -> TickRecord:
        """Resolve one tick: movement, then actions, then what happens by itself. An actor without an intent waits.

        `controlled` says for each row whether somebody holds its lease; None means all of them.
        """
        columns = intents if isinstance(intents, IntentColumns) else self.compile(intents)
        check_intents(self._tables, columns)
        if controlled is not None and len(controlled) != len(self._state.x):
            raise BadIntentsError(f"expected {len(self._state.x)} values in controlled, found {len(controlled)}")
        turn = Turn(self._tick_id, self._tables, self._state, self._maps, columns)
        take_control(turn, controlled)
        stop_the_unable(turn)
        move(turn, self._scratch)
        use_items(turn)
        drop_items(turn)
        pick_up_items(turn)
        give_items(turn)
        interact(turn)
        fall_asleep_and_wake(turn)
        speak(turn)
        change_objects(turn)
        grow_stock(turn)
        leave_alone(turn)
        feel_needs(turn)
        self._maps.update(self._state.object_state, turn.changed_objects)
        self._tick_id += 1
        return self._record(turn, controlled)

    def _record(self, turn: Turn, controlled: "Bool | None") -> TickRecord:
        state = self._state
        return TickRecord(
            tick_id=turn.tick_id,
            sim_time_ms=turn.tick_id * turn.rules.tick_duration_ms,
            world_version=self.world_version,
            state_hash=self.state_hash(),
            actor_ids=self._tables.actor_ids,
            actor_state=ActorColumns(state.x, state.y, state.status, state.facing),
            results=ResultColumns(turn.intents.actor, turn.intents.action, turn.reason, turn.target_ids, turn.effects),
            utterances=tuple(turn.utterances),
            object_deltas=tuple(turn.deltas),
            intents=turn.intents,
            controlled=controlled,
        )
