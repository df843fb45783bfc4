"""Chests and stalls: nothing is taken twice, sold without its price, or stolen, whatever actors try."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.protocol import Buy, Effect, Interact, Move, Pickup, Put, Reason, Sell, Take
from tickmind.protocol.direction import Direction
from tickmind.protocol.intent import UNKNOWN
from tickmind.world import ScenarioError, TileWorld, parse_scenario

MARKET = """\
world: market
rules: {inventory_limit: 12}
calendar: {day_ticks: 24, begins: "00:00"}
floors: {grass: {}}
items: {bread: {use: {hunger: -1}}, coin: {}, grain: {}}
kinds:
  chest: {walkable: false, holds: 6}
  stall: {walkable: false, holds: 15, sells: {bread: {coin: 2}}, buys: {grain: {coin: 1}}, hours: HOURS}
  well: {walkable: false}
objects:
  - {id: chest, kind: chest, at: [1, 0], contents: {bread: 2}}
  - {id: strongbox, kind: chest, at: [3, 0], owner: ada, contents: {coin: 3}}
  - {id: stall, kind: stall, at: [2, 2], owner: ada, contents: {bread: 3, coin: 4}}
  - {id: well, kind: well, at: [0, 2]}
  - {id: far, kind: chest, at: [6, 0]}
map: {width: 7, height: 3, floor: grass}
actors:
  - {id: ada, at: [2, 1], inventory: {bread: 4}}
  - {id: bo, at: [1, 1], inventory: {coin: 5, grain: 3}}
"""
ALWAYS = MARKET.replace(", hours: HOURS", "")
ADA, BO = 0, 1


def market(text=ALWAYS):
    return TileWorld.from_scenario(parse_scenario(text))


def carried(world, row):
    return {stack.kind: stack.quantity for stack in world.observe([row])[0].me.inventory}


def held(world, object_id):
    """What lies on the tile of an object, as an actor beside it sees it."""
    seen = {one.object_id: one for one in world.observe([BO])[0].visible_objects}
    at = seen[object_id].x, seen[object_id].y
    pile = seen.get(f"ground:{at[0]},{at[1]}")
    return {} if pile is None else {stack.kind: stack.quantity for stack in pile.items}


def one(world, row, intent):
    (result,) = world.step({row: intent}).action_results()
    return result


def test_items_go_into_a_container_and_out_of_it_again():
    world = market()
    put = one(world, BO, Put("chest", "grain", 2))
    assert (put.ok, put.target_id, put.effects) == (True, "chest", (Effect("inventory.grain", -2),))
    assert held(world, "chest") == {"bread": 2, "grain": 2}
    taken = one(world, BO, Take("chest", "bread", 2))
    assert (taken.ok, taken.effects) == (True, (Effect("inventory.bread", 2),))
    assert held(world, "chest") == {"grain": 2}
    assert carried(world, BO) == {"bread": 2, "coin": 5, "grain": 1}


def test_only_its_owner_puts_items_into_a_container_and_takes_them_out():
    world = market(ALWAYS.replace("at: [3, 0], owner: ada", "at: [2, 0], owner: ada"))
    assert one(world, BO, Take("strongbox", "coin")).reason is Reason.NOT_OWNER
    assert one(world, BO, Put("strongbox", "coin")).reason is Reason.NOT_OWNER
    assert one(world, ADA, Put("strongbox", "bread")).ok
    assert one(world, ADA, Take("strongbox", "coin", 3)).ok


def test_a_full_stall_sells_and_takes_its_price():
    text = ALWAYS.replace("contents: {bread: 3, coin: 4}", "contents: {bread: 15}")
    world = market(text)
    assert one(world, BO, Buy("stall", "bread", 2)).ok
    assert held(world, "stall") == {"bread": 13, "coin": 4}  # two more than it holds
    assert one(world, ADA, Put("stall", "bread")).reason is Reason.CONTAINER_FULL
    assert one(world, ADA, Take("stall", "coin", 4)).ok
    assert one(world, ADA, Put("stall", "bread")).ok


def test_a_stall_sells_and_buys_for_its_price():
    world = market()
    bought = one(world, BO, Buy("stall", "bread", 2))
    assert (bought.ok, bought.effects) == (True, (Effect("inventory.coin", -4), Effect("inventory.bread", 2)))
    sold = one(world, BO, Sell("stall", "grain", 3))
    assert (sold.ok, sold.effects) == (True, (Effect("inventory.grain", -3), Effect("inventory.coin", 3)))
    assert held(world, "stall") == {"bread": 1, "coin": 5, "grain": 3}
    assert carried(world, BO) == {"bread": 2, "coin": 4}


def test_the_last_bread_is_sold_once_to_the_actor_that_comes_before():
    world = market(
        ALWAYS.replace("contents: {bread: 3, coin: 4}", "contents: {bread: 1}").replace(
            "ory: {bread: 4", "ory: {coin: 4"
        )
    )
    record = world.step({ADA: Buy("stall", "bread"), BO: Buy("stall", "bread")})
    assert [result.reason for result in record.action_results()] == [Reason.NONE, Reason.NOTHING_HERE]
    assert held(world, "stall") == {"coin": 2}


@pytest.mark.parametrize(
    ("intent", "reason", "effects"),
    [
        (Put("nothing", "coin"), Reason.UNKNOWN_TARGET, ()),
        (Put("well", "coin"), Reason.NOT_A_CONTAINER, ()),
        (Put("far", "coin"), Reason.TOO_FAR, ()),
        (Put("chest", "gold"), Reason.UNKNOWN_KIND, ()),
        (Put("chest", "coin", 0), Reason.ILLEGAL_ACTION, ()),
        (Put("chest", "coin", -1), Reason.ILLEGAL_ACTION, ()),
        (Put("chest", "coin", 6), Reason.MISSING_ITEM, (Effect("missing.coin", 1),)),
        (Put("chest", "coin", 5), Reason.CONTAINER_FULL, ()),
        (Take("chest", "bread", 3), Reason.NOTHING_HERE, ()),
        (Take("chest", "coin"), Reason.NOTHING_HERE, ()),
        (Take("stall", "bread"), Reason.NOT_OWNER, ()),
        (Buy("stall", "grain"), Reason.NOT_FOR_SALE, ()),
        (Buy("stall", "bread", 3), Reason.MISSING_ITEM, (Effect("missing.coin", 1),)),
        (Buy("chest", "bread"), Reason.NOT_FOR_SALE, ()),
        (Sell("stall", "bread"), Reason.NOT_FOR_SALE, ()),
        (Sell("stall", "grain", 4), Reason.MISSING_ITEM, (Effect("missing.grain", 1),)),
        (Buy("stall", "bread", 2**31 - 1), Reason.MISSING_ITEM, (Effect("missing.coin", 2 * (2**31 - 1) - 5),)),
    ],
)
def test_a_refused_exchange_says_why_and_changes_nothing(intent, reason, effects):
    world = market()
    before = carried(world, BO), held(world, "chest"), held(world, "stall")
    result = one(world, BO, intent)
    assert (result.ok, result.reason, result.effects) == (False, reason, effects)
    assert (carried(world, BO), held(world, "chest"), held(world, "stall")) == before


def test_an_actor_with_full_hands_takes_nothing():
    world = market(ALWAYS.replace("inventory: {coin: 5, grain: 3}", "inventory: {coin: 12}"))
    assert one(world, BO, Take("chest", "bread")).reason is Reason.INVENTORY_FULL
    assert one(world, BO, Buy("stall", "bread", 2)).ok  # the price makes room for them


def test_a_stall_that_cannot_pay_buys_nothing():
    world = market(ALWAYS.replace("contents: {bread: 3, coin: 4}", "contents: {bread: 3, coin: 1}"))
    assert one(world, BO, Sell("stall", "grain", 2)).reason is Reason.NOTHING_HERE


def test_a_stall_has_hours_and_its_owner_needs_none():
    world = market(MARKET.replace("HOURS", '["08:00", "18:00"]'))
    refused = one(world, BO, Buy("stall", "bread"))
    assert (refused.reason, refused.effects) == (Reason.CLOSED, (Effect("opens_at", 480),))
    assert one(world, ADA, Take("stall", "coin")).ok
    while world.tick_id < 8:  # a tick is an hour
        world.step({})
    assert one(world, BO, Buy("stall", "bread")).ok


def test_what_a_container_holds_cannot_be_picked_up_or_walked_onto():
    world = market()
    assert one(world, BO, Move(Direction.N)).reason is Reason.NOT_WALKABLE
    assert one(world, BO, Pickup("bread")).reason is Reason.NOTHING_HERE
    assert one(world, BO, Interact("chest")).reason is Reason.WRONG_STATE


def test_the_world_says_what_containers_hold_and_trade_and_whose_they_are():
    info = market(MARKET.replace("HOURS", '["08:00", "18:00"]')).info
    kinds = {kind.name: kind.container for kind in info.kinds}
    assert kinds["well"] is None
    stall = kinds["stall"]
    assert (stall.holds, stall.hours) == (15, (480, 1080))
    assert stall.price("bread", sells=True) == (("coin", 2),)
    assert (stall.price("bread", sells=False), stall.price("grain", sells=False)) == (None, (("coin", 1),))
    assert {thing.object_id: thing.owner for thing in info.objects if thing.owner} == {
        "stall": "ada",
        "strongbox": "ada",
    }
    seen = market().observe([BO])[0].visible_objects
    assert {one.object_id: one.owner for one in seen if one.owner} == {"stall": "ada", "strongbox": "ada"}


def test_a_world_restored_from_a_snapshot_goes_on_with_what_its_containers_hold():
    world = market()
    world.step({BO: Put("chest", "grain", 2)})
    again = market()
    again.restore(world.snapshot())
    assert again.state_hash() == world.state_hash()
    assert one(again, BO, Take("chest", "grain", 2)).ok


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{walkable: false, holds: 6}", "{holds: 6}", "say `walkable: false`"),
        (
            "  well: {walkable: false}",
            "  well: {walkable: false, sells: {bread: {coin: 1}}}",
            "say how many with `holds: 50`",
        ),
        ("sells: {bread: {coin: 2}}", "sells: {bread: {bread: 2}}", "the price of one 'bread' in other items"),
        ("sells: {bread: {coin: 2}}", "sells: {bread: {}}", "the price of one 'bread' in other items"),
        ("sells: {bread: {coin: 2}}", "sells: {cake: {coin: 2}}", "there is no item 'cake'"),
        ("contents: {bread: 2}", "contents: {bread: 7}", "'chest' holds 6 items at most, not 7"),
        ("kind: well, at: [0, 2]", "kind: well, at: [0, 2], contents: {coin: 1}", "'well' holds nothing"),
        ("at: [3, 0], owner: ada", "at: [3, 0], owner: eve", "there is no actor 'eve'"),
        ("at: [3, 0], owner: ada", "at: [3, 0], owner: [ada]", "expected a single value, found a list"),
        ("kind: well, at: [0, 2]", "kind: well, at: [0, 2], owner: ada", "'well' holds nothing, so it needs no owner"),
        (
            "{walkable: false, holds: 6}",
            "{walkable: false, holds: 6, hours: ['08:00', '17:00']}",
            "this kind has neither `sells` nor `buys`",
        ),
        ("holds: 6", "holds: 0", "from 1 to"),
        (
            "sells: {bread: {coin: 2}}",
            "sells: {bread: 2}",
            "the price of one 'bread' in other items, such as {coin: 2}",
        ),
        ("sells: {bread: {coin: 2}}", "sells: {bread: {coin: 13}}", "one 'bread' costs 13 items"),
        ("id: well,", 'id: "ground:1,1",', "begin with `ground:`"),
        ("  well: {walkable: false}", "  ground: {walkable: false}", "choose another name"),
    ],
)
def test_mistakes_of_containers_are_named(old, new, message):
    assert old in ALWAYS
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(ALWAYS.replace(old, new))
    assert str(raised.value).count(message) == 1


def test_scenarios_differ_by_what_their_containers_hold_and_who_owns_them():
    digests = {
        parse_scenario(text).digest
        for text in (
            ALWAYS,
            ALWAYS.replace("coin: 2", "coin: 1"),
            ALWAYS.replace("holds: 6", "holds: 7"),
            ALWAYS.replace("at: [3, 0], owner: ada", "at: [3, 0], owner: bo"),
            MARKET.replace("HOURS", '["08:00", "18:00"]'),
        )
    }
    assert len(digests) == 5


# A slow and obvious model of the rules, against any intents

KINDS = ("bread", "coin", "grain")
TARGETS = ("chest", "strongbox", "stall", "well", "far", "nothing")
AT = {"chest": (1, 0), "strongbox": (3, 0), "stall": (2, 2), "well": (0, 2), "far": (6, 0)}
HOLDS = {"chest": 6, "strongbox": 6, "stall": 15, "far": 6}
OWNER = {"strongbox": "ada", "stall": "ada"}
PLACES = {"ada": (2, 1), "bo": (1, 1)}


class Model:
    """The market, one sentence for each rule."""

    def __init__(self):
        self.has = {"ada": {"bread": 4}, "bo": {"coin": 5, "grain": 3}}
        self.holds = {"chest": {"bread": 2}, "strongbox": {"coin": 3}, "stall": {"bread": 3, "coin": 4}, "far": {}}

    def apply(self, who, intent):
        target, item, count = intent.target_id, intent.kind, intent.amount
        if count < 1 or item not in KINDS or target not in self.holds:
            return False
        (x, y), (mine_x, mine_y) = AT[target], PLACES[who]
        if abs(x - mine_x) > 1 or abs(y - mine_y) > 1:
            return False
        goods = {item: count}
        if isinstance(intent, (Put, Take)) and OWNER.get(target, who) != who:
            return False
        if isinstance(intent, Put):
            given, got = goods, {}
        elif isinstance(intent, Take):
            given, got = {}, goods
        elif isinstance(intent, Buy):
            if (target, item) != ("stall", "bread"):
                return False
            given, got = {"coin": 2 * count}, goods
        else:
            if (target, item) != ("stall", "grain"):
                return False
            given, got = goods, {"coin": count}
        mine, its = dict(self.has[who]), dict(self.holds[target])
        for kind, number in given.items():
            mine[kind] = mine.get(kind, 0) - number
            its[kind] = its.get(kind, 0) + number
        for kind, number in got.items():
            mine[kind] = mine.get(kind, 0) + number
            its[kind] = its.get(kind, 0) - number
        if min(*mine.values(), *its.values(), 0) < 0 or sum(mine.values()) > 12:
            return False
        grows = sum(its.values()) > sum(self.holds[target].values())
        if not isinstance(intent, Buy) and grows and sum(its.values()) > HOLDS[target]:
            return False
        self.has[who], self.holds[target] = mine, its
        return True


exchanges = st.builds(
    lambda kind, target, item, amount: kind(target, item, amount),
    st.sampled_from((Put, Take, Buy, Sell)),
    st.sampled_from(TARGETS),
    st.sampled_from((*KINDS, "gold")),
    st.integers(-1, 6) | st.sampled_from((2**31, 2**40)),
)


@pytest.mark.slow
@given(st.lists(st.tuples(exchanges, exchanges), min_size=1, max_size=25))
def test_containers_follow_the_model_and_no_item_comes_or_goes(ticks):
    world, model = market(), Model()
    for of_ada, of_bo in ticks:
        record = world.step({ADA: of_ada, BO: of_bo})
        expected = [model.apply("ada", of_ada), model.apply("bo", of_bo)]
        assert [result.ok for result in record.action_results()] == expected
        for row, who in ((ADA, "ada"), (BO, "bo")):
            assert carried(world, row) == {kind: count for kind, count in model.has[who].items() if count}
        for target in model.holds:
            assert held(world, target) == {kind: count for kind, count in model.holds[target].items() if count}
    counts = dict.fromkeys(KINDS, 0)
    for stock in (*model.has.values(), *model.holds.values()):
        for kind, count in stock.items():
            counts[kind] += count
    assert counts == {"bread": 9, "coin": 12, "grain": 3}


def test_a_name_of_no_object_compiles_to_an_unknown_target():
    columns = market().compile({BO: Put("nothing", "coin")})
    assert columns.target.tolist() == [UNKNOWN]
