"""What waits to be sent to one reader: little, and the newest wins."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


def _nobody() -> None:
    """Wake nobody."""


class Outbox(Generic[T]):
    """A bounded queue for one reader. `put` is for what must not be missed, `replace` for what the newest makes stale.

    What was put comes before what was replaced, and a last item after all. Nothing here waits: `wake` is called when
    there is something to take, and a reader that lets the queue fill up is the caller's to cut off.
    """

    __slots__ = ("_capacity", "_last", "_newest", "_queue", "ended", "replaced", "wake")

    def __init__(self, capacity: int, wake: Callable[[], None] = _nobody) -> None:
        self._capacity = capacity
        self._queue: deque[T] = deque()
        self._newest: deque[T] = deque()
        self._last: T | None = None
        self.ended = False
        self.replaced = 0  # items that a newer one replaced before they were taken
        self.wake = wake

    def __len__(self) -> int:
        return len(self._queue) + len(self._newest) + (self._last is not None)

    def put(self, item: T) -> bool:
        """Put an item in line; False if there is no room, or nothing may follow any more."""
        if self.ended or len(self._queue) >= self._capacity:
            return False
        self._queue.append(item)
        self.wake()
        return True

    def replace(self, items: Sequence[T]) -> None:
        """Put the newest items in the place of those that nobody has taken yet."""
        if self.ended:
            return
        self.replaced += len(self._newest)
        self._newest.clear()
        self._newest.extend(items)
        self.wake()

    def end(self, last: T | None = None) -> None:
        """Take nothing more; what waits is still sent but for what has become stale, and then the last item."""
        if not self.ended:
            self.ended = True
            self._newest.clear()
            self._last = last
            self.wake()

    def drop(self) -> None:
        """Take nothing more, and forget what waits."""
        self.ended = True
        self._queue.clear()
        self._newest.clear()
        self._last = None
        self.wake()

    def take(self) -> T | None:
        """The next item, or None if nothing waits."""
        if self._queue:
            return self._queue.popleft()
        if self._newest:
            return self._newest.popleft()
        last, self._last = self._last, None
        return last
