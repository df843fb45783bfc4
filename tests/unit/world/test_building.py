"""Objects that are built and removed in a run."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.agent.control.columns import ColumnReader
from tickmind.agent.knowledge import Surroundings
from tickmind.protocol import (
    ActionInfo,
    Build,
    Direction,
    Drop,
    Effect,
    Interact,
    Move,
    ObjectDelta,
    Pickup,
    Put,
    Reason,
    TickRecord,
    Wait,
)
from tickmind.record import EventKind, LogOptions, RunStore, SyncPolicy, TileArea
from tickmind.record.tables.inventories import InventoryLedger
from tickmind.server.delivery.viewing import Viewing
from tickmind.viewer.frames import unpack
from tickmind.viewer.sources.frame_builder import FrameBuilder, scene_at_start, scene_of_snapshot
from tickmind.wire import Region, ViewFilter
from tickmind.world import OwnRuleError, ScenarioError, TileWorld, parse_scenario
from tickmind.world.state.maps import Maps

E, W, N, S = Direction.E, Direction.W, Direction.N, Direction.S
YARD = """\
world: yard
seed: 3
rules: {night_sight_radius: 1, inventory_limit: 40}
calendar: {day_ticks: 20, begins: "22:00", night: ["21:00", "06:00"]}
floors: {grass: {}, water: {walkable: false}}
items: {berry: {}, hammer: {}, plank: {}}
kinds:
  wall:
    walkable: false
    opaque: true
    build: {most: 2, needs: {hammer: 1}, consumes: {plank: 2}}
    actions: {tear_down: {work: 2, removes: true, yields: {plank: 1}}}
  mat: {build: {most: 3, consumes: {plank: 1}}, actions: {roll: {removes: true, yields: {plank: 1}}}}
  chest: {walkable: false, holds: 30, build: {most: 1, consumes: {plank: 3}}, actions: {smash: {removes: true}}}
  lamp: {light: 3, build: {most: 1, wears: {hammer: 2}}, actions: {smash: {removes: true}}}
  bush:
    stock: {item: berry, most: 3, ticks: 2}
    build: {most: 1, consumes: {berry: 1}}
    actions: {dig: {removes: true}}
  gate:
    build: {most: 1, consumes: {plank: 1}}
    states:
      frame: {actions: {finish: {to: done, work: 2, consumes: {plank: 2}}}}
      done: {walkable: false, change: {to: frame, ticks: 3}, actions: {smash: {removes: true}}}
  shed:
    size: [2, 3]
    walkable: false
    opaque: true
    build: {most: 2, consumes: {plank: 2}}
    actions: {smash: {removes: true}}
  rug: {size: [3, 1], build: {most: 1, consumes: {plank: 1}}, actions: {roll: {removes: true}}}
  rock: {walkable: false, opaque: true}
objects:
  - {kind: wall, at: [4, 0]}
  - {kind: rock, at: [5, 3]}
  - {kind: bush, at: [0, 3]}
map: |
  .......
  .......
  ..~....
  .......
legend: {".": grass, "~": water}
actors:
  - {id: ada, at: [1, 1], inventory: {plank: 9, hammer: 1, berry: 2}}
  - {id: bo, at: [3, 1], inventory: {plank: 9, hammer: 1}}
  - {id: cy, at: [5, 1]}
"""
ADA, BO, CY = range(3)


def world_of(text=YARD, rules=None):
    return TileWorld.from_scenario(parse_scenario(text), rules)


def result(record: TickRecord, actor_id="ada"):
    return next(one for one in record.action_results() if one.actor_id == actor_id)


def places(world):
    """Object id -> its tile, of those that are there."""
    maps = world._maps
    return {
        thing.object_id: (int(x), int(y))
        for thing, x, y in zip(world.info.objects, maps.object_x, maps.object_y, strict=True)
        if x >= 0
    }


def test_what_is_built_takes_items_stands_in_the_way_and_is_seen():
    world = world_of()
    record = world.step({ADA: Build("wall", E)})
    assert result(record).ok
    assert (result(record).target_id, result(record).effects) == ("wall:2", (Effect("inventory.plank", -2),))
    assert record.object_deltas == (ObjectDelta("wall:2", "tile", "2,1"),)
    (seen,) = world.observe([ADA])
    (wall,) = [one for one in seen.visible_objects if one.object_id == "wall:2"]
    assert (wall.kind, wall.x, wall.y, wall.verbs) == ("wall", 2, 1, ("tear_down",))
    assert not seen.visible_tiles.can_walk(2, 1)
    assert result(world.step({ADA: Move(E)})).reason is Reason.NOT_WALKABLE
    assert bool(world._maps.opaque[1, 2])


def test_what_is_torn_down_is_gone_and_its_row_is_built_again():
    world = world_of()
    world.step({ADA: Build("wall", E)})
    world.step({ADA: Interact("wall:2", "tear_down")})
    record = world.step({ADA: Interact("wall:2", "tear_down"), BO: Interact("wall:2")})
    assert result(record).effects == (Effect("work_remaining", 0), Effect("inventory.plank", 1))
    assert result(record, "bo").reason is Reason.UNKNOWN_TARGET  # it was there when the tick began
    assert record.object_deltas == (ObjectDelta("wall:2", "tile", ""),)
    assert result(world.step({ADA: Move(E)})).ok
    record = world.step({BO: Build("wall", S)})
    assert result(record, "bo").target_id == "wall:2"
    assert set(record.object_deltas) == {
        ObjectDelta("wall:2", "tile", "3,2"),
        ObjectDelta("wall:2", "work_remaining", 2),
    }
    assert places(world) == {"bush:1": (0, 3), "rock:1": (5, 3), "wall:1": (4, 0), "wall:2": (3, 2)}


@pytest.mark.parametrize(
    ("at", "direction", "kind", "reason"),
    [
        ("[0, 0]", N, "wall", Reason.OUT_OF_BOUNDS),
        ("[1, 2]", E, "wall", Reason.NOT_WALKABLE),
        ("[3, 0]", E, "mat", Reason.TARGET_OCCUPIED),  # there is a wall
        ("[2, 1]", E, "wall", Reason.TARGET_OCCUPIED),  # bo stands there
        ("[2, 1]", E, "mat", Reason.NONE),  # and can stand on a mat
        ("[1, 1]", E, "rock", Reason.UNKNOWN_KIND),
        ("[1, 1]", E, "castle", Reason.UNKNOWN_KIND),
        ("[1, 1]", E, "wall", Reason.NONE),
    ],
)
def test_where_it_can_be_built(at, direction, kind, reason):
    world = world_of(YARD.replace("at: [1, 1]", f"at: {at}"))
    assert result(world.step({ADA: Build(kind, direction)})).reason is reason


def test_nothing_is_built_over_items_unless_one_can_step_there():
    world = world_of()
    world.step({ADA: Drop("plank", 1)})
    world.step({ADA: Move(W)})
    assert result(world.step({ADA: Build("wall", E)})).reason is Reason.TARGET_OCCUPIED
    assert result(world.step({ADA: Build("mat", E)})).ok


def test_who_lacks_something_and_where_none_are_left():
    world = world_of()
    missing = result(world.step({CY: Build("wall", E)}), "cy")
    assert (missing.reason, missing.effects) == (
        Reason.MISSING_ITEM,
        (Effect("missing.hammer", 1), Effect("missing.plank", 2)),
    )
    world.step({ADA: Build("wall", N), BO: Build("wall", N)})
    refused = result(world.step({ADA: Build("wall", S)}))
    assert (refused.reason, refused.effects) == (Reason.NONE_LEFT, ())


def test_of_two_on_one_tile_the_first_wins():
    world = world_of()
    record = world.step({ADA: Build("wall", E), BO: Build("mat", W)})
    assert (result(record).ok, result(record, "bo").reason) == (True, Reason.TARGET_OCCUPIED)
    assert world._state.inventory[:2, 2].tolist() == [7, 9]


def test_what_a_chest_held_stays_and_a_bush_loses_its_stock():
    world = world_of()
    world.step({ADA: Build("chest", E)})
    assert result(world.step({ADA: Put("chest:1", "plank", 4)})).ok
    record = world.step({ADA: Interact("chest:1", "smash")})
    assert record.object_deltas == (ObjectDelta("chest:1", "tile", ""),)
    (heap,) = [one for one in world.observe([ADA])[0].visible_objects if one.kind == "ground"]
    assert (heap.x, heap.y, heap.items[0].quantity) == (2, 1, 4)
    assert result(world.step({ADA: Put("chest:1", "plank", 1)})).reason is Reason.UNKNOWN_TARGET
    world = world_of(YARD.replace("at: [1, 1]", "at: [0, 2]"))
    record = world.step({ADA: Interact("bush:1", "dig")})
    assert record.object_deltas == (ObjectDelta("bush:1", "tile", ""), ObjectDelta("bush:1", "stock", 0))
    world.step({ADA: Build("bush", N)})  # the row is free again; its berries have to grow
    assert int(world._state.object_stock[0]) == 0
    for _ in range(9):
        world.step({})
    assert int(world._state.object_stock[0]) == 3


def test_a_lamp_shines_where_it_is_built_only():
    world = world_of()
    assert not world._now.lit.any()
    world.step({ADA: Build("lamp", W)})
    lit = world._now.lit
    assert lit[1, 0]
    world.step({ADA: Interact("lamp:1", "smash")})
    assert not world._now.lit.any()


def test_a_built_state_changes_by_itself():
    world = world_of()
    world.step({ADA: Build("gate", E)})
    world.step({ADA: Interact("gate:1", "finish")})
    world.step({ADA: Interact("gate:1", "finish")})
    assert world.observe([ADA])[0].visible_tiles.can_walk(2, 1) is False
    for _ in range(3):
        record = world.step({})
    assert ObjectDelta("gate:1", "state", "frame") in record.object_deltas
    world.step({ADA: Interact("gate:1", "finish")})
    world.step({ADA: Interact("gate:1", "finish")})
    record = world.step({ADA: Interact("gate:1", "smash")})
    assert places(world).get("gate:1") is None
    for _ in range(4):  # what is gone does not change
        assert world.step({}).object_deltas == ()
    assert ObjectDelta("gate:1", "state", "frame") in world.step({BO: Build("gate", E)}).object_deltas


# Against slow and obvious accounts of it

KINDS = ("wall", "mat", "chest", "lamp", "bush", "gate", "shed", "shed", "rug")
IDS = (
    *("wall:1", "wall:2", "wall:3", "mat:1", "mat:2", "chest:1", "lamp:1", "bush:1", "bush:2", "gate:1"),
    *("shed:1", "shed:1", "shed:2", "shed:2", "rug:1"),
)
RICH = YARD.replace("inventory: {plank: 9, hammer: 1}", "inventory: {plank: 25, hammer: 9}").replace(
    "{id: cy, at: [5, 1]}", "{id: cy, at: [5, 1], inventory: {plank: 20, hammer: 9, berry: 3}}"
)
BUILDS = st.builds(Build, st.sampled_from(KINDS), st.sampled_from(Direction))
OTHERS = st.one_of(
    st.sampled_from(Direction).map(Move),
    st.builds(Interact, st.sampled_from(IDS)),
    st.builds(Interact, st.sampled_from(IDS)),
    st.builds(Put, st.just("chest:1"), st.just("plank")),
    st.sampled_from([Drop("plank"), Pickup("berry"), Pickup("plank", 3), Wait()]),
)


def tiles_of(size, at):
    return {(at[0] + dx, at[1] + dy) for dx in range(size[0]) for dy in range(size[1])}


def covered(world):
    """The tiles of all objects, as often as they are covered."""
    sizes = {thing.object_id: kind.size for thing in world.info.objects for kind in world.info.kinds
             if kind.name == thing.kind}  # fmt: skip
    return [tile for name, at in places(world).items() for tile in tiles_of(sizes[name], at)]


def slow_build(world, intents):
    """Return by actor row why building fails, and where objects and what inventories are afterwards."""
    scenario, state = world._tables.scenario, world._state
    kinds = {kind.name: kind for kind in scenario.kinds}
    there, names = places(world), world.info.item_kinds
    bags = [dict(zip(names, row, strict=True)) for row in state.inventory.tolist()]
    actors = set(zip(state.x.tolist(), state.y.tolist(), strict=True))
    heaps = {divmod(key // len(names), world.info.width)[::-1] for key in state.ground_key.tolist()}
    reasons, full = {}, set(covered(world))
    for row, intent in sorted(intents.items()):
        kind, bag = kinds[intent.kind], bags[row]
        x, y = int(state.x[row]) + intent.direction.dx, int(state.y[row]) + intent.direction.dy
        if intent.direction.dx < 0:
            x -= kind.size[0] - 1  # it extends away from the actor
        if intent.direction.dy < 0:
            y -= kind.size[1] - 1
        tiles = tiles_of(kind.size, (x, y))
        free = [one.object_id for one in scenario.objects if one.kind == kind.name and one.object_id not in there]
        solid = not kind.states[0].walkable
        if any(bag[item] < amount for item, amount in kind.build.takes):
            reasons[row] = Reason.MISSING_ITEM
        elif not all(0 <= one < 7 and 0 <= other < 4 for one, other in tiles):
            reasons[row] = Reason.OUT_OF_BOUNDS
        elif (2, 2) in tiles:
            reasons[row] = Reason.NOT_WALKABLE
        elif tiles & full or (solid and tiles & (actors | heaps)):
            reasons[row] = Reason.TARGET_OCCUPIED
        elif not free:
            reasons[row] = Reason.NONE_LEFT
        else:
            reasons[row] = Reason.NONE
            there[free[0]] = x, y
            full |= tiles
            for item, amount in kind.build.consumes:
                bag[item] -= amount
    return reasons, there, bags


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.dictionaries(st.integers(0, 2), BUILDS, min_size=1),
            st.dictionaries(st.integers(0, 2), OTHERS, min_size=1),
        ),
        min_size=1,
        max_size=10,
    )
)
def test_building_is_what_a_slow_account_says(ticks):
    world = world_of(RICH.replace("wears: {hammer: 2}", "needs: {hammer: 2}"))
    for intents in ticks:
        builds = all(isinstance(intent, Build) for intent in intents.values())
        reasons, there, bags = slow_build(world, intents) if builds else ({}, {}, [])
        record = world.step(intents)
        if builds:
            assert {row: result(record, world.info.actors[row].entity_id).reason for row in reasons} == reasons
            assert places(world) == there
            assert world._state.inventory.tolist() == [list(bag.values()) for bag in bags]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 2), st.one_of(BUILDS, OTHERS)), min_size=1, max_size=12))
def test_everything_that_follows_a_world_agrees_with_it(ticks):
    world, again = world_of(RICH), world_of(RICH)
    info = world.info
    ledger, reader = InventoryLedger(info), ColumnReader(info)
    held: dict[tuple[str, str], int] = {}
    around = Surroundings(passing=(kind.name for kind in info.kinds if kind.comes_and_goes))
    replayed = {thing.object_id: (thing.x, thing.y) for thing in info.objects}
    start = world.view()
    frames = FrameBuilder(info, scene_at_start(info, 0, 0, start.actors))
    viewing = Viewing(info, start)
    rows = np.arange(3, dtype=np.int32)
    for intents in ticks:
        record = world.step(intents)
        held |= {(one.holder_id, one.item): one.quantity for one in ledger.add(record)}
        frames.record(record)
        # What rules use follows from the state, also after a restart.
        fresh = Maps(world._tables, world._state)
        for name in ("walkable", "opaque", "occupancy", "object_at"):
            assert (getattr(world._maps, name) == getattr(fresh, name)).all(), name
        again.restore(world.snapshot())
        assert again.state_hash() == world.state_hash()
        # No two are on one tile, and no actor is in a wall.
        tiles = covered(world)
        assert len(set(tiles)) == len(tiles)
        assert world._maps.walkable[world._state.y, world._state.x].all()
        # Readers of the record know where everything is, and what is held.
        for delta in record.object_deltas:
            if delta.tile is not None:
                replayed[delta.object_id] = delta.tile
        assert {name: tile for name, tile in replayed.items() if tile[0] >= 0} == places(world)
        for row, actor in enumerate(info.actors):
            carried = [held.get((actor.entity_id, item), 0) for item in info.item_kinds]
            assert carried == world._state.inventory[row].tolist()
        # Frames from the record are those of a live snapshot.
        live = scene_of_snapshot(viewing.snapshot(world.view(), ViewFilter()))
        for scene in (frames.scene, live):
            assert scene.object_x is not None
            assert scene.object_y is not None
            assert scene.object_x.tolist() == world._maps.object_x.tolist()
            assert scene.object_y.tolist() == world._maps.object_y.tolist()
        assert FrameBuilder(info, live).keyframe() == frames.keyframe()
        # A host's memory of columns is what each of its actors sees.
        seen = world.observe(rows, floors=False)
        assert [one.visible_objects for one in reader.read(world.observe_columns(rows))] == [
            one.visible_objects for one in seen
        ]
        assert again.observe(rows, floors=False) == seen
        for one, other in zip(reader.read(world.observe_columns(rows)), seen, strict=True):
            assert one.visible_tiles == other.visible_tiles
        # What a character remembers of tiles in sight is what is there.
        around.take_in(seen[0])
        visible = {thing.object_id: thing for thing in seen[0].visible_objects}
        sees = seen[0].visible_tiles.sees
        for name, thing in around.things.items():
            assert visible.get(name) == thing.seen if any(sees(*tile) for tile in thing.seen.tiles) else True
        for x, y in seen[0].visible_tiles.tiles():
            obstacle = around.obstacle_at(x, y)
            assert obstacle is None or (x, y) in visible[obstacle.seen.object_id].tiles
    for intents in ticks:  # a world that was resumed goes on in the same way
        assert again.step(intents).object_deltas == world.step(intents).object_deltas
        assert again.state_hash() == world.state_hash()


# What else knows of it


def test_a_run_keeps_what_was_built(tmp_path):
    world = world_of()
    store = RunStore(tmp_path)
    script = [{ADA: Build("wall", E)}, {}, {ADA: Interact("wall:2")}, {ADA: Interact("wall:2")}, {BO: Build("wall", S)}]
    with store.create(world.info, "yard", options=LogOptions(sync=SyncPolicy.NEVER)) as log:
        for intents in script:
            log.publish(world.step(intents))
    with store.open("yard") as run:
        assert run.info == world.info
        tiles = [(tick, one.new_value) for tick, deltas in run.object_deltas() for one in deltas if one.field == "tile"]
        assert tiles == [(1, "2,1"), (4, ""), (5, "3,2")]
        here = TileArea(2, 1, 2, 1)
        found = run.events(2, kinds=[EventKind.OBJECT], region=here)  # it was built before
        fields = [(one.tick_id, one.what.field) for one in found if isinstance(one.what, ObjectDelta)]
        assert fields == [(3, "work_remaining"), (4, "tile")]
    import pyarrow.parquet as pq

    rows = pq.read_table(tmp_path / "yard" / "action_results.parquet").to_pylist()
    assert [row["item"] for row in rows if row["kind"] == "Build"] == ["wall", "wall"]


def test_a_frame_of_a_tick_says_where_it_was_built():
    world = world_of()
    frames = FrameBuilder(world.info, scene_at_start(world.info, 0, 0, world.view().actors))
    row = next(row for row, thing in enumerate(world.info.objects) if thing.object_id == "wall:2")

    def changes(intents):
        (frame,) = unpack(frames.record(world.step(intents)))
        return bytes(next(data for tag, data in frame.sections.items() if tag.name == "OBJECTS"))

    assert changes({ADA: Build("wall", E)}) == b'[[%d,"tile",65538]]' % row
    changes({ADA: Interact("wall:2")})
    assert changes({ADA: Interact("wall:2")}) == b'[[%d,"tile",-1]]' % row


def test_goals_wait_until_an_object_is_there():
    world = world_of(YARD + "goals: {shelter: {object: 'wall:2', state: plain, score: 3}}\n")
    assert world.step({}).rule_events == ()
    assert [event.name for event in world.step({ADA: Build("wall", E)}).rule_events] == ["shelter"]


def test_rules_of_the_users_own_build_and_remove():
    seen = []

    def rule(tick):
        if tick.tick_id == 1:
            seen.append(tick.build_object("wall", 2, 1))
            seen.append(tick.build_object("wall", 2, 1))
            seen.append((tick.object_position("wall:2"), tick.object_state("wall:2")))
            seen.append(tick.set_object_state("wall:3", "plain"))
        if tick.tick_id == 2:
            seen.append(tick.remove_object("wall:2"))
            seen.append(tick.remove_object("wall:2"))
            seen.append((tick.object_position("wall:2"), tick.object_state("wall:2")))
        if tick.tick_id == 3:
            for wrong in (lambda: tick.remove_object("rock:1"), lambda: tick.build_object("rock", 2, 1)):
                with pytest.raises(OwnRuleError):
                    wrong()

    world = world_of(YARD + "own_rules: [yard]\n", {"yard": rule})
    assert world.step({}).object_deltas == (ObjectDelta("wall:2", "tile", "2,1"),)
    assert result(world.step({ADA: Move(E)})).reason is Reason.NOT_WALKABLE
    assert world.step({ADA: Move(E)}).rule_events == ()
    assert seen == ["wall:2", "", ((2, 1), "plain"), False, True, False, ((-1, -1), "")]


def test_worlds_say_what_can_be_built():
    kinds = {kind.name: kind for kind in world_of().info.kinds}
    assert kinds["wall"].build == ActionInfo("build", "plain", needs=(("hammer", 1),), consumes=(("plank", 2),))
    assert (kinds["wall"].most_built, kinds["wall"].comes_and_goes) == (2, True)
    assert kinds["wall"].actions[0][0].removes
    assert (kinds["rock"].build, kinds["rock"].comes_and_goes) == (None, False)


def test_a_world_without_any_of_it_has_no_columns_for_it():
    world = world_of("world: w\nfloors: {g: {}}\nkinds: {rock: {}}\nobjects: [{kind: rock, at: [0, 0]}]\n"
                     "map: {width: 2, height: 2, floor: g}\n")  # fmt: skip
    assert not {"object_x", "object_y"} & {name for name, _ in world._state.columns()}
    assert world._maps.object_x is world._tables.object_x


def test_building_is_part_of_a_scenarios_identity():
    changes = [("", ""), ("most: 2", "most: 1"), ("consumes: {plank: 2}", "consumes: {plank: 1}")]
    changes += [("work: 2, removes: true", "work: 2"), (", wears: {hammer: 2}", "")]
    texts = [YARD.replace(old, new, 1) if old else YARD for old, new in changes]
    assert len({parse_scenario(text).digest for text in texts}) == 5
    limited = YARD.replace("{most: 2, ", '{most: 2, hours: ["08:00", "18:00"], ')
    assert parse_scenario(limited).digest != parse_scenario(YARD).digest


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("{most: 2, needs", "{needs", "the key 'most' is missing"),
        ("most: 2", "most: 0", "expected a whole number from 1"),
        ("most: 2", "most: 1000000", "more than 1000000 objects, with those that can be built"),
        ("most: 2, needs", "most: 2, work: 2, needs", "work"),
        ("most: 2, needs", "most: 2, weather: [hail], needs", "hail"),
        ("most: 2, needs", "most: 2, seasons: [monsoon], needs", "monsoon"),
        ("work: 2, removes: true", "work: 2, removes: true, to: plain", "leave out 'to' or 'removes'"),
        ("consumes: {plank: 2}", "consumes: {plank: 400}", "'build' takes 401 items"),
    ],
)
def test_a_mistake_is_named(old, new, says):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(YARD.replace(old, new, 1))
    assert says in str(caught.value)


def test_the_columns_of_many_are_sliced_with_where_objects_are():
    from tickmind.server.delivery.slices import slice_columns

    world = world_of()
    world.step({ADA: Build("wall", E)})
    columns = world.observe_columns()
    assert len(columns.placed) == 2
    part = slice_columns(columns, 0, 1)
    assert {row for row, *_ in part.placed} <= set(part.object.tolist())
    assert replace(columns, placed=()).placed == ()


def test_viewers_of_a_region_see_no_work_elsewhere_after_the_world_went_on():
    before, after = world_of(), world_of()
    before.step({ADA: Build("wall", E)})
    after.restore(before.snapshot())
    viewing = Viewing(after.info, after.view())
    record = after.step({ADA: Interact("wall:2")})
    viewing.publish(record)
    assert [delta.field for delta in record.object_deltas] == ["work_remaining"]

    def deltas_in(x, y):
        return narrowed(viewing, ViewFilter(regions=(Region(x, y, x, y),))).object_deltas

    assert deltas_in(2, 1) == record.object_deltas
    assert deltas_in(0, 0) == ()


def narrowed(viewing, view):
    return viewing.narrow(viewing._event, view)


def test_an_item_named_tile_is_no_place():
    assert ObjectDelta("ground:2,1", "tile", 3).tile is None
    assert ObjectDelta("wall:2", "tile", "2,1").tile == (2, 1)
