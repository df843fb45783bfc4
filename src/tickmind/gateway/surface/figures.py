"""Statistics as callers and pages get them: per provider in short, everything in the overview, sessions and costs."""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tickmind.gateway.queue.lane import LaneStatistics
from tickmind.gateway.sharing.histogram import HistogramSnapshot
from tickmind.gateway.sharing.tally import Sums

if TYPE_CHECKING:
    from tickmind.gateway.gateway import Gateway


def stats(gateway: "Gateway") -> dict[str, Any]:
    """`GET /api/llm/stats`: for each provider how many wait, and whether and how long it is limited."""
    now_s = gateway.clock.monotonic()
    queue = gateway.dispatcher.statistics()
    lanes: dict[str, list[LaneStatistics]] = {name: [] for name in gateway.config.providers}
    for lane in queue.lanes:
        lanes.setdefault(lane.provider, []).append(lane)
    lengths = dict.fromkeys(lanes, 0)
    for chain in queue.chains:
        if chain.depth:
            lengths[chain.chain[0][0]] += chain.depth
    return {
        name: {
            "length": lengths[name],
            "rateLimited": bool(own) and all(lane.blocked_until_s > now_s for lane in own),
            "retryInMs": _wait_ms(min((lane.blocked_until_s for lane in own), default=0.0), now_s),
            "inFlight": sum(lane.in_flight for lane in own),
        }
        for name, own in lanes.items()
    }


def sessions(gateway: "Gateway") -> dict[str, Any]:
    """`GET /api/llm/sessions`: who shares, with which weight, and which agents have deferred."""
    listing = gateway.sessions.listing()
    return {
        "activeGames": len(listing),
        "sessions": [
            {
                "sessionId": one.id,
                "owner": one.owner,
                "weight": one.weight,
                "connectedMs": int(1000 * one.connected_for_s),
                "idleMs": int(1000 * one.idle_s),
                "requestCount": one.requests,
                "waiting": one.waiting,
                "activeOn": list(one.groups),
            }
            for one in listing
        ],
        "deferred": [
            {"sessionId": one.session, "agentId": one.agent, "resumesInMs": int(1000 * one.left_s)}
            for one in gateway.defers.listing()
        ],
    }


def costs(gateway: "Gateway") -> dict[str, Any]:
    """`GET /api/llm/costs`: requests, tokens and money, in all and by provider, model and session; and the budgets."""
    table = gateway.tally.costs()
    return {
        "total": _sums(table.total),
        "byProvider": {name: _sums(sums) for name, sums in table.by_provider.items()},
        "byModel": {name: _sums(sums) for name, sums in table.by_model.items()},
        "bySession": {name: _sums(sums) for name, sums in table.by_session.items()},
        "budgets": [
            {
                "owner": one.owner,
                "limit": asdict(one.budget),
                "requests": one.requests,
                "tokens": one.tokens,
                "usd": one.usd,
            }
            for one in gateway.budgets.listing()
        ],
    }


def overview(gateway: "Gateway") -> dict[str, Any]:
    """`GET /api/llm/overview`: all that the dashboard shows, at one moment."""
    now_s = gateway.clock.monotonic()
    queue, tally = gateway.dispatcher.statistics(), gateway.tally.snapshot()
    defers = gateway.defers.statistics()
    by_session = {one.session: one for one in tally.sessions}
    return {
        "upMs": int(1000 * tally.since_s),
        "sharing": gateway.config.sharing.mode,
        "shared": gateway.shared_state(),
        "requests": tally.requests,
        "answered": tally.answered,
        "queued": queue.queued,
        "inFlight": queue.in_flight,
        "attempts": tally.attempts,
        "fallbacks": tally.fallbacks,
        "refusals": {code.value: count for code, count in tally.refusals.items() if count},
        "waits": _times(tally.waits),
        "latencies": _times(tally.latencies),
        "total": _sums(tally.sums),
        "lanes": [_lane(one, now_s) for one in queue.lanes],
        "chains": [
            {
                "model": chain.model,
                "chain": [{"provider": provider, "model": model} for provider, _, model in chain.chain],
                "depth": chain.depth,
                "capacity": chain.capacity,
                "waiting": dict(chain.waiting),
            }
            for chain in queue.chains
        ],
        "sessions": [
            {
                **row,
                "served": by_session[row["sessionId"]].sums.ok if row["sessionId"] in by_session else 0,
                "usd": by_session[row["sessionId"]].sums.cost_usd if row["sessionId"] in by_session else 0.0,
                "waits": _times(by_session[row["sessionId"]].waits) if row["sessionId"] in by_session else None,
            }
            for row in sessions(gateway)["sessions"]
        ],
        "targets": [
            {
                "provider": one.provider,
                "model": one.model,
                **_sums(one.sums),
                "results": {result.value: count for result, count in one.results.items() if count},
                "latencies": _times(one.latencies),
            }
            for one in tally.targets
        ],
        "deferred": defers.deferred,
        "cache": asdict(gateway.cache.statistics()) if gateway.cache.enabled else None,
        "events": list(gateway.events),
    }


def health(gateway: "Gateway") -> dict[str, Any]:
    """`GET /healthz`: whether it takes requests, and what is not as it should be."""
    problem = gateway.shared_state()["problem"]
    return {"status": "stopping" if gateway.closing else "degraded" if problem else "ok", "problem": problem}


def _lane(lane: LaneStatistics, now_s: float) -> dict[str, Any]:
    used = [
        {"limit": limit, "perS": span_s, "used": used}
        for pace in lane.paces
        for limit, span_s, used in (*pace.requests, *pace.tokens)
    ]
    return {
        "provider": lane.provider,
        "key": lane.key_id,
        "model": lane.model,
        "inFlight": lane.in_flight,
        "concurrency": None if math.isinf(lane.concurrency) else lane.concurrency,
        "waiting": lane.waiting,
        "limitedForMs": _wait_ms(lane.blocked_until_s, now_s),
        "reason": lane.reason if lane.blocked_until_s > now_s else "",
        "circuit": lane.circuit.value,
        "limits": used,
        "sent": lane.sent,
        "served": lane.served,
        "limited": lane.limited,
        "failed": lane.failed,
    }


def _wait_ms(until_s: float, now_s: float) -> int:
    return math.ceil(1000 * max(0.0, until_s - now_s))


def _sums(sums: Sums) -> dict[str, Any]:
    return {
        "requests": sums.requests,
        "served": sums.ok,
        "promptTokens": sums.prompt_tokens,
        "completionTokens": sums.completion_tokens,
        "usd": sums.cost_usd,
        "unpriced": sums.unpriced,
    }


def _times(times: HistogramSnapshot) -> dict[str, Any]:
    return {
        "count": times.count,
        "meanMs": 1000 * times.mean_s,
        "p50Ms": 1000 * times.percentile_s(50),
        "p90Ms": 1000 * times.percentile_s(90),
        "p99Ms": 1000 * times.percentile_s(99),
        "maxMs": 1000 * times.max_s,
    }
