"""What viewers see, and what their filters leave of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import ManualClock
from tickmind.protocol import Direction, Drop, Effect, Interact, Move, Pickup, RuleEvent, Say, Wait
from tickmind.server.authority import Authority
from tickmind.server.delivery.viewing import Viewing
from tickmind.server.testing import meadow
from tickmind.wire import Region, ViewerEventType, ViewFilter, codec, columns
from tickmind.wire.v1 import viewer_pb2
from tickmind.world import TileWorld

SCENARIO = meadow(30, radius=4)
NAMES = [actor.entity_id for actor in SCENARIO.actors]


def stepped(intents):
    """A world after one tick, what viewers are told of it, and a reader of that."""
    world = TileWorld.from_scenario(SCENARIO)
    viewing = Viewing(world.info, world.view())
    record = world.step(intents)
    viewing.publish(record)
    bounds = Authority(world, clock=ManualClock()).bounds

    def read(view):
        message = codec.parse(viewer_pb2.StreamViewerEventsResponse, viewing.encoded(view))
        return columns.decode_viewer_event(message.event, bounds)

    return world, record, read


def newest(viewing):
    """The event that viewers get, before any filter."""
    return viewing._event


def walk():
    return {row: Move(Direction(row % 8)) if row % 3 else Say(f"row {row}") for row in range(len(NAMES))}


def test_an_open_filter_shows_all_that_changed():
    _world, record, read = stepped(walk())
    event = read(ViewFilter())
    first = TileWorld.from_scenario(SCENARIO).view().actors
    changed = [
        row
        for row in range(len(NAMES))
        if any(
            getattr(first, name)[row] != getattr(record.actor_state, name)[row]
            for name in ("x", "y", "status_bits", "facing")
        )
    ]
    assert event.actor.tolist() == changed
    assert event.state.x.tolist() == record.actor_state.x[changed].tolist()
    assert event.utterances == record.utterances
    assert len(event.results) == len(record.results)
    assert (event.tick_id, event.sim_time_ms) == (1, 1000)


regions = st.tuples(*[st.integers(0, 17)] * 4).map(
    lambda at: Region(min(at[0], at[2]), min(at[1], at[3]), max(at[0], at[2]), max(at[1], at[3]))
)
views = st.builds(
    ViewFilter,
    st.lists(st.sampled_from([*NAMES, "nobody"]), max_size=5, unique=True).map(tuple),
    st.lists(regions, max_size=2).map(tuple),
)


@settings(max_examples=short_or_long(20, 40), deadline=None)
@given(views)
def test_a_filter_leaves_what_its_actors_do_in_its_regions(view):
    _world, record, read = stepped(walk())
    event, whole = read(view), read(ViewFilter())
    before, after = TileWorld.from_scenario(SCENARIO).view().actors, record.actor_state

    def inside(x, y):
        return not view.regions or any(at.min_x <= x <= at.max_x and at.min_y <= y <= at.max_y for at in view.regions)

    shown = [
        (not view.actor_ids or NAMES[row] in view.actor_ids)
        and (inside(before.x[row], before.y[row]) or inside(after.x[row], after.y[row]))
        for row in range(len(NAMES))
    ]
    assert event.actor.tolist() == [row for row in whole.actor.tolist() if shown[row]]
    assert event.results.actor.tolist() == [row for row in whole.results.actor.tolist() if shown[row]]
    assert [said.actor_id for said in event.utterances] == [
        said.actor_id for said in whole.utterances if shown[NAMES.index(said.actor_id)]
    ]


@settings(max_examples=30, deadline=None)
@given(views)
def test_a_snapshot_shows_who_and_what_is_in_the_regions(view):
    world, record, _ = stepped(walk())
    viewing = Viewing(world.info, world.view())
    found = viewing.snapshot(world.view(), view)

    def inside(x, y):
        return not view.regions or any(at.min_x <= x <= at.max_x and at.min_y <= y <= at.max_y for at in view.regions)

    state = record.actor_state
    assert found.actor.tolist() == [
        row
        for row in range(len(NAMES))
        if inside(state.x[row], state.y[row]) and (not view.actor_ids or NAMES[row] in view.actor_ids)
    ]
    assert found.objects.row.tolist() == [
        row for row, thing in enumerate(world.info.objects) if inside(thing.x, thing.y)
    ]
    columns.encode_snapshot(found)


def test_changes_of_objects_and_ground_go_by_place():
    world = TileWorld.from_scenario(SCENARIO)
    view = world.view()
    bush = next(thing for thing in world.info.objects if thing.kind == "bush")
    row = 0
    state = world._state
    state.x[row], state.y[row] = bush.x, bush.y
    viewing = Viewing(world.info, view)
    first = world.step({row: Pickup("berries")})
    viewing.publish(first)
    here = ViewFilter(regions=(Region(bush.x, bush.y, bush.x, bush.y),))
    far = ViewFilter(regions=(Region(0, 0, 0, 0),)) if (bush.x, bush.y) != (0, 0) else None
    assert [delta.field for delta in viewing.narrow(newest(viewing), here).object_deltas] == ["stock"]
    if far:
        assert viewing.narrow(newest(viewing), far).object_deltas == ()
    second = world.step({row: Drop("berries")})
    viewing.publish(second)
    [delta] = viewing.narrow(newest(viewing), here).object_deltas
    assert (delta.object_id, delta.field, delta.new_value) == (f"ground:{bush.x},{bush.y}", "berries", 1)
    found = viewing.snapshot(world.view(), here)
    assert (found.ground.amount.tolist(), found.objects.stock.tolist()) == ([1], [2])


def test_viewers_with_the_same_filter_share_one_encoding():
    world = TileWorld.from_scenario(SCENARIO)
    viewing = Viewing(world.info, world.view())
    viewing.publish(world.step({0: Wait(), 1: Interact("nothing:1")}))
    assert viewing.encoded(ViewFilter()) is viewing.encoded(ViewFilter())


@pytest.mark.parametrize("rows", [0, 5])
def test_details_stay_with_their_results(rows):
    _world, record, read = stepped({row: Interact("door:1", "open") for row in range(rows)})
    event = read(ViewFilter(actor_ids=tuple(NAMES[2:4])))
    assert event.results.actor.tolist() == [row for row in (2, 3) if row < rows]
    kept = np.isin(record.results.actor, [2, 3])
    targets = [record.results.target_ids.get(place, "") for place in np.flatnonzero(kept).tolist()]
    assert [event.results.target_ids.get(place, "") for place in range(len(event.results))] == targets


REACHED = RuleEvent("both_out", ("entity:1", "entity:2"), 10, ends=True)
FESTIVAL = RuleEvent("festival", ("entity:2",), -1, own=True, text="too late", effects=(Effect("inventory.coin", 2),))
OVER = RuleEvent("nightfall")


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        (ViewFilter(), (REACHED, FESTIVAL, OVER)),
        (ViewFilter(types=(ViewerEventType.RULE,)), (REACHED, FESTIVAL, OVER)),
        (ViewFilter(types=(ViewerEventType.STATE,)), ()),
        (ViewFilter(actor_ids=("entity:1",)), (replace(REACHED, actor_ids=("entity:1",)), OVER)),
    ],
    ids=["all", "rules", "others", "one actor"],
)
def test_goals_and_rules_are_shown_by_type_and_actor(view, shown):
    world = TileWorld.from_scenario(SCENARIO)
    viewing = Viewing(world.info, world.view())
    viewing.publish(replace(world.step({}), rule_events=(REACHED, FESTIVAL, OVER)))
    message = codec.parse(viewer_pb2.StreamViewerEventsResponse, viewing.encoded(view))
    bounds = Authority(world, clock=ManualClock()).bounds
    assert columns.decode_viewer_event(message.event, bounds).rule_events == shown


def test_a_goal_of_a_crowd_names_as_many_as_a_message_may_hold():
    world = TileWorld.from_scenario(SCENARIO)
    viewing = Viewing(world.info, world.view())
    crowd = replace(REACHED, actor_ids=("entity:1",) * 2000)
    viewing.publish(replace(world.step({}), rule_events=(crowd,) * 2000))
    event = newest(viewing)
    assert (len(event.rule_events), len(event.rule_events[0].actor_ids)) == (1000, 1000)
