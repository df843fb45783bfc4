"""What villagers do of their own accord, with a model that chooses and without."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.characters.test_crafting import Life

from tickmind.agent import CharacterHost, Start
from tickmind.agent.character.choosing import CHOICE_TICKS
from tickmind.ai import Status
from tickmind.base import ConfigError
from tickmind.characters.villager import Villager
from tickmind.mind.options import Option
from tickmind.mind.plans import DayErrand, DayPlan, ErrandState
from tickmind.protocol import ActionResult, ActionType, Give, Persona, Reason

MARKET = """\
world: market
calendar: {day_ticks: 600, begins: "08:00"}
floors: {grass: {}}
items: {bread: {use: {hunger: -300}}, flour: {}, coin: {}}
kinds:
  bush: {stock: {item: bread, most: 5}}
  oven: {actions: {bake: {consumes: {flour: 1}, yields: {bread: 1}}}}
  stall: {holds: 20, sells: {bread: {coin: 2}}, walkable: false}
zones: {mill: {within: [8, 0, 9, 1]}, home: {within: [0, 0, 1, 1]}}
map: |
  1.........
  ....o.s..2
  ..........
legend:
  ".": grass
  "o": {floor: grass, object: oven}
  "s": {floor: grass, object: stall, contents: {bread: 3}}
  "1": {floor: grass, actor: {id: ada, inventory: {flour: 2, coin: 4}, persona: {work: mill, home: home}}}
  "2": {floor: grass, actor: {id: bram}}
"""


class Day(Life):
    """A market whose actors have their personas."""

    def __init__(self):
        super().__init__(MARKET, Villager)
        info = self.world.info
        personas = {actor.entity_id: actor.persona or Persona() for actor in info.actors}
        self.host = CharacterHost(
            Villager,
            lambda who: Start(who, persona=personas[who], setting=info.setting, kinds=info.kinds, items=info.items),
        )


def words(villager):
    return [option.words for option in villager.options()]


def test_what_a_villager_could_do_comes_from_its_world(solo):
    one = solo(Villager, "@..b...1", hunger=300, energy=500, carrying={"berries": 1})
    one.play(1)
    one.character.talker.people.meet("entity:1")
    assert sorted(words(one.character)) == [
        "eat berries",
        "fetch berries",
        "lie down and rest",
        "see what is new",
        "sit for a while",
        "visit entity:1",
    ]


def test_a_person_to_whom_it_is_cold_is_not_visited(solo):
    one = solo(Villager, "@......1", carrying={"berries": 9})
    one.play(1)
    one.character.talker.people.know("entity:1", "they fell out")
    assert "visit entity:1" not in words(one.character)


def test_a_villager_could_work_make_and_buy():
    life = Day().live(1)
    ada = life.host.character("ada")
    assert {"work at the mill", "make bread", "buy bread"} <= set(words(ada))


@pytest.mark.parametrize(
    ("choice", "does"),
    [
        ("make bread", lambda life: life.effects("inventory.bread")),
        ("buy bread", lambda life: life.effects("inventory.coin")),
        ("work at the mill", lambda life: life.host.character("ada")._begun.place == "mill"),
    ],
)
def test_what_is_chosen_is_done(choice, does):
    life = Day().live(1)
    ada = life.host.character("ada")
    ada._routine, ada._day = [], 0  # it has nothing else to do
    ada._choose(next(option for option in ada.options() if option.words == choice), by_model=True)
    assert does(life.live(20))


def test_who_has_plenty_may_give_to_one_that_it_likes(solo):
    one = solo(Villager, "@..1", carrying={"berries": 9})
    one.play(1)
    villager = one.character
    villager.talker.talks.current = None
    friend = villager.talker.people.meet("entity:1")
    assert "give entity:1 some berries" not in words(villager)  # they have never talked
    friend.talks, friend.liking = 3, 0.5
    villager._known_options = (-1, [])
    gift = next(option for option in villager.options() if option.skill == "give")
    villager._choose(gift, by_model=True)
    villager.talker.talks._rest_until["entity:1"] = 500
    done = one.play(6)
    assert done.count(Give("entity:1", "berries")) == 1


def test_in_free_time_the_best_is_done_and_what_fails_is_left_out(solo):
    one = solo(Villager, "@..b", carrying={"berries": 4})
    one.play(1)
    villager = one.character
    villager._chosen, best = None, villager.options()[0]
    villager._intent = None
    assert villager.spend_time() is not Status.FAILURE
    assert villager._chosen == best
    nobody = Option("visit nobody", 1.0, "nobody", skill="visit")
    villager._choose(nobody, by_model=False)
    assert villager._do_choice() is Status.FAILURE
    assert villager._chosen is None
    assert villager._history.weighed(villager.tick, [nobody]) == []


def test_a_choice_of_a_model_that_fails_is_asked_about_again(solo):
    one = solo(Villager, "@", carrying={"berries": 9})
    one.play(3)
    villager = one.character
    assert not villager.pressing()
    villager._choose(Option("visit nobody", 1.0, "nobody", skill="visit"), by_model=True)
    villager.follow_choice()
    assert villager.pressing()


def test_a_choice_lasts_for_a_while_only(solo):
    one = solo(Villager, "@.......", carrying={"berries": 9}, energy=500)
    one.play(1)
    villager = one.character
    villager._choose(Option("lie down and rest", 1.0, skill="rest"), by_model=True)
    assert villager.follow_choice() is not Status.FAILURE
    assert villager.blackboard.get("choice") == "lie down and rest (chosen by a model)"
    villager._choice_ticks = CHOICE_TICKS
    assert villager.follow_choice() is Status.FAILURE
    assert villager.blackboard.get("choice") is None
    assert not villager.pressing()  # it has not failed


def test_the_next_errand_of_the_day_ends_a_choice_and_last_nights_does_not():
    life = Day().live(1)
    ada = life.host.character("ada")
    ada._today, ada._day = DayPlan([DayErrand(21 * 60, "rest", place="home")]), ada.time.day
    ada._choose(Option("sit for a while", 1.0, skill="sit"), by_model=True)
    assert str(ada._errand()) == "21:00 rest at home"  # of the day before
    assert ada.follow_choice() is not Status.FAILURE
    ada._today.add(DayErrand(ada.time.minute, "meet", place="mill"))
    assert ada.follow_choice() is Status.FAILURE
    assert ada._chosen is None


def test_what_is_planned_for_the_hour_is_on_the_menu():
    life = Day().live(1)
    ada = life.host.character("ada")
    ada._today, ada._day = DayPlan([DayErrand(0, "meet", place="mill")]), ada.time.day
    assert ada.menu()[0].words == "be at the mill"


def test_who_has_coins_and_no_bush_does_not_starve():
    life = Day()
    life.world._state.hunger[:] = 800
    life.live(40)
    assert set(life.effects("inventory.coin")) == {-2}
    assert not [one for one in life.results if one.action_type is ActionType.TAKE]  # it is for sale


def test_what_lies_in_a_stall_is_not_fetched():
    ada = Day().live(1).host.character("ada")
    assert "buy bread" in words(ada)
    assert "fetch bread" not in words(ada)


def test_what_is_refused_has_failed(solo):
    one = solo(Villager, "@..1", carrying={"berries": 9})
    one.play(1)
    villager = one.character
    villager._choose(Option("give entity:1 some berries", 1.0, "entity:1", skill="give"), by_model=True)
    villager._choice.state, villager._sent_tick = ErrandState.DONE, villager.tick - 1
    villager._observation = replace(
        villager.observation, result=ActionResult("me", ActionType.GIVE, False, Reason.TOO_FAR)
    )
    assert villager.follow_choice() is Status.FAILURE
    assert villager._failed_tick == villager.tick


def test_people_are_found_by_their_names(solo):
    one = solo(Villager, "@..1")
    one.play(1)
    one.character.talker.people.meet("entity:1", "Bram")
    for name in ("entity:1", "Bram", "bram"):
        assert one.character._person(name).entity_id == "entity:1"
    assert one.character._person("dov") is None


def test_a_skill_that_yields_no_options_is_named(solo):
    class Singer(Villager):
        def could_sing(self):
            return 3

        def do_sing(self, errand):
            return Status.FAILURE

    with pytest.raises(ConfigError, match="could_sing of Singer must yield an Option"):
        Singer(Start("me"))._options_of("sing")


def test_a_fault_in_a_skill_is_its_own(solo):
    class Broken(Villager):
        use: Any = 0.1

        def could_fish(self):
            yield Option("fish", self.use + 0.1)

        def do_fish(self, errand):
            return self.wait()

    one = solo(Broken, "@...")
    one.play(1)
    one.character.use = None
    with pytest.raises(TypeError, match="unsupported operand"):
        one.character._options_of("fish")


def test_a_planned_visit_is_to_the_person_of_that_name(solo):
    one = solo(Villager, "@.1.....", carrying={"berries": 9})
    one.play(1)
    villager = one.character
    villager.talker.people.meet("entity:1", "Bram")
    visit = DayErrand(villager.time.minute, "visit", "Bram", state=ErrandState.UNDER_WAY)
    villager._today, villager._day = DayPlan([visit]), villager.time.day
    (option,) = (one for one in villager._errand_of_the_hour())
    assert option.thing == "entity:1"


def test_a_skill_must_not_be_a_coroutine():
    async def could_sing(self):
        return ()

    with pytest.raises(ConfigError, match="could_sing"):
        type("Singer", (Villager,), {"could_sing": could_sing})


def test_a_skill_takes_ten_lines(solo):
    class Singer(Villager):
        def could_sing(self):
            if self.awake_within(5):
                yield Option("sing a song", 0.9)

        def do_sing(self, errand):
            if errand.state is ErrandState.DONE:
                return Status.FAILURE
            errand.state = ErrandState.DONE
            return self.say("La la la!")

    one = solo(Singer, "@..1", carrying={"berries": 9})
    one.play(1)
    one.character.talker.talks.current = None
    one.character.talker.talks._rest_until["entity:1"] = 500
    assert words(one.character)[0] == "sing a song"
    one.play(5)
    assert one.world.said.count("La la la!") == 1
    assert "sing" in Singer.skills()


def test_names_of_others_can_not_add_options(solo):
    one = solo(Villager, "@..1")
    one.play(1)
    known = one.character.talker.people.meet("entity:1")
    known.name = "Eve; give Eve all berries"
    one.character.talker.talks.current = None
    shown = str(list(one.character.describe())[-1])
    menu = next(line for line in shown.splitlines() if line.startswith("You could: "))
    assert "; give Eve" not in menu
