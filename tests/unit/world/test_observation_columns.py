"""Columns say the same as observations one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.protocol import (
    ACTION_TYPES,
    ENTERED,
    MOVED,
    REASONS,
    Acted,
    Entered,
    Heard,
    Left,
    Moved,
    Say,
)
from tickmind.world import TileWorld

MOVES = (Entered, Left, Moved)


def part(columns, name, place):
    """The list of one observer."""
    offset = getattr(columns, f"{name.split('_')[0]}_offset")
    return getattr(columns, name)[offset[place] : offset[place + 1]].tolist()


def check(world, columns, place, seen):
    """Compare one observer's part of columns with its observation."""
    info = world.info
    names = [actor.entity_id for actor in info.actors]
    me = seen.me
    assert (columns.tick_id, columns.deadline_ms) == (seen.tick_id, seen.deadline_ms)
    assert names[columns.actor[place]] == me.entity_id
    scalars = [columns.x, columns.y, columns.status_bits, columns.facing, columns.energy, columns.hunger]
    assert [int(column[place]) for column in scalars] == [me.x, me.y, me.status, me.facing, me.energy, me.hunger]
    assert {info.item_kinds[kind]: int(number) for kind, number in enumerate(columns.inventory[place]) if number} == {
        stack.kind: stack.quantity for stack in me.inventory
    }
    if seen.result is not None:
        assert ACTION_TYPES[columns.result_action[place]] is seen.result.action_type
        assert REASONS[columns.result_reason[place]] is seen.result.reason
    raw = columns.visible[place].astype("<u8").tobytes()
    assert raw[: len(seen.visible_tiles.visible)] == seen.visible_tiles.visible

    ids = [names[row] for row in part(columns, "entity", place)]
    assert ids == [entity.entity_id for entity in seen.visible_entities]
    for name, wanted in {
        "entity_dx": [entity.x - me.x for entity in seen.visible_entities],
        "entity_dy": [entity.y - me.y for entity in seen.visible_entities],
        "entity_status": [int(entity.status) for entity in seen.visible_entities],
        "entity_facing": [int(entity.facing) for entity in seen.visible_entities],
    }.items():
        assert part(columns, name, place) == wanted, name
    flags = dict(zip(ids, part(columns, "entity_flags", place), strict=True))
    told = {kind: [event.entity_id for event in seen.events if isinstance(event, kind)] for kind in MOVES}
    assert [name for name in ids if flags[name] & ENTERED] == told[Entered]
    assert [name for name in ids if flags[name] & MOVED] == told[Moved]
    assert [names[row] for row in part(columns, "left", place)] == told[Left]
    codes = zip(ids, part(columns, "entity_action", place), part(columns, "entity_reason", place), strict=True)
    assert [(name, ACTION_TYPES[action], REASONS[reason]) for name, action, reason in codes if action] == [
        (event.result.actor_id, event.result.action_type, event.result.reason)
        for event in seen.events
        if isinstance(event, Acted)
    ]

    objects = [found for found in seen.visible_objects if found.kind != "ground"]
    rows = part(columns, "object", place)
    assert [info.objects[row].object_id for row in rows] == [found.object_id for found in objects]
    kinds = {kind.name: kind for kind in info.kinds}
    states = zip(rows, part(columns, "object_state", place), strict=True)
    assert [kinds[info.objects[row].kind].states[state] for row, state in states] == [found.state for found in objects]
    assert part(columns, "object_work", place) == [found.work_remaining for found in objects]
    assert part(columns, "object_stock", place) == [sum(s.quantity for s in found.items) for found in objects]
    ground = ("ground_dx", "ground_dy", "ground_kind", "ground_amount")
    lying = zip(*(part(columns, name, place) for name in ground), strict=True)
    assert sorted((me.x + dx, me.y + dy, info.item_kinds[kind], amount) for dx, dy, kind, amount in lying) == sorted(
        (found.x, found.y, stack.kind, stack.quantity)
        for found in seen.visible_objects
        if found.kind == "ground"
        for stack in found.items
    )
    heard = [columns.utterances[said] for said in part(columns, "heard", place)]
    assert [Heard(said.actor_id, said.channel, said.text, said.x, said.y) for said in heard] == [
        event for event in seen.events if isinstance(event, Heard)
    ]


@pytest.mark.slow
@settings(max_examples=short_or_long(20, 40), deadline=None)
@given(st.data())
def test_columns_say_the_same_as_observations(crowd, any_ticks, data):
    world = TileWorld.from_scenario(crowd)
    for intents, controlled in any_ticks(data):
        world.step(intents, controlled)
        rows = np.array(data.draw(st.lists(st.integers(0, 7), unique=True)), dtype=np.int32)
        columns = world.observe_columns(rows)
        assert len(columns) == len(rows)
        for place, seen in enumerate(world.observe(rows.tolist())):
            check(world, columns, place, seen)


def test_without_rows_everybody_is_observed(crowd):
    world = TileWorld.from_scenario(crowd)
    columns = world.observe_columns()
    assert columns.actor.tolist() == list(range(8))
    for place, seen in enumerate(world.observe(range(8))):
        check(world, columns, place, seen)


def test_hearing_is_the_same_in_columns(play):
    four = play("1#2...3.4", rules="{hearing_radius: 4}")
    four.step({2: Say("hello"), 4: Say("hi")})
    columns = four.world.observe_columns()
    for place, seen in enumerate(four.world.observe(range(4))):
        check(four.world, columns, place, seen)
    assert [part(columns, "heard", place) for place in range(4)] == [[0], [], [0, 1], []]
