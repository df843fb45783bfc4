"""What a provider takes that never said so: felt for at the start, reckoned from its refusals, tried out again later.

A limit may be a window, fixed or sliding, or a bucket that refills; nobody tells which. But at a refusal all of it is
used up, so between two refusals it took just what came back in that time. Where a refusal asks for a long wait, a
window is counted until its end instead: the next one begins then. The first refusal has none before it to compare with,
and says the least; what is reckoned from it is put right by the second. Where less was sent than might have been, what
was taken says how much was asked for, not how much there was: nothing is learnt from that.
"""

import math
from collections import deque
from dataclasses import dataclass

from tickmind.gateway.queue.limits.rate_limiter import MINUTE_S

START_S = 0.5  # over how many were sent is the distance at the start, so that the rate doubles every third of a second
START_COUNT = 256  # requests without a refusal, and there seems to be no limit
CAUTION = 0.98  # of what was reckoned is tried next
FIRST_CAUTION = 0.9  # of what was reckoned from the first refusal, as a bucket was full before it
FIRST_COUNT = 2  # requests are as much as it says of a bucket
FIRST_RATE = 1.0  # requests per second are tried at least: others, or we before a restart, may have used most of it
SETBACK = 0.93  # of the last guess is tried at least, if it held for a while: a bucket may have run over meanwhile
HELD_COUNT = 10  # requests are a while
SHORT_WAIT_S = 2.0  # who asks to wait no longer refills, or counts in seconds
SURE_COUNT = 20  # requests between two refusals that say enough
SURE_S = 10.0  # and the time between them
IDLE_S = 2.0  # without a request that might have gone out: what came back since the last refusal may have run over
UNUSED = 0.2  # of the time between two refusals, and they say nothing of the rate
MARK_S = 0.5  # between two notes of how many went out
MIN_RATE = 0.05  # requests per second
_GROWTH = 0.001  # of the rate, per second at first
_REQUEST_GROWTH = 0.0005  # for each request, if that is less
_UNSURE_GROWTH = 0.03  # over how many there were to reckon with, if that is more
_MAX_GROWTH = 0.01  # per second in the end, or what it was at first
_DOUBLING_COUNT = 40  # requests without a refusal, and it grows twice as quick
_MIN_DOUBLING_S = 20.0
_MAX_DOUBLING_S = 60.0
_FORGET = 50.0  # grown by this, the guess is no guess any more
_TURNS = 32  # refusals that are remembered

Mark = tuple[float, int]  # time, how many were taken before


@dataclass(slots=True)
class _Turn:
    """A refusal, or several between which nothing was taken."""

    at_s: float  # when there was nothing left: the last of them, or the window's end
    taken: int  # how many had been taken
    first_s: float  # when the first of them came
    wait_s: float | None  # how long they asked to wait in all, as far as they said
    last: float  # the guess before them
    unused_s: float  # for how long requests might have gone out and none did, ever
    held: bool = False  # whether that had held for a while


class RateGuess:
    """Requests per second that a provider takes, once a refusal has shown that there is a limit; 0 before that.

    Without further refusals it grows, slowly at first, then quicker, so a guess that was too low does not stay.
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
        """Note how many requests were sent before; called before a request is, from `next_mark_s` on."""
        self._marks.append((now, sent - self._refused))
        self.next_mark_s = now + MARK_S

    def refused(self, now: float, sent: int, wait_s: float | None, *, hurried: bool = False) -> None:
        """A request was refused for a limit that is not known; `sent` counts all that were, ever.

        `hurried`: they went out quicker than by the guess, to make up for a wait.
        """
        self._refused += 1
        at_s = now if wait_s is None or wait_s <= SHORT_WAIT_S else now + wait_s
        self._turns.append(_Turn(at_s, sent - self._refused, now, wait_s, self.rate(now), self._unused_s))
        self._reckon(hurried=hurried)
        self.hold(now)

    def not_taken(self) -> None:
        """A request was refused that was on its way when a refusal had come already."""
        self._refused += 1
        if self._turns:
            self._turns[-1].taken -= 1
            self._reckon()

    def hold(self, until_s: float) -> None:
        """Nothing goes out before; it does not grow meanwhile."""
        self._since_s = max(self._since_s, until_s)

    def idle(self) -> None:
        """Nothing was sent for long, so what is taken until the next refusal says nothing."""
        self._turns.clear()

    def unused(self, for_s: float) -> None:
        """A request might have gone out for so long before one did."""
        self._unused_s += for_s

    def rate(self, now: float) -> float:
        """Requests per second, 0 if there is no guess."""
        if not self._base:
            return 0.0
        for_s = max(0.0, now - self._since_s)
        doubling_s, most = self._doubling_s, max(_MAX_GROWTH, self._growth)
        quickest_s = doubling_s * math.log2(most / self._growth)  # when it grows no quicker any more
        growth = self._growth * doubling_s / math.log(2) * (2 ** (min(for_s, quickest_s) / doubling_s) - 1)
        growth += most * max(0.0, for_s - quickest_s)
        if growth > math.log(_FORGET):
            self._base = 0.0
            return 0.0
        return self._base * math.exp(growth)

    def _reckon(self, *, hurried: bool = False) -> None:
        """Set the guess by the last refusal and those before it."""
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
        """Whether as much was sent before a refusal as might have been, by and large."""
        if before is None:
            return len(self._turns) > 1
        return turn.unused_s - before.unused_s <= UNUSED * (turn.at_s - before.at_s)

    def _before(self) -> _Turn | None:
        """The latest refusal that was long enough before the last one, or else the first of all, if there was any."""
        turns = self._turns
        last = turns[-1]
        found = None
        for number in range(len(turns) - 2, -1, -1):
            turn = turns[number]
            if last.at_s <= turn.at_s:
                continue
            found = turn
            if last.taken - turn.taken >= SURE_COUNT and last.at_s - turn.at_s >= SURE_S:
                break
        return found

    def _first_rate(self, turn: _Turn) -> tuple[int, float]:
        """What the last minute says by itself: a window's count, or the most that a bucket can have refilled.

        Before it, how many requests say so.
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
