"""`GET /api/llm/overview`: all figures of the dashboard and `tickmind gateway top`, at one moment.

Lists are bounded: they hold the most important rows in a stable order, so that a page does not jump, with the total
number beside them.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from heapq import nlargest
from typing import TYPE_CHECKING, Any, TypeVar

from tickmind.gateway.accounting.feed import FeedLine
from tickmind.gateway.accounting.tally import SessionTally, TargetTally
from tickmind.gateway.accounting.trend import LATELY_S, Lately, Point
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.lane import LaneStatistics
from tickmind.gateway.queue.limits.circuit import CircuitState
from tickmind.gateway.queue.reporting.statistics import ChainStatistics
from tickmind.gateway.surface.figures import MAX_WAIT_S, is_of, sum_of, sums_of, times_of, wait_ms

if TYPE_CHECKING:
    from tickmind.gateway.gateway import Gateway

_Item = TypeVar("_Item")
MOST_ROWS = 50  # of each list
MOST_WAITING = 10  # sessions named for each queue
_RATE_POINTS = 5  # that make the rate of the headline: ten seconds


def overview(gateway: "Gateway", only: str | None = None) -> dict[str, Any]:
    """Return the figures of all parts; sessions and costs of one caller `only`, if it is given."""
    now_s = gateway.clock.monotonic()
    queue = gateway.dispatcher.statistics()
    deferred = [wait for wait in gateway.defers.listing() if is_of(wait.session, only)]
    lately, points = gateway.trend.lately(gateway.look()), gateway.trend.points()
    alive = gateway.sessions.alive()
    shown = [session for session in alive if only is None or session.owner == only]
    served = lately.served_by
    sessions = _most(shown, lambda session: (served.get(session.label, 0), session.waiting, session.requests))
    tally = gateway.tally.snapshot(sessions=[session.label for session in sessions])
    total, targets, spent_usd = tally.sums, tally.targets, lately.cost_usd
    used = {label: sums for label, sums in gateway.tally.costs().by_session.items() if is_of(label, only)}
    if only is not None:
        total, targets = sum_of(used.values()), ()
        spent_usd = sum(usd for label, usd in lately.cost_by.items() if is_of(label, only))
    chains = [chain for chain in queue.chains if chain.depth or chain.expected]
    live = {session.label for session in alive}
    ended = [(label, sums) for label, sums in used.items() if sums.ok and label not in live]
    return {
        "at": int(1000 * gateway.clock.wall()),
        "upMs": int(1000 * tally.since_s),
        "sharing": gateway.config.sharing.mode,
        "shared": gateway.shared_state(),
        "stopping": gateway.closing,
        "keys": bool(gateway.config.callers),
        "requests": tally.requests,
        "answered": tally.answered,
        "queued": queue.queued,
        "expected": sum(chain.expected for chain in chains),
        "waitMs": math.ceil(1000 * min(max((chain.wait_s for chain in chains), default=0.0), MAX_WAIT_S)),
        "inFlight": queue.in_flight,
        "attempts": tally.attempts,
        "fallbacks": tally.fallbacks,
        "retries": queue.retries,
        "retriesLeft": queue.retries_left,
        "retriesRefused": queue.retries_refused,
        "refusals": {code.value: count for code, count in tally.refusals.items() if count},
        "waits": times_of(tally.waits),
        "latencies": times_of(tally.latencies),
        "total": sums_of(total),
        "lately": {**_lately(lately, points), "usd": spent_usd},
        "history": _history(points),
        "counts": {
            "lanes": len(queue.lanes),
            "chains": len(chains),
            "sessions": len(shown),
            "targets": len(targets),
            "deferred": len(deferred),
            "ended": len(ended),
        },
        "lanes": [
            _lane(lane, lately, now_s)
            for lane in _most(queue.lanes, lambda lane: (lane.waiting, lane.in_flight, lane.sent))
        ],
        "chains": [_chain(chain, only) for chain in _most(chains, lambda chain: chain.depth)],
        "sessions": _sessions(
            sessions,
            {tallied.session: tallied for tallied in tally.sessions},
            lately,
            now_s=now_s,
            due=_due_shares([session for session in alive if session.waiting or session.label in served]),
            queued=_sum((session, jobs) for chain in chains for session, jobs in chain.waiting),
            deferred=_sum((wait.session, 1) for wait in deferred),
        ),
        "ended": [{"session": label, **sums_of(sums)} for label, sums in ended[:MOST_ROWS]],
        "targets": [
            _target(target) for target in _most(targets, lambda target: (target.sums.cost_usd, target.sums.requests))
        ],
        "deferred": [
            {"session": wait.session, "agent": wait.agent, "resumesInMs": int(1000 * wait.left_s)}
            for wait in deferred[:MOST_ROWS]
        ],
        "cache": asdict(gateway.cache.statistics()) if gateway.cache.enabled else None,
        "events": [_event(line, only) for line in gateway.feed.lines()[:MOST_ROWS]],
    }


def _lately(lately: Lately, points: tuple[Point, ...]) -> dict[str, Any]:
    last = points[-_RATE_POINTS:]
    served, span_s = sum(point.served for point in last), sum(point.span_s for point in last)
    return {
        "spanMs": int(1000 * lately.span_s),
        "requests": lately.requests,
        "served": lately.served,
        "refused": lately.refused,
        "fallbacks": lately.fallbacks,
        "servedPerS": served / span_s if span_s else 0.0,
        "waits": times_of(lately.waits),
        "latencies": times_of(lately.latencies),
    }


def _history(points: tuple[Point, ...]) -> dict[str, list[float]]:
    """Return columns of equal length, oldest point first; rates are per second, times in ms."""
    return {
        "spanMs": [int(1000 * point.span_s) for point in points],
        "servedPerS": [round(point.served / point.span_s, 2) for point in points],
        "refusedPerS": [round(point.refused / point.span_s, 2) for point in points],
        "fallbacks": [point.fallbacks for point in points],
        "queued": [point.queued for point in points],
        "inFlight": [point.in_flight for point in points],
        "waitP50Ms": [round(1000 * point.wait_p50_s, 1) for point in points],
        "waitP99Ms": [round(1000 * point.wait_p99_s, 1) for point in points],
        "latencyP50Ms": [round(1000 * point.latency_p50_s, 1) for point in points],
        "latencyP99Ms": [round(1000 * point.latency_p99_s, 1) for point in points],
    }


def _lane(lane: LaneStatistics, lately: Lately, now_s: float) -> dict[str, Any]:
    blocked = lane.blocked_until_s > now_s
    return {
        "provider": lane.provider,
        "key": lane.key_id,
        "model": lane.model,
        "state": _state(lane, blocked=blocked),
        "inFlight": lane.in_flight,
        "concurrency": None if math.isinf(lane.concurrency) else lane.concurrency,
        "waiting": lane.waiting,
        "limitedForMs": wait_ms(lane.blocked_until_s, now_s),
        "reason": lane.reason if blocked else "",
        "circuit": lane.circuit.value,
        "limits": _limits(lane, lately),
        "guessedPerMinute": lane.guessed_per_minute or None,
        "sent": lane.sent,
        "served": lane.served,
        "limited": lane.limited,
        "failed": lane.failed,
        "serviceMs": math.ceil(1000 * lane.service.mean_s),
    }


def _state(lane: LaneStatistics, *, blocked: bool) -> str:
    """Return one word: ready, limited (by a 429), open (too many failures), probing, or paused (key refused)."""
    if lane.circuit is CircuitState.OPEN and blocked and lane.blocked_until_s > lane.limited_until_s:
        return "open"
    if blocked:
        return "limited" if lane.limited_until_s >= lane.blocked_until_s else "paused"
    return "ready" if lane.circuit is CircuitState.CLOSED else "probing"


def _limits(lane: LaneStatistics, lately: Lately) -> list[dict[str, Any]]:
    """Return all limits that hold, and their use; where requests are only spaced, estimated from the last minute."""
    own = lately.sent_by.get((lane.provider, lane.key_id, lane.model), 0)
    of_key = sum(sent for name, sent in lately.sent_by.items() if name[:2] == (lane.provider, lane.key_id))
    limits = []
    for number, pace in enumerate(lane.paces):
        sent = own if number else of_key  # the first limit is shared by all models of the key
        for unit, figures in (("requests", pace.requests), ("tokens", pace.tokens)):
            for limit, span_s, used in figures:
                shown = min(limit, sent * span_s / LATELY_S) if used is None else used
                limits.append({"unit": unit, "limit": limit, "perS": span_s, "used": shown})
    return limits


def _chain(chain: ChainStatistics, only: str | None) -> dict[str, Any]:
    waiting = sorted((entry for entry in chain.waiting if is_of(entry[0], only)), key=lambda entry: -entry[1])
    return {
        "model": chain.model,
        "chain": [{"provider": provider, "model": model} for provider, _, model in chain.chain],
        "depth": chain.depth,
        "capacity": chain.capacity,
        "waiting": [{"session": session, "jobs": jobs} for session, jobs in waiting[:MOST_WAITING]],
        "waitingSessions": len(waiting),
        "expected": chain.expected,
        "waitMs": math.ceil(1000 * min(chain.wait_s, MAX_WAIT_S)),
    }


def _most(items: Sequence[_Item], weight: Callable[[_Item], Any]) -> list[_Item]:
    """Return the top rows, as many as are shown, in their original order."""
    if len(items) <= MOST_ROWS:
        return list(items)
    return [items[number] for number in sorted(nlargest(MOST_ROWS, range(len(items)), lambda at: weight(items[at])))]


def _sessions(
    sessions: list[Session],
    tallies: Mapping[str, SessionTally],
    lately: Lately,
    *,
    now_s: float,
    due: Mapping[str, float],
    queued: Mapping[str, int],
    deferred: Mapping[str, int],
) -> list[dict[str, Any]]:
    served = lately.served_by
    rows = []
    for session in sessions:
        tally = tallies.get(session.label)
        rows.append(
            {
                "session": session.label,
                "sessionId": session.id,
                "owner": session.owner,
                "weight": session.weight,
                "connectedMs": int(1000 * (now_s - session.connected_s)),
                "idleMs": 0 if session.waiting else int(1000 * (now_s - session.last_seen_s)),
                "requestCount": session.requests,
                "waiting": session.waiting,
                "queued": queued.get(session.label, 0),
                "deferred": deferred.get(session.label, 0),
                "servedLately": served.get(session.label, 0),
                "share": served.get(session.label, 0) / lately.served if lately.served else 0.0,
                "dueShare": due.get(session.label, 0.0),
                "served": tally.sums.ok if tally is not None else 0,
                "refused": tally.refused if tally is not None else 0,
                "usd": tally.sums.cost_usd if tally is not None else 0.0,
                "waits": times_of(tally.waits) if tally is not None else None,
            }
        )
    return rows


def _due_shares(active: list[Session]) -> dict[str, float]:
    """Return what each could claim if all wanted more: its owner's weight among all, divided by its sessions."""
    weights = {session.owner: session.weight for session in active}
    sessions = Counter([session.owner for session in active])
    total = sum(weights.values())
    return {session.label: session.weight / total / sessions[session.owner] for session in active}


def _sum(amounts: Iterable[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, amount in amounts:
        sums[name] = sums.get(name, 0) + amount
    return sums


def _event(line: FeedLine, only: str | None) -> dict[str, Any]:
    return {
        "at": int(1000 * line.at_s),
        "kind": line.kind.value,
        "provider": line.provider,
        "model": line.model,
        "session": line.session if is_of(line.session, only) else "",
        "forMs": int(1000 * line.for_s),
        "detail": line.detail,
        "count": line.count,
    }


def _target(target: TargetTally) -> dict[str, Any]:
    return {
        "provider": target.provider,
        "model": target.model,
        **sums_of(target.sums),
        "results": {result.value: count for result, count in target.results.items() if count},
        "latencies": times_of(target.latencies),
    }
