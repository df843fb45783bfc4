"""Waits that agents chose for themselves: until then their requests are held."""

import math
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from tickmind.base import Clock, Limit
from tickmind.gateway.names import MAX_AGENT_CHARS, is_name
from tickmind.gateway.refusal import Code, Refusal, RefusedError
from tickmind.gateway.sharing.sessions import Session

DEFAULT_DEFER_MS = 5_000.0
MAX_DEFER_MS = Limit("duration of a defer", 600_000.0, "ms")  # longer ones are cut to it
MAX_DEFERS = Limit("deferred agents", 10_000)
MAX_DEFERS_OF_A_SESSION = Limit("deferred agents of one session", 1_000)


@dataclass(frozen=True, slots=True)
class Deferred:
    """One agent that waits, as statistics show it."""

    session: str
    agent: str
    left_s: float


@dataclass(frozen=True, slots=True)
class DeferStatistics:
    """How many agents wait now, how often one chose to, and how many requests were held for it."""

    deferred: int
    made: int
    cancelled: int
    held_requests: int


class Defers:
    """Which agents have deferred until when. Asking of an agent that has not is one look into a table."""

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
        self._until_s: dict[tuple[str, str], float] = {}  # (session's label, agent) -> monotonic time
        self._of_session: dict[str, int] = {}  # session's label -> how many
        self._due: list[tuple[float, int, tuple[str, str]]] = []  # a heap, one entry for each
        self._numbers = count()
        self._made = 0
        self._cancelled = 0
        self._held = 0
        self.fresh: dict[tuple[str, str], float] | None = None  # what others are to hear, where there are others

    def defer(self, session: Session, agent: str, duration_ms: float = DEFAULT_DEFER_MS) -> Deferred:
        """Hold an agent's requests from now on; a second one extends the first, never shortens it.

        A duration of 0 or less ends the wait. Raises `RefusedError` if the name can't be one or too many wait.
        """
        if not agent or len(agent) > MAX_AGENT_CHARS or not is_name(agent):
            raise RefusedError(
                Refusal(Code.BAD_REQUEST, f"an agent's name has 1 to {MAX_AGENT_CHARS} printable characters")
            )
        if math.isnan(duration_ms):
            raise RefusedError(Refusal(Code.BAD_REQUEST, "a defer takes a duration in ms, such as 5000"))
        if duration_ms <= 0:
            self.cancel(session, agent)
            return Deferred(session.label, agent, 0.0)
        now_s = self._clock.monotonic()
        self._sweep(now_s)
        key = (session.label, agent)
        wanted_s = now_s + min(duration_ms, self._max_ms) / 1000
        known_s = self._until_s.get(key)
        if known_s is None:
            self._check_room(session, now_s)
            self._of_session[session.label] = self._of_session.get(session.label, 0) + 1
            heappush(self._due, (wanted_s, next(self._numbers), key))
        until_s = self._until_s[key] = wanted_s if known_s is None else max(known_s, wanted_s)
        self._made += 1
        if self.fresh is not None:
            self.fresh[key] = until_s
        return Deferred(session.label, agent, until_s - now_s)

    def cancel(self, session: Session, agent: str) -> bool:
        """End an agent's wait; False if there was none."""
        now_s = self._clock.monotonic()
        self._sweep(now_s)
        key = (session.label, agent)
        if self._until_s.get(key, now_s) <= now_s:
            return False
        self._until_s[key] = now_s  # its entry in the heap comes up at its time
        self._cancelled += 1
        if self.fresh is not None:
            self.fresh[key] = now_s
        return True

    def hear(self, label: str, agent: str, until_s: float) -> None:
        """An agent deferred, or ended its wait, at another gateway; beyond the bound on all it is not held here."""
        now_s = self._clock.monotonic()
        self._sweep(now_s)
        key = (label, agent)
        until_s = min(until_s, now_s + self._max_ms / 1000)
        if key not in self._until_s:
            if until_s <= now_s or not self._max_defers.allows(len(self._until_s) + 1):
                return
            self._of_session[label] = self._of_session.get(label, 0) + 1
            heappush(self._due, (until_s, next(self._numbers), key))
        self._until_s[key] = max(self._until_s.get(key, until_s), until_s) if until_s > now_s else now_s

    def held_until(self, session: Session, agent: str) -> float | None:
        """The monotonic time until which an agent's request must be held, or None; counted as held."""
        if not self._until_s:
            return None
        until_s = self._until_s.get((session.label, agent))
        if until_s is None or until_s <= self._clock.monotonic():
            return None
        self._held += 1
        return until_s

    def listing(self) -> tuple[Deferred, ...]:
        """All that wait, the next one first."""
        now_s = self._clock.monotonic()
        self._sweep(now_s)
        waiting = sorted((until_s, key) for key, until_s in self._until_s.items() if until_s > now_s)
        return tuple(Deferred(label, agent, until_s - now_s) for until_s, (label, agent) in waiting)

    def statistics(self) -> DeferStatistics:
        """The figures so far."""
        return DeferStatistics(len(self.listing()), self._made, self._cancelled, self._held)

    def _check_room(self, session: Session, now_s: float) -> None:
        for limit, size in (
            (self._max_defers, len(self._until_s)),
            (self._max_of_a_session, self._of_session.get(session.label, 0)),
        ):
            if not limit.allows(size + 1):
                raise RefusedError(
                    Refusal(
                        Code.QUEUE_FULL,
                        f"there are {size:,} {limit.name} already; let some of the waits end first",
                        retry_after_s=max(0.0, self._due[0][0] - now_s),
                    )
                )

    def _sweep(self, now_s: float) -> None:
        while self._due and self._due[0][0] <= now_s:
            key = heappop(self._due)[2]
            until_s = self._until_s[key]
            if until_s > now_s:
                heappush(self._due, (until_s, next(self._numbers), key))
                continue
            del self._until_s[key]
            left = self._of_session[key[0]] - 1
            if left:
                self._of_session[key[0]] = left
            else:
                del self._of_session[key[0]]
