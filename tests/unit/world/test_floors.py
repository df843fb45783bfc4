"""Floors that change the needs of those who stand on them."""

import numpy as np
import pytest

from tickmind.protocol import ActorStatus, Direction, FloorInfo, Move, Sleep
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
