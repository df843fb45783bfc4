"""`Served`: a gateway's report on a reply (provider, attempts, cooldown).

It comes in `x-tickmind-*` headers, so any client of a gateway gets it. Everything is read tolerantly: what can't
be read is left out, because a bad header must not lose a reply.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from tickmind.base import Limit
from tickmind.llm.gateway_contract import ATTEMPTS_HEADER, COOLDOWN_HEADER, PROVIDER_HEADER, WAITED_HEADER

MAX_COOLDOWN_S = Limit("length of a gateway's cooldown", 86_400.0, "s")
MAX_ATTEMPTS = Limit("number of attempts in a gateway's report", 64)


@dataclass(frozen=True, slots=True)
class SessionCooldown:
    """The wait before this session may ask this model again, the number of sessions, and the pace of each."""

    wait_s: float  # from the moment of the reply
    next_allowed_at_ms: float | None = None  # by the gateway's wall clock, for display
    active_games: int = 0
    requests_per_minute: float | None = None  # of the key
    effective_rpm: float | None = None  # of this session
    need_s: float | None = None  # time of an answer, where the wait is this caller's own turn

    @property
    def spacing_s(self) -> float:
        """The time between two requests at this session's pace; 0 if that is not known."""
        return min(60.0 / self.effective_rpm, MAX_COOLDOWN_S.maximum) if self.effective_rpm else 0.0


@dataclass(frozen=True, slots=True)
class ServedAttempt:
    """One try at one provider."""

    provider: str
    model: str = ""
    result: str = ""  # ok, rate_limited, failed and the like
    status: int = 0


@dataclass(frozen=True, slots=True)
class Served:
    """The provider that answered through a gateway, with its attempts."""

    provider: str = ""
    attempts: tuple[ServedAttempt, ...] = ()  # of a stream, those before the one that answers
    waited_s: float | None = None  # in the gateway's queue
    cooldown: SessionCooldown | None = None

    @property
    def tries(self) -> int:
        """The number of attempts, the one that answered included."""
        done = bool(self.attempts) and self.attempts[-1].result == "ok"
        return len(self.attempts) + (not done)


def read_served(headers: Mapping[str, str]) -> Served | None:
    """Read a gateway's report from a reply's headers (lower-case names); None if no gateway wrote them."""
    if PROVIDER_HEADER not in headers and COOLDOWN_HEADER not in headers:
        return None
    waited_ms = _number_in(headers.get(WAITED_HEADER, ""))
    return Served(
        provider=headers.get(PROVIDER_HEADER, ""),
        attempts=_attempts(_json(headers.get(ATTEMPTS_HEADER, ""))),
        waited_s=None if waited_ms is None else waited_ms / 1000,
        cooldown=read_cooldown(_json(headers.get(COOLDOWN_HEADER, ""))),
    )


def read_cooldown(value: Any) -> SessionCooldown | None:
    """Read a cooldown from a gateway's JSON; None if it is none."""
    if not isinstance(value, dict):
        return None
    wait_ms = _number(value.get("waitMs"))
    if wait_ms is None:
        return None
    limit, turn = value.get("rateLimit"), value.get("turn")
    limit = limit if isinstance(limit, dict) else {}
    need_ms = _number(turn.get("needMs")) if isinstance(turn, dict) else None
    return SessionCooldown(
        wait_s=min(wait_ms / 1000, MAX_COOLDOWN_S.maximum),
        next_allowed_at_ms=_number(value.get("nextAllowedAt")),
        active_games=int(_number(value.get("activeGames")) or 0),
        requests_per_minute=_number(limit.get("requestsPerMinute")),
        effective_rpm=_number(limit.get("effectiveRPM")),
        need_s=None if need_ms is None else min(need_ms / 1000, MAX_COOLDOWN_S.maximum),
    )


def _attempts(value: Any) -> tuple[ServedAttempt, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(_attempt(item) for item in value[: int(MAX_ATTEMPTS.maximum)])


def _attempt(item: Any) -> ServedAttempt:
    if not isinstance(item, dict):
        return ServedAttempt(item if isinstance(item, str) else "")
    texts = [item.get(name) for name in ("provider", "model", "result")]
    provider, model, result = (text if isinstance(text, str) else "" for text in texts)
    return ServedAttempt(provider, model, result, int(_number(item.get("status")) or 0))


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _number_in(text: str) -> float | None:
    try:
        return _number(float(text))
    except ValueError:
        return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
