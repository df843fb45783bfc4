from tickmind.wire.v1 import action_pb2 as _action_pb2
from tickmind.wire.v1 import control_pb2 as _control_pb2
from tickmind.wire.v1 import entity_pb2 as _entity_pb2
from tickmind.wire.v1 import telemetry_pb2 as _telemetry_pb2
from tickmind.wire.v1 import viewer_pb2 as _viewer_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SocketErrorCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOCKET_ERROR_CODE_UNSPECIFIED: _ClassVar[SocketErrorCode]
    SOCKET_ERROR_CODE_BAD_FRAME: _ClassVar[SocketErrorCode]
    SOCKET_ERROR_CODE_NOT_ALLOWED: _ClassVar[SocketErrorCode]
    SOCKET_ERROR_CODE_REFUSED: _ClassVar[SocketErrorCode]
    SOCKET_ERROR_CODE_OVERLOADED: _ClassVar[SocketErrorCode]
    SOCKET_ERROR_CODE_UNREACHABLE: _ClassVar[SocketErrorCode]
    SOCKET_ERROR_CODE_SILENT: _ClassVar[SocketErrorCode]
    SOCKET_ERROR_CODE_STALLED: _ClassVar[SocketErrorCode]
    SOCKET_ERROR_CODE_STOPPING: _ClassVar[SocketErrorCode]
    SOCKET_ERROR_CODE_INTERNAL: _ClassVar[SocketErrorCode]
SOCKET_ERROR_CODE_UNSPECIFIED: SocketErrorCode
SOCKET_ERROR_CODE_BAD_FRAME: SocketErrorCode
SOCKET_ERROR_CODE_NOT_ALLOWED: SocketErrorCode
SOCKET_ERROR_CODE_REFUSED: SocketErrorCode
SOCKET_ERROR_CODE_OVERLOADED: SocketErrorCode
SOCKET_ERROR_CODE_UNREACHABLE: SocketErrorCode
SOCKET_ERROR_CODE_SILENT: SocketErrorCode
SOCKET_ERROR_CODE_STALLED: SocketErrorCode
SOCKET_ERROR_CODE_STOPPING: SocketErrorCode
SOCKET_ERROR_CODE_INTERNAL: SocketErrorCode

class SocketRequest(_message.Message):
    __slots__ = ("control", "watch", "describe", "telemetry", "snapshot", "world", "token", "request_id")
    CONTROL_FIELD_NUMBER: _ClassVar[int]
    WATCH_FIELD_NUMBER: _ClassVar[int]
    DESCRIBE_FIELD_NUMBER: _ClassVar[int]
    TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    WORLD_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    control: _control_pb2.ControlRequest
    watch: _viewer_pb2.StreamViewerEventsRequest
    describe: _entity_pb2.ListControllableEntitiesRequest
    telemetry: TelemetryReport
    snapshot: _viewer_pb2.GetViewerSnapshotRequest
    world: _entity_pb2.StreamWorldRequest
    token: str
    request_id: int
    def __init__(self, control: _Optional[_Union[_control_pb2.ControlRequest, _Mapping]] = ..., watch: _Optional[_Union[_viewer_pb2.StreamViewerEventsRequest, _Mapping]] = ..., describe: _Optional[_Union[_entity_pb2.ListControllableEntitiesRequest, _Mapping]] = ..., telemetry: _Optional[_Union[TelemetryReport, _Mapping]] = ..., snapshot: _Optional[_Union[_viewer_pb2.GetViewerSnapshotRequest, _Mapping]] = ..., world: _Optional[_Union[_entity_pb2.StreamWorldRequest, _Mapping]] = ..., token: _Optional[str] = ..., request_id: _Optional[int] = ...) -> None: ...

class TelemetryReport(_message.Message):
    __slots__ = ("thought", "status", "insights")
    THOUGHT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    INSIGHTS_FIELD_NUMBER: _ClassVar[int]
    thought: _telemetry_pb2.ReportThoughtRequest
    status: _telemetry_pb2.ReportStatusRequest
    insights: _telemetry_pb2.ReportInsightsRequest
    def __init__(self, thought: _Optional[_Union[_telemetry_pb2.ReportThoughtRequest, _Mapping]] = ..., status: _Optional[_Union[_telemetry_pb2.ReportStatusRequest, _Mapping]] = ..., insights: _Optional[_Union[_telemetry_pb2.ReportInsightsRequest, _Mapping]] = ...) -> None: ...

class SocketResponse(_message.Message):
    __slots__ = ("control", "watch", "describe", "telemetry", "snapshot", "world", "error", "request_id")
    CONTROL_FIELD_NUMBER: _ClassVar[int]
    WATCH_FIELD_NUMBER: _ClassVar[int]
    DESCRIBE_FIELD_NUMBER: _ClassVar[int]
    TELEMETRY_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    WORLD_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    control: _control_pb2.ControlResponse
    watch: _viewer_pb2.StreamViewerEventsResponse
    describe: _entity_pb2.ListControllableEntitiesResponse
    telemetry: TelemetryAnswer
    snapshot: _viewer_pb2.GetViewerSnapshotResponse
    world: WorldPart
    error: SocketError
    request_id: int
    def __init__(self, control: _Optional[_Union[_control_pb2.ControlResponse, _Mapping]] = ..., watch: _Optional[_Union[_viewer_pb2.StreamViewerEventsResponse, _Mapping]] = ..., describe: _Optional[_Union[_entity_pb2.ListControllableEntitiesResponse, _Mapping]] = ..., telemetry: _Optional[_Union[TelemetryAnswer, _Mapping]] = ..., snapshot: _Optional[_Union[_viewer_pb2.GetViewerSnapshotResponse, _Mapping]] = ..., world: _Optional[_Union[WorldPart, _Mapping]] = ..., error: _Optional[_Union[SocketError, _Mapping]] = ..., request_id: _Optional[int] = ...) -> None: ...

class TelemetryAnswer(_message.Message):
    __slots__ = ("ack",)
    ACK_FIELD_NUMBER: _ClassVar[int]
    ack: _action_pb2.Ack
    def __init__(self, ack: _Optional[_Union[_action_pb2.Ack, _Mapping]] = ...) -> None: ...

class WorldPart(_message.Message):
    __slots__ = ("part", "last")
    PART_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    part: _entity_pb2.StreamWorldResponse
    last: bool
    def __init__(self, part: _Optional[_Union[_entity_pb2.StreamWorldResponse, _Mapping]] = ..., last: _Optional[bool] = ...) -> None: ...

class SocketError(_message.Message):
    __slots__ = ("code", "message", "retry_after_ms", "ends")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    ENDS_FIELD_NUMBER: _ClassVar[int]
    code: SocketErrorCode
    message: str
    retry_after_ms: int
    ends: bool
    def __init__(self, code: _Optional[_Union[SocketErrorCode, str]] = ..., message: _Optional[str] = ..., retry_after_ms: _Optional[int] = ..., ends: _Optional[bool] = ...) -> None: ...
