"""Deadlines of exchanges under way, kept in slots of a tenth of a second: adding and removing cost next to nothing."""

import math
from collections.abc import Callable
from typing import Protocol

from tickmind.base import get_logger
from tickmind.gateway.queue.job import Handle, Timers

SLOT_S = 0.1
_log = get_logger(__name__)


class Dated(Protocol):
    """Something that must end in time."""

    def overdue(self) -> None:
        """The deadline has passed."""
        ...


class Deadlines:
    """Tells everybody in it, at most one slot late, that its time is up."""

    def __init__(self, now_s: Callable[[], float], timers: Timers) -> None:
        self._now_s = now_s
        self._timers = timers
        self._slots: dict[int, set[Dated]] = {}  # slot number -> who must end in it
        self._timer: Handle | None = None

    def __len__(self) -> int:
        return sum(len(slot) for slot in self._slots.values())

    def add(self, item: Dated, deadline_s: float) -> int:
        """Watch it; gives the slot to remove it with."""
        number = math.ceil(deadline_s / SLOT_S)
        slot = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = set()
            if self._timer is None:
                self._timer = self._timers((_slot_at(self._now_s()) + 1) * SLOT_S, self._look)
        slot.add(item)
        return number

    def remove(self, item: Dated, number: int) -> None:
        """It has ended."""
        slot = self._slots.get(number)
        if slot is not None:
            slot.discard(item)
            if not slot:  # emptied sets would otherwise lie around until their time
                del self._slots[number]

    def close(self) -> None:
        """Watch nothing any more."""
        self._slots.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        current = _slot_at(self._now_s())
        for number in [number for number in self._slots if number <= current]:
            for item in self._slots.pop(number):
                try:
                    item.overdue()
                except Exception:  # noqa: BLE001 - the fault of one must not keep the others waiting for ever
                    _log.exception("a deadline could not be told")
        self._timer = self._timers((_slot_at(self._now_s()) + 1) * SLOT_S, self._look) if self._slots else None


def _slot_at(now_s: float) -> int:
    """The slot that has come; a timer that comes a hair too early counts as in time."""
    return math.floor(now_s / SLOT_S + 1e-6)
