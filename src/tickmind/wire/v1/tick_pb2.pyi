from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TickEvent(_message.Message):
    __slots__ = ("tick_id", "tick_start_server_time_ms", "intent_deadline_server_time_ms", "tick_duration_ms", "world_version")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    TICK_START_SERVER_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    INTENT_DEADLINE_SERVER_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    TICK_DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    WORLD_VERSION_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    tick_start_server_time_ms: int
    intent_deadline_server_time_ms: int
    tick_duration_ms: int
    world_version: str
    def __init__(self, tick_id: _Optional[int] = ..., tick_start_server_time_ms: _Optional[int] = ..., intent_deadline_server_time_ms: _Optional[int] = ..., tick_duration_ms: _Optional[int] = ..., world_version: _Optional[str] = ...) -> None: ...

class StreamTicksRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StreamTicksResponse(_message.Message):
    __slots__ = ("tick",)
    TICK_FIELD_NUMBER: _ClassVar[int]
    tick: TickEvent
    def __init__(self, tick: _Optional[_Union[TickEvent, _Mapping]] = ...) -> None: ...
