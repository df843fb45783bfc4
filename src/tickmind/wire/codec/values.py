"""Checks that all decoders share: numbers in their ranges, names, texts, lists and closed enums."""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import wraps
from typing import ParamSpec, TypeVar

from google.protobuf.message import DecodeError, Message

from tickmind.base import Limit, Secret
from tickmind.protocol import ACTION_TYPES, REASONS, ActorStatus, AgentState, Direction, LifecycleKind, Reason
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import (
    MAX_CONTROLLER_CHARS,
    MAX_MAP_SIDE,
    MAX_NAME_CHARS,
    MAX_OBJECT_SIDE,
    MAX_SECRET_CHARS,
)
from tickmind.wire.messages.viewing import ViewerEventType

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=Message)
E = TypeVar("E", bound=Enum)

INT32_MAX = 2**31 - 1
SIDE = int(MAX_MAP_SIDE.maximum)
NAME_CHARS = int(MAX_NAME_CHARS.maximum)
MAX_GOOD_NAMES = 65_536

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SECRET = re.compile(rf"[A-Za-z0-9_-]{{16,{MAX_SECRET_CHARS.maximum}}}")
_good_names: set[str] = set()  # a cache of valid names, as most names recur

DIRECTIONS = (None, *Direction)  # number in messages -> direction
STATUSES = tuple(ActorStatus(bits) for bits in range(8))  # status bits -> status
ACTIONS = (None, *ACTION_TYPES)  # number in messages -> action type
LIFECYCLE_KINDS = (None, *LifecycleKind)  # number in messages -> kind
AGENT_STATES = (None, *AgentState)  # number in messages -> state
VIEWER_EVENT_TYPES = (None, *ViewerEventType)  # number in messages -> type


def parse(kind: Callable[[], M], data: bytes) -> M:
    """Parse a message from bytes; raises `MessageError` if they are malformed."""
    message = kind()
    try:
        message.ParseFromString(data)
    except (DecodeError, ValueError) as error:
        raise MessageError(message.DESCRIPTOR.name, "a well-formed protobuf message with UTF-8 texts") from error
    return message


def encoder(function: Callable[P, T]) -> Callable[P, T]:
    """Turn protobuf's errors about unfit values into a `MessageError`."""

    @wraps(function)
    def encode(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            what = function.__name__.removeprefix("encode_")
            raise MessageError(what, f"made of values that fit its message ({type(error).__name__})") from None

    return encode


def name(value: str, field: str) -> str:
    """Check a name, which is never empty."""
    if value in _good_names:
        return value
    if not value:
        raise MessageError(field, "a name, not empty")
    return _new_name(value, field)


def optional_name(value: str, field: str) -> str:
    """Check a name that may be empty."""
    if not value or value in _good_names:
        return value
    return _new_name(value, field)


def _new_name(value: str, field: str) -> str:
    if len(value) > NAME_CHARS:
        raise MessageError(field, f"at most {NAME_CHARS} characters long")
    if _CONTROL.search(value):
        raise MessageError(field, "free of control characters")
    if len(_good_names) >= MAX_GOOD_NAMES:
        _good_names.clear()
    _good_names.add(value)
    return value


def names(values: Iterable[str], field: str, limit: Limit) -> tuple[str, ...]:
    """Check several names."""
    checked = tuple(values)
    if not limit.allows(len(checked)):
        raise MessageError(field, f"at most {limit.maximum} names")
    for value in checked:
        if value not in _good_names:
            name(value, field)
    return checked


def controller(value: str, field: str) -> str:
    """Check a controller's name."""
    if not value or not MAX_CONTROLLER_CHARS.allows(len(value)) or _CONTROL.search(value):
        raise MessageError(field, f"1 to {MAX_CONTROLLER_CHARS.maximum} characters, none of them control characters")
    return value


def secret(value: str, field: str) -> Secret:
    """Check a lease's secret; no error ever shows it."""
    if not _SECRET.fullmatch(value):
        raise MessageError(field, "the secret of a lease", reason=Reason.INVALID_LEASE)
    return Secret(value)


def optional_secret(value: str, field: str) -> Secret | None:
    """Check a lease's secret that may be empty."""
    return secret(value, field) if value else None


def text(value: str, field: str, limit: Limit, *, reason: Reason = Reason.TEXT_TOO_LONG) -> str:
    """Check a spoken or thought text; it may be empty."""
    if not limit.allows(len(value)):
        raise MessageError(field, f"at most {limit.maximum} characters long", reason=reason)
    return value


def number(value: int, field: str, low: int, high: int) -> int:
    """Check that a number lies in its range, both ends included."""
    if not low <= value <= high:
        raise MessageError(field, f"from {low:,} to {high:,}")
    return value


def tick(value: int, field: str = "tick_id") -> int:
    """Check the number of a tick."""
    if value < 0:
        raise MessageError(field, "0 or more")
    return value


def size(width: int, height: int, field: str) -> tuple[int, int]:
    """Return the size of an object; a side of 0 is one tile, as older versions have it."""
    most = int(MAX_OBJECT_SIDE.maximum)
    return number(width, f"{field}.width", 0, most) or 1, number(height, f"{field}.height", 0, most) or 1


def sides(of: tuple[int, int]) -> dict[str, int]:
    """Return the size of an object as fields; nothing for one of a single tile."""
    return {} if of == (1, 1) else {"width": of[0], "height": of[1]}


def place(x: int, y: int, field: str) -> tuple[int, int]:
    """Check that a tile lies on the largest possible map."""
    if not (0 <= x < SIDE and 0 <= y < SIDE):
        raise MessageError(field, f"a tile with x and y from 0 to {SIDE - 1}")
    return x, y


def count(values: Sequence[object], field: str, limit: Limit) -> None:
    """Check the length of a list."""
    if not limit.allows(len(values)):
        raise MessageError(field, f"at most {limit.maximum:,} long")


def status(bits: int, field: str) -> ActorStatus:
    """Return the state of an actor from its bits."""
    if not 0 <= bits < 8:
        raise MessageError(field, "made of the bits 1, 2 and 4")
    return STATUSES[bits]


def member(table: Sequence[E | None], code: int, field: str) -> E:
    """Return the enum member of a number in messages, where 0 is none."""
    if 0 < code < len(table) and (value := table[code]) is not None:
        return value
    raise MessageError(field, f"a number from 1 to {len(table) - 1}")


def reason(code: int, field: str) -> Reason:
    """Return the reason of its number; 0 is none."""
    if not 0 <= code < len(REASONS):
        raise MessageError(field, f"a number from 0 to {len(REASONS) - 1}")
    return REASONS[code]


def chosen(message: Message, oneof: str, field: str) -> str:
    """Return which form of a oneof a message has."""
    form: str | None = message.WhichOneof(oneof)
    if form is None:
        raise MessageError(field, "set to one of its forms")
    return form


def present(message: Message, field: str) -> None:
    """Check that a message has a part that it must have."""
    if not message.HasField(field):
        raise MessageError(field, "set")
