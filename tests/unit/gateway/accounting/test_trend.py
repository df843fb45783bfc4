"""How it went lately: points for charts, and the last minute for headlines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ManualClock
from tickmind.gateway.accounting.histogram import BucketedDurations, Histogram, HistogramSnapshot
from tickmind.gateway.accounting.tally import TallySums
from tickmind.gateway.accounting.trend import LATELY_S, MOST_POINTS, STEP_S, Look, Trend

LANE = ("groq", "k", "")


def pulse(answered=0, *, waits=None, **served):
    times = waits or HistogramSnapshot()
    return TallySums(answered, answered, 0, 0, 0.0, times, times, served)


@pytest.fixture
def clock():
    return ManualClock(monotonic=1000.0)


def test_a_look_is_due_every_other_second(clock):
    trend = Trend(clock, Look(pulse()))
    due = [trend.due]
    clock.advance(STEP_S)
    due.append(trend.due)
    trend.add(Look(pulse()))
    due.append(trend.due)
    assert due == [False, True, False]


def test_a_point_holds_what_happened_since_the_last_look(clock):
    trend, waits = Trend(clock, Look(pulse())), Histogram()
    waits.add(BucketedDurations.of([0.1]))
    clock.advance(STEP_S)
    trend.add(Look(pulse(1, waits=waits.snapshot()), queued=3, in_flight=2))
    for _ in range(9):
        waits.add(BucketedDurations.of([2.0]))
    clock.advance(STEP_S)
    trend.add(Look(pulse(10, waits=waits.snapshot())))
    first, second = trend.points()
    assert (first.served, first.queued, first.in_flight, first.span_s) == (1, 3, 2, STEP_S)
    assert first.wait_p50_s == pytest.approx(0.1, rel=0.42)
    assert (second.served, second.queued) == (9, 0)
    assert second.wait_p50_s == pytest.approx(2.0, rel=0.42)


def test_a_point_without_answers_has_no_times(clock):
    waits = Histogram()
    waits.add(BucketedDurations.of([5.0]))
    trend = Trend(clock, Look(pulse(1, waits=waits.snapshot())))
    clock.advance(STEP_S)
    trend.add(Look(pulse(1, waits=waits.snapshot())))
    assert (trend.points()[0].wait_p50_s, trend.points()[0].wait_p99_s) == (0.0, 0.0)


def test_lately_is_the_last_minute_and_not_more(clock):
    trend = Trend(clock, Look(pulse()))
    for number in range(1, 101):
        clock.advance(STEP_S)
        trend.add(Look(pulse(number, village=number), sent={LANE: 2 * number}))
    lately = trend.lately(Look(pulse(100, village=100, arena=7), sent={LANE: 200}))
    minute = int(LATELY_S / STEP_S)
    assert lately.span_s == LATELY_S
    assert lately.served == minute
    assert lately.served_by == {"village": minute, "arena": 7}
    assert lately.sent_by == {LANE: 2 * minute}


def test_after_a_long_silence_lately_is_what_came_after_the_last_look(clock):
    trend = Trend(clock, Look(pulse(5)))
    clock.advance(10 * LATELY_S)
    assert trend.lately(Look(pulse(7))).served == 2


def test_a_session_that_was_forgotten_and_came_again_counts_from_nothing(clock):
    trend = Trend(clock, Look(pulse(9, village=9)))
    clock.advance(STEP_S)
    assert trend.lately(Look(pulse(11, village=2))).served_by == {"village": 2}


def test_what_is_kept_is_bounded(clock):
    trend = Trend(clock, Look(pulse()))
    for number in range(3 * MOST_POINTS):
        clock.advance(STEP_S)
        trend.add(Look(pulse(number)))
    assert len(trend.points()) == MOST_POINTS
    assert len(trend._looks) <= LATELY_S / STEP_S + 2


@given(st.lists(st.floats(0, 1000), max_size=50), st.lists(st.floats(0, 1000), max_size=50))
def test_a_histogram_since_an_earlier_one_is_that_of_what_came_after(before, after):
    both, later = Histogram(), Histogram()
    for duration in before:
        both.add(BucketedDurations.of([duration]))
    earlier = both.snapshot()
    for duration in after:
        both.add(BucketedDurations.of([duration]))
        later.add(BucketedDurations.of([duration]))
    since = both.snapshot().since(earlier)
    assert (since.counts, since.count) == (later.snapshot().counts, len(after))
    assert since.sum_s == pytest.approx(sum(after), abs=1e-6)
