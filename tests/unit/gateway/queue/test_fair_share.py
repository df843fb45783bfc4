"""Who gets how much: drills on simulated time with one greedy session and modest ones beside it."""

import random
from statistics import median
from typing import Any

import pytest
from tests.kits.queue_doubles import ScriptedProvider
from tests.long import short_or_long

from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.settings.config import GatewayConfig, Limits, QueueConfig


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
@pytest.mark.parametrize("length_s", short_or_long([150.0], [60.0, 300.0]))
def test_overload_drill_with_known_limits_serves_all_the_limit_fairly_and_meets_no_429(desk, time, fixed, length_s):
    real = {name: ScriptedProvider(time, limit=rpm, fixed=fixed) for name, rpm in (("a", 120), ("b", 240))}
    limits = {"a": Limits(requests_per_minute=120), "b": Limits(requests_per_minute=240)}
    d = desk(limits, real=real)
    served: Any = drill(d, time, length_s)
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


@pytest.mark.parametrize(
    ("fixed", "retry_after"),
    [(False, False), (True, True), *short_or_long([], [(False, True), (True, False)])],
)
@pytest.mark.slow
def test_overload_drill_with_unknown_limits_meets_few_429s(desk, time, fixed, retry_after):
    real = {
        name: ScriptedProvider(time, limit=rpm, fixed=fixed, retry_after=retry_after)
        for name, rpm in (("a", 120), ("b", 240))
    }
    d = desk({"a": Limits(), "b": Limits()}, real=real)
    length_s = 600.0
    served: Any = drill(d, time, length_s)
    calls = sum(len(provider.calls) for provider in real.values())
    limited = sum(provider.limited for provider in real.values())
    total = sum(map(len, served.values()))
    assert limited <= 0.05 * calls
    assert total >= 0.92 * 6 * length_s
    shares = [len(served[name]) for name in ("m1", "m2", "m3")]
    assert jain(shares) > 0.99


def batches(d, time, name, rate, until_s, chance, *, size=1, jitter=0.1, chain=None, tokens=0, by_chance=False):
    """Asks for `rate` requests per second, so many at a time as agents on one tick do, whatever becomes of them."""
    tickets: list[Any] = []

    def ask():
        if time.monotonic() < until_s:
            tickets.extend(d.submit(name, chain, tokens=tokens) for _ in range(size))
            apart = chance.expovariate(1.0) if by_chance else chance.uniform(1 - jitter, 1 + jitter)
            time.after(size * apart / rate, ask)

    time.after(size * chance.random() / rate, ask)
    return tickets


def served_waits(tickets):
    return waits([ticket for ticket in tickets if ticket.sent])


def p99(values):
    return sorted(values)[int(0.99 * len(values))]


def polite_and_greedy(d, time, length_s, seed, pattern, *, greedy):
    """Nine that ask for 0.97 of a tenth of 20 requests per second each, and what the greedy one was served."""
    size, jitter = pattern
    polite = [
        batches(d, time, f"p{number}", 0.97 * 2, length_s, random.Random(seed + number), size=size, jitter=jitter)
        for number in range(9)
    ]
    served: list[Any] = []
    if greedy:
        for _ in range(60):
            d.worker("greedy", length_s, served)
    time.run_until(length_s)
    return polite, served


EVEN, UNEVEN, BY_FOUR, BY_TEN = (1, 0.1), (1, 0.5), (4, 0.1), (10, 0.1)  # how many at a time, how regular
PATTERNS = [(EVEN, 0, 2), (UNEVEN, 100, 5), (BY_FOUR, 200, 2), (BY_TEN, 300, 5)]  # and seed and burst
MORE_PATTERNS = [(EVEN, 0, 5), (UNEVEN, 100, 2), (BY_FOUR, 200, 5), (BY_TEN, 300, 2)]


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "seed", "burst"), short_or_long(PATTERNS, PATTERNS + MORE_PATTERNS))
def test_polite_sessions_wait_no_longer_beside_one_that_always_waits(desk, time, pattern, seed, burst):
    """Single requests that come by the clock, give or take a half, and batches. Measured from the second minute on:
    in the first moments nothing tells the greedy one from the others.
    """
    limits = {"a": Limits(requests_per_minute=1200, burst=burst)}
    length_s = short_or_long(120.0, 660.0)

    def run(*, greedy):
        clock = type(time)()
        d = type(maker)({"a": ScriptedProvider(clock)}, limits, clock)
        polite, served = polite_and_greedy(d, clock, length_s, seed, pattern, greedy=greedy)
        assert not [ticket for tickets in polite for ticket in tickets if ticket.refused]
        late = [ticket for tickets in polite for ticket in tickets if ticket.job.arrived_s > 60]
        return polite, served, p99(served_waits(late)), d.upstream["a"]

    maker = desk(limits)
    _, _, alone_s, _ = run(greedy=False)
    polite, served, beside_s, provider = run(greedy=True)
    assert beside_s <= 1.1 * alone_s + 1e-6
    got = [sum(ticket.ended is not None for ticket in tickets) for tickets in polite]
    assert jain([*got, len(served)]) >= 0.99, (got, len(served))
    assert sum(got) >= 0.99 * sum(map(len, polite))
    assert len(provider.calls) >= 0.98 * 20 * length_s
    assert provider.busiest(60) <= 1200


def chance_waits(desk, time, rpm, burst, size, *, greedy):
    """Nine that ask for 0.8 of their share by chance, or evenly in batches: their waits, and what they were served."""
    clock = type(time)()
    config = GatewayConfig(queue=QueueConfig(capacity=1000, max_wait_s=600.0))
    limits = {"a": Limits(requests_per_minute=rpm, burst=burst)}
    d = type(desk(limits))({"a": ScriptedProvider(clock)}, limits, clock, config=config)
    requests = short_or_long(100_000 if size else 240_000, 240_000)  # chance evens out over many only
    per_s, until_s = 0.8 * rpm / 600, 60 + requests / rpm
    polite = [
        batches(d, clock, f"p{number}", per_s, until_s, random.Random(number), size=max(size, 1), by_chance=not size)
        for number in range(9)
    ]
    served: list[Any] = []
    if greedy:
        for _ in range(60):
            d.worker("greedy", until_s, served)
    clock.run_until(until_s + 600)
    assert d.upstream["a"].busiest(60) <= rpm
    assert len(d.upstream["a"].calls) >= (0.96 if greedy else 0.7) * rpm / 60 * until_s
    late = [ticket for tickets in polite for ticket in tickets if ticket.job.arrived_s > 60]
    return waits(late)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rpm", "burst", "size", "slots"),
    [
        *((1200, 1, 1, 2.2), (1200, 5, 0, 0.6), (1200, 5, 4, 0.3), (30, 1, 4, 1.1), (60, 10, 1, 3.2)),
        *short_or_long([], [(1200, 1, 0, 2.2), (1200, 5, 1, 0.1), (60, 1, 0, 1.1), (60, 1, 1, 1.1), (30, 1, 0, 4.0)]),
        *short_or_long([], [(60, 10, 0, 8.0), (30, 5, 1, 3.2)]),
    ],
)
def test_sessions_that_ask_for_four_fifths_of_their_share_wait_a_few_slots_longer_at_most(
    desk, time, rpm, burst, size, slots
):
    """A slot is the limit's even distance. No burst: who is first finds a slot just taken, and no timer that was late.
    A small window that somebody keeps full: what is kept free of it is soon used, the rest comes back slot by slot.
    """
    alone_s = p99(chance_waits(desk, time, rpm, burst, size, greedy=False))
    beside_s = p99(chance_waits(desk, time, rpm, burst, size, greedy=True))
    assert beside_s <= max(1.1 * alone_s, alone_s + slots * 60 / rpm)


@pytest.mark.slow
def test_polite_sessions_wait_no_longer_beside_one_that_asks_for_a_thousand_times_as_much(desk, time):
    """All of the greedy one's 1,940 requests per second, refused or not; the others ask four at a time."""
    length_s = short_or_long(30.0, 120.0)
    limits = {"a": Limits(requests_per_minute=1200, burst=5)}

    def run(*, greedy):
        clock = type(time)()
        d = type(maker)({"a": ScriptedProvider(clock)}, limits, clock)
        d.keep = False
        asked = batches(d, clock, "greedy", 1940.0, length_s, random.Random(99)) if greedy else []
        polite, _ = polite_and_greedy(d, clock, length_s, 0, BY_FOUR, greedy=False)
        return polite, asked

    maker = desk(limits)
    alone, _ = run(greedy=False)
    beside, asked = run(greedy=True)
    assert len(asked) > 900 * len(beside[0])
    assert not [ticket for tickets in beside for ticket in tickets if ticket.refused]
    got = [sum(ticket.ended is not None for ticket in tickets) for tickets in (*beside, asked)]
    assert jain(got) >= 0.99, got
    alone_s, beside_s = (p99([wait for tickets in run for wait in served_waits(tickets)]) for run in (alone, beside))
    assert beside_s <= 1.1 * alone_s


@pytest.mark.slow
@pytest.mark.parametrize("seed", short_or_long([0], [0, 100, 200, 300]))
def test_greedy_session_at_a_thousand_times_the_demand_delays_evenly_spaced_ones_by_a_slot_at_most(desk, time, seed):
    """A limit without a burst: every slot is taken as soon as it is free, and who comes right after waits for it."""

    length_s = short_or_long(10.0, 40.0)

    def run(clock, *, greedy):
        real = {"a": ScriptedProvider(clock)}
        d = type(first)(real, {"a": Limits(requests_per_second=20)}, clock)
        tickets: dict[Any, Any] = {}
        for number in range(9):  # each asks for 0.97 of a tenth of the limit
            tickets[number] = batches(d, clock, f"p{number}", 0.97 * 2, length_s, random.Random(seed + number))
        if greedy:
            tickets["greedy"] = batches(d, clock, "greedy", 1940.0, length_s, random.Random(seed + 99))
        clock.run_until(length_s)
        return tickets, real["a"]

    first = desk({"a": Limits()})
    alone, _ = run(type(time)(), greedy=False)
    beside, provider = run(type(time)(), greedy=True)
    greedy = beside.pop("greedy")
    assert len(greedy) > 900 * len(beside[0])
    got = [sum(ticket.ended is not None for ticket in tickets) for tickets in (*beside.values(), greedy)]
    assert jain(got) >= 0.99, got
    assert not [ticket for tickets in beside.values() for ticket in tickets if ticket.refused]
    alone_s = p99([wait for tickets in alone.values() for wait in served_waits(tickets)])
    beside_s = p99([wait for tickets in beside.values() for wait in served_waits(tickets)])
    assert beside_s <= alone_s + 1.01 / 20
    assert provider.busiest(1.0) <= 20
    assert len(provider.calls) >= 0.98 * 20 * length_s


def test_greedy_session_costs_a_polite_one_no_more_than_a_slot(desk, time):
    d = desk({"a": Limits(requests_per_second=10)})
    for _ in range(30):
        d.worker("greedy", 100.0, [])
    polite = batches(d, time, "polite", 2.0, 100.0, random.Random(1))
    time.run_until(105.0)
    assert max(served_waits(polite)) <= 0.102


def test_shares_go_by_weight(desk, time):
    d = desk({"a": Limits(requests_per_second=10)})
    served: Any = {name: [] for name in ("one", "two", "five")}
    for name, weight in (("one", 1.0), ("two", 2.0), ("five", 5.0)):
        d.session(name, weight=weight)
        for _ in range(15):
            d.worker(name, 80.0, served[name])
    time.run_until(80.0)
    total = sum(map(len, served.values()))
    assert len(served["one"]) / total == pytest.approx(1 / 8, rel=0.1)
    assert len(served["two"]) / total == pytest.approx(2 / 8, rel=0.1)
    assert len(served["five"]) / total == pytest.approx(5 / 8, rel=0.1)


def test_a_hundred_sessions_of_one_owner_gain_nothing(desk, time):
    d = desk({"a": Limits(requests_per_second=10)})
    served: Any = {"honest": [], "forger": []}
    for number in range(100):
        d.session(f"f{number}", owner="forger")
        d.worker(f"f{number}", 60.0, served["forger"])
    for _ in range(5):
        d.worker("honest", 60.0, served["honest"])
    time.run_until(60.0)
    assert len(served["honest"]) == pytest.approx(len(served["forger"]), rel=0.1)


def test_sessions_of_one_owner_share_what_the_owner_gets(desk, time):
    d = desk({"a": Limits(requests_per_second=10)})
    served: Any = {"busy": [], "quiet": []}
    for name, workers in (("busy", 20), ("quiet", 2)):
        d.session(name, owner="acme")
        for _ in range(workers):
            d.worker(name, 60.0, served[name])
    time.run_until(60.0)
    assert len(served["quiet"]) == pytest.approx(len(served["busy"]), rel=0.1)


def test_idle_shares_are_used_by_the_others(desk, time):
    d = desk({"a": Limits(requests_per_second=10)})
    for number in range(20):
        d.submit(f"idle{number}")
    served: Any = []
    for _ in range(8):
        d.worker("busy", 62.0, served)
    time.run_until(62.0)
    assert len(served) >= 0.98 * 10 * 60


def test_sessions_that_ask_for_different_models_share_the_key_fairly(time, desk):
    limits = Limits(requests_per_second=10)
    models = {"small": Limits(requests_per_second=9), "large": Limits(requests_per_second=9)}
    d = desk({"a": limits}, provider_options={"model_limits": models})
    served: Any = {"s": [], "l": [], "both": []}
    for _ in range(10):
        d.worker("s", 60.0, served["s"], ("a/small",))
        d.worker("l", 60.0, served["l"], ("a/large",))
        d.worker("both", 60.0, served["both"], ("a/large", "a/small"))
    time.run_until(60.0)
    total = sum(map(len, served.values()))
    assert total >= 0.98 * 10 * 60
    for tickets in served.values():
        assert len(tickets) / total == pytest.approx(1 / 3, rel=0.1)


def test_shares_go_by_tokens_where_tokens_are_scarce(desk, time):
    d = desk({"a": Limits(requests_per_minute=6000, tokens_per_minute=60_000)})
    tokens = {"small": 100, "large": 1000}
    used = dict.fromkeys(tokens, 0)

    def ask(name):
        if time.monotonic() < 120.0:
            d.submit(name, tokens=tokens[name], timeout_s=600, on_over=lambda ticket: again(name, ticket))

    def again(name, ticket):
        if ticket.ended is not None:
            used[name] += tokens[name]
        ask(name)

    for name in tokens:
        for _ in range(20):
            ask(name)
    time.run_until(120.0)
    assert sum(used.values()) >= 0.95 * 120_000
    assert used["small"] == pytest.approx(used["large"], rel=0.1)


def test_charge_is_corrected_when_the_real_tokens_are_known(desk, time):
    def real_tokens(job, now):
        return Outcome(Result.OK, 200, prompt_tokens=job.tokens // (1 if job.session.id == "honest" else 5))

    d = desk({"a": Limits(requests_per_minute=6000, tokens_per_minute=60_000)}, script={"a": real_tokens})
    count = {"honest": 0, "over": 0}

    def ask(name):
        if time.monotonic() < 120.0:
            d.submit(name, tokens=200 if name == "honest" else 1000, timeout_s=600, on_over=lambda t: again(name))

    def again(name):
        count[name] += 1
        ask(name)

    for name in count:
        for _ in range(20):
            ask(name)
    time.run_until(120.0)
    assert count["honest"] == pytest.approx(count["over"], rel=0.1)  # both really use 200 tokens each
