"""The lane: the way to one provider with one key (and model, where a model has its own limits).

A lane owns the state of its rate limit, its circuit and its permits. `take` and `release` come in pairs, one of each
for every request; a mismatch is an assertion, not a leak.
"""

# ruff: noqa: FURB136, PLR1730 - on the hot path a comparison is several times quicker than a call of max()

import math
import random
from dataclasses import dataclass

from tickmind.base import redact
from tickmind.gateway.queue.fair import LaneTurns, Ledger
from tickmind.gateway.queue.job import Job
from tickmind.gateway.queue.limits.circuit import Circuit, CircuitState
from tickmind.gateway.queue.limits.rate_limiter import PaceMaker, RateLimiterStatistics, local_pace, tightest
from tickmind.gateway.queue.limits.ratelimit_headers import RateLimits
from tickmind.gateway.queue.limits.restraint import Restraint
from tickmind.gateway.queue.limits.service_time import ServiceTime, ServiceTimes
from tickmind.gateway.settings.config import ApiKey, CircuitConfig, Limits, Provider, RetryConfig

MIN_WAIT_S = 0.1  # after a 429, whatever it says
MAX_DEFAULT_WAIT_S = 60.0  # after many 429s that do not say how long
MIN_CONCURRENCY = 1.0  # of adaptive concurrency
MAX_CONCURRENCY = 256.0
START_CONCURRENCY = 8.0  # of adaptive concurrency, where no other is given
BACK_OFF = 0.7  # of adaptive concurrency, after trouble
NOMINAL_S = 1e-3  # cost of a request where there is no rate


@dataclass(frozen=True, slots=True)
class LaneStatistics:
    """A lane as statistics and the dashboard show it; times are monotonic."""

    provider: str
    key_id: str
    model: str  # empty: all models of the key
    in_flight: int
    concurrency: float  # infinite if there is no bound
    waiting: int
    limited_until_s: float
    blocked_until_s: float
    reason: str
    circuit: CircuitState
    paces: tuple[RateLimiterStatistics, ...]  # the one that all models of the key share comes first
    guessed_per_minute: float  # 0 if there is no guess
    learnt: RateLimits | None
    sent: int
    served: int
    limited: int
    failed: int
    service: ServiceTime  # what an attempt takes, as far as is known


class KeyState:
    """What all lanes of one provider's key share: the rate limiter, the permits and the accounts."""

    __slots__ = (
        "burst",
        "concurrency",
        "in_flight",
        "key",
        "lanes",
        "ledger",
        "most",
        "pace",
        "provider",
        "pumping",
        "running",
        "unbounded",
        "waiting",
        "wake_s",
    )

    def __init__(
        self,
        provider: Provider,
        key: ApiKey,
        *,
        window_s: float,
        make_pace: PaceMaker = local_pace,
        most: float = math.inf,
    ) -> None:
        limits = tightest(provider.limits, key.limits)
        self.provider = provider
        self.key = key
        self.pace = make_pace(f"{provider.name}/{key.id}", limits)
        self.burst = limits.burst
        self.most = most  # most connections, whatever the limits say
        self.unbounded = limits.concurrency is None
        self.concurrency = most if limits.concurrency is None else min(limits.concurrency, most)
        self.in_flight = 0
        self.running: dict[Job, Lane] = {}  # jobs in flight, oldest first -> their lanes
        rated = self.pace.request_s or self.pace.token_s
        self.ledger = Ledger(window_s, capacity=window_s if rated else 0.0)
        self.lanes: list[Lane] = []
        self.waiting = 0  # jobs that could go by its lanes, for each of these
        self.pumping = False  # whether the dispatcher is pumping it
        self.wake_s = math.inf  # when the dispatcher looks at it again


class Lane:
    """Admits requests by rate, concurrency and health. `limits` are the model's own, if it has any."""

    __slots__ = (
        "_cut_s",
        "_random",
        "_retry",
        "account_pause_s",
        "adaptive",
        "blocked_until_s",
        "circuit",
        "concurrency",
        "failed",
        "in_flight",
        "key",
        "limited",
        "limited_until_s",
        "model",
        "pace",
        "paused_until_s",
        "reason",
        "request_s",
        "restraint",
        "sent",
        "sent_s",
        "served",
        "service",
        "slow_s",
        "streak",
        "token_s",
        "troubles",
        "turns",
        "waiting",
    )

    def __init__(
        self,
        key: KeyState,
        model: str,
        limits: Limits | None,
        *,
        retry: RetryConfig,
        circuit: CircuitConfig,
        chance: random.Random,
        make_pace: PaceMaker = local_pace,
    ) -> None:
        self.key = key
        self.model = model
        self.pace = None if limits is None else make_pace(f"{key.provider.name}/{key.key.id}/{model}", limits)
        self.concurrency = math.inf if limits is None or limits.concurrency is None else float(limits.concurrency)
        self.adaptive = key.provider.adaptive_concurrency
        if self.adaptive and self.concurrency == math.inf:
            self.concurrency = min(START_CONCURRENCY, key.concurrency)
        self.account_pause_s = circuit.account_pause_s
        self.circuit = Circuit(circuit)
        self.turns = LaneTurns(key.ledger)
        self.waiting = 0  # jobs that could go by this lane
        self.in_flight = 0
        self.limited_until_s = -math.inf
        self.paused_until_s = -math.inf
        self.blocked_until_s = -math.inf  # when the limit, the open circuit and the account's pause are over
        self.reason = ""
        self.streak = 0  # consecutive 429s; those in flight together count once
        self.troubles = 0  # since the last success, of any kind
        self.sent = self.served = self.limited = self.failed = 0
        self.service = ServiceTimes()
        self.sent_s = -math.inf  # when something last went out
        self.slow_s = 0.0  # time within which the last attempt got no answer; 0 after an answer
        self._retry = retry
        self._random = chance
        self._cut_s = -math.inf  # when the concurrency was last cut; requests in flight then belong to the same event
        given = (key.pace,) if self.pace is None else (key.pace, self.pace)
        unbounded = self.concurrency == math.inf and key.unbounded
        self.restraint = Restraint(given, ramp_s=retry.ramp_s, max_wait_s=retry.max_wait_s, feel=unbounded)
        self.request_s = 0.0
        self.token_s = 0.0
        self._weigh()
        key.lanes.append(self)

    # Room

    def is_for_spare(self, now: float) -> bool:
        """Whether the owner whose turn it is takes only spare capacity; only right after `turns.first` found a backlog.

        The burst is for owners that don't press. After a limit, while there is no burst, all owners are alike.
        """
        return self.turns.is_first_giving_way() and not self.restraint.is_ramping(now)

    def earliest_s(self, now: float, tokens: int, spare: bool = False) -> float:
        """Return when a request may be sent if none goes before: `now`, later, or infinite (after a reply)."""
        key = self.key
        if self.in_flight >= self.concurrency or key.in_flight >= key.concurrency:
            return math.inf
        if self.troubles and self.in_flight and (self.streak > 1 or self.circuit.state is CircuitState.PROBING):
            return math.inf  # one probe at a time
        at = key.pace.earliest_s(now, tokens, spare)
        if self.pace is not None:
            own = self.pace.earliest_s(now, tokens, spare)
            if own > at:
                at = own
        if self.restraint.active:
            at = max(at, self.restraint.earliest_s(now, tokens, spare))
        if self.blocked_until_s > at:
            at = self.blocked_until_s
        return at

    @property
    def has_slot(self) -> bool:
        """Whether it has a free permit."""
        key = self.key
        return self.in_flight < self.concurrency and key.in_flight < key.concurrency

    def is_down(self, now: float) -> bool:
        """Whether waiting does not help: the circuit is open or the account is refused."""
        if self.paused_until_s > now:
            return True
        state = self.circuit.state
        return state is CircuitState.PROBING or (state is CircuitState.OPEN and self.circuit.until_s > now)

    def is_healthy(self, now: float) -> bool:
        """Whether its last attempt succeeded and it takes requests."""
        return not self.troubles and self.blocked_until_s <= now

    def back_s(self, now: float, tokens: int) -> float:
        """Return when it could take a request at the earliest, whatever else waits or is in flight."""
        at = self.key.pace.look_s(now, tokens)
        if now > at:
            at = now
        if self.blocked_until_s > at:
            at = self.blocked_until_s
        if self.pace is not None:
            at = max(at, self.pace.look_s(now, tokens))
        return max(at, self.restraint.earliest_s(now, tokens)) if self.restraint.active else at

    # Permits

    def take(self, now: float, tokens: int, spare: bool = False) -> None:
        """Take a permit for a request that is sent now; `spare` as passed to `earliest_s`."""
        key = self.key
        assert self.in_flight < self.concurrency, "no more in flight than there are permits"
        assert key.in_flight < key.concurrency, "no more in flight than the key has permits"
        self.in_flight += 1
        key.in_flight += 1
        self.sent += 1
        key.pace.take(now, tokens, spare)
        if self.pace is not None:
            self.pace.take(now, tokens, spare)
        restraint = self.restraint
        if restraint.guess is not None and now >= restraint.guess.next_mark_s:
            restraint.guess.mark(now, self.sent - 1)
        if restraint.active:
            restraint.take(now, tokens, spare)
        if self.troubles:
            self.circuit.sent(now)

    def release(self) -> None:
        """Return a permit, however the request ended; exactly once for each `take`."""
        self.in_flight -= 1
        self.key.in_flight -= 1
        assert self.in_flight >= 0, "each permit comes back once"

    def settle(self, taken_s: float, estimated: int, actual: int) -> None:
        """Correct the estimate when the real number of tokens is known."""
        self.key.pace.settle(taken_s, estimated, actual)
        if self.pace is not None:
            self.pace.settle(taken_s, estimated, actual)
        if self.restraint.learnt_pace is not None:
            self.restraint.settle(taken_s, estimated, actual)

    # What came back

    def succeeded(self, now: float) -> bool:
        """Record an answer, even if it rejects the request; return True if that closed the circuit."""
        self.served += 1
        self.slow_s = 0.0
        closed = False
        if self.troubles:
            if self.circuit.state is not CircuitState.CLOSED or self.circuit.failures:
                closed = self.circuit.succeeded()
                self._reckon_block()
            if self.blocked_until_s <= now:  # else the request was sent before the limit or pause was known
                self.troubles = self.streak = 0
                self.reason = ""
        if self.adaptive and self.in_flight + 1 >= self.concurrency / 2:
            most = min(MAX_CONCURRENCY, self.key.concurrency)
            self.concurrency = min(most, self.concurrency + 1 / self.concurrency)
        return closed

    def rate_limited(self, now: float, sent_s: float, retry_after_s: float | None) -> bool:
        """Record a 429. A later 429 extends the limit and never shortens it. Return True if the circuit closed."""
        self.limited += 1
        self.troubles += 1
        is_given = retry_after_s is not None and math.isfinite(retry_after_s) and retry_after_s > 0
        news = sent_s >= self.limited_until_s  # else the request was in flight when the limit became known
        if news:
            self.streak += 1
        self.restraint.refused(now, self.sent, retry_after_s if is_given else None, news=news)
        if is_given:
            assert retry_after_s is not None, "it was asked for"
            wait_s = min(max(retry_after_s, MIN_WAIT_S), self._retry.max_wait_s)
        else:
            growth = 2.0 ** min(self.streak - 1, 10)
            wait_s = self._retry.default_wait_s * (1 + self._random.random() * growth)
            wait_s = min(wait_s, MAX_DEFAULT_WAIT_S, self._retry.max_wait_s)
        self.limit_until(now, now + wait_s, f"rate limited, asked to wait {wait_s:.3g} s")
        self._shrink(now, sent_s)
        if self.circuit.state is not CircuitState.PROBING:
            return False
        self.circuit.succeeded()  # a provider that enforces limits is not down
        self._reckon_block()
        return True

    def limit_until(self, now: float, until_s: float, reason: str) -> None:
        """Send nothing before `until_s`; then ramp the rate up, without a burst."""
        if until_s > self.limited_until_s:
            self.limited_until_s = until_s
            self.reason = reason
            self.restraint.limited(until_s, now)
            self._reckon_block()
        self.troubles = max(1, self.troubles)

    def broke(self, now: float, sent_s: float) -> bool:
        """Record a 5xx or no answer at all; return True if that opened the circuit."""
        self.failed += 1
        self.troubles += 1
        self._shrink(now, sent_s)
        opened = self.circuit.failed(now, sent_s)
        if opened:
            self._reckon_block()
            self.reason = f"{self.circuit.failures} failures in a row"
        return opened

    def account_refused(self, now: float, sent_s: float, message: str) -> None:
        """Pause every lane of a refused key. This is no rate limit, and waiting does not cure it."""
        self.failed += 1
        self.undecided(now, sent_s)
        reason = f"the account is refused: {redact(message)}" if message else "the account is refused"
        for lane in self.key.lanes:
            lane.pause_until(now + self.account_pause_s, reason)

    def pause_until(self, until_s: float, reason: str) -> None:
        """Send nothing before `until_s`, and let no job wait for it."""
        self.troubles += 1
        self.paused_until_s = max(self.paused_until_s, until_s)
        self.reason = reason
        self._reckon_block()

    def cut_off(self, job: Job, now: float, *, overdue: bool) -> None:
        """Record an attempt cut off by its deadline or its caller's disconnect: slow, but no failure."""
        self.service.add(now - job.sent_s, job.prompt_tokens, job.tokens - job.prompt_tokens, whole=False)
        if overdue:
            self.slow_s = now - job.sent_s
        self.undecided(now, job.sent_s)

    def undecided(self, now: float, sent_s: float) -> None:
        """Record a request whose end says nothing about the provider."""
        self.circuit.undecided(now, sent_s)
        self._reckon_block()

    def learn(self, limits: RateLimits, now: float) -> None:
        """Apply the limits in a reply's headers: unknown limits become known, a low allowance is spread until reset."""
        if self.restraint.learn(limits, now, burst=self.key.burst):
            self._weigh()

    def is_idle(self, now: float) -> bool:
        """Whether it may be dropped: nothing is in flight and no state of the past matters.

        The lane of all models stays as long as its key is used; lanes of single models come and go.
        """
        return (
            not self.in_flight
            and not self.waiting
            and max(self.blocked_until_s, self.restraint.hold_until_s) <= now
            and (bool(self.model) or self.key.pace.is_fresh(now))
            and (self.pace is None or self.pace.is_fresh(now))
        )

    def cost_s(self, tokens: int) -> float:
        """Return what a request uses of the scarcest limit, in seconds of that limit."""
        by_tokens = tokens * self.token_s
        return by_tokens if by_tokens > self.request_s else self.request_s

    def per_second(self, now: float) -> float:
        """Return how many requests per second it takes in the long run: by its rate, or by its slots and service time.

        It is infinite if neither is known.
        """
        interval_s = self.restraint.interval_s(now)
        rate = 1 / interval_s if interval_s else math.inf
        if self.concurrency == math.inf and self.key.unbounded:
            return rate
        mean_s = self.service.estimate().mean_s
        return min(rate, min(self.concurrency, self.key.concurrency) / mean_s) if mean_s else rate

    def statistics(self, now: float) -> LaneStatistics:
        """Return the lane's figures."""
        restraint = self.restraint
        return LaneStatistics(
            provider=self.key.provider.name,
            key_id=self.key.key.id,
            model=self.model,
            in_flight=self.in_flight,
            concurrency=self.concurrency if self.key.unbounded else min(self.concurrency, self.key.concurrency),
            waiting=self.waiting,
            limited_until_s=self.limited_until_s,
            blocked_until_s=self.blocked_until_s,
            reason=self.reason,
            circuit=self.circuit.state,
            paces=tuple(pace.statistics(now) for pace in restraint.paces()),
            guessed_per_minute=60 * restraint.guess.rate(now) if restraint.guess is not None else 0.0,
            learnt=restraint.learnt,
            sent=self.sent,
            served=self.served,
            limited=self.limited,
            failed=self.failed,
            service=self.service.estimate(),
        )

    # Inside

    def _reckon_block(self) -> None:
        until_s = max(self.limited_until_s, self.paused_until_s)
        self.blocked_until_s = (
            max(until_s, self.circuit.until_s) if self.circuit.state is CircuitState.OPEN else until_s
        )

    def _weigh(self) -> None:
        """Compute the cost of a request and of a token from all known limits."""
        paces = self.restraint.paces()
        self.request_s = max(pace.request_s for pace in paces)
        self.token_s = max(pace.token_s for pace in paces)
        if not self.request_s and not self.token_s:
            self.request_s = NOMINAL_S

    def _shrink(self, now: float, sent_s: float) -> None:
        """Cut the concurrency, once for all requests that were in flight at the same moment."""
        if self.adaptive and sent_s >= self._cut_s:
            self._cut_s = now
            self.concurrency = max(MIN_CONCURRENCY, self.concurrency * BACK_OFF)
