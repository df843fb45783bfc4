"""Fidelity: how many of the lines that a model worded still say what it was given."""

import pytest

from tickmind.mind.talk.wording_task import WORDS_TASK, beginning_asked, line_asked, words_question
from tickmind.protocol import Thought, ThoughtReport
from tickmind.record.measures import MindMaterial, measure
from tickmind.record.measures.wordings import read_wording

NAMES = {"ada": "Ada", "bram": "Bram", "cleo": "Cleo"}
TOLD = "I saw Bram at the mill."


def worded(reply, told=TOLD, before="", **plan):
    prompt = f"{before}{words_question(told)}\n\n{WORDS_TASK}"
    thought = Thought(1, 5, 7, "role", prompt, reply, directives={"plan": plan} if plan else {})
    return read_wording(ThoughtReport("ada", 7, thought), NAMES)


def fidelity(*wordings):
    figures = measure(MindMaterial(minds={"ada"}, wordings=list(wordings)))
    return next((one.value, one.of) for one in figures if one.name == "fidelity")


def test_what_a_model_adds_is_read_behind_what_code_has_begun():
    beginning = beginning_asked(words_question(TOLD))
    assert worded("white with flour.").words == f"{beginning} white with flour."
    assert worded("white with flour.").problem == ""
    assert worded("nobody else.").problem == "it may deny what it says"


@pytest.mark.parametrize("line", [TOLD, "Where have you been?", 'Do you say "yes" to that?'])
def test_the_line_that_a_prompt_asks_for_is_read_again(line):
    asked = line_asked(f'Bram said: "Good day."\n{words_question(line)}\n\n{WORDS_TASK}')
    assert asked.replace("'", '"') == line


def test_fidelity_is_the_share_of_worded_lines_that_keep_what_they_were_given():
    good = worded("I saw Bram at the mill, white with flour.")
    assert good.problem == ""
    assert good.told == TOLD
    assert fidelity(good, good, worded("I saw nobody at the mill."), worded("Bram saw me.")) == (1 / 2, 4)


def test_the_same_line_again_a_line_of_another_and_a_form_in_place_of_speech_are_not_faithful():
    fooling = [TOLD, "I saw Bram at the mill, and Cleo was there.", '{"text": "I saw Bram at the mill today."}']
    assert fidelity(*map(worded, fooling)) == (0, 3)


def test_a_line_may_name_the_partner_that_its_prompt_names():
    line = "I saw Bram at the mill, Cleo, white with flour."
    assert worded(line).problem == "it names another"
    assert worded(line, before='Cleo said: "Any news?"\n').problem == ""


def test_the_words_are_those_of_the_plan_where_the_reply_is_a_form():
    assert worded('{"text": "I saw Bram at the mill at last."}', text="I saw Bram at the mill at last.").problem == ""


def test_thoughts_about_something_else_and_such_without_a_reply_are_no_wordings():
    thought = Thought(1, 5, 7, "role", "What do you do next?", "Work.")
    assert read_wording(ThoughtReport("ada", 7, thought), NAMES) is None
    assert worded("") is None
    assert fidelity() == (None, 0)
