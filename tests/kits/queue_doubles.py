"""Doubles for tests of the queue: simulated time with timers, and a provider that keeps its limits like a real one."""

import math
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from tickmind.base import ManualClock
from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.queue.ticket import Ticket


class _Timer:
    """A timer of simulated time."""

    __slots__ = ("what",)

    def __init__(self, what: Callable[[], None]) -> None:
        self.what: Callable[[], None] | None = what

    def cancel(self) -> None:
        """Call it off."""
        self.what = None


class SimulatedTime(ManualClock):
    """A clock with timers, which fire in order as `run_until` moves it: ten minutes pass at once, each time alike."""

    def __init__(self) -> None:
        super().__init__()
        self._heap: list[tuple[float, int, _Timer]] = []
        self._number = 0

    def at(self, when_s: float, what: Callable[[], None]) -> _Timer:
        """Call something at a monotonic time; this is the dispatcher's `timers`."""
        self._number += 1
        timer = _Timer(what)
        heappush(self._heap, (max(when_s, self.monotonic()), self._number, timer))
        return timer

    def after(self, delay_s: float, what: Callable[[], None]) -> _Timer:
        """Call something later."""
        return self.at(self.monotonic() + delay_s, what)

    def run_until(self, when_s: float) -> None:
        """Let time pass, with all that happens in it."""
        while self._heap and self._heap[0][0] <= when_s:
            at_s, _, timer = heappop(self._heap)
            if timer.what is None:
                continue
            self._move_to(at_s)
            what, timer.what = timer.what, None
            what()
        self._move_to(when_s)

    def run_for(self, seconds: float) -> None:
        """Let so much time pass."""
        self.run_until(self.monotonic() + seconds)

    @property
    def pending(self) -> int:
        """Timers that are still to fire."""
        return sum(timer.what is not None for _, _, timer in self._heap)

    def _move_to(self, when_s: float) -> None:
        now = self.monotonic()
        if when_s > now:
            self._wall += when_s - now
            self._monotonic = when_s


class ScriptedProvider:
    """Answers by a real count of its last window, sliding or fixed, and notes every call.

    `bucket` makes it one that holds so many and refills by the limit. `whole_seconds` rounds up what it asks to wait,
    as most do. `script`, if given, decides instead: it gets the job and the time and returns an outcome, or None for
    the count's.
    """

    def __init__(
        self,
        time: SimulatedTime,
        *,
        limit: float = math.inf,
        span_s: float = 60.0,
        fixed: bool = False,
        bucket: float = 0.0,
        retry_after: bool = True,
        whole_seconds: bool = False,
        script: Callable[[Ticket, float], Outcome | None] | None = None,
    ) -> None:
        self._time = time
        self._limit = limit
        self._span_s = span_s
        self._fixed = fixed
        self._bucket = bucket
        self._level = bucket
        self._level_s = time.monotonic()
        self._retry_after = retry_after
        self._whole_seconds = whole_seconds
        self._script = script
        self._accepted: deque[float] = deque()
        self.calls: list[float] = []
        self.limited = 0

    def call(self, job: Ticket) -> Outcome:
        """What comes of a call now."""
        now = self._time.monotonic()
        self.calls.append(now)
        outcome = self._script(job, now) if self._script is not None else None
        if outcome is not None:
            self.limited += outcome.result is Result.RATE_LIMITED
            return outcome
        wait_s = self._refill(now) if self._bucket else self._count(now)
        if not wait_s:
            return Outcome(Result.OK, 200, prompt_tokens=job.tokens, completion_tokens=0)
        self.limited += 1
        if self._whole_seconds:
            wait_s = float(math.ceil(wait_s))
        return Outcome(Result.RATE_LIMITED, 429, retry_after_s=wait_s if self._retry_after else None)

    def fill(self, part: float) -> None:
        """As if so much of the last window's limit had been used, evenly; for a sliding window."""
        now, used = self._time.monotonic(), int(part * self._limit)
        self._accepted.extend(now - self._span_s * (1 - number / used) for number in range(1, used + 1))

    def busiest(self, span_s: float) -> int:
        """The most calls in any window of so many seconds, its end not included."""
        most = first = 0
        for last, at_s in enumerate(self.calls):
            while self.calls[first] <= at_s - span_s + 1e-9:
                first += 1
            most = max(most, last - first + 1)
        return most

    def _count(self, now: float) -> float:
        """Take it into the window, or say how long to wait."""
        accepted = self._accepted
        begin_s = math.floor(now / self._span_s) * self._span_s if self._fixed else now - self._span_s
        while accepted and (accepted[0] < begin_s if self._fixed else accepted[0] <= begin_s):
            accepted.popleft()
        if len(accepted) >= self._limit:
            return (begin_s if self._fixed else accepted[0]) + self._span_s - now
        accepted.append(now)
        return 0.0

    def _refill(self, now: float) -> float:
        """Take it out of the bucket, or say how long to wait."""
        per_s = self._limit / self._span_s
        self._level = min(self._bucket, self._level + (now - self._level_s) * per_s)
        self._level_s = now
        if self._level < 1 - 1e-9:
            return (1 - self._level) / per_s
        self._level -= 1
        return 0.0
