"""Rate limit headers: what `x-ratelimit-*` says about limits, what is left of them and when they reset.

There are several forms: `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, the same with `-minute` or `-day` at
the end or with neither (then it is about requests), resets as `6m0s`, `120ms`, seconds or Unix stamps. One large
provider's `limit-requests` is per day although nothing says so, except that its reset is then far more than a minute
away. Unreadable values are ignored.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tickmind.gateway.queue.limits.rate_limiter import DAY_S, MINUTE_S

Kind = Literal["requests", "tokens"]

MAX_COUNT = 1e12
MAX_RESET_S = 7 * DAY_S
_STAMP_S = 1e9  # a number above is no duration but a time since 1970
_STAMP_MS = 1e11
_NEAR = 0.02
_PREFIX = "x-ratelimit-"
_KINDS: tuple[Kind, ...] = ("requests", "tokens")
_SUFFIXES = (("", 0.0), ("-minute", MINUTE_S), ("-day", DAY_S))  # window 0: not said
_NAMES: tuple[tuple[Kind, float, str, str, str], ...] = (
    *(
        (kind, said_s, f"{_PREFIX}limit-{kind}{end}", f"{_PREFIX}remaining-{kind}{end}", f"{_PREFIX}reset-{kind}{end}")
        for kind in _KINDS
        for end, said_s in _SUFFIXES
    ),
    ("requests", 0.0, f"{_PREFIX}limit", f"{_PREFIX}remaining", f"{_PREFIX}reset"),
)
_DURATION = re.compile(
    r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9}(?:\.\d{1,12})?)s)?(?:(\d{1,9}(?:\.\d{1,12})?)ms)?",
    re.ASCII,
)
_UNITS_S = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,12})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Allowance:
    """One limit as a provider states it; a missing value is None."""

    kind: Kind
    window_s: float
    limit: float | None
    remaining: float | None
    reset_s: float | None  # from now

    @property
    def refills(self) -> bool:
        """Whether it refills gradually: then the reset is when all of it is back, not some."""
        if self.limit is None or self.remaining is None or self.reset_s is None:
            return False
        full_s = (self.limit - self.remaining) * self.window_s / self.limit
        return full_s > 0 and abs(self.reset_s - full_s) <= _NEAR * full_s


@dataclass(frozen=True, slots=True)
class RateLimits:
    """All limits stated by one reply; never empty."""

    allowances: tuple[Allowance, ...]

    def limit(self, kind: Kind, window_s: float) -> float | None:
        """Return the limit of a kind and window, if it was stated."""
        for allowance in self.allowances:
            if allowance.kind == kind and allowance.window_s == window_s:
                return allowance.limit
        return None


def read_rate_limits(
    headers: Mapping[str, str], *, now_wall_s: float, requests_window_s: float = MINUTE_S
) -> RateLimits | None:
    """Read the headers (names in lower case); return None if they state no limit.

    `requests_window_s` is the window of a request limit at this provider if the headers don't name it.
    """
    allowances: list[Allowance] = []
    for kind, said_s, limit_name, remaining_name, reset_name in _NAMES:
        if limit_name not in headers and remaining_name not in headers:
            continue
        limit = _count(headers.get(limit_name, ""))
        remaining = _count(headers.get(remaining_name, ""))
        reset_s = parse_reset(headers.get(reset_name, ""), now_wall_s=now_wall_s)
        if limit is not None and limit < 1:
            limit = None
        if limit is None and (remaining is None or reset_s is None):
            continue
        window_s = said_s or _window(limit, remaining, reset_s, requests_window_s if kind == "requests" else MINUTE_S)
        allowances.append(Allowance(kind, window_s, limit, remaining, reset_s))
    return RateLimits(tuple(allowances)) if allowances else None


def wait_of(headers: Mapping[str, str], *, now_wall_s: float) -> float | None:
    """Return the wait that a refusal's resets ask for: the longest of the exhausted limits, None if not stated."""
    waits = []
    for _, _, _, remaining_name, reset_name in _NAMES:
        remaining = _count(headers.get(remaining_name, "0"))  # a reset without a count belongs to the exhausted limit
        reset_s = parse_reset(headers.get(reset_name, ""), now_wall_s=now_wall_s)
        if reset_s is not None and remaining is not None and remaining < 1:
            waits.append(reset_s)
    return max(waits, default=None)


def parse_reset(text: str, *, now_wall_s: float) -> float | None:
    """Parse the seconds until a reset, from a duration, a number of seconds or a Unix stamp; None if invalid."""
    text = text.strip().lower()
    if not text:
        return None
    if _NUMBER.fullmatch(text):
        value = float(text)
        if value >= _STAMP_MS:
            value = value / 1000 - now_wall_s
        elif value >= _STAMP_S:
            value -= now_wall_s
    else:
        match = _DURATION.fullmatch(text)
        if match is None:
            return None
        value = sum(float(part) * unit_s for part, unit_s in zip(match.groups(), _UNITS_S, strict=True) if part)
    return min(max(value, 0.0), MAX_RESET_S)


def _count(text: str) -> float | None:
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if value <= MAX_COUNT else None


def _window(limit: float | None, remaining: float | None, reset_s: float | None, default_s: float) -> float:
    """Return a minute or a day, whichever fits the figures."""
    if reset_s is None:
        return default_s
    if limit is not None and remaining is not None and remaining < limit:
        whole_s = reset_s * limit / (limit - remaining)  # if it refills gradually
        for window_s in (MINUTE_S, DAY_S):
            if math.isclose(whole_s, window_s, rel_tol=_NEAR):
                return window_s
    return DAY_S if reset_s > MINUTE_S * (1 + _NEAR) else default_s
