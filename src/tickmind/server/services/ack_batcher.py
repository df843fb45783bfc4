"""Batched acknowledgements: in a burst of frames, reading them all comes before answering each."""

import asyncio
from collections.abc import Callable

QUIET_PART = 0.005  # of a tick: answers are sent after so long without a frame
LONGEST_PART = 0.25  # of a tick: no answer waits longer
MOST_TICK_S = 1.0  # longer ticks count as this, because clients give up on a silent world


class AckBatcher:
    """Delays answers while frames keep coming in, for a small part of a tick at most.

    Sending costs as much as reading. Without this, the last intent of a thousand waits for the answers to all others.
    """

    def __init__(self, tick_s: float) -> None:
        self._quiet_s = min(tick_s, MOST_TICK_S) * QUIET_PART
        self._longest_s = min(tick_s, MOST_TICK_S) * LONGEST_PART
        self._waiting: list[Callable[[], None]] = []
        self._first_s = self._last_s = 0.0

    def add(self, flush: Callable[[], None]) -> None:
        """Register a callback that sends the answers."""
        loop = asyncio.get_running_loop()
        self._last_s = loop.time()
        if not self._waiting:
            self._first_s = self._last_s
            loop.call_later(self._quiet_s, self._look, loop)
        self._waiting.append(flush)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now_s = loop.time()
        due_s = min(self._last_s + self._quiet_s, self._first_s + self._longest_s)
        if now_s < due_s:
            loop.call_at(due_s, self._look, loop)
            return
        waiting, self._waiting = self._waiting, []
        for flush in waiting:
            flush()
