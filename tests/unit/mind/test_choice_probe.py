"""A probe of models: which ones choose by content."""

import pytest

from tickmind.mind.choice_probe import ENOUGH_RIGHT, judge, probe_questions

QUESTIONS = probe_questions()


def test_the_sensible_option_stands_at_each_place_of_each_situation():
    assert len(QUESTIONS) == 12
    places = [question.options.index(question.right) for question in QUESTIONS]
    assert places == [0, 1, 2, 3] * 3
    assert len({frozenset(option.words for option in question.options) for question in QUESTIONS}) == 3
    assert all(option.words in question.text for question in QUESTIONS for option in question.options)


@pytest.mark.parametrize(
    ("reply", "right", "first", "decides"),
    [
        (lambda question: question.right.words, 12, 3, True),
        (lambda question: f"I would {question.right.words}.", 12, 3, True),
        (lambda question: question.options[0].words, 3, 12, False),
        (lambda question: question.options[3].words, 3, 0, False),
        (lambda _question: "visit Tom", 4, 7, False),
        (lambda _question: "As a language model I can't.", 0, 0, False),
        (lambda question: " or ".join(option.words for option in question.options), 0, 0, False),
    ],
)
def test_a_model_is_judged_by_what_it_names(reply, right, first, decides):
    found = judge(QUESTIONS, map(reply, QUESTIONS))
    assert (found.right, found.of, found.decides) == (right, 12, decides)
    assert found.first == first


def test_a_few_mistakes_are_allowed():
    replies = [question.right.words if number < ENOUGH_RIGHT else "" for number, question in enumerate(QUESTIONS)]
    assert judge(QUESTIONS, replies).decides
    assert not judge(QUESTIONS, [*replies[1:], ""]).decides
