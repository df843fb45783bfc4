"""What holds in every world, whatever anybody asks for."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long
from tests.unit.world.conftest import CROWD, NEEDS

from tickmind.protocol import Acted, Effect, Entered, IntentColumns, Left, Moved, Wait
from tickmind.record.tables.inventories import InventoryLedger
from tickmind.world import BadIntentsError, SnapshotMismatchError, TileWorld, parse_scenario

MOVES = (Entered, Left, Moved)


def run(world, ticks):
    return [world.step(intents, controlled) for intents, controlled in ticks]


def count(world, item):
    """How many items of a kind there are: carried, on the ground and in stock."""
    state = world._state
    code = world.info.item_kinds.index(item)
    lying = state.ground_amount[state.ground_key % len(world.info.item_kinds) == code].sum()
    stock = state.object_stock.sum() if item == "berries" else 0
    return int(state.inventory[:, code].sum() + lying + stock)


@settings(max_examples=short_or_long(30, 60), deadline=None)
@given(st.data())
@pytest.mark.slow
def test_nobody_ever_shares_a_tile_or_stands_in_a_wall(crowd, any_ticks, data):
    ticks = any_ticks(data)
    world = TileWorld.from_scenario(crowd)
    for record in run(world, ticks):
        places = list(zip(record.actor_state.x.tolist(), record.actor_state.y.tolist(), strict=True))
        assert len(set(places)) == len(places)
    maps, state = world._maps, world._state
    assert maps.walkable[state.y, state.x].all()
    assert (maps.occupancy[state.y, state.x] == np.arange(8)).all()
    assert (maps.occupancy >= 0).sum() == 8


@pytest.mark.slow
@settings(max_examples=short_or_long(30, 60), deadline=None)
@given(st.data())
def test_items_come_from_work_and_growth_and_go_by_use_only(crowd, any_ticks, data):
    world = TileWorld.from_scenario(crowd)
    check_accounts(world, any_ticks(data), [(item,) for item in world.info.item_kinds])


@pytest.mark.slow
@settings(max_examples=short_or_long(15, 40), deadline=None)
@given(st.data())
def test_where_items_become_others_there_are_as_many_as_before(scenario_text, any_ticks, data):
    text = scenario_text(CROWD, rules=NEEDS, carry={1: "{coin: 3, axe: 1}", 7: "{axe: 1, wood: 5}", 8: "{coin: 6}"})
    text = text.replace("coin: {}", "coin: {lasts: 4, becomes: {plank: 1}}").replace("axe: {}", "axe: {lasts: 90}")
    world = TileWorld.from_scenario(parse_scenario(text))
    check_accounts(world, any_ticks(data), [("coin", "plank"), ("wood",), ("berries",)])


def check_accounts(world, ticks, groups):
    """Step a crowd; of each group of items there are as many as the tick before, and what rules made and used."""
    ledger = InventoryLedger(world.info)
    held: dict[tuple[str, str], int] = {}
    for intents, controlled in ticks:
        before = {group: sum(count(world, item) for item in group) for group in groups}
        record = world.step(intents, controlled)
        results = list(record.action_results())
        held |= {(one.holder_id, one.item): one.quantity for one in ledger.add(record)}
        for row, actor in enumerate(world.info.actors):
            carried = [held.get((actor.entity_id, item), 0) for item in world.info.item_kinds]
            assert carried == world._state.inventory[row].tolist()
        for group, had in before.items():
            used = sum(
                effect.value
                for result in results
                for effect in result.effects
                if result.action_type == "Use" and effect.name.removeprefix("inventory.") in group
            )
            felled = sum(delta.new_value == "stump" for delta in record.object_deltas)
            sawn = sum(
                result.target_id == "bench:1" and Effect("work_remaining", 0) in result.effects for result in results
            )
            opened = sum(delta.object_id == "chest:1" and delta.new_value == "open" for delta in record.object_deltas)
            now = sum(count(world, item) for item in group)
            if group == ("berries",):
                assert 0 <= now - had - used <= 1  # one may have grown
            else:
                made = {"wood": 2 * felled - 2 * sawn, "plank": 3 * sawn, "coin": 5 * opened}
                assert now == had + used + sum(made.get(item, 0) for item in group)
        assert (world._state.inventory.sum(axis=1) <= 6).all()
        assert (world._state.ground_amount > 0).all()
        assert (np.diff(world._state.ground_key) > 0).all()


@settings(max_examples=short_or_long(20, 40), deadline=None)
@given(st.data())
@pytest.mark.slow
def test_the_same_inputs_give_the_same_world(crowd, any_ticks, data):
    ticks = any_ticks(data)
    first, second = (run(TileWorld.from_scenario(crowd), ticks) for _ in range(2))
    assert [record.state_hash for record in first] == [record.state_hash for record in second]
    assert [list(record.action_results()) for record in first] == [list(record.action_results()) for record in second]


@pytest.mark.slow
@settings(max_examples=short_or_long(20, 40), deadline=None)
@given(st.data())
def test_a_restored_world_continues_identically(crowd, any_ticks, data):
    before, after = any_ticks(data), any_ticks(data)
    world, other = TileWorld.from_scenario(crowd), TileWorld.from_scenario(crowd)
    run(world, before)
    other.restore(world.snapshot())
    assert other.snapshot() == world.snapshot()
    rows = range(8)
    assert other.observe(rows) == world.observe(rows)
    for one, two in zip(run(world, after), run(other, after), strict=True):
        assert one.state_hash == two.state_hash
        assert one.object_deltas == two.object_deltas
        assert list(one.action_results()) == list(two.action_results())
    assert other.observe(rows) == world.observe(rows)


@settings(max_examples=30, deadline=None)
@given(st.data())
@pytest.mark.slow
def test_a_record_holds_what_is_needed_to_do_the_tick_again(crowd, any_ticks, data):
    ticks = any_ticks(data)
    world, again = TileWorld.from_scenario(crowd), TileWorld.from_scenario(crowd)
    for record in run(world, ticks):
        assert again.repeat(record)


@settings(max_examples=30, deadline=None)
@given(st.data())
@pytest.mark.slow
def test_what_was_recorded_does_not_change_afterwards(crowd, any_ticks, data):
    ticks = any_ticks(data)
    world = TileWorld.from_scenario(crowd)
    kept = []
    for intents, controlled in ticks:
        record = world.step(intents, controlled)
        state = record.actor_state
        kept.append((state, [column.tolist() for column in (state.x, state.y, state.status_bits, state.facing)]))
    for state, lists in kept:
        assert [column.tolist() for column in (state.x, state.y, state.status_bits, state.facing)] == lists


@pytest.mark.slow
@settings(max_examples=short_or_long(20, 40), deadline=None)
@given(st.data())
def test_events_are_the_difference_between_two_observations(crowd, any_ticks, data):
    ticks = any_ticks(data)
    world = TileWorld.from_scenario(crowd)
    rows = range(8)
    old = world.observe(rows)
    for intents, controlled in ticks:
        world.step(intents, controlled)
        new = world.observe(rows)
        for was, now in zip(old, new, strict=True):
            before = {entity.entity_id: (entity.x, entity.y) for entity in was.visible_entities}
            after = {entity.entity_id: (entity.x, entity.y) for entity in now.visible_entities}
            told = {kind: {event.entity_id for event in now.events if isinstance(event, kind)} for kind in MOVES}
            assert told[Entered] == after.keys() - before.keys()
            assert told[Left] == before.keys() - after.keys()
            assert told[Moved] == {name for name in after.keys() & before.keys() if after[name] != before[name]}
            acted = {event.result.actor_id for event in now.events if isinstance(event, Acted)}
            assert acted <= after.keys()
        old = new


# What only a broken caller does


def test_another_worlds_snapshot_is_refused(crowd, scenario_text):
    other = TileWorld.from_scenario(parse_scenario(scenario_text("1.")))
    world = TileWorld.from_scenario(crowd)
    with pytest.raises(SnapshotMismatchError, match="another scenario"):
        world.restore(other.snapshot())


def test_a_snapshot_of_another_rule_set_is_refused(scenario_text):
    one, two = (
        TileWorld.from_scenario(parse_scenario(scenario_text("1.", rules=f"{{world_version: {version}}}")))
        for version in ("1.0.0", "1.1.0")
    )
    with pytest.raises(SnapshotMismatchError, match=r"rule set 1\.0\.0, this world 1\.1\.0"):
        two.restore(one.snapshot())


@settings(max_examples=short_or_long(20, 40), deadline=None)
@given(st.data())
def test_a_damaged_snapshot_is_refused_and_changes_nothing(crowd, data):
    world = TileWorld.from_scenario(crowd)
    good = world.snapshot()
    place = data.draw(st.integers(0, len(good) - 1))
    bad = good[:place] + bytes([good[place] ^ data.draw(st.integers(1, 255))]) + good[place + 1 :]
    for broken in (bad, good[:place]):
        with pytest.raises(SnapshotMismatchError):
            world.restore(broken)
    assert world.snapshot() == good


def columns(actor, action=0, direction=0, kind=0, amount=0, target=0):
    size = len(actor)
    return IntentColumns(
        actor=np.array(actor, dtype=np.int32),
        action=np.full(size, action, dtype=np.uint8),
        direction=np.full(size, direction, dtype=np.int8),
        kind=np.full(size, kind, dtype=np.int32),
        amount=np.full(size, amount, dtype=np.int32),
        target=np.full(size, target, dtype=np.int32),
        texts={},
    )


def test_a_mask_of_another_length_is_refused(crowd):
    with pytest.raises(BadIntentsError, match="controlled must have 8 values, not 3"):
        TileWorld.from_scenario(crowd).step({}, np.ones(3, dtype=np.bool_))


def test_columns_of_different_lengths_are_refused(crowd):
    broken = replace(columns([0, 1]), amount=np.zeros(1, dtype=np.int32))
    with pytest.raises(BadIntentsError, match="differ in length"):
        TileWorld.from_scenario(crowd).step(broken)


def test_an_intent_of_a_row_that_is_not_there_is_refused(crowd):
    with pytest.raises(BadIntentsError, match="rows of actors go from 0 to 7"):
        TileWorld.from_scenario(crowd).step({8: Wait()})


@pytest.mark.parametrize("actor", [[1, 0], [0, 0], [-1], [8]])
def test_columns_that_no_inbox_makes_are_refused(crowd, actor):
    world = TileWorld.from_scenario(crowd)
    before = world.state_hash()
    with pytest.raises(BadIntentsError, match="from 0 to 7"):
        world.step(columns(actor))
    assert world.state_hash() == before


@settings(max_examples=short_or_long(30, 60), deadline=None)
@given(
    st.integers(0, 255),
    st.integers(-128, 127),
    *[st.integers(-(2**31), 2**31 - 1) for _ in range(3)],
)
def test_any_numbers_in_columns_are_answered_with_a_result(crowd, action, direction, kind, amount, target):
    world = TileWorld.from_scenario(crowd)
    record = world.step(columns([0], action, direction, kind, amount, target))
    assert len(record.results) == 1
    assert len(world.observe([0])) == 1


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("amount", np.array([250], dtype=np.uint8)),
        ("amount", np.array([0.5])),
        ("kind", np.array([[0]], dtype=np.int32)),
        ("action", np.array([6], dtype=np.int64)),
    ],
)
def test_columns_of_another_type_are_refused(crowd, name, column):
    world = TileWorld.from_scenario(crowd)
    columns = world.compile({0: Wait()})
    with pytest.raises(BadIntentsError, match=f"column '{name}' must be one of"):
        world.step(replace(columns, **{name: column}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": {0: ("local", 7)}}, "pairs of a channel and a text"),
        ({"wanted": {0: (0, 2**80)}}, "amount below"),
        ({"wanted": {0: (0.5, 1)}}, "amount below"),
    ],
)
def test_texts_and_wishes_of_another_type_are_refused(crowd, change, message):
    world = TileWorld.from_scenario(crowd)
    with pytest.raises(BadIntentsError, match=message):
        world.step(replace(world.compile({0: Wait()}), **change))


@pytest.mark.parametrize(
    ("intents", "message"), [({0: "Wait"}, "a str is no intent"), ({"a": Wait()}, "whole numbers")]
)
def test_what_is_no_intent_is_refused(crowd, intents, message):
    with pytest.raises(BadIntentsError, match=message):
        TileWorld.from_scenario(crowd).step(intents)
