"""Restraint: limits of a lane beyond the configured ones, learnt from replies, and care after a refusal.

Five things space requests: the rate ramps up after a limit, with no burst; limits stated in headers hold; a low
allowance is spread until it is renewed; and where no limit is known, a start that probes for one and then the guessed
rate. Capacity missed by waiting is made up for a little above that rate: most providers save it.
"""

import math

from tickmind.gateway.queue.limits.rate_guess import IDLE_S, START_COUNT, START_S, RateGuess
from tickmind.gateway.queue.limits.rate_limiter import DAY_S, MAX_SLACK_S, MINUTE_S, RateLimiter
from tickmind.gateway.queue.limits.ratelimit_headers import Allowance, RateLimits
from tickmind.gateway.settings.config import Limits

RAMP_START = 0.25  # of the rate, right after a limit
RAMP_COST = (1 - RAMP_START) / 2  # of a ramp's time is lost by it
MOST_MISSED_S = 5.0  # of missed capacity that is made up for
LOST = 8  # refusals to pause making up, after it caused one
MAKING_UP = 0.25  # of the guessed rate is added meanwhile
LOW = 0.2  # of an allowance is low
FEW = 5.0  # requests are low where the allowance is unknown


class Restraint:
    """Spaces requests by learnt and guessed limits. `given`: configured limiters; `feel`: probe for a limit."""

    __slots__ = (
        "_given",
        "_hold_s",
        "_hold_token_s",
        "_lost",
        "_max_ramp_s",
        "_max_wait_s",
        "_missed_s",
        "_ramp_from_s",
        "_ramp_s",
        "_rates",
        "_start_left",
        "active",
        "guess",
        "hold_until_s",
        "learnt",
        "learnt_pace",
        "next_s",
    )

    def __init__(self, given: tuple[RateLimiter, ...], *, ramp_s: float, max_wait_s: float, feel: bool = False) -> None:
        self.next_s = -math.inf  # when the next request may go out
        self.guess = None if any(pace.interval_s for pace in given) else RateGuess()
        self._start_left = START_COUNT if feel and self.guess is not None else 0  # requests that probe for a limit
        self.active = self._start_left > 0  # whether anything here matters now
        self.learnt: RateLimits | None = None
        self.learnt_pace: RateLimiter | None = None
        self.hold_until_s = -math.inf  # until when an allowance that runs low is spread
        self._hold_s = 0.0  # the distance of requests until then
        self._hold_token_s = 0.0  # and what each token adds to it
        self._given = given
        self._rates: Limits | None = None
        self._max_ramp_s = ramp_s
        self._ramp_s = ramp_s
        self._ramp_from_s = -math.inf
        self._missed_s = 0.0
        self._lost = 0  # refusals until missed capacity is made up for again
        self._max_wait_s = max_wait_s

    def paces(self) -> tuple[RateLimiter, ...]:
        """Return all limiters that hold."""
        return self._given if self.learnt_pace is None else (*self._given, self.learnt_pace)

    def interval_s(self, now: float) -> float:
        """Return the even distance of requests by all known or guessed limits, 0 if there are none."""
        interval_s = max(pace.interval_s for pace in self.paces())
        if self.guess is not None and (rate := self.guess.rate(now)):
            interval_s = max(interval_s, 1 / rate)
        return interval_s

    def is_ramping(self, now: float) -> bool:
        """Whether the rate still ramps up after a limit."""
        return now < self._ramp_from_s + self._ramp_s

    def earliest_s(self, now: float, tokens: int, spare: bool = False) -> float:
        """Return when a request may be sent; call it only while active."""
        if self.learnt_pace is None:
            return self.next_s
        return max(self.next_s, self.learnt_pace.earliest_s(now, tokens, spare))

    def take(self, now: float, tokens: int, spare: bool = False) -> None:
        """Record a sent request; call it only while active."""
        if self.learnt_pace is not None:
            self.learnt_pace.take(now, tokens, spare)
        gap_s = 0.0 if self.guess is None else self._guessed_gap_s(self.guess, now)
        slack_s = min(MAX_SLACK_S, gap_s)
        if self.is_ramping(now):
            for pace in self.paces():
                pace.spend_burst(now)
            done = max(0.0, (now - self._ramp_from_s) / self._ramp_s)
            even_s = self.interval_s(now)
            gap_s = min(even_s / (RAMP_START + (1 - RAMP_START) * done), even_s + self._ramp_s * RAMP_COST)
            slack_s = 0.0
        if now < self.hold_until_s:
            gap_s = max(gap_s, self._hold_s, tokens * self._hold_token_s)
        elif not gap_s and self.learnt_pace is None:
            self.active = False
        self.next_s = max(self.next_s, now - slack_s) + gap_s

    def settle(self, taken_s: float, estimated: int, actual: int) -> None:
        """Correct the estimate when the real number of tokens is known."""
        if self.learnt_pace is not None:
            self.learnt_pace.settle(taken_s, estimated, actual)

    def refused(self, now: float, sent: int, wait_s: float | None, *, news: bool) -> None:
        """Record a 429; `sent` counts all requests ever sent. Not `news`: it was in flight when the limit was met."""
        self._start_left = 0
        if self.guess is None:
            return
        if not news:
            self.guess.not_taken()
            return
        hurried = self._missed_s > 0
        self.guess.refused(now, sent, wait_s, hurried=hurried)
        self._lost = LOST if hurried else max(0, self._lost - 1)

    def limited(self, until_s: float, now: float) -> None:
        """Hold until then; afterwards ramp the rate up, for as long as the limit held."""
        self._ramp_s = min(self._max_ramp_s, max(until_s - now, 0.0))
        self._ramp_from_s = max(self._ramp_from_s, until_s)
        missed_s = until_s - now + self._ramp_s * RAMP_COST
        self._missed_s = 0.0 if self._lost else min(missed_s, MOST_MISSED_S)
        self.next_s = max(self.next_s, until_s)
        self.active = True
        if self.guess is not None:
            self.guess.hold(until_s)

    def learn(self, limits: RateLimits, now: float, *, burst: int) -> bool:
        """Take over limits from headers; return True if they differ from those known before."""
        rates = Limits(
            requests_per_minute=limits.limit("requests", MINUTE_S),
            requests_per_day=limits.limit("requests", DAY_S),
            tokens_per_minute=limits.limit("tokens", MINUTE_S),
            tokens_per_day=limits.limit("tokens", DAY_S),
            burst=burst,
        )
        changed = rates != self._rates
        if changed:
            self._rates = rates
            self.learnt_pace = RateLimiter(rates)
            if rates.requests_per_minute is not None:
                self.guess = None
        self.active = True
        self.learnt = limits
        self._hold_s = self._hold_token_s = 0.0
        for allowance in limits.allowances:
            self._spread(allowance, now)
        return changed

    def _guessed_gap_s(self, guess: RateGuess, now: float) -> float:
        """Return the distance to the next request where no rate is given; 0 if there seems to be no limit."""
        if self._start_left:
            gap_s = START_S / (START_COUNT + 1 - self._start_left)
            self._start_left -= 1
            return gap_s
        gap_s = self.interval_s(now)
        if not gap_s:
            return 0.0
        unused_s = now - self.next_s
        if unused_s > IDLE_S + gap_s:
            guess.idle()
        elif unused_s > 0:
            guess.unused(unused_s)
        if self._missed_s > 0:
            self._missed_s -= gap_s * MAKING_UP
            gap_s /= 1 + MAKING_UP
        return gap_s

    def _spread(self, allowance: Allowance, now: float) -> None:
        """Spread the rest of an allowance until it is renewed, if it is low."""
        left, reset_s, limit = allowance.remaining, allowance.reset_s, allowance.limit
        if left is None or reset_s is None or left > (LOW * limit if limit else FEW):
            return
        reset_s = min(reset_s, self._max_wait_s)
        if left < 1:
            wait_s = allowance.window_s / limit if limit and allowance.refills else reset_s
            self.next_s = max(self.next_s, now + min(wait_s, reset_s))
        elif allowance.kind == "tokens":
            self._hold_token_s = reset_s / left
        else:
            self._hold_s = max(self._hold_s, reset_s / left)
            self.next_s = max(self.next_s, now + reset_s / left)
        self.hold_until_s = max(self.hold_until_s, now + reset_s)
