"""What a provider takes that never said so: guessed from when it refuses, and tried out again later."""

import math
from collections import deque

from tickmind.gateway.queue.pace import MINUTE_S

CAUTION = 0.95  # of what went through is tried next
SETBACK = 0.8  # of the last guess is tried if what went through says nothing new
SHORT_WAIT_S = 2.0  # who asks to wait no longer counts in seconds, not in minutes
SHORT_S = 5.0
MARK_S = 0.5  # between two notes of how many went out
MIN_RATE = 1.0  # requests per second
_GROWTH = 0.001  # of the rate, per second in the first minute without a refusal; doubled with each further minute
_DOUBLING_S = 60.0
_FORGET = 50.0  # grown by this, the guess is no guess any more


class RateGuess:
    """Requests per second that went well, once a refusal has shown that there is a limit; 0 before that.

    Without further refusals it grows, slowly at first, then quicker, so a guess that was too low does not stay.
    """

    __slots__ = ("_base", "_marks", "_refused", "_since_s", "next_mark_s")

    def __init__(self) -> None:
        self.next_mark_s = -math.inf  # when to call `mark` again
        self._marks: deque[tuple[float, int]] = deque(maxlen=math.ceil(MINUTE_S / MARK_S) + 1)  # (time, taken before)
        self._refused = 0
        self._base = 0.0
        self._since_s = 0.0

    def mark(self, now: float, sent: int) -> None:
        """Note how many requests were sent before; called before a request is, from `next_mark_s` on."""
        self._marks.append((now, sent - self._refused))
        self.next_mark_s = now + MARK_S

    def refused(self, now: float, sent: int, wait_s: float | None) -> None:
        """A request was refused for a limit that is not known; `sent` counts all that were, ever."""
        self.not_taken()
        span_s = SHORT_S if wait_s is not None and wait_s <= SHORT_WAIT_S else MINUTE_S
        before = next((taken for at_s, taken in self._marks if at_s >= now - span_s), sent)
        rate = CAUTION * max(0, sent - self._refused - before) / span_s
        last = self.rate(now)
        if last and not 0 < rate < last:
            rate = SETBACK * last
        self._base = max(rate, MIN_RATE)
        self._since_s = now

    def not_taken(self) -> None:
        """A request was refused that was on its way when a refusal had come already."""
        self._refused += 1

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
