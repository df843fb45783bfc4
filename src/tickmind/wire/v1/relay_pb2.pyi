from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RelayControlRequest(_message.Message):
    __slots__ = ("frames",)
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    frames: _containers.RepeatedCompositeFieldContainer[RelayedFrame]
    def __init__(self, frames: _Optional[_Iterable[_Union[RelayedFrame, _Mapping]]] = ...) -> None: ...

class RelayControlResponse(_message.Message):
    __slots__ = ("frames",)
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    frames: _containers.RepeatedCompositeFieldContainer[RelayedFrame]
    def __init__(self, frames: _Optional[_Iterable[_Union[RelayedFrame, _Mapping]]] = ...) -> None: ...

class RelayedFrame(_message.Message):
    __slots__ = ("stream", "frame", "end", "json", "as_json")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    AS_JSON_FIELD_NUMBER: _ClassVar[int]
    stream: int
    frame: bytes
    end: RelayedEnd
    json: bytes
    as_json: bool
    def __init__(self, stream: _Optional[int] = ..., frame: _Optional[bytes] = ..., end: _Optional[_Union[RelayedEnd, _Mapping]] = ..., json: _Optional[bytes] = ..., as_json: _Optional[bool] = ...) -> None: ...

class RelayedEnd(_message.Message):
    __slots__ = ("status", "details")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    status: int
    details: str
    def __init__(self, status: _Optional[int] = ..., details: _Optional[str] = ...) -> None: ...
