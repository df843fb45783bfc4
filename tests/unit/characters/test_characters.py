"""The ready characters in small worlds."""

import pytest

from tickmind.agent import Character, Start
from tickmind.agent.testing import Drawing, Object, SmallWorld, observe
from tickmind.ai import Action, Selector
from tickmind.characters.berry_eater import berry_eater
from tickmind.characters.forager_bt import Forager
from tickmind.characters.random_walker import RandomWalker
from tickmind.characters.tool_user import ToolUser
from tickmind.characters.villager import Villager
from tickmind.mind.memory import EntryKind
from tickmind.protocol import Direction, Entered, Interact, Move, Say, Sleep, Use, Wait, Wake

HOUSE = """
    ##########
    #@..+...b#
    #...#..b.#
    #.B.#....#
    ##########
"""


def test_a_random_walker_walks_only_where_it_can():
    world = SmallWorld("###\n#@.\n###")
    walker = RandomWalker(Start("me"))
    for _ in range(20):
        assert not world.step(walker.act(world.observe()))
    assert RandomWalker(Start("me")).act(observe("###\n#@1\n###")) == Wait()


def test_a_berry_eater_walks_eats_and_speaks():
    world = SmallWorld("@...b..", hunger=500)
    done = world.play(berry_eater, 8)
    assert Use("berries") in done
    assert world.hunger < 500
    assert berry_eater(observe("@.1", events=[Entered("entity:1", 2, 0)])) == Say("Hello there!")
    assert isinstance(berry_eater(observe("@...")), Move)
    assert berry_eater(observe("###\n#@#\n###")) == Wait()


def test_a_forager_opens_the_door_gathers_and_eats(solo):
    one = solo(Forager, HOUSE, hunger=500, hunger_per_tick=3)
    done = one.play(40)
    assert Interact("door:1", "open") in done
    assert done.count(Use("berries")) >= 2
    assert one.world.hunger < 500


def test_a_forager_goes_to_bed_and_gets_up(solo):
    one = solo(Forager, HOUSE, energy=100)
    done = one.play(10)
    assert Sleep() in done
    assert one.world.at == (2, 3)
    assert Wake() not in done
    one.world.energy = 950
    assert one.play(1) == [Wake()]


class Explorer(Character):
    """Goes where it has never been."""

    tree = Selector(Action("explore"), Action("wait"), memory=False)


def test_an_explorer_who_knew_everything_goes_on_when_a_locked_door_is_open(solo):
    legend = {"L": Object("door", walkable=False, state="locked"), "O": Object("door", state="open")}
    one = solo(Explorer, "#####\n#@.L \n#####", legend=legend)
    assert one.play(3) == [Wait()] * 3
    one.world.drawing = Drawing.read("#####\n#@.O \n#####", legend)
    assert one.play(1) == [Move(Direction.E)]


@pytest.mark.parametrize("kind", [Villager, ToolUser])
def test_without_a_model_one_still_eats(solo, kind):
    one = solo(kind, HOUSE, hunger=800, hunger_per_tick=2)
    done = one.play(60)
    assert Use("berries") in done
    assert one.world.hunger < 800


def spoken(intents):
    return [intent.text for intent in intents if isinstance(intent, Say)]


def test_a_villager_greets_and_answers(solo):
    one = solo(Villager, "@.1", settings={"name": "Anna"})
    (greeting,) = one.play(1)
    assert isinstance(greeting, Say)
    assert "entity:1" in greeting.text
    assert "Anna." in greeting.text
    one.world.hear("entity:1", "Good day, Anna! Where can I find berries?")
    assert any(said.endswith("I have seen nothing to eat yet.") for said in spoken(one.play(2)))
    assert ("entity:1",) in {entry.about for entry in one.character.memory}


@pytest.mark.parametrize("asked", ["food", "berries", "anything to EAT"])
def test_a_villager_tells_where_the_food_is(solo, asked):
    one = solo(Villager, "@.1\n..b", hunger=0)
    one.play(1)
    one.world.hear("entity:1", f"me, where is {asked}?")
    assert any(said.endswith("There is something to eat at (2, 1).") for said in spoken(one.play(2)))


def test_villagers_do_not_talk_for_ever(solo):
    one = solo(Villager, "@.1")
    for _ in range(100):
        one.world.hear("entity:1", "Hello, me! How are you?")
        one.play(1)
    assert len(one.world.said) <= 8


def test_a_villager_wanders_where_nothing_is_to_be_done(solo):
    one = solo(Villager, "......\n..@...\n......", carrying={"berries": 9})
    assert any(isinstance(intent, Move) for intent in one.play(30))


def test_a_character_that_fails_to_walk_tries_something_else(solo):
    one = solo(Forager, "#####\n#@#b#\n#####", hunger=600)
    assert set(one.play(20)) == {Wait()}


def test_a_thinking_villager_answers_one_who_speaks_all_the_time(solo):
    one = solo(Villager, "@.1")
    one.play(1)
    one.character.thinks = True  # and no model answers
    for number in range(20):
        one.world.hear("entity:1", f"me, listen: it is {number}.")
        one.play(1)
    assert len(one.world.said) >= 2  # its greeting, and its farewell to one who never pauses


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("Have you heard, entity:2: one often sees me at the mill.", False),  # of it, to another
        ("Have you heard, me: one often sees entity:2 at the mill.", True),
        ("me, where is entity:2?", True),
        ("Hello me! This is entity:2.", True),
        ("Good evening, me.", True),
        ("me told entity:2: there is soup.", False),
        ("At the mill, me sold bread to entity:2.", False),
        ("I saw entity:2, me and the miller.", False),
        ("I saw me.", True),  # there is no other to whom that could be said
    ],
)
def test_a_line_is_for_the_one_whom_it_speaks_to(solo, line, meant):
    one = solo(Villager, "@1.....2")
    one.play(1)
    talks = one.character.talker.talks
    talks.current, talks._rest_until = None, {}
    one.world.hear("entity:1", line)
    one.play(1)
    talk = talks.current
    assert (talk is not None and any(said.text == line for said in talk.lines)) is meant


@pytest.mark.parametrize("question", ["Who gave you bread?", "To whom did you give wheat?", "What of this weather?"])
def test_a_question_about_gifts_or_the_weather_is_not_one_for_food(solo, question):
    one = solo(Villager, "@.1")
    one.play(1)
    one.character.memory.note(1, "entity:2 gave me bread.", kind=EntryKind.GOT, about="entity:2")
    answer = one.character.talker.answer_to(2, question, "entity:1")
    assert "to eat" not in answer
    assert answer == "entity:2 gave me bread." or "bread" not in question
