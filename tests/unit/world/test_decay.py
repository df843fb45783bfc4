"""Items that decay: on the ground, in containers and in inventories, by a chance that the seed says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.protocol import Effect, ItemInfo, Move, RuleEvent
from tickmind.protocol.direction import Direction
from tickmind.record import LogOptions, RunStore, SyncPolicy
from tickmind.record.report.queries import RunQueries
from tickmind.record.tables.inventories import InventoryLedger
from tickmind.world import ScenarioError, TileWorld, parse_scenario
from tickmind.world.chance import draw

PANTRY = """\
world: pantry
seed: 3
rules: {inventory_limit: 20000}
floors: {grass: {}}
items: {bread: {lasts: 20}, coin: {}, crumbs: {use: {hunger: -1}}}
kinds:
  chest: {walkable: false, holds: 30000}
  bush: {stock: {item: bread, most: 50}}
objects: [{kind: chest, at: [1, 0], contents: {bread: 8000}}, {kind: bush, at: [2, 0]}]
ground: [{item: bread, amount: 8000, at: [3, 0]}]
map: {width: 5, height: 2, floor: grass}
actors:
  - {id: ada, at: [0, 0], inventory: {bread: 8000, coin: 7}}
  - {id: bo, at: [4, 1], inventory: {bread: 1}}
"""
BECOMES = PANTRY.replace("lasts: 20}", "lasts: 20, becomes: {crumbs: 1}}")


def world_of(text=PANTRY, seed=None):
    return TileWorld.from_scenario(parse_scenario(text, seed=seed))


def carried(world):
    """Actor and item -> quantity, without those of 0."""
    state, names, ids = world._state, world.info.item_kinds, [actor.entity_id for actor in world.info.actors]
    rows, items = np.nonzero(state.inventory)
    return {(ids[row], names[item]): int(state.inventory[row, item]) for row, item in zip(rows, items, strict=True)}


def lying(world):
    """Tile as its ground's id, and item -> quantity."""
    state, names, width = world._state, world.info.item_kinds, world.info.width
    found = {}
    for key, amount in zip(state.ground_key.tolist(), state.ground_amount.tolist(), strict=True):
        tile, item = divmod(key, len(names))
        found[f"ground:{tile % width},{tile // width}", names[item]] = amount
    return found


def test_each_loses_its_part_in_a_tick_wherever_it_is():
    world = world_of()
    record = world.step({})
    assert {key: amount for key, amount in carried(world).items() if key[0] == "ada"} == {
        ("ada", "bread"): 7600,
        ("ada", "coin"): 7,
    }
    assert lying(world) == {("ground:1,0", "bread"): 7600, ("ground:3,0", "bread"): 7600}
    assert int(world._state.object_stock.sum()) == 50  # what grows on a bush stays
    assert record.rule_events == (RuleEvent("decay", ("ada",), effects=(Effect("inventory.bread", -400),)),)
    assert {delta.object_id: delta.new_value for delta in record.object_deltas} == {
        "ground:1,0": 7600,
        "ground:3,0": 7600,
    }


def test_a_single_one_lasts_as_long_on_average_and_the_seed_says_how_long():
    def ticks_until_gone(seed):
        world = world_of(seed=seed)
        ticks = 0
        while ("bo", "bread") in carried(world):
            world.step({})
            ticks += 1
        return ticks

    lasted = [ticks_until_gone(seed) for seed in range(60)]
    assert 14 < sum(lasted) / len(lasted) < 26
    assert lasted[:5] == [ticks_until_gone(seed) for seed in range(5)]
    assert len(set(lasted)) > 10


def test_what_it_becomes_takes_its_place_and_what_does_not_fit_falls_down():
    text = BECOMES.replace("inventory_limit: 20000", "inventory_limit: 8100").replace("crumbs: 1}}", "crumbs: 2}}")
    world = world_of(text)
    record = world.step({})
    # 400 are gone, so there is room for 400 and 93 more of 800 crumbs
    assert carried(world)["ada", "crumbs"] == 493
    assert lying(world)["ground:0,0", "crumbs"] == 307
    assert lying(world)["ground:1,0", "crumbs"] == 800  # a container that is full takes them, too
    effects = (Effect("inventory.bread", -400), Effect("inventory.crumbs", 493))
    assert record.rule_events[0] == RuleEvent("decay", ("ada",), effects=effects)


def test_what_it_becomes_decays_from_the_next_tick_on():
    text = BECOMES.replace("lasts: 20", "lasts: 1").replace("crumbs: {use", "crumbs: {lasts: 1, use")
    world = world_of(text)
    world.step({})
    assert carried(world) == {("ada", "coin"): 7, ("ada", "crumbs"): 8000, ("bo", "crumbs"): 1}
    world.step({})
    assert carried(world) == {("ada", "coin"): 7}
    assert lying(world) == {}


def test_nothing_decays_in_the_bags_of_those_who_are_away():
    world = world_of(
        PANTRY.replace("inventory: {bread: 8000, coin: 7}", "inventory: {bread: 8000}, arrives: {tick: 9}")
    )
    for _ in range(8):
        assert carried(world)["ada", "bread"] == 8000
        world.step({})
    world.step({})
    assert carried(world)["ada", "bread"] == 7600


def test_those_to_whom_the_same_happens_share_an_event():
    world = world_of(PANTRY.replace("bread: 1}", "bread: 8000}"))
    (event,) = world.step({}).rule_events
    assert event.actor_ids == ("ada", "bo")


# Against a slow and obvious account of it


def slow_decay(scenario, tick_id, bags, heaps, tiles):
    """Change bags (actor row -> item -> amount) and heaps (tile -> item -> amount) as one tick does."""
    kinds = {item.name: item for item in scenario.items}
    codes = {item.name: code for code, item in enumerate(scenario.items)}

    def lost(purpose, place, item, amount):
        lasts = kinds[item].lasts
        if not lasts:
            return 0
        key, below = (np.array([value], dtype=np.int64) for value in (place * len(kinds) + codes[item], lasts))
        return amount // lasts + int(int(draw(scenario.seed, purpose, tick_id, key, below)[0]) < amount % lasts)

    bag_losses = {
        row: {item: lost(6, row, item, amount) for item, amount in sorted(bag.items())} for row, bag in bags.items()
    }
    heap_losses = {
        tile: {item: lost(7, tile, item, amount) for item, amount in sorted(heap.items())}
        for tile, heap in heaps.items()
    }
    for row, losses in bag_losses.items():
        for item, gone in losses.items():
            bags[row][item] -= gone
    for row, losses in bag_losses.items():
        for item, gone in losses.items():
            for other, amount in kinds[item].becomes:
                for _ in range(gone * amount):
                    fits = sum(bags[row].values()) < scenario.rules.inventory_limit
                    place = bags[row] if fits else heaps.setdefault(tiles[row], {})
                    place[other] = place.get(other, 0) + 1
    for tile, losses in heap_losses.items():
        for item, gone in losses.items():
            heaps[tile][item] -= gone
            for other, amount in kinds[item].becomes:
                heaps[tile][other] = heaps[tile].get(other, 0) + gone * amount


ITEMS = ("apple", "bread", "crumbs", "dust")
STACKS = st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 9), max_size=4)


def _mapping(amounts):
    return "{" + ", ".join(f"{item}: {amount}" for item, amount in amounts.items()) + "}"


@settings(max_examples=25, deadline=None)
@given(
    lasts=st.tuples(*[st.sampled_from([0, 1, 2, 5, 30])] * 4),
    more=st.integers(1, 3),
    bags=st.lists(STACKS, min_size=3, max_size=3),
    heaps=st.lists(STACKS, min_size=4, max_size=4),
    limit=st.integers(36, 45),
    seed=st.integers(0, 2**40),
)
def test_it_is_what_a_slow_account_says_and_the_record_follows_it(lasts, more, bags, heaps, limit, seed):
    entries = []
    for number, item in enumerate(ITEMS):
        after = ITEMS[number + 1 :]
        keys = [f"lasts: {lasts[number]}"] if lasts[number] else []
        if lasts[number] and after:
            keys.append(f"becomes: {_mapping({after[0]: more, after[-1]: 1})}")
        entries.append(f"{item}: {{{', '.join(keys)}}}")
    text = f"""\
world: heaps
rules: {{inventory_limit: {limit}}}
floors: {{grass: {{}}}}
items: {{{", ".join(entries)}}}
kinds: {{chest: {{walkable: false, holds: 40}}}}
objects: [{{kind: chest, at: [0, 1], contents: {_mapping(heaps[3])}}}]
ground: [{", ".join(f"{{item: {i}, amount: {n}, at: [{x}, 0]}}" for x in range(3) for i, n in heaps[x].items())}]
map: {{width: 4, height: 2, floor: grass}}
actors: [{", ".join(f"{{id: a{n}, at: [{n}, 0], inventory: {_mapping(bags[n])}}}" for n in range(3))}]
"""
    scenario = parse_scenario(text, seed=seed)
    world = TileWorld.from_scenario(scenario)
    ledger = InventoryLedger(world.info)
    slow_bags = {row: dict(bag) for row, bag in enumerate(bags)}
    slow_heaps = {tile: dict(heap) for tile, heap in zip((0, 1, 2, 4), heaps, strict=True)}
    for tick_id in range(1, 6):
        recorded = world.step({})
        ledger.add(recorded)
        slow_decay(scenario, tick_id, slow_bags, slow_heaps, (0, 1, 2))
        in_bags = {(f"a{row}", item): n for row, bag in slow_bags.items() for item, n in bag.items() if n}
        on_ground = {
            (f"ground:{tile % 4},{tile // 4}", item): n
            for tile, heap in slow_heaps.items()
            for item, n in heap.items()
            if n
        }
        assert carried(world) == in_bags
        assert lying(world) == on_ground
        assert {key: n for key, n in ledger._quantities.items() if n} == in_bags | on_ground


# What else knows of it


def test_a_run_tells_what_was_held_and_the_report_has_no_goal_of_it(tmp_path):
    world = world_of(BECOMES)
    store = RunStore(tmp_path)
    with store.create(world.info, "pantry", options=LogOptions(sync=SyncPolicy.NEVER)) as log:
        for _ in range(30):
            log.publish(world.step({0: Move(Direction.S)}))
    with store.open("pantry") as run:
        assert run.info.items == world.info.items
        held = {(who, item): n for who, items in run.inventories_at(30).items() for item, n in items.items()}
        assert [event.name for _, events in run.rule_events(5, 5) for event in events] == ["decay"]
    with RunQueries(tmp_path / "pantry") as queries:
        assert queries.goals(()) == ()
    assert held == carried(world) | lying(world) | {("bush:1", "bread"): 50}


def test_a_snapshot_goes_on_in_the_same_way():
    world, other = world_of(BECOMES), world_of(BECOMES)
    world.step({})
    other.restore(world.snapshot())
    for _ in range(5):
        assert world.step({}).state_hash == other.step({}).state_hash


def test_worlds_say_what_items_are():
    assert world_of(BECOMES).info.items == (
        ItemInfo("bread", lasts=20, becomes=(("crumbs", 1),)),
        ItemInfo("coin"),
        ItemInfo("crumbs", (("hunger", -1),)),
    )
    assert world_of().info.items[2].adds_to("hunger") == -1
    assert world_of().info.items[2].adds_to("energy") == 0


def test_decay_is_part_of_a_scenarios_identity():
    texts = (PANTRY, BECOMES, PANTRY.replace("lasts: 20", "lasts: 21"), PANTRY.replace("{lasts: 20}", "{}"))
    assert len({parse_scenario(text).digest for text in texts}) == 4


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ("bread: {lasts: 0}", "expected a whole number from 1"),
        ("bread: {becomes: {coin: 1}}", "'bread' never decays; say how many ticks it lasts"),
        ("bread: {lasts: 2, becomes: {stone: 1}}", "there is no item 'stone'"),
        ("bread: {lasts: 2, becomes: {bread: 1}}", "'bread' becomes itself again: bread -> bread"),
        (
            "bread: {lasts: 2, becomes: {dust: 1}}, dust: {lasts: 3, becomes: {bread: 1}}",
            "'bread' becomes itself again: bread -> dust -> bread",
        ),
        (
            "bread: {lasts: 2, becomes: {dust: 40}}, dust: {lasts: 3, becomes: {coin: 40}}",
            "one 'bread' becomes more than 1,000 items in the end",
        ),
    ],
)
def test_a_mistake_is_named(new, says):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(PANTRY.replace("bread: {lasts: 20}", new))
    assert says in str(caught.value)
