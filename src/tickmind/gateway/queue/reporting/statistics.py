"""The queue's statistics and events: frozen figures for the dashboard and tests."""

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tickmind.gateway.queue.fair_queue import FairQueue
from tickmind.gateway.queue.forecast import start_s
from tickmind.gateway.queue.job import Job
from tickmind.gateway.queue.lane import Lane, LaneStatistics
from tickmind.gateway.refusal import Code

_RECENT = 1024  # waits that are kept


class QueueEventKind(Enum):
    """The kinds of events that are reported."""

    LIMITED = "limited"
    CIRCUIT_OPENED = "circuit_opened"
    CIRCUIT_CLOSED = "circuit_closed"
    ACCOUNT_REFUSED = "account_refused"
    FELL_BACK = "fell_back"


@dataclass(frozen=True, slots=True)
class QueueEvent:
    """An event at a lane. `until_s` is monotonic, 0 if it has no effect in time; `session` is its label.

    The `detail` of a fallback is its previous target and result, else the lane's reason.
    """

    kind: QueueEventKind
    provider: str
    key_id: str
    model: str
    session: str
    until_s: float
    detail: str

    @classmethod
    def of(cls, kind: QueueEventKind, job: Job, lane: Lane, until_s: float, detail: str) -> "QueueEvent":
        """Make the event of a job at a lane."""
        key, words = lane.key, detail or lane.reason
        return cls(kind, key.provider.name, key.key.id, lane.model, job.session.label, until_s, words)


@dataclass(frozen=True, slots=True)
class ChainStatistics:
    """One queue: its chain as (provider, key id, model), and its waiting jobs."""

    model: str  # as callers name it
    chain: tuple[tuple[str, str, str], ...]
    depth: int
    capacity: int
    waiting: tuple[tuple[str, int], ...]  # (session's label, jobs)
    expected: int  # callers with a reserved place
    wait_s: float  # expected wait of one more request

    @classmethod
    def of(cls, queue: FairQueue[Any], now: float) -> "ChainStatistics":
        """Return the figures of a queue."""
        expected = queue.reserved.expected(now)
        return cls(
            model=queue.plan.model,
            chain=tuple((target.provider.name, target.key.id, target.model) for target in queue.plan.targets),
            depth=queue.live,
            capacity=queue.capacity,
            waiting=tuple((session.label, backlog.live) for session, backlog in queue.backlogs.items()),
            expected=expected,
            wait_s=max(0.0, start_s(queue.lanes, now, queue.live + expected) - now),
        )


@dataclass(frozen=True, slots=True)
class WaitStatistics:
    """How long the jobs sent last had waited, including those that did not wait."""

    count: int
    mean_s: float
    p50_s: float
    p90_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """All figures of the queue at one moment."""

    queued: int
    in_flight: int
    submitted: int
    sent: int
    fallbacks: int
    retries: int  # attempts beyond the first of a request
    rounds: int
    retries_left: float
    retries_refused: int  # for want of budget
    refusals: tuple[tuple[Code, int], ...]
    waits: WaitStatistics
    chains: tuple[ChainStatistics, ...]
    lanes: tuple[LaneStatistics, ...]


class Waits:
    """The last waiting times; `add` takes one more."""

    __slots__ = ("_recent", "add")

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self.add = self._recent.append

    def statistics(self) -> WaitStatistics:
        """Return mean and percentiles; zeros if there are no waits."""
        waits = sorted(self._recent)
        if not waits:
            return WaitStatistics(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        last = len(waits) - 1
        p50_s, p90_s, p99_s = (waits[round(part * last)] for part in (0.5, 0.9, 0.99))
        return WaitStatistics(len(waits), sum(waits) / len(waits), p50_s, p90_s, p99_s, waits[-1])
