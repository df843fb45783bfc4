"""The contract between a gateway and its clients: headers, codes of refusals, names and limits. Both sides import it.

A value that a client lets through is one that a gateway takes, so a mistake is reported where it is made.
"""

import re
from enum import StrEnum
from typing import Final

from tickmind.base import Limit

# Headers of a request
SESSION_HEADER: Final = "x-tickmind-session"
AGENT_HEADER: Final = "x-tickmind-agent"
PRIORITY_HEADER: Final = "x-tickmind-priority"
TIMEOUT_HEADER: Final = "x-tickmind-timeout-ms"
DROP_AFTER_HEADER: Final = "x-tickmind-drop-after-ms"
REPLACE_HEADER: Final = "x-tickmind-replace"
REQUEST_HEADERS: Final = (
    SESSION_HEADER, AGENT_HEADER, PRIORITY_HEADER, TIMEOUT_HEADER, DROP_AFTER_HEADER, REPLACE_HEADER,
)  # fmt: skip

# Headers of a reply
PROVIDER_HEADER: Final = "x-tickmind-provider"
WAITED_HEADER: Final = "x-tickmind-waited-ms"
ATTEMPTS_HEADER: Final = "x-tickmind-attempts"
COOLDOWN_HEADER: Final = "x-tickmind-cooldown"
SHARED_HEADER: Final = "x-tickmind-shared"

PRIORITIES: Final = ("high", "normal", "low")
DEFAULT_MODEL: Final = "default"  # a gateway's name for the model that it has as its default

MAX_NAME_CHARS: Final = Limit("length of a session's or an agent's name", 128, "characters")
MAX_MODEL_CHARS: Final = 256
MAX_MS: Final = 999_999_999  # in a header
_MARGIN_RATIO: Final = 0.01
_MAX_MARGIN_S: Final = 0.05
SESSION_PATTERN: Final = "^[A-Za-z0-9][A-Za-z0-9._:@+=~-]*$"
SESSION_IN_WORDS: Final = (
    f"1 to {MAX_NAME_CHARS.maximum} letters, digits or . _ : @ + = ~ - and starts with a letter or digit"
)
# Control characters, and those that hide or turn the text around them, have no place in a name.
NAME_PATTERN: Final = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]*$"
_SESSION: Final = re.compile(SESSION_PATTERN[:-1] + r"\Z")
_NAME: Final = re.compile(NAME_PATTERN[:-1] + r"\Z")


def gateway_share_s(timeout_s: float) -> float:
    """Return the gateway's share of a client's timeout: a little less, so that its own error arrives in time."""
    return timeout_s - min(_MARGIN_RATIO * timeout_s, _MAX_MARGIN_S)


def is_name(text: str) -> bool:
    """Return whether all of a name of an agent or a model can be shown."""
    return (text.isascii() and text.isprintable()) or _NAME.match(text) is not None


def is_session(text: str) -> bool:
    """Return whether a text can be the name of a session."""
    return MAX_NAME_CHARS.allows(len(text)) and _SESSION.match(text) is not None


class Code(StrEnum):
    """Every reason for which the gateway itself turns a request down; callers may branch on it."""

    BAD_REQUEST = "BAD_REQUEST"  # the request can't be read
    UNKNOWN_MODEL = "UNKNOWN_MODEL"  # no provider for it
    FORBIDDEN_URL = "FORBIDDEN_URL"  # a custom base URL that the operator does not allow
    UNAUTHORIZED = "UNAUTHORIZED"  # no key, or one that is not known
    FORBIDDEN = "FORBIDDEN"  # the key is known, and not for this
    BUDGET_SPENT = "BUDGET_SPENT"  # the session's requests, tokens or money are used up
    RATE_LIMIT_COOLDOWN = "RATE_LIMIT_COOLDOWN"  # strict sharing: it is not this session's turn yet
    DEFERRED = "DEFERRED"  # the agent's own wait lasts longer than the request may
    QUEUE_FULL = "QUEUE_FULL"
    QUEUE_TIMEOUT = "QUEUE_TIMEOUT"  # it waited as long as it may
    OVERLOADED = "OVERLOADED"  # it can't be answered before its deadline, as long as replies take
    REPLACED = "REPLACED"  # a newer request of the same agent took its place
    EXPIRED = "EXPIRED"  # its tick or time of usefulness is over
    ALL_LIMITED = "ALL_LIMITED"  # no provider of the chain has room before the deadline, or in three rounds
    PROVIDER_DOWN = "PROVIDER_DOWN"  # the circuit is open, or the connection broke
    PROVIDER_ERROR = "PROVIDER_ERROR"  # what came back can't be passed on
    DEADLINE = "DEADLINE"  # the total deadline passed
    TOO_LARGE = "TOO_LARGE"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    NOT_FOUND = "NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    INTERNAL = "INTERNAL"  # a fault of the gateway itself, which is in its log


STATUS_OF: Final[dict[Code, int]] = {
    Code.BAD_REQUEST: 400,
    Code.UNKNOWN_MODEL: 404,
    Code.FORBIDDEN_URL: 403,
    Code.UNAUTHORIZED: 401,
    Code.FORBIDDEN: 403,
    Code.BUDGET_SPENT: 402,
    Code.RATE_LIMIT_COOLDOWN: 429,
    Code.DEFERRED: 429,
    Code.QUEUE_FULL: 503,
    Code.QUEUE_TIMEOUT: 503,
    Code.OVERLOADED: 503,
    Code.REPLACED: 409,
    Code.EXPIRED: 410,
    Code.ALL_LIMITED: 429,
    Code.PROVIDER_DOWN: 503,
    Code.PROVIDER_ERROR: 502,
    Code.DEADLINE: 504,
    Code.TOO_LARGE: 413,
    Code.SHUTTING_DOWN: 503,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.INTERNAL: 500,
}
HELD_BACK: Final = frozenset(
    {Code.RATE_LIMIT_COOLDOWN, Code.DEFERRED, Code.QUEUE_FULL, Code.QUEUE_TIMEOUT, Code.OVERLOADED, Code.ALL_LIMITED}
)  # a later try may go through
DROPPED: Final = frozenset({Code.REPLACED, Code.EXPIRED})  # no caller needs the answer any longer
