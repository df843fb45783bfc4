from tickmind.wire.v1 import action_pb2 as _action_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Lease(_message.Message):
    __slots__ = ("lease_id", "entity_id", "controller_id", "epoch", "ttl_ms")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    entity_id: str
    controller_id: str
    epoch: int
    ttl_ms: int
    def __init__(self, lease_id: _Optional[str] = ..., entity_id: _Optional[str] = ..., controller_id: _Optional[str] = ..., epoch: _Optional[int] = ..., ttl_ms: _Optional[int] = ...) -> None: ...

class AcquireLeaseRequest(_message.Message):
    __slots__ = ("entity_id", "controller_id", "previous_lease_id")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    controller_id: str
    previous_lease_id: str
    def __init__(self, entity_id: _Optional[str] = ..., controller_id: _Optional[str] = ..., previous_lease_id: _Optional[str] = ...) -> None: ...

class AcquireLeaseResponse(_message.Message):
    __slots__ = ("lease", "reason", "retry_after_ms")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    lease: Lease
    reason: _action_pb2.Reason
    retry_after_ms: int
    def __init__(self, lease: _Optional[_Union[Lease, _Mapping]] = ..., reason: _Optional[_Union[_action_pb2.Reason, str]] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class RenewLeaseRequest(_message.Message):
    __slots__ = ("lease_id",)
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    def __init__(self, lease_id: _Optional[str] = ...) -> None: ...

class RenewLeaseResponse(_message.Message):
    __slots__ = ("lease", "reason")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    lease: Lease
    reason: _action_pb2.Reason
    def __init__(self, lease: _Optional[_Union[Lease, _Mapping]] = ..., reason: _Optional[_Union[_action_pb2.Reason, str]] = ...) -> None: ...

class ReleaseLeaseRequest(_message.Message):
    __slots__ = ("lease_id",)
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    def __init__(self, lease_id: _Optional[str] = ...) -> None: ...

class ReleaseLeaseResponse(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: _action_pb2.Reason
    def __init__(self, reason: _Optional[_Union[_action_pb2.Reason, str]] = ...) -> None: ...
