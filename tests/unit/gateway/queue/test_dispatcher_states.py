"""Whatever callers, providers and time do: each job ends once, no permit leaks, no limit is passed, order holds."""

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.kits.queue_doubles import SimulatedTime
from tests.long import short_or_long

from tickmind.base import Secret
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.dispatcher import Dispatcher
from tickmind.gateway.queue.job import JobState, Outcome, Priority, Result
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, CircuitConfig, GatewayConfig, Limits, Provider, QueueConfig

LIMITS = {"a": Limits(concurrency=2), "b": Limits(requests_per_second=2, burst=3, concurrency=4)}
MODEL_LIMITS = {"own": Limits(requests_per_second=1, tokens_per_minute=1000, concurrency=1)}
OUTCOMES = [Result.OK, Result.OK, Result.OK, *Result]


class QueueMachine(RuleBasedStateMachine):
    """Random submits, cancels, outcomes and time."""

    def __init__(self):
        super().__init__()
        self.time = SimulatedTime()
        config = GatewayConfig(
            queue=QueueConfig(capacity=8, max_wait_s=20.0),
            circuit=CircuitConfig(failures=3, open_s=2.0, account_pause_s=3.0),
        )
        self.dispatcher = Dispatcher(config, clock=self.time, timers=self.time.at, random=random.Random(1))
        providers = {
            name: Provider(
                name,
                f"http://{name}.test",
                (ApiKey(name, Secret("s")),),
                limits,
                model_limits=MODEL_LIMITS,
                fall_back_on_errors=name == "a",
            )
            for name, limits in LIMITS.items()
        }
        target = {
            (name, model): Target(provider, provider.keys[0], model)
            for name, provider in providers.items()
            for model in ("m", "own")
        }
        chains = ((("a", "m"),), (("a", "m"), ("b", "m")), (("b", "own"), ("b", "m")), (("b", "m"), ("a", "own")))
        self.plans = [Plan(tuple(target[name] for name in chain), "m") for chain in chains]
        self.sessions = [Session(f"s{number}", f"o{number % 2}", 1.0 + number) for number in range(3)]
        self.sent: list[Ticket] = []  # on their way now
        self.queued: list[Ticket] = []
        self.ended: set[Ticket] = set()
        self.calls: list[tuple[float, str, str]] = []  # time, provider, model

    # The carrier

    def send(self, job, target):
        assert job not in self.ended
        assert job not in self.sent
        now = self.time.monotonic()
        assert now < job.deadline_s
        older = [
            other
            for other in self.queued
            if other is not job
            and (other.session, other.priority, other.queue) == (job.session, job.priority, job.queue)
            and other.number < job.number
            and other.state is JobState.QUEUED
        ]
        assert older == []
        if job in self.queued:
            self.queued.remove(job)
        self.sent.append(job)
        self.calls.append((now, target.provider.name, target.model))
        lane = job.lane
        assert lane.in_flight <= lane.concurrency
        assert lane.key.in_flight <= lane.key.concurrency
        assert lane.blocked_until_s <= now

    def refuse(self, job, refusal):
        assert job not in self.sent
        self._end(job)

    def _end(self, job):
        assert job not in self.ended
        assert job.state is JobState.DONE
        if job in self.queued:
            self.queued.remove(job)
        self.ended.add(job)

    # What happens

    @rule(
        plan=st.integers(0, 3),
        session=st.integers(0, 2),
        priority=st.sampled_from(Priority),
        tokens=st.integers(0, 400),
        timeout_s=st.floats(0.1, 60),
        agent=st.sampled_from(["", "x", "y"]),
        replace=st.booleans(),
    )
    def submit(self, plan, session, priority, tokens, timeout_s, agent, replace):
        job = Ticket(
            self.plans[plan],
            self.sessions[session],
            self,
            self.time.monotonic() + timeout_s,
            agent=agent,
            priority=priority,
            tokens=tokens,
            replace_older=replace,
        )
        self.queued.append(job)
        self.dispatcher.submit(job)

    @rule(choice=st.integers(0, 100))
    def cancel(self, choice):
        jobs = self.queued + self.sent
        if jobs:
            job = jobs[choice % len(jobs)]
            self.dispatcher.cancel(job)
            if job in self.sent:
                self.sent.remove(job)
            self._end(job)

    @rule(
        choice=st.integers(0, 100),
        result=st.sampled_from(OUTCOMES),
        wait_s=st.none() | st.floats(0, 30) | st.just(float("nan")),
        used=st.none() | st.integers(0, 800),
        begun=st.booleans(),
    )
    def end(self, choice, result, wait_s, used, begun):
        if not self.sent:
            return
        job = self.sent.pop(choice % len(self.sent))
        self.queued.append(job)  # if it goes back, `send` and `refuse` may come before `ended` returns
        if self.dispatcher.ended(
            job, Outcome(result, retry_after_s=wait_s, prompt_tokens=used, completion_tokens=0, begun=begun)
        ):
            self._end(job)

    @rule(seconds=st.sampled_from([0.01, 0.3, 1.0, 5.0, 30.0]))
    def wait(self, seconds):
        self.time.run_for(seconds)

    # What always holds

    @invariant()
    def books_agree(self):
        figures = self.dispatcher.statistics()
        assert figures.in_flight == len(self.sent)
        held = self.dispatcher._waiting.held  # they wait for their refusal only
        assert figures.queued + len(held) == len(self.queued)
        assert sum(lane.in_flight for lane in self.dispatcher.lanes()) == len(self.sent)
        now = self.time.monotonic()
        for job in self.queued:
            assert job.state is JobState.QUEUED
            assert job.expires_s > now
        for queue in self.dispatcher._lanes.queues.values():
            assert queue.live == sum(backlog.live for backlog in queue.backlogs.values())
            assert queue.live <= 8 + 6  # those who came back after a 429 are let in
        for lane in self.dispatcher.lanes():
            assert lane.waiting == sum(queue.live for queue in self.dispatcher._lanes.queues_of(lane))
            assert lane.key.waiting == sum(other.waiting for other in lane.key.lanes)

    @invariant()
    def nobody_waits_while_there_is_room(self):
        now = self.time.monotonic()
        for lane in self.dispatcher.lanes():
            if lane.waiting:
                backlog = lane.turns.first(now, lane.request_s)
                assert backlog is not None
                job = backlog.first()
                assert lane.earliest_s(now, job.tokens, lane.is_for_spare(now)) > now

    @invariant()
    def no_limit_is_passed(self):
        for provider, model, limit in (("b", None, 2), ("a", "own", 1), ("b", "own", 1)):
            times = [at for at, name, kind in self.calls if name == provider and (model is None or kind == model)]
            for at in times:
                assert sum(at - 1.0 + 1e-9 < other <= at for other in times) <= limit

    def teardown(self):
        for _ in range(1000):
            if not self.sent and not self.queued:
                break
            while self.sent:
                job = self.sent.pop()
                self.queued.append(job)
                if self.dispatcher.ended(job, Outcome(Result.OK, 200)):
                    self._end(job)
            self.time.run_for(1.0)
        assert self.sent == self.queued == []
        assert all(lane.in_flight == lane.key.in_flight == lane.waiting == 0 for lane in self.dispatcher.lanes())


QueueMachine.TestCase.settings = settings(
    max_examples=short_or_long(20, 60),
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestQueueMachine = pytest.mark.slow(QueueMachine.TestCase)
