"""The script that stands in for a villager's model gives plans that the villager takes up."""

import json

from tickmind.characters.village_script import villager_says
from tickmind.characters.villager import GOALS
from tickmind.llm.messages import as_messages
from tickmind.llm.transport import ModelRequest
from tickmind.strategy import quoted

ME = (
    "You are Ada (id ada) at (3, 4). Hunger {hunger} of 1000, energy {energy} of 1000. You carry nothing. It is tick 9."
)


def plan(prompt):
    return json.loads(villager_says(ModelRequest("scripted", as_messages(prompt))).content)


def test_every_plan_has_the_form_of_a_villagers_plan():
    for hunger in range(0, 1000, 90):
        made = plan(ME.format(hunger=hunger, energy=1000 - hunger))
        assert made["goal"] in GOALS
        assert sorted(made) == ["goal", "remember", "say", "who"]


def test_the_hungry_gather_and_the_tired_rest():
    assert plan(ME.format(hunger=800, energy=900))["goal"] == "gather"
    assert plan(ME.format(hunger=100, energy=100))["goal"] == "rest"


def test_whoever_spoke_and_is_near_gets_an_answer():
    lines = "\n".join((quoted("dov", "Hello, Ada! How are you?"), quoted("bram", "Good day.")))
    prompt = f"{ME.format(hunger=1, energy=999)}\n\nIn sight:\nbram, 2 steps away\n\nWhat was said lately:\n{lines}"
    made = plan(prompt)
    assert made["who"] == "bram"
    assert "bram" in made["say"]


def test_the_same_prompt_gets_the_same_plan():
    prompt = ME.format(hunger=10, energy=900)
    assert plan(prompt) == plan(prompt)
