"""What an actor asks for in one tick."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from tickmind.protocol.direction import Direction

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int8, Int32, Texts, UInt8


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


ACTION_TYPES = tuple(ActionType)  # code -> type
ACTION_CODES = {action: code for code, action in enumerate(ACTION_TYPES)}


LOCAL = "local"  # heard within a radius
CHANNELS = (LOCAL,)


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing; also what an actor does that says nothing before the deadline."""


@dataclass(frozen=True, slots=True)
class Move:
    """Go one tile."""

    direction: Direction


@dataclass(frozen=True, slots=True)
class Pickup:
    """Take items from the tile that the actor stands on. `item_id` is for unique items, which no world has yet."""

    kind: str
    amount: int = 1
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class Use:
    """Use up items from the inventory, as in eating."""

    kind: str
    amount: int = 1
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """Speak to everybody within hearing. There must be a text, and the channel must be one of `CHANNELS`."""

    text: str
    channel: str = LOCAL


@dataclass(frozen=True, slots=True)
class Interact:
    """Work on an object on this tile or one beside it. Without a verb it is the first action that the object offers."""

    target_id: str
    verb: str = ""


@dataclass(frozen=True, slots=True)
class Drop:
    """Lay items down on the tile that the actor stands on."""

    kind: str
    amount: int = 1
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class Give:
    """Hand items to an actor on a tile beside this one."""

    target_id: str
    kind: str
    amount: int = 1
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Fall asleep until `Wake`."""


@dataclass(frozen=True, slots=True)
class Wake:
    """Wake up."""


Intent: TypeAlias = Wait | Move | Pickup | Use | Say | Interact | Drop | Give | Sleep | Wake

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
}


@dataclass(frozen=True, slots=True, eq=False)
class IntentColumns:
    """The intents of one tick as columns, at most one for each actor, in ascending rows.

    Names are codes of the world's `WorldInfo`: item kinds, verbs, and rows of actors or objects. A name that the
    world does not have is `UNKNOWN`, and what an action does not need is `UNUSED`.
    """

    actor: "Int32"  # rows, ascending, none twice
    action: "UInt8"  # codes of `ACTION_TYPES`
    direction: "Int8"  # of Move, else UNUSED
    kind: "Int32"  # item kind of Pickup, Use, Drop, Give; verb of Interact (0: whatever comes first)
    amount: "Int32"
    target: "Int32"  # object row of Interact, actor row of Give
    texts: "Texts"  # place in the columns -> (channel, text) of Say

    def __len__(self) -> int:
        return len(self.actor)


UNUSED = -1
UNKNOWN = -2
