"""Villagers by the real rules, without a network and without a model: they live sensibly on what they see."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.characters.villager import Villager
from tickmind.world import TileWorld, load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios" / "willowbrook.yaml"


@pytest.mark.slow
def test_villagers_leave_their_houses_eat_and_talk():
    world = TileWorld.from_scenario(load_scenario(SCENARIO))
    rows = range(len(world.info.actors))
    food = Settings({"food": ["bread", "berries", "wheat"]})
    company = CharacterHost(Villager, lambda entity_id: Start(entity_id, food, random.Random(entity_id)))
    first = world.observe(rows)
    did, said = Counter[str](), 0
    for _ in range(400):
        observations = world.observe(rows)
        company.begin(world.tick_id, observations)
        for seen in observations:
            company.perceive(seen)
        record = world.step({row: company.act(seen) for row, seen in enumerate(observations)})
        did.update(str(result.action_type) for result in record.action_results() if result.ok)
        said += len(record.utterances)
    last = world.observe(rows)
    company.close()
    assert all(abs(a.me.x - b.me.x) + abs(a.me.y - b.me.y) > 3 for a, b in zip(first, last, strict=True))
    assert max(seen.me.hunger for seen in last) < 700
    assert did["Interact"] >= 6  # the doors
    assert did["Pickup"] > 20
    assert said > 50
