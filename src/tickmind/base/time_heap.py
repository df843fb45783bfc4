"""`TimeHeap`: items by the time at which to look at them."""

import math
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")
_GARBAGE = 64  # entries out of date that are not worth a clean-up


class TimeHeap(Generic[T]):
    """Items by the time at which each must be looked at; those of one time come in the order in which they were added.

    An entry can't be moved: what changes an item's time adds it again, or lets it come up and then adds it for later.
    `is_current` tells the entries that count from those out of date, which are skipped, and dropped once they are many.

        >>> leases = TimeHeap[str]()
        >>> leases.add(10.0, "lease of Ada")
        >>> leases.add(5.0, "lease of Bob")
        >>> list(leases.due(now_s=7.0)), leases.first_s()
        (['lease of Bob'], 10.0)
    """

    __slots__ = ("_clean_at", "_is_current", "_number", "entries")

    def __init__(self, is_current: Callable[[float, T], bool] | None = None) -> None:
        self.entries: list[tuple[float, int, T]] = []  # a heap of (time, number, item), to be read only
        self._is_current = is_current
        self._number = 0
        self._clean_at = _GARBAGE

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, at_s: float, item: T) -> None:
        """Add an item for a time."""
        if len(self.entries) >= self._clean_at:
            self.clean()
        self._number += 1
        heappush(self.entries, (at_s, self._number, item))

    def first_s(self) -> float:
        """Return the earliest time of an item; infinite if there is none."""
        entries, is_current = self.entries, self._is_current
        if is_current is not None:
            while entries and not is_current(entries[0][0], entries[0][2]):
                heappop(entries)
        return entries[0][0] if entries else math.inf

    def pop(self) -> tuple[float, T]:
        """Remove and return the earliest entry; raises `IndexError` if there is none."""
        at_s, _, item = heappop(self.entries)
        return at_s, item

    def due(self, now_s: float) -> Iterator[T]:
        """Remove and yield the items whose time has come, the earliest first. Each may be added again for later."""
        while self.first_s() <= now_s:
            yield heappop(self.entries)[2]

    def clean(self) -> None:
        """Drop the entries that are out of date."""
        is_current = self._is_current
        if is_current is not None:
            self.entries = [entry for entry in self.entries if is_current(entry[0], entry[2])]
            heapify(self.entries)
        self._clean_at = 2 * len(self.entries) + _GARBAGE

    def clear(self) -> None:
        """Drop all entries."""
        self.entries.clear()
