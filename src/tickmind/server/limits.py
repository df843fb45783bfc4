"""Limits of a served world: streams, calls and queues. Limits of one message are in `tickmind.wire.messages.limits`."""

from dataclasses import dataclass

from tickmind.base import Limit
from tickmind.protocol.record import MAX_PLACEMENTS

LEASE_TTL_MS = 10_000
MAX_EXPIRED_LEASES = Limit("number of expired leases that are remembered", 10_000)
MAX_STREAMS = Limit("number of open streams", 20_000)
MAX_PEER_STREAMS = Limit("number of open streams of one host", 10_000)
MAX_VIEWERS = Limit("number of viewers", 256)
MAX_UNREAD_BYTES = Limit("size of unread data of readers that were cut off", 32_000_000, "bytes")
MAX_UNANSWERED = Limit("number of pending acknowledgements of one reader", 256)
MAX_VIEWER_BACKLOG = Limit("number of pending ticks of one viewer", 8)
MAX_LIFECYCLE_BACKLOG = Limit("number of pending control changes of one reader", 4096)
MAX_FRAMES_PER_TICK = Limit("number of frames that one stream sends in a tick", 64)
MAX_STRAY_FRAMES = Limit("number of frames that a bridge sends in a tick for streams that it does not have", 8192)
MAX_REPORTS_PER_TICK = Limit("number of thoughts, statuses and insights in one tick", 10_000)
MAX_REPORT_CHARS_PER_TICK = Limit("length of all thoughts, statuses and insights of one tick", 8_000_000, "characters")
MAX_ACTORS_PER_PART = Limit("number of observers in one part of a batch", 8192)
MAX_WAITING_CALLS = Limit("number of waiting plain calls", 4096)
MAX_WAITING_SNAPSHOTS = Limit("number of waiting snapshots", 64)
MAX_PAGE = Limit("number of entities in one page", 1000)
MAX_OPEN_S = Limit("time until a control stream sends its first frame", 10, "s")
MAX_STALL_S = Limit("time that a reader takes for one message", 5, "s")


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits of one server; `ServerLimits(viewers=MAX.viewers.at(10))` sets one of them.

    These bound the memory for readers that stall: pending data is the newest observation or a short backlog, and what
    gRPC itself holds for readers that were cut off is counted until they are gone. While that is too much, viewers and
    readers of the whole world are refused, but agents are not.
    """

    streams: Limit = MAX_STREAMS
    peer_streams: Limit = MAX_PEER_STREAMS
    viewers: Limit = MAX_VIEWERS
    unread_bytes: Limit = MAX_UNREAD_BYTES
    unanswered: Limit = MAX_UNANSWERED
    viewer_backlog: Limit = MAX_VIEWER_BACKLOG
    lifecycle_backlog: Limit = MAX_LIFECYCLE_BACKLOG
    frames_per_tick: Limit = MAX_FRAMES_PER_TICK
    stray_frames: Limit = MAX_STRAY_FRAMES
    reports_per_tick: Limit = MAX_REPORTS_PER_TICK
    report_chars_per_tick: Limit = MAX_REPORT_CHARS_PER_TICK
    actors_per_part: Limit = MAX_ACTORS_PER_PART
    waiting_calls: Limit = MAX_WAITING_CALLS
    waiting_snapshots: Limit = MAX_WAITING_SNAPSHOTS
    page: Limit = MAX_PAGE
    placements: Limit = MAX_PLACEMENTS
    open_s: Limit = MAX_OPEN_S
    stall_s: Limit = MAX_STALL_S


MAX = ServerLimits()
