"""A hosted actor perceives what it would perceive over a stream of its own."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tickmind.agent.control.columns import ColumnReader
from tickmind.protocol import Acted, ActionType, Direction, Drop, Interact, Move, Pickup, Say, Use
from tickmind.protocol.compiling import WorldCodes, compile_intents
from tickmind.world import TileWorld, load_scenario

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def as_columns_tell_it(seen):
    """An observation without what columns leave out: that one waited."""
    result = seen.result
    waited = result is None or (result.action_type is ActionType.WAIT and result.ok)
    return replace(seen, result=None if waited else result)


def any_intent(dice, seen):
    near = [thing for thing in seen.visible_objects if abs(thing.x - seen.me.x) + abs(thing.y - seen.me.y) < 3]
    return dice.choice(
        [
            Move(dice.choice(list(Direction))),
            Move(dice.choice(list(Direction))),
            Pickup("berries"),
            Drop("berries"),
            Use("berries"),
            Say(f"I am at {seen.me.x}"),
            Interact(dice.choice(near).object_id if near else "tree:1"),
        ]
    )


def test_what_looks_as_before_is_the_same_object():
    world = TileWorld.from_scenario(load_scenario(SCENARIOS / "village.yaml"))
    reader = ColumnReader(world.info)
    rows = np.arange(len(world.info.actors), dtype=np.int32)
    first = reader.read(world.observe_columns(rows))
    world.step({})
    second = reader.read(world.observe_columns(rows))
    for before, now in zip(first, second, strict=True):
        seen_before = [*before.visible_objects, *before.visible_entities]
        for old, new in zip(seen_before, [*now.visible_objects, *now.visible_entities], strict=True):
            assert (old is new) is (old == new)


@pytest.mark.parametrize("name", ["clearing", "village"])
def test_columns_read_back_as_single_observations(name):
    world = TileWorld.from_scenario(load_scenario(SCENARIOS / f"{name}.yaml"))
    reader, dice = ColumnReader(world.info), random.Random(3)
    codes = WorldCodes.of(world.info)
    rows = np.arange(len(world.info.actors), dtype=np.int32)
    changed = 0
    for _ in range(60):
        half = len(rows) // 2
        parts = [world.observe_columns(rows[:half]), world.observe_columns(rows[half:])]
        found = [seen for part in parts for seen in reader.read(part)]
        alone = world.observe(rows.tolist(), floors=False)
        assert found == [as_columns_tell_it(seen) for seen in alone]
        changed += sum(bool(one.result.effects) for seen in found for one in seen.events if isinstance(one, Acted))
        intents = {row: any_intent(dice, seen) for row, seen in enumerate(alone) if dice.random() < 0.9}
        world.step(compile_intents(codes, intents))
    assert changed > 0  # others see what an action changed
