"""The script that stands in for a villager's model chooses what the villager could do."""

import pytest

from tickmind.characters.scripted.village import villager_says
from tickmind.llm.messages import as_messages
from tickmind.llm.transport import ModelRequest

OPTIONS = ["visit Bram", "work at the mill", "fetch berries", "sit for a while"]
ME = "Your name is Ada.\n\nHunger {hunger} %. You carry nothing.\nYou could: {options}.\nWhat do you do next?"


def choice(hunger, options=OPTIONS):
    prompt = ME.format(hunger=hunger, options="; ".join(options))
    return villager_says(ModelRequest("scripted", as_messages(prompt))).content


@pytest.mark.parametrize("hunger", range(0, 50, 9))
def test_it_chooses_one_of_the_options_and_the_same_for_the_same_prompt(hunger):
    assert choice(hunger) in OPTIONS
    assert choice(hunger) == choice(hunger)


def test_not_all_choose_alike():
    assert len({choice(hunger) for hunger in range(50)}) == len(OPTIONS)


def test_the_hungry_look_for_food():
    assert choice(80) == "fetch berries"
    assert choice(80, ["rest at home", "eat bread"]) == "eat bread"


def test_nothing_is_answered_to_what_it_does_not_know():
    assert villager_says(ModelRequest("scripted", as_messages("What is the capital of France?"))).content == ""
