"""Who was told to come back, and when: one at a time, in turns, and each keeps its place."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.gateway.fairness.sessions import Session
from tickmind.gateway.queue.limits.reservations import MAX_RESERVATIONS, MAX_UNNAMED, Reservations


def session(name, weight=1.0):
    return Session(name, name, weight)


def reserve(places, who, agent, at_s, kept=None, *, hasty=False):
    places.reserve(who, agent, at_s, at_s, kept, hasty=hasty)


def arrive(places, who, agent, now):
    place = places.arrived(who, agent, now, 0.25)
    assert place is not None
    return place


def test_callers_are_told_times_that_are_as_far_apart_as_slots_get_free():
    places = Reservations()
    told: list[float] = []
    for number in range(5):
        who = session(f"s{number}")
        at_s = places.next_s(who, 10.0, 2.0)
        reserve(places, who, "a", at_s)
        told.append(at_s)
    assert told == [10.0, 12.0, 14.0, 16.0, 18.0]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.floats(0.1, 10.0))
def test_no_two_are_told_the_same_time_while_all_take_turns(order, spacing_s):
    places, owners = Reservations(), [session(f"s{number}") for number in range(5)]
    told: dict[str, list[float]] = {owner.id: [] for owner in owners}
    for number, index in enumerate(order):
        at_s = places.next_s(owners[index], 100.0, spacing_s)
        assert at_s >= 100.0
        told[owners[index].id].append(at_s)
        reserve(places, owners[index], f"agent-{number}", at_s)
    for times in told.values():
        assert all(later - sooner >= spacing_s * 0.999 for sooner, later in itertools.pairwise(times))


def test_session_with_one_caller_comes_before_the_second_of_a_greedy_one():
    places, greedy, modest = Reservations(), session("greedy"), session("modest")
    for number in range(20):
        reserve(places, greedy, f"g{number}", places.next_s(greedy, 10.0, 1.0))
    assert places.next_s(greedy, 10.0, 1.0) == pytest.approx(30.0)
    assert places.next_s(modest, 10.0, 1.0) == pytest.approx(11.0)
    assert places.next_s(session("heavy", weight=4.0), 10.0, 1.0) == pytest.approx(10.0)


def test_named_caller_has_one_place_and_gives_it_up_when_it_comes():
    places, who = Reservations(), session("s")
    reserve(places, who, "ash", 10.0)
    reserve(places, who, "ash", 12.0)
    assert len(places.places) == 1
    assert places.of(who, "ash") == 12.0
    assert arrive(places, who, "ash", 5.0).at_s == 12.0
    assert places.arrived(who, "ash", 5.0, 0.25) is None
    assert not places.places


def test_agents_of_one_session_use_each_others_places_and_no_place_is_lost():
    places, who, other = Reservations(), session("s"), session("t")
    for name, at_s in (("ash", 10.0), ("bo", 12.0)):
        reserve(places, who, name, at_s)
    reserve(places, other, "cy", 9.0)
    assert arrive(places, who, "bo", 9.9).at_s == 10.0
    assert places.of(who, "ash") == 12.0
    assert arrive(places, who, "new", 12.0).at_s == 12.0
    assert places.arrived(who, "ash", 12.0, 0.25) is None
    assert places.of(other, "cy") == 9.0


def test_callers_without_names_take_the_first_place_that_is_due():
    places, who = Reservations(), session("s")
    for at_s in (14.0, 10.0, 12.0):
        reserve(places, who, "", at_s)
    assert places.arrived(who, "", 9.0, 0.25) is None  # it may be one more
    assert arrive(places, who, "", 9.9).at_s == 10.0
    assert arrive(places, who, "", 20.0).at_s == 12.0
    assert len(places.places) == 1


def test_places_are_bounded_for_callers_without_names_and_in_all():
    places, who = Reservations(), session("s")
    for number in range(2 * MAX_UNNAMED):
        places.arrived(who, "", 0.0, 0.25)
        reserve(places, who, "", 100.0 + number)
    assert len(places.places) == MAX_UNNAMED
    for number in range(2 * MAX_RESERVATIONS):
        reserve(places, session(f"s{number}"), "a", 100.0)
    assert len(places.places) == MAX_RESERVATIONS


def test_who_does_not_come_is_forgotten():
    places, who = Reservations(), session("s")
    reserve(places, who, "ash", 10.0)
    reserve(places, who, "bo", 20.0)
    places.expire(12.0, 1.0)
    assert places.of(who, "ash") is None
    assert places.of(who, "bo") == 20.0
    places.reserve(who, "cy", 17.0, 25.0, None, hasty=False)  # its turn has passed, and it was told to come at 25
    places.expire(25.5, 1.0)
    assert places.of(who, "cy") == 25.0
    places.expire(26.5, 1.0)
    assert places.of(who, "cy") is None


def test_caller_that_was_promised_a_place_first_is_before_those_promised_later():
    places, one, two = Reservations(), session("one"), session("two")
    reserve(places, one, "a", 10.0)
    reserve(places, two, "a", 12.0)
    first = arrive(places, one, "a", 10.0)
    reserve(places, one, "a", 13.0, first)
    second = arrive(places, two, "a", 12.0)
    assert places.before(second) == 1
    assert places.before(arrive(places, one, "a", 13.0)) == 0


def test_another_owner_that_is_due_is_found():
    places, one, two = Reservations(), session("one"), session("two")
    reserve(places, one, "a", 10.0)
    assert places.due(9.9, "two", 0.5) == "one"
    assert places.due(9.0, "two", 0.5) is None
    assert places.due(9.9, "one", 0.5) is None
    reserve(places, two, "a", 9.0)
    assert places.due(9.9, "one", 0.5) == "two"
