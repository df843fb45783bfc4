"""The rate limiter: how fast requests may be sent, with every limit on requests and tokens held exactly.

Requests are spaced evenly (the generic cell rate algorithm) at 99 % of each rate per second and minute. A timer that
fires late is caught up by at most half a percent of the window, so in any window of the provider's, wherever it begins,
sliding or fixed, there are never more requests than the limit, and half a percent is left for what the network shifts.
A `burst` above one would break this promise (burst and refill both fall into one minute), so with it, and always for
tokens, whose amounts differ, a counter of the last window holds the limit besides: what was used at once is missing
at the window's end. Limits per day are only counted, not spaced: a day's allowance may be used when it is needed.

Owners that take only spare capacity (`spare`) have no part in the burst: what overflows when it is full is saved for
them, one request at most. The others find just the burst that they would find without them. So at most one request
more than the burst is sent at once; the windows hold for all of them together.
"""

# ruff: noqa: FURB136, PLR1730 - on the hot path a comparison is several times quicker than a call of max()

import math
from collections.abc import Callable
from dataclasses import dataclass

from tickmind.gateway.settings.config import Limits

MARGIN = 0.01  # of every rate stays unused
SLACK = 0.005  # of a window is how far a late send is caught up
MAX_SLACK_S = 0.05
KEPT = 0.01  # of a window at most is kept from spare requests, or there would be no real burst
MIN_KEPT_LIMIT = 25  # a window of so many requests keeps at least one
ROOM = 8  # requests kept besides the burst, for those right after it
SLOTS = 362  # of a window's counter; a slot is a 360th of the window, and what is in it counts until all of it is out
MINUTE_S = 60.0
DAY_S = 86_400.0


class Window:
    """Counts what was used within the last `span_s` seconds, rounded up to its slots."""

    __slots__ = ("_newest", "_width_s", "ends_s", "limit", "place", "slots", "span_s", "total")

    def __init__(self, limit: float, span_s: float) -> None:
        self.limit = limit
        self.span_s = span_s
        self.total = 0.0
        self._width_s = span_s / (SLOTS - 2)
        self._newest = 0
        self.place = 0  # of the newest
        self.ends_s = self._width_s  # when the newest slot is over
        self.slots = [0.0] * SLOTS

    def earliest_s(self, now: float, amount: float) -> float:
        """Return when this much more fits; more than the whole limit counts as the limit, or it would never fit."""
        self._roll(now)
        over = self.total + min(amount, self.limit) - self.limit
        if over <= 0:
            return now
        newest, slots = self._newest, self.slots
        for number in range(newest - SLOTS + 1, newest + 1):
            over -= slots[number % SLOTS]
            if over <= 1e-9:
                return (number + SLOTS) * self._width_s
        return (newest + SLOTS) * self._width_s

    def add(self, now: float, amount: float) -> None:
        """Count it."""
        if now >= self.ends_s:
            self._roll(now)
        self.slots[self.place] += amount
        self.total += amount

    def correct(self, then: float, change: float) -> None:
        """Change the count at a time; does nothing if that has left the window."""
        number = int(then / self._width_s)
        if self._newest - number < SLOTS:
            self.slots[number % SLOTS] += change
            self.total += change

    def used(self, now: float, last_s: float) -> float:
        """Return the count of the last seconds, at most the window."""
        self._roll(now)
        count = min(SLOTS, max(1, math.ceil(last_s / self._width_s)))
        return sum(self.slots[number % SLOTS] for number in range(self._newest - count + 1, self._newest + 1))

    def _roll(self, now: float) -> None:
        number = int(now / self._width_s)
        newest = self._newest
        if number <= newest:
            return
        self._newest = number
        self.place = number % SLOTS
        self.ends_s = (number + 1) * self._width_s
        if self.total == 0.0:
            return
        slots = self.slots
        if number - newest >= SLOTS:
            self.slots = [0.0] * SLOTS
            self.total = 0.0
            return
        for gone in range(newest + 1, number + 1):
            place = gone % SLOTS
            if slots[place]:
                self.total -= slots[place]
                slots[place] = 0.0


class RateMeter:
    """One limit. `spaced`: evenly, else only counted; `spares`: spare capacity may be requested."""

    __slots__ = (
        "_kept", "_most_spare_s", "_slack_s", "_spare_s", "_tolerance", "limit", "span_s", "tat_s", "unit_s", "window",
    )  # fmt: skip

    def __init__(
        self, limit: float, span_s: float, *, burst: int, spaced: bool, counted: bool, spares: bool = True
    ) -> None:
        if limit < 1:  # less than one in the window: one in a longer window
            span_s, limit = span_s / limit, 1.0
        self.limit = limit
        self.span_s = span_s
        self.unit_s = span_s / limit * (1 + MARGIN) if spaced else 0.0
        self.tat_s = -math.inf  # the theoretical arrival time of the next request
        self._tolerance = min(float(burst), limit) - 1
        self._slack_s = min(SLACK * span_s, MAX_SLACK_S)
        self.window = Window(limit, span_s) if counted or not spaced else None
        self._spare_s = 0.0  # overflow of the burst, in seconds
        spares = spares and spaced and self._tolerance >= 1
        self._most_spare_s = self.unit_s + self._slack_s if spares else 0.0  # 0: no distinction
        self._kept = min(burst + ROOM, max(int(limit >= MIN_KEPT_LIMIT), int(KEPT * limit)))

    def earliest_s(self, now: float, amount: float, spare: bool = False) -> float:
        """Return when this much may be sent; a time in the past means now."""
        if spare and self._most_spare_s:
            missing_s = amount * self.unit_s - self._spare_s
            at = now if missing_s <= 0 else self.tat_s + self._slack_s + missing_s
            return at if self.window is None else max(at, self.window.earliest_s(now, amount + self._kept))
        at = self.tat_s - self._tolerance * amount * self.unit_s
        window = self.window
        if window is not None and window.total + amount > window.limit:  # else it fits in any case
            return max(at, window.earliest_s(now, amount))
        return at

    def take(self, now: float, amount: float, spare: bool = False) -> float:
        """Use an amount now. Return when as much again may be sent, infinite if `earliest_s` must decide."""
        late = now - self._slack_s
        tat = self.tat_s
        used_s = amount * self.unit_s
        most = self._most_spare_s
        if late > tat:
            if most and self._spare_s < most:
                saved = self._spare_s + (late - tat)
                self._spare_s = saved if saved < most else most
            tat = late
        if spare and most:
            self._spare_s -= used_s
        else:
            tat += used_s
        self.tat_s = tat
        window = self.window
        if window is not None:
            if now < window.ends_s:  # inlined `add`
                window.slots[window.place] += amount
                window.total += amount
            else:
                window.add(now, amount)
            if window.total + amount > window.limit:
                return math.inf
        return tat - self._tolerance * used_s

    def count(self, now: float, amount: float) -> None:
        """Use an amount now, of a limit that is counted and has no spare capacity, such as tokens."""
        late = now - self._slack_s
        tat = self.tat_s
        self.tat_s = (late if late > tat else tat) + amount * self.unit_s
        window = self.window
        assert window is not None, "it is counted"
        if now < window.ends_s:  # inlined `add`
            window.slots[window.place] += amount
            window.total += amount
        else:
            window.add(now, amount)

    def spend_burst(self, now: float) -> None:
        """Drop the saved burst; even spacing holds from here."""
        full = now + self._tolerance * self.unit_s
        self.tat_s = max(self.tat_s, full)
        self._spare_s = 0.0

    def is_fresh(self, now: float) -> bool:
        """Whether no state of the past matters, so that a new object would do as well."""
        return self.tat_s <= now and (self.window is None or self.window.earliest_s(now, self.window.limit) <= now)


@dataclass(frozen=True, slots=True)
class RateLimiterStatistics:
    """How much of each limit is used: (limit, window in seconds, used within the window or None if only spaced)."""

    requests: tuple[tuple[float, float, float | None], ...]
    tokens: tuple[tuple[float, float, float | None], ...]


class RateLimiter:
    """All limits of one provider, key or model together; shared by all that they bind.

    Call `earliest_s`, then `take`; `settle` when the real number of tokens is known (0 if the provider did no work).
    """

    __slots__ = ("_free_s", "_requests", "_tokens", "request_s", "token_s")

    def __init__(self, limits: Limits) -> None:
        burst = max(1, limits.burst)
        requests = (
            (limits.requests_per_second, 1.0, True),
            (limits.requests_per_minute, MINUTE_S, True),
            (limits.requests_per_day, DAY_S, False),
        )
        tokens = ((limits.tokens_per_minute, MINUTE_S, True), (limits.tokens_per_day, DAY_S, False))
        self._requests = tuple(
            RateMeter(limit, span_s, burst=burst, spaced=spaced, counted=burst > 1)
            for limit, span_s, spaced in requests
            if limit is not None
        )
        self._tokens = tuple(
            RateMeter(limit, span_s, burst=burst, spaced=spaced, counted=True, spares=False)
            for limit, span_s, spaced in tokens
            if limit is not None
        )
        self._free_s = math.inf  # when the request limits admit the next one, if nothing is taken before
        # What one request and one token use of the scarcest limit, in seconds of all of it.
        self.request_s = max((meter.span_s / meter.limit for meter in self._requests), default=0.0)
        self.token_s = max((meter.span_s / meter.limit for meter in self._tokens), default=0.0)

    @property
    def interval_s(self) -> float:
        """Return the even distance of requests; 0 if there is no rate for them."""
        return max((meter.unit_s for meter in self._requests), default=0.0)

    def earliest_s(self, now: float, tokens: int, spare: bool = False) -> float:
        """Return when a request with so many tokens may be sent, if nothing else goes before; `now` if at once.

        `spare`: it takes only what others leave of the burst.
        """
        at = now
        if spare or now < self._free_s:
            for meter in self._requests:
                own = meter.earliest_s(now, 1, spare)
                if own > at:
                    at = own
        if tokens:
            for meter in self._tokens:
                own = meter.earliest_s(now, tokens)
                if own > at:
                    at = own
        return at

    look_s = earliest_s  # for a mere estimate; a shared limiter overrides it to lease nothing

    def take(self, now: float, tokens: int, spare: bool = False) -> None:
        """Use the limits for a request that is sent now; `spare` as passed to `earliest_s`."""
        free_s = now
        for meter in self._requests:
            own = meter.take(now, 1, spare)
            if own > free_s:
                free_s = own
        self._free_s = free_s
        if tokens:
            for meter in self._tokens:
                meter.count(now, tokens)

    def settle(self, taken_s: float, estimated: int, actual: int) -> None:
        """Correct the tokens of a request sent at `taken_s` from estimated to actual."""
        change = actual - estimated
        if change:
            for meter in self._tokens:
                meter.tat_s += change * meter.unit_s
                window = meter.window
                if window is not None:
                    window.correct(taken_s, change)

    def spend_burst(self, now: float) -> None:
        """Drop the saved burst, as after a limit."""
        self._free_s = math.inf
        for meter in self._requests:
            meter.spend_burst(now)

    def is_fresh(self, now: float) -> bool:
        """Whether it may be dropped and remade."""
        return all(meter.is_fresh(now) for meter in (*self._requests, *self._tokens))

    def statistics(self, now: float) -> RateLimiterStatistics:
        """Return how much of each limit is used."""

        def figures(meters: tuple[RateMeter, ...]) -> tuple[tuple[float, float, float | None], ...]:
            return tuple(
                (meter.limit, meter.span_s, meter.window.used(now, meter.span_s) if meter.window else None)
                for meter in meters
            )

        return RateLimiterStatistics(figures(self._requests), figures(self._tokens))


PaceMaker = Callable[[str, Limits], RateLimiter]  # (name, limits) -> a limiter that may be shared by name


def local_pace(_name: str, limits: Limits) -> RateLimiter:
    """Return a limiter that this gateway uses alone."""
    return RateLimiter(limits)


def tightest(limits: Limits, other: Limits | None) -> Limits:
    """Return the limits that hold if both do."""
    if other is None:
        return limits

    def least(first: float | None, second: float | None) -> float | None:
        return first if second is None else second if first is None else min(first, second)

    concurrency = least(limits.concurrency, other.concurrency)
    return Limits(
        requests_per_second=least(limits.requests_per_second, other.requests_per_second),
        requests_per_minute=least(limits.requests_per_minute, other.requests_per_minute),
        requests_per_day=least(limits.requests_per_day, other.requests_per_day),
        tokens_per_minute=least(limits.tokens_per_minute, other.tokens_per_minute),
        tokens_per_day=least(limits.tokens_per_day, other.tokens_per_day),
        burst=min(limits.burst, other.burst),
        concurrency=None if concurrency is None else int(concurrency),
    )
