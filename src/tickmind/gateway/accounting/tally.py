"""Usage totals: requests, results, waits, latencies, tokens and cost, per provider, model and session."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import add

from tickmind.base import Clock, Limit
from tickmind.gateway.accounting.histogram import BucketedDurations, Histogram, HistogramSnapshot
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.job import Result
from tickmind.gateway.refusal import Code
from tickmind.gateway.routing.plan import Target
from tickmind.llm.prices import PRICES, Price, find_price

MAX_TARGETS = Limit("providers and models with statistics of their own", 256)
MAX_SESSIONS = Limit("sessions with statistics of their own", 1024)
OTHER = "(other)"  # everything beyond these limits
_OK = Result.OK
_BATCH = 256  # events counted together, at a fourth of the cost


@dataclass(slots=True)
class Sums:
    """Requests, tokens and money. `unpriced` counts answers without a known price, which `cost_usd` leaves out.

    Those in a snapshot are copies, which no later request changes.
    """

    requests: int = 0
    ok: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def merge(self, other: "Sums") -> None:
        """Add the counts of other requests."""
        self.requests += other.requests
        self.ok += other.ok
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.cost_usd += other.cost_usd
        self.unpriced += other.unpriced


@dataclass(frozen=True, slots=True)
class TargetTally:
    """One provider and model: attempts by result, queue waits and durations."""

    provider: str
    model: str
    sums: Sums
    results: Mapping[Result, int]
    waits: HistogramSnapshot
    latencies: HistogramSnapshot


@dataclass(frozen=True, slots=True)
class SessionTally:
    """One session: what it used, how often it was refused and how long it waited."""

    session: str
    sums: Sums
    refused: int
    waits: HistogramSnapshot


@dataclass(frozen=True, slots=True)
class TallySnapshot:
    """Everything counted since the start."""

    since_s: float  # seconds ago
    requests: int  # that came in
    answered: int
    refusals: Mapping[Code, int]
    fallbacks: int  # attempts that followed another one elsewhere
    attempts: int
    sums: Sums
    waits: HistogramSnapshot  # in the queue, of answered requests
    latencies: HistogramSnapshot  # from arrival to the end, of answered requests
    targets: tuple[TargetTally, ...]
    sessions: tuple[SessionTally, ...]


@dataclass(frozen=True, slots=True)
class TallySums:
    """The sums alone; cheap enough to take every second."""

    requests: int
    answered: int
    refused: int
    fallbacks: int
    cost_usd: float
    waits: HistogramSnapshot
    latencies: HistogramSnapshot
    served: Mapping[str, int]  # session's label -> requests
    costs_usd: Mapping[str, float] = field(default_factory=dict)  # session's label -> what it cost


@dataclass(frozen=True, slots=True)
class CostTable:
    """Cost by provider, by model and by session, highest first."""

    total: Sums
    by_provider: Mapping[str, Sums] = field(default_factory=dict)
    by_model: Mapping[str, Sums] = field(default_factory=dict)
    by_session: Mapping[str, Sums] = field(default_factory=dict)


_Attempt = tuple[str, str, Result, float, float, bool]  # provider, model, result, waited, took, whether a fallback
# session's label, provider, model, waited, took, waited since an earlier attempt, prompt's tokens, completion's, cost
_Answer = tuple[str, str, str, float, float, float | None, int | None, int | None, float | None]


@dataclass(slots=True)
class _TargetRow:
    provider: str
    model: str
    sums: Sums = field(default_factory=Sums)
    served: int = 0
    results: dict[Result, int] = field(default_factory=dict)  # the others; looking up by an enum's member is slow
    waits: Histogram = field(default_factory=Histogram)
    latencies: Histogram = field(default_factory=Histogram)


@dataclass(slots=True)
class _SessionRow:
    label: str
    sums: Sums = field(default_factory=Sums)
    refused: int = 0
    waits: Histogram = field(default_factory=Histogram)
    recent: bool = True  # used since the last search for a session to evict


class UsageTally:
    """Counts requests. Each one is `arrived`, `attempted` once per failed attempt, and then `answered` or `refused`.

    Calls only append events; these are counted in batches and before every read. Memory is bounded: models beyond
    the limit count as `OTHER`, and the sessions idle for longest are merged into that name, so the sums lose
    nothing.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        prices: Mapping[str, Price] = PRICES,
        max_targets: Limit = MAX_TARGETS,
        max_sessions: Limit = MAX_SESSIONS,
    ) -> None:
        self._clock = clock
        self._started_s = clock.monotonic()
        self._max_targets = max_targets
        self._max_sessions = max_sessions
        self._batch = min(_BATCH, int(max_sessions.maximum) // 4 + 1)  # so that no session is evicted within its batch
        self._price_of: Callable[[str], Price | None] = lru_cache(4096)(lambda model: find_price(model, prices))
        self._requests = 0
        self._answered = 0
        self._fallbacks = 0
        self._attempts = 0
        self._refusals: dict[Code, int] = dict.fromkeys(Code, 0)
        self._waits = Histogram()
        self._latencies = Histogram()
        self._targets: dict[tuple[str, str], _TargetRow] = {}  # (provider, model) -> row
        self._sessions: dict[str, _SessionRow] = {}  # session's label -> row, in the order of their coming
        self._arrivals: list[str] = []  # labels of sessions; these three lists are not counted yet
        self._tries: list[_Attempt] = []
        self._answers: list[_Answer] = []

    def price(self, model: str) -> Price | None:
        """Return a model's price, or None if it is unknown."""
        return self._price_of(model)

    def arrived(self, session: Session) -> None:
        """Record that a request came in."""
        arrivals = self._arrivals
        arrivals.append(session.label)
        if len(arrivals) >= self._batch:
            self._count()

    def attempted(self, target: Target, result: Result, waited_s: float, took_s: float, fallback: bool) -> None:
        """Record an attempt without an answer; `fallback` says that the same request had an earlier attempt."""
        tries = self._tries
        tries.append((target.provider.name, target.model, result, waited_s, took_s, fallback))
        if len(tries) >= self._batch:
            self._count()

    def answered(
        self,
        session: Session,
        target: Target,
        waited_s: float,
        took_s: float,
        prompt_tokens: int | None,
        completion_tokens: int | None,
        since_s: float | None = None,
        cached_tokens: int = 0,
    ) -> float | None:
        """Record a request served by an attempt that `took_s`, after `waited_s` in the queue in all.

        `since_s` is the wait since an earlier attempt, None if there was none. Returns the cost in US dollars, or None
        if that is unknown.
        """
        cost: float | None = None
        model = target.model
        if prompt_tokens is not None and completion_tokens is not None:
            price = self._price_of(model)
            if price is not None:
                cost = price.cost_usd(prompt_tokens, completion_tokens, cached_tokens)
        answers = self._answers
        name = target.provider.name
        answers.append((session.label, name, model, waited_s, took_s, since_s, prompt_tokens, completion_tokens, cost))
        if len(answers) >= self._batch:
            self._count()
        return cost

    def refused(self, code: Code, session: Session | None = None) -> None:
        """Record a request that the gateway itself refused; `session` is None if it had none yet."""
        self._refusals[code] += 1
        if session is None:
            self._requests += 1
        else:
            (self._sessions.get(session.label) or self._new_session(session.label)).refused += 1

    def snapshot(self, *, sessions: Iterable[str] | None = None) -> TallySnapshot:
        """Return all counts. Copying costs time, so pass the labels of `sessions` if not all are needed."""
        self._count()
        rows = self._sessions.values() if sessions is None else map(self._sessions.get, sessions)
        return TallySnapshot(
            since_s=self._clock.monotonic() - self._started_s,
            requests=self._requests,
            answered=self._answered,
            refusals={code: number for code, number in self._refusals.items() if number},
            fallbacks=self._fallbacks,
            attempts=self._attempts,
            sums=self._total(),
            waits=self._waits.snapshot(),
            latencies=self._latencies.snapshot(),
            targets=tuple(
                TargetTally(
                    row.provider,
                    row.model,
                    replace(row.sums),
                    {_OK: row.served, **row.results} if row.served else dict(row.results),
                    row.waits.snapshot(),
                    row.latencies.snapshot(),
                )
                for row in self._targets.values()
            ),
            sessions=tuple(
                SessionTally(row.label, replace(row.sums), row.refused, row.waits.snapshot())
                for row in rows
                if row is not None
            ),
        )

    def pulse(self) -> TallySums:
        """Return the sums so far, for trends."""
        self._count()
        return TallySums(
            requests=self._requests,
            answered=self._answered,
            refused=sum(self._refusals.values()),
            fallbacks=self._fallbacks,
            cost_usd=sum(row.sums.cost_usd for row in self._targets.values()),
            waits=self._waits.snapshot(),
            latencies=self._latencies.snapshot(),
            served={row.label: row.sums.ok for row in self._sessions.values()},
            costs_usd={row.label: row.sums.cost_usd for row in self._sessions.values() if row.sums.cost_usd},
        )

    def costs(self) -> CostTable:
        """Return the table of costs."""
        self._count()
        return CostTable(
            self._total(),
            _grouped((row.provider, row.sums) for row in self._targets.values()),
            _grouped((row.model, row.sums) for row in self._targets.values()),
            _grouped((row.label, row.sums) for row in self._sessions.values()),
        )

    def _count(self) -> None:
        """Count all events: arrivals first, so that a session is known before it is served."""
        arrivals, self._arrivals = self._arrivals, []
        tries, self._tries = self._tries, []
        answers, self._answers = self._answers, []
        self._requests += len(arrivals)
        for label, number in Counter(arrivals).items():
            row = self._sessions.get(label) or self._new_session(label)
            row.sums.requests += number
            row.recent = True
        if tries:
            self._count_attempts(tries)
        if answers:
            self._count_answers(answers)

    def _count_attempts(self, tries: list[_Attempt]) -> None:
        self._attempts += len(tries)
        groups: defaultdict[tuple[str, str], list[_Attempt]] = defaultdict(list)
        for note in tries:
            groups[note[:2]].append(note)
        for target, group in groups.items():
            row = self._targets.get(target) or self._new_target(target)
            _, _, results, waits_s, took_s, fallbacks = zip(*group, strict=True)
            self._fallbacks += sum(fallbacks)
            row.sums.requests += len(group)
            row.waits.add(BucketedDurations.of(waits_s))
            row.latencies.add(BucketedDurations.of(took_s))
            for result in results:
                row.results[result] = row.results.get(result, 0) + 1

    def _count_answers(self, answers: list[_Answer]) -> None:
        """Count served requests, each with the attempt that served it."""
        self._answered += len(answers)
        self._attempts += len(answers)
        groups: defaultdict[tuple[str, str, str], list[_Answer]] = defaultdict(list)
        for note in answers:
            groups[note[:3]].append(note)
        for (label, provider, model), group in groups.items():
            _, _, _, waits_s, tried_s, since_s, *used = zip(*group, strict=True)
            waits, tried = BucketedDurations.of(waits_s), BucketedDurations.of(tried_s)
            latencies = BucketedDurations.of(tuple(map(add, waits_s, tried_s))) if waits.max_s else tried
            self._waits.add(waits)
            self._latencies.add(latencies)
            own = self._sessions.get(label) or self._new_session(label)
            own.waits.add(waits)
            row = self._targets.get((provider, model)) or self._new_target((provider, model))
            row.latencies.add(tried)
            again = len(group) - since_s.count(None)
            if again:
                self._fallbacks += again
                waits = BucketedDurations.of([note[3] if note[5] is None else note[5] for note in group])
            row.waits.add(waits)
            row.served += len(group)
            sums = _sums_of(*used)
            own.sums.merge(sums)
            sums.requests = len(group)
            row.sums.merge(sums)

    def _total(self) -> Sums:
        total = Sums()
        for row in self._targets.values():
            total.merge(row.sums)
        total.requests = self._requests
        return total

    def _new_target(self, key: tuple[str, str]) -> _TargetRow:
        if not self._max_targets.allows(len(self._targets) + 1):
            key = (OTHER, OTHER)
            if (known := self._targets.get(key)) is not None:
                return known
        row = self._targets[key] = _TargetRow(*key)
        return row

    def _new_session(self, label: str) -> _SessionRow:
        if not self._max_sessions.allows(len(self._sessions) + 1):
            self._give_way()
        row = self._sessions[label] = _SessionRow(label)
        return row

    def _give_way(self) -> None:
        """Merge the session idle for longest into `OTHER`; sessions used since the last search get a second chance."""
        other = self._sessions.pop(OTHER, None) or _SessionRow(OTHER)
        while True:
            label = next(iter(self._sessions))
            row = self._sessions.pop(label)
            if not row.recent:
                break
            row.recent = False
            self._sessions[label] = row
        other.sums.merge(row.sums)
        other.refused += row.refused
        other.waits.merge(row.waits.snapshot())
        self._sessions[OTHER] = other


def _sums_of(prompts: Sequence[int | None], completions: Sequence[int | None], costs: Sequence[float | None]) -> Sums:
    """Sum up the usage of answers; what a reply left out is not guessed."""
    sums = Sums()
    counted = [
        (prompt, completion)
        for prompt, completion in zip(prompts, completions, strict=True)
        if prompt is not None and completion is not None
    ]
    known = [cost for cost in costs if cost is not None]
    sums.ok = len(prompts)
    sums.prompt_tokens = sum(prompt for prompt, _ in counted)
    sums.completion_tokens = sum(completion for _, completion in counted)
    sums.cost_usd = sum(known)
    sums.unpriced = len(prompts) - len(known)
    return sums


def _grouped(rows: Iterable[tuple[str, Sums]]) -> Mapping[str, Sums]:
    groups: dict[str, Sums] = {}
    for name, sums in rows:
        groups.setdefault(name, Sums()).merge(sums)
    dearest = sorted(groups.items(), key=lambda item: (-item[1].cost_usd, -item[1].requests, item[0]))
    return dict(dearest)
