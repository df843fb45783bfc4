"""Who waits: the jobs of one session for one chain, and the queue of a chain with its bound."""

from collections import Counter, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tickmind.gateway.queue.forecast import start_s
from tickmind.gateway.queue.job import Job, Plan, Priority, State
from tickmind.gateway.queue.limits.reservations import Reservations

if TYPE_CHECKING:
    from tickmind.gateway.fairness.sessions import Session
    from tickmind.gateway.queue.lane import Lane

_GARBAGE = 16  # removed jobs that may lie about in a backlog besides one for each that waits


class Backlog:
    """The jobs of one session in one queue: each priority first in, first out, and waiting makes up for priority.

    Once a job has waited in vain, the newest of a priority goes first: it has the most time left for its answer. So it
    stays until none of them waits.
    """

    __slots__ = ("_age_s", "_dead", "_lines", "live", "newest_first", "queue", "session")

    def __init__(self, session: "Session", queue: "FairQueue", age_s: float) -> None:
        self.session = session
        self.queue = queue
        self.live = 0
        self.newest_first = False
        self._dead = 0
        self._age_s = age_s
        self._lines: tuple[deque[Job], ...] = tuple(deque() for _ in Priority)

    def push(self, job: Job) -> None:
        """Put a job where it belongs: at the end, or, if it has been sent before, ahead of those that came later."""
        line = self._lines[job.priority]
        if line and line[-1].number > job.number:
            later = [line.popleft()] if line[0].number < job.number else []
            while line and line[0].number < job.number:
                later.append(line.popleft())
            line.appendleft(job)
            line.extendleft(reversed(later))
        else:
            line.append(job)
        self.live += 1

    def first_key(self) -> float:
        """When the first would have come if it had the highest priority. Only while somebody waits."""
        return self._first()[0]

    def first(self) -> Job:
        """The next job. Only while somebody waits."""
        return self._first()[1]

    def remove(self, job: Job) -> None:
        """Take a job out, which is no longer queued; what stays of it is swept later."""
        self.live -= 1
        line = self._lines[job.priority]
        if line and line[0] is job:
            line.popleft()
            return
        if line and line[-1] is job:
            line.pop()
            return
        self._dead += 1
        if self._dead > self.live + _GARBAGE or not self.live:
            for old in self._lines:
                kept = [other for other in old if other.state is State.QUEUED and other.backlog is self]
                old.clear()
                old.extend(kept)
            self._dead = 0

    def last(self) -> Job:
        """The one that can wait best: the newest of the lowest priority. Only while somebody waits."""
        for priority in reversed(Priority):
            if any(job.priority is priority for job in self):
                return self._newest(priority)
        raise AssertionError("nobody waits here")

    def __iter__(self) -> Iterator[Job]:
        return (job for line in self._lines for job in line if job.state is State.QUEUED and job.backlog is self)

    def _first(self) -> tuple[float, Job]:
        best: Job | None = None
        best_key = 0.0
        for priority, line in enumerate(self._lines):
            while line:
                job = line[0]
                if job.state is not State.QUEUED or job.backlog is not self:
                    line.popleft()
                    self._dead -= 1
                    continue
                key = job.arrived_s + priority * self._age_s
                if best is None or key < best_key:
                    best, best_key = job, key
                break
        assert best is not None, "nobody waits here"
        return best_key, self._newest(best.priority) if self.newest_first else best

    def _newest(self, priority: Priority) -> Job:
        """The newest of a priority of which somebody waits."""
        line = self._lines[priority]
        while line[-1].state is not State.QUEUED or line[-1].backlog is not self:
            line.pop()
            self._dead -= 1
        return line[-1]


class FairQueue:
    """All that wait for one chain. It counts, bounds and finds; whose turn it is, the lanes' ledgers say.

    When it is full, who has the most waiting gives way to who has less, so that a greedy owner can't shut the others
    out; among equals the newcomer is refused. Without keys this goes by addresses first.
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
        "plan",
        "reserved",
        "targets",
        "under_way",
    )

    def __init__(self, plan: Plan, lanes: tuple["Lane", ...], *, capacity: int, age_s: float) -> None:
        self.plan = plan
        self.lanes = lanes
        self.targets = dict(zip(lanes, plan.targets, strict=True))  # lane -> where a job goes that goes by it
        self.capacity = capacity
        self.live = 0
        self.under_way = 0  # jobs of it that were sent
        self.forgotten = False  # another one has its place, or will have
        self.backlogs: dict[Session, Backlog] = {}
        self.checked_s = 0.0  # up to when all who wait know that all lanes are limited
        self.reserved = Reservations()  # who was told to come back
        self._age_s = age_s
        self._counts: dict[str, int] = {}  # group -> how many of its jobs wait
        self._by_count: list[dict[str, None]] = [{}]  # how many wait -> groups with so many; the last is not empty

    def outlook(self, now: float, tokens: int) -> tuple[float, bool]:
        """When a lane could take a request at the earliest, and whether all of them are down until then."""
        back_s, down = float("inf"), True
        for lane in self.lanes:
            back_s = min(back_s, lane.back_s(now, tokens))
            down = down and lane.is_down(now)
        return back_s, down

    def forecast(self, session: "Session", now: float, agent: str = "") -> float:
        """Return when a request of a session that came now could be expected to go out; `now` if nothing is in its way.

        A caller for whom a place is kept is told that.
        """
        if self.reserved and (at_s := self.reserved.of(session, agent)) is not None:
            return max(at_s, now)
        if self.live:
            backlog = self.backlogs.get(session)
            return start_s(self, now, self._turns(session, backlog.live if backlog is not None else 0))
        lanes = self.lanes
        first = lanes[0]
        at_s = first.back_s(now, 0) if len(lanes) == 1 else min(lane.back_s(now, 0) for lane in lanes)
        has_slot = first.has_slot or any(lane.has_slot for lane in lanes)
        return at_s if has_slot else max(at_s, start_s(self, now, 0))

    def ahead_of(self, job: Job) -> int:
        """Return how many of those who wait go before a job that comes now."""
        if not self.live:
            return 0
        own = 0
        backlog = self.backlogs.get(job.session)
        if backlog is not None:
            own = backlog.live if job.priority is Priority.LOW else sum(one.priority <= job.priority for one in backlog)
        return self._turns(job.session, own)

    def _turns(self, session: "Session", own: int) -> int:
        """How many go first of a session that has so many of its own before the one at hand: all take turns."""
        others = len(self.backlogs) - (session in self.backlogs)
        backlog = self.backlogs.get(session)
        elsewhere = self.live - (backlog.live if backlog is not None else 0)
        return own + min(elsewhere, (own + 1) * others)

    def jobs(self) -> list[Job]:
        """All that wait."""
        return [job for backlog in self.backlogs.values() for job in backlog]

    def push(self, job: Job) -> None:
        """Let a job wait."""
        session = job.session
        backlog = self.backlogs.get(session)
        if backlog is None:
            backlog = self.backlogs[session] = Backlog(session, self, self._age_s)
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

    def remove(self, job: Job) -> None:
        """A job no longer waits; its state says so already."""
        backlog = job.backlog
        assert backlog is not None, "a job that waits is in a backlog"
        backlog.remove(job)
        job.backlog = None
        self.live -= 1
        self._count(_group(job.session), -1)
        if not backlog.live:
            del self.backlogs[job.session]
        for lane in self.lanes:
            lane.waiting -= 1
            lane.key.waiting -= 1

    def victim_for(self, job: Job) -> Job | None:
        """Who gives way to a new job in a full queue: the last of the owner with the most, None if that is its own.

        Of another group any owner gives way if the group has more than the job's; within its own it goes by owners.
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


def _group(session: "Session") -> str:
    """Who counts as one: the owner, or all who come from one address without keys."""
    return session.group or session.owner
