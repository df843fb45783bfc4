"""`GET /metrics`: the same figures for Prometheus. Sessions are not told apart here: their number has no bound."""

from itertools import pairwise
from typing import TYPE_CHECKING

from tickmind.base.exposition import Exposition
from tickmind.gateway.accounting.histogram import BOUNDS_S

if TYPE_CHECKING:
    from tickmind.gateway.gateway import Gateway

_BOUNDS_S = BOUNDS_S[::4]  # every fourth bound is enough for a chart


def metrics(gateway: "Gateway") -> str:
    """All figures as text."""
    now_s = gateway.clock.monotonic()
    queue, tally = gateway.dispatcher.statistics(), gateway.tally.snapshot()
    out = Exposition()
    out.counter("tickmind_gateway_requests_total", "Requests that came in.", [({}, tally.requests)])
    out.counter("tickmind_gateway_answered_total", "Requests that were served.", [({}, tally.answered)])
    out.counter(
        "tickmind_gateway_refused_total",
        "Requests that the gateway turned down, by code.",
        [({"code": code.value}, count) for code, count in tally.refusals.items()],
    )
    out.counter("tickmind_gateway_fallbacks_total", "Attempts after one elsewhere.", [({}, tally.fallbacks)])
    out.counter(
        "tickmind_gateway_retries_total", "Attempts beyond the first of a request, wherever.", [({}, queue.retries)]
    )
    out.counter(
        "tickmind_gateway_retries_refused_total",
        "Attempts that were not made because the budget for retries was spent.",
        [({}, queue.retries_refused)],
    )
    out.gauge(
        "tickmind_gateway_retries_left", "Attempts that the budget for retries allows.", [({}, queue.retries_left)]
    )
    out.counter(
        "tickmind_gateway_attempts_total",
        "Attempts at providers, by how they ended.",
        [
            ({"provider": one.provider, "model": one.model, "result": result.value}, count)
            for one in tally.targets
            for result, count in one.results.items()
        ],
    )
    out.counter(
        "tickmind_gateway_tokens_total",
        "Tokens as providers told them, or as those of streams were counted.",
        [
            ({"provider": one.provider, "model": one.model, "kind": kind}, count)
            for one in tally.targets
            for kind, count in (("prompt", one.sums.prompt_tokens), ("completion", one.sums.completion_tokens))
        ],
    )
    out.counter(
        "tickmind_gateway_cost_usd_total",
        "What answers with a known price cost.",
        [({"provider": one.provider, "model": one.model}, one.sums.cost_usd) for one in tally.targets],
    )
    lanes = [({"provider": one.provider, "key": one.key_id, "model": one.model}, one) for one in queue.lanes]
    out.gauge("tickmind_gateway_queued", "Requests that wait.", [({}, queue.queued)])
    out.gauge("tickmind_gateway_in_flight", "Requests at providers.", [(name, one.in_flight) for name, one in lanes])
    out.gauge(
        "tickmind_gateway_limited_seconds",
        "How long a lane is limited, paused or open from now.",
        [(name, max(0.0, one.blocked_until_s - now_s)) for name, one in lanes],
    )
    out.counter(
        "tickmind_gateway_rate_limited_total",
        "Refusals of providers for too many requests.",
        [(name, one.limited) for name, one in lanes],
    )
    out.gauge("tickmind_gateway_sessions", "Sessions that are alive.", [({}, len(gateway.sessions))])
    out.gauge(
        "tickmind_gateway_deferred_agents", "Agents that have deferred.", [({}, gateway.defers.statistics().deferred)]
    )
    out.gauge("tickmind_gateway_held", "Requests of agents that have deferred.", [({}, len(gateway.holding))])
    out.gauge(
        "tickmind_gateway_degraded",
        "1 if the shared state is lost and limits are local.",
        [({}, float(bool(gateway.shared_state()["problem"])))],
    )
    for name, meaning, times in (
        ("tickmind_gateway_wait_seconds", "Time in the queue of served requests.", tally.waits),
        ("tickmind_gateway_latency_seconds", "Time from arrival to the end of served requests.", tally.latencies),
    ):
        out.histogram(name, meaning, _BOUNDS_S, [({}, _every_fourth(times.counts), times.sum_s)])
    return out.text()


def _every_fourth(counts: tuple[int, ...]) -> list[int]:
    """Fewer, wider buckets: each ends where every fourth of the fine ones ends, and the last has no end."""
    ends = [0, *range(1, len(counts) - 1, 4)]
    wide = [sum(counts[start:end]) for start, end in pairwise(ends)]
    return [*wide, sum(counts) - sum(wide)]
