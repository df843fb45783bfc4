"""Wake-ups: one timer for the earliest time at which a job expires or a key may have room."""

import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from tickmind.gateway.queue.job import Handle, JobState, Timers
from tickmind.gateway.queue.lane import KeyState
from tickmind.gateway.queue.ticket import Ticket

_GARBAGE = 256  # entries that may be out of date


class Wakeups:
    """The times at which queued jobs expire and keys may have room again. It calls `ring` at or after the earliest."""

    __slots__ = (
        "_armed_s",
        "_expiries",
        "_handle",
        "_keys",
        "_number",
        "_ring",
        "_sweep_at",
        "_sweep_keys_at",
        "_timers",
    )

    def __init__(self, timers: Timers, ring: Callable[[], None]) -> None:
        self._timers = timers
        self._ring = ring
        self._handle: Handle | None = None
        self._armed_s = math.inf
        self._number = 0
        self._expiries: list[tuple[float, int, Ticket]] = []  # heap; out of date if the job is not queued until then
        self._keys: list[tuple[float, int, KeyState]] = []  # heap; out of date if the key's wake_s is another
        self._sweep_at = _GARBAGE
        self._sweep_keys_at = _GARBAGE

    def __len__(self) -> int:
        return len(self._expiries) + len(self._keys)

    def expire(self, job: Ticket) -> None:
        """Schedule the end of a job's wait, at its `expires_s`."""
        if len(self._expiries) >= self._sweep_at:
            self._expiries = [entry for entry in self._expiries if self._is_due(entry)]
            heapify(self._expiries)
            self._sweep_at = 2 * len(self._expiries) + _GARBAGE
        self._number += 1
        heappush(self._expiries, (job.expires_s, self._number, job))

    def wake(self, key: KeyState, at_s: float) -> None:
        """Schedule a look at a key; infinite: not before another event."""
        if key.wake_s == at_s:
            return
        key.wake_s = at_s
        if at_s == math.inf:
            return
        if len(self._keys) >= self._sweep_keys_at:
            self._keys = [entry for entry in self._keys if entry[2].wake_s == entry[0]]
            heapify(self._keys)
            self._sweep_keys_at = 2 * len(self._keys) + _GARBAGE
        self._number += 1
        heappush(self._keys, (at_s, self._number, key))

    def arm(self) -> None:
        """Set the timer to the earliest time."""
        expiries, keys = self._expiries, self._keys
        while expiries and not self._is_due(expiries[0]):
            heappop(expiries)
        while keys and keys[0][2].wake_s != keys[0][0]:
            heappop(keys)
        at_s = min(expiries[0][0] if expiries else math.inf, keys[0][0] if keys else math.inf)
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
        expiries = self._expiries
        while expiries and (expiries[0][0] <= now or not self._is_due(expiries[0])):
            entry = heappop(expiries)
            if self._is_due(entry):
                return entry[2]
        return None

    def due(self, now: float) -> KeyState | None:
        """Return a key that may have room, None if there is none left."""
        keys = self._keys
        while keys and keys[0][0] <= now:
            at_s, _, key = heappop(keys)
            if key.wake_s == at_s:
                key.wake_s = math.inf
                return key
        return None

    def close(self) -> None:
        """Cancel the timer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._armed_s = math.inf

    @staticmethod
    def _is_due(entry: tuple[float, int, Ticket]) -> bool:
        return entry[2].state is JobState.QUEUED and entry[2].expires_s == entry[0]

    def _rang(self) -> None:
        self._handle = None
        self._armed_s = math.inf
        self._ring()
