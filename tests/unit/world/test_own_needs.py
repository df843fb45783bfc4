"""Needs that a scenario declares: what changes them, and what they do."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickmind.protocol import (
    ActorStatus,
    Build,
    Direction,
    Effect,
    FloorInfo,
    Interact,
    ItemInfo,
    Move,
    Placement,
    Reason,
    Say,
    Use,
)
from tickmind.world import ScenarioError, TileWorld, parse_scenario

COLD = """\
world: cold
seed: 3
rules:
  needs:
    hunger_per_tick: 1
    energy_per_tick: 1
    when_starving: {health: -7}
    own:
      warmth: {begins: 800, each_tick: -2, at_night: -3, in_weather: {snow: -5}, at_zero: {health: -4}}
      health: {each_tick: 1, incapacitates: true}
calendar: {day_ticks: 24, begins: "06:00", night: ["20:00", "06:00"], weather: {snow: 1}}
floors:
  grass: {}
  marsh: {each_tick: {warmth: -6, energy: -1}}
items:
  tea: {use: {warmth: 200, health: 50, energy: 5}}
  bread: {use: {hunger: -100}}
kinds:
  campfire:
    states:
      out: {actions: {light: {to: lit}}}
      lit: {each_tick: {warmth: 20, energy: 2}, actions: {douse: {to: out}}}
map: |
  1.~.c
  .....
  ..2.3
legend:
  ".": grass
  "~": marsh
  c: {floor: grass, object: campfire, state: lit}
  "1": {floor: grass, actor: {id: ada, inventory: {tea: 3}}}
  "2": {floor: marsh, actor: {id: bo, needs: {warmth: 300}}}
  "3": {floor: grass, actor: {id: cy, energy: 500}}
"""
ADA, BO, CY = range(3)


def cold(*changes: tuple[str, str]) -> TileWorld:
    text = COLD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return TileWorld.from_scenario(parse_scenario(text))


def needs(world, need="warmth", actors=(ADA, BO, CY)):
    return [seen.me.need(need) for seen in world.observe(actors)]


def test_needs_begin_as_declared_and_change_by_tick_weather_and_floor():
    world = cold()
    assert needs(world) == [800, 300, 800]
    assert needs(world, "health") == [1000, 1000, 1000]
    assert world.observe([BO])[0].me.needs == (("warmth", 300), ("health", 1000))
    world.step({})  # two by itself, five by snow, six by the marsh
    assert needs(world) == [793, 287, 793]


def test_a_world_without_actors_reports_no_needs():
    empty = cold(("1.~.c", "..~.c"), ("..2.3", "....."))
    assert empty.step({}).needs is None


def test_the_night_comes_on_top():
    world = cold(('begins: "06:00"', 'begins: "20:00"'))
    world.step({})
    assert needs(world) == [790, 284, 790]


def test_an_object_changes_needs_of_those_on_its_tile_and_beside_it():
    world = cold()
    world.step({CY: Move(Direction.N)})
    assert needs(world)[CY] == 813
    assert needs(world, "energy")[CY] == 501
    world.step({CY: Move(Direction.N)})
    assert needs(world)[CY] == 826


def test_an_object_does_nothing_in_a_state_that_does_nothing():
    world = cold(("state: lit", "state: out"))
    world.step({CY: Move(Direction.N)})
    assert needs(world)[CY] == 793


def test_an_object_of_several_tiles_warms_all_beside_it_once():
    large = ("  campfire:\n", "  campfire:\n    size: [2, 2]\n"), ("1.~.c\n  .....", "1..cc\n  ...cc")
    world = cold(*large)
    world.step({})  # cy is beside two of its tiles, bo beside its corner, ada too far away
    assert needs(world) == [793, 307, 813]


def test_an_object_that_is_built_warms_until_it_is_removed():
    stove = "stove: {walkable: false, each_tick: {warmth: 20}, build: {most: 2}, actions: {smash: {removes: true}}}"
    world = cold(("kinds:\n", f"kinds:\n  {stove}\n"))
    record = world.step({ADA: Build("stove", Direction.E)}, None, [Placement("cy")])
    assert record.result_at(0).ok
    assert needs(world, actors=[ADA]) == [813]
    record = world.step({ADA: Build("stove", Direction.S)}, None, [Placement("cy", 1, 0)])
    assert [order.reason for order in record.placements] == [Reason.NOT_WALKABLE]
    assert needs(world, actors=[ADA]) == [846]
    record = world.step({ADA: Interact("stove:1")}, None, [Placement("cy", 1, 0)])
    assert [order.reason for order in record.placements] == [Reason.NONE]
    assert needs(world)[ADA] == 859
    world.step({ADA: Interact("stove:2")})
    assert needs(world)[ADA] == 852


def test_a_need_at_zero_lowers_another_and_at_zero_that_one_incapacitates():
    world = cold(("begins: 800", "begins: 5"), ("health: {each_tick: 1", "health: {begins: 6, each_tick: 1"))
    seen = []
    for _ in range(4):
        world.step({})
        seen.append(needs(world, "health")[ADA])
    assert needs(world)[ADA] == 0
    assert seen == [7, 4, 1, 0]
    (ada,) = world.observe([ADA])
    assert ada.me.status == ActorStatus.INCAPACITATED
    record = world.step({ADA: Move(Direction.E)})
    assert record.result_at(0).reason is Reason.INCAPACITATED
    assert world.step({ADA: Say("help")}).result_at(0).ok


def test_an_item_heals_and_its_effects_name_needs():
    world = cold(("begins: 800", "begins: 5"), ("health: {each_tick: 1", "health: {begins: 0, each_tick: 0"))
    world.step({})
    assert world.observe([ADA])[0].me.status == ActorStatus.INCAPACITATED
    result = world.step({ADA: Use("tea", 2)}).result_at(0)
    assert result.effects == (
        Effect("inventory.tea", -2),
        Effect("energy", 1),
        Effect("warmth", 400),
        Effect("health", 100),
    )
    assert world.observe([ADA])[0].me.status == ActorStatus.AWAKE


def test_starving_lowers_own_needs():
    world = cold(("id: bo,", "id: bo, hunger: 1000,"))
    world.step({})
    assert needs(world, "health") == [1000, 994, 1000]


def test_needs_of_uncontrolled_and_away_actors_stand_still():
    world = cold(("id: cy,", "id: cy, arrives: {tick: 3},"))
    controlled = np.array([True, False, False])
    world.step({}, controlled)
    world.step({}, controlled)
    assert needs(world) == [786, 300, 800]


def test_a_snapshot_and_the_state_hash_hold_them():
    world, other, warm = cold(), cold(), cold()
    for _ in range(5):
        world.step({})
    other.restore(world.snapshot())
    assert needs(other) == needs(world)
    assert other.state_hash() == world.state_hash()
    record = world.step({})
    assert other.step({}).state_hash == record.state_hash
    assert len({record.state_hash, warm.state_hash()}) == 2


def test_larger_changes_are_reported_and_the_view_has_all():
    world = cold(("begins: 800", "begins: 812"))
    records: list[Any] = [world.step({}) for _ in range(3)]
    assert records[0].needs.own.tolist() == [[805, 1000], [287, 1000], [805, 1000]]  # all, in the first tick
    assert records[1].needs.actor.tolist() == [ADA, BO, CY]
    assert records[1].needs.own[:, 0].tolist() == [798, 274, 798]
    assert records[2].needs is None
    view: Any = world.view()
    assert view.needs.own[:, 0].tolist() == [791, 261, 791]


def test_the_world_says_what_changes_needs():
    info = cold().info
    assert info.own_needs == ("warmth", "health")
    assert info.items == (
        ItemInfo("bread", (("hunger", -100),)),
        ItemInfo("tea", (("energy", 5), ("warmth", 200), ("health", 50))),
    )
    assert info.items[1].adds_to("warmth") == 200
    assert info.items[0].adds_to("warmth") == 0
    assert info.floors[1] == FloorInfo("marsh", True, False, (), -1, 0, 1, (("warmth", -6),))
    assert info.floors[1].harmful
    assert info.kinds[0].each_tick == ((), (("energy", 2), ("warmth", 20)))
    with pytest.raises(KeyError):
        cold().observe([ADA])[0].me.need("joy")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("begins: 800", "begins: 799"),
        ("warmth: -6", "warmth: -7"),
        ("warmth: 200", "warmth: 201"),
        ("warmth: 20,", "warmth: 21,"),
        ("needs: {warmth: 300}", "needs: {warmth: 301}"),
        ("when_starving: {health: -7}", "when_starving: {health: -8}"),
        ('night: ["20:00"', 'night: ["21:00"'),
    ],
)
def test_they_are_part_of_a_scenarios_identity(old, new):
    assert old in COLD
    assert parse_scenario(COLD).digest != parse_scenario(COLD.replace(old, new, 1)).digest


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("warmth: -6", "warmht: -6", "unknown key 'warmht' (did you mean 'warmth'?)"),
        ("warmth: 200", "warmht: 200", "unknown key 'warmht' (did you mean 'warmth'?)"),
        ("warmth: 20,", "warmht: 20,", "unknown key 'warmht' (did you mean 'warmth'?)"),
        ("needs: {warmth: 300}", "needs: {warmht: 300}", "unknown key 'warmht' (did you mean 'warmth'?)"),
        ("at_zero: {health: -4}", "at_zero: {helth: -4}", "unknown key 'helth' (did you mean 'health'?)"),
        ("when_starving: {health: -7}", "when_starving: {helth: 1}", "unknown key 'helth' (did you mean 'health'?)"),
        ("in_weather: {snow", "in_weather: {snwo", "there is no kind of weather 'snwo'; there are: snow"),
        (', night: ["20:00", "06:00"]', "", "the calendar has no night"),
        ("warmth: {begins", "hunger: {begins", "every world with needs has 'hunger'; choose another name"),
        ("warmth: {begins", "warm.th: {begins", "the name of a need has no dot in it"),
        ("begins: 800", "begins: 1001", "expected a whole number from 0 to 1000"),
        ("needs: {warmth: 300}", "needs: {warmth: -1}", "expected a whole number from 0 to 1000"),
        ("at_night: -3", "at_night: -1001", "expected a whole number from -1000 to 1000"),
        ("incapacitates: true", "incapacitate: true", "did you mean 'incapacitates'?"),
        ("health: {each_tick", "".join(f"n{i}: {{}}\n      " for i in range(7)) + "health: {each_tick", "1 to 8 needs"),
        ("rules:", "rules: {}\ngoals:", "'each_tick' changes needs, and this world has none"),
    ],
)
def test_a_mistake_is_named(old, new, says):
    assert old in COLD
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(COLD.replace(old, new, 1))
    assert says in str(caught.value)


def test_a_mistake_in_a_need_is_the_only_one():
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(COLD.replace("begins: 800", "begins: x"))
    assert len(caught.value.problems) == 1


class Reference:
    """The rule, one actor and one need at a time."""

    def __init__(self) -> None:
        self.at = {"ada": (0, 0), "bo": (2, 2), "cy": (4, 2)}
        self.warmth = {"ada": 800, "bo": 300, "cy": 800}
        self.health = dict.fromkeys(self.at, 1000)
        self.energy = {"ada": 1000, "bo": 1000, "cy": 500}

    def step(self, at, controlled):
        for name in self.at:
            self.at[name] = at[name]
            if not controlled[name]:
                continue
            x, y = at[name]
            in_marsh, by_fire = (x, y) in ((2, 0), (2, 2)), abs(x - 4) <= 1 and y <= 1
            warmth, health = self.warmth[name], self.health[name]
            self.warmth[name] = max(0, min(1000, warmth - 7 - 6 * in_marsh + 20 * by_fire))
            self.health[name] = max(0, min(1000, health + 1 - 4 * (warmth == 0)))
            self.energy[name] = max(0, min(1000, self.energy[name] - 1 - in_marsh + 2 * by_fire))


MOVES = st.lists(st.tuples(*[st.sampled_from([None, *Direction])] * 3, st.integers(0, 7)), min_size=5, max_size=40)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(MOVES)
def test_it_does_what_the_obvious_rule_does(ticks):
    world, reference = cold(('"20:00", "06:00"', '"05:59", "06:00"'), ("day_ticks: 24", "day_ticks: 480")), Reference()
    names = [actor.entity_id for actor in world.info.actors]
    for *ways, bits in ticks:
        controlled = [bool(bits >> row & 1) for row in range(3)]
        intents = {row: Move(way) for row, way in enumerate(ways) if way is not None}
        state = world.step(intents, np.array(controlled)).actor_state
        places = dict(zip(names, zip(state.x.tolist(), state.y.tolist(), strict=True), strict=True))
        reference.step(places, dict(zip(names, controlled, strict=True)))
        for need in ("warmth", "health", "energy"):
            assert dict(zip(names, needs(world, need), strict=True)) == getattr(reference, need)
