from tickmind.wire.v1 import action_pb2 as _action_pb2
from tickmind.wire.v1 import observation_pb2 as _observation_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Utterance(_message.Message):
    __slots__ = ("actor_id", "channel", "text", "x", "y")
    ACTOR_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    actor_id: str
    channel: str
    text: str
    x: int
    y: int
    def __init__(self, actor_id: _Optional[str] = ..., channel: _Optional[str] = ..., text: _Optional[str] = ..., x: _Optional[int] = ..., y: _Optional[int] = ...) -> None: ...

class PlacedOffer(_message.Message):
    __slots__ = ("place", "offer")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    OFFER_FIELD_NUMBER: _ClassVar[int]
    place: int
    offer: _observation_pb2.OpenOffer
    def __init__(self, place: _Optional[int] = ..., offer: _Optional[_Union[_observation_pb2.OpenOffer, _Mapping]] = ...) -> None: ...

class ObservationColumns(_message.Message):
    __slots__ = ("tick_id", "deadline_ms", "radius", "actor", "x", "y", "status_bits", "facing", "energy", "hunger", "inventory", "result_action", "result_reason", "visible", "entity_offset", "entity", "entity_dx", "entity_dy", "entity_status", "entity_facing", "entity_flags", "entity_action", "entity_reason", "left_offset", "left", "object_offset", "object_row", "object_state", "object_work", "object_stock", "ground_offset", "ground_dx", "ground_dy", "ground_kind", "ground_amount", "heard_offset", "heard", "utterances", "offers", "own_needs", "placed", "details")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    RADIUS_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    STATUS_BITS_FIELD_NUMBER: _ClassVar[int]
    FACING_FIELD_NUMBER: _ClassVar[int]
    ENERGY_FIELD_NUMBER: _ClassVar[int]
    HUNGER_FIELD_NUMBER: _ClassVar[int]
    INVENTORY_FIELD_NUMBER: _ClassVar[int]
    RESULT_ACTION_FIELD_NUMBER: _ClassVar[int]
    RESULT_REASON_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_FIELD_NUMBER: _ClassVar[int]
    ENTITY_OFFSET_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FIELD_NUMBER: _ClassVar[int]
    ENTITY_DX_FIELD_NUMBER: _ClassVar[int]
    ENTITY_DY_FIELD_NUMBER: _ClassVar[int]
    ENTITY_STATUS_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FACING_FIELD_NUMBER: _ClassVar[int]
    ENTITY_FLAGS_FIELD_NUMBER: _ClassVar[int]
    ENTITY_ACTION_FIELD_NUMBER: _ClassVar[int]
    ENTITY_REASON_FIELD_NUMBER: _ClassVar[int]
    LEFT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    OBJECT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    OBJECT_ROW_FIELD_NUMBER: _ClassVar[int]
    OBJECT_STATE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_WORK_FIELD_NUMBER: _ClassVar[int]
    OBJECT_STOCK_FIELD_NUMBER: _ClassVar[int]
    GROUND_OFFSET_FIELD_NUMBER: _ClassVar[int]
    GROUND_DX_FIELD_NUMBER: _ClassVar[int]
    GROUND_DY_FIELD_NUMBER: _ClassVar[int]
    GROUND_KIND_FIELD_NUMBER: _ClassVar[int]
    GROUND_AMOUNT_FIELD_NUMBER: _ClassVar[int]
    HEARD_OFFSET_FIELD_NUMBER: _ClassVar[int]
    HEARD_FIELD_NUMBER: _ClassVar[int]
    UTTERANCES_FIELD_NUMBER: _ClassVar[int]
    OFFERS_FIELD_NUMBER: _ClassVar[int]
    OWN_NEEDS_FIELD_NUMBER: _ClassVar[int]
    PLACED_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    deadline_ms: int
    radius: int
    actor: bytes
    x: bytes
    y: bytes
    status_bits: bytes
    facing: bytes
    energy: bytes
    hunger: bytes
    inventory: bytes
    result_action: bytes
    result_reason: bytes
    visible: bytes
    entity_offset: bytes
    entity: bytes
    entity_dx: bytes
    entity_dy: bytes
    entity_status: bytes
    entity_facing: bytes
    entity_flags: bytes
    entity_action: bytes
    entity_reason: bytes
    left_offset: bytes
    left: bytes
    object_offset: bytes
    object_row: bytes
    object_state: bytes
    object_work: bytes
    object_stock: bytes
    ground_offset: bytes
    ground_dx: bytes
    ground_dy: bytes
    ground_kind: bytes
    ground_amount: bytes
    heard_offset: bytes
    heard: bytes
    utterances: _containers.RepeatedCompositeFieldContainer[Utterance]
    offers: _containers.RepeatedCompositeFieldContainer[PlacedOffer]
    own_needs: bytes
    placed: _containers.RepeatedCompositeFieldContainer[PlacedObject]
    details: _containers.RepeatedCompositeFieldContainer[ActorResultDetail]
    def __init__(self, tick_id: _Optional[int] = ..., deadline_ms: _Optional[int] = ..., radius: _Optional[int] = ..., actor: _Optional[bytes] = ..., x: _Optional[bytes] = ..., y: _Optional[bytes] = ..., status_bits: _Optional[bytes] = ..., facing: _Optional[bytes] = ..., energy: _Optional[bytes] = ..., hunger: _Optional[bytes] = ..., inventory: _Optional[bytes] = ..., result_action: _Optional[bytes] = ..., result_reason: _Optional[bytes] = ..., visible: _Optional[bytes] = ..., entity_offset: _Optional[bytes] = ..., entity: _Optional[bytes] = ..., entity_dx: _Optional[bytes] = ..., entity_dy: _Optional[bytes] = ..., entity_status: _Optional[bytes] = ..., entity_facing: _Optional[bytes] = ..., entity_flags: _Optional[bytes] = ..., entity_action: _Optional[bytes] = ..., entity_reason: _Optional[bytes] = ..., left_offset: _Optional[bytes] = ..., left: _Optional[bytes] = ..., object_offset: _Optional[bytes] = ..., object_row: _Optional[bytes] = ..., object_state: _Optional[bytes] = ..., object_work: _Optional[bytes] = ..., object_stock: _Optional[bytes] = ..., ground_offset: _Optional[bytes] = ..., ground_dx: _Optional[bytes] = ..., ground_dy: _Optional[bytes] = ..., ground_kind: _Optional[bytes] = ..., ground_amount: _Optional[bytes] = ..., heard_offset: _Optional[bytes] = ..., heard: _Optional[bytes] = ..., utterances: _Optional[_Iterable[_Union[Utterance, _Mapping]]] = ..., offers: _Optional[_Iterable[_Union[PlacedOffer, _Mapping]]] = ..., own_needs: _Optional[bytes] = ..., placed: _Optional[_Iterable[_Union[PlacedObject, _Mapping]]] = ..., details: _Optional[_Iterable[_Union[ActorResultDetail, _Mapping]]] = ...) -> None: ...

class ActorResultDetail(_message.Message):
    __slots__ = ("actor_row", "target_id", "effects")
    ACTOR_ROW_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    actor_row: int
    target_id: str
    effects: _containers.RepeatedCompositeFieldContainer[_action_pb2.Effect]
    def __init__(self, actor_row: _Optional[int] = ..., target_id: _Optional[str] = ..., effects: _Optional[_Iterable[_Union[_action_pb2.Effect, _Mapping]]] = ...) -> None: ...

class PlacedObject(_message.Message):
    __slots__ = ("object_row", "x", "y")
    OBJECT_ROW_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    object_row: int
    x: int
    y: int
    def __init__(self, object_row: _Optional[int] = ..., x: _Optional[int] = ..., y: _Optional[int] = ...) -> None: ...

class IntentColumns(_message.Message):
    __slots__ = ("actor", "action", "direction", "kind", "amount", "target", "speech_place", "speeches", "wishes")
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SPEECH_PLACE_FIELD_NUMBER: _ClassVar[int]
    SPEECHES_FIELD_NUMBER: _ClassVar[int]
    WISHES_FIELD_NUMBER: _ClassVar[int]
    actor: bytes
    action: bytes
    direction: bytes
    kind: bytes
    amount: bytes
    target: bytes
    speech_place: bytes
    speeches: _containers.RepeatedCompositeFieldContainer[Speech]
    wishes: _containers.RepeatedCompositeFieldContainer[Wish]
    def __init__(self, actor: _Optional[bytes] = ..., action: _Optional[bytes] = ..., direction: _Optional[bytes] = ..., kind: _Optional[bytes] = ..., amount: _Optional[bytes] = ..., target: _Optional[bytes] = ..., speech_place: _Optional[bytes] = ..., speeches: _Optional[_Iterable[_Union[Speech, _Mapping]]] = ..., wishes: _Optional[_Iterable[_Union[Wish, _Mapping]]] = ...) -> None: ...

class Wish(_message.Message):
    __slots__ = ("place", "kind", "amount")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    place: int
    kind: int
    amount: int
    def __init__(self, place: _Optional[int] = ..., kind: _Optional[int] = ..., amount: _Optional[int] = ...) -> None: ...

class Speech(_message.Message):
    __slots__ = ("channel", "text")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    channel: str
    text: str
    def __init__(self, channel: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...
