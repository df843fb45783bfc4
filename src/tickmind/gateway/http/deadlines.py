"""Deadlines of exchanges under way: adding and removing cost next to nothing, because hardly any is ever reached."""

import math
from collections.abc import Callable
from typing import Protocol

from tickmind.base import get_logger
from tickmind.gateway.queue.job import Handle, Timers

SLOT_S = 0.01  # between two looks at least
_log = get_logger(__name__)


class Dated(Protocol):
    """Something that must end in time."""

    def overdue(self) -> None:
        """The deadline has passed."""
        ...


class Deadlines:
    """Tells everybody in it, at most one slot late, that its time is up.

    One timer is set for the earliest of all deadlines. When it rings, it is mostly that of an exchange long ended;
    then all that are under way are looked at for the next one.
    """

    def __init__(self, now_s: Callable[[], float], timers: Timers) -> None:
        self._now_s = now_s
        self._timers = timers
        self._items: dict[Dated, float] = {}  # who must end -> when
        self._timer: Handle | None = None
        self._next_s = math.inf  # when the timer rings

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: Dated, deadline_s: float) -> None:
        """Watch it."""
        self._items[item] = deadline_s
        if deadline_s < self._next_s:
            self._ring_at(deadline_s)

    def remove(self, item: Dated) -> None:
        """It has ended, or was not watched at all."""
        self._items.pop(item, None)

    def close(self) -> None:
        """Watch nothing any more."""
        self._items.clear()
        self._stop()

    def _ring_at(self, when_s: float) -> None:
        self._stop()
        self._next_s = math.ceil(when_s / SLOT_S) * SLOT_S  # so that many deadlines close together are one look
        self._timer = self._timers(self._next_s, self._look)

    def _stop(self) -> None:
        self._next_s = math.inf
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._stop()
        now_s = self._now_s() + 1e-6 * SLOT_S  # a timer that comes a hair too early counts as in time
        for item in [item for item, deadline_s in self._items.items() if deadline_s <= now_s]:
            if self._items.pop(item, None) is None:  # ended by the fate of another
                continue
            try:
                item.overdue()
            except Exception:  # noqa: BLE001 - the fault of one must not keep the others waiting for ever
                _log.exception("a deadline could not be told")
        if self._items:
            self._ring_at(max(min(self._items.values()), self._now_s() + SLOT_S / 2))
