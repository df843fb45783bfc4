"""10,000 thinking characters before providers with real rate limits, on simulated time with the gateway's dispatcher.

Each character wants a thought every two minutes and gives up on one after a minute. It asks again when the gateway
tells it to. What its thoughts cost, and how many it gets, depends on the limits that its operator bought; the tiers are
of the kind that providers published in 2025, and are assumptions of `docs/scale.md`. The provider of the simulation
counts its last minute by itself, requests and tokens, and would answer 429. `LONG=1` simulates an hour.
"""

import os
from collections import Counter, deque
from dataclasses import dataclass, field
from random import Random

from tests.kits.queue_doubles import SimulatedTime

from benchmarks.harness import Result
from tickmind.base import Secret
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.dispatcher import Dispatcher
from tickmind.gateway.queue.job import Outcome
from tickmind.gateway.queue.job import Result as Ending
from tickmind.gateway.queue.ticket import Ticket
from tickmind.gateway.refusal import Refusal
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import ApiKey, GatewayConfig, Limits, Provider, QueueConfig

CHARACTERS, GAMES = 10_000, 10
SECONDS = 3600.0 if os.environ.get("LONG") else 300.0
SETTLE_S = 60.0
EVERY_S, PATIENCE_S = 120.0, 60.0
READ, WRITTEN = 600, 60  # tokens of one thought; three quarters of what is read is a prefix that providers cache
GOODPUT_BAR, FAIR_BAR = 0.93, 0.98
THOUGHTS_PER_HOUR = 3600 / EVERY_S


@dataclass(frozen=True)
class Tier:
    """What one operator bought: its limits, how long an answer takes, and dollars per million tokens."""

    name: str
    limits: tuple[Limits, ...]  # of each key or machine
    service_s: tuple[float, float]
    read_usd: float
    written_usd: float

    @property
    def per_second(self) -> float:
        """Thoughts per second that the limits allow."""
        return sum(map(self._most, self.limits))

    def _most(self, limits: Limits) -> float:
        mean_s = sum(self.service_s) / 2
        rates = [
            limits.requests_per_minute / 60 if limits.requests_per_minute else None,
            limits.tokens_per_minute / 60 / (READ + WRITTEN) if limits.tokens_per_minute else None,
            limits.concurrency / mean_s if limits.concurrency else None,
        ]
        return min(rate for rate in rates if rate is not None)

    @property
    def usd(self) -> float:
        """What one thought costs."""
        return (READ * self.read_usd + WRITTEN * self.written_usd) / 1e6


LOW = Limits(requests_per_minute=500, tokens_per_minute=200_000)
MIDDLE = Limits(requests_per_minute=1000, tokens_per_minute=300_000)
HIGH = Limits(requests_per_minute=10_000, tokens_per_minute=10_000_000)
TIERS = (
    Tier("a first paid tier", (LOW,), (0.6, 2.4), 0.15, 0.60),
    Tier("a high paid tier", (HIGH,), (0.6, 2.4), 0.15, 0.60),
    Tier("three keys of middle tiers", (MIDDLE,) * 3, (0.3, 1.2), 0.10, 0.40),
    Tier("four machines with 64 slots", (Limits(concurrency=64),) * 4, (1.5, 3.5), 0.0, 0.0),
)


class CountingProvider:
    """Counts the requests and tokens of its last minute, and how many would have been too many."""

    def __init__(self, limits: Limits) -> None:
        self.limited = 0
        self._limits = limits
        self._taken: deque[tuple[float, int]] = deque()
        self._tokens = 0

    def takes(self, now: float, tokens: int) -> bool:
        """Take a request, or answer 429."""
        while self._taken and self._taken[0][0] <= now - 60:
            self._tokens -= self._taken.popleft()[1]
        most, most_tokens = self._limits.requests_per_minute, self._limits.tokens_per_minute
        if (most and len(self._taken) >= most) or (most_tokens and self._tokens + tokens > most_tokens):
            self.limited += 1
            return False
        self._taken.append((now, tokens))
        self._tokens += tokens
        return True


@dataclass(slots=True)
class ScaleFigures:
    """What came of a simulation, after it has settled."""

    answered: int = 0
    expired: int = 0
    told_to_wait: int = 0
    waits_s: list[float] = field(default_factory=list)  # from the first question to the answer
    by_game: Counter[str] = field(default_factory=Counter)
    limited: int = 0

    def wait_s(self, part: float) -> float:
        """A quantile of the waits."""
        return sorted(self.waits_s)[int(part * (len(self.waits_s) - 1))] if self.waits_s else 0.0

    @property
    def fairness(self) -> float:
        """Jain's index over the games."""
        counts = [self.by_game[f"game-{number}"] for number in range(GAMES)]
        return sum(counts) ** 2 / (len(counts) * sum(count**2 for count in counts)) if any(counts) else 0.0


class ScaleSimulation:
    """Characters of several games before one gateway."""

    def __init__(self, tier: Tier, characters: int = CHARACTERS, *, seed: int = 1) -> None:
        self.time = SimulatedTime()
        self.tier = tier
        self.figures = ScaleFigures()
        self.chance = Random(seed)
        self.dispatcher = Dispatcher(
            GatewayConfig(queue=QueueConfig(capacity=characters)),
            clock=self.time,
            timers=self.time.at,
            random=Random(seed),
        )
        self.providers: dict[str, CountingProvider] = {}
        targets = []
        for number, limits in enumerate(tier.limits):
            name = f"p{number}"
            self.providers[name] = CountingProvider(limits)
            provider = Provider(name, f"http://{name}.test/v1", (ApiKey(f"k{number}", Secret(f"s{number}")),), limits)
            targets.append(Target(provider, provider.keys[0], "m"))
        self.plan = Plan(tuple(targets), "m")
        games = [Session(f"game-{number}", f"game-{number}") for number in range(GAMES)]
        for number in range(characters):
            character = _ThinkingCharacter(self, games[number % GAMES], f"c{number}")
            self.time.after(self.chance.uniform(0, EVERY_S), character.want)

    def run(self, seconds: float) -> ScaleFigures:
        """Let time pass; what is answered within the first minute does not count."""
        self.time.run_until(SETTLE_S)
        self.figures = ScaleFigures()
        self.time.run_until(SETTLE_S + seconds)
        self.figures.limited = sum(provider.limited for provider in self.providers.values())
        return self.figures


class _ThinkingCharacter:
    """One that wants a thought now and then; the carrier of its own tickets."""

    def __init__(self, owner: ScaleSimulation, session: Session, agent: str) -> None:
        self._owner = owner
        self._session = session
        self._agent = agent
        self._wanted_s = 0.0

    def want(self) -> None:
        """Begin to want a thought, and another one two minutes later."""
        owner = self._owner
        self._wanted_s = owner.time.monotonic()
        self._ask()

    def _ask(self) -> None:
        owner = self._owner
        deadline_s = self._wanted_s + PATIENCE_S
        job = Ticket(owner.plan, self._session, self, deadline_s, agent=self._agent, tokens=READ + WRITTEN)
        owner.dispatcher.submit(job)

    def send(self, job: Ticket, target: Target) -> None:
        """The provider answers, or refuses."""
        owner = self._owner
        now = owner.time.monotonic()
        if not owner.providers[target.provider.name].takes(now, job.tokens):
            owner.time.after(0.05, lambda: self._limited(job))
            return
        service_s = owner.chance.uniform(*owner.tier.service_s)
        if now + service_s <= job.deadline_s:
            owner.time.after(service_s, lambda: self._answered(job))
        else:
            owner.time.at(job.deadline_s, lambda: self._cut_off(job))

    def refuse(self, job: Ticket, refusal: Refusal) -> None:
        """Come back when it is time to, unless that is too late for this thought."""
        del job
        owner = self._owner
        now, wait_s = owner.time.monotonic(), max(refusal.retry_after_s or 0.0, 0.01)
        if now + wait_s < self._wanted_s + PATIENCE_S:
            owner.figures.told_to_wait += 1
            owner.time.after(wait_s, self._ask)
        else:
            self._give_up(now)

    def _limited(self, job: Ticket) -> None:
        self._owner.dispatcher.ended(job, Outcome(Ending.RATE_LIMITED, 429, retry_after_s=1.0))

    def _answered(self, job: Ticket) -> None:
        owner, now = self._owner, self._owner.time.monotonic()
        owner.dispatcher.ended(job, Outcome(Ending.OK, 200, prompt_tokens=READ, completion_tokens=WRITTEN))
        owner.figures.answered += 1
        owner.figures.by_game[self._session.id] += 1
        owner.figures.waits_s.append(now - self._wanted_s)
        self._next(now)

    def _cut_off(self, job: Ticket) -> None:
        self._owner.dispatcher.ended(job, Outcome(Ending.DEADLINE))
        self._give_up(self._owner.time.monotonic())

    def _give_up(self, now: float) -> None:
        self._owner.figures.expired += 1
        self._next(now)

    def _next(self, now: float) -> None:
        due_s = self._wanted_s + EVERY_S * self._owner.chance.uniform(0.9, 1.1)
        self._owner.time.at(max(due_s, now), self.want)


def _of_tier(tier: Tier, seconds: float) -> list[Result]:
    figures = ScaleSimulation(tier).run(seconds)
    wanted_per_s = CHARACTERS / EVERY_S
    attainable = min(wanted_per_s, tier.per_second)
    goodput = figures.answered / (attainable * seconds)
    per_hour = figures.answered / seconds * 3600 / CHARACTERS
    print(
        f"  {tier.name}: {figures.answered / seconds:.1f} thoughts/s of {attainable:.1f} attainable and "
        f"{wanted_per_s:.1f} wanted; {per_hour:.2f} per character-hour; wait p50 {figures.wait_s(0.5):.1f} s, "
        f"p95 {figures.wait_s(0.95):.1f} s; {figures.expired} given up, {figures.told_to_wait} told to wait, "
        f"{figures.limited} 429s; Jain {figures.fairness:.4f}; ${per_hour * tier.usd:.5f} per character-hour"
    )
    p95_s, fair = figures.wait_s(0.95), figures.fairness
    usd, all_usd, part = per_hour * tier.usd, THOUGHTS_PER_HOUR * tier.usd, per_hour / THOUGHTS_PER_HOUR
    return [
        Result(f"{tier.name}: goodput", goodput, "", "attainable", 1.0, goodput, GOODPUT_BAR),
        Result(f"{tier.name}: thoughts", per_hour, "/h", "wanted", THOUGHTS_PER_HOUR, part, 0.0),
        Result(f"{tier.name}: wait p95", p95_s, "s", "patience", PATIENCE_S, PATIENCE_S / max(p95_s, 1e-3), 1.0),
        Result(f"{tier.name}: 429s", figures.limited, "", "the limit", 0.0, float(figures.limited == 0), 1.0),
        Result(f"{tier.name}: Jain over games", fair, "", "equal", 1.0, fair, FAIR_BAR),
        Result(f"{tier.name}: cost", usd, "$/h", "all thoughts", all_usd, part, 0.0),
    ]


def bench_scale(seconds: float = SECONDS) -> list[Result]:
    """10,000 thinking characters before providers with real rate limits, simulated with the product's dispatcher."""
    return [result for tier in TIERS for result in _of_tier(tier, seconds)]


BENCHMARKS = [bench_scale]


if __name__ == "__main__":
    bench_scale()
