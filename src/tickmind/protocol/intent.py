"""Intents: the actions that an actor requests in one tick.

    TickmindError
    └── IntentError    a field of an intent is of the wrong type (also a TypeError)

The types of fields are checked when an intent is made, so that a mistake is raised at the line that has it. The
world checks what it allows, such as an amount or the length of a text.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from tickmind.base import TickmindError
from tickmind.protocol.direction import Direction

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int8, Int32, Texts, UInt8, Wanted


class ActionType(StrEnum):
    """The names of the actions in messages and records. The place in the list is the code in columns: append only."""

    WAIT = "Wait"
    MOVE = "Move"
    PICKUP = "Pickup"
    USE = "Use"
    SAY = "Say"
    INTERACT = "Interact"
    DROP = "Drop"
    GIVE = "Give"
    SLEEP = "Sleep"
    WAKE = "Wake"
    PUT = "Put"
    TAKE = "Take"
    BUY = "Buy"
    SELL = "Sell"
    OFFER = "Offer"
    ACCEPT = "Accept"
    DECLINE = "Decline"
    BUILD = "Build"


class IntentError(TickmindError, TypeError):
    """A field of an intent is of the wrong type; the message names the field and the expected type."""


ACTION_TYPES = tuple(ActionType)  # code -> type
ACTION_CODES = {action: code for code, action in enumerate(ACTION_TYPES)}


LOCAL = "local"  # heard within a radius
CHANNELS = (LOCAL,)


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing; also what an actor does without an intent before the deadline."""


@dataclass(frozen=True, slots=True)
class Move:
    """Go one tile."""

    direction: Direction

    def __post_init__(self) -> None:
        _check_direction(self)


@dataclass(frozen=True, slots=True)
class _Items:
    """Items of a kind. `item_id` is for unique items, which no world has yet."""

    kind: str
    amount: int = 1
    item_id: str = ""

    def __post_init__(self) -> None:
        _check_items(self)


class Pickup(_Items):
    """Take items from the tile that the actor stands on."""

    __slots__ = ()


class Use(_Items):
    """Use up items from the inventory, as in eating."""

    __slots__ = ()


class Drop(_Items):
    """Lay items down on the tile that the actor stands on."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Say:
    """Speak to all actors within hearing. There must be a text, and the channel must be one of `CHANNELS`."""

    text: str
    channel: str = LOCAL

    def __post_init__(self) -> None:
        _check_text(self, "text", self.text)
        _check_text(self, "channel", self.channel)


@dataclass(frozen=True, slots=True)
class Interact:
    """Work on an object on this tile or one beside it. Without a verb it is the first action that the object offers."""

    target_id: str
    verb: str = ""

    def __post_init__(self) -> None:
        _check_text(self, "target_id", self.target_id)
        _check_text(self, "verb", self.verb)


@dataclass(frozen=True, slots=True)
class Give:
    """Hand items to an actor on a tile beside this one."""

    target_id: str
    kind: str
    amount: int = 1
    item_id: str = ""

    def __post_init__(self) -> None:
        _check_text(self, "target_id", self.target_id)
        _check_items(self)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """Items, and a container on a tile beside this one: all of them are moved, or none."""

    target_id: str
    kind: str
    amount: int = 1

    def __post_init__(self) -> None:
        _check_goods(self)


class Put(_Exchange):
    """Put items into a container."""

    __slots__ = ()


class Take(_Exchange):
    """Take items out of a container."""

    __slots__ = ()


class Buy(_Exchange):
    """Take items out of a container, and put their price into it."""

    __slots__ = ()


class Sell(_Exchange):
    """Put items into a container, and take their price out of it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """Offer items to an actor on a tile beside this one, for items of its own or for nothing.

    `Accept` exchanges both at once. An offer stands for some ticks, until it is declined, or until the next one.
    """

    target_id: str
    kind: str
    amount: int = 1
    wanted_kind: str = ""  # empty: it is a gift
    wanted_amount: int = 1

    def __post_init__(self) -> None:
        _check_goods(self)
        _check_text(self, "wanted_kind", self.wanted_kind)
        if type(self.wanted_amount) is not int:  # excludes bool
            raise _wrong(self, "wanted_amount", "a whole number", self.wanted_amount)


@dataclass(frozen=True, slots=True)
class _OfferReply:
    """What an actor does about the offer of another."""

    target_id: str

    def __post_init__(self) -> None:
        _check_text(self, "target_id", self.target_id)


class Accept(_OfferReply):
    """Accept the offer of an actor on a tile beside this one."""

    __slots__ = ()


class Decline(_OfferReply):
    """Decline the offer of an actor, or take back the own offer to it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Build:
    """Build an object of a kind on a tile beside this one. What that takes is in `KindInfo.build`."""

    kind: str
    direction: Direction

    def __post_init__(self) -> None:
        _check_text(self, "kind", self.kind)
        _check_direction(self)


@dataclass(frozen=True, slots=True)
class Sleep:
    """Fall asleep until `Wake`."""


@dataclass(frozen=True, slots=True)
class Wake:
    """Wake up."""


_MAX_SHOWN_CHARS = 60
_DIRECTIONS = dict(
    zip(("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest"), Direction, strict=True)
) | {direction.name.lower(): direction for direction in Direction}


def _check_items(intent: "_Items | Give") -> None:
    _check_amount(intent)
    _check_text(intent, "item_id", intent.item_id)


def _check_goods(intent: "_Exchange | Offer") -> None:
    _check_text(intent, "target_id", intent.target_id)
    _check_amount(intent)


def _check_amount(intent: "_Items | Give | _Exchange | Offer") -> None:
    _check_text(intent, "kind", intent.kind)
    if type(intent.amount) is not int:  # excludes bool
        raise _wrong(intent, "amount", "a whole number", intent.amount)


def _check_text(intent: object, field: str, value: str) -> None:
    if not isinstance(value, str):
        raise _wrong(intent, field, "a text", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _wrong(intent, field, "a text of whole characters, without half a surrogate pair", value) from None


def _check_direction(intent: "Move | Build") -> None:
    value: object = intent.direction
    if type(value) is Direction:
        return
    known = _DIRECTIONS.get(value.replace("-", "").strip().lower()) if isinstance(value, str) else None
    meant = Direction.E if known is None else known
    raise _wrong(intent, "direction", f"a Direction such as Direction.{meant.name}", value)


def _wrong(intent: object, field: str, expected: str, value: object) -> IntentError:
    return IntentError(f"{type(intent).__name__}.{field} must be {expected}, not {_shown(value)}")


def _shown(value: object) -> str:
    if value is None or isinstance(value, (str, int, float)):
        text = ascii(value)
        return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}..."
    return f"a {type(value).__name__}"


_BodyIntent: TypeAlias = Wait | Move | Say | Interact | Build | Sleep | Wake
_ItemIntent: TypeAlias = Pickup | Use | Drop | Give | Put | Take | Buy | Sell | Offer | Accept | Decline
Intent: TypeAlias = _BodyIntent | _ItemIntent

ACTION_OF: dict[type[Intent], ActionType] = {
    Wait: ActionType.WAIT,
    Move: ActionType.MOVE,
    Pickup: ActionType.PICKUP,
    Use: ActionType.USE,
    Say: ActionType.SAY,
    Interact: ActionType.INTERACT,
    Drop: ActionType.DROP,
    Give: ActionType.GIVE,
    Sleep: ActionType.SLEEP,
    Wake: ActionType.WAKE,
    Put: ActionType.PUT,
    Take: ActionType.TAKE,
    Buy: ActionType.BUY,
    Sell: ActionType.SELL,
    Offer: ActionType.OFFER,
    Accept: ActionType.ACCEPT,
    Decline: ActionType.DECLINE,
    Build: ActionType.BUILD,
}
AT_CONTAINERS = (ActionType.PUT, ActionType.TAKE, ActionType.BUY, ActionType.SELL)  # their target is an object
WITH_ACTORS = (ActionType.GIVE, ActionType.OFFER, ActionType.ACCEPT, ActionType.DECLINE)  # it is an actor
OF_ITEMS = (  # they name items
    ActionType.PICKUP,
    ActionType.USE,
    ActionType.DROP,
    ActionType.GIVE,
    *AT_CONTAINERS,
    ActionType.OFFER,
)


@dataclass(frozen=True, slots=True, eq=False)
class IntentColumns:
    """The intents of one tick as columns, at most one for each actor, in ascending rows.

    Names are codes of the world's `WorldInfo`: item kinds, verbs, kinds of objects, and rows of actors or objects. A
    name that the world does not have is `UNKNOWN`, and an unused field is `UNUSED`.
    """

    actor: "Int32"  # rows, ascending, none twice
    action: "UInt8"  # codes of `ACTION_TYPES`
    direction: "Int8"  # of Move and Build, else UNUSED
    kind: "Int32"  # item kind of `OF_ITEMS`; verb of Interact (0: the first that the object offers); kind of Build
    amount: "Int32"  # of `OF_ITEMS`
    target: "Int32"  # object row of Interact and `AT_CONTAINERS`, actor row of `WITH_ACTORS`
    texts: "Texts"  # place in the columns -> (channel, text) of Say
    wanted: "Wanted" = field(default_factory=dict)  # place in the columns -> (item kind, amount) that an Offer is for

    def __len__(self) -> int:
        return len(self.actor)


UNUSED = -1
UNKNOWN = -2
