"""What a model may make of a line that it is given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.mind.talk.wording_check import without_question, wording_problem
from tickmind.mind.talk.wording_task import (
    BEGUN,
    beginning_asked,
    begun,
    finished,
    line_asked,
    line_told,
    without_musing,
    words_question,
)

NAMES = ("Bram", "Gita", "Iris", "Jon", "Kaya")
SAW = "I saw Kaya at the pear house."
OFTEN = "Gita is often at the birch house."


@pytest.mark.parametrize(("beginning", "rest"), BEGUN)
def test_what_a_model_is_shown_is_what_it_may_say(beginning, rest):
    told = line_told(beginning)
    assert told != beginning
    assert wording_problem(finished(beginning, rest), told, ("Tom", "Anna")) == ""


@pytest.mark.parametrize(
    "told", [SAW, "I met Iris.", "Iris gave me bread as promised.", "Winter comes soon.", "Iris met Jon."]
)
def test_a_line_is_begun_in_several_ways_that_its_words_decide(told):
    beginnings = {begun(told, str(salt)) for salt in range(40)}
    assert len(beginnings) >= 3
    for beginning in beginnings:
        assert beginning.startswith(told[:-1])
        assert line_told(beginning) == told
        assert begun(f"{beginning} this and that.") == ""
    assert begun(told, "7") == begun(told, "7")


@pytest.mark.parametrize("told", ["Are you well?", "Listen!", "Kaya met Jon, and Kaya wondered about it.", ""])
def test_questions_and_what_was_added_to_before_are_asked_for_as_a_whole(told):
    assert begun(told) == ""
    assert line_asked(words_question(told)) == told
    assert beginning_asked(words_question(told)) == ""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("she waved.", "I saw Kaya, and she waved."),
        ('... she waved"', "I saw Kaya, and she waved."),
        ("and she waved", "I saw Kaya, and she waved."),
        ("she waved? And more", "I saw Kaya, and she waved."),
        ("she waved! And more", "I saw Kaya, and she waved!"),
        ("I waved.", "I saw Kaya, and I waved."),
        ("She waved.", "She waved."),
        ("", ""),
    ],
)
def test_what_a_model_writes_goes_behind_what_code_has_begun(words, line):
    assert finished("I saw Kaya, and", words) == line


def test_a_model_may_write_the_whole_line():
    beginning = begun(SAW)
    assert finished(beginning, f"{beginning} tired.") == f"{beginning} tired."
    assert finished("", SAW) == SAW


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("I saw Kaya, and I wondered why.", "I saw Kaya."),
        ("Tea is good, which is why I drink it.", "Tea is good."),
        ("I saw Kaya, because she works here.", "I saw Kaya, because she works here."),
        ("Kaya wondered, and so did I.", "Kaya wondered, and so did I."),
    ],
)
def test_what_a_speaker_feels_about_it_is_no_news(line, kept):
    assert without_musing(line) == kept


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
        (SAW, "I saw Kaya at the pear house, who laughed at the sunrise."),
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
