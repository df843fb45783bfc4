"""The script that stands in for a villager's model gives plans that the villager takes up."""

import json

from tickmind.characters.village_script import villager_says
from tickmind.characters.villager import GOALS
from tickmind.llm.messages import as_messages
from tickmind.llm.transport import ModelRequest
from tickmind.strategy import quoted

ME = "Your name is Ada.\n\nHunger {hunger} %, energy {energy} %. You carry nothing. Food is at 2 places."


def plan(prompt):
    return json.loads(villager_says(ModelRequest("scripted", as_messages(prompt))).content)


def test_every_plan_has_the_form_of_a_villagers_plan():
    for hunger in range(0, 100, 9):
        made = plan(ME.format(hunger=hunger, energy=100 - hunger))
        assert made["goal"] in GOALS
        assert sorted(made) == ["goal", "remember", "say", "who"]


def test_the_hungry_gather_and_the_tired_rest():
    assert plan(ME.format(hunger=80, energy=90))["goal"] == "gather"
    assert plan(ME.format(hunger=10, energy=10))["goal"] == "rest"


def test_whoever_spoke_and_is_near_gets_an_answer():
    lines = "\n".join((quoted("dov", "Hello, Ada! How are you?"), quoted("bram", "Good day.")))
    prompt = f"{ME.format(hunger=1, energy=99)}\nNear you, in steps: bram 2, cleo 4.\n{lines}"
    made = plan(prompt)
    assert made["who"] == "bram"
    assert "Bram" in made["say"]


def test_the_same_prompt_gets_the_same_plan():
    prompt = ME.format(hunger=1, energy=90)
    assert plan(prompt) == plan(prompt)
