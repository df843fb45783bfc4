"""All open streams: how many there may be, and which of them nobody reads."""

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Generic, TypeVar

from tickmind.base import Clock
from tickmind.server.limits import MAX, ServerLimits
from tickmind.server.outbox import Outbox

T = TypeVar("T")


class StreamKind(StrEnum):
    """What a stream is for."""

    TICKS = "ticks"
    LIFECYCLE = "lifecycle"
    WORLD = "world"
    OBSERVATIONS = "observations"
    CONTROL = "control"
    CONTROL_BATCH = "control_batch"
    VIEWER = "viewer"


class Stream(Generic[T]):
    """One open stream, apart from the network: what waits in its outbox, and since when a message is being sent."""

    __slots__ = ("cut_off", "kind", "on_cut", "outbox", "peer", "unread_bytes", "writing_bytes", "writing_since_s")

    def __init__(self, kind: StreamKind, peer: str, outbox: Outbox[T]) -> None:
        self.kind = kind
        self.peer = peer
        self.outbox = outbox
        self.writing_since_s: float | None = None
        self.writing_bytes = 0
        self.unread_bytes = 0  # what it held when it was cut off
        self.cut_off = ""  # why it was
        self.on_cut: Callable[[], None] = lambda: None

    def begin_write(self, size: int, now_s: float) -> None:
        """A message is being sent."""
        self.writing_since_s, self.writing_bytes = now_s, size

    def end_write(self) -> None:
        """The message is gone."""
        self.writing_since_s, self.writing_bytes = None, 0


class Streams:
    """Counts streams by host and by kind, and cuts off readers that stall. It never waits for any of them."""

    def __init__(self, clock: Clock, limits: ServerLimits = MAX) -> None:
        self._clock = clock
        self._limits = limits
        self._open: dict[Stream[Any], None] = {}
        self._by_peer: Counter[str] = Counter()
        self.by_kind: Counter[StreamKind] = Counter()
        self.cut = 0  # streams that were cut off so far
        self.unread_bytes = 0  # what gRPC still holds for streams that were cut off
        self.refused = 0

    def __len__(self) -> int:
        return len(self._open)

    def why_not(self, kind: StreamKind, peer: str) -> str:
        """Why a host may not open another stream; empty if it may."""
        limits = self._limits
        wanted = [
            (limits.streams, len(self._open) + 1),
            (limits.peer_streams, self._by_peer[peer] + 1),
            (limits.unread_bytes, self.unread_bytes),
        ]
        if kind is StreamKind.VIEWER:
            wanted.append((limits.viewers, self.by_kind[kind] + 1))
        for limit, value in wanted:
            if not limit.allows(value):
                self.refused += 1
                return f"the {limit.name} is at its limit of {limit.maximum:,}; close some, or try again later"
        return ""

    def open(self, kind: StreamKind, peer: str, outbox: Outbox[T]) -> Stream[T]:
        """Add a stream; ask `why_not` before."""
        stream = Stream(kind, peer, outbox)
        self._open[stream] = None
        self._by_peer[peer] += 1
        self.by_kind[kind] += 1
        return stream

    def close(self, stream: Stream[T]) -> None:
        """The stream is gone."""
        if stream not in self._open:
            return
        del self._open[stream]
        self._by_peer[stream.peer] -= 1
        if not self._by_peer[stream.peer]:
            del self._by_peer[stream.peer]
        self.by_kind[stream.kind] -= 1
        self.unread_bytes -= stream.unread_bytes

    def cut_off(self, stream: Stream[T], why: str) -> None:
        """Send nothing more to a reader; it counts until it is gone."""
        if stream.cut_off:
            return
        stream.cut_off = why
        stream.unread_bytes = stream.writing_bytes
        self.unread_bytes += stream.writing_bytes
        self.cut += 1
        stream.outbox.drop()
        stream.on_cut()

    def cut_stalled(self) -> None:
        """Cut off all readers that have not taken a message in time."""
        before_s = self._clock.monotonic() - float(self._limits.stall_s.maximum)
        stalled = [
            stream
            for stream in self._open
            if stream.writing_since_s is not None and stream.writing_since_s <= before_s and not stream.cut_off
        ]
        for stream in stalled:
            self.cut_off(stream, f"nothing was read for {self._limits.stall_s.maximum:g} s")
