"""Two prisoners with minds get out of `escape` by what they tell each other, remember and choose."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.long import short_or_long

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.characters.prisoner import Prisoner
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld, parse_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios" / "escape.yaml"


class Forgetful(Prisoner):
    """Forgets what it is told."""

    def remember(self):
        super().remember()
        for entry in [entry for entry in self.memory if entry.told_by]:
            self.memory.forget(entry.number)


def escape(seed, kind=Prisoner, ticks=1200, hearing_radius=20):
    """Return the tick in which both are out, or None; and all that was said."""
    text = re.sub("hearing_radius: [0-9]+", f"hearing_radius: {hearing_radius}", SCENARIO.read_text())
    world = TileWorld.from_scenario(parse_scenario(text, seed=seed))
    info, said = world.info, []
    prisoners = CharacterHost(
        kind,
        lambda who: Start(who, Settings(), random.Random(f"{who}{seed}"), kinds=info.kinds, setting=info.setting),
    )
    out = None
    while out is None and world.tick_id < ticks:
        observations = [replace(seen, deadline_ms=int(MAX_DURATION_MS.maximum)) for seen in world.observe(range(2))]
        prisoners.begin(world.tick_id, observations)
        for seen in observations:
            prisoners.perceive(seen)
        record = world.step({row: prisoners.act(seen) for row, seen in enumerate(observations)})
        prisoners.reflect(record.tick_id)
        said += [(line.actor_id, line.text) for line in record.utterances]
        out = record.tick_id if any(event.name == "both_out" for event in record.rule_events) else None
    prisoners.close()
    return out, said


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, short_or_long(6, 51)))
def test_two_prisoners_with_minds_get_out_in_1200_ticks(seed):
    out, said = escape(seed)
    assert out is not None
    assert len(set(said)) == len(said)  # of one speaker: it is talk, and no signal that is repeated until it is heard


def test_prisoners_who_do_not_hear_each_other_stay_where_they_are():
    out, said = escape(1, ticks=300, hearing_radius=0)
    assert out is None
    assert {text for _, text in said} == {"Hello? Is anybody there?"}


def test_prisoners_who_forget_what_they_are_told_stay_where_they_are():
    out, _ = escape(1, Forgetful, ticks=300)
    assert out is None
