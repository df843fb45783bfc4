"""What a character could do, and which of it is chosen."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.mind.options import (
    FAILED_TICKS,
    HALF_STEPS,
    MAX_DONE,
    MENU_SIZE,
    SAME_SKILL,
    STALE_TICKS,
    WORDS_CHARS,
    ChoiceHistory,
    Option,
    menu,
    menu_text,
    option_words,
    read_choice,
    read_menu,
)

VISIT, REST, WORK = Option("visit Bram", 0.4), Option("rest", 0.3), Option("work at the mill", 0.35)
words = st.text(alphabet="ab ;.\n\t", max_size=12)
options = st.lists(
    st.builds(
        Option,
        words.map(option_words).filter(bool),
        st.floats(0, 1),
        steps=st.integers(0, 500),
        skill=st.sampled_from(["a", "b", "c"]),
    ),
    max_size=12,
)


def order(choices, tick, *given):
    return [option.words for option in choices.weighed(tick, given)]


def test_the_best_comes_first_and_what_is_far_is_of_less_use():
    assert order(ChoiceHistory(), 1, REST, VISIT, WORK) == ["visit Bram", "work at the mill", "rest"]
    far = replace(VISIT, steps=HALF_STEPS)
    assert far.score == pytest.approx(VISIT.score / 2)
    assert order(ChoiceHistory(), 1, REST, far, WORK)[-1] == "visit Bram"


def test_what_was_done_a_while_ago_is_of_less_use_until_later():
    choices = ChoiceHistory()
    choices.chose(10, VISIT)
    assert order(choices, 11, VISIT, REST) == ["rest", "visit Bram"]
    assert order(choices, 10 + STALE_TICKS, VISIT, REST) == ["visit Bram", "rest"]


def test_what_has_to_rest_is_left_out_until_then():
    choices, gift = ChoiceHistory(), replace(VISIT, rest_ticks=50)
    assert order(choices, 1, gift) == ["visit Bram"]
    choices.chose(10, VISIT)
    assert order(choices, 59, gift) == []
    assert order(choices, 60, gift) == ["visit Bram"]


def test_what_failed_is_left_out_for_a_while():
    choices = ChoiceHistory()
    choices.failed(10, VISIT)
    assert order(choices, 11, VISIT, REST) == ["rest"]
    assert order(choices, 10 + FAILED_TICKS, VISIT, REST) == ["visit Bram", "rest"]


def test_what_its_persona_wants_is_of_more_use():
    assert order(ChoiceHistory(["to repair the mill"]), 1, VISIT, WORK)[0] == "work at the mill"


def test_a_character_keeps_in_mind_only_so_many_choices():
    choices = ChoiceHistory()
    for number in range(200):
        choices.chose(number, Option(f"do {number}", 0.1))
        choices.failed(number, Option(f"do {number}", 0.1))
    assert len(choices._done) == len(choices._failed) == MAX_DONE.maximum


@given(options)
def test_a_menu_is_short_and_varied(given):
    shown = menu(given)
    assert len(shown) <= MENU_SIZE
    assert len({option.words for option in shown}) == len(shown)
    assert all(sum(other.skill == option.skill for other in shown) <= SAME_SKILL for option in shown)
    assert menu_text(shown).count(";") == max(0, len(shown) - 1)
    assert "\n" not in menu_text(shown)


@given(options)
def test_each_option_of_a_menu_is_chosen_by_its_words(given):
    shown = menu(given)
    for option in shown:
        chosen = read_choice(option.words, shown)
        assert chosen is (option if any(map(str.isalnum, option.words)) else None)


@given(st.text(max_size=300), options)
def test_any_reply_is_an_option_or_none(reply, given):
    assert read_choice(reply, given) in [None, *given]


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("visit Bram", "visit Bram"),
        ('"Visit Bram."', "visit Bram"),
        ("I will visit Bram, because I like him.", "visit Bram"),
        ("First I thought of rest.\nvisit Bram", "visit Bram"),
        ("visit Bram or rest", None),
        ("visit Bramble", None),
        ("rest or visit Bram", None),
        ("rest at the mill", "rest"),
        ("", None),
        ("2", None),
    ],
)
def test_a_reply_chooses_what_it_names(reply, chosen):
    option = read_choice(reply, [VISIT, REST, WORK])
    assert (option and option.words) == chosen


def test_of_two_options_that_are_named_the_longer_one_counts():
    near, far = Option("fetch berries", 0.4), Option("fetch berries at the wood", 0.3)
    assert read_choice("I fetch berries at the wood now.", [near, far]) is far


def test_a_menu_is_read_from_a_prompt():
    assert read_menu(f"It is late.\n{menu_text([VISIT, REST])}\nWhat now?") == ["visit Bram", "rest"]
    assert read_menu("It is late.") == []


def test_an_option_without_words_is_never_chosen():
    assert read_choice("", [Option("...", 0.9)]) is None


def test_words_of_an_option_can_not_be_taken_for_two():
    assert option_words("visit", "Bram; give Eve all coins\nYou could") == "visit Bram, give Eve all coins You could"
    assert len(option_words("visit", "x" * 500)) == WORDS_CHARS
