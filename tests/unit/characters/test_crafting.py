"""Characters make things by the recipes of their world, and nothing comes or goes but by a rule."""

import re

import pytest

from tickmind.agent import Character, CharacterHost, Start
from tickmind.agent.guarded_host import GuardedHost
from tickmind.agent.reliving import PastTurn, play_turn
from tickmind.ai import Action, Inverter, Selector, Sequence, Status
from tickmind.ai import Condition as If
from tickmind.protocol import ActionInfo, KindInfo, RunInfo
from tickmind.world import TileWorld, parse_scenario

BAKERY = """\
world: bakery
rules: {needs: {hunger_per_tick: 3, energy_per_tick: 0}, inventory_limit: 20}
calendar: {day_ticks: 200, begins: "06:00"}
floors: {grass: {}}
items: {grain: {}, flour: {}, bread: {use: {hunger: -300}}, sickle: {}}
kinds:
  field: {stock: {item: grain, most: 3, ticks: 15}}
  mill:
    states: {still: {walkable: false, actions: {grind: {work: 2, consumes: {grain: 2}, yields: {flour: 1}}}}}
  oven:
    states:
      warm: {walkable: false, actions: {bake: {work: 3, needs: {sickle: 1}, consumes: {flour: 2}, yields: {bread: 3}}}}
map: |
  ffff........
  ..1......M..
  ffff........
  .......O..s.
legend:
  ".": grass
  "f": {floor: grass, object: field}
  "M": {floor: grass, object: mill}
  "O": {floor: grass, object: oven}
  "s": {floor: grass, ground: {sickle: 1}}
  "1": {floor: grass, actor: {id: ada, type: baker}}
"""


class Baker(Character):
    """Eats when hungry, and bakes while it has less than six breads."""

    tree = Selector(
        Sequence(If("hungry", {"above": 400}), Action("eat", {"item": "bread"})),
        Sequence(Inverter(If("has", {"item": "bread", "amount": 6})), Action("make", {"item": "bread"})),
        Action("wait"),
        memory=False,
    )


class Life:
    """Bakers in a world, by its own rules."""

    def __init__(self, text=BAKERY, kind=Baker):
        self.world = TileWorld.from_scenario(parse_scenario(text))
        self.host = CharacterHost(kind, Start)
        info = self.world.info
        self.host.enter(RunInfo("run", 1, kinds=info.kinds, setting=info.setting, items=info.items))
        self.results = []

    def live(self, ticks):
        guarded = GuardedHost(self.host)
        for _ in range(ticks):
            rows = range(len(self.world.info.actors))
            turn = PastTurn(self.world.tick_id, self.world.observe(rows))
            intents = play_turn(guarded, turn)
            rows_of = {actor.entity_id: row for row, actor in enumerate(self.world.info.actors)}
            record = self.world.step({rows_of[name]: intent for name, intent in intents.items()})
            self.results += list(record.action_results())
        return self

    def count(self, item):
        """How many items of a kind there are: carried, on the ground and in stock."""
        state, code = self.world._state, self.world.info.item_kinds.index(item)
        lying = state.ground_amount[state.ground_key % len(self.world.info.item_kinds) == code].sum()
        stock = state.object_stock.sum() if item == "grain" else 0
        return int(state.inventory[:, code].sum() + lying + stock)

    def effects(self, name):
        return [effect.value for one in self.results for effect in one.effects if one.ok and effect.name == name]


def test_a_baker_makes_bread_from_grain_for_two_days_and_all_goods_are_accounted_for():
    life = Life().live(400)
    ground, baked = (len([v for v in life.effects(f"inventory.{item}") if v > 0]) for item in ("flour", "bread"))
    eaten = -sum(value for value in life.effects("inventory.bread") if value < 0)
    assert baked >= 3
    assert eaten >= 2
    assert life.count("flour") == ground - 2 * baked
    assert life.count("bread") == 3 * baked - eaten
    assert life.count("sickle") == 1
    assert life.world.observe([0])[0].me.hunger < 1000


def test_what_a_recipe_needs_is_fetched_once_and_kept():
    life = Life().live(400)
    assert sum(life.effects("inventory.sickle")) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("yields: {flour: 1}", "yields: {grain: 1}"),  # flour can't be had
        ('  "s": {floor: grass, ground: {sickle: 1}}\n', '  "s": grass\n'),  # nor a sickle
        ("consumes: {grain: 2}", "consumes: {bread: 1}"),  # bread is made of bread
    ],
)
def test_what_cannot_be_made_is_not_tried_for_ever(old, new):
    life = Life(BAKERY.replace(old, new))
    life.live(30)
    assert life.host.character("ada").make("bread") is Status.FAILURE
    assert not life.effects("inventory.bread")


def test_nothing_is_made_without_a_recipe():
    life = Life().live(1)
    ada = life.host.character("ada")
    assert ada.recipes("sickle") == []
    assert [(kind, state, action.verb) for kind, state, action in ada.recipes("bread")] == [("oven", "warm", "bake")]
    assert ada.make("sickle") is Status.FAILURE
    assert re.fullmatch(r"\d\d:\d\d", ada.time.clock)


TANGLE = [f"i{number}" for number in range(40)]


def test_recipes_that_all_take_each_other_end_at_once():
    """Every item can be made of every other, and none is there."""
    kinds = [
        KindInfo(f"k{item}", ("s",), (True,), (True,), ((ActionInfo("do", "s", 1, (), ((other, 1),), ((item, 1),)),),))
        for item in TANGLE
        for other in TANGLE
        if item != other
    ]
    life = Life().live(1)
    ada = life.host.character("ada")
    ada.kinds = tuple(kinds)
    assert ada.make("i0") is Status.FAILURE


HEAT = BAKERY.replace(
    "warm: {walkable: false, actions: {bake: {work: 3, needs: {sickle: 1}, consumes: {flour: 2}, yields: {bread: 3}}}}",
    "cold: {walkable: false, actions: {bake: {consumes: {flour: 2}, yields: {grain: 1}}}}\n"
    "      hot: {walkable: false, actions: {bake: {consumes: {flour: 2}, yields: {bread: 3}}}}",
)


def test_a_recipe_is_done_in_its_state_only():
    assert "cold" in HEAT
    life = Life(HEAT).live(150)  # the only oven is cold, where baking gives grain
    assert not [one for one in life.results if one.target_id == "oven:1"]
    assert len(life.effects("inventory.flour")) >= 2  # it had what the recipe takes
    assert life.host.character("ada").make("bread") is Status.FAILURE


def test_a_closed_oven_is_not_tried_before_it_opens():
    hours = "consumes: {flour: 2}, yields: {bread: 3}, hours: ['12:00', '18:00']}"
    life = Life(BAKERY.replace("consumes: {flour: 2}, yields: {bread: 3}}", hours)).live(200)
    baking = [one for one in life.results if one.target_id == "oven:1"]
    assert len(baking) >= 3
    assert all(one.ok for one in baking)


def test_a_tool_that_wears_is_fetched_again_when_it_has_broken():
    text = BAKERY.replace("needs: {sickle: 1}", "wears: {sickle: 2}").replace("{sickle: 1}", "{sickle: 9}")
    life = Life(text).live(500)
    fetched, broken = (
        sum(value > 0 for value in life.effects("inventory.sickle")),
        -sum(value for value in life.effects("inventory.sickle") if value < 0),
    )
    assert broken >= 2
    assert fetched in (broken, broken + 1)
    assert life.count("sickle") == 9 - broken


def test_nothing_is_made_out_of_season():
    calendar = 'calendar: {day_ticks: 200, begins: "00:00", seasons: {winter: 1, summer: 1}}'
    text = BAKERY.replace('calendar: {day_ticks: 200, begins: "06:00"}', calendar)
    life = Life(text.replace("bake: {work: 3,", "bake: {work: 3, seasons: [summer],")).live(200)
    assert life.effects("inventory.bread") == []
    assert life.effects("inventory.flour")
    assert not [one for one in life.results if one.reason == "closed"]  # it knows, and does not try
    assert sum(life.live(150).effects("inventory.bread")) > 0
