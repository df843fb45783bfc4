"""Why a request is not served: a value with a code from a closed list, an HTTP status and, where it helps, a wait."""

from dataclasses import dataclass
from enum import StrEnum

from tickmind.base import redact


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


STATUS_OF: dict[Code, int] = {
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


@dataclass(frozen=True, slots=True)
class Refusal:
    """One request turned down. `retry_after_s` becomes `Retry-After`; the message says what to do."""

    code: Code
    message: str
    retry_after_s: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", redact(self.message))

    @property
    def status(self) -> int:
        """The HTTP status that goes with the code."""
        return STATUS_OF[self.code]


class RefusedError(Exception):
    """Carries a refusal up to the surface, from where a request is being read; it never leaves the gateway."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
