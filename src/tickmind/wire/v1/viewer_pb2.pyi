from tickmind.wire.v1 import action_pb2 as _action_pb2
from tickmind.wire.v1 import columns_pb2 as _columns_pb2
from tickmind.wire.v1 import entity_pb2 as _entity_pb2
from tickmind.wire.v1 import telemetry_pb2 as _telemetry_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ViewerEventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VIEWER_EVENT_TYPE_UNSPECIFIED: _ClassVar[ViewerEventType]
    VIEWER_EVENT_TYPE_STATE: _ClassVar[ViewerEventType]
    VIEWER_EVENT_TYPE_RESULT: _ClassVar[ViewerEventType]
    VIEWER_EVENT_TYPE_UTTERANCE: _ClassVar[ViewerEventType]
    VIEWER_EVENT_TYPE_OBJECT: _ClassVar[ViewerEventType]
    VIEWER_EVENT_TYPE_LIFECYCLE: _ClassVar[ViewerEventType]
    VIEWER_EVENT_TYPE_THOUGHT: _ClassVar[ViewerEventType]
    VIEWER_EVENT_TYPE_STATUS: _ClassVar[ViewerEventType]
    VIEWER_EVENT_TYPE_INSIGHT: _ClassVar[ViewerEventType]
    VIEWER_EVENT_TYPE_NEED: _ClassVar[ViewerEventType]
    VIEWER_EVENT_TYPE_RULE: _ClassVar[ViewerEventType]
VIEWER_EVENT_TYPE_UNSPECIFIED: ViewerEventType
VIEWER_EVENT_TYPE_STATE: ViewerEventType
VIEWER_EVENT_TYPE_RESULT: ViewerEventType
VIEWER_EVENT_TYPE_UTTERANCE: ViewerEventType
VIEWER_EVENT_TYPE_OBJECT: ViewerEventType
VIEWER_EVENT_TYPE_LIFECYCLE: ViewerEventType
VIEWER_EVENT_TYPE_THOUGHT: ViewerEventType
VIEWER_EVENT_TYPE_STATUS: ViewerEventType
VIEWER_EVENT_TYPE_INSIGHT: ViewerEventType
VIEWER_EVENT_TYPE_NEED: ViewerEventType
VIEWER_EVENT_TYPE_RULE: ViewerEventType

class Region(_message.Message):
    __slots__ = ("min_x", "min_y", "max_x", "max_y")
    MIN_X_FIELD_NUMBER: _ClassVar[int]
    MIN_Y_FIELD_NUMBER: _ClassVar[int]
    MAX_X_FIELD_NUMBER: _ClassVar[int]
    MAX_Y_FIELD_NUMBER: _ClassVar[int]
    min_x: int
    min_y: int
    max_x: int
    max_y: int
    def __init__(self, min_x: _Optional[int] = ..., min_y: _Optional[int] = ..., max_x: _Optional[int] = ..., max_y: _Optional[int] = ...) -> None: ...

class ViewFilter(_message.Message):
    __slots__ = ("actor_ids", "regions", "types")
    ACTOR_IDS_FIELD_NUMBER: _ClassVar[int]
    REGIONS_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    actor_ids: _containers.RepeatedScalarFieldContainer[str]
    regions: _containers.RepeatedCompositeFieldContainer[Region]
    types: _containers.RepeatedScalarFieldContainer[ViewerEventType]
    def __init__(self, actor_ids: _Optional[_Iterable[str]] = ..., regions: _Optional[_Iterable[_Union[Region, _Mapping]]] = ..., types: _Optional[_Iterable[_Union[ViewerEventType, str]]] = ...) -> None: ...

class ActorColumns(_message.Message):
    __slots__ = ("actor", "x", "y", "status_bits", "facing")
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    STATUS_BITS_FIELD_NUMBER: _ClassVar[int]
    FACING_FIELD_NUMBER: _ClassVar[int]
    actor: bytes
    x: bytes
    y: bytes
    status_bits: bytes
    facing: bytes
    def __init__(self, actor: _Optional[bytes] = ..., x: _Optional[bytes] = ..., y: _Optional[bytes] = ..., status_bits: _Optional[bytes] = ..., facing: _Optional[bytes] = ...) -> None: ...

class NeedColumns(_message.Message):
    __slots__ = ("actor", "energy", "hunger", "own")
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ENERGY_FIELD_NUMBER: _ClassVar[int]
    HUNGER_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    actor: bytes
    energy: bytes
    hunger: bytes
    own: bytes
    def __init__(self, actor: _Optional[bytes] = ..., energy: _Optional[bytes] = ..., hunger: _Optional[bytes] = ..., own: _Optional[bytes] = ...) -> None: ...

class ResultColumns(_message.Message):
    __slots__ = ("actor", "action", "reason", "details")
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    actor: bytes
    action: bytes
    reason: bytes
    details: _containers.RepeatedCompositeFieldContainer[ResultDetail]
    def __init__(self, actor: _Optional[bytes] = ..., action: _Optional[bytes] = ..., reason: _Optional[bytes] = ..., details: _Optional[_Iterable[_Union[ResultDetail, _Mapping]]] = ...) -> None: ...

class ResultDetail(_message.Message):
    __slots__ = ("place", "target_id", "effects")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    place: int
    target_id: str
    effects: _containers.RepeatedCompositeFieldContainer[_action_pb2.Effect]
    def __init__(self, place: _Optional[int] = ..., target_id: _Optional[str] = ..., effects: _Optional[_Iterable[_Union[_action_pb2.Effect, _Mapping]]] = ...) -> None: ...

class ObjectDelta(_message.Message):
    __slots__ = ("object_id", "field", "number", "word")
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    WORD_FIELD_NUMBER: _ClassVar[int]
    object_id: str
    field: str
    number: int
    word: str
    def __init__(self, object_id: _Optional[str] = ..., field: _Optional[str] = ..., number: _Optional[int] = ..., word: _Optional[str] = ...) -> None: ...

class RuleEvent(_message.Message):
    __slots__ = ("name", "actor_ids", "score", "ends", "own", "text", "effects")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACTOR_IDS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    actor_ids: _containers.RepeatedScalarFieldContainer[str]
    score: int
    ends: bool
    own: bool
    text: str
    effects: _containers.RepeatedCompositeFieldContainer[_action_pb2.Effect]
    def __init__(self, name: _Optional[str] = ..., actor_ids: _Optional[_Iterable[str]] = ..., score: _Optional[int] = ..., ends: _Optional[bool] = ..., own: _Optional[bool] = ..., text: _Optional[str] = ..., effects: _Optional[_Iterable[_Union[_action_pb2.Effect, _Mapping]]] = ...) -> None: ...

class ViewerEvent(_message.Message):
    __slots__ = ("tick_id", "sim_time_ms", "actors", "results", "utterances", "object_deltas", "lifecycle", "thoughts", "statuses", "insights", "needs", "rule_events")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    SIM_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    ACTORS_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    UTTERANCES_FIELD_NUMBER: _ClassVar[int]
    OBJECT_DELTAS_FIELD_NUMBER: _ClassVar[int]
    LIFECYCLE_FIELD_NUMBER: _ClassVar[int]
    THOUGHTS_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    INSIGHTS_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    RULE_EVENTS_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    sim_time_ms: int
    actors: ActorColumns
    results: ResultColumns
    utterances: _containers.RepeatedCompositeFieldContainer[_columns_pb2.Utterance]
    object_deltas: _containers.RepeatedCompositeFieldContainer[ObjectDelta]
    lifecycle: _containers.RepeatedCompositeFieldContainer[_entity_pb2.LifecycleEvent]
    thoughts: _containers.RepeatedCompositeFieldContainer[_telemetry_pb2.ThoughtReport]
    statuses: _containers.RepeatedCompositeFieldContainer[_telemetry_pb2.AgentStatus]
    insights: _containers.RepeatedCompositeFieldContainer[_telemetry_pb2.Insight]
    needs: NeedColumns
    rule_events: _containers.RepeatedCompositeFieldContainer[RuleEvent]
    def __init__(self, tick_id: _Optional[int] = ..., sim_time_ms: _Optional[int] = ..., actors: _Optional[_Union[ActorColumns, _Mapping]] = ..., results: _Optional[_Union[ResultColumns, _Mapping]] = ..., utterances: _Optional[_Iterable[_Union[_columns_pb2.Utterance, _Mapping]]] = ..., object_deltas: _Optional[_Iterable[_Union[ObjectDelta, _Mapping]]] = ..., lifecycle: _Optional[_Iterable[_Union[_entity_pb2.LifecycleEvent, _Mapping]]] = ..., thoughts: _Optional[_Iterable[_Union[_telemetry_pb2.ThoughtReport, _Mapping]]] = ..., statuses: _Optional[_Iterable[_Union[_telemetry_pb2.AgentStatus, _Mapping]]] = ..., insights: _Optional[_Iterable[_Union[_telemetry_pb2.Insight, _Mapping]]] = ..., needs: _Optional[_Union[NeedColumns, _Mapping]] = ..., rule_events: _Optional[_Iterable[_Union[RuleEvent, _Mapping]]] = ...) -> None: ...

class ObjectColumns(_message.Message):
    __slots__ = ("object_row", "state", "work", "stock", "x", "y")
    OBJECT_ROW_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WORK_FIELD_NUMBER: _ClassVar[int]
    STOCK_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    object_row: bytes
    state: bytes
    work: bytes
    stock: bytes
    x: bytes
    y: bytes
    def __init__(self, object_row: _Optional[bytes] = ..., state: _Optional[bytes] = ..., work: _Optional[bytes] = ..., stock: _Optional[bytes] = ..., x: _Optional[bytes] = ..., y: _Optional[bytes] = ...) -> None: ...

class GroundColumns(_message.Message):
    __slots__ = ("x", "y", "kind", "amount")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    x: bytes
    y: bytes
    kind: bytes
    amount: bytes
    def __init__(self, x: _Optional[bytes] = ..., y: _Optional[bytes] = ..., kind: _Optional[bytes] = ..., amount: _Optional[bytes] = ...) -> None: ...

class ViewerSnapshot(_message.Message):
    __slots__ = ("tick_id", "sim_time_ms", "actors", "objects", "ground", "needs", "run_id")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    SIM_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    ACTORS_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    GROUND_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    sim_time_ms: int
    actors: ActorColumns
    objects: ObjectColumns
    ground: GroundColumns
    needs: NeedColumns
    run_id: str
    def __init__(self, tick_id: _Optional[int] = ..., sim_time_ms: _Optional[int] = ..., actors: _Optional[_Union[ActorColumns, _Mapping]] = ..., objects: _Optional[_Union[ObjectColumns, _Mapping]] = ..., ground: _Optional[_Union[GroundColumns, _Mapping]] = ..., needs: _Optional[_Union[NeedColumns, _Mapping]] = ..., run_id: _Optional[str] = ...) -> None: ...

class StreamViewerEventsRequest(_message.Message):
    __slots__ = ("filter",)
    FILTER_FIELD_NUMBER: _ClassVar[int]
    filter: ViewFilter
    def __init__(self, filter: _Optional[_Union[ViewFilter, _Mapping]] = ...) -> None: ...

class StreamViewerEventsResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: ViewerEvent
    def __init__(self, event: _Optional[_Union[ViewerEvent, _Mapping]] = ...) -> None: ...

class GetViewerSnapshotRequest(_message.Message):
    __slots__ = ("filter",)
    FILTER_FIELD_NUMBER: _ClassVar[int]
    filter: ViewFilter
    def __init__(self, filter: _Optional[_Union[ViewFilter, _Mapping]] = ...) -> None: ...

class GetViewerSnapshotResponse(_message.Message):
    __slots__ = ("snapshot",)
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    snapshot: ViewerSnapshot
    def __init__(self, snapshot: _Optional[_Union[ViewerSnapshot, _Mapping]] = ...) -> None: ...
