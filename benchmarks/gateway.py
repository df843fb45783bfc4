"""The gateway beside its peers: throughput, latency, streams, memory, an overload drill, and its queue logic alone.

Each gateway is one process on one core; the mock provider and the load share another. All sides take turns within one
run, so that a busy machine is unfair to none; the processor time per request hardly depends on what else runs.
`LONG=1` in the environment takes a million requests for the memory and a minute for each drill.
"""

import os
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.gateway_drill import CAPACITY_PER_S, REQUESTS_PER_MINUTE, Drill, drill
from benchmarks.gateway_processes import Load, Side, gateway, gateways, load, paused, provider
from benchmarks.harness import Result, paired

LONG = bool(os.environ.get("LONG"))
ROUNDS = 5
SECONDS, WARM_UP_S = 2.0, 0.5
LITELLM_REQUESTS, LITELLM_WARM_UP_S = 192, 3.0  # it needs seconds for as many as there are connections

P99_LIMIT_MS = 30.0
ADDED_LIMIT_MS = 0.2
MEMORY_REQUESTS = 1_000_000 if LONG else 100_000
MEMORY_STEPS = 10
MEMORY_LIMIT_MB = 60.0
GROWTH_LIMIT_MB = 1.0  # per 100,000 requests, once it has warmed up
DRILL_S = 60.0 if LONG else 30.0
SERVED_BAR = 0.98  # of what the providers take together
UNFAIR_LIMIT = 0.1
WAIT_LIMIT_S = 1.0
QUEUE_LIMIT_US = 15.0
QUEUE_JOBS = 20_000
IN_FLIGHT = 64

Measure = Callable[[Side], Load]


def _by_turns(sides: Sequence[Side], measure: Measure, rounds: int = ROUNDS) -> dict[str, list[Load]]:
    """What each side did, round by round, after one round to warm up."""
    loads: dict[str, list[Load]] = {side.name: [] for side in sides}
    for turn in range(rounds + 1):
        for side in sides if turn % 2 else reversed(sides):
            with paused([other for other in sides if other.name not in {side.name, "provider"}]):
                measured = measure(side)
            if turn:
                loads[side.name].append(measured)
    return loads


def _within(name: str, figures: list[float], limit: float, unit: str) -> Result:
    return paired(name, figures, [limit] * len(figures), unit=unit, peer_name="the limit", bar=1.0)


def _saturate(side: Side) -> Load:
    if side.name == "litellm":
        return load(side, "--requests", str(LITELLM_REQUESTS), "--warm-up", str(LITELLM_WARM_UP_S))
    return load(side, "--seconds", str(SECONDS), "--warm-up", str(WARM_UP_S))


def _stream(model: str, side: Side) -> Load:
    return load(side, "--stream", "--seconds", str(SECONDS), "--warm-up", str(WARM_UP_S), model=model)


def throughput() -> list[Result]:
    """Requests per second through 64 connections, and what each costs the gateway's core."""
    bars = {"TensorZero": 2.5, "aiohttp": 2.5, "LiteLLM": 120.0}
    with provider() as upstream, gateways(("tickmind", *(peer.lower() for peer in bars)), (upstream,)) as sides:
        loads = _by_turns(sides, _saturate)
    ours = loads["tickmind"]
    results = []
    for peer, bar in bars.items():
        theirs = loads[peer.lower()]
        rates = [one.requests_per_s for one in ours], [one.requests_per_s for one in theirs]
        costs = [one.cpu_us for one in ours], [one.cpu_us for one in theirs]
        results += [
            paired("gateway/throughput", *rates, unit="/s", peer_name=peer, bar=bar, more_is_better=True),
            paired("gateway/cpu-per-request", *costs, unit="us", peer_name=peer, bar=bar),
        ]
    return [*results, _within("gateway/p99-at-saturation", [one.p99_ms for one in ours], P99_LIMIT_MS, "ms")]


def one_connection() -> list[Result]:
    """What the gateway adds to the time of a request when nothing else is under way, at the median.

    What a relay adds that only passes bytes on is told besides: so much of it is the machine's.
    """
    with provider() as upstream, gateways(("tickmind", "relay"), (upstream,)) as sides:
        arguments = ("--connections", "1", "--seconds", "1", "--warm-up", str(WARM_UP_S))
        loads = _by_turns((*sides, upstream), lambda side: load(side, *arguments))
    added_ms = {
        side.name: [one.p50_ms - direct.p50_ms for one, direct in zip(loads[side.name], loads["provider"], strict=True)]
        for side in sides
    }
    print(f"  a bare relay adds {statistics.median(added_ms['relay']):.3f} ms")
    return [_within("gateway/added-by-one-hop", added_ms["tickmind"], ADDED_LIMIT_MS, "ms")]


def streams() -> list[Result]:
    """Streamed replies of 20 chunks per second, which come from the provider together, or one by one."""
    results = []
    with provider() as upstream, gateways(("tickmind", "aiohttp"), (upstream,)) as sides:
        for name, model in (("gateway/streams", "mock"), ("gateway/streams-apart", "mock-apart")):
            loads = _by_turns(sides, partial(_stream, model))
            rates = ([one.requests_per_s for one in loads[side.name]] for side in sides)
            results.append(paired(name, *rates, unit="/s", peer_name="aiohttp", bar=1.5, more_is_better=True))
    return results


def memory() -> list[Result]:
    """Memory after many requests, and whether it grows with them."""
    step = MEMORY_REQUESTS // MEMORY_STEPS
    held_mb = []
    with provider() as upstream, gateway("tickmind", (upstream,)) as ours:
        for _ in range(MEMORY_STEPS):
            load(ours, "--requests", str(step), "--warm-up", "0")
            held_mb.append(ours.memory_mb())
    print("  MB after each", f"{step:,} requests:", ", ".join(f"{mb:.1f}" for mb in held_mb))
    warm = held_mb[MEMORY_STEPS // 5 :]
    slope = statistics.linear_regression(range(len(warm)), warm).slope  # MB per step
    growth_mb = max(slope * 100_000 / step, 0.0)
    return [
        _within("gateway/memory", held_mb[-1:], MEMORY_LIMIT_MB, "MB"),
        _at_most("gateway/growth-per-100,000", growth_mb, GROWTH_LIMIT_MB, "MB"),
    ]


def overload() -> list[Result]:
    """Two providers that take 6 requests per second, and sessions that want more."""
    known = [text for rate in REQUESTS_PER_MINUTE for text in ("--requests-per-minute", str(rate))]
    unknown = ["--requests-per-minute", "0"] * len(REQUESTS_PER_MINUTE)
    drills = {
        "known": drill("tickmind", DRILL_S, *known),
        "unknown": drill("tickmind", DRILL_S, *unknown),
        "LiteLLM": drill("litellm", DRILL_S),
    }
    for name, done in drills.items():
        print(f"  {name}: {done}")
    results = []
    for name in ("known", "unknown"):
        results += _drill_results(name, drills[name], drills["LiteLLM"])
    return results


def _drill_results(name: str, ours: Drill, peer: Drill) -> list[Result]:
    served = ours.served_per_s / CAPACITY_PER_S
    waits = [ours.modest_wait_s], [peer.modest_wait_s]
    few = 0 if name == "known" else peer.upstream_429s / 10  # a tenth of what the peer meets is few
    return [
        Result(f"gateway/drill-{name}-served", ours.served_per_s, "/s", "limits", CAPACITY_PER_S, served, SERVED_BAR),
        _at_most(f"gateway/drill-{name}-429s", ours.upstream_429s, few, ""),
        _at_most(f"gateway/drill-{name}-unfair", ours.unfairness, UNFAIR_LIMIT, ""),
        _at_most(f"gateway/drill-{name}-wait", ours.modest_wait_s, WAIT_LIMIT_S, "s"),
        paired(f"gateway/drill-{name}-wait", *waits, unit="s", peer_name="LiteLLM", bar=1.0),
    ]


def _at_most(name: str, figure: float, limit: float, unit: str) -> Result:
    """A figure that may be 0, as its limit may."""
    ratio = limit / figure if figure else float(figure <= limit)
    return Result(name, figure, unit, "the limit", limit, ratio, 1.0, (ratio, ratio))


def queue_alone() -> list[Result]:
    """Processor time of `submit` and `ended` for a request that need not wait, without sockets."""
    from tests.kits.queue_doubles import SimulatedTime

    from tickmind.base import Secret, SystemClock
    from tickmind.gateway import ApiKey, GatewayConfig, Limits, Provider
    from tickmind.gateway.fairness.sessions import Session
    from tickmind.gateway.queue.dispatcher import Dispatcher
    from tickmind.gateway.queue.job import Outcome
    from tickmind.gateway.queue.job import Result as Ending
    from tickmind.gateway.queue.ticket import Ticket
    from tickmind.gateway.routing.plan import Plan, Target

    class Carrier:
        def send(self, job: Ticket, target: Target) -> None:
            """Nobody is called."""

        def refuse(self, _job: Ticket, refusal: object) -> None:
            raise AssertionError(refusal)

    limits = Limits(requests_per_minute=60e6, tokens_per_minute=60e9, burst=100_000, concurrency=2 * IN_FLIGHT)
    single = Provider("mock", "http://127.0.0.1:1/v1", (ApiKey("id", Secret("sk-1234567890")),), limits)
    plan = Plan((Target(single, single.keys[0], "mock"),), "mock")
    dispatcher = Dispatcher(GatewayConfig(), clock=SystemClock(), timers=SimulatedTime().at)
    sessions = [Session(f"game-{number}", f"game-{number}") for number in range(8)]
    carrier, good = Carrier(), Outcome(Ending.OK, 200, prompt_tokens=10, completion_tokens=10)

    def one_round() -> float:
        jobs = [Ticket(plan, sessions[n % 8], carrier, float("inf"), tokens=20) for n in range(QUEUE_JOBS)]
        under_way: deque[Ticket] = deque()
        began_s = time.process_time()
        for job in jobs:
            dispatcher.submit(job)
            under_way.append(job)
            if len(under_way) == IN_FLIGHT:
                dispatcher.ended(under_way.popleft(), good)
        taken_s = time.process_time() - began_s
        for job in under_way:
            dispatcher.ended(job, good)
        return 1e6 * taken_s / QUEUE_JOBS

    one_round()
    return [_within("gateway/queue-alone", [one_round() for _ in range(ROUNDS)], QUEUE_LIMIT_US, "us")]


BENCHMARKS = (queue_alone, throughput, one_connection, streams, memory, overload)
