"""A mood changes with events, fades, and weighs little."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.mind.memory import Memory
from tickmind.mind.mood import EVENTS, WEIGHT, Mood
from tickmind.mind.talk import Talker


def test_it_halves_in_a_quarter_of_a_day():
    mood = Mood(600)
    mood.feel(100, 0.8)
    assert mood.at(100) == 0.8
    assert mood.at(250) == pytest.approx(0.4)
    assert [mood.word(tick) for tick in (100, 250, 700)] == ["cheerful", "content", "calm"]
    mood.feel(250, -0.8)
    assert mood.at(250) == pytest.approx(-0.4)
    assert mood.word(250) == "low"
    mood.feel(250, -0.8)
    assert (mood.at(250), mood.word(250)) == (-1, "miserable")


@given(st.lists(st.tuples(st.integers(0, 2000), st.floats(-5, 5)), max_size=20), st.integers(0, 5000))
def test_it_stays_within_its_bounds_whatever_happens(events, tick):
    mood = Mood(600)
    for at, change in sorted(events):
        mood.feel(at, change)
        assert -1 <= mood.at(at) <= 1
    assert 1 - WEIGHT <= mood.weight(tick) <= 1 + WEIGHT


def test_gifts_and_kept_promises_cheer_and_broken_ones_do_not():
    ada = Talker("ada", "Ada", random.Random(1), Memory())
    ada.give(5, "bram", "ada", "bread", 1)
    assert ada.mood.at(5) == EVENTS["got a gift"]
    ada.hear(5, "bram", "Ada! I will bring you 1 bread by 18:00.")
    ada.give(5, "bram", "ada", "bread", 1)
    assert ada.mood.at(5) == pytest.approx(EVENTS["got a gift"] + EVENTS["got what was promised"])
    ada.hear(6, "bram", "Ada! I will bring you 1 wood by 18:00.")
    before = ada.mood.at(900)
    ada.settle(900)
    assert ada.mood.at(900) == pytest.approx(before + EVENTS["was let down"])


def test_it_is_kept_with_the_mind():
    ada = Talker("ada", "Ada", random.Random(1), Memory())
    ada.mood.feel(7, 0.5)
    again = Talker("ada", "Ada", random.Random(1), Memory())
    again.restore(ada.kept())
    assert again.mood.at(100) == ada.mood.at(100)


@pytest.mark.parametrize("kept", [(2.0, 1), ("much", 1), (0.5, -1), (0.5, 1.5), (True, 1)])
def test_a_malformed_mood_is_refused(kept):
    with pytest.raises((TypeError, ValueError)):
        Mood(600).restore(*kept)
