"""Defers: waits that agents chose for themselves, during which their requests are held."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tickmind.base import Clock, Limit
from tickmind.base.time_heap import TimeHeap
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.llm.gateway_contract import MAX_NAME_CHARS, is_name

DEFAULT_DEFER_MS = 5_000.0
MAX_DEFER_MS = Limit("duration of a defer", 600_000.0, "ms")  # longer ones are cut to it
MAX_DEFERS = Limit("deferred agents", 10_000)
MAX_DEFERS_OF_A_SESSION = Limit("deferred agents of one session", 1_000)


@dataclass(frozen=True, slots=True)
class Deferred:
    """One waiting agent, as statistics show it."""

    session: str
    agent: str
    left_s: float


@dataclass(frozen=True, slots=True)
class DeferStatistics:
    """How many agents wait now, how many defers there were, and how many requests were held."""

    deferred: int
    made: int
    cancelled: int
    held_requests: int


class Decision(NamedTuple):
    """An agent's last decision: wait until a monotonic time, and when it cancelled an earlier wait.

    Stamps are times of the server that gateways share; the larger is the later decision, and 0 is none.
    """

    until_s: float  # of the last defer, even if it was cancelled
    made_ms: int  # stamp of the last defer
    ended_ms: int  # stamp of the last cancel; it cancels defers made up to then


class _Wait:
    """The newest decisions of one agent, at any gateway."""

    __slots__ = ("ended_ms", "known_until_s", "made_ms", "made_until_s")

    def __init__(self) -> None:
        self.made_until_s = -math.inf  # of the last defer
        self.known_until_s = -math.inf  # latest end of all defers: until then an old message could revive the wait
        self.made_ms = 0
        self.ended_ms = 0

    @property
    def until_s(self) -> float:
        return self.made_until_s if self.made_ms > self.ended_ms else -math.inf

    def take(self, until_s: float, made_ms: int) -> None:
        """Apply a defer: the later stamp counts, and of two equal stamps the longer wait."""
        self.known_until_s = max(self.known_until_s, until_s)
        self.made_ms, self.made_until_s = max((self.made_ms, self.made_until_s), (made_ms, until_s))


class Defers:
    """Which agents have deferred until when. Looking up an agent without a defer is one dictionary lookup.

    Several gateways converge, in whichever order and however often they exchange decisions: the latest defer counts
    unless a later cancel ended it. A defer extends the wait that its own gateway knows of.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        max_ms: Limit = MAX_DEFER_MS,
        max_defers: Limit = MAX_DEFERS,
        max_of_a_session: Limit = MAX_DEFERS_OF_A_SESSION,
    ) -> None:
        self._clock = clock
        self._max_ms = float(max_ms.maximum)
        self._max_defers = max_defers
        self._max_of_a_session = max_of_a_session
        self._waits: dict[tuple[str, str], _Wait] = {}  # (session's label, agent) -> its wait
        self._of_session: dict[str, int] = {}  # session's label -> how many
        self._due = TimeHeap[tuple[str, str]]()  # the keys of `_waits`, by when each is over
        self._made = 0
        self._cancelled = 0
        self._held = 0
        self.fresh: dict[tuple[str, str], Decision] | None = None  # decisions to publish; None with a single gateway
        self.offset_s = 0.0  # of stamps to the monotonic time
        self.on_changed: Callable[[tuple[str, str]], None] | None = None  # set by the part that holds requests

    def defer(self, session: Session, agent: str, duration_ms: float = DEFAULT_DEFER_MS) -> Deferred:
        """Hold an agent's requests from now on; a second defer extends the first, never shortens it.

        A duration of 0 or less ends the wait. Raises `RefusedError` if the name is invalid or too many agents wait.
        """
        if not agent or not MAX_NAME_CHARS.allows(len(agent)) or not is_name(agent):
            raise RefusedError(
                Refusal(Code.BAD_REQUEST, f"an agent's name has 1 to {MAX_NAME_CHARS.maximum} printable characters")
            )
        if math.isnan(duration_ms):
            raise RefusedError(Refusal(Code.BAD_REQUEST, "a defer takes a duration in ms, such as 5000"))
        if duration_ms <= 0:
            self.cancel(session, agent)
            return Deferred(session.label, agent, 0.0)
        now_s = self._clock.monotonic()
        self._sweep(now_s)
        key = (session.label, agent)
        until_s = now_s + min(duration_ms, self._max_ms) / 1000
        wait = self._waits.get(key)
        if wait is None:
            self._check_room(session, now_s)
            wait = self._add(key, until_s)
        wait.take(max(until_s, wait.until_s), max(self._stamp_ms(now_s), wait.made_ms, wait.ended_ms + 1))
        self._made += 1
        self._publish(key, wait)
        self._change(key)
        return Deferred(session.label, agent, wait.until_s - now_s)

    def cancel(self, session: Session, agent: str) -> bool:
        """End an agent's wait; return False if there was none."""
        now_s = self._clock.monotonic()
        self._sweep(now_s)
        key = (session.label, agent)
        wait = self._waits.get(key)
        if wait is None or wait.until_s <= now_s:
            return False
        wait.ended_ms = max(self._stamp_ms(now_s), wait.made_ms)
        self._cancelled += 1
        self._publish(key, wait)
        self._change(key)
        return True

    def hear(self, label: str, agent: str, decision: Decision) -> None:
        """Apply a decision from another gateway; beyond the limit on all defers it is ignored."""
        now_s = self._clock.monotonic()
        self._sweep(now_s)
        key = (label, agent)
        until_s = min(decision.until_s, now_s + self._max_ms / 1000)
        wait = self._waits.get(key)
        if wait is None:
            if until_s <= now_s or not self._max_defers.allows(len(self._waits) + 1):
                return
            wait = self._add(key, until_s)
        wait.ended_ms = max(wait.ended_ms, decision.ended_ms)
        wait.take(until_s, decision.made_ms)
        self._change(key)

    def held_until(self, session: Session, agent: str) -> float | None:
        """Return the monotonic time until which an agent's request must be held, or None; counts it as held."""
        if not self._waits:
            return None
        until_s = self.until(session.label, agent)
        if until_s is not None:
            self._held += 1
        return until_s

    def until(self, label: str, agent: str) -> float | None:
        """Return the same time by a session's label, without counting."""
        wait = self._waits.get((label, agent))
        return None if wait is None or wait.until_s <= self._clock.monotonic() else wait.until_s

    def listing(self) -> tuple[Deferred, ...]:
        """Return all waiting agents, the next to end first."""
        now_s = self._clock.monotonic()
        self._sweep(now_s)
        waiting = sorted((wait.until_s, key) for key, wait in self._waits.items() if wait.until_s > now_s)
        return tuple(Deferred(label, agent, until_s - now_s) for until_s, (label, agent) in waiting)

    def statistics(self) -> DeferStatistics:
        """Return the figures so far."""
        return DeferStatistics(len(self.listing()), self._made, self._cancelled, self._held)

    def _check_room(self, session: Session, now_s: float) -> None:
        for limit, size in (
            (self._max_defers, len(self._waits)),
            (self._max_of_a_session, self._of_session.get(session.label, 0)),
        ):
            if not limit.allows(size + 1):
                raise RefusedError(
                    Refusal(
                        Code.QUEUE_FULL,
                        f"there are {size:,} {limit.name} already; wait until some of them end",
                        retry_after_s=max(0.0, self._due.first_s() - now_s),
                    )
                )

    def _add(self, key: tuple[str, str], until_s: float) -> _Wait:
        wait = self._waits[key] = _Wait()
        self._of_session[key[0]] = self._of_session.get(key[0], 0) + 1
        self._due.add(until_s, key)
        return wait

    def _change(self, key: tuple[str, str]) -> None:
        if self.on_changed is not None:
            self.on_changed(key)

    def _publish(self, key: tuple[str, str], wait: _Wait) -> None:
        if self.fresh is not None:
            self.fresh[key] = Decision(wait.made_until_s, wait.made_ms, wait.ended_ms)

    def _stamp_ms(self, now_s: float) -> int:
        return int(1000 * (now_s + self.offset_s))

    def _sweep(self, now_s: float) -> None:
        for key in self._due.due(now_s):
            known_until_s = self._waits[key].known_until_s
            if known_until_s > now_s:
                self._due.add(known_until_s, key)
                continue
            del self._waits[key]
            if self.fresh is not None:
                self.fresh.pop(key, None)
            left = self._of_session[key[0]] - 1
            if left:
                self._of_session[key[0]] = left
            else:
                del self._of_session[key[0]]
