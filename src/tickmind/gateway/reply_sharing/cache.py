"""The reply cache: identical requests in flight share one call, and replies are kept for a while; off by default.

Two requests are identical if they go to the same chain of targets (provider, key and model) by the same surface and in
the same form with the same body. Spaces and the order of the outermost fields make no difference; the order inside
does, because a model writes the fields of a schema in the order in which they stand. Requests are shared among the
sessions of one caller only, so that no caller learns from a quick reply what another has asked, unless the operator
sets `across_callers`; without callers' keys all sessions belong to the operator, and share.
"""

import re
from collections import deque
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import Protocol

import orjson

from tickmind.base import Clock
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.reply_sharing.broadcast import Broadcast
from tickmind.gateway.routing.plan import Plan
from tickmind.gateway.settings.config import CacheConfig

JSON = b"application/json"
EVENT_STREAM = b"text/event-stream"
_OVERHEAD_BYTES = 400  # of one kept reply, beside its text
_LONG_NUMBER = re.compile(rb"\d{16}")  # reading and writing might change it


@dataclass(frozen=True, slots=True)
class Kept:
    """A reply that can be given again, byte for byte."""

    status: int
    content_type: bytes
    body: bytes
    provider: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class CacheRole(Enum):
    """What a request without a kept reply has to do."""

    LEADER = "leader"  # make the call, and report its end
    JOINED = "joined"  # wait: the reply of another is on its way


class Sharer(Protocol):
    """A request that may share. All calls come from within the cache's methods, on the same thread."""

    def shared(self, reply: Kept) -> None:
        """End with the leader's reply."""
        ...

    def join_stream(self, source: Broadcast, provider: str) -> None:
        """Read the leader's reply, a stream that has begun."""
        ...

    def lead(self) -> None:
        """Make the call yourself: the leader's call failed, and you are the leader now."""
        ...

    def abandon(self) -> None:
        """End the call: the leader's caller and all followers have disconnected."""
        ...


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Lookups by their result, and what is kept now."""

    lookups: int
    hits: int
    joined: int
    shared: int  # replies given to followers
    handed_over: int
    in_flight: int
    entries: int
    size_bytes: int
    evicted: int


class _Flight:
    __slots__ = ("caller_gone", "followers", "leader", "provider", "source")

    def __init__(self, leader: Sharer) -> None:
        self.leader = leader
        self.followers: dict[Sharer, None] = {}  # in order of arrival
        self.caller_gone = False
        self.source: Broadcast | None = None  # of a stream that has begun
        self.provider = ""  # whose it is


class ReplyCache:
    """Keeps replies, and assigns leaders and followers. A leader calls `finish` once, or `leave` and stops if False.

    A failed call is shared only if it is final: if every follower would get the same error. Otherwise the first
    follower takes over. The leader's own deadline or disconnect is never final.
    """

    def __init__(self, config: CacheConfig, clock: Clock) -> None:
        self.enabled = config.deduplicate or config.keep_s > 0  # whether keys are needed at all
        self.keeps = config.keep_s > 0
        self._config = config
        self._clock = clock
        self._flights: dict[bytes, _Flight] = {}
        self._kept: dict[bytes, tuple[float, Kept]] = {}  # key -> (kept until, reply), the oldest first
        self._size_bytes = 0
        self._lookups = 0
        self._hits = 0
        self._joined = 0
        self._shared = 0
        self._handed_over = 0
        self._heirs: deque[Sharer] = deque()  # new leaders to notify; a queue, as recursion could get too deep
        self._evicted = 0

    def key(self, session: Session, plan: Plan, form: str, body: bytes) -> bytes:
        """Return the key that identical requests share; `form` is that of their replies."""
        return request_key("" if self._config.across_callers else session.caller, plan, form, body)

    def lookup(self, key: bytes, who: Sharer) -> Kept | CacheRole:
        """Return a kept reply, or the role of the request."""
        self._lookups += 1
        if self._kept:
            self._sweep()
            if (entry := self._kept.get(key)) is not None:
                self._hits += 1
                return entry[1]
        if not self._config.deduplicate:
            return CacheRole.LEADER
        flight = self._flights.get(key)
        if flight is None:
            self._flights[key] = _Flight(who)
            return CacheRole.LEADER
        if flight.source is not None and not flight.source.is_open:
            return CacheRole.LEADER  # of a call of its own: the beginning of the stream is dropped
        flight.followers[who] = None
        self._joined += 1
        return CacheRole.JOINED

    def catch_up(self, key: bytes, who: Sharer) -> None:
        """Let a follower read the stream, if it has begun."""
        flight = self._flights.get(key)
        if flight is not None and flight.source is not None and who in flight.followers:
            who.join_stream(flight.source, flight.provider)

    def begin_stream(self, key: bytes, leader: Sharer, source: Broadcast, provider: str) -> None:
        """Announce a leader's stream: all followers read it from its beginning."""
        flight = self._flights.get(key)
        if flight is None or flight.leader is not leader:
            return
        flight.source, flight.provider = source, provider
        for follower in list(flight.followers):
            follower.join_stream(source, provider)

    def end_stream(self, key: bytes, leader: Sharer, reply: Kept | None) -> None:
        """End a leader's stream; `reply` is all of it, to be kept."""
        if reply is not None:
            self._keep(key, reply)
        flight = self._flights.get(key)
        if flight is not None and flight.leader is leader:
            del self._flights[key]
            self._shared += len(flight.followers)

    def finish(self, key: bytes, leader: Sharer, reply: Kept | None, *, final: bool = True) -> None:
        """End a leader's call. Without a reply, or with one that is not final, the next follower leads."""
        if reply is not None and final and reply.status == 200 and self._config.keep_s > 0:
            self._keep(key, reply)
        flight = self._flights.get(key)
        if flight is None or flight.leader is not leader:
            return
        if reply is None or not final:
            self._hand_over(key, flight)
            return
        del self._flights[key]
        self._shared += len(flight.followers)
        for follower in flight.followers:
            follower.shared(reply)

    def leave(self, key: bytes, who: Sharer) -> bool:
        """Remove a request whose caller disconnected. True: others wait for its reply, so it must go on to `finish`."""
        flight = self._flights.get(key)
        if flight is None:
            return False
        if flight.leader is who:
            flight.caller_gone = bool(flight.followers)
            if not flight.followers:
                del self._flights[key]
            return flight.caller_gone
        flight.followers.pop(who, None)
        if flight.caller_gone and not flight.followers:
            del self._flights[key]
            flight.leader.abandon()
        return False

    def statistics(self) -> CacheStatistics:
        """Return the figures so far."""
        self._sweep()
        return CacheStatistics(
            self._lookups,
            self._hits,
            self._joined,
            self._shared,
            self._handed_over,
            len(self._flights),
            len(self._kept),
            self._size_bytes,
            self._evicted,
        )

    def _hand_over(self, key: bytes, flight: _Flight) -> None:
        if not flight.followers:
            del self._flights[key]
            return
        heir = next(iter(flight.followers))
        del flight.followers[heir]
        flight.leader = heir
        flight.caller_gone = False
        self._handed_over += 1
        self._heirs.append(heir)
        if len(self._heirs) > 1:  # an earlier heir failed at once, and its notification is still running
            return
        while self._heirs:
            try:
                self._heirs[0].lead()
            finally:
                self._heirs.popleft()

    def _keep(self, key: bytes, reply: Kept) -> None:
        size = _size(reply)
        if size > self._config.max_bytes or not self._config.max_entries:
            return
        self._sweep()
        if key in self._kept:
            self._drop(key)
        while self._kept and (
            len(self._kept) >= self._config.max_entries or self._size_bytes + size > self._config.max_bytes
        ):
            self._drop(next(iter(self._kept)))
            self._evicted += 1
        self._kept[key] = (self._clock.monotonic() + self._config.keep_s, reply)
        self._size_bytes += size

    def _sweep(self) -> None:
        now_s = self._clock.monotonic()
        while self._kept:
            key = next(iter(self._kept))
            if self._kept[key][0] > now_s:
                return
            self._drop(key)

    def _drop(self, key: bytes) -> None:
        self._size_bytes -= _size(self._kept.pop(key)[1])


def request_key(scope: str, plan: Plan, form: str, body: bytes) -> bytes:
    """Return a digest of a request's targets, scope and body; nothing can be read from it."""
    digest = blake2b(digest_size=32)
    parts = [scope, plan.surface, form, plan.model]
    for target in plan.targets:
        parts += [target.provider.name, target.provider.base_url, target.key.id, target.model]
    for part in (*(text.encode() for text in parts), _canonical(body)):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def _canonical(body: bytes) -> bytes:
    """Sort the outermost fields and drop spaces; return the body unchanged if that might change a number."""
    if _LONG_NUMBER.search(body):
        return body
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    return orjson.dumps(dict(sorted(fields.items()))) if isinstance(fields, dict) else body


def _size(reply: Kept) -> int:
    return len(reply.body) + len(reply.content_type) + _OVERHEAD_BYTES
