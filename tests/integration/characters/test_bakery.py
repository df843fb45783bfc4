"""The three villagers of the bakery, as the scenario has them: they earn all its points, and feed themselves."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.characters.villager import Villager
from tickmind.protocol import Persona
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld, load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios" / "bakery.yaml"
DAY = 240


def live(days, **changes):
    """Return which goals were reached by whom, and the hunger of all after each tick."""
    world = TileWorld.from_scenario(load_scenario(SCENARIO))
    info, rows = world.info, range(len(world.info.actors))
    personas = {actor.entity_id: actor.persona or Persona() for actor in info.actors}
    settings = Settings({**yaml.safe_load(SCENARIO.read_text())["agents"]["villager"]["settings"], **changes})
    company = CharacterHost(
        Villager,
        lambda who: Start(who, settings, random.Random(who), personas[who], info.setting, info.kinds, items=info.items),
    )
    reached, hunger = set(), []
    while world.tick_id <= days * DAY:
        observations = [replace(seen, deadline_ms=int(MAX_DURATION_MS.maximum)) for seen in world.observe(rows)]
        company.begin(world.tick_id, observations)
        for seen in observations:
            company.perceive(seen)
        hunger.append([seen.me.hunger for seen in observations])
        record = world.step({row: company.act(seen) for row, seen in enumerate(observations)})
        company.reflect(record.tick_id)
        reached |= {(event.name, who) for event in record.rule_events for who in event.actor_ids}
    company.close()
    return reached, hunger


@pytest.mark.slow
def test_all_bakers_earn_all_the_points_and_feed_themselves():
    reached, hunger = live(4)
    assert {name for name, _ in reached} == {
        "gathered", "ground", "baked", "first_sale", "earned_10", "earned_20"
    }  # fmt: skip
    assert len(reached) == 18
    assert max(map(max, hunger)) < 1000


@pytest.mark.slow
def test_who_has_enough_coins_and_starves_bakes_for_itself():
    _, hunger = live(4, enough=3)
    assert max(map(max, hunger)) < 1000
