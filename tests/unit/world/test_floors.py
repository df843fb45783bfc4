"""Floors that change the needs of those who stand on them, and floors on which steps take longer."""

import numpy as np
import pytest

from tickmind.protocol import ActorStatus, Direction, FloorInfo, Move, Reason, Say, Sleep
from tickmind.record import RunStore
from tickmind.world import ScenarioError, TileWorld, parse_scenario

MARSH = """\
world: marsh
rules: {needs: {hunger_per_tick: 1, energy_per_tick: 2, rest_per_tick: 8}}
floors:
  grass: {}
  swamp: {hazards: [mud], each_tick: {energy: -5, hunger: 3}}
  spring: {each_tick: {energy: 7}}
map: |
  1~2*3
legend:
  "~": swamp
  "1": {floor: grass, actor: {id: dry, energy: 500, hunger: 100}}
  "2": {floor: swamp, actor: {id: wet, energy: 500, hunger: 100}}
  "*": spring
  "3": {floor: spring, actor: {id: well, energy: 500, hunger: 100}}
"""


DRY, WELL, WET = range(3)  # rows, in the order of ids


def needs(world):
    return {who.me.entity_id: (who.me.energy, who.me.hunger) for who in world.observe([DRY, WELL, WET])}


def test_standing_on_a_floor_changes_needs_in_each_tick():
    world = TileWorld.from_scenario(parse_scenario(MARSH))
    world.step({})
    assert needs(world) == {"dry": (498, 101), "well": (505, 101), "wet": (493, 104)}
    world.step({DRY: Move(Direction.E)})  # it is in the swamp at the end of the tick
    assert needs(world) == {"dry": (491, 105), "well": (510, 102), "wet": (486, 108)}


def test_it_goes_on_in_sleep_and_stands_still_without_a_controller():
    world = TileWorld.from_scenario(parse_scenario(MARSH))
    world.step({WET: Sleep()})
    assert needs(world)["wet"] == (503, 104)
    world.step({}, np.array([actor.entity_id != "wet" for actor in world.info.actors]))
    assert needs(world)["wet"] == (503, 104)


def test_one_who_stays_in_a_swamp_falls_asleep_and_starves():
    world = TileWorld.from_scenario(parse_scenario(MARSH.replace("energy: -5", "energy: -500")))
    for _ in range(300):
        world.step({})
    (wet,) = world.observe([WET])
    assert wet.me.status == ActorStatus.ASLEEP | ActorStatus.INCAPACITATED
    assert (wet.me.energy, wet.me.hunger) == (0, 1000)


def test_worlds_say_what_their_floors_do(tmp_path):
    info = TileWorld.from_scenario(parse_scenario(MARSH)).info
    grass, swamp, spring = info.floors
    assert swamp == FloorInfo("swamp", True, False, ("mud",), -5, 3)
    assert [floor.harmful for floor in (grass, swamp, spring)] == [False, True, False]
    store = RunStore(tmp_path)
    store.create(info, "marsh").close()
    with store.open("marsh") as run:
        assert run.info.floors == info.floors


def test_what_floors_do_is_part_of_a_scenarios_identity():
    texts = (
        MARSH,
        MARSH.replace("energy: -5", "energy: -6"),
        MARSH.replace(", each_tick: {energy: -5, hunger: 3}", ""),
    )
    assert len({parse_scenario(text).digest for text in texts}) == 3


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("rules:", "seed: 1 #", "'each_tick' changes needs, and this world has none; say `needs: true` in `rules`"),
        ("hazards: [mud]", "walkable: false", "no actor can stand on 'swamp', so 'each_tick' does nothing"),
        ("energy: -5", "energy: -1001", "expected a whole number from -1000 to 1000"),
        ("energy: -5", "enrgy: -5", "unknown key 'enrgy' (did you mean 'energy'?)"),
        ("{energy: -5, hunger: 3}", "3", "expected a mapping"),
    ],
)
def test_a_mistake_is_named(old, new, says):
    assert old in MARSH
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(MARSH.replace(old, new, 1))
    assert says in str(caught.value)


def test_mistakes_in_rules_are_not_mistakes_of_floors():
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(MARSH.replace("hunger_per_tick: 1", "hunger_per_tick: x"))
    assert "each_tick" not in str(caught.value)


ROAD = """\
world: road
floors: {path: {}, swamp: {step_ticks: 3}}
map: |
  a.~.
legend:
  ".": path
  "~": swamp
  "a": {floor: path, actor: {id: ada}}
"""


def go_east(world):
    (result,) = world.step({0: Move(Direction.E)}).action_results()
    return result.reason


def test_a_step_onto_a_slow_floor_takes_its_ticks():
    world = TileWorld.from_scenario(parse_scenario(ROAD))
    assert [go_east(world) for _ in range(6)] == [
        Reason.NONE,
        Reason.NONE,  # into the swamp
        Reason.STILL_WALKING,
        Reason.STILL_WALKING,
        Reason.NONE,
        Reason.OUT_OF_BOUNDS,
    ]


def test_everything_but_walking_is_possible_meanwhile_and_a_refused_step_costs_nothing():
    world = TileWorld.from_scenario(parse_scenario(ROAD))
    for _ in range(2):
        go_east(world)
    (said,) = world.step({0: Say("squelch")}).action_results()
    assert said.ok
    assert go_east(world) is Reason.STILL_WALKING
    assert go_east(world) is Reason.NONE
    assert go_east(world) is Reason.OUT_OF_BOUNDS
    (back,) = world.step({0: Move(Direction.W)}).action_results()
    assert back.ok


def test_a_snapshot_keeps_how_long_a_step_still_takes():
    world, other = (TileWorld.from_scenario(parse_scenario(ROAD)) for _ in range(2))
    for _ in range(2):
        go_east(world)
    other.restore(world.snapshot())
    assert [go_east(other) for _ in range(3)] == [Reason.STILL_WALKING, Reason.STILL_WALKING, Reason.NONE]


def test_slow_floors_are_known_to_agents_and_part_of_the_digest():
    scenario = parse_scenario(ROAD)
    assert [floor.step_ticks for floor in TileWorld.from_scenario(scenario).info.floors] == [1, 3]
    assert scenario.digest != parse_scenario(ROAD.replace("step_ticks: 3", "step_ticks: 2")).digest
    with pytest.raises(ScenarioError, match="from 1 to"):
        parse_scenario(ROAD.replace("step_ticks: 3", "step_ticks: 0"))
