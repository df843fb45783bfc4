"""The errands of a day, and what becomes of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.mind.plans import (
    MAX_ERRANDS,
    SKILLS,
    DayErrand,
    DayPlan,
    ErrandState,
    read_appointment,
    read_habits,
    read_plan,
    unread_habits,
)

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


def test_one_sets_out_for_an_appointment_as_long_before_as_the_way_takes_and_does_not_turn_back():
    work, feast = DayErrand(480, "work"), DayErrand(1080, "meet", place="market", on_time=True)
    plan = DayPlan([work, feast])
    assert plan.now(1000, lambda _errand: 79) is work
    assert plan.now(1001, lambda _errand: 79) is feast
    assert plan.now(1002, lambda _errand: 5) is feast  # it comes nearer
    assert plan.now(1080) is feast
    assert plan.failures == 1  # the work


def test_what_an_appointment_interrupts_goes_on_at_its_hour():
    plan = DayPlan([DayErrand(540, "meet", place="market", on_time=True)])
    plan.interrupt(DayErrand(1080, "meet", place="market", on_time=True), 1140)
    assert [(one.minute, one.on_time) for one in plan.errands] == [(540, True), (1080, True), (1140, False)]


def test_a_day_without_errands_and_one_with_too_many():
    assert DayPlan([]).now(0) is None
    assert len(DayPlan(DayErrand(minute, "work") for minute in range(100)).errands) == MAX_ERRANDS.maximum


TOWN = ("mill", "market_square")


@pytest.mark.parametrize(
    ("text", "errand"),
    [
        ("There is a feast at the market square at 18:00.", "18:00 meet at market square"),
        ("Come to us: a dance at the Mill tonight at 9:30!", "09:30 meet at mill"),
        ("A feast at the moon at 18:00.", None),
        ("A feast at the mill at 25:00.", None),
        ("I was at the mill.", None),
        ("Bram was at the mill at 08:00.", None),
        ("Meet me at work, and then at the mill at 08:00.", "08:00 meet at mill"),
        ("at " * 2000 + "at 18:00", None),
        ("", None),
    ],
)
def test_an_appointment_is_read_from_a_sentence(text, errand):
    found = read_appointment(text, TOWN)
    assert (None if found is None else str(found)) == errand


def test_habits_with_a_time_that_are_no_errands_are_found():
    habits = ["08:00 wrk", "09:00 work", "10:00 sing at the mill", "11:00 rest at the moon", "hums", "12:00"]
    assert unread_habits(habits, TOWN) == ["08:00 wrk", "11:00 rest at the moon", "12:00"]


def test_an_errand_is_added_in_its_place_once_and_within_the_limit():
    plan = DayPlan([DayErrand(480, "work"), DayErrand(1260, "rest")])
    feast = DayErrand(1080, "meet", place="mill")
    assert plan.add(feast)
    assert not plan.add(DayErrand(1080, "meet", place="mill"))
    assert [errand.minute for errand in plan.errands] == [480, 1080, 1260]
    assert plan.now(1100) is feast
    while plan.add(DayErrand(len(plan.errands), "meet")):
        pass
    assert len(plan.errands) == MAX_ERRANDS.maximum


def test_what_is_interrupted_goes_on_afterwards_unless_something_else_begins():
    plan = DayPlan([DayErrand(480, "work", place="mill"), DayErrand(960, "meet"), DayErrand(1260, "rest")])
    plan.errands[0].state = ErrandState.DONE
    assert plan.interrupt(DayErrand(600, "meet", place="market_square"), 660)
    assert not plan.interrupt(DayErrand(600, "meet", place="market_square"), 660)
    assert plan.interrupt(DayErrand(930, "meet", place="mill"), 990)
    assert list(map(str, plan.errands)) == [
        "08:00 work at mill",
        "10:00 meet at market square",
        "11:00 work at mill",
        "15:30 meet at mill",
        "16:00 meet",
        "21:00 rest",
    ]
    assert plan.errands[2].state is ErrandState.WAITING
    late = DayPlan([DayErrand(1260, "rest")])
    assert late.interrupt(DayErrand(1410, "meet", place="mill"), 1470)
    assert [errand.minute for errand in late.errands] == [1260, 1410]  # the next day has a plan of its own
    early = DayPlan([DayErrand(480, "work")])
    assert early.interrupt(DayErrand(60, "meet", place="mill"), 120)
    assert [errand.minute for errand in early.errands] == [60, 480]


def test_a_models_plan_is_read_from_its_lines():
    reply = (
        "Here is my plan:\n1. 08:00 work at the mill\n- 12:00 make bread\n`16:00 meet at the market square`\n21:00 rest"
    )
    assert list(map(str, read_plan(reply, TOWN, SKILLS))) == [
        "08:00 work at mill",
        "12:00 make bread",
        "16:00 meet at market square",
        "21:00 rest",
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I will work.",
        "08:00 work at the mill",
        "08:00 fly\n09:00 steal bread",
        "25:00 work\n99:99 rest",
        "8 work\n9 rest",
    ],
)
def test_fewer_than_two_errands_are_no_plan(reply):
    assert read_plan(reply, TOWN, SKILLS) == []


def test_a_plan_has_one_errand_at_a_time_and_no_unknown_place():
    errands = read_plan("08:00 work\n08:00 rest\n09:00 meet at the moon\n10:00 rest", TOWN, SKILLS)
    assert list(map(str, errands)) == ["08:00 work", "10:00 rest"]


@given(st.text(max_size=200))
def test_any_reply_is_a_plan_or_none(reply):
    errands = read_plan(f"{reply}\n07:00 work\n{reply} 08:00 rest", TOWN, SKILLS)
    assert all(errand.skill in SKILLS and errand.place in ("", *TOWN) for errand in errands)
    assert len({errand.minute for errand in errands}) == len(errands)
