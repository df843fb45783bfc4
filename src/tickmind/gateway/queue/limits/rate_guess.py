"""A guess of an undeclared rate limit: probed at the start, computed from refusals, and raised again over time.

A limit may be a fixed or sliding window, or a bucket that refills; the provider does not say which. But at a refusal
all of it is used up, so between two refusals the provider took just what came back in that time. Where a refusal asks
for a long wait, a window is counted until its end instead: the next one begins then. The first refusal has none before
it to compare with, so it says the least, and the second corrects it. Where less was sent than allowed, the count shows
the demand, not the limit: nothing is learnt from that.
"""

import math
from collections import deque
from dataclasses import dataclass

from tickmind.gateway.queue.limits.rate_limiter import MINUTE_S

START_S = 0.5  # over the number sent is the initial spacing: the rate doubles every third of a second
START_COUNT = 256  # requests without a refusal: there seems to be no limit
CAUTION = 0.98  # of the computed rate is tried next
FIRST_CAUTION = 0.9  # of the rate from the first refusal, as a bucket was full before it
FIRST_COUNT = 2  # requests' evidence is what the first refusal counts for
FIRST_RATE = 1.0  # requests per second at least: other clients, or this one before a restart, may have used most of it
SETBACK = 0.93  # of the last guess at least, if it held for a while: a bucket may have overflowed meanwhile
HELD_COUNT = 10  # requests are a while
SHORT_WAIT_S = 2.0  # a provider with shorter waits refills, or counts in seconds
SURE_COUNT = 20  # requests between two refusals that say enough
SURE_S = 10.0  # and the time between them
IDLE_S = 2.0  # of unused capacity: the bucket may have overflowed since the last refusal
UNUSED = 0.2  # of the time between two refusals: more, and they say nothing about the rate
MARK_S = 0.5  # between two marks of how many were sent
MIN_RATE = 0.05  # requests per second
_GROWTH = 0.001  # of the rate, per second at first
_REQUEST_GROWTH = 0.0005  # for each request, if that is less
_UNSURE_GROWTH = 0.03  # over the number of samples, if that is more
_MAX_GROWTH = 0.01  # per second in the end, or what it was at first
_DOUBLING_COUNT = 40  # requests without a refusal, and growth doubles
_MIN_DOUBLING_S = 20.0
_MAX_DOUBLING_S = 60.0
_FORGET = 50.0  # grown by this factor, the guess is dropped
_TURNS = 32  # refusals that are remembered

Mark = tuple[float, int]  # time, how many were taken before


@dataclass(slots=True)
class _Turn:
    """A refusal, or several between which no request was accepted."""

    at_s: float  # when there was nothing left: the last of them, or the window's end
    taken: int  # how many had been taken
    first_s: float  # when the first of them came
    wait_s: float | None  # how long they asked to wait in all, as far as they said
    last: float  # the guess before them
    unused_s: float  # total time in which requests could have been sent and none was
    held: bool = False  # whether that had held for a while


class RateGuess:
    """Requests per second that a provider accepts, once a refusal has shown that there is a limit; 0 before that.

    Without further refusals it grows, slowly at first, then faster, so a guess that was too low does not stay.
    """

    __slots__ = (
        "_base", "_doubling_s", "_growth", "_marks", "_refused", "_since_s", "_turns", "_unused_s", "next_mark_s",
    )  # fmt: skip

    def __init__(self) -> None:
        self.next_mark_s = -math.inf  # when to call `mark` again
        self._marks: deque[Mark] = deque(maxlen=math.ceil(MINUTE_S / MARK_S) + 1)
        self._turns: deque[_Turn] = deque(maxlen=_TURNS)
        self._refused = 0
        self._unused_s = 0.0
        self._base = 0.0
        self._since_s = 0.0  # when it began to grow
        self._growth = _GROWTH
        self._doubling_s = _MAX_DOUBLING_S

    def mark(self, now: float, sent: int) -> None:
        """Record how many requests were sent before; call it before each request from `next_mark_s` on."""
        self._marks.append((now, sent - self._refused))
        self.next_mark_s = now + MARK_S

    def refused(self, now: float, sent: int, wait_s: float | None, *, hurried: bool = False) -> None:
        """Record a refusal for an unknown limit; `sent` counts all requests ever sent.

        `hurried`: they were sent faster than the guess, to make up for a wait.
        """
        self._refused += 1
        at_s = now if wait_s is None or wait_s <= SHORT_WAIT_S else now + wait_s
        self._turns.append(_Turn(at_s, sent - self._refused, now, wait_s, self.rate(now), self._unused_s))
        self._reckon(hurried=hurried)
        self.hold(now)

    def not_taken(self) -> None:
        """Record a refusal of a request that was in flight at an earlier refusal."""
        self._refused += 1
        if self._turns:
            self._turns[-1].taken -= 1
            self._reckon()

    def hold(self, until_s: float) -> None:
        """Stop growing until `until_s`, before which nothing is sent."""
        self._since_s = max(self._since_s, until_s)

    def idle(self) -> None:
        """Note that nothing was sent for long, so that the count until the next refusal says nothing."""
        self._turns.clear()

    def unused(self, for_s: float) -> None:
        """Note that capacity was unused for `for_s` before a request."""
        self._unused_s += for_s

    def rate(self, now: float) -> float:
        """Return requests per second, 0 if there is no guess."""
        if not self._base:
            return 0.0
        for_s = max(0.0, now - self._since_s)
        doubling_s, most = self._doubling_s, max(_MAX_GROWTH, self._growth)
        quickest_s = doubling_s * math.log2(most / self._growth)  # when it reaches its fastest growth
        growth = self._growth * doubling_s / math.log(2) * (2 ** (min(for_s, quickest_s) / doubling_s) - 1)
        growth += most * max(0.0, for_s - quickest_s)
        if growth > math.log(_FORGET):
            self._base = 0.0
            return 0.0
        return self._base * math.exp(growth)

    def _reckon(self, *, hurried: bool = False) -> None:
        """Compute the guess from the last refusal and those before it."""
        turns = self._turns
        turn = turns[-1]
        if len(turns) > 1 and turns[-2].taken >= turn.taken:
            turns.pop()
            first = turns.pop()
            wait_s = turn.first_s - first.first_s + (turn.wait_s or 0.0)
            turn = _Turn(turn.at_s, turn.taken, first.first_s, wait_s, first.last, turn.unused_s)
            turns.append(turn)
        before, last = self._before(), turn.last
        if last and not self._was_used(before, turn):
            self._base = last
            return
        if before is not None:
            count = turn.taken - before.taken
            rate = count / (turn.at_s - before.at_s)
            turn.held = turn.taken - turns[-2].taken >= HELD_COUNT
            if turn.held:
                rate = max(rate, SETBACK * last)
            elif hurried and turns[-2].held:
                rate = max(rate, last)
        elif last:
            count, rate = SURE_COUNT, SETBACK * last
        else:
            count, rate = self._first_rate(turn)
        rate = max(CAUTION * (min(rate, last) if last else rate), MIN_RATE)
        self._base = rate
        self._growth = max(min(_GROWTH, _REQUEST_GROWTH * rate), _UNSURE_GROWTH / max(count, 1))
        self._doubling_s = min(max(_DOUBLING_COUNT / rate, _MIN_DOUBLING_S), _MAX_DOUBLING_S)

    def _was_used(self, before: _Turn | None, turn: _Turn) -> bool:
        """Whether roughly as much was sent before a refusal as was allowed."""
        if before is None:
            return len(self._turns) > 1
        return turn.unused_s - before.unused_s <= UNUSED * (turn.at_s - before.at_s)

    def _before(self) -> _Turn | None:
        """Return the latest refusal long enough before the last one, or else the first of all, if there was any."""
        turns = self._turns
        last = turns[-1]
        before = None
        for number in range(len(turns) - 2, -1, -1):
            turn = turns[number]
            if last.at_s <= turn.at_s:
                continue
            before = turn
            if last.taken - turn.taken >= SURE_COUNT and last.at_s - turn.at_s >= SURE_S:
                break
        return before

    def _first_rate(self, turn: _Turn) -> tuple[int, float]:
        """Return what the last minute alone shows: a window's count, or the most that a bucket can have refilled.

        The first value is the number of requests that support it.
        """
        now, taken = turn.first_s, turn.taken
        recent = [mark for mark in self._marks if now - MINUTE_S <= mark[0] <= now]
        count = FIRST_COUNT
        if turn.wait_s is not None and turn.wait_s > SHORT_WAIT_S:
            count = max(count, taken - recent[0][1] if recent else 0)
            rate = count / MINUTE_S
        else:
            more_s = 1.0 if turn.wait_s is None else max(turn.wait_s, 1.0)
            rates = ((taken - before) / (now - at_s + more_s) for at_s, before in recent)
            rate = FIRST_CAUTION * max(rates, default=0.0)
        return count, max(rate, FIRST_RATE)
