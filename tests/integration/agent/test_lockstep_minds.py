"""The same lockstep run twice over the real wire: state hashes, prompts and thoughts."""

from contextlib import AsyncExitStack

import pytest
from tests.unit.agent.test_lockstep_minds import SlowModel

from tickmind.agent import CharacterHost, Start
from tickmind.characters.villager import Villager
from tickmind.protocol import ThoughtReport

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]
ACTORS, TICKS = 4, 30
ALL = tuple(f"entity:{number}" for number in range(1, ACTORS + 1))
GROUPS = {"one process": (ALL,), "two processes": (ALL[2:], ALL[:2]), "a process each": tuple((one,) for one in ALL)}


async def lived(serve, live, eventually, groups):
    models = [SlowModel() for _ in groups]
    async with serve(ACTORS, lockstep=True, controllers=ACTORS, run_id="run") as world, AsyncExitStack() as stack:
        for group, model in zip(groups, models, strict=True):
            await stack.enter_async_context(live(world, CharacterHost(Villager, Start, client=model), group))
        await eventually(lambda: len(world.records) >= TICKS)
    thoughts = [
        (report.entity_id, report.thought.asked_tick, report.thought.answered_tick, report.thought.user_message)
        for report in world.reports
        if isinstance(report, ThoughtReport) and report.thought.answered_tick < TICKS - 1
    ]
    hashes = [record.state_hash for record in world.records[:TICKS]]
    return hashes, sorted(thoughts)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
async def test_a_lockstep_run_repeats_however_its_characters_are_grouped(serve, live, eventually, groups):
    first = await lived(serve, live, eventually, GROUPS["one process"])
    again = await lived(serve, live, eventually, groups)
    assert again[0] == first[0]
    assert again[1] == first[1]
    assert len(first[1]) >= ACTORS
