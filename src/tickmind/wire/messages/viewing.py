"""Viewers' filters, events and snapshots."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tickmind.protocol import (
    ActorColumns,
    AgentStatus,
    Insight,
    LifecycleEvent,
    NeedColumns,
    ObjectDelta,
    ResultColumns,
    RuleEvent,
    ThoughtReport,
    Utterance,
)

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32, Int64, UInt8, UInt16


class ViewerEventType(StrEnum):
    """The event types that a viewer can request."""

    STATE = "state"
    RESULT = "result"
    UTTERANCE = "utterance"
    OBJECT = "object"
    LIFECYCLE = "lifecycle"
    THOUGHT = "thought"
    STATUS = "status"
    INSIGHT = "insight"
    NEED = "need"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of tiles, including its edges."""

    min_x: int
    min_y: int
    max_x: int
    max_y: int


@dataclass(frozen=True, slots=True)
class ViewFilter:
    """What to show. Each non-empty list narrows it.

    >>> ViewFilter(regions=(Region(0, 0, 15, 15),)).actor_ids
    ()
    """

    actor_ids: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()
    types: tuple[ViewerEventType, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ViewerEvent:
    """What happened in one tick, narrowed by the filter; row i of `state` is actor `actor[i]`."""

    tick_id: int
    sim_time_ms: int
    actor: "Int32"  # rows whose state is new, ascending
    state: ActorColumns
    results: ResultColumns
    utterances: tuple[Utterance, ...] = ()
    object_deltas: tuple[ObjectDelta, ...] = ()
    lifecycle: tuple[LifecycleEvent, ...] = ()
    thoughts: tuple[ThoughtReport, ...] = ()
    statuses: tuple[AgentStatus, ...] = ()
    insights: tuple[Insight, ...] = ()
    needs: NeedColumns | None = None  # those that changed
    rule_events: tuple[RuleEvent, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ObjectColumns:
    """The state of some objects."""

    row: "Int32"  # ascending
    state: "UInt8"
    work: "Int32"
    stock: "Int32"
    x: "Int32 | None" = None  # -1, as y: it is not there; None, as y: all are where they were at the beginning
    y: "Int32 | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class GroundColumns:
    """Items on the ground."""

    x: "Int32"
    y: "Int32"
    kind: "UInt16"
    amount: "Int64"


@dataclass(frozen=True, slots=True, eq=False)
class ViewerSnapshot:
    """The world after a tick, narrowed by the filter."""

    tick_id: int
    sim_time_ms: int
    actor: "Int32"  # rows, ascending
    state: ActorColumns
    objects: ObjectColumns
    ground: GroundColumns
    needs: NeedColumns | None = None  # None where the world has none
    run_id: str = ""  # the world's run; empty if it has no name
