"""What villagers do of their own accord, with a model that chooses and without."""

import pytest
from tests.unit.characters.test_crafting import Life

from tickmind.agent import CharacterHost, Start
from tickmind.agent.character.choosing import CHOICE_TICKS
from tickmind.ai import Status
from tickmind.characters.villager import Villager
from tickmind.mind.plans import DayErrand, ErrandState
from tickmind.mind.skills import Option
from tickmind.protocol import Give, Persona

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


def test_a_villager_could_work_make_and_buy():
    life = Day().live(1)
    ada = life.host.character("ada")
    assert {"work at the mill", "make bread", "buy bread"} <= set(words(ada))


@pytest.mark.parametrize(
    ("choice", "does"),
    [
        ("make bread", lambda life: life.effects("inventory.bread")),
        ("buy bread", lambda life: life.effects("inventory.coin")),
        ("work at the mill", lambda life: life.host.character("ada").zone.name == "mill"),
    ],
)
def test_what_is_chosen_is_done(choice, does):
    life = Day().live(1)
    ada = life.host.character("ada")
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
    gift = next(option for option in villager.options() if option.skill == "give")
    villager._choose(gift, by_model=True)
    villager.talker.talks._rest_until["entity:1"] = 500
    done = one.play(6)
    assert done.count(Give("entity:1", "berries")) == 1
    assert villager._choice is None or villager._choice.skill != "give"


def test_in_free_time_the_best_is_done_and_what_fails_is_left_out(solo):
    one = solo(Villager, "@", carrying={"berries": 9})
    one.play(1)
    villager = one.character
    villager._choose(Option("visit nobody", 1.0, "nobody", skill="visit"), by_model=False)
    assert villager._do_choice() is Status.FAILURE
    assert villager._choice is None
    assert "visit nobody" in villager._choices._failed


def test_a_choice_of_a_model_that_fails_is_asked_about_again(solo):
    one = solo(Villager, "@", carrying={"berries": 9})
    one.play(3)
    villager = one.character
    assert not villager.pressing()
    villager._choose(Option("visit nobody", 1.0, "nobody", skill="visit"), by_model=True)
    villager.follow_choice()
    assert villager.pressing()


def test_a_choice_lasts_for_a_while_only(solo):
    one = solo(Villager, "@.......", carrying={"berries": 9})
    one.play(1)
    villager = one.character
    villager._choose(Option("lie down and rest", 1.0, skill="rest"), by_model=True)
    assert villager.follow_choice() is not Status.FAILURE
    villager._choice_tick -= CHOICE_TICKS + 1
    assert villager.follow_choice() is Status.FAILURE


def test_the_next_errand_of_the_day_ends_a_choice():
    life = Day().live(1)
    ada = life.host.character("ada")
    ada._choose(Option("sit for a while", 1.0, skill="sit"), by_model=True)
    assert ada.follow_choice() is not Status.FAILURE
    ada._choice.minute = ada.time.minute - 10
    ada._today.add(DayErrand(ada.time.minute, "meet", place="mill"))
    assert ada.follow_choice() is Status.FAILURE


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
