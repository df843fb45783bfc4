"""A streamed reply that several callers read, each at its own pace."""

from collections.abc import Callable
from typing import Protocol


class Reader(Protocol):
    """A caller that reads the stream."""

    def take(self, data: bytes) -> None:
        """Take the next bytes; a reader that can't keep up calls `Broadcast.hold`."""
        ...

    def finish(self) -> None:
        """End: all bytes were taken."""
        ...

    def cut_off(self) -> None:
        """End early: the reader is too far behind."""
        ...


class Broadcast:
    """Buffers a stream for late and slow readers, up to `most_bytes`.

    Beyond that no reader may join, pieces that all have read are dropped, and a reader that holds up more than that is
    cut off. While every reader holds, `on_stalled` has asked the source to stop, until `on_flowing` resumes it.
    """

    def __init__(self, most_bytes: int, on_stalled: Callable[[], None], on_flowing: Callable[[], None]) -> None:
        self._most_bytes = most_bytes
        self._on_stalled = on_stalled
        self._on_flowing = on_flowing
        self._pieces: dict[int, bytes] = {}  # by their numbers, the oldest first
        self._count = 0  # of all that ever came
        self._size = 0
        self._next: dict[Reader, int] = {}  # reader -> number of the piece that it gets next
        self._held: set[Reader] = set()
        self._stalled = False
        self._ended = False

    @property
    def is_open(self) -> bool:
        """Whether the buffer is complete, so that a reader may join."""
        return len(self._pieces) == self._count

    @property
    def body(self) -> bytes | None:
        """Return all bytes; None if they were too many to keep."""
        return b"".join(self._pieces.values()) if self.is_open else None

    def join(self, reader: Reader) -> None:
        """Give a reader everything from the beginning."""
        assert self.is_open, "a reader joins while all is there"
        self._next[reader] = 0
        self._pump(reader)

    def add(self, data: bytes) -> None:
        """Give the next piece to all readers that keep up."""
        if not data:
            return
        self._pieces[self._count] = data
        self._count += 1
        self._size += len(data)
        for reader in list(self._next):
            self._pump(reader)
        while self._size > self._most_bytes and self._pieces:
            self._drop_oldest()

    def end(self) -> None:
        """End the stream; readers that are behind get the rest when they go on."""
        self._ended = True
        for reader in list(self._next):
            self._pump(reader)

    def hold(self, reader: Reader) -> None:
        """Pause a reader that can't keep up."""
        if reader in self._next:
            self._held.add(reader)
            self._look()

    def go_on(self, reader: Reader) -> None:
        """Resume a reader that has caught up."""
        self._held.discard(reader)
        self._pump(reader)
        self._look()

    def leave(self, reader: Reader) -> None:
        """Remove a reader that has disconnected."""
        self._next.pop(reader, None)
        self._held.discard(reader)
        self._look()

    def _pump(self, reader: Reader) -> None:
        while reader in self._next and reader not in self._held:
            number = self._next[reader]
            if number >= self._count:
                if self._ended:
                    del self._next[reader]
                    reader.finish()
                return
            self._next[reader] += 1
            reader.take(self._pieces[number])

    def _drop_oldest(self) -> None:
        oldest = next(iter(self._pieces))
        for reader, number in list(self._next.items()):
            if number <= oldest:
                self.leave(reader)
                reader.cut_off()
        self._size -= len(self._pieces.pop(oldest))

    def _look(self) -> None:
        stalled = bool(self._held) and len(self._held) == len(self._next)
        if stalled != self._stalled:
            self._stalled = stalled
            (self._on_stalled if stalled else self._on_flowing)()
