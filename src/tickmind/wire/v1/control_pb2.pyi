from tickmind.wire.v1 import action_pb2 as _action_pb2
from tickmind.wire.v1 import columns_pb2 as _columns_pb2
from tickmind.wire.v1 import entity_pb2 as _entity_pb2
from tickmind.wire.v1 import lease_pb2 as _lease_pb2
from tickmind.wire.v1 import observation_pb2 as _observation_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KeepAlive(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Release(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Closed(_message.Message):
    __slots__ = ("reason", "retry_after_ms")
    REASON_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    reason: _action_pb2.Reason
    retry_after_ms: int
    def __init__(self, reason: _Optional[_Union[_action_pb2.Reason, str]] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class ControlRequest(_message.Message):
    __slots__ = ("open", "intent", "keep_alive", "release")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    KEEP_ALIVE_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    open: ControlOpen
    intent: ControlIntent
    keep_alive: KeepAlive
    release: Release
    def __init__(self, open: _Optional[_Union[ControlOpen, _Mapping]] = ..., intent: _Optional[_Union[ControlIntent, _Mapping]] = ..., keep_alive: _Optional[_Union[KeepAlive, _Mapping]] = ..., release: _Optional[_Union[Release, _Mapping]] = ...) -> None: ...

class ControlOpen(_message.Message):
    __slots__ = ("entity_id", "controller_id", "previous_lease_id", "want_floors", "play")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    WANT_FLOORS_FIELD_NUMBER: _ClassVar[int]
    PLAY_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    controller_id: str
    previous_lease_id: str
    want_floors: bool
    play: bool
    def __init__(self, entity_id: _Optional[str] = ..., controller_id: _Optional[str] = ..., previous_lease_id: _Optional[str] = ..., want_floors: _Optional[bool] = ..., play: _Optional[bool] = ...) -> None: ...

class ControlIntent(_message.Message):
    __slots__ = ("tick_id", "intent")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    intent: _action_pb2.Intent
    def __init__(self, tick_id: _Optional[int] = ..., intent: _Optional[_Union[_action_pb2.Intent, _Mapping]] = ...) -> None: ...

class ControlResponse(_message.Message):
    __slots__ = ("opened", "observation", "ack", "closed")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    opened: ControlOpened
    observation: _observation_pb2.Observation
    ack: ControlAck
    closed: Closed
    def __init__(self, opened: _Optional[_Union[ControlOpened, _Mapping]] = ..., observation: _Optional[_Union[_observation_pb2.Observation, _Mapping]] = ..., ack: _Optional[_Union[ControlAck, _Mapping]] = ..., closed: _Optional[_Union[Closed, _Mapping]] = ...) -> None: ...

class ControlOpened(_message.Message):
    __slots__ = ("lease", "run_id", "mind_seed", "thinking_ticks", "setting", "persona", "kinds", "items", "floors", "goals")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    MIND_SEED_FIELD_NUMBER: _ClassVar[int]
    THINKING_TICKS_FIELD_NUMBER: _ClassVar[int]
    SETTING_FIELD_NUMBER: _ClassVar[int]
    PERSONA_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    FLOORS_FIELD_NUMBER: _ClassVar[int]
    GOALS_FIELD_NUMBER: _ClassVar[int]
    lease: _lease_pb2.Lease
    run_id: str
    mind_seed: int
    thinking_ticks: int
    setting: _entity_pb2.WorldSetting
    persona: _entity_pb2.Persona
    kinds: _containers.RepeatedCompositeFieldContainer[_entity_pb2.KindInfo]
    items: _containers.RepeatedCompositeFieldContainer[_entity_pb2.ItemInfo]
    floors: _containers.RepeatedCompositeFieldContainer[_entity_pb2.FloorInfo]
    goals: _containers.RepeatedCompositeFieldContainer[_entity_pb2.GoalInfo]
    def __init__(self, lease: _Optional[_Union[_lease_pb2.Lease, _Mapping]] = ..., run_id: _Optional[str] = ..., mind_seed: _Optional[int] = ..., thinking_ticks: _Optional[int] = ..., setting: _Optional[_Union[_entity_pb2.WorldSetting, _Mapping]] = ..., persona: _Optional[_Union[_entity_pb2.Persona, _Mapping]] = ..., kinds: _Optional[_Iterable[_Union[_entity_pb2.KindInfo, _Mapping]]] = ..., items: _Optional[_Iterable[_Union[_entity_pb2.ItemInfo, _Mapping]]] = ..., floors: _Optional[_Iterable[_Union[_entity_pb2.FloorInfo, _Mapping]]] = ..., goals: _Optional[_Iterable[_Union[_entity_pb2.GoalInfo, _Mapping]]] = ...) -> None: ...

class ControlAck(_message.Message):
    __slots__ = ("tick_id", "ack")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    ack: _action_pb2.Ack
    def __init__(self, tick_id: _Optional[int] = ..., ack: _Optional[_Union[_action_pb2.Ack, _Mapping]] = ...) -> None: ...

class ControlBatchRequest(_message.Message):
    __slots__ = ("open", "intents", "keep_alive", "release")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    KEEP_ALIVE_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    open: ControlBatchOpen
    intents: IntentBatch
    keep_alive: KeepAlive
    release: Release
    def __init__(self, open: _Optional[_Union[ControlBatchOpen, _Mapping]] = ..., intents: _Optional[_Union[IntentBatch, _Mapping]] = ..., keep_alive: _Optional[_Union[KeepAlive, _Mapping]] = ..., release: _Optional[_Union[Release, _Mapping]] = ...) -> None: ...

class ControlBatchOpen(_message.Message):
    __slots__ = ("controller_id", "actor", "previous_lease_id")
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    controller_id: str
    actor: bytes
    previous_lease_id: str
    def __init__(self, controller_id: _Optional[str] = ..., actor: _Optional[bytes] = ..., previous_lease_id: _Optional[str] = ...) -> None: ...

class IntentBatch(_message.Message):
    __slots__ = ("tick_id", "intents")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    intents: _columns_pb2.IntentColumns
    def __init__(self, tick_id: _Optional[int] = ..., intents: _Optional[_Union[_columns_pb2.IntentColumns, _Mapping]] = ...) -> None: ...

class ControlBatchResponse(_message.Message):
    __slots__ = ("opened", "observations", "acks", "lost", "closed")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    ACKS_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    opened: ControlBatchOpened
    observations: ObservationBatch
    acks: AckBatch
    lost: LeasesLost
    closed: Closed
    def __init__(self, opened: _Optional[_Union[ControlBatchOpened, _Mapping]] = ..., observations: _Optional[_Union[ObservationBatch, _Mapping]] = ..., acks: _Optional[_Union[AckBatch, _Mapping]] = ..., lost: _Optional[_Union[LeasesLost, _Mapping]] = ..., closed: _Optional[_Union[Closed, _Mapping]] = ...) -> None: ...

class ControlBatchOpened(_message.Message):
    __slots__ = ("lease_id", "ttl_ms", "granted", "epoch", "refused", "refused_reason", "run_id", "mind_seed", "thinking_ticks")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_REASON_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    MIND_SEED_FIELD_NUMBER: _ClassVar[int]
    THINKING_TICKS_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    ttl_ms: int
    granted: bytes
    epoch: bytes
    refused: bytes
    refused_reason: bytes
    run_id: str
    mind_seed: int
    thinking_ticks: int
    def __init__(self, lease_id: _Optional[str] = ..., ttl_ms: _Optional[int] = ..., granted: _Optional[bytes] = ..., epoch: _Optional[bytes] = ..., refused: _Optional[bytes] = ..., refused_reason: _Optional[bytes] = ..., run_id: _Optional[str] = ..., mind_seed: _Optional[int] = ..., thinking_ticks: _Optional[int] = ...) -> None: ...

class ObservationBatch(_message.Message):
    __slots__ = ("part", "parts", "observations")
    PART_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATIONS_FIELD_NUMBER: _ClassVar[int]
    part: int
    parts: int
    observations: _columns_pb2.ObservationColumns
    def __init__(self, part: _Optional[int] = ..., parts: _Optional[int] = ..., observations: _Optional[_Union[_columns_pb2.ObservationColumns, _Mapping]] = ...) -> None: ...

class AckBatch(_message.Message):
    __slots__ = ("tick_id", "accepted", "refused", "refused_reason")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_REASON_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    accepted: int
    refused: bytes
    refused_reason: bytes
    def __init__(self, tick_id: _Optional[int] = ..., accepted: _Optional[int] = ..., refused: _Optional[bytes] = ..., refused_reason: _Optional[bytes] = ...) -> None: ...

class LeasesLost(_message.Message):
    __slots__ = ("actor", "reason")
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    actor: bytes
    reason: bytes
    def __init__(self, actor: _Optional[bytes] = ..., reason: _Optional[bytes] = ...) -> None: ...
