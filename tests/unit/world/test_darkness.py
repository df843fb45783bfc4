"""Light and dark: at night actors see what is near them and what lamps shine on, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.protocol import Direction, Entered, Interact, Left, Move
from tickmind.world import ScenarioError, TileWorld, parse_scenario

STREET = """\
world: street
rules: {sight_radius: 6, night_sight_radius: 1}
calendar: {day_ticks: 24, begins: "18:00", night: ["21:00", "06:00"]}
floors: {path: {}}
kinds:
  wall: {walkable: false, opaque: true}
  lamp:
    states:
      out: {walkable: false, actions: {light: {to: lit}}}
      lit: {walkable: false, light: 2, actions: {quench: {to: out}}}
map: |
  ...........
  a.b...L..w.
  ...........
legend:
  ".": path
  "a": {floor: path, actor: {id: ada}}
  "b": {floor: path, actor: {id: bo}}
  "L": {floor: path, object: lamp, state: lit}
  "w": {floor: path, object: wall}
"""
ADA, BO = 0, 1
DUSK, NIGHT = 2, 3  # the tick before 21:00, and the first of the night


def street(text=STREET, tick=1):
    world = TileWorld.from_scenario(parse_scenario(text))
    while world.tick_id < tick:
        world.step({})
    return world


def sees(world, row):
    return set(world.observe([row])[0].visible_tiles.tiles())


def test_by_day_all_is_seen_and_at_night_only_what_is_near_or_lit():
    world = street(tick=DUSK)
    by_day = sees(world, ADA)
    assert by_day == {(x, y) for x in range(7) for y in range(3)}
    world.step({})
    lit = {(x, y) for x in range(4, 9) for y in range(3)}
    near = {(x, y) for x in range(2) for y in range(3)}
    assert sees(world, ADA) == by_day & (lit | near)


def test_others_in_the_dark_are_not_seen_and_those_in_the_light_are():
    world = street(tick=DUSK)
    assert [other.entity_id for other in world.observe([ADA])[0].visible_entities] == ["bo"]
    world.step({})
    night = world.observe([ADA])[0]
    assert night.visible_entities == ()
    assert night.events == (Left("bo", 2, 1),)
    for _ in range(2):
        world.step({BO: Move(Direction.E)})
    in_the_light = world.observe([ADA])[0]
    assert [other.entity_id for other in in_the_light.visible_entities] == ["bo"]
    assert Entered("bo", 4, 1) in in_the_light.events


def test_a_lamp_that_goes_out_leaves_its_tiles_dark():
    world = street(STREET.replace("b...L", "...bL"), tick=NIGHT)
    assert (6, 1) in sees(world, ADA)
    world.step({BO: Interact("lamp:1", "quench")})
    assert (6, 1) not in sees(world, ADA)
    assert (6, 1) in sees(world, BO)  # who stands beside it
    world.step({BO: Interact("lamp:1", "light")})
    assert (6, 1) in sees(world, ADA)


def test_light_does_not_go_through_walls():
    behind = (8, 1)
    for row, lit in (("a.b...L....", True), ("a.b...Lw...", False)):
        world = street(STREET.replace("a.b...L..w.", row).replace("sight_radius: 6", "sight_radius: 8"), tick=NIGHT)
        assert bool(world._now.lit[behind[1], behind[0]]) is lit


def test_the_morning_comes():
    world = street(tick=12)
    assert str(world.info.setting.calendar.at(12)) == "day 2, 06:00"
    assert sees(world, ADA) == {(x, y) for x in range(7) for y in range(3)}


def test_columns_and_single_observations_agree_at_night():
    world = street(tick=NIGHT)
    columns = world.observe_columns()
    single = world.observe([ADA, BO])
    for place, seen in enumerate(single):
        bits = np.unpackbits(columns.visible[place : place + 1].view(np.uint8), bitorder="little")
        assert bits.sum() == len(seen.visible_tiles.tiles())


@pytest.mark.parametrize("tick", [DUSK, NIGHT, NIGHT + 1, 12])
def test_a_snapshot_at_any_time_of_the_night_is_restored_with_what_was_seen(tick):
    world, other = street(tick=tick), street()
    other.restore(world.snapshot())
    for _ in range(3):
        assert other.observe([ADA, BO]) == world.observe([ADA, BO])
        intents = {BO: Move(Direction.E)}
        assert other.step(intents).state_hash == world.step(intents).state_hash


@given(st.integers(0, 10), st.integers(0, 2), st.integers(1, 6), st.integers(0, 6))
def test_nothing_is_seen_at_night_that_is_not_seen_by_day_and_all_that_is_lit_or_near_is(x, y, light, near):
    text = STREET.replace("light: 2", f"light: {light}").replace("night_sight_radius: 1", f"night_sight_radius: {near}")
    text = text.replace('  "a": {floor: path, actor: {id: ada}}\n', '  "a": path\n')
    if (x, y) in {(2, 1), (6, 1), (9, 1)}:
        return
    world = street(text + f"actors: [{{id: ada, at: [{x}, {y}]}}]\n", tick=DUSK)
    by_day = sees(world, ADA)
    world.step({})
    by_night = sees(world, ADA)
    assert by_night <= by_day
    assert {tile for tile in by_day if max(abs(tile[0] - x), abs(tile[1] - y)) <= near} <= by_night
    far = {tile for tile in by_night if max(abs(tile[0] - x), abs(tile[1] - y)) > near}
    assert all(max(abs(tile[0] - 6), abs(tile[1] - 1)) <= light for tile in far)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (', night: ["21:00", "06:00"]', "", 'say when it is with `night: ["21:00", "06:00"]`'),
        ("night_sight_radius: 1", "night_sight_radius: 7", "from 0 to 6"),
        ("light: 2", "light: 0", "from 1 to 31"),
        ('["21:00", "06:00"]', '["21:00"]', "two times of the day"),
    ],
)
def test_mistakes_of_light_are_named(old, new, message):
    assert old in STREET
    with pytest.raises(ScenarioError) as raised:
        parse_scenario(STREET.replace(old, new))
    assert message in str(raised.value)


def test_scenarios_differ_by_light_and_dark():
    texts = (
        STREET,
        STREET.replace("light: 2", "light: 3"),
        STREET.replace("night_sight_radius: 1", "night_sight_radius: 2"),
    )
    assert len({parse_scenario(text).digest for text in texts}) == 3
