"""A queue on simulated time, with providers that count, for everything that is said about who is served when."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest
from tests.kits.queue_doubles import ScriptedProvider, SimulatedTime

from tickmind.base import Secret
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.dispatcher import Dispatcher
from tickmind.gateway.queue.job import JobState, Outcome, Priority, Result
from tickmind.gateway.queue.reporting.statistics import QueueEvent
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Refusal
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Limits, Provider


@dataclass
class Submission:
    """What became of one job."""

    job: Ticket
    sent: list[tuple[float, str]] = field(default_factory=list)
    ended: Outcome | None = None
    refused: Refusal | None = None
    cancelled: bool = False
    over_s: float = -1.0
    on_over: Callable[["Submission"], None] | None = None

    @property
    def over(self) -> bool:
        return self.ended is not None or self.refused is not None


class Desk:
    """Submits jobs, carries them to simulated providers and checks that each ends exactly once."""

    def __init__(
        self,
        providers: Mapping[str, ScriptedProvider],
        limits: Mapping[str, Limits],
        time: SimulatedTime,
        *,
        config: GatewayConfig | None = None,
        service_s: tuple[float, float] = (0.1, 0.3),
        seed: int = 1,
        provider_options: Mapping[str, object] | None = None,
    ) -> None:
        self.time = time
        self.upstream = dict(providers)
        self.chance = random.Random(seed)
        self.service_s = service_s
        self.events: list[QueueEvent] = []
        self.providers = {
            name: Provider(
                name,
                f"http://{name}.test/v1",
                (ApiKey(f"key-{name}", Secret("s")),),
                limits.get(name, Limits()),
                **(provider_options or {}),  # type: ignore[arg-type]  # fields of Provider
            )
            for name in providers
        }
        self.dispatcher = Dispatcher(
            config or GatewayConfig(),
            clock=time,
            timers=time.at,
            random=random.Random(seed),
            on_event=self.events.append,
        )
        self.tickets: dict[Ticket, Submission] = {}
        self.sessions: dict[str, Session] = {}
        self.plans: dict[tuple[str, ...], Plan] = {}
        self.keep = True

    def session(self, name: str, *, owner: str | None = None, weight: float = 1.0) -> Session:
        session = self.sessions.get(name)
        if session is None:
            session = self.sessions[name] = Session(name, owner if owner is not None else name, weight)
        return session

    def plan(self, *names: str) -> Plan:
        plan = self.plans.get(names)
        if plan is None:
            targets = []
            for name in names:
                provider, _, model = name.partition("/")
                found = self.providers[provider]
                targets.append(Target(found, found.keys[0], model or "m"))
            plan = self.plans[names] = Plan(tuple(targets), "m")
        return plan

    def submit(
        self,
        session: str = "a",
        chain: tuple[str, ...] | None = None,
        *,
        timeout_s: float = 120.0,
        agent: str = "",
        priority: Priority = Priority.NORMAL,
        tokens: int = 0,
        replace_older: bool = False,
        drop_after_s: float | None = None,
        on_over: Callable[[Submission], None] | None = None,
    ) -> Submission:
        now = self.time.monotonic()
        job = Ticket(
            self.plan(*(chain or tuple(self.providers))),
            self.session(session),
            self,
            now + timeout_s,
            agent=agent,
            priority=priority,
            tokens=tokens,
            replace_older=replace_older,
            drop_after_s=drop_after_s,
        )
        ticket = self.tickets[job] = Submission(job, on_over=on_over)
        self.dispatcher.submit(job)
        return ticket

    def cancel(self, ticket: Submission) -> None:
        ticket.cancelled = True
        self.dispatcher.cancel(ticket.job)
        assert ticket.job.state is JobState.DONE

    # The carrier

    def send(self, job: Ticket, target: Target) -> None:
        ticket = self.tickets[job]
        assert not ticket.over
        assert not ticket.cancelled
        assert job.state is JobState.SENT
        ticket.sent.append((self.time.monotonic(), target.provider.name))
        outcome = self.upstream[target.provider.name].call(job)
        self.time.after(self.chance.uniform(*self.service_s), lambda: self._end(ticket, outcome))

    def refuse(self, job: Ticket, refusal: Refusal) -> None:
        ticket = self.tickets[job]
        assert not ticket.over
        assert not ticket.cancelled
        ticket.refused = refusal
        self._over(ticket)

    def _end(self, ticket: Submission, outcome: Outcome) -> None:
        if ticket.cancelled:
            return
        assert not ticket.over
        if self.dispatcher.ended(ticket.job, outcome):
            ticket.ended = outcome
            self._over(ticket)

    def _over(self, ticket: Submission) -> None:
        assert ticket.job.state is JobState.DONE
        assert ticket.job.lane is None
        ticket.over_s = self.time.monotonic()
        if not self.keep:
            del self.tickets[ticket.job]
        if ticket.on_over is not None:
            ticket.on_over(ticket)

    # Sources

    def worker(
        self, session: str, until_s: float, served: list[Submission], chain: tuple[str, ...] | None = None
    ) -> None:
        """One that asks again as soon as it has an answer, and waits as it is told after a refusal."""

        def ask() -> None:
            if self.time.monotonic() < until_s:
                self.submit(session, chain, on_over=again)

        def again(ticket: Submission) -> None:
            if ticket.refused is None:
                served.append(ticket)
                self.time.after(0.0, ask)
            else:
                self.time.after(max(ticket.refused.retry_after_s or 0.0, 0.1), ask)

        self.time.after(0.0, ask)

    def assert_clean(self) -> None:
        """Nothing is left of anybody."""
        figures = self.dispatcher.statistics()
        assert figures.queued == figures.in_flight == 0
        for lane in self.dispatcher.lanes():
            assert lane.in_flight == lane.key.in_flight == lane.waiting == 0
        assert all(ticket.over or ticket.cancelled for ticket in self.tickets.values())


@pytest.fixture
def time():
    return SimulatedTime()


@pytest.fixture
def desk(time):
    """Makes a desk: `desk({"groq": Limits(...)}, script={"groq": ...})`; real limits default to what is configured."""

    def make(
        limits: Mapping[str, Limits],
        *,
        real: Mapping[str, ScriptedProvider] | None = None,
        script: Mapping[str, Callable[[Ticket, float], Outcome | None]] | None = None,
        **options,
    ) -> Desk:
        upstream = {name: ScriptedProvider(time, script=(script or {}).get(name)) for name in limits}
        upstream.update(real or {})
        return Desk(upstream, limits, time, **options)

    return make


@pytest.fixture
def tune():
    """Changes parts of the default configuration: `tune(queue={"capacity": 5})`."""

    def change(**parts: Mapping[str, object]) -> GatewayConfig:
        config = GatewayConfig()
        changed = {name: replace(getattr(config, name), **values) for name, values in parts.items()}
        return replace(config, **changed)

    return change


@pytest.fixture
def limited():
    """Makes the outcome of a 429."""

    def make(retry_after_s: float | None = None) -> Outcome:
        return Outcome(Result.RATE_LIMITED, 429, retry_after_s=retry_after_s)

    return make
