"""All open streams: limits on their number, and detection of readers that stall."""

import math
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Generic, TypeVar

from tickmind.server.callers import WorldCaller, current_caller
from tickmind.server.delivery.outbox import Outbox
from tickmind.server.limits import MAX, ServerLimits

LOOK_S = 0.5  # between two checks for stalled readers
T = TypeVar("T")


class StreamKind(StrEnum):
    """The purposes of streams."""

    TICKS = "ticks"
    LIFECYCLE = "lifecycle"
    WORLD = "world"
    OBSERVATIONS = "observations"
    CONTROL = "control"
    CONTROL_BATCH = "control_batch"
    RELAY = "relay"  # of a bridge; the control streams in it count too
    VIEWER = "viewer"


LARGE = frozenset({StreamKind.VIEWER, StreamKind.WORLD})  # large messages: refused first when memory is short


class Stream(Generic[T]):
    """An open stream, apart from the network: its outbox, and whether a message is being sent."""

    __slots__ = (
        "caller", "cut_off", "kind", "looks", "on_cut", "outbox", "peer", "unread_bytes", "writing", "writing_bytes",
    )  # fmt: skip

    def __init__(self, kind: StreamKind, peer: str, outbox: Outbox[T], caller: WorldCaller) -> None:
        self.kind = kind
        self.peer = peer
        self.caller = caller
        self.outbox = outbox
        self.writing = False
        self.writing_bytes = 0
        self.looks = 0  # checks that found the same message still being sent
        self.unread_bytes = 0  # pending bytes when it was cut off
        self.cut_off = ""  # reason, once cut off
        self.on_cut: Callable[[], None] = lambda: None

    def begin_write(self, size: int) -> None:
        """Note that a message is being sent."""
        self.writing, self.writing_bytes, self.looks = True, size, 0

    def end_write(self) -> None:
        """Note that the message was sent."""
        self.writing, self.writing_bytes = False, 0


class Streams:
    """Counts streams by host and by kind, and cuts off readers that stall. It never waits for any of them."""

    def __init__(self, limits: ServerLimits = MAX) -> None:
        self._limits = limits
        self._patient_looks = math.ceil(float(limits.stall_s.maximum) / LOOK_S) + 1  # checks within `stall_s`
        self._open: dict[Stream[Any], None] = {}
        self._by_peer: Counter[str] = Counter()
        self.by_kind: Counter[StreamKind] = Counter()
        self.cut = 0  # streams that were cut off so far
        self.unread_bytes = 0  # bytes that gRPC still holds for cut-off streams
        self.refused = 0

    def __len__(self) -> int:
        return len(self._open)

    def why_not(self, kind: StreamKind, peer: str) -> str:
        """Return why a host may not open another stream; empty if it may."""
        limits = self._limits
        wanted = [
            (limits.streams, len(self._open) + 1),
            (limits.peer_streams, self._by_peer[peer] + 1),
        ]
        if kind in LARGE:
            wanted.append((limits.unread_bytes, self.unread_bytes))
        if kind is StreamKind.VIEWER:
            wanted.append((limits.viewers, self.by_kind[kind] + 1))
        for limit, value in wanted:
            if not limit.allows(value):
                self.refused += 1
                return f"the {limit.name} is at its limit of {limit.maximum:,}; close some, or retry later"
        return ""

    def open(self, kind: StreamKind, peer: str, outbox: Outbox[T]) -> Stream[T]:
        """Add a stream; call `why_not` before."""
        stream = Stream(kind, peer, outbox, current_caller())
        self._open[stream] = None
        self._by_peer[peer] += 1
        self.by_kind[kind] += 1
        return stream

    def close(self, stream: Stream[T]) -> None:
        """Remove a stream that is closed."""
        if stream not in self._open:
            return
        del self._open[stream]
        self._by_peer[stream.peer] -= 1
        if not self._by_peer[stream.peer]:
            del self._by_peer[stream.peer]
        self.by_kind[stream.kind] -= 1
        self.unread_bytes -= stream.unread_bytes

    def cut_off(self, stream: Stream[T], why: str) -> None:
        """Stop sending to a reader; its stream counts until it is closed."""
        if stream.cut_off:
            return
        stream.cut_off = why
        stream.unread_bytes = stream.writing_bytes
        self.unread_bytes += stream.writing_bytes
        self.cut += 1
        stream.outbox.drop()
        stream.on_cut()

    def cut_where(self, condition: Callable[[Stream[Any]], bool], why: str) -> None:
        """Cut off all streams for which a condition holds."""
        for stream in [stream for stream in self._open if condition(stream)]:
            self.cut_off(stream, why)

    def cut_stalled(self) -> None:
        """Check all readers, every `LOOK_S`, and cut off those that have not taken a message in time.

        It counts checks instead of seconds: a server that stalled itself has made one check meanwhile, before it could
        notice which messages were taken.
        """
        stalled = []
        for stream in self._open:
            if stream.writing and not stream.cut_off:
                stream.looks += 1
                if stream.looks >= self._patient_looks:
                    stalled.append(stream)
        for stream in stalled:
            self.cut_off(stream, f"the client read nothing for {self._limits.stall_s.maximum:g} s")
