import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import Limit, ManualClock, Secret
from tickmind.gateway.accounting.histogram import BOUNDS_S, BucketedDurations, Histogram
from tickmind.gateway.accounting.tally import OTHER, UsageTally
from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.job import Result
from tickmind.gateway.refusal import Code
from tickmind.gateway.routing.plan import Target
from tickmind.gateway.settings.config import ApiKey, Provider
from tickmind.llm.prices import Price

PRICES = {"dear": Price(1.0, 2.0, 0.5), "cheap": Price(0.1, 0.2)}


def target_of(provider="groq", model="dear"):
    return Target(Provider(provider, "http://127.0.0.1/v1"), ApiKey("k", Secret("")), model)


def serve(tally, session, target, *, waited_s=0.01, took_s=0.2, tokens=(100, 50), cached=0):
    tally.arrived(session)
    return tally.answered(
        session,
        target,
        waited_s=waited_s,
        took_s=took_s,
        prompt_tokens=tokens[0],
        completion_tokens=tokens[1],
        cached_tokens=cached,
    )


@pytest.fixture
def tally():
    return UsageTally(ManualClock(), prices=PRICES)


def test_a_served_request_is_counted_everywhere(tally):
    cost = serve(tally, Session("game", "game"), target_of())
    assert cost == pytest.approx(0.0002)
    seen = tally.snapshot()
    assert (seen.requests, seen.answered, seen.attempts, seen.fallbacks) == (1, 1, 1, 0)
    (target,) = seen.targets
    assert (target.provider, target.model, target.results) == ("groq", "dear", {Result.OK: 1})
    assert (target.sums.prompt_tokens, target.sums.completion_tokens) == (100, 50)
    (session,) = seen.sessions
    assert (session.session, session.sums.ok, session.refused) == ("game", 1, 0)
    assert seen.waits.count == seen.latencies.count == session.waits.count == target.latencies.count == 1


def test_cached_tokens_cost_less(tally):
    assert serve(tally, Session("g", "g"), target_of(), tokens=(100, 0), cached=100) == pytest.approx(0.00005)


def test_a_fallback_is_counted_with_both_attempts(tally):
    session = Session("g", "g")
    tally.arrived(session)
    tally.attempted(target_of("groq"), Result.RATE_LIMITED, 0.0, 0.1, fallback=False)
    tally.answered(
        session,
        target_of("cerebras", "cheap"),
        waited_s=0.3,
        took_s=0.1,
        prompt_tokens=1,
        completion_tokens=1,
        since_s=0.2,
    )
    seen = tally.snapshot()
    assert (seen.requests, seen.attempts, seen.fallbacks, seen.answered) == (1, 2, 1, 1)
    assert (seen.waits.sum_s, seen.latencies.sum_s) == pytest.approx((0.3, 0.4))
    second = seen.targets[1]
    assert (second.waits.sum_s, second.latencies.sum_s) == pytest.approx((0.2, 0.1))
    assert {row.provider: row.results for row in seen.targets} == {
        "groq": {Result.RATE_LIMITED: 1},
        "cerebras": {Result.OK: 1},
    }


def test_refusals_are_counted_by_code(tally):
    session = Session("g", "g")
    for code in (Code.QUEUE_FULL, Code.QUEUE_FULL, Code.REPLACED):
        tally.arrived(session)
        tally.refused(code, session)
    tally.refused(Code.UNAUTHORIZED)
    seen = tally.snapshot()
    assert seen.refusals == {Code.QUEUE_FULL: 2, Code.REPLACED: 1, Code.UNAUTHORIZED: 1}
    assert seen.requests == 4
    assert seen.sessions[0].refused == 3


def test_what_has_no_price_is_visible_as_unpriced(tally):
    session = Session("g", "g")
    assert serve(tally, session, target_of(model="unknown")) is None
    tally.arrived(session)
    assert (
        tally.answered(session, target_of(), waited_s=0, took_s=0, prompt_tokens=None, completion_tokens=None) is None
    )
    assert tally.snapshot().sums.unpriced == 2
    assert tally.snapshot().sums.cost_usd == 0.0


def test_the_cost_table_adds_up(tally):
    for name in ("a", "b"):
        session = Session(name, name)
        serve(tally, session, target_of("groq", "dear"))
        serve(tally, session, target_of("openai", "dear"))
        serve(tally, session, target_of("openai", "cheap"))
    table = tally.costs()
    assert list(table.by_provider) == ["openai", "groq"]
    assert list(table.by_model) == ["dear", "cheap"]
    for column in (table.by_provider, table.by_model, table.by_session):
        assert sum(row.cost_usd for row in column.values()) == pytest.approx(table.total.cost_usd)
        assert sum(row.prompt_tokens for row in column.values()) == table.total.prompt_tokens == 600
    assert table.total.requests == 6


def test_models_beyond_the_bound_are_counted_as_others():
    tally = UsageTally(ManualClock(), prices=PRICES, max_targets=Limit("targets", 2))
    session = Session("g", "g")
    for model in ("a", "b", "dear", "c", "cheap"):
        serve(tally, session, target_of(model=model))
    assert [row.model for row in tally.snapshot().targets] == ["a", "b", OTHER]
    assert tally.costs().total.cost_usd == pytest.approx(0.0002 + 0.00002)


def test_sessions_beyond_the_bound_are_added_up_and_nothing_is_lost():
    tally = UsageTally(ManualClock(), prices=PRICES, max_sessions=Limit("sessions", 10))
    steady = Session("steady", "steady")
    for number in range(1000):
        serve(tally, Session(f"s{number}", "s"), target_of())
        if number % 3 == 0:
            serve(tally, steady, target_of())
    seen = tally.snapshot()
    assert len(seen.sessions) == 11  # ten and the others
    rows = {row.session: row for row in seen.sessions}
    assert rows["steady"].sums.requests == 334
    assert sum(row.sums.requests for row in seen.sessions) == seen.requests == 1334
    assert sum(row.waits.count for row in seen.sessions) == 1334
    assert rows[OTHER].sums.cost_usd > 0


@pytest.mark.slow
def test_memory_is_flat_over_many_requests():
    tally = UsageTally(ManualClock(), prices=PRICES)
    sessions = [Session(f"s{n}", f"s{n}") for n in range(500)]
    targets = [target_of(model=f"m{n}") for n in range(125)]

    def work(number):
        for step in range(number):
            serve(tally, sessions[step % 500], targets[step % 125])

    work(5_000)
    tracemalloc.start()
    work(500)
    before = tracemalloc.get_traced_memory()[0]
    work(5_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000


@given(st.lists(st.floats(0, 5000), min_size=1, max_size=200), st.floats(1, 100))
def test_a_percentile_is_within_a_bucket(durations, percent):
    histogram = Histogram()
    for duration in durations:
        histogram.add(BucketedDurations.of([duration]))
    seen = histogram.snapshot()
    exact = sorted(durations)[max(0, math.ceil(len(durations) * percent / 100) - 1)]
    got = seen.percentile_s(percent)
    assert seen.count == len(durations) == sum(seen.counts)
    assert seen.sum_s == pytest.approx(sum(durations))
    assert seen.max_s == max(durations)
    assert got >= min(exact, BOUNDS_S[-1]) * 0.999 or got == seen.max_s
    if BOUNDS_S[0] <= exact <= BOUNDS_S[-1]:
        assert got <= exact * 1.4143


def test_merged_histograms_are_the_histogram_of_all():
    one, two, both = Histogram(), Histogram(), Histogram()
    for duration in (0.001, 0.5, 70.0):
        one.add(BucketedDurations.of([duration]))
        both.add(BucketedDurations.of([duration]))
    for duration in (0.0, 1000.0):
        two.add(BucketedDurations.of([duration]))
        both.add(BucketedDurations.of([duration]))
    one.merge(two.snapshot())
    assert one.snapshot() == both.snapshot()
    assert Histogram().snapshot().percentile_s(99) == 0.0
    assert Histogram().snapshot().mean_s == 0.0
    assert both.snapshot().mean_s == pytest.approx(1070.501 / 5)
