"""Who gets how much: drills on simulated time with one greedy session and modest ones beside it."""

import random
from statistics import median
from typing import Any

import pytest

from tickmind.gateway.queue.testing import ScriptedProvider
from tickmind.gateway.settings.config import Limits


def jain(shares):
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def drill(d, time, length_s):
    """One greedy session of 20 workers and three of one; what each was served, by session."""
    served: dict[str, list[Any]] = {"greedy": [], "m1": [], "m2": [], "m3": []}
    for _ in range(20):
        d.worker("greedy", length_s, served["greedy"])
    for name in ("m1", "m2", "m3"):
        d.worker(name, length_s, served[name])
    time.run_until(length_s)
    return served


def waits(tickets):
    return [ticket.sent[-1][0] - ticket.job.arrived_s for ticket in tickets]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("length_s", [60.0, 300.0])
def test_overload_drill_with_known_limits_serves_all_the_limit_fairly_and_meets_no_429(desk, time, fixed, length_s):
    real = {name: ScriptedProvider(time, limit=rpm, fixed=fixed) for name, rpm in (("a", 120), ("b", 240))}
    limits = {"a": Limits(requests_per_minute=120), "b": Limits(requests_per_minute=240)}
    d = desk(limits, real=real)
    served = drill(d, time, length_s)
    total = sum(map(len, served.values()))
    assert total >= 0.98 * 6 * length_s
    assert real["a"].limited == real["b"].limited == 0
    shares = {name: len(tickets) / total for name, tickets in served.items()}
    for name in served:
        assert shares[name] == pytest.approx(0.25, rel=0.1), shares
    for name in ("m1", "m2", "m3"):
        assert median(waits(served[name])) < 1.0
    assert real["a"].busiest(60) <= 120
    assert real["b"].busiest(60) <= 240


@pytest.mark.parametrize("retry_after", [True, False])
@pytest.mark.parametrize("fixed", [False, True])
def test_overload_drill_with_unknown_limits_meets_few_429s(desk, time, fixed, retry_after):
    real = {
        name: ScriptedProvider(time, limit=rpm, fixed=fixed, retry_after=retry_after)
        for name, rpm in (("a", 120), ("b", 240))
    }
    d = desk({"a": Limits(), "b": Limits()}, real=real)
    served = drill(d, time, 600.0)
    calls = sum(len(provider.calls) for provider in real.values())
    limited = sum(provider.limited for provider in real.values())
    total = sum(map(len, served.values()))
    assert limited <= 0.03 * calls
    assert total >= 0.88 * 6 * 600
    shares = [len(served[name]) for name in ("m1", "m2", "m3")]
    assert jain(shares) > 0.99


def open_loop(d, time, name, rate, until_s, chance, *, chain=None, tokens=0, steady=False):
    """Asks at random times, whatever becomes of the answers; the tickets."""
    tickets = []

    def ask():
        if time.monotonic() < until_s:
            tickets.append(d.submit(name, chain, tokens=tokens))
            time.after(1 / rate if steady else chance.expovariate(rate), ask)

    time.after(chance.expovariate(rate), ask)
    return tickets


def polite(d, time, *, greedy, length_s=100.0):
    """Nine sessions that ask for 0.97 of a tenth of 20 requests per second, with or without a greedy one."""
    names = [f"p{number}" for number in range(9)]
    tickets = {
        name: open_loop(d, time, name, 0.97 * 2, length_s, random.Random(number)) for number, name in enumerate(names)
    }
    if greedy:
        tickets["greedy"] = open_loop(d, time, "greedy", 1.94 * 1000, length_s, random.Random(99), steady=True)
    time.run_until(length_s)
    return tickets


def p99(values):
    return sorted(values)[int(0.99 * len(values))]


@pytest.mark.slow
def test_greedy_session_at_a_thousand_times_the_demand_only_uses_what_is_left(desk, time, tune):
    limits = {"a": Limits(requests_per_second=20)}
    real = {"a": ScriptedProvider(time)}
    d = desk(limits, real=real)
    alone = polite(d, time, greedy=False)
    alone_p99 = p99([wait for tickets in alone.values() for wait in waits([t for t in tickets if t.sent])])

    again = type(time)()
    real = {"a": ScriptedProvider(again)}
    d = type(d)(real, limits, again)
    beside = polite(d, again, greedy=True)
    got = [sum(ticket.ended is not None for ticket in tickets) for tickets in beside.values()]
    assert jain(got) >= 0.99, got
    refused = [ticket for name, tickets in beside.items() if name != "greedy" for ticket in tickets if ticket.refused]
    assert refused == []
    polite_waits = [
        wait for name, tickets in beside.items() if name != "greedy" for wait in waits([t for t in tickets if t.sent])
    ]
    assert p99(polite_waits) <= 1.1 * alone_p99
    assert len(real["a"].calls) >= 0.98 * 20 * 100
    assert real["a"].busiest(1.0) <= 20
