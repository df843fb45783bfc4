"""Cooldowns: when a session may send its next request, stated in every reply and enforced in strict mode."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf
from typing import NamedTuple

from tickmind.base import Clock, Limit
from tickmind.gateway.fairness.activity import NEVER, Activity, KeyUse
from tickmind.gateway.fairness.sessions import Session, Sessions
from tickmind.gateway.refusal import Code, Refusal
from tickmind.gateway.routing.plan import Plan, Target
from tickmind.gateway.settings.config import Limits, SharingConfig

MAX_PLANS = Limit("plans whose rates are remembered", 4096)
_EPSILON_S = 1e-6  # rounding error of added times

Forecast = Callable[[Session, Plan, float, str], float]  # (session, plan, now, agent) -> when it may ask, or now


class CooldownForecast(NamedTuple):
    """When the next request is expected to be admitted, how many share, and at which rate; None is no limit.

    It is a tuple because every reply makes one, and a tuple is made in a quarter of the time of a frozen dataclass.
    """

    next_allowed_ms: int  # wall time
    wait_ms: int
    active_games: int
    requests_per_minute: float | None
    effective_rpm: float | None

    def as_json(self) -> bytes:
        """Return the JSON of replies and headers."""
        return _COOLDOWN_JSON % (*self[:2], _share_json(*self[2:]))


_COOLDOWN_JSON = b'{"nextAllowedAt":%d,"waitMs":%d,%b'


def _share_json(active_games: int, rpm: float | None, effective_rpm: float | None) -> bytes:
    rates = (b"null", b"null") if rpm is None or effective_rpm is None else (b"%.10g" % rpm, b"%.10g" % effective_rpm)
    return b'"activeGames":%d,"rateLimit":{"requestsPerMinute":%b,"effectiveRPM":%b}}' % (active_games, *rates)


@dataclass(frozen=True, slots=True, eq=False)
class _Rates:
    """The rates of a plan."""

    plan: Plan
    group: str  # of the first target's key
    first_rpm: float | None
    chain_rpm: float | None


class Cooldowns:
    """Computes each session's cooldown; in strict mode it refuses requests that come too early.

    Each request calls `admit` and later `leave`, exactly once each. In fair mode the time is what `forecast`
    says of the queue, and under contention not before the session's share allows. In strict mode it is
    `60000 / rpm * active games` after the session's last admitted request, by the rate of the chain's first key,
    weighted; only sessions that are really active on that key count, and a refused request moves nothing.

    A session that is new to a key waits as well: it goes when the key (or, of a known owner, the owner's share) has
    been free for one request's time, and at the latest after its own cooldown. So new session names bring no more than
    one name.
    """

    def __init__(
        self, config: SharingConfig, sessions: Sessions, clock: Clock, *, forecast: Forecast | None = None
    ) -> None:
        self._strict = config.mode == "strict"
        self._sessions = sessions
        self._monotonic = clock.monotonic
        self._wall = clock.wall
        self._forecast = forecast or _at_once
        self._rates: dict[Plan, _Rates] = {}
        self.on_admitted: Callable[[Activity, KeyUse], None] | None = None  # publishes to other gateways

    def admit(self, session: Session, plan: Plan, now_s: float | None = None) -> Refusal | None:
        """Admit a request, or return a refusal; call it after all other checks, because it counts."""
        rates = self._rates.get(plan) or self._learn(plan)
        if now_s is None:
            now_s = self._monotonic()
        use = session.uses.get(rates.group)
        if use is None or use.gone:
            use = self._sessions.activity(rates.group).use(session, now_s)
        use.last_s = now_s
        activity = use.activity
        if self._strict:
            wait_s = self._turn_s(activity, use, rates, now_s) - now_s
            if wait_s > _EPSILON_S:
                return Refusal(
                    Code.RATE_LIMIT_COOLDOWN,
                    f"wait {ceil(wait_s * 1000)} ms before the next request of this session",
                    retry_after_s=wait_s,
                )
        use.admitted_s = use.owner.admitted_s = activity.admitted_s = now_s
        use.waiting += 1
        session.waiting += 1
        session.requests += 1
        if self.on_admitted is not None:
            self.on_admitted(activity, use)
        return None

    def leave(self, session: Session, plan: Plan, used: Target | None = None, now_s: float | None = None) -> None:
        """Release an admitted request, however it ended; `used` is the target that answered."""
        rates = self._rates.get(plan) or self._learn(plan)
        if now_s is None:
            now_s = self._monotonic()
        use = session.uses.get(rates.group)
        if use is None or use.gone:
            use = self._sessions.activity(rates.group).use(session, now_s)
        if use.waiting:  # 0 if the use was dropped meanwhile
            use.waiting -= 1
        session.waiting -= 1
        session.last_seen_s = use.last_s = now_s
        if used is not None and used is not plan.targets[0]:
            self._sessions.activity(group_of(used)).use(session, now_s)

    def of(self, session: Session, plan: Plan, agent: str = "") -> CooldownForecast:
        """Return the cooldown for a reply or refusal to this session; changes nothing."""
        rates = self._rates.get(plan) or self._learn(plan)
        now_s = self._monotonic()
        activity = self._sessions.activity(rates.group)
        activity.sweep(now_s)
        use = session.uses.get(rates.group)
        if use is not None and use.gone:
            use = None
        wait_s = self._wait_s(session, rates, use, now_s, agent)
        share = activity.share(use) if use is not None else activity.share_with(session)
        rpm = rates.first_rpm if self._strict else rates.chain_rpm
        effective_rpm = None if rpm is None else rpm / share
        return CooldownForecast(*self._times_ms(wait_s), len(activity) + (use is None), rpm, effective_rpm)

    def json_of(self, session: Session, plan: Plan, agent: str = "") -> bytes:
        """Return `of` as JSON; the part about the share is cached, because it seldom changes."""
        rates = self._rates.get(plan) or self._learn(plan)
        use = session.uses.get(rates.group)
        if use is None:
            return self.of(session, plan, agent).as_json()
        now_s = self._monotonic()
        activity = use.activity
        if now_s >= activity.due_s:
            activity.sweep(now_s)
        if use.gone:
            return self.of(session, plan, agent).as_json()
        if use.share_json_rates is not rates or use.share_json_version != activity.shares:
            use.share_json = _share_json(*self.of(session, plan)[2:])
            use.share_json_rates, use.share_json_version = rates, activity.shares
        if not self._strict and self._forecast(session, plan, now_s, agent) <= now_s:
            return _COOLDOWN_JSON % (ceil(self._wall() * 1000 - 1e-3), 0, use.share_json)
        return _COOLDOWN_JSON % (*self._times_ms(self._wait_s(session, rates, use, now_s, agent)), use.share_json)

    def _wait_s(self, session: Session, rates: _Rates, use: KeyUse | None, now_s: float, agent: str) -> float:
        """Return how long a session has to wait now."""
        if self._strict:
            next_s = now_s if use is None else self._turn_s(use.activity, use, rates, now_s)
        else:
            next_s = self._forecast(session, rates.plan, now_s, agent)
            if next_s > now_s and use is not None and rates.chain_rpm is not None:
                next_s = max(next_s, use.admitted_s + 60.0 / rates.chain_rpm * use.activity.share(use))
        return next_s - now_s if next_s > now_s else 0.0

    def _times_ms(self, wait_s: float) -> tuple[int, int]:
        """Return when to come back, by the wall clock and from now; a rounding error does not add a millisecond."""
        next_ms = ceil((self._wall() + wait_s) * 1000 - 1e-3)
        return next_ms, ceil(wait_s * 1000 - 1e-3) if wait_s else 0

    def group(self, plan: Plan) -> str:
        """Return the name under which the sessions of a plan share a key; `Sessions.active` takes it."""
        return (self._rates.get(plan) or self._learn(plan)).group

    def _turn_s(self, activity: Activity, use: KeyUse, rates: _Rates, now_s: float) -> float:
        """Return when a session is due in strict mode."""
        if rates.first_rpm is None:
            return now_s
        activity.sweep(now_s)
        each_s = 60.0 / rates.first_rpm
        own_s = each_s * activity.share(use)
        if use.admitted_s != NEVER:
            return use.admitted_s + own_s
        if use.owner.admitted_s != NEVER:
            free_s = use.owner.admitted_s + each_s * activity.owner_share(use.owner)
        else:
            free_s = activity.admitted_s + each_s
        return min(free_s, use.asked_s + own_s)

    def _learn(self, plan: Plan) -> _Rates:
        if not MAX_PLANS.allows(len(self._rates) + 1):
            self._rates.clear()
        keys = {(target.provider.name, target.key.id, target.model): rate_per_minute(target) for target in plan.targets}
        known = [rate for rate in keys.values() if rate is not None]
        first = plan.targets[0]
        rates = self._rates[plan] = _Rates(
            plan, group_of(first), rate_per_minute(first), sum(known) if len(known) == len(keys) else None
        )
        return rates


def rate_per_minute(target: Target) -> float | None:
    """Return the requests per minute that all limits of a target allow together; None if there is no such limit."""
    rates = [rate for limits in _limits_of(target) if (rate := _rate(limits)) is not None]
    return min(rates, default=None)


def group_of(target: Target) -> str:
    """Return the name of what is shared at a target: its key, or the key's model where the model's limit is tighter."""
    key = f"{target.provider.name}/{target.key.id}"
    own = _rate(target.provider.model_limits.get(target.model))
    if own is None:
        return key
    others = [rate for limits in _limits_of(target)[:-1] if (rate := _rate(limits)) is not None]
    return f"{key}/{target.model}" if own <= min(others, default=inf) else key


def _limits_of(target: Target) -> tuple[Limits | None, ...]:
    return target.provider.limits, target.key.limits, target.provider.model_limits.get(target.model)


def _rate(limits: Limits | None) -> float | None:
    if limits is None:
        return None
    rates = (
        limits.requests_per_minute,
        None if limits.requests_per_second is None else limits.requests_per_second * 60,
    )
    if (quick := min((rate for rate in rates if rate is not None), default=None)) is not None:
        return quick
    return None if limits.requests_per_day is None else limits.requests_per_day / 1440


def _at_once(_session: Session, _plan: Plan, now_s: float, _agent: str) -> float:
    return now_s
