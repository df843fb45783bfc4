"""What a model may make of a line that it is given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.mind.talk.wording_check import without_question, wording_problem
from tickmind.mind.talk.wording_task import WORDED

NAMES = ("Bram", "Gita", "Iris", "Jon", "Kaya")
SAW = "I saw Kaya at the pear house."
OFTEN = "Gita is often at the birch house."


@pytest.mark.parametrize(("told", "line"), WORDED)
def test_what_a_model_is_shown_is_what_it_may_say(told, line):
    assert wording_problem(line, told, ("Tom", "Anna")) == ""


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (SAW, "Guess what, I saw Kaya at the pear house, half asleep as ever!"),
        (SAW, "I was in the pear house and saw Kaya."),
        ("Winter comes sooner than it seems.", "Mind you, winter comes sooner than it seems; get your wood in."),
        ("Kaya and Iris have not spoken since spring.", "Kaya and Iris haven't spoken since spring."),
        ("The mill stands still on Sundays.", "On Sundays the mill always stands still."),
        (SAW, "At the pear house I saw Kaya, and she laughed."),
        (SAW, "I saw Kaya at the pear house, and at the end she laughed."),
    ],
)
def test_a_line_may_add_a_few_words_or_tell_the_same_otherwise(told, line):
    assert wording_problem(line, told, NAMES) == ""


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (OFTEN, "Gita is the birch house. One often sees her there."),  # a person is no place
        (SAW, "Kaya saw me at the pear house."),  # who did it
        (SAW, "Kaya is at the pear house."),
        (SAW, "I saw Kaya at the lime house."),
        (SAW, "I saw Kaya at the pear house, which is not true."),
        (SAW, "Nobody believes that I saw Kaya at the pear house."),
        (SAW, "Have you heard that I saw Kaya at the pear house?"),  # who asks, tells nothing
        (SAW, SAW.upper()),
        (SAW, f"{SAW} {'And then some more. ' * 4}"),
        (SAW, "Liv is an excellent pear picker, and I saw Kaya picking all those pears at her house today."),
        (SAW, "At the lime house I saw Kaya, on the way to the pear house."),
        ("I met Iris.", "I met Iris at the park, she has a beautiful smile."),  # where nobody was
        ("I gave bread to Iris.", "Iris gave bread to me."),
        ("I picked wheat at the landing.", "Wheat at the landing."),
        ("Bram met Iris.", "Iris met Bram."),
        ("Bram met Iris.", "Jon met Iris."),
        ("There is ore beyond the stream.", "There is ore beyond the stream, and so is I."),
        ("I ate fish.", "I ate fish, careful and careful."),
        ("What brings you here?", "I am here to talk to you."),
        ("What would make this a good day for you?", "What would make this a good day for me?"),
        ("Kaya is never late.", "Kaya is always late, as one knows."),
    ],
)
def test_a_line_that_says_something_else_or_nothing_new_is_refused(told, line):
    assert wording_problem(line, told, NAMES)


@pytest.mark.parametrize(
    ("told", "line", "kept"),
    [
        (
            SAW,
            "I saw Kaya at the pear house, and she laughed. How are you?",
            "I saw Kaya at the pear house, and she laughed.",
        ),
        (SAW, "Have you heard? I saw Kaya at the pear house.", "Have you heard? I saw Kaya at the pear house."),
        (SAW, "Have you seen Kaya at the pear house?", "Have you seen Kaya at the pear house?"),
        ("Are you well?", "You are so quiet. Are you well?", "You are so quiet. Are you well?"),
    ],
)
def test_a_question_after_what_is_told_is_left_out(told, line, kept):
    assert without_question(line, told) == kept


@given(st.text(max_size=200), st.text(max_size=90))
def test_any_line_is_judged(line, told):
    assert isinstance(wording_problem(line, told, NAMES), str)
    assert wording_problem(told, told, NAMES)
