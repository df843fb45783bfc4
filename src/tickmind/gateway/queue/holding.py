"""Held requests: those of agents that have deferred wait here until the agent's time, and are queued then."""

from collections.abc import Callable

from tickmind.base import Clock, Limit
from tickmind.gateway.fairness.defer import Defers
from tickmind.gateway.queue.job import Handle, JobState, Timers
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Code, Refusal

MAX_HELD = Limit("requests held for deferred agents", 10_000)
MAX_HELD_OF_AN_AGENT = Limit("requests held for one deferred agent", 100)

_Agent = tuple[str, str]  # session's label, agent


class Holding:
    """Holds jobs for as long as their agents have deferred, following every later decision of the agents.

    An agent that ends its wait frees its jobs at once; an agent that extends it holds them longer, and jobs that would
    be held for too long are refused. `submit` takes a job that is free.
    """

    def __init__(
        self,
        defers: Defers,
        clock: Clock,
        timers: Timers,
        *,
        submit: Callable[[Ticket], None],
        max_held: Limit = MAX_HELD,
        max_of_an_agent: Limit = MAX_HELD_OF_AN_AGENT,
    ) -> None:
        self._defers = defers
        self._monotonic = clock.monotonic
        self._timers = timers
        self._submit = submit
        self._max_held = max_held
        self._max_of_an_agent = max_of_an_agent
        self._jobs: dict[_Agent, dict[Ticket, None]] = {}  # in order of arrival
        self._handles: dict[_Agent, Handle] = {}  # the timer of each agent in `_jobs`
        self._count = 0
        defers.on_changed = self._changed

    def __len__(self) -> int:
        return self._count

    def hold(self, job: Ticket, until_s: float) -> None:
        """Hold a job whose agent has deferred until then, or refuse it."""
        agent = (job.session.label, job.agent)
        job.state = JobState.HELD
        if job.replace_older:
            for older in list(self._jobs.get(agent, ())):
                self._refuse(older, Refusal(Code.REPLACED, "replaced by a newer request of the same agent"))
        wait_s = until_s - self._monotonic()
        if until_s >= _end_s(job):
            self._refuse(job, _too_late(wait_s))
            return
        held = self._jobs.get(agent, {})
        for limit, size in ((self._max_held, self._count), (self._max_of_an_agent, len(held))):
            if not limit.allows(size + 1):
                words = f"there are {size:,} {limit.name} already; retry when some of them are queued"
                self._refuse(job, Refusal(Code.QUEUE_FULL, words, retry_after_s=wait_s))
                return
        self._jobs.setdefault(agent, {})[job] = None
        self._count += 1
        if agent not in self._handles:
            self._arm(agent, until_s)

    def leave(self, job: Ticket) -> None:
        """Remove a held job whose caller disconnected; ending it is up to the caller of this."""
        agent = (job.session.label, job.agent)
        jobs = self._jobs.get(agent, {})
        if job in jobs:
            del jobs[job]
            self._count -= 1
            if not jobs:
                self._forget(agent)

    def close(self, refusal: Refusal) -> None:
        """Refuse all held jobs."""
        for jobs in list(self._jobs.values()):
            for job in list(jobs):
                self._refuse(job, refusal)

    def _changed(self, agent: _Agent) -> None:
        """Reschedule an agent's jobs after a new decision, or queue them when its time has come."""
        jobs = self._jobs.get(agent)
        if jobs is None:
            return
        until_s = self._defers.until(*agent)
        if until_s is not None:
            self._handles.pop(agent).cancel()
            self._arm(agent, until_s)
            late = [job for job in jobs if until_s >= _end_s(job)]
            for job in late:
                self._refuse(job, _too_late(until_s - self._monotonic()))
            return
        self._forget(agent)
        self._count -= len(jobs)
        for job in jobs:
            if job.state is JobState.HELD:  # else its caller left while an earlier job was sent
                job.state = JobState.NEW
                self._submit(job)

    def _arm(self, agent: _Agent, until_s: float) -> None:
        self._handles[agent] = self._timers(until_s, lambda: self._changed(agent))

    def _forget(self, agent: _Agent) -> None:
        del self._jobs[agent]
        self._handles.pop(agent).cancel()

    def _refuse(self, job: Ticket, refusal: Refusal) -> None:
        if job.state is JobState.HELD:
            self.leave(job)
            job.state = JobState.DONE
            job.carrier.refuse(job, refusal)


def _end_s(job: Ticket) -> float:
    return job.deadline_s if job.drop_after_s is None else min(job.deadline_s, job.drop_after_s)


def _too_late(wait_s: float) -> Refusal:
    words = f"this agent has deferred for {wait_s:.1f} s more, longer than the request may take"
    return Refusal(Code.DEFERRED, words, retry_after_s=wait_s)
