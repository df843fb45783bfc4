"""What a provider takes that never said so: guessed from when it refuses, and tried out again later."""

import math

from tickmind.gateway.pace import MINUTE_S, Window

CAUTION = 0.95  # of what went through is tried next
SETBACK = 0.8  # of the last guess is the most that is tried after it was refused, too
SHORT_WAIT_S = 2.0  # who asks to wait no longer counts in seconds, not in minutes
SHORT_S = 5.0
MIN_RATE = 1.0  # requests per second
_GROWTH = 0.001  # of the rate, per second in the first minute without a refusal; doubled with each further minute
_DOUBLING_S = 60.0
_FORGET = 50.0  # grown by this, the guess is no guess any more


class RateGuess:
    """Requests per second that went well, once a refusal has shown that there is a limit; 0 before that.

    Without further refusals it grows, slowly at first, then quicker, so a guess that was too low does not stay.
    """

    __slots__ = ("_base", "_since_s", "_went")

    def __init__(self) -> None:
        self._went = Window(math.inf, MINUTE_S)
        self._base = 0.0
        self._since_s = 0.0

    def sent(self, now: float) -> None:
        """A request goes out."""
        self._went.add(now, 1)

    def refused(self, now: float, sent_s: float, wait_s: float | None) -> None:
        """A request was refused for a limit that is not known."""
        self.not_taken(sent_s)
        span_s = SHORT_S if wait_s is not None and wait_s <= SHORT_WAIT_S else MINUTE_S
        rate = CAUTION * self._went.used(now, span_s) / span_s
        if self._base:
            rate = min(rate, SETBACK * self.rate(now)) if rate else SETBACK * self.rate(now)
        self._base = max(rate, MIN_RATE)
        self._since_s = now

    def not_taken(self, sent_s: float) -> None:
        """A request that was sent did not count."""
        self._went.correct(sent_s, -1)

    def rate(self, now: float) -> float:
        """Requests per second, 0 if there is no guess."""
        if not self._base:
            return 0.0
        doublings = min((now - self._since_s) / _DOUBLING_S, 20.0)
        grown = math.exp(min(_GROWTH * _DOUBLING_S / math.log(2) * (2**doublings - 1), 10.0))
        if grown > _FORGET:
            self._base = 0.0
            return 0.0
        return self._base * grown
