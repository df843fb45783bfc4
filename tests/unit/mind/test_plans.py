"""The errands of a day, and what becomes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.mind.plans import MAX_ERRANDS, DayErrand, DayPlan, ErrandState, read_habits

PLACES = ["market", "oak_house", "Ada's house"]


@pytest.mark.parametrize(
    ("habit", "errand"),
    [
        ("07:00 work at the market", DayErrand(420, "work", place="market")),
        ("7:30 Work at market.", DayErrand(450, "work", place="market")),
        ("12:00 make bread", DayErrand(720, "make", "bread")),
        ("12:00 make bread at the oak house", DayErrand(720, "make", "bread", "oak_house")),
        ("21:00 rest at Ada's house", DayErrand(1260, "rest", place="Ada's house")),
        ("21:00 rest at the moon", None),
        ("25:00 rest", None),
        ("sleeps late on Sundays", None),
        ("", None),
    ],
)
def test_a_habit_with_a_time_is_an_errand(habit, errand):
    assert read_habits([habit], PLACES) == ([] if errand is None else [errand])


@given(st.text(max_size=60))
def test_any_habit_can_be_read(habit):
    for errand in read_habits([habit], PLACES):
        assert 0 <= errand.minute < 1440
        assert errand.place in ("", *PLACES)


def test_an_errand_says_what_it_is():
    assert str(DayErrand(425, "make", "bread", "oak_house")) == "07:05 make bread at oak house"


def test_an_errand_lasts_until_the_next_and_fails_if_it_is_not_done_by_then():
    work, meet, rest = DayErrand(480, "work"), DayErrand(960, "meet"), DayErrand(1260, "rest")
    plan = DayPlan([rest, work, meet])
    night = plan.now(479)
    assert night is not rest  # it is that of the day before
    assert (str(night), rest.state) == (str(rest), ErrandState.WAITING)
    assert plan.now(480) is work
    assert (rest.state, work.state) == (ErrandState.WAITING, ErrandState.UNDER_WAY)
    work.state = ErrandState.DONE
    assert plan.now(1000) is meet
    assert plan.now(1400) is rest
    assert [one.state for one in (work, meet)] == [ErrandState.DONE, ErrandState.FAILED]


def test_a_day_without_errands_and_one_with_too_many():
    assert DayPlan([]).now(0) is None
    assert len(DayPlan(DayErrand(minute, "work") for minute in range(100)).errands) == MAX_ERRANDS.maximum
