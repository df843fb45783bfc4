"""A stock that doubles: what is left grows by itself, up to its most, and of nothing comes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.protocol import Pickup, Wait
from tickmind.world import ScenarioError, TileWorld, parse_scenario

ROUND = 4  # ticks
MEADOW = """\
world: meadow
seed: 3
rules: {{inventory_limit: 500}}
floors: {{grass: {{}}}}
items: {{berries: {{}}}}
kinds:
  meadow: {{size: [3, 1], stock: {stock}}}
objects:
  - {{kind: meadow, at: [0, 0]{begins}}}
map: {{width: 3, height: 1, floor: grass}}
actors:
  - {{id: ada, at: [0, 0]}}
  - {{id: bo, at: [1, 0]}}
  - {{id: cleo, at: [2, 0]}}
"""
DOUBLES = f"{{item: berries, most: 100, ticks: {ROUND}, doubles: true}}"


def meadow(begins="", stock=DOUBLES):
    return TileWorld.from_scenario(parse_scenario(MEADOW.format(stock=stock, begins=begins)))


def left(world):
    return int(world._state.object_stock[0])


def test_what_is_left_doubles_up_to_its_most():
    world = meadow(", stock: 20")
    stocks = []
    for _ in range(3 * ROUND + 1):
        world.step({})
        stocks.append(left(world))
    assert sorted(set(stocks)) == [20, 40, 80, 100]
    assert stocks.count(40) == stocks.count(80) == ROUND


def test_an_emptied_stock_never_comes_back():
    world = meadow(", stock: 20")
    world.step({0: Pickup("berries", 20)})
    assert left(world) == 0
    for _ in range(3 * ROUND):
        assert not world.step({}).object_deltas
    assert left(world) == 0


def test_one_that_was_full_begins_to_double_when_it_is_first_taken_from():
    world = meadow()
    for _ in range(2 * ROUND):
        assert not world.step({}).object_deltas
    world.step({0: Pickup("berries", 70)})
    stocks = [left(world)]
    for _ in range(2 * ROUND):
        world.step({})
        stocks.append(left(world))
    assert stocks == [*[30] * ROUND, *[60] * ROUND, 100]


@given(st.lists(st.tuples(*[st.integers(0, 40)] * 3), max_size=40))
@settings(max_examples=40, deadline=None)
def test_it_goes_as_the_rule_says_whatever_is_taken(rounds):
    world = meadow(", stock: 60")
    stock, due = 60, ROUND
    for tick, wanted in enumerate(rounds, 1):
        world.step({row: Pickup("berries", amount) if amount else Wait() for row, amount in enumerate(wanted)})
        for amount in wanted:
            if amount and stock:
                due = tick + ROUND if stock == 100 else due
                stock -= min(amount, stock)
        if stock and stock < 100 and tick == due:
            stock, due = min(100, 2 * stock), tick + ROUND
        assert left(world) == stock


def test_agents_know_that_it_doubles_and_others_keep_their_digest():
    def scenario(stock):
        return parse_scenario(MEADOW.format(stock=stock, begins=""))

    plain = scenario(DOUBLES.replace(", doubles: true", ""))
    assert plain.digest == scenario(DOUBLES.replace("true", "false")).digest != scenario(DOUBLES).digest
    kinds = [*meadow().info.kinds, *TileWorld.from_scenario(plain).info.kinds]
    assert [kind.doubling_ticks for kind in kinds] == [ROUND, 0]


def test_a_stock_that_doubles_needs_a_time_to_do_it_in():
    with pytest.raises(ScenarioError, match="needs `ticks`"):
        meadow(stock="{item: berries, most: 100, doubles: true}")
