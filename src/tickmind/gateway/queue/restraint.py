"""What a lane holds itself to beyond the limits that it was given: what replies taught it, and care after a limit.

Four things make requests keep a distance: the rate ramps up after a limit, with no burst; limits that headers told;
an allowance that runs low is spread until it is renewed; and a rate that was guessed where none is known.
"""

import math

from tickmind.gateway.queue.pace import DAY_S, MAX_SLACK_S, MINUTE_S, Pace
from tickmind.gateway.queue.rate_guess import RateGuess
from tickmind.gateway.queue.ratelimit_headers import Allowance, RateLimits
from tickmind.gateway.settings.config import Limits

RAMP_START = 0.25  # of the rate, right after a limit
LOW = 0.2  # of an allowance is little
FEW = 5.0  # is little where the allowance is not known


class Restraint:
    """See the module. `given` are the paces that hold anyway."""

    __slots__ = (
        "_given",
        "_hold_s",
        "_hold_token_s",
        "_max_wait_s",
        "_ramp_from_s",
        "_ramp_s",
        "_rates",
        "active",
        "guess",
        "hold_until_s",
        "learnt",
        "learnt_pace",
        "next_s",
    )

    def __init__(self, given: tuple[Pace, ...], *, ramp_s: float, max_wait_s: float) -> None:
        self.active = False  # whether anything here matters now
        self.next_s = -math.inf  # when the next request may go out
        self.guess = None if any(pace.interval_s for pace in given) else RateGuess()
        self.learnt: RateLimits | None = None
        self.learnt_pace: Pace | None = None
        self.hold_until_s = -math.inf  # until when an allowance that runs low is spread
        self._hold_s = 0.0  # the distance of requests until then
        self._hold_token_s = 0.0  # and what each token adds to it
        self._given = given
        self._rates: Limits | None = None
        self._ramp_s = ramp_s
        self._ramp_from_s = -math.inf
        self._max_wait_s = max_wait_s

    def paces(self) -> tuple[Pace, ...]:
        """All paces that hold."""
        return self._given if self.learnt_pace is None else (*self._given, self.learnt_pace)

    def interval_s(self, now: float) -> float:
        """The even distance of requests by all that is known or guessed, 0 if nothing is."""
        interval_s = max(pace.interval_s for pace in self.paces())
        if self.guess is not None and (rate := self.guess.rate(now)):
            interval_s = max(interval_s, 1 / rate)
        return interval_s

    def is_ramping(self, now: float) -> bool:
        """Whether the rate still comes back after a limit."""
        return now < self._ramp_from_s + self._ramp_s

    def earliest_s(self, now: float, tokens: int, spare: bool = False) -> float:
        """When a request may go out; only asked while active."""
        if self.learnt_pace is None:
            return self.next_s
        return max(self.next_s, self.learnt_pace.earliest_s(now, tokens, spare))

    def take(self, now: float, tokens: int, spare: bool = False) -> None:
        """A request goes out; only told while active."""
        if self.learnt_pace is not None:
            self.learnt_pace.take(now, tokens, spare)
        gap_s = 0.0 if self.guess is None else self.interval_s(now)
        slack_s = min(MAX_SLACK_S, gap_s)
        if self.is_ramping(now):
            for pace in self.paces():
                pace.spend_burst(now)
            done = max(0.0, (now - self._ramp_from_s) / self._ramp_s)
            gap_s = self.interval_s(now) / (RAMP_START + (1 - RAMP_START) * done)
            slack_s = 0.0
        if now < self.hold_until_s:
            gap_s = max(gap_s, self._hold_s, tokens * self._hold_token_s)
        elif not gap_s and self.learnt_pace is None:
            self.active = False
        self.next_s = max(self.next_s, now - slack_s) + gap_s

    def settle(self, taken_s: float, estimated: int, actual: int) -> None:
        """The real number of tokens is known."""
        if self.learnt_pace is not None:
            self.learnt_pace.settle(taken_s, estimated, actual)

    def limited(self, until_s: float) -> None:
        """There is a limit until then; after it the rate ramps up."""
        self._ramp_from_s = max(self._ramp_from_s, until_s)
        self.next_s = max(self.next_s, until_s)
        self.active = True

    def learn(self, limits: RateLimits, now: float, *, burst: int) -> bool:
        """Take over what headers said; True if the limits are other than those known before."""
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
            self.learnt_pace = Pace(rates)
            if rates.requests_per_minute is not None:
                self.guess = None
        self.active = True
        self.learnt = limits
        self._hold_s = self._hold_token_s = 0.0
        for allowance in limits.allowances:
            self._spread(allowance, now)
        return changed

    def _spread(self, allowance: Allowance, now: float) -> None:
        """Spread what is left of an allowance until it is renewed, if it is little."""
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
