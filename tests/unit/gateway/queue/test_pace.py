"""All limits hold together, in every window of the provider's, and little of them is left unused."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.gateway.queue.limits.rate_limiter import RateLimiter, tightest
from tickmind.gateway.settings.config import Limits


def most_in_any_window(events, span_s):
    """The largest sum of amounts in any half-open window; events are (time, amount)."""
    most = total = first = 0
    for at_s, amount in events:
        total += amount
        while events[first][0] <= at_s - span_s + 1e-9:
            total -= events[first][1]
            first += 1
        most = max(most, total)
    return most


def drive(pace, until_s, tokens, *, late=lambda: 0.0, start_s=0.0):
    """Send as soon as it may be, a little late at times; (time, tokens) of each."""
    now = start_s
    sent: list[tuple[float, int]] = []
    while True:
        amount = tokens()
        at_s = pace.earliest_s(now, amount)
        now = max(now, at_s) + late()
        if now >= until_s:
            return sent
        assert pace.earliest_s(now, amount) <= now
        pace.take(now, amount)
        sent.append((now, amount))


@pytest.mark.parametrize("burst", [1, 2, 5, 30])
@pytest.mark.parametrize("rpm", [12, 30, 120, 600])
def test_sustained_rate_uses_98_percent_of_the_minute_and_never_more_than_it(rpm, burst):
    sent = drive(RateLimiter(Limits(requests_per_minute=rpm, burst=burst)), 600.0, lambda: 0)
    assert most_in_any_window([(at_s, 1) for at_s, _ in sent], 60.0) <= rpm
    assert len(sent) >= 0.98 * 10 * rpm


@pytest.mark.slow
@settings(max_examples=short_or_long(30, 60), deadline=None)
@given(
    rps=st.none() | st.floats(0.5, 50),
    rpm=st.none() | st.floats(2, 600),
    tpm=st.none() | st.integers(1000, 100_000),
    burst=st.integers(1, 40),
    chance=st.randoms(use_true_random=False),
)
def test_no_window_ever_holds_more_than_any_of_its_limits(rps, rpm, tpm, burst, chance):
    pace = RateLimiter(Limits(requests_per_second=rps, requests_per_minute=rpm, tokens_per_minute=tpm, burst=burst))
    if rps is rpm is tpm is None:
        return

    def pause():
        return chance.choice([0.0, 0.0, 0.0, chance.random() * 0.01, chance.random() * 2, chance.random() * 60])

    sent = drive(pace, 300.0, lambda: chance.randint(1, 1000), late=pause, start_s=chance.random() * 100)
    ones = [(at_s, 1) for at_s, _ in sent]
    if rps is not None:
        assert most_in_any_window(ones, 1.0) <= max(1, math.ceil(rps))
    if rpm is not None:
        assert most_in_any_window(ones, 60.0) <= max(1, math.ceil(rpm))
    if tpm is not None:
        assert most_in_any_window(sent, 60.0) <= tpm


@pytest.mark.parametrize("burst", [2, 5, 30])
@pytest.mark.parametrize("rpm", [12, 30, 120, 600, 6000])
def test_who_takes_only_what_is_spare_gets_98_percent_of_the_minute_if_nobody_else_comes(rpm, burst):
    pace = RateLimiter(Limits(requests_per_minute=rpm, burst=burst))
    now, sent = 0.0, []
    while (now := max(now, pace.earliest_s(now, 0, spare=True))) < 600.0:
        pace.take(now, 0, spare=True)
        sent.append((now, 1))
    assert most_in_any_window(sent, 60.0) <= rpm
    kept = 1 if rpm == 30 else 0  # a small window keeps one of its requests for the others
    assert len(sent) >= 0.98 * 10 * (rpm - kept)


@settings(max_examples=short_or_long(30, 60))
@given(
    rps=st.none() | st.floats(5, 50),
    rpm=st.floats(60, 600),
    burst=st.integers(2, 10),
    seed=st.integers(0, 1000),
)
def test_who_takes_only_what_is_spare_changes_no_burst_and_breaks_no_limit(rps, rpm, burst, seed):
    chance = random.Random(seed)
    limits = Limits(requests_per_second=rps, requests_per_minute=rpm, burst=burst)
    beside, alone = RateLimiter(limits), RateLimiter(limits)
    now, sent = 0.0, []
    while now < 90.0:
        now += chance.choice([0.0, chance.random() * 0.01, chance.expovariate(rpm / 60)])
        while beside.earliest_s(now, 0, spare=True) <= now:
            beside.take(now, 0, spare=True)
            sent.append((now, 1))
        assert [meter.tat_s for meter in beside._requests] <= [max(meter.tat_s, now) for meter in alone._requests]
        if chance.random() < 0.5 and beside.earliest_s(now, 0) <= now and alone.earliest_s(now, 0) <= now:
            for pace in (beside, alone):
                pace.take(now, 0)
            sent.append((now, 1))
            assert [meter.tat_s for meter in beside._requests] == [meter.tat_s for meter in alone._requests]
    assert most_in_any_window(sent, 60.0) <= math.ceil(rpm)
    if rps is not None:
        assert most_in_any_window(sent, 1.0) <= math.ceil(rps)


def test_tokens_use_98_percent_of_the_minute():
    sent = drive(RateLimiter(Limits(tokens_per_minute=60_000)), 600.0, lambda: 500)
    assert sum(amount for _, amount in sent) >= 0.98 * 600_000
    assert most_in_any_window(sent, 60.0) <= 60_000


def test_late_timers_lose_nothing_of_the_rate():
    sent = drive(RateLimiter(Limits(requests_per_second=100)), 60.0, lambda: 0, late=lambda: 0.002)
    assert len(sent) >= 0.98 * 6000
    assert most_in_any_window([(at_s, 1) for at_s, _ in sent], 1.0) <= 100


def test_burst_goes_out_at_once_after_a_pause_and_the_minute_still_holds():
    pace = RateLimiter(Limits(requests_per_minute=30, burst=5))
    sent = drive(pace, 120.0, lambda: 0)
    assert [at_s for at_s, _ in sent[:5]] == [0.0] * 5
    assert sent[5][0] > 1.0
    assert most_in_any_window([(at_s, 1) for at_s, _ in sent], 60.0) == 30


def test_a_day_may_be_used_up_at_the_minute_rate_and_then_waits_for_hours():
    pace = RateLimiter(Limits(requests_per_minute=60, requests_per_day=600))
    sent = drive(pace, 3600.0, lambda: 0)
    assert len(sent) == 600
    assert pace.earliest_s(3600.0, 0) > 80_000


def test_request_larger_than_the_limit_goes_out_alone_instead_of_never():
    pace = RateLimiter(Limits(tokens_per_minute=1000))
    assert pace.earliest_s(0.0, 5000) <= 0.0
    pace.take(0.0, 5000)
    assert 60.0 < pace.earliest_s(1.0, 5000) < math.inf


def test_settled_tokens_give_room_back_and_take_it():
    pace = RateLimiter(Limits(tokens_per_minute=6000))
    pace.take(10.0, 3000)
    wait_s = pace.earliest_s(10.0, 3000) - 10.0
    pace.settle(10.0, 3000, 300)
    assert pace.earliest_s(10.0, 3000) - 10.0 == pytest.approx(wait_s / 10, rel=0.05)
    pace.settle(10.0, 300, 6000)
    assert pace.earliest_s(10.0, 3000) - 10.0 == pytest.approx(2 * wait_s, rel=0.05)


def test_spent_burst_leaves_the_even_distance():
    pace = RateLimiter(Limits(requests_per_minute=60, burst=10))
    pace.spend_burst(100.0)
    sent = drive(pace, 110.0, lambda: 0, start_s=100.0)
    assert all(two - one >= 0.9 for (one, _), (two, _) in pairwise(sent))


def test_used_up_pace_is_fresh_again_only_when_its_windows_are_empty():
    pace = RateLimiter(Limits(requests_per_minute=60, requests_per_day=100))
    assert pace.is_fresh(0.0)
    pace.take(0.0, 0)
    assert not pace.is_fresh(3600.0)
    assert pace.is_fresh(90_000.0)


def test_the_tighter_of_two_limits_holds():
    both = tightest(Limits(requests_per_minute=60, burst=5), Limits(requests_per_minute=30, concurrency=2, burst=9))
    assert both == Limits(requests_per_minute=30, concurrency=2, burst=5)
    assert tightest(both, None) is both
