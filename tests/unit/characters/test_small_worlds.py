"""Worlds that only data makes: a library whose key is lent, a watch that keeps lamps burning, a market for bread."""

from tests.unit.characters.test_crafting import Life

from tickmind.agent import Character, action, condition
from tickmind.agent.character.character import FULL_TICKS
from tickmind.ai import Action, Condition, Inverter, Selector, Sequence, Status
from tickmind.characters.crafter import Crafter
from tickmind.protocol import Direction, Effect, Give, Interact, Move, Reason

LIBRARY = """\
world: library
calendar: {day_ticks: 200, begins: "08:00"}
floors: {boards: {}}
items: {key: {}, book: {}}
kinds:
  wall: {walkable: false, opaque: true}
  door:
    states:
      locked: {walkable: false, opaque: true, actions: {unlock: {to: unlocked, needs: {key: 1}}}}
      unlocked: {actions: {lock: {to: locked, needs: {key: 1}}}}
  shelf: {stock: {item: book, most: 1}}
zones: {reading_room: {within: [6, 1, 8, 1], purpose: books}}
map: |
  wwwwwwwwww
  w1.2.+..bw
  wwwwwwwwww
legend:
  ".": boards
  "w": {floor: boards, object: wall}
  "+": {floor: boards, object: door}
  "b": {floor: boards, object: shelf}
  "1": {floor: boards, actor: {id: librarian, inventory: {key: 1}}}
  "2": {floor: boards, actor: {id: reader}}
"""


class Visitor(Character):
    """The librarian lends its key to the reader, who fetches a book, locks up and brings the key back."""

    tree = Selector(
        Sequence(Condition("is_librarian"), Inverter(Condition("lent")), Action("lend_key")),
        Sequence(Condition("is_librarian"), Action("wait")),
        Sequence(Condition("has", {"item": "book"}), Condition("at_the_desk"), Action("give_back")),
        Sequence(Condition("has", {"item": "book"}), Action("go_home")),
        Sequence(Condition("has", {"item": "key"}), Action("gather", {"item": "book"})),
        Sequence(Condition("has", {"item": "key"}), Action("work_on", {"kind": "door", "verb": "unlock"})),
        Action("wait"),
        memory=False,
    )
    has_lent = False

    @condition
    def is_librarian(self) -> bool:
        return self.entity_id == "librarian"

    @condition
    def lent(self) -> bool:
        return self.has_lent

    @condition
    def at_the_desk(self) -> bool:
        return self.at == (3, 1)

    @action
    def lend_key(self) -> Status:
        if not self.surroundings.near(self.at, 1):
            return self.walk((2, 1)) if self.at != (2, 1) else self.wait()
        self.has_lent = True
        return self.do(Give("reader", "key"))

    @action
    def go_home(self) -> Status:
        if self.at == (4, 1) and self.surroundings.things["door:1"].seen.state == "unlocked":
            return self.do(Interact("door:1", "lock"))
        return self.walk((3, 1))

    @action
    def give_back(self) -> Status:
        return self.do(Give("librarian", "key")) if self.carries("key") else self.wait()


def carried(life, name):
    row = [actor.entity_id for actor in life.world.info.actors].index(name)
    return {stack.kind: stack.quantity for stack in life.world.observe([row])[0].me.inventory}


def test_a_locked_door_opens_for_a_borrowed_key_only():
    life = Life(LIBRARY, Visitor)
    life.world.step({1: Move(Direction.E)})
    (refused,) = life.world.step({1: Interact("door:1", "unlock")}).action_results()
    assert (refused.reason, refused.effects) == (Reason.MISSING_ITEM, (Effect("missing.key", 1),))
    life.world.step({1: Move(Direction.W)})
    life.live(60)
    assert life.count("key") == life.count("book") == 1
    assert (carried(life, "librarian"), carried(life, "reader")) == ({"key": 1}, {"book": 1})
    doors = [one for one in life.results if one.target_id == "door:1" and one.ok]
    assert [effect.name for one in doors for effect in one.effects] == ["work_remaining"] * 2  # unlocked, then locked


WATCH = """\
world: watch
calendar: {day_ticks: 240, begins: "12:00"}
rules: {sight_radius: 12}
floors: {path: {}}
items: {oil: {}}
kinds:
  lamp:
    states:
      dark: {walkable: false, actions: {light: {to: lit, consumes: {oil: 1}}}}
      lit: {walkable: false, change: {to: dark, ticks: 60}}
  barrel: {stock: {item: oil, most: 5, ticks: 4}}
map: |
  L....L
  ..1...
  B....L
legend:
  ".": path
  "L": {floor: path, object: lamp}
  "B": {floor: path, object: barrel}
  "1": {floor: path, actor: {id: hugo}}
"""


class Watchman(Character):
    """Lights lamps at night, and fetches oil for them by day."""

    tree = Selector(
        Sequence(
            Condition("between", {"start": "20:00", "end": "06:00"}),
            Selector(
                Sequence(Condition("has", {"item": "oil"}), Action("work_on", {"kind": "lamp", "verb": "light"})),
                Sequence(Inverter(Condition("has", {"item": "oil"})), Action("gather", {"item": "oil"})),
            ),
        ),
        Sequence(Inverter(Condition("has", {"item": "oil", "amount": 4})), Action("gather", {"item": "oil"})),
        Action("wait"),
        memory=False,
    )


def test_lamps_burn_at_night_and_every_flame_costs_its_oil():
    life = Life(WATCH, Watchman)
    calendar = life.world.info.setting.calendar
    burning: dict[str, list[int]] = {"night": [], "noon": []}
    for _ in range(480):
        time = calendar.at(life.world.tick_id)
        life.live(1)
        lit = sum(seen.state == "lit" for seen in life.world.observe([0])[0].visible_objects)
        if time.is_between("22:00", "05:00"):
            burning["night"].append(lit)
        elif time.is_between("13:00", "19:00"):
            burning["noon"].append(lit)
    assert sum(burning["night"]) / len(burning["night"]) > 2.5  # of three lamps
    assert set(burning["noon"]) == {0}
    lightings = [one for one in life.results if one.target_id.startswith("lamp") and one.ok]
    assert len(lightings) >= 6
    assert sum(life.effects("inventory.oil")) == carried(life, "hugo").get("oil", 0)
    assert -sum(value for value in life.effects("inventory.oil") if value < 0) == len(lightings)


MARKET = """\
world: market
rules: {sight_radius: 12, needs: {hunger_per_tick: 6, energy_per_tick: 0}, inventory_limit: 20}
calendar: {day_ticks: 200, begins: "06:00"}
floors: {grass: {}}
items: {grain: {}, flour: {}, bread: {use: {hunger: -400}}, coin: {}}
kinds:
  field: {stock: {item: grain, most: 3, ticks: 15}}
  mill: {walkable: false, actions: {grind: {work: 2, consumes: {grain: 2}, yields: {flour: 1}}}}
  oven: {walkable: false, actions: {bake: {work: 3, consumes: {flour: 1}, yields: {bread: 2}}}}
  stall: {walkable: false, holds: 30, sells: {bread: {coin: 2}}, buys: {grain: {coin: 1}}, hours: ["08:00", "18:00"]}
objects:
  - {id: stall, kind: stall, at: [6, 2], owner: ada, contents: {coin: 6}}
map: |
  ffff........
  ..1......M..
  ............
  .......O..2.
legend:
  ".": grass
  "f": {floor: grass, object: field}
  "M": {floor: grass, object: mill}
  "O": {floor: grass, object: oven}
  "1": {floor: grass, actor: {id: ada, type: baker}}
  "2": {floor: grass, actor: {id: bo, type: farmer, inventory: {coin: 4}}}
"""


class Trader(Crafter):
    """Ada bakes and fills her stall; Bo lives on what it sells, and sells grain to it."""

    def __init__(self, start):
        super().__init__(start)
        bakes = start.entity_id == "ada"
        self.makes, self.enough = (("bread",), 2) if bakes else ((), 0)
        if bakes:
            self.stocks, self.collects = ("bread",), ("grain",)
        else:
            self.sells = ("grain",)
        self.food = ("bread",)

    @condition
    def provided(self):
        return super().provided() if self.makes else self.carries("grain") >= 2

    @action
    def make_next(self):
        return super().make_next() if self.makes else self.gather("grain")


def test_bread_is_baked_and_sold_for_coins_at_a_stall_with_hours_and_all_goods_are_accounted_for():
    life = Life(MARKET, Trader)
    calendar = life.world.info.setting.calendar
    sold_at, trades = [], {"Buy": 0, "Sell": 0}
    for _ in range(400):
        time, done = calendar.at(life.world.tick_id), len(life.results)
        life.live(1)
        for result in life.results[done:]:
            if result.action_type in trades and result.ok:
                trades[result.action_type] += 1
                sold_at.append(time)
    assert trades["Buy"] >= 3
    assert trades["Sell"] >= 3
    assert all(time.is_between("08:00", "18:00") for time in sold_at)
    assert {time.day for time in sold_at} == {1, 2}
    baked = sum(one.ok and Effect("inventory.bread", 2) in one.effects for one in life.results)
    ground = sum(one.ok and Effect("inventory.flour", 1) in one.effects for one in life.results)
    eaten = sum(one.ok and one.action_type == "Use" for one in life.results)
    assert life.count("coin") == 10
    assert life.count("bread") == 2 * baked - eaten
    assert life.count("flour") == ground - baked
    assert all(life.world.observe([row])[0].me.hunger < 1000 for row in (0, 1))


TRADERS = """\
world: traders
floors: {grass: {}}
items: {bread: {}, coin: {}}
map: {width: 8, height: 3, floor: grass}
actors:
  - {id: ada, at: [0, 0], inventory: {bread: 3}}
  - {id: bo, at: [6, 2], inventory: {coin: 5}}
"""


class Bargainer(Character):
    """Ada sells bread to Bo for two coins each, who takes it as long as he can pay, and declines what he can't."""

    tree = Selector(
        Action("accept_offer", {"item": "bread"}),
        Action("decline_offer"),
        Sequence(Condition("has", {"item": "bread"}), Condition("sells"), Action("offer_bread")),
        Action("wait"),
        memory=False,
    )

    @condition
    def sells(self):
        return self.entity_id == "ada"

    @action
    def offer_bread(self):
        return self.offer("bo", "bread", 1, "coin", 2)


def test_characters_trade_by_offers_and_decline_what_they_cannot_pay():
    life = Life(TRADERS, Bargainer).live(40)
    assert (carried(life, "ada"), carried(life, "bo")) == ({"bread": 1, "coin": 4}, {"bread": 2, "coin": 1})
    assert sum(one.action_type == "Accept" and one.ok for one in life.results) == 2
    assert any(one.action_type == "Decline" and one.ok for one in life.results)


FOREST = """\
world: forest
floors: {grass: {}}
items: {axe: {}, bread: {lasts: 400, becomes: {crumbs: 1}}, crumbs: {}, wood: {}}
kinds:
  tree: {walkable: false, opaque: true, actions: {fell: {work: 2, needs: {axe: 1}, removes: true, yields: {wood: 2}}}}
  hut:
    build: {most: 2, consumes: {wood: 3}}
    states:
      frame: {actions: {raise: {to: done, work: 2}}}
      done: {walkable: false}
map: |
  ttttttt
  t1....t
  ttttttt
legend:
  ".": grass
  "t": {floor: grass, object: tree}
  "1": {floor: grass, actor: {id: ada, inventory: {axe: 1}}}
"""


class Settler(Character):
    """Fells trees until there is wood for a hut, builds it, raises it, and begins again."""

    tree = Selector(Action("work_on", {"kind": "hut", "verb": "raise"}), Action("build", {"kind": "hut"}), memory=False)


def test_a_settler_fells_trees_and_builds_huts_until_no_more_can_be_built():
    life = Life(FOREST, Settler).live(60)
    maps = life.world._maps
    there = {
        thing.object_id: (int(x), int(y))
        for thing, x, y in zip(life.world.info.objects, maps.object_x, maps.object_y, strict=True)
        if x >= 0
    }
    assert {"hut:1", "hut:2"} <= there.keys()
    assert 2 * (16 - (len(there) - 2)) == 2 * 3 + carried(life, "ada").get("wood", 0)
    assert [one.reason for one in life.results if one.action_type == "Build"][:3] == ["", "", Reason.NONE_LEFT]
    settler = life.host.character("ada")
    assert {item.name: (item.lasts, item.becomes) for item in settler.items}["bread"] == (400, (("crumbs", 1),))
    felled = {thing.object_id for thing in life.world.info.objects} - there.keys()
    assert len(felled) >= 3
    assert not felled & settler.surroundings.things.keys()


ORCHARD = """\
world: orchard
rules: {inventory_limit: 2}
floors: {grass: {}}
items: {apple: {}}
kinds:
  tree: {stock: {item: apple, most: 5}}
map: |
  1.t
legend:
  ".": grass
  "t": {floor: grass, object: tree}
  "1": {floor: grass, actor: {id: picker}}
"""


class Picker(Character):
    """Gathers apples, for ever."""

    tree = Selector(Action("gather", {"item": "apple"}), Action("wait"), memory=False)


def test_one_whose_hands_are_full_does_not_try_again_at_once():
    life = Life(ORCHARD, Picker).live(2 * FULL_TICKS)
    full = [one for one in life.results if one.reason is Reason.INVENTORY_FULL]
    assert len(full) == 2
