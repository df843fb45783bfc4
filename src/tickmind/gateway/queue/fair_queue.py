"""The bounded queue of one chain of targets."""

import math
from collections import Counter
from typing import Generic

from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.backlog import Backlog, JobT
from tickmind.gateway.queue.forecast import start_s
from tickmind.gateway.queue.job import Priority
from tickmind.gateway.queue.lane import Lane
from tickmind.gateway.queue.limits.reservations import Reservations
from tickmind.gateway.routing.plan import Plan


class FairQueue(Generic[JobT]):
    """All jobs that wait for one chain. It counts, bounds and finds jobs; the lanes' ledgers decide whose turn it is.

    When it is full, the owner with the most waiting jobs gives way to owners with fewer, so that a greedy owner can't
    shut the others out; among equals the newcomer is refused. Without keys this goes by addresses first.
    """

    __slots__ = (
        "_age_s",
        "_by_count",
        "_counts",
        "backlogs",
        "capacity",
        "checked_s",
        "forgotten",
        "lanes",
        "live",
        "look_again_s",
        "plan",
        "reserved",
        "standby",
        "targets",
        "under_way",
    )

    def __init__(self, plan: Plan, lanes: tuple[Lane, ...], *, capacity: int, age_s: float) -> None:
        self.plan = plan
        self.lanes = lanes
        self.targets = dict(zip(lanes, plan.targets, strict=True))  # lane -> the target of a job that goes by it
        self.capacity = capacity
        self.live = 0
        self.under_way = 0  # jobs of it that were sent
        self.forgotten = False  # replaced by another queue, or about to be
        self.backlogs: dict[Session, Backlog[JobT]] = {}
        self.checked_s = 0.0  # until when waiting jobs were checked against limited lanes
        self.look_again_s = -math.inf  # when its jobs may be looked through for those that are too late
        self.reserved = Reservations()  # callers that were asked to retry later
        self.standby: dict[JobT, None] = {}  # jobs whose callers hear as soon as a slot is free, in order of arrival
        self._age_s = age_s
        self._counts: dict[str, int] = {}  # group -> how many of its jobs wait
        self._by_count: list[dict[str, None]] = [{}]  # how many wait -> groups with so many; the last is not empty

    def outlook(self, now: float, tokens: int) -> tuple[float, bool]:
        """Return when a lane could take a request at the earliest, and whether all lanes are down until then."""
        back_s, down = float("inf"), True
        for lane in self.lanes:
            back_s = min(back_s, lane.back_s(now, tokens))
            down = down and lane.is_down(now)
        return back_s, down

    def forecast(self, session: Session, now: float, agent: str = "") -> float:
        """Return when a session's request that came now could be expected to be sent; `now` if nothing is in its way.

        For a caller with a reserved place that is the place's time.
        """
        if self.reserved.places and (at_s := self.reserved.of(session, agent)) is not None:
            return max(at_s, now)
        if self.live:
            backlog = self.backlogs.get(session)
            return start_s(self.lanes, now, self._turns(session, backlog.live if backlog is not None else 0))
        lanes = self.lanes
        first = lanes[0]
        key = first.key
        at_s = first.back_s(now, 0) if len(lanes) == 1 else min(lane.back_s(now, 0) for lane in lanes)
        if first.in_flight < first.concurrency and key.in_flight < key.concurrency:  # inlined `has_slot`
            return at_s
        if any(lane.has_slot for lane in lanes[1:]):
            return at_s
        return max(at_s, start_s(lanes, now, 0))

    def ahead_of(self, job: JobT) -> int:
        """Return how many waiting jobs go before a job that comes now."""
        if not self.live:
            return 0
        own = 0
        backlog = self.backlogs.get(job.session)
        if backlog is not None:
            own = backlog.live if job.priority is Priority.LOW else sum(one.priority <= job.priority for one in backlog)
        return self._turns(job.session, own)

    def _turns(self, session: Session, own: int) -> int:
        """Return how many jobs go before a session's next one, if it has `own` before that: all sessions take turns."""
        others = len(self.backlogs) - (session in self.backlogs)
        backlog = self.backlogs.get(session)
        elsewhere = self.live - (backlog.live if backlog is not None else 0)
        return own + min(elsewhere, (own + 1) * others)

    def jobs(self) -> list[JobT]:
        """Return all waiting jobs."""
        return [job for backlog in self.backlogs.values() for job in backlog]

    def push(self, job: JobT) -> None:
        """Add a waiting job."""
        session = job.session
        backlog = self.backlogs.get(session)
        if backlog is None:
            backlog = self.backlogs[session] = Backlog(session, self._age_s)
        job.backlog = backlog
        backlog.push(job)
        self.live += 1
        self._count(_group(session), 1)
        if backlog.live == 1:
            for lane in self.lanes:
                lane.turns.add(backlog, job.queued_s)
        for lane in self.lanes:
            lane.waiting += 1
            lane.key.waiting += 1

    def remove(self, job: JobT) -> None:
        """Remove a job that no longer waits; its state is changed already."""
        backlog = self.backlogs[job.session]
        backlog.remove(job)
        job.backlog = None
        self.live -= 1
        self._count(_group(job.session), -1)
        if not backlog.live:
            del self.backlogs[job.session]
        for lane in self.lanes:
            lane.waiting -= 1
            lane.key.waiting -= 1

    def victim_for(self, job: JobT) -> JobT | None:
        """Return the job that gives way to a new one in a full queue: the last of the owner with the most.

        None: the new job's own owner has the most.

        Any owner of another group gives way if the group has more than the job's; within the own group owners count.
        """
        own, most = _group(job.session), len(self._by_count) - 1
        is_own = self._counts.get(own, 0) + 1 >= most
        group = own if is_own else next(iter(self._by_count[most]))
        waiting: Counter[str] = Counter()  # owner -> how many of its jobs wait
        for session, backlog in self.backlogs.items():
            if _group(session) == group:
                waiting[session.owner] += backlog.live
        owner = max(waiting, key=waiting.__getitem__, default="")
        if is_own and waiting[job.session.owner] + 1 >= waiting[owner]:
            return None
        longest = max(
            (backlog for backlog in self.backlogs.values() if backlog.session.owner == owner),
            key=lambda backlog: backlog.live,
        )
        return longest.last()

    def _count(self, group: str, change: int) -> None:
        before = self._counts.get(group, 0)
        after = before + change
        by_count = self._by_count
        by_count[before].pop(group, None)
        if after:
            self._counts[group] = after
            if after == len(by_count):
                by_count.append({})
            by_count[after][group] = None
        else:
            del self._counts[group]
        while len(by_count) > 1 and not by_count[-1]:
            by_count.pop()


def _group(session: Session) -> str:
    """Return what counts as one: the owner, or all sessions of one address without keys."""
    return session.group or session.owner
