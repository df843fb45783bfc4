"""Willowbrook begins with something happening: in its first 20 seconds, which are 40 ticks of the demo."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.long import short_or_long

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.characters.villager import Villager
from tickmind.cli.demo import TPS
from tickmind.mind.talk.meaning import read_line
from tickmind.protocol import ActionType, Persona
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld, load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios" / "willowbrook.yaml"
SECONDS = 20


def begin(seed):
    """Return the records of the first seconds without a model."""
    world = TileWorld.from_scenario(load_scenario(SCENARIO, seed=seed))
    info, rows = world.info, range(len(world.info.actors))
    personas = {actor.entity_id: actor.persona or Persona() for actor in info.actors}
    food = Settings({"food": ["bread", "stew", "fish", "tea", "berries"]})
    village = CharacterHost(
        Villager,
        lambda who: Start(
            who, food, random.Random(f"{who}{seed}"), personas[who], info.setting, info.kinds, items=info.items
        ),
    )
    records = []
    for _ in range(int(SECONDS * TPS)):
        observations = [replace(seen, deadline_ms=int(MAX_DURATION_MS.maximum)) for seen in world.observe(rows)]
        village.begin(world.tick_id, observations)
        for seen in observations:
            village.perceive(seen)
        records.append(world.step({row: village.act(seen) for row, seen in enumerate(observations)}))
        village.reflect(records[-1].tick_id)
    village.close()
    return records


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, short_or_long(3, 31)))
def test_within_twenty_seconds_people_greet_tell_news_open_doors_and_go_their_ways(seed):
    records = begin(seed)
    said = [(record.tick_id, line.actor_id, line.text) for record in records for line in record.utterances]
    assert min(tick for tick, _, _ in said) <= 5
    assert len({who for _, who, _ in said}) >= 8
    assert any(read_line(text).told for _, _, text in said)
    done = [result for record in records for result in record.action_results() if result.ok]
    assert sum(result.action_type is ActionType.INTERACT for result in done) >= 3  # the doors, at least
    began, ended = records[0].actor_state, records[-1].actor_state
    assert sum((abs(ended.x - began.x) + abs(ended.y - began.y)) >= 5) >= 6
