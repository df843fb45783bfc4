"""All waiting jobs of all queues, indexed by agent."""

from tickmind.gateway.queue.fair_queue import FairQueue
from tickmind.gateway.queue.job import JobState
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.queue.wakeups import Wakeups

MAX_HELD = 1000  # requests whose refusal is held back


class WaitingJobs:
    """Adds jobs to queues and removes them, so that queue, lanes, expiry and index always agree.

    `held` are jobs that only wait for their refusal: their callers came back too early, and would do so again at
    once, or they stand by until a slot is free.
    """

    __slots__ = ("_agents", "_wakeups", "count", "held")

    def __init__(self, wakeups: Wakeups) -> None:
        self.count = 0
        self.held: dict[Ticket, None] = {}
        self._wakeups = wakeups
        self._agents: dict[tuple[str, str, str], dict[Ticket, None]] = {}  # owner, session, agent -> its jobs

    def add(self, job: Ticket, queue: FairQueue[Ticket], now: float) -> None:
        """Let a job wait until its `expires_s`."""
        job.queued_s = now
        job.queue = queue
        self.count += 1
        queue.push(job)
        self._enter(job)

    def hold(self, job: Ticket, queue: FairQueue[Ticket], until_s: float, now: float) -> bool:
        """Hold a job's refusal until then; return False if that is over, or too many are held."""
        if until_s <= now or len(self.held) >= MAX_HELD:
            return False
        job.expires_s = until_s
        self.held[job] = None
        if job.place is not None and not job.place.is_ignored(now):
            queue.standby[job] = None
        self._enter(job)
        return True

    def _enter(self, job: Ticket) -> None:
        job.state = JobState.QUEUED
        if job.agent:
            self._agents.setdefault(_name(job), {})[job] = None
        self._wakeups.expire(job)

    def remove(self, job: Ticket) -> None:
        """Remove a job from its queue; ending it is up to the caller."""
        queue = job.queue
        assert job.state is JobState.QUEUED, "only a job that waits can be taken out"
        assert queue is not None, "a job that waits has a queue"
        job.state = JobState.NEW
        if job in self.held:
            del self.held[job]
            queue.standby.pop(job, None)
        else:
            self.count -= 1
            queue.remove(job)
        if job.agent:
            name = _name(job)
            jobs = self._agents[name]
            del jobs[job]
            if not jobs:
                del self._agents[name]

    def of_agent(self, job: Ticket) -> list[Ticket]:
        """Return the waiting jobs of the same agent of the same session."""
        return list(self._agents.get(_name(job), ())) if job.agent else []


def _name(job: Ticket) -> tuple[str, str, str]:
    return job.session.owner, job.session.id, job.agent
