"""Goals in data: each is reached once, in the tick in which its condition first holds."""

import numpy as np
import pytest

from tickmind.protocol import Direction, GoalInfo, Interact, Move, Pickup, RuleEvent
from tickmind.world import ScenarioError, SnapshotMismatchError, TileWorld, parse_scenario

YARD = """\
world: yard
floors: {grass: {}}
items: {bread: {}, coin: {}}
rules: {inventory_limit: 6}
kinds:
  gate: {states: {locked: {walkable: false, actions: {unlock: {to: open}}}, open: {}}}
map: {width: 12, height: 8, floor: grass}
calendar: {day_ticks: 480, begins: "06:00"}
zones:
  outside: {within: [[2, 0, 4, 7], [8, 0, 9, 7]]}
  corner: {within: [0, 0, 0, 0]}
objects:
  - {kind: gate, at: [0, 3]}
ground:
  - {item: bread, amount: 9, at: [1, 2]}
actors:
  - {id: mira, type: prisoner, tags: [npc], at: [1, 2], inventory: {bread: 1}}
  - {id: tomas, type: prisoner, tags: [npc], at: [1, 3]}
  - {id: cat, type: animal, at: [11, 7]}
"""
EAST = Move(Direction.E)


def world_with(goals):
    return TileWorld.from_scenario(parse_scenario(f"{YARD}goals:\n  {goals}\n"))


def events(world, *intents):
    """The events of each tick, by actor ids."""
    names = [{world.row_of(name): intent for name, intent in each.items()} for each in intents]
    return [world.step(each).rule_events for each in names]


def test_all_must_stand_in_the_zone_at_the_same_time():
    world = world_with("both_out: {who: {type: prisoner}, all_in: outside, score: 10, ends: true}")
    west = Move(Direction.W)
    found = events(world, {"mira": EAST}, {"mira": west, "tomas": EAST}, {"mira": EAST}, {}, {"tomas": west}, {})
    assert found == [(), (), (RuleEvent("both_out", ("mira", "tomas"), 10, ends=True),), (), (), ()]


def test_the_record_says_whether_the_run_ends():
    world = world_with("out: {who: {id: tomas}, all_in: outside, ends: true}")
    assert [world.step({world.row_of("tomas"): EAST}).ends for _ in range(2)] == [True, False]


def test_each_actor_reaches_it_for_itself_once():
    world = world_with("out: {who: {tags: [npc]}, each_in: outside, score: 2}")
    found = events(world, {"tomas": EAST}, {"tomas": EAST, "mira": EAST}, {"tomas": Move(Direction.W)})
    assert found == [(RuleEvent("out", ("tomas",), 2),), (RuleEvent("out", ("mira",), 2),), ()]


def test_carrying_counts_for_each_actor_the_first_time():
    world = world_with("bread: {who: {type: [prisoner, animal]}, carry: {bread: 3}, score: 1}")
    found = events(world, {"mira": Pickup("bread")}, {"mira": Pickup("bread")}, {"mira": Pickup("bread")})
    assert found == [(), (RuleEvent("bread", ("mira",), 1),), ()]


def test_all_items_must_be_carried():
    text = YARD.replace("inventory: {bread: 1}", "inventory: {bread: 1, coin: 1}")
    goals = "goals:\n  both: {carry: {bread: 1, coin: 1}}\n  two: {carry: {bread: 1, coin: 2}}\n"
    assert TileWorld.from_scenario(parse_scenario(text + goals)).step({}).rule_events == (RuleEvent("both", ("mira",)),)


@pytest.mark.parametrize(("who", "got"), [("", ()), ("who: {id: cat}, ", ("cat",))])
def test_an_object_in_a_state_scores_for_the_world_or_for_the_named(who, got):
    world = world_with(f'open: {{{who}object: "gate:1", state: open, score: 5}}')
    assert events(world, {}, {"tomas": Interact("gate:1")}, {}) == [(), (RuleEvent("open", got, 5),), ()]


def test_a_time_comes_once():
    world = world_with("late: {tick: 3, ends: true}")
    assert events(world, {}, {}, {}, {}) == [(), (), (RuleEvent("late", ends=True),), ()]


@pytest.mark.parametrize(
    ("when", "tick_id"),
    [('day: 1, clock: "06:01"', 1), ('day: 1, clock: "06:10"', 4), ("day: 2", 360), ('day: 2, clock: "06:00"', 480)],
)
def test_a_day_and_a_clock_are_the_first_tick_of_that_time(when, tick_id):
    scenario = parse_scenario(f"{YARD}goals: {{dawn: {{{when}}}}}\n")
    assert scenario.goals == (GoalInfo("dawn", tick_id=tick_id),)
    calendar = scenario.setting.calendar
    before, now = calendar.at(tick_id - 1), calendar.at(tick_id)
    assert (before.day, before.minute) < (now.day, now.minute)


def test_goals_of_one_tick_are_in_the_order_of_the_file():
    world = world_with("b: {tick: 1}\n  a: {tick: 1}\n  c: {who: {id: mira}, each_in: outside}")
    assert [event.name for event in events(world, {"mira": EAST})[0]] == ["b", "a", "c"]


def test_a_restored_world_remembers_what_was_reached():
    goals = "out: {each_in: outside}\n  late: {tick: 2}"
    world = world_with(goals)
    row = world.row_of("tomas")
    world.step({row: EAST})
    other = world_with(goals)
    other.restore(world.snapshot())
    assert other.state_hash() == world.state_hash()
    one, two = world.step({row: EAST}), other.step({row: EAST})
    assert one.rule_events == two.rule_events == (RuleEvent("late"),)
    assert one.state_hash == two.state_hash


def test_a_reached_goal_is_part_of_the_state():
    worlds = [world_with(f"late: {{tick: {tick_id}}}") for tick_id in (1, 2)]
    assert len({world.step({}).state_hash for world in worlds}) == 2


def test_goals_are_part_of_the_digest_and_their_absence_is_not():
    digest = parse_scenario(YARD).digest
    assert parse_scenario(f"{YARD}goals: {{}}\n").digest == digest
    one = parse_scenario(f"{YARD}goals: {{out: {{each_in: outside}}}}\n")
    moved = parse_scenario(f"{YARD}goals: {{out: {{each_in: outside}}}}\n".replace("[8, 0, 9, 7]", "[8, 0, 9, 6]"))
    assert len({digest, one.digest, moved.digest}) == 3
    with pytest.raises(SnapshotMismatchError, match="another scenario"):
        TileWorld.from_scenario(one).restore(TileWorld.from_scenario(moved).snapshot())


def test_a_world_without_goals_has_no_column_of_them():
    world = TileWorld.from_scenario(parse_scenario(YARD))
    world.restore(world.snapshot())
    assert "goal_reached" not in dict(world._state.columns())
    assert world.step({}).rule_events == ()
    assert "goal_reached" in dict(world_with("late: {tick: 2}")._state.columns())


def test_a_goal_says_its_condition_in_words():
    goals = """
  a: {who: {type: prisoner}, all_in: outside}
  b: {each_in: corner}
  c: {who: {id: [mira, cat]}, carry: {bread: 2, coin: 1}}
  d: {object: "gate:1", state: open}
  e: {tick: 9}
"""
    assert [goal.condition for goal in parse_scenario(f"{YARD}goals:{goals}").goals] == [
        "prisoner: all in outside",
        "everyone: in corner",
        "mira, cat: with 2 bread, 1 coin",
        "gate:1 is open",
        "tick 9",
    ]


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("{}", "a goal has exactly one condition of all_in, each_in, carry, object, tick, day; this one has none"),
        ("{tick: 3, all_in: outside}", "this one has all_in and tick"),
        ("{all_in: moon}", "there is no zone 'moon'; there are: corner, outside"),
        ("{carry: {cheese: 1}}", "there is no item 'cheese'"),
        ("{carry: {}}", "expected items with amounts"),
        ("{carry: {bread: 7}}", "an actor carries at most 6 items, so it is never reached"),
        ('{object: "gate:2", state: open}', "there is no object 'gate:2'"),
        ('{object: "gate:1", state: ajar}', "there is no state of gate 'ajar'; there are: locked, open"),
        ('{object: "gate:1"}', "the key 'state' is missing"),
        ("{tick: 3, state: open}", "`state` belongs to `object`"),
        ('{tick: 3, clock: "06:00"}', "`clock` belongs to `day`"),
        ("{tick: 0}", "expected a whole number from 1"),
        ('{day: 1, clock: "06:00"}', "not after the beginning of the world, which is day 1, 06:00"),
        ('{day: 2, clock: "late"}', "expected a time of the day"),
        ("{who: {type: guard}, all_in: outside}", "there is no actor of the type 'guard'; there are: animal, prisoner"),
        ("{who: {type: animal, tags: [npc]}, all_in: outside}", "no actor of this scenario is meant"),
        ("{who: {}, all_in: outside}", "expected some of tags, type and id"),
        ("{who: {tpye: guard}, all_in: outside}", "unknown key 'tpye'"),
        ("{tick: 3, scores: 4}", "unknown key 'scores'"),
        ("{tick: 3, score: many}", "expected a whole number"),
        ("{tick: 3, ends: 7}", "expected true or false"),
    ],
)
def test_a_mistake_is_named_with_its_line(goal, message):
    with pytest.raises(ScenarioError) as error:
        parse_scenario(f"{YARD}goals:\n  late: {goal}\n  fine: {{tick: 1}}\n", "yard.yaml")
    (problem,) = error.value.problems
    assert message in problem.message
    assert problem.place is not None
    assert problem.place.line == YARD.count("\n") + 2


def test_all_mistakes_are_named_at_once():
    with pytest.raises(ScenarioError) as error:
        parse_scenario(f"{YARD}goals:\n  a: {{tick: 0}}\n  b: {{}}\n")
    assert len(error.value.problems) == 2


def test_many_actors_reach_a_goal_in_one_tick():
    text = """
world: crowd
floors: {grass: {}}
map: {width: 100, height: 100, floor: grass}
zones: {half: {within: [0, 0, 49, 99]}}
actors: [{count: 5000}]
goals: {west: {each_in: half, score: 1}}
"""
    world = TileWorld.from_scenario(parse_scenario(text))
    record = world.step({})
    (event,) = record.rule_events
    west = np.flatnonzero(record.actor_state.x < 50)
    assert event.actor_ids == tuple(record.actor_ids[row] for row in west.tolist())
    assert event.points == len(west) > 1000
    assert world.step({}).rule_events == ()
