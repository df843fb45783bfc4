"""Frozen types that cross packages, and the ports through which they travel.

An actor's process gets an `Observation`, answers with an `Intent`, is told by an `Ack` whether that was received, and
finds the `ActionResult` and what others did (`Event`) in its next observation. A `TickRecord` is the whole tick, for
the log and the viewer. Forms with `Columns` in their name hold the same for many actors at once, as NumPy arrays.
"""

from tickmind.protocol.direction import Direction
from tickmind.protocol.entity import (
    EntityInfo,
    FloorInfo,
    GroundInfo,
    KindInfo,
    LifecycleEvent,
    LifecycleKind,
    ObjectInfo,
    WorldInfo,
)
from tickmind.protocol.event import Acted, Entered, Event, Heard, Left, Moved
from tickmind.protocol.intent import (
    ACTION_CODES,
    ACTION_OF,
    ACTION_TYPES,
    UNKNOWN,
    UNUSED,
    ActionType,
    Drop,
    Give,
    Intent,
    IntentColumns,
    IntentError,
    Interact,
    Move,
    Pickup,
    Say,
    Sleep,
    Use,
    Wait,
    Wake,
)
from tickmind.protocol.lease import Lease
from tickmind.protocol.observation import (
    ItemStack,
    Observation,
    SelfState,
    VisibleEntity,
    VisibleObject,
    VisibleTiles,
)
from tickmind.protocol.observation_columns import ENTERED, MOVED, ObservationColumns
from tickmind.protocol.reason import REASON_CODES, REASONS, Reason
from tickmind.protocol.record import (
    ActorColumns,
    NeedColumns,
    ObjectDelta,
    ResultColumns,
    Sink,
    TickRecord,
    Utterance,
)
from tickmind.protocol.reports import (
    AgentState,
    AgentStatus,
    BoardEntry,
    Insight,
    MemoryNote,
    NodeStatus,
    ThoughtReport,
    TreeLine,
)
from tickmind.protocol.result import Ack, ActionResult, Effect
from tickmind.protocol.status import Status
from tickmind.protocol.thought import Thought, ThoughtSink
from tickmind.protocol.tick_event import TickEvent

__all__ = [
    "ACTION_CODES",
    "ACTION_OF",
    "ACTION_TYPES",
    "ENTERED",
    "MOVED",
    "REASONS",
    "REASON_CODES",
    "UNKNOWN",
    "UNUSED",
    "Ack",
    "Acted",
    "ActionResult",
    "ActionType",
    "ActorColumns",
    "AgentState",
    "AgentStatus",
    "BoardEntry",
    "Direction",
    "Drop",
    "Effect",
    "Entered",
    "EntityInfo",
    "Event",
    "FloorInfo",
    "Give",
    "GroundInfo",
    "Heard",
    "Insight",
    "Intent",
    "IntentColumns",
    "IntentError",
    "Interact",
    "ItemStack",
    "KindInfo",
    "Lease",
    "Left",
    "LifecycleEvent",
    "LifecycleKind",
    "MemoryNote",
    "Move",
    "Moved",
    "NeedColumns",
    "NodeStatus",
    "ObjectDelta",
    "ObjectInfo",
    "Observation",
    "ObservationColumns",
    "Pickup",
    "Reason",
    "ResultColumns",
    "Say",
    "SelfState",
    "Sink",
    "Sleep",
    "Status",
    "Thought",
    "ThoughtReport",
    "ThoughtSink",
    "TickEvent",
    "TickRecord",
    "TreeLine",
    "Use",
    "Utterance",
    "VisibleEntity",
    "VisibleObject",
    "VisibleTiles",
    "Wait",
    "Wake",
    "WorldInfo",
]
