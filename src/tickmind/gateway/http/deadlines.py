"""Deadlines of exchanges in flight: adding and removing are cheap, because hardly any deadline is ever reached."""

import math
from collections.abc import Callable
from typing import Protocol

from tickmind.base import get_logger
from tickmind.gateway.queue.job import Handle, Timers

SLOT_S = 0.01  # shortest time between two checks
_log = get_logger(__name__)


class Dated(Protocol):
    """Something with a deadline."""

    def overdue(self) -> None:
        """End: the deadline has passed."""
        ...


class Deadlines:
    """Calls `overdue` on each item whose deadline has passed, at most one slot late.

    One timer is set for the earliest deadline. When it fires, that exchange has mostly ended long ago; then all items
    are scanned for the next deadline.
    """

    def __init__(self, now_s: Callable[[], float], timers: Timers) -> None:
        self._now_s = now_s
        self._timers = timers
        self._items: dict[Dated, float] = {}  # item -> its deadline
        self._timer: Handle | None = None
        self._next_s = math.inf  # when the timer fires

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: Dated, deadline_s: float) -> None:
        """Add an item with its deadline."""
        self._items[item] = deadline_s
        if deadline_s < self._next_s:
            self._ring_at(deadline_s)

    def remove(self, item: Dated) -> None:
        """Remove an item that has ended; unknown items are ignored."""
        self._items.pop(item, None)

    def close(self) -> None:
        """Cancel the timer and drop all items."""
        self._items.clear()
        self._stop()

    def _ring_at(self, when_s: float) -> None:
        self._stop()
        self._next_s = math.ceil(when_s / SLOT_S) * SLOT_S  # so that close deadlines share one check
        self._timer = self._timers(self._next_s, self._look)

    def _stop(self) -> None:
        self._next_s = math.inf
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._stop()
        now_s = self._now_s() + 1e-6 * SLOT_S  # tolerate a timer that fires slightly early
        for item in [item for item, deadline_s in self._items.items() if deadline_s <= now_s]:
            if self._items.pop(item, None) is None:  # removed by an earlier callback
                continue
            try:
                item.overdue()
            except Exception:  # noqa: BLE001 - the fault of one must not keep the others waiting for ever
                _log.exception("a deadline callback failed")
        if self._items:
            self._ring_at(max(min(self._items.values()), self._now_s() + SLOT_S / 2))
