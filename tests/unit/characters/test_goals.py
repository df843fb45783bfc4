"""Goals of a world in the minds of those that they are for."""

from dataclasses import replace

import pytest

from tickmind.agent import Character, Start
from tickmind.agent.character.thinking import Thinking
from tickmind.agent.character.thoughts.prompting import MOST_GOALS, CharacterPrompts, goals_text
from tickmind.agent.testing import observe
from tickmind.llm.tokens import estimate_tokens
from tickmind.protocol import GoalInfo, RunInfo
from tickmind.strategy import Section
from tickmind.tick import World
from tickmind.world import TileWorld, parse_scenario

BOTH_OUT = GoalInfo("both_out", 10, ends=True, types=("prisoner",), all_in="outside")
RICH = GoalInfo("rich", 1, carry=(("coin", 5),))
CELL = """\
world: cell
floors: {stone: {}}
items: {coin: {}}
zones: {outside: {within: [0, 0, 1, 0]}}
map: {width: 5, height: 1, floor: stone}
actors:
  - {id: ada, type: prisoner, at: [3, 0]}
  - {id: bo, type: guard, at: [4, 0]}
goals:
  both_out: {who: {type: prisoner}, all_in: outside, score: 10, ends: true}
  rich: {carry: {coin: 5}, score: 1}
"""


class Prisoner(Character):
    thinking = Thinking("You are in a cell.")

    def describe(self):
        return "The door is shut. " * 10


class Guard(Prisoner):
    def describe(self):
        yield Section("You know everyone.", priority=3)
        yield Section("It is late.", priority=9)


def prompt(kind, goals=(BOTH_OUT, RICH), budget=None):
    one = kind(Start("ada").in_run(RunInfo(goals={"ada": goals})))
    one.take_in(observe("@."))
    prompts = CharacterPrompts(kind.thinking, replace(kind.thinking.config, token_budget=budget))
    world = World()
    entity = world.spawn()
    prompts.add(entity, one)
    return prompts.make(world, entity)


def test_each_mind_is_told_of_the_goals_that_are_for_it():
    info = TileWorld.from_scenario(parse_scenario(CELL)).info
    run = info.describe(RunInfo(), {"ada", "bo"})
    assert run.goals == {"ada": (BOTH_OUT, RICH), "bo": (RICH,)}
    assert info.describe(RunInfo(), ()).goals == {}
    assert Start("bo").in_run(run).goals == (RICH,)
    assert Prisoner(Start("ada").in_run(run)).goals == (BOTH_OUT, RICH)
    assert Start("someone").in_run(run).goals == ()


def test_goals_are_in_the_prompt_between_the_identity_and_the_situation():
    _, user = prompt(Prisoner)
    name, goals, situation = user.split("\n\n")
    assert name.startswith("Your name is ada.")
    assert goals == (
        "Goals of this world: both out (prisoner: all in outside; 10 points; ends the run); "
        "rich (everyone: with 5 coin; 1 point)."
    )
    assert situation.startswith("The door is shut.")
    assert "Goals" not in prompt(Prisoner, ())[1]


@pytest.mark.parametrize(("kind", "kept", "gone"), [(Prisoner, "The door", "Goals"), (Guard, "Goals", "everyone.")])
def test_goals_give_way_to_the_situation_when_the_prompt_is_too_long(kind, kept, gone):
    system, whole = prompt(kind)
    budget = estimate_tokens(system) + estimate_tokens(whole) - 3
    user = prompt(kind, budget=budget)[1]
    assert kept in user
    assert gone not in user
    assert estimate_tokens(system) + estimate_tokens(user) <= budget


def test_many_and_long_goals_take_little_room():
    goals = [
        GoalInfo(f"goal {number}", ids=("x" * 90, "y" * 90), each_in="outside") for number in range(MOST_GOALS + 3)
    ]
    text = goals_text(goals)
    assert text.endswith("... and 3 more.")
    assert len(text) < 1100
    assert "\n" not in goals_text([GoalInfo("odd\nname", object_id="gate\n1", state="open")])
