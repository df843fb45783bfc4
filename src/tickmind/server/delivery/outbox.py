"""The outbox: a small queue of messages for one reader, in which newer messages replace stale ones."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


def _no_reader() -> None:
    """Do nothing."""


class Outbox(Generic[T]):
    """A bounded queue for one reader. `put` is for messages that must not be lost, `replace` for the newest state.

    Items from `put` come before those from `replace`, and a last item after all. Nothing here waits: `wake` is called
    when an item is available; the caller cuts off a reader that lets the queue fill up.
    """

    __slots__ = ("_capacity", "_last", "_newest", "_queue", "ended", "replaced", "wake")

    def __init__(self, capacity: int, wake: Callable[[], None] = _no_reader) -> None:
        self._capacity = capacity
        self._queue: deque[T] = deque()
        self._newest: deque[T] = deque()
        self._last: T | None = None
        self.ended = False
        self.replaced = 0  # items replaced by newer ones before they were taken
        self.wake = wake

    def __len__(self) -> int:
        return len(self._queue) + len(self._newest) + (self._last is not None)

    def put(self, item: T) -> bool:
        """Append an item; return False if the queue is full or ended."""
        if self.ended or len(self._queue) >= self._capacity:
            return False
        self._queue.append(item)
        self.wake()
        return True

    def replace(self, items: Sequence[T]) -> None:
        """Replace the items of the last `replace` that are not taken yet."""
        if self.ended:
            return
        self.replaced += len(self._newest)
        self._newest.clear()
        self._newest.extend(items)
        self.wake()

    def end(self, last: T | None = None) -> None:
        """End the queue: `put` items are still sent, stale ones dropped, and then the last item."""
        if not self.ended:
            self.ended = True
            self._newest.clear()
            self._last = last
            self.wake()

    def drop(self) -> None:
        """End the queue, and drop all items."""
        self.ended = True
        self._queue.clear()
        self._newest.clear()
        self._last = None
        self.wake()

    def take(self) -> T | None:
        """Return the next item, or None if there is none."""
        if self._queue:
            return self._queue.popleft()
        if self._newest:
            return self._newest.popleft()
        last, self._last = self._last, None
        return last
