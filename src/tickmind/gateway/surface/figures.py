"""Statistics for callers: providers in short, sessions, costs and health; see also `overview`."""

import math
from collections.abc import Iterable
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING, Any

from tickmind.gateway.accounting.histogram import HistogramSnapshot
from tickmind.gateway.accounting.tally import CostTable, Sums
from tickmind.gateway.queue.lane import LaneStatistics
from tickmind.gateway.queue.limits.circuit import CircuitState

MAX_WAIT_S = 86_400.0  # longest wait that is shown

if TYPE_CHECKING:
    from tickmind.gateway.gateway import Gateway


def stats(gateway: "Gateway", only: str | None = None) -> dict[str, Any]:  # noqa: ARG001 - it names no session
    """`GET /api/llm/stats`: the queue, limits and failures of each provider.

    `rateLimited` is about limits alone; `circuit` is the state of its best lane. `waitMs` is the expected wait of one
    more request, `serviceMs` the time of an answer, as far as is known.
    """
    now_s = gateway.clock.monotonic()
    queue = gateway.dispatcher.statistics()
    lanes: dict[str, list[LaneStatistics]] = {name: [] for name in gateway.config.providers}
    for lane in queue.lanes:
        lanes.setdefault(lane.provider, []).append(lane)
    lengths, waits_s = dict.fromkeys(lanes, 0), dict.fromkeys(lanes, 0.0)
    for chain in queue.chains:
        first = chain.chain[0][0]
        lengths[first] += chain.depth
        waits_s[first] = max(waits_s[first], chain.wait_s)
    return {
        name: {
            "length": lengths[name],
            "rateLimited": _is_limited(own, now_s),
            "circuit": _circuit(own).value,
            "retryInMs": wait_ms(min((lane.blocked_until_s for lane in own), default=0.0), now_s),
            "inFlight": sum(lane.in_flight for lane in own),
            "waitMs": math.ceil(1000 * min(waits_s[name], MAX_WAIT_S)),
            "serviceMs": math.ceil(1000 * max((lane.service.mean_s for lane in own), default=0.0)),
        }
        for name, own in lanes.items()
    }


def _is_limited(lanes: list[LaneStatistics], now_s: float) -> bool:
    """Whether no lane takes a request now, at least one of them because of a limit."""
    blocked = bool(lanes) and all(lane.blocked_until_s > now_s for lane in lanes)
    return blocked and any(lane.limited_until_s > now_s for lane in lanes)


def _circuit(lanes: list[LaneStatistics]) -> CircuitState:
    states = {lane.circuit for lane in lanes}
    order = (CircuitState.CLOSED, CircuitState.PROBING, CircuitState.OPEN)
    return next((state for state in order if state in states), CircuitState.CLOSED)


def sessions(gateway: "Gateway", only: str | None = None) -> dict[str, Any]:
    """`GET /api/llm/sessions`: the sessions, their weights, and the agents that have deferred.

    `only` is the caller whose sessions are shown, None: all.
    """
    listing = [session for session in gateway.sessions.listing() if only is None or session.owner == only]
    return {
        "activeGames": len(listing),
        "sessions": [
            {
                "sessionId": session.id,
                "owner": session.owner,
                "weight": session.weight,
                "connectedMs": int(1000 * session.connected_for_s),
                "idleMs": int(1000 * session.idle_s),
                "requestCount": session.requests,
                "waiting": session.waiting,
                "activeOn": list(session.groups),
            }
            for session in listing
        ],
        "deferred": [
            {"sessionId": wait.session, "agentId": wait.agent, "resumesInMs": int(1000 * wait.left_s)}
            for wait in gateway.defers.listing()
            if is_of(wait.session, only)
        ],
    }


def costs(gateway: "Gateway", only: str | None = None) -> dict[str, Any]:
    """`GET /api/llm/costs`: requests, tokens and money, in all and by provider, model and session; and the budgets.

    For one caller `only`, all figures are its own, and those that are not kept per caller are left out.
    """
    table = gateway.tally.costs()
    if only is not None:
        own = {label: sums for label, sums in table.by_session.items() if is_of(label, only)}
        table = CostTable(sum_of(own.values()), {}, {}, own)
    return {
        "total": sums_of(table.total),
        "byProvider": {name: sums_of(sums) for name, sums in table.by_provider.items()},
        "byModel": {name: sums_of(sums) for name, sums in table.by_model.items()},
        "bySession": {name: sums_of(sums) for name, sums in table.by_session.items()},
        "budgets": [
            {
                "owner": account.owner,
                "limit": asdict(account.budget),
                "requests": account.requests,
                "tokens": account.tokens,
                "usd": account.usd,
            }
            for account in gateway.budgets.listing()
            if only is None or account.owner == only
        ],
    }


def is_of(label: str, only: str | None) -> bool:
    """Whether a session, by its label, belongs to the caller `only`; None: to any."""
    return only is None or label.startswith(f"{only}/")


def sum_of(parts: Iterable[Sums]) -> Sums:
    """Return the total."""
    return Sums(*(sum(column) for column in zip(*map(astuple, parts), strict=True)))


def health(gateway: "Gateway") -> dict[str, Any]:
    """`GET /healthz`: whether it takes requests, and the problems."""
    problem = gateway.shared_state()["problem"]
    return {"status": "stopping" if gateway.closing else "degraded" if problem else "ok", "problem": problem}


def wait_ms(until_s: float, now_s: float) -> int:
    """Return the milliseconds until then; 0 if it is over."""
    return math.ceil(1000 * max(0.0, until_s - now_s))


def sums_of(sums: Sums) -> dict[str, Any]:
    """Requests, tokens and money."""
    return {
        "requests": sums.requests,
        "served": sums.ok,
        "promptTokens": sums.prompt_tokens,
        "completionTokens": sums.completion_tokens,
        "usd": sums.cost_usd,
        "unpriced": sums.unpriced,
    }


def times_of(times: HistogramSnapshot) -> dict[str, Any]:
    """Return durations as JSON values."""
    return {
        "count": times.count,
        "meanMs": 1000 * times.mean_s,
        "p50Ms": 1000 * times.percentile_s(50),
        "p90Ms": 1000 * times.percentile_s(90),
        "p99Ms": 1000 * times.percentile_s(99),
        "maxMs": 1000 * times.max_s,
    }
