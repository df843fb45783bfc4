"""Villagers of a trade: they buy what it takes, make, sell, mend what all need, and keep feasts."""

from tests.unit.characters.test_crafting import Life

from tickmind.agent import CharacterHost, Start
from tickmind.agent.character.skills import HELP_REST_TICKS
from tickmind.agent.character.working import SEARCH_TICKS
from tickmind.characters.villager import Villager
from tickmind.protocol import ActionType, Persona

TOWN = """\
world: town
rules: {sight_radius: 4, needs: {hunger_per_tick: 2, energy_per_tick: 0}, inventory_limit: 40}
calendar:
  day_ticks: 240
  begins: "08:00"
  festivals: {feast: {day: 1, hours: ["11:00", "13:00"], where: square}}
floors: {grass: {}, water: {walkable: false}}
items: {bread: {use: {hunger: -300}}, flour: {}, wood: {}, coin: {}}
kinds:
  oven: {walkable: false, actions: {bake: {work: 2, consumes: {flour: 1}, yields: {bread: 2}}}}
  stall:
    {walkable: false, holds: 90, sells: {flour: {coin: 1}, bread: {coin: 1}}, buys: {bread: {coin: 1}}}
  bridge:
    states:
      broken: {walkable: false, actions: {mend: {to: half, work: 2, consumes: {wood: 1}}}}
      half: {walkable: false, actions: {mend: {to: whole, work: 2, consumes: {wood: 1}}}}
      whole: {}
zones:
  bakery: {within: [0, 0, 3, 2]}
  square: {within: [14, 0, 17, 3]}
  far_bank: {within: [20, 0, 21, 3]}
map: |
  .o................~...
  .....s............=...
  1.................~...
  ..................~...
legend:
  ".": grass
  "~": water
  "=": {floor: grass, object: bridge}
  "o": {floor: grass, object: oven}
  "s": {floor: grass, object: stall, contents: {coin: 10, flour: 20}}
  "1": {floor: grass, actor: {id: ada, inventory: {bread: 4, coin: 6, wood: 4}, persona: {work: bakery}}}
"""


class Town(Life):
    """One villager in a town with a bakery, a stall, a square and a broken bridge."""

    def __init__(self, text=TOWN):
        super().__init__(text, Villager)
        info = self.world.info
        personas = {actor.entity_id: actor.persona or Persona() for actor in info.actors}
        self.host = CharacterHost(
            Villager,
            lambda who: Start(who, persona=personas[who], setting=info.setting, kinds=info.kinds, items=info.items),
        )

    @property
    def ada(self):
        return self.host.character("ada")

    def until(self, condition, ticks):
        """Live until something is so, at most so many ticks."""
        for _ in range(ticks):
            self.live(1)
            if condition():
                return True
        return False

    def sold(self, item):
        return sum(
            -effect.value
            for one in self.results
            for effect in one.effects
            if one.ok and one.action_type is ActionType.SELL and effect.name == f"inventory.{item}"
        )

    def bridge(self):
        row = next(row for row, one in enumerate(self.world.info.objects) if one.kind == "bridge")
        return self.world.view().object_state[row]


def test_a_baker_buys_flour_bakes_and_sells_what_it_does_not_eat_and_no_coin_is_lost():
    town = Town().live(30)
    baked = sum(value for value in town.effects("inventory.bread") if value > 1)
    assert baked >= 6
    assert town.sold("bread") >= 3
    assert town.ada.carries("bread") >= 4  # its own meals
    assert town.count("coin") == 16


def test_a_stall_that_can_not_pay_is_not_tried_again_and_again():
    town = Town(TOWN.replace("contents: {coin: 10, flour: 20}", "contents: {flour: 20}")).live(30)
    town.live(200)
    refused = [one for one in town.results if one.action_type is ActionType.SELL and not one.ok]
    assert len(refused) <= 3
    assert town.ada.carries("bread") < 20  # it bakes no more than it may sell


def test_a_place_that_it_has_never_seen_is_looked_for():
    town = Town(TOWN.replace("work: bakery", "work: square"))
    assert town.until(lambda: town.ada.in_zone("square"), 40)


def test_at_a_feast_it_is_there_to_the_end_and_goes_back_to_work():
    town = Town().live(20)
    assert town.ada.time.clock == "10:00"
    assert town.until(lambda: town.ada.in_zone("square"), 30)
    strayed = 0
    while town.ada.time.hour < 13:
        town.live(1)
        strayed += not town.ada.in_zone("square")
    assert strayed <= 4  # on a stroll
    assert town.until(lambda: town.ada.in_zone("bakery"), 40)
    assert town.ada.time.hour < 16


def test_who_has_an_appointment_is_there_in_time_and_stays_for_an_hour():
    town = Town().live(60)
    assert (town.ada.time.clock, town.ada.in_zone("square")) == ("14:00", False)
    town.ada.hear_news("There is a song at the square at 18:00.")
    assert town.until(lambda: town.ada.in_zone("square") and town.ada.time.hour >= 17, 40)
    assert town.ada.time.clock <= "18:00"
    strayed = 0
    while town.ada.time.hour < 19:
        town.live(1)
        strayed += not town.ada.in_zone("square")
    assert strayed <= 4  # on a stroll


SMITHY = (
    TOWN.replace("items: {bread: {use: {hunger: -300}}", "items: {ore: {}, hook: {}, bread: {use: {hunger: -300}}")
    .replace("oven: {walkable", "rock: {stock: {item: ore, most: 2}}\n  forge: {walkable")
    .replace(
        "{bake: {work: 2, consumes: {flour: 1}, yields: {bread: 2}}}",
        "{hammer: {consumes: {ore: 1}, yields: {hook: 2}}}",
    )
    .replace(
        '"o": {floor: grass, object: oven}', '"o": {floor: grass, object: forge}\n  "r": {floor: grass, object: rock}'
    )
    .replace("  1.................~...\n", "  1...............r.~...\n")
    .replace("far_bank: {within: [20, 0, 21, 3]}", "quarry: {within: [15, 0, 17, 3], purpose: stone and ore}")
    .replace("inventory: {bread: 4,", "inventory: {bread: 9,")
    .replace("{day: 1,", "{day: 9,")
)


def test_what_a_work_takes_is_looked_for_where_it_is_known_to_be():
    town = Town(SMITHY)
    assert town.until(lambda: town.ada.carries("hook") > 0, 80)


def test_what_is_nowhere_to_be_found_is_looked_for_for_a_part_of_the_day_only():
    wide = SMITHY.replace("...r.~", ".....~").replace("purpose: stone and ore", "purpose: stone")
    town = Town(wide.replace("~...\n", "....\n").replace("=...\n", "....\n").replace("...\n", "." * 100 + "\n"))
    away = [tick for tick in range(75) if not town.live(1).ada.in_zone("bakery")]
    assert SEARCH_TICKS <= len(away) <= 2 * SEARCH_TICKS + 5  # with the way back
    assert town.ada.in_zone("bakery")


def test_each_rests_between_two_parts_of_a_shared_work():
    town = Town(TOWN.replace("persona: {work: bakery}", "persona: {}"))
    assert town.until(lambda: town.bridge() == 1, 120)
    mended = town.world.tick_id
    town.live(40)
    assert town.bridge() == 1
    assert town.until(lambda: town.bridge() == 2, HELP_REST_TICKS + 200)
    assert town.world.tick_id - mended >= HELP_REST_TICKS
    assert town.count("wood") == 2


def test_what_a_shared_work_takes_is_bought():
    text = TOWN.replace("persona: {work: bakery}", "persona: {}").replace(", wood: 4}", "}")
    text = text.replace("flour: 20}", "wood: 2}").replace("sells: {flour:", "sells: {wood: {coin: 1}, flour:")
    town = Town(text)
    assert town.until(lambda: town.bridge() == 1, 200)
    assert [one for one in town.results if one.ok and one.action_type is ActionType.BUY]


def test_what_is_for_sale_can_be_promised_as_far_as_the_coins_go():
    ada = Town().live(8).ada
    assert ada.can_bring("flour", 2)
    assert not ada.can_bring("flour", 99)
    assert ada.can_bring("bread", 1)
    assert not ada.can_bring("gold", 1)


QUARREL = """\
world: quarrel
rules: {sight_radius: 8, needs: {hunger_per_tick: 0, energy_per_tick: 0}}
calendar:
  day_ticks: 240
  begins: "08:00"
  festivals: {feast: {day: 1, hours: ["11:00", "16:00"], where: square}}
floors: {grass: {}}
items: {bread: {use: {hunger: -300}}, coin: {}}
zones: {square: {within: [2, 0, 6, 2]}}
map: |
  .........
  1...3...2
  .........
legend:
  ".": grass
  "1": {floor: grass, actor: {id: edda, inventory: {bread: 4, coin: 3}, persona: {relations: {kaya: they fell out}}}}
  "2": {floor: grass, actor: {id: kaya, inventory: {bread: 4}, persona: {relations: {edda: they fell out}}}}
  "3": {floor: grass, actor: {id: liv, inventory: {bread: 4}, persona: {relations: {kaya: her housemate}}}}
"""


def test_who_has_fallen_out_does_not_speak_until_a_feast_brings_peace():
    town = Town(QUARREL)
    edda = town.host.character("edda")
    assert edda.talker.people.get("kaya").is_cold
    talked: dict[str, set[tuple[str, str]]] = {"before": set(), "after": set()}

    def watch():
        when = "before" if edda.time.hour < 11 else "after"
        for who in ("edda", "kaya"):
            talk = town.host.character(who).talker.talks.current
            talked[when] |= {(who, talk.partner_id)} if talk else set()
        return False

    town.until(watch, 29)
    assert ("edda", "kaya") not in talked["before"]
    assert ("kaya", "edda") not in talked["before"]
    assert talked["before"]  # with the third
    town.until(watch, 60)
    gifts = [one for one in town.results if one.ok and one.action_type is ActionType.GIVE]
    assert {one.actor_id for one in gifts if one.target_id in ("edda", "kaya")} & {"edda", "kaya"}
    for who, other in (("edda", "kaya"), ("kaya", "edda")):
        villager = town.host.character(who)
        assert not villager.talker.people.get(other).is_cold
        assert any("made peace" in entry.text for entry in villager.memory)
    town.until(watch, 60)
    assert ("edda", "kaya") in talked["after"] or ("kaya", "edda") in talked["after"]
