"""What is learnt of how long answers take: from whole ones and cut-off ones, by size, and when the speed changes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.gateway.queue.limits.service_time import (
    KEPT,
    MAX_PART,
    MIN_DEVIATION,
    UNKNOWN,
    Sample,
    ServiceTime,
    ServiceTimes,
    fit,
    since_change,
)

seconds = st.floats(0.01, 1000.0)
tokens = st.integers(0, 100_000)
samples = st.lists(st.builds(Sample, seconds, tokens, tokens, st.booleans()), max_size=KEPT)
whole = st.lists(st.builds(Sample, seconds, tokens, tokens, st.just(True)), min_size=1, max_size=KEPT)


def one_size(*took_s, whole=True):
    return [Sample(one, 300, 60, whole) for one in took_s]


def test_nothing_is_known_of_no_attempts():
    assert fit([]) == UNKNOWN
    assert ServiceTimes().estimate().need_s(100, 100, 10.0) == 0.0


@given(whole)
def test_mean_lies_between_the_shortest_and_the_longest(attempts):
    known = fit(attempts)
    took_s = [one.took_s for one in attempts]
    assert min(took_s) <= known.mean_s * (1 + 1e-9)
    assert known.mean_s <= max(took_s) * (1 + 1e-9)
    assert known.deviation_s >= MIN_DEVIATION * known.mean_s * (1 - 1e-9)


@given(samples, tokens, tokens, st.floats(0.01, 1e4))
def test_need_is_finite_and_never_all_of_the_patience(attempts, prompt, reply, patience_s):
    need_s = fit(attempts).need_s(prompt, reply, patience_s)
    assert 0.0 <= need_s <= MAX_PART * patience_s


@given(whole, seconds, tokens, tokens)
def test_cut_off_attempt_never_lowers_the_mean(attempts, cut_s, prompt, reply):
    before, after = fit(attempts), fit([*attempts, Sample(cut_s, prompt, reply, False)])
    assert after.mean_s >= before.mean_s * (1 - 1e-9)


@given(seconds)
def test_cut_off_attempts_alone_are_learnt_from(cut_s):
    assert fit(one_size(cut_s, cut_s, whole=False)).mean_s == pytest.approx(cut_s)


@given(samples)
def test_order_of_equal_attempts_does_not_matter(attempts):
    assert fit(attempts).mean_s == pytest.approx(fit(attempts[::-1]).mean_s)


@given(
    st.lists(st.tuples(st.integers(10, 2000), st.integers(10, 500)), min_size=12, max_size=KEPT, unique=True),
    st.floats(0.001, 0.1),
    st.floats(0.01, 0.5),
)
def test_sizes_are_found_where_they_explain_the_time(sizes, prompt_token_s, reply_token_s):
    attempts = [Sample(0.5 + p * prompt_token_s + r * reply_token_s, p, r, True) for p, r in sizes]
    known = fit(attempts)
    if known.deviation_s > 2 * MIN_DEVIATION * known.mean_s:  # sizes all alike explain nothing
        return
    for one in attempts:
        assert known.expected_s(*one[1:3]) == pytest.approx(one.took_s, rel=0.1, abs=3 * known.deviation_s)


def test_size_does_not_count_where_it_explains_nothing():
    attempts = [Sample(2.0 + number % 2, (number * 7919) % 500, 60, True) for number in range(KEPT)]
    known = fit(attempts)
    assert (known.prompt_token_s, known.reply_token_s) == (0.0, 0.0)
    assert known.expected_s(10_000, 10_000) == known.mean_s == 2.5


def test_long_prompt_needs_longer_than_a_short_one_once_it_is_known():
    times = ServiceTimes()
    for number in range(20):
        times.add(1.0 + (100 + 400 * (number % 2)) / 30, 100 + 400 * (number % 2), 60)
    known = times.estimate()
    assert known.expected_s(100, 60) == pytest.approx(1.0 + 100 / 30, rel=0.01)
    assert known.need_s(500, 60, 100.0) > 3 * known.need_s(100, 60, 100.0)


@given(st.floats(0.1, 5.0), st.sampled_from([10.0, 0.1]))
def test_change_of_speed_is_learnt_from_three_attempts(before_s, factor):
    times = ServiceTimes()
    for number in range(KEPT):
        times.add(before_s * (1 + 0.1 * (number % 3 - 1)), 300, 60)
        times.estimate()
    for _ in range(3):
        times.add(before_s * factor, 300, 60)
    assert times.estimate().mean_s == pytest.approx(before_s * factor)


def test_cut_off_attempts_show_that_it_became_slower_but_not_that_it_became_faster():
    usual = one_size(*[2.0, 2.2, 1.8] * 5)
    slower, shorter = one_size(9.0, 9.0, 9.0, whole=False), one_size(0.1, 0.1, 0.1, whole=False)
    assert list(since_change([*usual, *slower])) == slower
    assert list(since_change([*usual, *shorter])) == [*usual, *shorter]
    assert fit([*usual, *shorter]) == fit(usual)


def test_spread_that_is_usual_is_no_change_of_speed():
    usual = one_size(*[1.0, 4.0, 2.0, 3.0] * 8)
    assert list(since_change([*usual, *one_size(4.0, 4.0, 4.0)])) == [*usual, *one_size(4.0, 4.0, 4.0)]


@given(st.lists(st.tuples(seconds, st.booleans()), max_size=3 * KEPT))
def test_estimate_is_that_of_the_last_attempts_whenever_it_is_asked_for(attempts):
    often, late = ServiceTimes(), ServiceTimes()
    for took_s, is_whole in attempts:
        often.add(took_s, 300, 60, is_whole)
        late.add(took_s, 300, 60, is_whole)
        assert math.isfinite(often.estimate().mean_s)
    assert late.estimate().attempts <= KEPT
    assert (late.estimate().attempts > 0) == bool(attempts)


def test_a_request_whose_deadline_passed_before_it_arrived_needs_no_time():
    assert ServiceTime(attempts=3, mean_s=1.0, base_s=1.0).need_s(10, 10, -0.004) == 0.0
