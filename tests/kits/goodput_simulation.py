"""Callers that want more than a slow model gives, on simulated time and with the real dispatcher.

It answers how much of the model's time becomes answers that arrive in time, for any service time and patience, and for
callers that come back when they are told to as well as for those that don't. Tests and benchmarks use it.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.kits.queue_doubles import SimulatedTime

from tickmind.base import Secret
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.dispatcher import Dispatcher
from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.queue.limits.circuit import CircuitState
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Refusal
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Limits, Provider, QueueConfig

LATENCY_S = 0.002  # from a caller to the gateway
MIN_PAUSE_S = 0.001


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of load: how long the model takes for an answer, and how long callers wait for one."""

    name: str
    service_s: tuple[float, float]
    patience_s: float
    drop_after_s: float | None = None
    slots: int = 1
    callers: int = 12
    sessions: int = 1

    @property
    def per_second(self) -> float:
        """Answers per second if every second of the model were used."""
        return self.slots * 2 / sum(self.service_s)

    @property
    def attainable(self) -> float:
        """The share of that which can come in time: all of it, unless some answers take longer than any caller waits.

        Nobody knows beforehand which: they are started, and cut off when the patience ends.
        """
        least_s, most_s = self.service_s
        if most_s <= self.patience_s:
            return 1.0
        in_time = (self.patience_s - least_s) / (most_s - least_s)
        busy_s = in_time * (least_s + self.patience_s) / 2 + (1 - in_time) * self.patience_s
        return in_time / busy_s * (least_s + most_s) / 2


CASES = (
    Case("2 s, 2.5 s patience", (2.0, 2.0), 2.5),
    Case("2-3.5 s, 3 s patience, one session", (2.0, 3.5), 3.0),
    Case("2-3.5 s, 3 s patience, 12 sessions", (2.0, 3.5), 3.0, sessions=12),
    Case("1.5-2.5 s, 3 s patience, dropped after 1.5 s", (1.5, 2.5), 3.0, drop_after_s=1.5),
    Case("2-3.5 s, 6 s patience", (2.0, 3.5), 6.0),
    Case("1.5-2.5 s, 3 s patience, 4 slots, 40 callers", (1.5, 2.5), 3.0, slots=4, callers=40),
)


@dataclass(slots=True)
class Figures:
    """What came of a simulation."""

    case: Case
    seconds: float = 0.0
    requests: int = 0
    starts: int = 0
    wasted: int = 0  # starts that were cut off, though the whole patience would have sufficed
    hopeless: int = 0  # starts that were cut off, and no caller's patience would have sufficed
    busy_s: float = 0.0  # that the model would take for all that were started, at the most a caller's patience for each
    answers_s: list[float] = field(default_factory=list)  # when each came
    by_session: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    circuits_opened: int = 0

    @property
    def goodput(self) -> float:
        """The share of the answers that came of those which the same starts give if one follows the other at once."""
        if not self.starts:
            return 0.0
        attainable = self.case.slots * self.seconds * (self.starts - self.hopeless) / self.busy_s
        return len(self.answers_s) / attainable

    @property
    def wasted_part(self) -> float:
        """The share of starts that need not have been cut off."""
        return self.wasted / max(1, self.starts)

    @property
    def requests_per_answer(self) -> float:
        """How often a caller had to ask."""
        return self.requests / max(1, len(self.answers_s))

    @property
    def unfairness(self) -> float:
        """How far the session that is furthest off is from the mean, as a part of it."""
        mean = sum(self.by_session.values()) / max(1, len(self.by_session))
        return max((abs(count - mean) for count in self.by_session.values()), default=0.0) / max(mean, 1e-9)

    def answered(self, from_s: float, until_s: float) -> int:
        """How many answers came within a time."""
        return sum(from_s <= at_s < until_s for at_s in self.answers_s)

    def __str__(self) -> str:
        return (
            f"{self.case.name}: {self.goodput:.1%} of the attainable, {self.wasted_part:.1%} wasted starts, "
            f"{self.requests_per_answer:.2f} requests per answer, {self.unfairness:.0%} unfair"
        )


class Simulation:
    """Callers in front of one lane. `pause_s`: what a caller that ignores waits sleeps after a refusal; None: it heeds.

    `slowness` says by which factor answers take longer at a time.

    >>> simulation = Simulation(CASES[0], seed=1)
    >>> simulation.run(60.0).goodput > 0.9
    True
    """

    def __init__(
        self,
        case: Case,
        *,
        seed: int = 1,
        pause_s: float | None = None,
        ignoring: int | None = None,
        learn: bool = True,
        slowness: Callable[[float], float] = lambda _now: 1.0,
    ) -> None:
        self.time = SimulatedTime()
        self.figures = Figures(case)
        self._case = case
        self._slowness = slowness
        self._chance = Random(seed)
        self.dispatcher = Dispatcher(
            GatewayConfig(queue=QueueConfig(learn_service_times=learn)),
            clock=self.time,
            timers=self.time.at,
            random=Random(seed),
            on_event=lambda event: self._heard(event.kind.value),
        )
        model = Provider("model", "http://model.test/v1", (ApiKey("key", Secret("s")),), Limits(concurrency=case.slots))
        self.plan = Plan((Target(model, model.keys[0], "m"),), "m")
        sessions = [Session(f"session-{number}", f"session-{number}") for number in range(case.sessions)]
        self.figures.by_session = Counter({session.id: 0 for session in sessions})
        self._callers = [
            _Caller(
                self,
                sessions[number % case.sessions],
                f"agent-{number}",
                pause_s if ignoring is None or number < ignoring else None,
            )
            for number in range(case.callers)
        ]

    def run(self, seconds: float) -> Figures:
        """Let the callers ask for so long; may be called again."""
        if not self.figures.seconds:
            for caller in self._callers:
                self.time.after(self._chance.uniform(0.0, 0.1), caller.ask)
        self.time.run_for(seconds)
        self.figures.seconds += seconds
        return self.figures

    # What callers use

    def service_s(self) -> float:
        """How long the next answer takes."""
        return self._chance.uniform(*self._case.service_s) * self._slowness(self.time.monotonic())

    def _heard(self, kind: str) -> None:
        self.figures.circuits_opened += kind == "circuit_opened"

    @property
    def has_open_circuit(self) -> bool:
        """Whether the lane is left alone."""
        return any(lane.circuit.state is not CircuitState.CLOSED for lane in self.dispatcher.lanes())


class _Caller:
    """One that always has a question; the carrier of its own jobs."""

    def __init__(self, owner: Simulation, session: Session, agent: str, pause_s: float | None) -> None:
        self._pause_s = pause_s
        self._owner = owner
        self._session = session
        self._agent = agent

    def ask(self) -> None:
        """Send the next question; it arrives a little later."""
        owner = self._owner
        case, asked_s = owner.figures.case, owner.time.monotonic()
        job = Ticket(owner.plan, self._session, self, asked_s + case.patience_s, agent=self._agent, tokens=100)
        if case.drop_after_s is not None:
            job.drop_after_s = asked_s + case.drop_after_s
        owner.figures.requests += 1
        owner.time.after(LATENCY_S, lambda: owner.dispatcher.submit(job))

    def send(self, job: Ticket, target: Target) -> None:
        """The model works on it until it is done or the deadline passes."""
        owner = self._owner
        figures, now, service_s = owner.figures, owner.time.monotonic(), owner.service_s()
        figures.starts += 1
        figures.busy_s += min(service_s, figures.case.patience_s)
        if now + service_s <= job.deadline_s:
            owner.time.after(service_s, lambda: self._answered(job))
            return
        if service_s <= figures.case.patience_s:
            figures.wasted += 1
        else:
            figures.hopeless += 1
        owner.time.at(job.deadline_s, lambda: self._cut_off(job))

    def refuse(self, job: Ticket, refusal: Refusal) -> None:
        """Come back when it is time to."""
        self._owner.figures.refusals[refusal.code.value] += 1
        self._again(refusal.retry_after_s or 0.0)

    def _answered(self, job: Ticket) -> None:
        owner = self._owner
        owner.dispatcher.ended(job, Outcome(Result.OK, 200))
        now = owner.time.monotonic()
        owner.figures.answers_s.append(now)
        owner.figures.by_session[self._session.id] += 1
        told_s = owner.dispatcher.forecast(self._session, owner.plan, now, self._agent) - now
        owner.time.after(told_s if self._pause_s is None else 0.0, self.ask)

    def _cut_off(self, job: Ticket) -> None:
        owner = self._owner
        owner.dispatcher.ended(job, Outcome(Result.DEADLINE))
        owner.figures.refusals["cut off"] += 1
        self._again(owner.dispatcher.come_back_s(job))

    def _again(self, told_s: float) -> None:
        self._owner.time.after(max(told_s, MIN_PAUSE_S) if self._pause_s is None else self._pause_s, self.ask)
