"""Wake-ups: one timer for the earliest time at which a job expires or a key may have room."""

import math
from collections.abc import Callable

from tickmind.base.time_heap import TimeHeap
from tickmind.gateway.queue.job import Handle, JobState, Timers
from tickmind.gateway.queue.lane import KeyState
from tickmind.gateway.queue.ticket import Ticket


class Wakeups:
    """The times at which queued jobs expire and keys may have room again. It calls `ring` at or after the earliest."""

    __slots__ = (
        "_armed_s",
        "_expiries",
        "_handle",
        "_keys",
        "_ring",
        "_timers",
    )

    def __init__(self, timers: Timers, ring: Callable[[], None]) -> None:
        self._timers = timers
        self._ring = ring
        self._handle: Handle | None = None
        self._armed_s = math.inf
        self._expiries = TimeHeap[Ticket](_waits_until)
        self._keys = TimeHeap[KeyState](lambda at_s, key: key.wake_s == at_s)

    def __len__(self) -> int:
        return len(self._expiries) + len(self._keys)

    def expire(self, job: Ticket) -> None:
        """Schedule the end of a job's wait, at its `expires_s`."""
        self._expiries.add(job.expires_s, job)

    def wake(self, key: KeyState, at_s: float) -> None:
        """Schedule a look at a key; infinite: not before another event."""
        if key.wake_s == at_s:
            return
        key.wake_s = at_s
        if at_s < math.inf:
            self._keys.add(at_s, key)

    def arm(self) -> None:
        """Set the timer to the earliest time."""
        at_s = min(self._expiries.first_s(), self._keys.first_s())
        if at_s == self._armed_s:
            return
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._armed_s = at_s
        if at_s < math.inf:
            self._handle = self._timers(at_s, self._rang)

    def expired(self, now: float) -> Ticket | None:
        """Return a job that has expired, None if there is none left."""
        return next(self._expiries.due(now), None)

    def due(self, now: float) -> KeyState | None:
        """Return a key that may have room, None if there is none left."""
        key = next(self._keys.due(now), None)
        if key is not None:
            key.wake_s = math.inf
        return key

    def close(self) -> None:
        """Cancel the timer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._armed_s = math.inf

    def _rang(self) -> None:
        self._handle = None
        self._armed_s = math.inf
        self._ring()


def _waits_until(at_s: float, job: Ticket) -> bool:
    return job.state is JobState.QUEUED and job.expires_s == at_s
