from tickmind.wire.v1 import action_pb2 as _action_pb2
from tickmind.wire.v1 import control_pb2 as _control_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Tile(_message.Message):
    __slots__ = ("x", "y")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    x: int
    y: int
    def __init__(self, x: _Optional[int] = ..., y: _Optional[int] = ...) -> None: ...

class SpawnActorRequest(_message.Message):
    __slots__ = ("entity_id", "at")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    at: Tile
    def __init__(self, entity_id: _Optional[str] = ..., at: _Optional[_Union[Tile, _Mapping]] = ...) -> None: ...

class SpawnActorResponse(_message.Message):
    __slots__ = ("outcome",)
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    outcome: PlacementOutcome
    def __init__(self, outcome: _Optional[_Union[PlacementOutcome, _Mapping]] = ...) -> None: ...

class DespawnActorRequest(_message.Message):
    __slots__ = ("entity_id",)
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    def __init__(self, entity_id: _Optional[str] = ...) -> None: ...

class DespawnActorResponse(_message.Message):
    __slots__ = ("outcome",)
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    outcome: PlacementOutcome
    def __init__(self, outcome: _Optional[_Union[PlacementOutcome, _Mapping]] = ...) -> None: ...

class PlacementOutcome(_message.Message):
    __slots__ = ("reason", "tick_id", "at")
    REASON_FIELD_NUMBER: _ClassVar[int]
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    reason: _action_pb2.Reason
    tick_id: int
    at: Tile
    def __init__(self, reason: _Optional[_Union[_action_pb2.Reason, str]] = ..., tick_id: _Optional[int] = ..., at: _Optional[_Union[Tile, _Mapping]] = ...) -> None: ...
