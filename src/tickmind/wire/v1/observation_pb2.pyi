from tickmind.wire.v1 import action_pb2 as _action_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ItemStack(_message.Message):
    __slots__ = ("kind", "quantity", "item_id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    kind: str
    quantity: int
    item_id: str
    def __init__(self, kind: _Optional[str] = ..., quantity: _Optional[int] = ..., item_id: _Optional[str] = ...) -> None: ...

class NeedValue(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...

class SelfState(_message.Message):
    __slots__ = ("entity_id", "x", "y", "status_bits", "facing", "inventory", "energy", "hunger", "needs")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    STATUS_BITS_FIELD_NUMBER: _ClassVar[int]
    FACING_FIELD_NUMBER: _ClassVar[int]
    INVENTORY_FIELD_NUMBER: _ClassVar[int]
    ENERGY_FIELD_NUMBER: _ClassVar[int]
    HUNGER_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    x: int
    y: int
    status_bits: int
    facing: _action_pb2.Direction
    inventory: _containers.RepeatedCompositeFieldContainer[ItemStack]
    energy: int
    hunger: int
    needs: _containers.RepeatedCompositeFieldContainer[NeedValue]
    def __init__(self, entity_id: _Optional[str] = ..., x: _Optional[int] = ..., y: _Optional[int] = ..., status_bits: _Optional[int] = ..., facing: _Optional[_Union[_action_pb2.Direction, str]] = ..., inventory: _Optional[_Iterable[_Union[ItemStack, _Mapping]]] = ..., energy: _Optional[int] = ..., hunger: _Optional[int] = ..., needs: _Optional[_Iterable[_Union[NeedValue, _Mapping]]] = ...) -> None: ...

class VisibleTiles(_message.Message):
    __slots__ = ("radius", "centre_x", "centre_y", "visible", "walkable", "floors")
    RADIUS_FIELD_NUMBER: _ClassVar[int]
    CENTRE_X_FIELD_NUMBER: _ClassVar[int]
    CENTRE_Y_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_FIELD_NUMBER: _ClassVar[int]
    WALKABLE_FIELD_NUMBER: _ClassVar[int]
    FLOORS_FIELD_NUMBER: _ClassVar[int]
    radius: int
    centre_x: int
    centre_y: int
    visible: bytes
    walkable: bytes
    floors: bytes
    def __init__(self, radius: _Optional[int] = ..., centre_x: _Optional[int] = ..., centre_y: _Optional[int] = ..., visible: _Optional[bytes] = ..., walkable: _Optional[bytes] = ..., floors: _Optional[bytes] = ...) -> None: ...

class VisibleEntity(_message.Message):
    __slots__ = ("entity_id", "x", "y", "type", "tags", "status_bits", "facing")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    STATUS_BITS_FIELD_NUMBER: _ClassVar[int]
    FACING_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    x: int
    y: int
    type: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    status_bits: int
    facing: _action_pb2.Direction
    def __init__(self, entity_id: _Optional[str] = ..., x: _Optional[int] = ..., y: _Optional[int] = ..., type: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., status_bits: _Optional[int] = ..., facing: _Optional[_Union[_action_pb2.Direction, str]] = ...) -> None: ...

class VisibleObject(_message.Message):
    __slots__ = ("object_id", "kind", "x", "y", "state", "work_remaining", "items", "verbs", "owner", "width", "height")
    OBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WORK_REMAINING_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    VERBS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    object_id: str
    kind: str
    x: int
    y: int
    state: str
    work_remaining: int
    items: _containers.RepeatedCompositeFieldContainer[ItemStack]
    verbs: _containers.RepeatedScalarFieldContainer[str]
    owner: str
    width: int
    height: int
    def __init__(self, object_id: _Optional[str] = ..., kind: _Optional[str] = ..., x: _Optional[int] = ..., y: _Optional[int] = ..., state: _Optional[str] = ..., work_remaining: _Optional[int] = ..., items: _Optional[_Iterable[_Union[ItemStack, _Mapping]]] = ..., verbs: _Optional[_Iterable[str]] = ..., owner: _Optional[str] = ..., width: _Optional[int] = ..., height: _Optional[int] = ...) -> None: ...

class OpenOffer(_message.Message):
    __slots__ = ("actor_id", "kind", "amount", "wanted_kind", "wanted_amount")
    ACTOR_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    WANTED_KIND_FIELD_NUMBER: _ClassVar[int]
    WANTED_AMOUNT_FIELD_NUMBER: _ClassVar[int]
    actor_id: str
    kind: str
    amount: int
    wanted_kind: str
    wanted_amount: int
    def __init__(self, actor_id: _Optional[str] = ..., kind: _Optional[str] = ..., amount: _Optional[int] = ..., wanted_kind: _Optional[str] = ..., wanted_amount: _Optional[int] = ...) -> None: ...

class Entered(_message.Message):
    __slots__ = ("entity_id", "x", "y")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    x: int
    y: int
    def __init__(self, entity_id: _Optional[str] = ..., x: _Optional[int] = ..., y: _Optional[int] = ...) -> None: ...

class Left(_message.Message):
    __slots__ = ("entity_id", "x", "y")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    x: int
    y: int
    def __init__(self, entity_id: _Optional[str] = ..., x: _Optional[int] = ..., y: _Optional[int] = ...) -> None: ...

class Moved(_message.Message):
    __slots__ = ("entity_id", "x", "y", "direction")
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    entity_id: str
    x: int
    y: int
    direction: _action_pb2.Direction
    def __init__(self, entity_id: _Optional[str] = ..., x: _Optional[int] = ..., y: _Optional[int] = ..., direction: _Optional[_Union[_action_pb2.Direction, str]] = ...) -> None: ...

class Acted(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _action_pb2.ActionResult
    def __init__(self, result: _Optional[_Union[_action_pb2.ActionResult, _Mapping]] = ...) -> None: ...

class Heard(_message.Message):
    __slots__ = ("speaker_id", "channel", "text", "x", "y")
    SPEAKER_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    speaker_id: str
    channel: str
    text: str
    x: int
    y: int
    def __init__(self, speaker_id: _Optional[str] = ..., channel: _Optional[str] = ..., text: _Optional[str] = ..., x: _Optional[int] = ..., y: _Optional[int] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("entered", "left", "moved", "acted", "heard")
    ENTERED_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    ACTED_FIELD_NUMBER: _ClassVar[int]
    HEARD_FIELD_NUMBER: _ClassVar[int]
    entered: Entered
    left: Left
    moved: Moved
    acted: Acted
    heard: Heard
    def __init__(self, entered: _Optional[_Union[Entered, _Mapping]] = ..., left: _Optional[_Union[Left, _Mapping]] = ..., moved: _Optional[_Union[Moved, _Mapping]] = ..., acted: _Optional[_Union[Acted, _Mapping]] = ..., heard: _Optional[_Union[Heard, _Mapping]] = ...) -> None: ...

class Observation(_message.Message):
    __slots__ = ("tick_id", "deadline_ms", "me", "visible_tiles", "visible_entities", "visible_objects", "events", "result", "tick_start_server_time_ms", "intent_deadline_server_time_ms", "offers")
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    ME_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_TILES_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ENTITIES_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_OBJECTS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    TICK_START_SERVER_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    INTENT_DEADLINE_SERVER_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    OFFERS_FIELD_NUMBER: _ClassVar[int]
    tick_id: int
    deadline_ms: int
    me: SelfState
    visible_tiles: VisibleTiles
    visible_entities: _containers.RepeatedCompositeFieldContainer[VisibleEntity]
    visible_objects: _containers.RepeatedCompositeFieldContainer[VisibleObject]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    result: _action_pb2.ActionResult
    tick_start_server_time_ms: int
    intent_deadline_server_time_ms: int
    offers: _containers.RepeatedCompositeFieldContainer[OpenOffer]
    def __init__(self, tick_id: _Optional[int] = ..., deadline_ms: _Optional[int] = ..., me: _Optional[_Union[SelfState, _Mapping]] = ..., visible_tiles: _Optional[_Union[VisibleTiles, _Mapping]] = ..., visible_entities: _Optional[_Iterable[_Union[VisibleEntity, _Mapping]]] = ..., visible_objects: _Optional[_Iterable[_Union[VisibleObject, _Mapping]]] = ..., events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., result: _Optional[_Union[_action_pb2.ActionResult, _Mapping]] = ..., tick_start_server_time_ms: _Optional[int] = ..., intent_deadline_server_time_ms: _Optional[int] = ..., offers: _Optional[_Iterable[_Union[OpenOffer, _Mapping]]] = ...) -> None: ...

class StreamObservationsRequest(_message.Message):
    __slots__ = ("lease_id", "entity_id", "want_floors", "once")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    WANT_FLOORS_FIELD_NUMBER: _ClassVar[int]
    ONCE_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    entity_id: str
    want_floors: bool
    once: bool
    def __init__(self, lease_id: _Optional[str] = ..., entity_id: _Optional[str] = ..., want_floors: _Optional[bool] = ..., once: _Optional[bool] = ...) -> None: ...

class StreamObservationsResponse(_message.Message):
    __slots__ = ("observation",)
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    observation: Observation
    def __init__(self, observation: _Optional[_Union[Observation, _Mapping]] = ...) -> None: ...
