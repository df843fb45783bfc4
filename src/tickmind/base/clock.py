"""`Clock`: time as an argument, real in production, set by hand in tests and simulations."""

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """A source of time; no part reads the system's clock by itself."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow; for deadlines, leases and pacing."""
        ...

    def wall(self) -> float:
        """Return seconds since 1970 in UTC, which an operator may set back; for display and records only."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let the time pass; a negative duration is no wait at all."""
        ...


class SystemClock:
    """The machine's own time. Its two readings are the system's functions themselves, because they are called often."""

    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)

    def sleep(self, seconds: float) -> None:
        """Block the calling thread."""
        if seconds > 0:
            time.sleep(seconds)


class ManualClock:
    """Time that moves only when a test advances it, so that a test of ten minutes takes none.

        >>> clock = ManualClock()
        >>> clock.advance(600)
        >>> clock.monotonic()
        600.0

    `sleep` moves it forward at once. Threads may share it.
    """

    def __init__(self, *, monotonic: float = 0.0, wall: float = 1_700_000_000.0) -> None:
        self._lock = threading.Lock()
        self._monotonic = monotonic
        self._wall = wall

    def __repr__(self) -> str:
        return f"ManualClock(monotonic={self._monotonic!r}, wall={self._wall!r})"

    def monotonic(self) -> float:
        """Return the seconds advanced so far."""
        return self._monotonic

    def wall(self) -> float:
        """Return the wall time, with every jump in it."""
        return self._wall

    def sleep(self, seconds: float) -> None:
        """Advance instead of waiting."""
        if seconds > 0:
            self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        if seconds < 0:
            raise ValueError(f"time only moves forward, not by {seconds} s; jump_wall() sets the wall clock back")
        with self._lock:
            self._monotonic += seconds
            self._wall += seconds

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an operator or a time server would; monotonic time stays."""
        with self._lock:
            self._wall += seconds
