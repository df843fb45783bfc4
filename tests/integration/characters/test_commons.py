"""Five foragers and a meadow that doubles: it lasts while all take their share, and not where they are greedy."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.long import short_or_long

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.agent.character.skills import SkilledCharacter
from tickmind.characters.villager import Villager
from tickmind.protocol import Persona
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld, parse_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios" / "commons.yaml"
ROUND = 60


def live(seed, rounds=12, hunger=2, **changes):
    """Return the stock of the meadow after each tick, and the largest hunger; changed are all personas."""
    text = SCENARIO.read_text().replace("hunger_per_tick: 2", f"hunger_per_tick: {hunger}")
    world = TileWorld.from_scenario(parse_scenario(text, seed=seed))
    info, rows = world.info, range(len(world.info.actors))
    personas = {actor.entity_id: replace(actor.persona or Persona(), **changes) for actor in info.actors}
    food = Settings({"food": ["berries", "fish"]})
    company = CharacterHost(
        Villager,
        lambda who: Start(
            who, food, random.Random(f"{who}{seed}"), personas[who], info.setting, info.kinds, items=info.items
        ),
    )
    stocks, hungriest = [60], 0
    while world.tick_id <= rounds * ROUND:
        observations = [replace(seen, deadline_ms=int(MAX_DURATION_MS.maximum)) for seen in world.observe(rows)]
        company.begin(world.tick_id, observations)
        for seen in observations:
            company.perceive(seen)
            hungriest = max(hungriest, seen.me.hunger)
        record = world.step({row: company.act(seen) for row, seen in enumerate(observations)})
        company.reflect(record.tick_id)
        changed = [int(delta.new_value) for delta in record.object_deltas if delta.field == "stock"]
        stocks.append(changed[-1] if changed else stocks[-1])
    company.close()
    return stocks, hungriest


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, short_or_long(2, 11)))
def test_a_shared_meadow_lasts_twelve_rounds_and_feeds_all(seed):
    stocks, hungriest = live(seed)
    assert 0 < min(stocks) < 60
    assert hungriest < 700


@pytest.mark.slow
def test_hungrier_ones_use_it_up_without_shares_and_not_with_them(monkeypatch):
    shared, _ = live(1, rounds=7, hunger=3)
    assert min(shared) > 10
    monkeypatch.setattr(SkilledCharacter, "may_take", lambda _self, _place: True)
    taken, _ = live(1, rounds=7, hunger=3)
    assert taken[-1] == 0


@pytest.mark.slow
def test_a_meadow_of_the_greedy_is_used_up():
    stocks, _ = live(1, rounds=2, traits=("greedy",))
    assert stocks[-1] == 0
