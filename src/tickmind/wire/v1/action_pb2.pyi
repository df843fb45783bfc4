from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Direction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIRECTION_UNSPECIFIED: _ClassVar[Direction]
    DIRECTION_N: _ClassVar[Direction]
    DIRECTION_NE: _ClassVar[Direction]
    DIRECTION_E: _ClassVar[Direction]
    DIRECTION_SE: _ClassVar[Direction]
    DIRECTION_S: _ClassVar[Direction]
    DIRECTION_SW: _ClassVar[Direction]
    DIRECTION_W: _ClassVar[Direction]
    DIRECTION_NW: _ClassVar[Direction]

class ActionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_TYPE_UNSPECIFIED: _ClassVar[ActionType]
    ACTION_TYPE_WAIT: _ClassVar[ActionType]
    ACTION_TYPE_MOVE: _ClassVar[ActionType]
    ACTION_TYPE_PICKUP: _ClassVar[ActionType]
    ACTION_TYPE_USE: _ClassVar[ActionType]
    ACTION_TYPE_SAY: _ClassVar[ActionType]
    ACTION_TYPE_INTERACT: _ClassVar[ActionType]
    ACTION_TYPE_DROP: _ClassVar[ActionType]
    ACTION_TYPE_GIVE: _ClassVar[ActionType]
    ACTION_TYPE_SLEEP: _ClassVar[ActionType]
    ACTION_TYPE_WAKE: _ClassVar[ActionType]
    ACTION_TYPE_PUT: _ClassVar[ActionType]
    ACTION_TYPE_TAKE: _ClassVar[ActionType]
    ACTION_TYPE_BUY: _ClassVar[ActionType]
    ACTION_TYPE_SELL: _ClassVar[ActionType]
    ACTION_TYPE_OFFER: _ClassVar[ActionType]
    ACTION_TYPE_ACCEPT: _ClassVar[ActionType]
    ACTION_TYPE_DECLINE: _ClassVar[ActionType]
    ACTION_TYPE_BUILD: _ClassVar[ActionType]

class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASON_UNSPECIFIED: _ClassVar[Reason]
    REASON_LATE_TICK: _ClassVar[Reason]
    REASON_EARLY_TICK: _ClassVar[Reason]
    REASON_INVALID_LEASE: _ClassVar[Reason]
    REASON_EXPIRED_LEASE: _ClassVar[Reason]
    REASON_DUPLICATE_INTENT: _ClassVar[Reason]
    REASON_UNKNOWN_ENTITY: _ClassVar[Reason]
    REASON_ILLEGAL_ACTION: _ClassVar[Reason]
    REASON_TEXT_TOO_LONG: _ClassVar[Reason]
    REASON_OVERLOADED: _ClassVar[Reason]
    REASON_LEASE_HELD: _ClassVar[Reason]
    REASON_STOPPING: _ClassVar[Reason]
    REASON_OUT_OF_BOUNDS: _ClassVar[Reason]
    REASON_NOT_WALKABLE: _ClassVar[Reason]
    REASON_ILLEGAL_DIAGONAL: _ClassVar[Reason]
    REASON_TILE_CONTESTED: _ClassVar[Reason]
    REASON_SWAP: _ClassVar[Reason]
    REASON_CYCLE: _ClassVar[Reason]
    REASON_OCCUPIED: _ClassVar[Reason]
    REASON_BLOCKED_BY_FAILED_MOVE: _ClassVar[Reason]
    REASON_ASLEEP: _ClassVar[Reason]
    REASON_INCAPACITATED: _ClassVar[Reason]
    REASON_NOT_ASLEEP: _ClassVar[Reason]
    REASON_TOO_TIRED: _ClassVar[Reason]
    REASON_UNKNOWN_KIND: _ClassVar[Reason]
    REASON_UNKNOWN_TARGET: _ClassVar[Reason]
    REASON_NOTHING_HERE: _ClassVar[Reason]
    REASON_NOT_IN_INVENTORY: _ClassVar[Reason]
    REASON_INVENTORY_FULL: _ClassVar[Reason]
    REASON_NOT_USABLE: _ClassVar[Reason]
    REASON_TOO_FAR: _ClassVar[Reason]
    REASON_WRONG_STATE: _ClassVar[Reason]
    REASON_MISSING_ITEM: _ClassVar[Reason]
    REASON_TARGET_OCCUPIED: _ClassVar[Reason]
    REASON_CLOSED: _ClassVar[Reason]
    REASON_NOT_A_CONTAINER: _ClassVar[Reason]
    REASON_NOT_OWNER: _ClassVar[Reason]
    REASON_CONTAINER_FULL: _ClassVar[Reason]
    REASON_NOT_FOR_SALE: _ClassVar[Reason]
    REASON_NO_OFFER: _ClassVar[Reason]
    REASON_AWAY: _ClassVar[Reason]
    REASON_STILL_WALKING: _ClassVar[Reason]
    REASON_ALREADY_THERE: _ClassVar[Reason]
    REASON_NONE_LEFT: _ClassVar[Reason]
    REASON_PLAYED: _ClassVar[Reason]
DIRECTION_UNSPECIFIED: Direction
DIRECTION_N: Direction
DIRECTION_NE: Direction
DIRECTION_E: Direction
DIRECTION_SE: Direction
DIRECTION_S: Direction
DIRECTION_SW: Direction
DIRECTION_W: Direction
DIRECTION_NW: Direction
ACTION_TYPE_UNSPECIFIED: ActionType
ACTION_TYPE_WAIT: ActionType
ACTION_TYPE_MOVE: ActionType
ACTION_TYPE_PICKUP: ActionType
ACTION_TYPE_USE: ActionType
ACTION_TYPE_SAY: ActionType
ACTION_TYPE_INTERACT: ActionType
ACTION_TYPE_DROP: ActionType
ACTION_TYPE_GIVE: ActionType
ACTION_TYPE_SLEEP: ActionType
ACTION_TYPE_WAKE: ActionType
ACTION_TYPE_PUT: ActionType
ACTION_TYPE_TAKE: ActionType
ACTION_TYPE_BUY: ActionType
ACTION_TYPE_SELL: ActionType
ACTION_TYPE_OFFER: ActionType
ACTION_TYPE_ACCEPT: ActionType
ACTION_TYPE_DECLINE: ActionType
ACTION_TYPE_BUILD: ActionType
REASON_UNSPECIFIED: Reason
REASON_LATE_TICK: Reason
REASON_EARLY_TICK: Reason
REASON_INVALID_LEASE: Reason
REASON_EXPIRED_LEASE: Reason
REASON_DUPLICATE_INTENT: Reason
REASON_UNKNOWN_ENTITY: Reason
REASON_ILLEGAL_ACTION: Reason
REASON_TEXT_TOO_LONG: Reason
REASON_OVERLOADED: Reason
REASON_LEASE_HELD: Reason
REASON_STOPPING: Reason
REASON_OUT_OF_BOUNDS: Reason
REASON_NOT_WALKABLE: Reason
REASON_ILLEGAL_DIAGONAL: Reason
REASON_TILE_CONTESTED: Reason
REASON_SWAP: Reason
REASON_CYCLE: Reason
REASON_OCCUPIED: Reason
REASON_BLOCKED_BY_FAILED_MOVE: Reason
REASON_ASLEEP: Reason
REASON_INCAPACITATED: Reason
REASON_NOT_ASLEEP: Reason
REASON_TOO_TIRED: Reason
REASON_UNKNOWN_KIND: Reason
REASON_UNKNOWN_TARGET: Reason
REASON_NOTHING_HERE: Reason
REASON_NOT_IN_INVENTORY: Reason
REASON_INVENTORY_FULL: Reason
REASON_NOT_USABLE: Reason
REASON_TOO_FAR: Reason
REASON_WRONG_STATE: Reason
REASON_MISSING_ITEM: Reason
REASON_TARGET_OCCUPIED: Reason
REASON_CLOSED: Reason
REASON_NOT_A_CONTAINER: Reason
REASON_NOT_OWNER: Reason
REASON_CONTAINER_FULL: Reason
REASON_NOT_FOR_SALE: Reason
REASON_NO_OFFER: Reason
REASON_AWAY: Reason
REASON_STILL_WALKING: Reason
REASON_ALREADY_THERE: Reason
REASON_NONE_LEFT: Reason
REASON_PLAYED: Reason

class Wait(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Move(_message.Message):
    __slots__ = ("direction",)
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    direction: Direction
    def __init__(self, direction: _Optional[_Union[Direction, str]] = ...) -> None: ...

class Pickup(_message.Message):
    __slots__ = ("kind", "amount", "item_id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    kind: str
    amount: int
    item_id: str
    def __init__(self, kind: _Optional[str] = ..., amount: _Optional[int] = ..., item_id: _Optional[str] = ...) -> None: ...

class Use(_message.Message):
    __slots__ = ("kind", "amount", "item_id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    kind: str
    amount: int
    item_id: str
    def __init__(self, kind: _Optional[str] = ..., amount: _Optional[int] = ..., item_id: _Optional[str] = ...) -> None: ...

class Say(_message.Message):
    __slots__ = ("text", "channel")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    text: str
    channel: str
    def __init__(self, text: _Optional[str] = ..., channel: _Optional[str] = ...) -> None: ...

class Interact(_message.Message):
    __slots__ = ("target_id", "verb")
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    VERB_FIELD_NUMBER: _ClassVar[int]
    target_id: str
    verb: str
    def __init__(self, target_id: _Optional[str] = ..., verb: _Optional[str] = ...) -> None: ...

class Drop(_message.Message):
    __slots__ = ("kind", "amount", "item_id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    kind: str
    amount: int
    item_id: str
    def __init__(self, kind: _Optional[str] = ..., amount: _Optional[int] = ..., item_id: _Optional[str] = ...) -> None: ...

class Give(_message.Message):
    __slots__ = ("target_id", "kind", "amount", "item_id")
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    target_id: str
    kind: str
    amount: int
    item_id: str
    def __init__(self, target_id: _Optional[str] = ..., kind: _Optional[str] = ..., amount: _Optional[int] = ..., item_id: _Optional[str] = ...) -> None: ...

class Exchange(_message.Message):
    __slots__ = ("target_id", "kind", "amount")
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    target_id: str
    kind: str
    amount: int
    def __init__(self, target_id: _Optional[str] = ..., kind: _Optional[str] = ..., amount: _Optional[int] = ...) -> None: ...

class Offer(_message.Message):
    __slots__ = ("target_id", "kind", "amount", "wanted_kind", "wanted_amount")
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    WANTED_KIND_FIELD_NUMBER: _ClassVar[int]
    WANTED_AMOUNT_FIELD_NUMBER: _ClassVar[int]
    target_id: str
    kind: str
    amount: int
    wanted_kind: str
    wanted_amount: int
    def __init__(self, target_id: _Optional[str] = ..., kind: _Optional[str] = ..., amount: _Optional[int] = ..., wanted_kind: _Optional[str] = ..., wanted_amount: _Optional[int] = ...) -> None: ...

class Accept(_message.Message):
    __slots__ = ("target_id",)
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    target_id: str
    def __init__(self, target_id: _Optional[str] = ...) -> None: ...

class Decline(_message.Message):
    __slots__ = ("target_id",)
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    target_id: str
    def __init__(self, target_id: _Optional[str] = ...) -> None: ...

class Build(_message.Message):
    __slots__ = ("kind", "direction")
    KIND_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    kind: str
    direction: Direction
    def __init__(self, kind: _Optional[str] = ..., direction: _Optional[_Union[Direction, str]] = ...) -> None: ...

class Sleep(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Wake(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Intent(_message.Message):
    __slots__ = ("wait", "move", "pickup", "use", "say", "interact", "drop", "give", "sleep", "wake", "put", "take", "buy", "sell", "offer", "accept", "decline", "build")
    WAIT_FIELD_NUMBER: _ClassVar[int]
    MOVE_FIELD_NUMBER: _ClassVar[int]
    PICKUP_FIELD_NUMBER: _ClassVar[int]
    USE_FIELD_NUMBER: _ClassVar[int]
    SAY_FIELD_NUMBER: _ClassVar[int]
    INTERACT_FIELD_NUMBER: _ClassVar[int]
    DROP_FIELD_NUMBER: _ClassVar[int]
    GIVE_FIELD_NUMBER: _ClassVar[int]
    SLEEP_FIELD_NUMBER: _ClassVar[int]
    WAKE_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    TAKE_FIELD_NUMBER: _ClassVar[int]
    BUY_FIELD_NUMBER: _ClassVar[int]
    SELL_FIELD_NUMBER: _ClassVar[int]
    OFFER_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_FIELD_NUMBER: _ClassVar[int]
    DECLINE_FIELD_NUMBER: _ClassVar[int]
    BUILD_FIELD_NUMBER: _ClassVar[int]
    wait: Wait
    move: Move
    pickup: Pickup
    use: Use
    say: Say
    interact: Interact
    drop: Drop
    give: Give
    sleep: Sleep
    wake: Wake
    put: Exchange
    take: Exchange
    buy: Exchange
    sell: Exchange
    offer: Offer
    accept: Accept
    decline: Decline
    build: Build
    def __init__(self, wait: _Optional[_Union[Wait, _Mapping]] = ..., move: _Optional[_Union[Move, _Mapping]] = ..., pickup: _Optional[_Union[Pickup, _Mapping]] = ..., use: _Optional[_Union[Use, _Mapping]] = ..., say: _Optional[_Union[Say, _Mapping]] = ..., interact: _Optional[_Union[Interact, _Mapping]] = ..., drop: _Optional[_Union[Drop, _Mapping]] = ..., give: _Optional[_Union[Give, _Mapping]] = ..., sleep: _Optional[_Union[Sleep, _Mapping]] = ..., wake: _Optional[_Union[Wake, _Mapping]] = ..., put: _Optional[_Union[Exchange, _Mapping]] = ..., take: _Optional[_Union[Exchange, _Mapping]] = ..., buy: _Optional[_Union[Exchange, _Mapping]] = ..., sell: _Optional[_Union[Exchange, _Mapping]] = ..., offer: _Optional[_Union[Offer, _Mapping]] = ..., accept: _Optional[_Union[Accept, _Mapping]] = ..., decline: _Optional[_Union[Decline, _Mapping]] = ..., build: _Optional[_Union[Build, _Mapping]] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ("accepted", "reason")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    accepted: bool
    reason: Reason
    def __init__(self, accepted: _Optional[bool] = ..., reason: _Optional[_Union[Reason, str]] = ...) -> None: ...

class Effect(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...

class ActionResult(_message.Message):
    __slots__ = ("actor_id", "action_type", "ok", "reason", "target_id", "effects")
    ACTOR_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    OK_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    EFFECTS_FIELD_NUMBER: _ClassVar[int]
    actor_id: str
    action_type: ActionType
    ok: bool
    reason: Reason
    target_id: str
    effects: _containers.RepeatedCompositeFieldContainer[Effect]
    def __init__(self, actor_id: _Optional[str] = ..., action_type: _Optional[_Union[ActionType, str]] = ..., ok: _Optional[bool] = ..., reason: _Optional[_Union[Reason, str]] = ..., target_id: _Optional[str] = ..., effects: _Optional[_Iterable[_Union[Effect, _Mapping]]] = ...) -> None: ...

class SubmitIntentRequest(_message.Message):
    __slots__ = ("lease_id", "entity_id", "tick_id", "intent")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    ENTITY_ID_FIELD_NUMBER: _ClassVar[int]
    TICK_ID_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    entity_id: str
    tick_id: int
    intent: Intent
    def __init__(self, lease_id: _Optional[str] = ..., entity_id: _Optional[str] = ..., tick_id: _Optional[int] = ..., intent: _Optional[_Union[Intent, _Mapping]] = ...) -> None: ...

class SubmitIntentResponse(_message.Message):
    __slots__ = ("ack",)
    ACK_FIELD_NUMBER: _ClassVar[int]
    ack: Ack
    def __init__(self, ack: _Optional[_Union[Ack, _Mapping]] = ...) -> None: ...
