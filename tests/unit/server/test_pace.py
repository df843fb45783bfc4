import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import ConfigError
from tickmind.server.pace import TickPace, TickSchedule


def test_a_world_keeps_the_times_of_its_rules():
    pace = TickPace.of(1000, 500)
    assert (pace.tick_s, pace.deadline_s, pace.tick_ms, pace.deadline_ms) == (1.0, 0.5, 1000, 500)


def test_twenty_ticks_a_second_scale_the_deadline_too():
    pace = TickPace.of(1000, 500, tps=20)
    assert (pace.tick_ms, pace.deadline_ms) == (50, 25)


def test_speed_shortens_everything():
    pace = TickPace.of(1000, 400, speed=4)
    assert (pace.tick_ms, pace.deadline_ms) == (250, 100)


@pytest.mark.parametrize("given", [{"tps": 0}, {"tps": -1}, {"tps": 1e9}, {"speed": 0}, {"controllers": 0}])
def test_a_pace_that_can_not_be_is_refused(given):
    with pytest.raises(ConfigError):
        TickPace.of(1000, 500, **given)


@given(st.floats(0.01, 2), st.lists(st.floats(0, 0.999), max_size=50))
def test_starts_never_drift_while_ticks_are_in_time(period_s, parts):
    schedule = TickSchedule(period_s, 100.0)
    for number, part in enumerate(parts):
        assert schedule.start_s == pytest.approx(100.0 + number * period_s)
        assert schedule.finish(schedule.start_s + part * period_s) is None


def test_a_tick_that_takes_too_long_puts_off_all_later_ones_by_as_much():
    schedule = TickSchedule(1.0, 0.0)
    overrun = schedule.finish(1.3)
    assert overrun is not None
    assert overrun.late_s == pytest.approx(0.3)
    assert schedule.start_s == 1.3
    assert schedule.finish(1.8) is None
    assert schedule.start_s == 2.3


@pytest.mark.parametrize("deadline_s", [0.0, -0.1, 1.01])
def test_a_deadline_outside_of_the_tick_is_refused(deadline_s):
    with pytest.raises(ConfigError, match="within the tick"):
        TickPace(1.0, deadline_s)


def test_less_than_a_tick_a_second_is_a_pace():
    assert TickPace.of(1000, 500, tps=0.5).tick_s == 2.0


def test_whole_milliseconds_are_one_at_least():
    pace = TickPace(0.0002, 0.0001)
    assert (pace.tick_ms, pace.deadline_ms) == (1, 1)
    assert TickPace(20.0, 10.0).deadline_ms == 10_000


def test_the_next_tick_begins_a_period_after_this_one_and_may_begin_just_then():
    schedule = TickSchedule(0.25, 10.0)
    assert schedule.next_s == 10.25
    assert schedule.finish(10.25) is None
    assert (schedule.start_s, schedule.next_s) == (10.25, 10.5)
