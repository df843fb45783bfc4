from tickmind.wire.v1 import action_pb2 as _action_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AGENT_STATE_UNSPECIFIED: _ClassVar[AgentState]
    AGENT_STATE_STARTING: _ClassVar[AgentState]
    AGENT_STATE_RUNNING: _ClassVar[AgentState]
    AGENT_STATE_DELIBERATING: _ClassVar[AgentState]
    AGENT_STATE_DEGRADED: _ClassVar[AgentState]
    AGENT_STATE_STOPPING: _ClassVar[AgentState]
AGENT_STATE_UNSPECIFIED: AgentState
AGENT_STATE_STARTING: AgentState
AGENT_STATE_RUNNING: AgentState
AGENT_STATE_DELIBERATING: AgentState
AGENT_STATE_DEGRADED: AgentState
AGENT_STATE_STOPPING: AgentState

class Thought(_message.Message):
    __slots__ = ("engine_entity_id", "asked_tick", "answered_tick", "system_prompt", "user_message", "reply", "thinking", "directives_json", "client", "model", "prompt_tokens", "completion_tokens", "latency_s", "cost_usd", "error_type", "error", "provider", "attempts", "queued_s", "late", "kind", "cached_tokens")
    ENGINE_ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    ASKED_TICK_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_TICK_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_PROMPT_FIELD_NUMBER: _ClassVar[int]
    USER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    THINKING_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVES_JSON_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_TOKENS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_S_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    ERROR_TYPE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    QUEUED_S_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    engine_entity_id: int
    asked_tick: int
    answered_tick: int
    system_prompt: str
    user_message: str
    reply: str
    thinking: str
    directives_json: str
    client: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    latency_s: float
    cost_usd: float
    error_type: str
    error: str
    provider: str
    attempts: int
    queued_s: float
    late: bool
    kind: str
    cached_tokens: int
    def __init__(self, engine_entity_id: _Optional[int] = ..., asked_tick: _Optional[int] = ..., answered_tick: _Optional[int] = ..., system_prompt: _Optional[str] = ..., user_message: _Optional[str] = ..., reply: _Optional[str] = ..., thinking: _Optional[str] = ..., directives_json: _Optional[str] = ..., client: _Optional[str] = ..., model: _Optional[str] = ..., prompt_tokens: _Optional[int] = ..., completion_tokens: _Optional[int] = ..., latency_s: _Optional[float] = ..., cost_usd: _Optional[float] = ..., error_type: _Optional[str] = ..., error: _Optional[str] = ..., provider: _Optional[str] = ..., attempts: _Optional[int] = ..., queued_s: _Optional[float] = ..., late: _Optional[bool] = ..., kind: _Optional[str] = ..., cached_tokens: _Optional[int] = ...) -> None: ...

class ThoughtReport(_message.Message):
    __slots__ = ("entity_id", "tick_id", "thought")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    THOUGHT_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    tick_id: int
    thought: Thought
    def __init__(self, entity_id: _Optional[str] = ..., tick_id: _Optional[int] = ..., thought: _Optional[_Union[Thought, _Mapping]] = ...) -> None: ...

class AgentStatus(_message.Message):
    __slots__ = ("entity_id", "tick_id", "state", "detail", "observations", "intents", "refused", "thoughts", "failed_thoughts", "turns", "dropped_reports", "program")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    THOUGHTS_FIELD_NUMBER: _ClassVar[int]
    FAILED_THOUGHTS_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    DROPPED_REPORTS_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    tick_id: int
    state: AgentState
    detail: str
    observations: int
    intents: int
    refused: int
    thoughts: int
    failed_thoughts: int
    turns: str
    dropped_reports: int
    program: str
    def __init__(self, entity_id: _Optional[str] = ..., tick_id: _Optional[int] = ..., state: _Optional[_Union[AgentState, str]] = ..., detail: _Optional[str] = ..., observations: _Optional[int] = ..., intents: _Optional[int] = ..., refused: _Optional[int] = ..., thoughts: _Optional[int] = ..., failed_thoughts: _Optional[int] = ..., turns: _Optional[str] = ..., dropped_reports: _Optional[int] = ..., program: _Optional[str] = ...) -> None: ...

class TreeLine(_message.Message):
    __slots__ = ("depth", "text")
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    depth: int
    text: str
    def __init__(self, depth: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class BoardEntry(_message.Message):
    __slots__ = ("key", "value_json")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    key: str
    value_json: str
    def __init__(self, key: _Optional[str] = ..., value_json: _Optional[str] = ...) -> None: ...

class MemoryNote(_message.Message):
    __slots__ = ("tick_id", "text", "about", "importance", "kind", "told_by", "times", "number", "evidence")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ABOUT_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TOLD_BY_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    text: str
    about: str
    importance: float
    kind: str
    told_by: str
    times: int
    number: int
    evidence: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, tick_id: _Optional[int] = ..., text: _Optional[str] = ..., about: _Optional[str] = ..., importance: _Optional[float] = ..., kind: _Optional[str] = ..., told_by: _Optional[str] = ..., times: _Optional[int] = ..., number: _Optional[int] = ..., evidence: _Optional[_Iterable[int]] = ...) -> None: ...

class Insight(_message.Message):
    __slots__ = ("entity_id", "tick_id", "whole", "tree", "node_statuses", "board", "gone_keys", "memories")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    TREE_FIELD_NUMBER: _ClassVar[int]
    NODE_STATUSES_FIELD_NUMBER: _ClassVar[int]
    BOARD_FIELD_NUMBER: _ClassVar[int]
    GONE_KEYS_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    tick_id: int
    whole: bool
    tree: _containers.RepeatedCompositeFieldContainer[TreeLine]
    node_statuses: bytes
    board: _containers.RepeatedCompositeFieldContainer[BoardEntry]
    gone_keys: _containers.RepeatedScalarFieldContainer[str]
    memories: _containers.RepeatedCompositeFieldContainer[MemoryNote]
    def __init__(self, entity_id: _Optional[str] = ..., tick_id: _Optional[int] = ..., whole: _Optional[bool] = ..., tree: _Optional[_Iterable[_Union[TreeLine, _Mapping]]] = ..., node_statuses: _Optional[bytes] = ..., board: _Optional[_Iterable[_Union[BoardEntry, _Mapping]]] = ..., gone_keys: _Optional[_Iterable[str]] = ..., memories: _Optional[_Iterable[_Union[MemoryNote, _Mapping]]] = ...) -> None: ...

class ReportThoughtRequest(_message.Message):
    __slots__ = ("lease_id", "report")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    report: ThoughtReport
    def __init__(self, lease_id: _Optional[str] = ..., report: _Optional[_Union[ThoughtReport, _Mapping]] = ...) -> None: ...

class ReportThoughtResponse(_message.Message):
    __slots__ = ("ack",)
    ACK_FIELD_NUMBER: _ClassVar[int]
    ack: _action_pb2.Ack
    def __init__(self, ack: _Optional[_Union[_action_pb2.Ack, _Mapping]] = ...) -> None: ...

class ReportStatusRequest(_message.Message):
    __slots__ = ("lease_id", "status")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    status: AgentStatus
    def __init__(self, lease_id: _Optional[str] = ..., status: _Optional[_Union[AgentStatus, _Mapping]] = ...) -> None: ...

class ReportStatusResponse(_message.Message):
    __slots__ = ("ack",)
    ACK_FIELD_NUMBER: _ClassVar[int]
    ack: _action_pb2.Ack
    def __init__(self, ack: _Optional[_Union[_action_pb2.Ack, _Mapping]] = ...) -> None: ...

class ReportInsightsRequest(_message.Message):
    __slots__ = ("lease_id", "insights")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    INSIGHTS_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    insights: _containers.RepeatedCompositeFieldContainer[Insight]
    def __init__(self, lease_id: _Optional[str] = ..., insights: _Optional[_Iterable[_Union[Insight, _Mapping]]] = ...) -> None: ...

class ReportInsightsResponse(_message.Message):
    __slots__ = ("ack",)
    ACK_FIELD_NUMBER: _ClassVar[int]
    ack: _action_pb2.Ack
    def __init__(self, ack: _Optional[_Union[_action_pb2.Ack, _Mapping]] = ...) -> None: ...
