"""Tools that wear: they are needed, and break by a chance that the seed says."""

import pytest

from tickmind.protocol import ActionInfo, Effect, Interact, Reason
from tickmind.record import RunStore
from tickmind.world import ScenarioError, TileWorld, parse_scenario

FOREST = """\
world: forest
seed: 3
floors: {grass: {}}
items: {axe: {}, glove: {}, wood: {}}
kinds: {tree: {walkable: false, actions: {chop: {wears: {axe: 20}}}}}
objects: [{id: tree, kind: tree, at: [1, 0]}]
map: {width: 3, height: 2, floor: grass}
actors:
  - {id: ada, at: [0, 0], inventory: {axe: 60000}}
  - {id: bo, at: [1, 1], inventory: {axe: 60000}}
rules: {inventory_limit: 65535}
"""
CHOP = Interact("tree", "chop")
BROKEN = (Effect("work_remaining", 0), Effect("inventory.axe", -1))


def world_of(text=FOREST, seed=None):
    return TileWorld.from_scenario(parse_scenario(text, seed=seed))


def breaks(world, ticks, rows=(0, 1)):
    """By actor: the ticks in which an axe broke."""
    found: list[list[int]] = [[] for _ in rows]
    for tick in range(ticks):
        results = world.step(dict.fromkeys(rows, CHOP)).action_results()
        for row, result in zip(rows, results, strict=True):
            assert result.ok
            assert result.effects in (BROKEN, BROKEN[:1])
            if result.effects == BROKEN:
                found[row].append(tick)
    return found


def carried(world, row, item):
    return sum(stack.quantity for stack in world.observe([row])[0].me.inventory if stack.kind == item)


def test_one_breaks_about_each_twentieth_time_and_is_gone():
    world = world_of()
    ada, bo = breaks(world, 1600)
    assert 55 < len(ada) < 105
    assert 55 < len(bo) < 105
    assert ada != bo
    assert (carried(world, 0, "axe"), carried(world, 1, "axe")) == (60000 - len(ada), 60000 - len(bo))


def test_the_seed_says_when():
    assert breaks(world_of(), 400) == breaks(world_of(), 400)
    assert breaks(world_of(), 400) != breaks(world_of(seed=4), 400)


def test_a_tool_is_needed_though_it_may_last():
    world = world_of(FOREST.replace("inventory: {axe: 60000}", "inventory: {glove: 1}"))
    (result,) = world.step({0: CHOP}).action_results()
    assert (result.reason, result.effects) == (Reason.MISSING_ITEM, (Effect("missing.axe", 1),))


def test_what_breaks_each_time_breaks_once_when_the_work_is_done():
    action = "{work: 3, wears: {axe: 1, glove: 1}, yields: {wood: 1}}"
    world = world_of(FOREST.replace("{wears: {axe: 20}}", action).replace("axe: 60000}", "axe: 2, glove: 5}"))
    effects = [next(world.step({0: CHOP}).action_results()).effects for _ in range(3)]
    assert effects[:2] == [(Effect("work_remaining", 2),), (Effect("work_remaining", 1),)]
    lost = (Effect("inventory.axe", -1), Effect("inventory.glove", -1))
    assert effects[2] == (Effect("work_remaining", 0), *lost, Effect("inventory.wood", 1))
    for _ in range(3):
        world.step({0: CHOP})
    (result,) = world.step({0: CHOP}).action_results()
    assert (result.reason, result.effects) == (Reason.MISSING_ITEM, (Effect("missing.axe", 1),))


def test_worlds_and_runs_say_what_wears(tmp_path):
    info = world_of().info
    ((chop,),) = info.kinds[0].actions
    assert chop == ActionInfo("chop", "plain", wears=(("axe", 20),))
    store = RunStore(tmp_path)
    store.create(info, "forest").close()
    with store.open("forest") as run:
        assert run.info.kinds == info.kinds


def test_wear_is_part_of_a_scenarios_identity():
    texts = (FOREST, FOREST.replace("axe: 20", "axe: 21"), FOREST.replace("{wears: {axe: 20}}", "{}"))
    assert len({parse_scenario(text).digest for text in texts}) == 3


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ("{wears: {axe: 0}}", "expected a whole number from 1"),
        ("{wears: {saw: 2}}", "there is no item 'saw'; there are: axe, glove, wood"),
        ("{wears: {axe: 2}, consumes: {axe: 1}}", "'axe' is consumed each time, so it can't wear"),
        ("{wears: [axe]}", "expected a mapping"),
    ],
)
def test_a_mistake_is_named(new, says):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(FOREST.replace("{wears: {axe: 20}}", new))
    assert says in str(caught.value)
