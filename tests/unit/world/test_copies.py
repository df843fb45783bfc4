"""Many copies of a scenario in one world are each, bit for bit, as a world of its own."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import ConfigError
from tickmind.world import CopiedWorld, TileWorld, WorldError, parse_scenario

WORLD = """
world: copied
seed: 5
rules: {sight_radius: 3, hearing_radius: 2, inventory_limit: 6, needs: {hunger_per_tick: 40, energy_per_tick: 60,
        own: {warmth: {begins: 500, each_tick: -9}}}}
floors: {grass: {}, mud: {step_ticks: 2, each_tick: {energy: -3}}, water: {walkable: false}}
items:
  berries: {use: {hunger: -150}, lasts: 9, becomes: {seeds: 1}}
  seeds: {}
  axe: {}
kinds:
  bush: {stock: {item: berries, most: 3, ticks: 2, spread: 4}}
  fire:
    states:
      out: {actions: {light: {to: lit, work: 2}}}
      lit: {each_tick: {warmth: 20}, change: {to: out, ticks: 3, spread: 4}}
  tree: {walkable: false, actions: {fell: {work: 2, removes: true, wears: {axe: 3}, yields: {seeds: 1}}}}
  hut: {walkable: false, build: {most: 2, consumes: {seeds: 1}}, actions: {raze: {removes: true}}}
  box: {walkable: false, holds: 9}
map: |
  1b.t~b
  ..mf..
  t.m.x2
legend:
  ".": grass
  m: mud
  "~": water
  b: {floor: grass, object: bush}
  f: {floor: grass, object: fire}
  t: {floor: grass, object: tree}
  x: {floor: grass, object: box, contents: {berries: 4}}
  "1": {floor: grass, actor: {id: ada, inventory: {axe: 2, seeds: 1}}}
  "2": {floor: grass, actor: {id: bo, inventory: {axe: 2}}}
zones: {shore: {within: [4, 0, 5, 1]}}
actors:
  - {id: cy, at: [2, 0], arrives: {tick: 4}, leaves: {tick: 20}}
ground:
  - {item: berries, amount: 5, at: [1, 1]}
goals:
  rich: {carry: {berries: 2}, score: 3}
  landing: {each_in: shore, score: 1}
  both: {who: {id: [ada, bo]}, all_in: shore, score: 5}
  warm: {object: "fire:1", state: lit, score: 2}
  late: {tick: 12, score: 1}
"""
SCENARIO = parse_scenario(WORLD)
CHOICES = len(TileWorld.from_scenario(SCENARIO).choosing.actions)


def alone(seed):
    return TileWorld.from_scenario(replace(SCENARIO, seed=seed))


def rows_of(count):
    return np.arange(count * len(SCENARIO.actors), dtype=np.int32)


def step_both(many, single, actions):
    """Do the same numbered actions in a world of copies and in worlds of their own, and compare them."""
    numbers = np.array(actions, dtype=np.int64)
    chosen = [world.intents_of(rows_of(1), numbers[copy]) for copy, world in enumerate(single)]
    masks = [world.choices_of(rows_of(1)) for world in single]
    assert (many.choices_of(rows_of(len(single))) == np.concatenate(masks)).all()
    windows = [world.observe_windows(rows_of(1), 3) for world in single]
    seen = many.observe_windows(rows_of(len(single)), 3)
    assert (seen.tiles == np.concatenate([one.tiles for one in windows])).all()
    assert (seen.body == np.concatenate([one.body for one in windows])).all()
    many.step(many.intents_of(rows_of(len(single)), numbers.reshape(-1)))
    for copy, world in enumerate(single):
        world.step(chosen[copy])
        assert many.state_hash_of(copy) == world.state_hash()


ACTIONS = st.lists(
    st.lists(st.lists(st.integers(0, CHOICES - 1), min_size=3, max_size=3), min_size=3, max_size=3), max_size=20
)


@settings(max_examples=short_or_long(12, 200))
@given(st.lists(st.integers(0, 2**63 - 1), min_size=3, max_size=3, unique=True), ACTIONS)
def test_each_copy_is_as_a_world_of_its_own_with_its_seed(seeds, ticks):
    many, single = CopiedWorld(SCENARIO, seeds), [alone(seed) for seed in seeds]
    for actions in ticks:
        step_both(many, single, actions)


def test_a_copy_that_begins_again_is_as_a_new_world_while_the_others_go_on():
    chance = np.random.default_rng(2)
    many, single = CopiedWorld(SCENARIO, [1, 2, 3]), [alone(seed) for seed in (1, 2, 3)]
    for tick in range(90):
        step_both(many, single, chance.integers(0, CHOICES, (3, 3)))
        if tick % 13 == 12:
            many.begin([tick % 3], [tick])
            single[tick % 3] = alone(tick)
        if tick == 50:
            many.begin(range(3), [7, 8, 9])
            single = [alone(seed) for seed in (7, 8, 9)]
    assert many.state_hash_of(1) == single[1].state_hash()


def test_points_of_goals_go_to_the_copy_and_the_actors_that_reached_them():
    many = CopiedWorld(SCENARIO, [1, 2])
    for _ in range(11):
        many.step({})
    many.begin([1], [2])
    many.step({})
    assert many.points.tolist() == [[1, 1, 1], [0, 0, 0]]  # the first copy is in its twelfth tick
    assert not many.ended.any()


def test_copies_by_a_text_begin_where_its_seeds_put_the_actors():
    text = WORLD.replace("actors:", "actors:\n  - {count: 2, id: 'x{n}'}")
    base = parse_scenario(text)
    many = CopiedWorld(base, [5, 6], at_seed=lambda seed: parse_scenario(text, seed=seed))
    for copy, seed in enumerate((5, 6)):
        assert many.state_hash_of(copy) == TileWorld.from_scenario(parse_scenario(text, seed=seed)).state_hash()


def test_what_copies_can_not_have_is_refused_in_words():
    with pytest.raises(ConfigError, match="know one world only"):
        CopiedWorld(parse_scenario(WORLD + "own_rules: [party]\n"), [1, 2])
    night = parse_scenario(WORLD.replace("light: {to: lit", "light: {hours: ['08:00', '18:00'], to: lit"))
    many = CopiedWorld(night, [1, 2])
    with pytest.raises(WorldError, match="same time"):
        many.begin([1], [3])
    many.begin([0, 1], [3, 4])
    with pytest.raises(ConfigError, match="number of copies"):
        CopiedWorld(SCENARIO, [])
    with pytest.raises(ConfigError, match="a seed must be"):
        CopiedWorld(SCENARIO, [-1])


WEATHER = """
world: seasons
seed: 5
rules: {inventory_limit: 9, needs: {own: {warmth: {begins: 500, each_tick: -1, in_weather: {rain: -7, sun: 3}}}}}
floors: {grass: {}}
items: {hay: {}}
kinds:
  rick: {walkable: false, actions: {dry: {weather: [sun], yields: {hay: 1}}}}
  shed: {walkable: false, build: {most: 3, weather: [sun, fog]}}
calendar: {day_ticks: 8, begins: "00:00", weather: {sun: 2, rain: 2, fog: 1}}
map: |
  1R2...
  ......
legend:
  ".": grass
  R: {floor: grass, object: rick}
  "1": {floor: grass, actor: {id: ada}}
  "2": {floor: grass, actor: {id: bo}}
"""


CHOICES_OF_WEATHER = len(TileWorld.from_scenario(parse_scenario(WEATHER)).choosing.actions)


def test_copies_of_a_text_have_each_the_weather_of_its_own_seed():
    scenario = parse_scenario(WEATHER)
    seeds = [1, 2, 3, 4]
    copied = CopiedWorld(scenario, seeds, at_seed=lambda seed: parse_scenario(WEATHER, seed=seed))
    alone = [CopiedWorld(parse_scenario(WEATHER, seed=seed), [seed]) for seed in seeds]
    chance = np.random.default_rng(1)
    for _begin in range(2):
        for _ in range(40):  # five days
            choices = chance.integers(CHOICES_OF_WEATHER, size=8)
            copied.step(copied.intents_of(np.arange(8, dtype=np.int32), choices))
            for copy, world in enumerate(alone):
                world.step(world.intents_of(np.arange(2, dtype=np.int32), choices[2 * copy : 2 * copy + 2]))
                assert copied.state_hash_of(copy) == world.state_hash_of(0)
        warmth = copied.columns_of(0).own_needs[0, 0], copied.columns_of(1).own_needs[0, 0]
        seeds = [11, 12, 13, 14]
        copied.begin(range(4), seeds)
        alone = [CopiedWorld(parse_scenario(WEATHER, seed=seed), [seed]) for seed in seeds]
    assert warmth[0] != warmth[1]  # else the weather would prove nothing


def test_copies_of_a_scenario_share_its_weather():
    scenario = parse_scenario(WEATHER)
    copied = CopiedWorld(scenario, [1, 2])
    for _ in range(40):
        copied.step({})
    assert copied.columns_of(0).own_needs.tolist() == copied.columns_of(1).own_needs.tolist()
