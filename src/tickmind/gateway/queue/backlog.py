"""The backlog: the jobs of one session that wait for one chain of targets."""

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.job import Job, JobState, Priority

JobT = TypeVar("JobT", bound=Job)
_GARBAGE = 16  # removed jobs that may stay in a backlog, plus one for each waiting job


class Backlog(Generic[JobT]):
    """The jobs of one session in one queue: first in, first out per priority; waiting time makes up for priority.

    Once a job has expired, the newest of a priority goes first, because it has the most time left for its answer; this
    lasts until no job waits.
    """

    __slots__ = ("_age_s", "_dead", "_lines", "live", "newest_first", "session")

    def __init__(self, session: Session, age_s: float) -> None:
        self.session = session
        self.live = 0
        self.newest_first = False
        self._dead = 0
        self._age_s = age_s
        self._lines: tuple[deque[JobT], ...] = tuple(deque() for _ in Priority)

    def push(self, job: JobT) -> None:
        """Add a job: at the end, or, if it has been sent before, ahead of those that came later."""
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
        """Return the arrival time of the first job, corrected by its priority. Call it only while a job waits."""
        return self._first()[0]

    def first(self) -> JobT:
        """Return the next job. Call it only while a job waits."""
        return self._first()[1]

    def remove(self, job: JobT) -> None:
        """Remove a job that is no longer queued; its entry is swept later."""
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
                kept = [other for other in old if other.state is JobState.QUEUED and other.backlog is self]
                old.clear()
                old.extend(kept)
            self._dead = 0

    def last(self) -> JobT:
        """Return the job that can best wait: the newest of the lowest priority. Call it only while a job waits."""
        for priority in reversed(Priority):
            if any(job.priority is priority for job in self):
                return self._newest(priority)
        raise AssertionError("no job waits here")

    def __iter__(self) -> Iterator[JobT]:
        return (job for line in self._lines for job in line if job.state is JobState.QUEUED and job.backlog is self)

    def _first(self) -> tuple[float, JobT]:
        best: JobT | None = None
        best_key = 0.0
        for priority, line in enumerate(self._lines):
            while line:
                job = line[0]
                if job.state is not JobState.QUEUED or job.backlog is not self:
                    line.popleft()
                    self._dead -= 1
                    continue
                key = job.arrived_s + priority * self._age_s
                if best is None or key < best_key:
                    best, best_key = job, key
                break
        assert best is not None, "no job waits here"
        return best_key, self._newest(best.priority) if self.newest_first else best

    def _newest(self, priority: Priority) -> JobT:
        """Return the newest job of a priority, of which at least one waits."""
        line = self._lines[priority]
        while line[-1].state is not JobState.QUEUED or line[-1].backlog is not self:
            line.pop()
            self._dead -= 1
        return line[-1]
