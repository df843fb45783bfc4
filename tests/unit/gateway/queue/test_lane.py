"""One lane: its limit, circuit, permits, and what it learns from replies."""

import math
import random

import pytest

from tickmind.base import Secret
from tickmind.gateway.queue.job import Outcome, Result
from tickmind.gateway.queue.lane import KeyState, Lane
from tickmind.gateway.queue.limits.circuit import CircuitState
from tickmind.gateway.queue.limits.ratelimit_headers import read_rate_limits
from tickmind.gateway.refusal import Code
from tickmind.gateway.settings.config import ApiKey, CircuitConfig, Limits, Provider, RetryConfig

FAILED = Outcome(Result.FAILED, 503)


@pytest.fixture
def lane():
    def make(limits=None, *, adaptive=False, **retry):
        provider = Provider("p", "http://p.test/v1", (), limits or Limits(), adaptive_concurrency=adaptive)
        key = KeyState(provider, ApiKey("k", Secret("s")), window_s=10.0)
        return Lane(key, "", None, retry=RetryConfig(**retry), circuit=CircuitConfig(), chance=random.Random(1))

    return make


def headers(limit, remaining, reset, kind="requests"):
    named = {
        f"x-ratelimit-limit-{kind}": str(limit),
        f"x-ratelimit-remaining-{kind}": str(remaining),
        f"x-ratelimit-reset-{kind}": reset,
    }
    return read_rate_limits(named, now_wall_s=0.0)


def drive(lane, begin_s, until_s, tokens=0):
    """Send whenever there is room; replies come at once."""
    now, sent = begin_s, []
    while (now := max(now, lane.earliest_s(now, tokens))) < until_s:
        lane.take(now, tokens)
        lane.release()
        lane.succeeded(now)
        sent.append(now)
    return sent


def test_what_runs_low_is_spread_until_its_reset(lane):
    one = lane()
    one.learn(headers(100, 5, "50s"), 0.0)
    assert len(drive(one, 0.0, 49.0)) <= 5


def test_plenty_left_slows_nobody_down_below_the_limit(lane):
    one = lane()
    one.learn(headers(100, 90, "50s"), 0.0)
    assert len(drive(one, 0.0, 60.0)) >= 98


def test_nothing_left_waits_for_the_reset(lane):
    one = lane()
    one.learn(headers(100, 0, "20s"), 0.0)
    assert one.earliest_s(0.0, 0) == pytest.approx(20.0)


def test_nothing_left_of_what_comes_back_bit_by_bit_waits_for_one_bit(lane):
    one = lane()
    one.learn(headers(60, 0, "60s"), 0.0)
    assert one.earliest_s(0.0, 0) == pytest.approx(1.0, rel=0.1)


def test_tokens_that_run_low_are_spread_by_size(lane):
    one = lane()
    one.learn(headers(60_000, 1000, "30s", "tokens"), 0.0)
    sent = drive(one, 0.0, 29.0, tokens=100)
    assert len(sent) <= 11


def test_daily_request_limit_in_headers_is_not_taken_for_a_minutes(lane):
    one = lane(Limits(requests_per_minute=30))
    one.learn(headers(14_400, 14_370, "2m59.56s"), 0.0)
    assert len(drive(one, 0.0, 60.0)) >= 29


def test_garbage_in_headers_changes_nothing(lane):
    one = lane()
    assert headers("many", "few", "soon") is None
    assert one.earliest_s(0.0, 0) == 0.0


def test_learnt_limit_is_kept_to_before_any_429(lane):
    one = lane()
    one.learn(headers(30, 29, "2s"), 0.0)
    assert len(drive(one, 0.0, 60.0)) <= 30


def test_circuit_opens_after_failures_in_a_row_and_one_probe_closes_it(desk, time):
    outcomes: dict[str, Outcome | None] = {"now": FAILED}
    d = desk({"a": Limits(concurrency=50)}, script={"a": lambda job, now: outcomes["now"]}, service_s=(0.5, 0.5))

    def state():
        return d.dispatcher.lanes()[0].circuit.state

    for _ in range(5):
        d.submit()
    time.run_for(1)
    assert state() is CircuitState.OPEN
    refused = d.submit()
    assert refused.refused.code is Code.PROVIDER_DOWN
    assert 10 < refused.refused.retry_after_s <= 15
    time.run_for(15)
    tickets = [d.submit() for _ in range(10)]
    assert sum(bool(ticket.sent) for ticket in tickets) == 1  # the probe
    assert sum(ticket.refused is not None for ticket in tickets) == 9
    time.run_for(1)
    assert state() is CircuitState.OPEN
    assert d.dispatcher.lanes()[0].circuit.until_s - time.monotonic() > 25  # doubled
    time.run_for(31)
    outcomes["now"] = None
    probe = d.submit()
    assert probe.sent
    time.run_for(1)
    assert state() is CircuitState.CLOSED
    assert all(ticket.sent for ticket in [d.submit() for _ in range(10)])
    time.run_for(1)
    d.assert_clean()


def test_all_who_wait_are_told_when_the_only_circuit_opens(desk, time):
    d = desk({"a": Limits(concurrency=5)}, script={"a": lambda job, now: FAILED}, service_s=(0.5, 0.5))
    tickets = [d.submit() for _ in range(50)]
    time.run_for(0.6)
    assert sum(ticket.refused is not None for ticket in tickets) == 41
    assert sum(not ticket.over for ticket in tickets) == 4  # were sent before the fifth failure came
    time.run_for(1)
    d.assert_clean()


def test_cancelled_probe_lets_the_next_one_go(desk, time):
    script = {"a": lambda job, now: FAILED if now < 1 else None}
    d = desk({"a": Limits(concurrency=50)}, script=script, service_s=(0.5, 0.5))
    for _ in range(5):
        d.submit()
    time.run_for(16)
    probe = d.submit()
    assert probe.sent
    d.cancel(probe)
    second = d.submit()
    assert second.sent
    time.run_for(1)
    assert second.ended.result is Result.OK
    d.assert_clean()


def test_late_failure_of_an_older_request_does_not_make_a_second_probe(lane):
    one = lane()
    for at_s in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        one.take(at_s, 0)
    for at_s in (0.0, 0.1, 0.2, 0.3, 0.4):
        one.release()
        one.broke(1.0, at_s)
    assert one.earliest_s(20.0, 0) == 20.0
    one.take(20.0, 0)
    one.release()
    one.broke(20.5, 0.5)
    assert one.circuit.state is CircuitState.PROBING
    assert one.earliest_s(100.0, 0) == math.inf


def test_limit_is_not_forgotten_by_a_success_that_was_sent_before_it(lane):
    one = lane(Limits(requests_per_second=100))
    one.take(0.0, 0)
    one.take(0.1, 0)
    one.release()
    one.rate_limited(0.2, 0.1, 30.0)
    one.release()
    one.succeeded(0.3)
    assert one.earliest_s(1.0, 0) == pytest.approx(30.2)
    assert one.streak == 1


def test_default_wait_has_jitter_and_a_cap(lane):
    waits = set()
    for seed in range(20):
        one = lane()
        one._random = random.Random(seed)
        one.rate_limited(0.0, 0.0, None)
        waits.add(one.limited_until_s)
        assert 1.0 <= one.limited_until_s <= 2.0
    assert len(waits) > 10
    one = lane(max_wait_s=100.0)
    now = 0.0
    for _ in range(50):
        one.rate_limited(now, now, None)
        assert one.limited_until_s - now <= 60.001
        now = one.limited_until_s
    one.rate_limited(now, now, 1e9)
    assert one.limited_until_s - now == pytest.approx(100.0)


def test_after_repeated_429s_one_request_finds_out(lane):
    one = lane(Limits(concurrency=10))
    one.rate_limited(0.0, 0.0, 1.0)
    one.rate_limited(1.5, 1.2, 1.0)
    assert one.streak == 2
    one.take(20.0, 0)
    assert one.earliest_s(30.0, 0) == math.inf
    one.release()
    one.succeeded(30.0)
    assert one.earliest_s(40.0, 0) == 40.0


def test_adaptive_concurrency_backs_off_and_comes_back(lane):
    one = lane(Limits(concurrency=100), adaptive=True)
    assert one.concurrency == 8
    now = 0.0
    for _ in range(10):
        one.take(now, 0)
        one.release()
        one.broke(now, now) if one.circuit.failures < 3 else one.succeeded(now)
    low = one.concurrency
    assert low < 8
    for _ in range(300):
        now += 1.0
        room = 0
        while one.earliest_s(now, 0) <= now:
            one.take(now, 0)
            room += 1
        for _ in range(room):
            one.succeeded(now)
            one.release()
    assert 30 < one.concurrency <= 100


@pytest.mark.parametrize("trouble", ["rate_limited", "broke"])
def test_trouble_of_requests_that_were_under_way_together_cuts_the_concurrency_once(lane, trouble):
    one = lane(Limits(concurrency=100), adaptive=True)
    one.concurrency = 21.0

    def end(now, sent_s):
        one.release()
        one.rate_limited(now, sent_s, 0.2) if trouble == "rate_limited" else one.broke(now, sent_s)

    for number in range(8):
        one.take(number / 100, 0)
    for number in range(8):
        end(1.0 + number / 100, number / 100)
    assert one.concurrency == pytest.approx(0.7 * 21)
    one.take(60.0, 0)
    end(61.0, 60.0)
    assert one.concurrency == pytest.approx(0.7 * 0.7 * 21), "the next one is another event"


def test_adaptive_concurrency_is_off_by_default(lane):
    one = lane(Limits(concurrency=100))
    one.broke(0.0, 0.0)
    assert one.concurrency == math.inf
    assert one.statistics(0.0).concurrency == 100


def test_permit_that_comes_back_twice_is_an_assertion(lane):
    one = lane(Limits(concurrency=1))
    one.take(0.0, 0)
    one.release()
    with pytest.raises(AssertionError):
        one.release()


def test_statistics_tell_limits_use_and_state(lane):
    one = lane(Limits(requests_per_minute=60, burst=2, concurrency=3))
    one.take(0.0, 0)
    one.rate_limited(0.5, 0.0, 7.0)
    figures = one.statistics(1.0)
    assert (figures.provider, figures.key_id, figures.in_flight, figures.concurrency) == ("p", "k", 1, 3)
    assert figures.limited_until_s == 7.5
    assert "7" in figures.reason
    assert figures.paces[0].requests == ((60, 60.0, 1.0),)
    assert (figures.sent, figures.limited) == (1, 1)
