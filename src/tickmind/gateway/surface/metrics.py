"""`GET /metrics`: the figures for Prometheus, without sessions, whose number has no bound."""

from itertools import pairwise
from typing import TYPE_CHECKING

from tickmind.base.telemetry.exposition import Exposition
from tickmind.gateway.accounting.histogram import BOUNDS_S

if TYPE_CHECKING:
    from tickmind.gateway.gateway import Gateway

_BOUNDS_S = BOUNDS_S[::4]  # every fourth bound is enough for a chart


def metrics(gateway: "Gateway") -> str:
    """Return all figures as text."""
    now_s = gateway.clock.monotonic()
    queue, tally = gateway.dispatcher.statistics(), gateway.tally.snapshot()
    out = Exposition()
    out.counter("tickmind_gateway_requests_total", "Requests that came in.", [({}, tally.requests)])
    out.counter("tickmind_gateway_answered_total", "Requests that were served.", [({}, tally.answered)])
    out.counter(
        "tickmind_gateway_refused_total",
        "Requests that the gateway refused, by code.",
        [({"code": code.value}, count) for code, count in tally.refusals.items()],
    )
    out.counter("tickmind_gateway_fallbacks_total", "Attempts after one at another target.", [({}, tally.fallbacks)])
    out.counter("tickmind_gateway_retries_total", "Attempts beyond the first of a request.", [({}, queue.retries)])
    out.counter(
        "tickmind_gateway_retries_refused_total",
        "Retries that were not made because the retry budget was spent.",
        [({}, queue.retries_refused)],
    )
    out.gauge("tickmind_gateway_retries_left", "Retries that the retry budget allows.", [({}, queue.retries_left)])
    out.counter(
        "tickmind_gateway_attempts_total",
        "Attempts at providers, by result.",
        [
            ({"provider": target.provider, "model": target.model, "result": result.value}, count)
            for target in tally.targets
            for result, count in target.results.items()
        ],
    )
    out.counter(
        "tickmind_gateway_tokens_total",
        "Tokens as reported by providers, or estimated for streams.",
        [
            ({"provider": target.provider, "model": target.model, "kind": kind}, count)
            for target in tally.targets
            for kind, count in (("prompt", target.sums.prompt_tokens), ("completion", target.sums.completion_tokens))
        ],
    )
    out.counter(
        "tickmind_gateway_cost_usd_total",
        "Cost of answers with a known price.",
        [({"provider": target.provider, "model": target.model}, target.sums.cost_usd) for target in tally.targets],
    )
    lanes = [({"provider": lane.provider, "key": lane.key_id, "model": lane.model}, lane) for lane in queue.lanes]
    out.gauge("tickmind_gateway_queued", "Requests that wait.", [({}, queue.queued)])
    out.gauge("tickmind_gateway_in_flight", "Requests at providers.", [(name, lane.in_flight) for name, lane in lanes])
    out.gauge(
        "tickmind_gateway_limited_seconds",
        "Seconds for which a lane is still limited, paused or open.",
        [(name, max(0.0, lane.blocked_until_s - now_s)) for name, lane in lanes],
    )
    out.counter(
        "tickmind_gateway_rate_limited_total",
        "Rate limit refusals (429) by providers.",
        [(name, lane.limited) for name, lane in lanes],
    )
    out.gauge("tickmind_gateway_sessions", "Live sessions.", [({}, len(gateway.sessions))])
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
    """Merge into fewer, wider buckets: each ends where every fourth fine bucket ends, and the last has no end."""
    ends = [0, *range(1, len(counts) - 1, 4)]
    wide = [sum(counts[start:end]) for start, end in pairwise(ends)]
    return [*wide, sum(counts) - sum(wide)]
