"""A bridge that takes the wood of six: villagers build it together, without a model and without being asked."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.long import short_or_long

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.characters.villager import Villager
from tickmind.protocol import ActionType, Persona
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld, load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios" / "bridge.yaml"
TWO_DAYS = 960


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, short_or_long(2, 11)))
def test_six_villagers_build_a_bridge_in_two_days_each_a_part(seed):
    world = TileWorld.from_scenario(load_scenario(SCENARIO, seed=seed))
    info, rows = world.info, range(len(world.info.actors))
    personas = {actor.entity_id: actor.persona or Persona() for actor in info.actors}
    food = Settings({"food": ["apple", "berries"]})
    company = CharacterHost(
        Villager,
        lambda who: Start(
            who, food, random.Random(f"{who}{seed}"), personas[who], info.setting, info.kinds, items=info.items
        ),
    )
    parts, reached = Counter[str](), False
    while world.tick_id < TWO_DAYS and not reached:
        observations = [replace(seen, deadline_ms=int(MAX_DURATION_MS.maximum)) for seen in world.observe(rows)]
        company.begin(world.tick_id, observations)
        for seen in observations:
            company.perceive(seen)
        record = world.step({row: company.act(seen) for row, seen in enumerate(observations)})
        company.reflect(record.tick_id)
        for result in record.action_results():
            gave = any(effect.name == "inventory.wood" and effect.value < 0 for effect in result.effects)
            parts[result.actor_id] += result.ok and result.action_type is ActionType.INTERACT and gave
        reached = any(event.name == "bridge_whole" for event in record.rule_events)
    company.close()
    assert reached, parts
    assert sum(parts.values()) == 6
    assert len(+parts) >= 3
