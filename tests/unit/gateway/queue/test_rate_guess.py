"""Providers that say nothing of their limits: how much of them is used, and how often they must refuse."""

import math
from typing import Any

import pytest
from tests.kits.queue_doubles import ScriptedProvider
from tests.long import short_or_long

from tickmind.gateway.queue.limits.rate_guess import MIN_RATE, START_COUNT, RateGuess
from tickmind.gateway.settings.config import Limits

KINDS: dict[str, dict[str, Any]] = {
    "fixed window": {"fixed": True},
    "sliding window": {},
    "bucket of 10": {"bucket": 10.0},
    "bucket of 60": {"bucket": 60.0},
}


# At 600 requests per minute a case takes thousands of requests: the short form has one kind at that rate, and of the
# others every kind at both rates, and with whole seconds and parts of them.
SHORT = [(kind, rpm, (number + rpm // 120) % 2 == 0) for number, kind in enumerate(KINDS) for rpm in (30, 120)]
SHORT.append(("bucket of 10", 600, False))
ALL = [(kind, rpm, whole) for kind in KINDS for rpm in (30, 120, 600) for whole in (True, False)]


def crowd(d, until_s):
    """One session with 20 workers and three with one; what each was served."""
    served: dict[str, list[Any]] = {"greedy": [], "m1": [], "m2": [], "m3": []}
    for name, workers in (("greedy", 20), ("m1", 1), ("m2", 1), ("m3", 1)):
        for _ in range(workers):
            d.worker(name, until_s, served[name])
    return served


def used_and_refused(desk, time, provider, rpm):
    """From the third to the tenth minute: the part of the limit that was used, and of the calls that were refused."""
    d = desk({"a": Limits()}, real={"a": provider})
    served = crowd(d, 600.0)
    time.run_until(600.0)
    calls = sum(at_s > 120 for at_s in provider.calls)
    got = {name: sum(ticket.over_s > 120 for ticket in tickets) for name, tickets in served.items()}
    total = sum(got.values())
    for count in got.values():
        assert count == pytest.approx(total / 4, rel=0.1), got
    return total / (rpm / 60 * 480), max(0, calls - total) / calls


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "rpm", "whole_seconds"), short_or_long(SHORT, ALL))
def test_unknown_limit_is_used_up_with_few_refusals(desk, time, kind, rpm, whole_seconds):
    provider = ScriptedProvider(time, limit=rpm, whole_seconds=whole_seconds, **KINDS[kind])
    used, refused = used_and_refused(desk, time, provider, rpm)
    assert used >= 0.94
    assert refused <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "rpm"),
    [(kind, 120) for kind in KINDS] + [(kind, 600) for kind in short_or_long([], list(KINDS))],
)
def test_unknown_limit_is_found_even_if_refusals_do_not_say_how_long_to_wait(desk, time, kind, rpm):
    provider = ScriptedProvider(time, limit=rpm, retry_after=False, **KINDS[kind])
    used, refused = used_and_refused(desk, time, provider, rpm)
    assert used >= 0.8
    assert refused <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("rpm", short_or_long([30, 120], [30, 120, 600]))
def test_provider_that_allows_no_burst_at_all_is_not_kept_refusing(desk, time, rpm):
    provider = ScriptedProvider(time, limit=rpm, whole_seconds=True, bucket=1.0)
    used, refused = used_and_refused(desk, time, provider, rpm)
    assert used >= 0.8
    assert refused <= 0.08


@pytest.mark.parametrize("offset_s", [0.0, 0.21, 0.47, 0.83])
def test_first_seconds_beside_nearly_used_up_providers_lose_next_to_nothing(desk, time, offset_s):
    """Two providers of 2 and 4 requests per second whose last minute was used: 20 s from a cold start."""
    time.run_until(100.0 + offset_s)
    real = {}
    for name, rpm in (("a", 120), ("b", 240)):
        real[name] = ScriptedProvider(time, limit=rpm, whole_seconds=True)
        real[name].fill(0.98)
    d = desk({"a": Limits(), "b": Limits()}, real=real, service_s=(0.09, 0.11))
    end_s = time.monotonic() + 20
    served = crowd(d, end_s)
    time.run_until(end_s)
    total = sum(map(len, served.values()))
    assert total >= 0.96 * 6 * 20
    assert sum(provider.limited for provider in real.values()) <= 10
    for name, tickets in served.items():
        assert len(tickets) == pytest.approx(total / 4, rel=0.1), name


def test_where_nothing_is_known_the_first_requests_go_out_one_by_one_and_ever_quicker(desk, time):
    d = desk({"a": Limits()}, service_s=(5.0, 5.0))
    for _ in range(80):
        d.submit()
    calls = d.upstream["a"].calls
    assert len(calls) == 1
    time.run_for(0.5)
    assert 2 <= len(calls) <= 4
    time.run_for(2.0)
    assert len(calls) == 80, "whether or not the first have an answer"


def test_after_many_requests_without_a_refusal_nothing_is_held_back(desk, time):
    d = desk({"a": Limits()})
    for _ in range(START_COUNT):
        d.submit()
        time.run_for(0.6)
    tickets = [d.submit() for _ in range(100)]
    assert all(ticket.sent for ticket in tickets)


def test_where_the_concurrency_is_known_nothing_is_held_back_at_the_start(desk, time):
    d = desk({"a": Limits(concurrency=50)})
    assert all(ticket.sent for ticket in [d.submit() for _ in range(50)])


def test_between_two_refusals_just_what_was_taken_is_the_rate():
    guess = RateGuess()
    guess.mark(90.0, 0)
    guess.refused(100.0, 31, 1.0)
    assert guess.rate(100.0) == pytest.approx(0.98 * 0.9 * 30 / 11)
    guess.refused(105.0, 31 + 5 + 1, 1.0)
    assert guess.rate(105.0) == pytest.approx(0.98 * 5 / 5)


def test_requests_that_were_on_their_way_do_not_count_as_taken():
    guess = RateGuess()
    guess.refused(100.0, 101, 1.0)
    guess.refused(110.0, 101 + 31, 1.0)
    before = guess.rate(110.0)
    for _ in range(10):
        guess.not_taken()
    assert guess.rate(110.0) <= before


@pytest.mark.parametrize("every_s", [2.5, 2.9, 7.0, 45.0])
def test_lone_refusals_teach_no_rate(desk, time, limited, every_s):
    """Another user of the key takes what there is; our few requests say nothing of how much that is."""
    script = {"a": lambda job, _now: limited(1.0) if job.agent else None}
    d = desk({"a": Limits()}, script=script, service_s=(0.01, 0.01))

    def guessed():
        (lane,) = d.dispatcher.statistics().lanes
        return lane.guessed_per_minute

    d.submit(agent="refused", timeout_s=0.5)
    time.run_for(1.5)
    first = guessed()
    assert first == pytest.approx(58.8, rel=0.1)
    for _ in range(6):
        d.submit()
        time.run_for(every_s)
        d.submit(agent="refused", timeout_s=0.5)
        time.run_for(every_s)
    assert guessed() >= 0.9 * first


def test_guess_does_not_grow_while_nothing_may_go_out():
    guess = RateGuess()
    guess.refused(0.0, 100, 50.0)
    guess.hold(50.0)
    assert guess.rate(50.0) == guess.rate(0.0)
    assert guess.rate(60.0) > guess.rate(50.0)


def test_guess_that_was_too_low_is_doubled_within_three_minutes_and_forgotten_in_the_end():
    guess = RateGuess()
    guess.refused(0.0, 41, 1.0)
    guess.refused(20.0, 81, 1.0)
    assert guess.rate(200.0) >= 2 * guess.rate(20.0)
    assert guess.rate(3600.0) == 0.0


def test_refusals_of_everything_never_make_the_rate_nothing():
    guess = RateGuess()
    for number in range(1, 500):
        guess.refused(float(number), number, None)
        assert MIN_RATE <= guess.rate(float(number)) < math.inf
