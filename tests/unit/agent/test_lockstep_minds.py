"""Minds in lockstep: the same run twice, however long the model takes and however the characters are grouped."""

import asyncio
import random
from dataclasses import replace
from typing import ClassVar

import pytest
from tests.kits.choices import chosen_by_prompt

from tickmind.agent import CharacterHost, Start
from tickmind.characters.villager import Villager
from tickmind.protocol import RunInfo
from tickmind.server.testing import meadow
from tickmind.strategy import Deliberation
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld


class SlowModel:
    """Answers by the prompt alone, each time after a while that nothing repeats."""

    def __init__(self):
        self.prompts: list[str] = []
        self._chance = random.Random()

    async def answer(self, question):
        self.prompts.append(f"{question.system_prompt}\n{question.user_message}")
        await asyncio.sleep(self._chance.choice((0, 0, 0.001, 0.004)))
        return Deliberation(chosen_by_prompt(question.user_message))


def lived(groups, seed, ticks=40, thinking_ticks=0, kind=Villager):
    """State hashes, prompts and thoughts of a lockstep run whose characters are grouped into processes like this."""
    world = TileWorld.from_scenario(meadow(6))
    hosts, models = [], [SlowModel() for _ in groups]
    for rows, model in zip(groups, models, strict=True):
        host = CharacterHost(kind, Start, client=model)
        host.enter(RunInfo("run", seed, thinking_ticks))
        hosts.append((host, rows))
    hashes, thoughts = [], []
    for _ in range(ticks):
        intents = {}
        for host, rows in hosts:
            seen = [replace(one, deadline_ms=int(MAX_DURATION_MS.maximum)) for one in world.observe(rows)]
            host.begin(world.tick_id, seen)
            for row, observation in zip(rows, seen, strict=True):
                host.perceive(observation)
                intents[row] = host.act(observation)
        for host, _ in hosts:
            host.reflect(world.tick_id)
            thoughts += [
                (who, thought.asked_tick, thought.answered_tick, thought.reply) for who, thought in host.take_thoughts()
            ]
        world.step(intents)
        hashes.append(world.state_hash())
    prompts = sorted(prompt for model in models for prompt in model.prompts)
    for host, _ in hosts:
        host.close()
    return hashes, prompts, sorted(thoughts)


@pytest.mark.parametrize("groups", [[range(6)], [[5], [0, 3], [4, 1, 2]], [[row] for row in range(6)]], ids=len)
def test_a_lockstep_run_with_minds_repeats(groups):
    first = lived([range(6)], 7)
    assert lived(groups, 7) == first
    assert len(first[2]) >= 6


def test_another_seed_gives_other_minds():
    assert lived([range(6)], 8)[1] != lived([range(6)], 7)[1]


@pytest.mark.parametrize(("thinking_ticks", "taken"), [(0, 0), (1, 0), (4, 3)])
def test_a_reply_acts_so_many_ticks_after_its_question_as_the_scenario_says(thinking_ticks, taken):
    """It is taken in after the tick before."""
    _, _, thoughts = lived([range(6)], 7, ticks=12, thinking_ticks=thinking_ticks)
    assert {answered - asked for _, asked, answered, _ in thoughts} == {taken}


class Streaming(Villager):
    """A villager that takes in fields as they arrive, where a world lets it."""

    thinking: ClassVar = replace(Villager.thinking, config=replace(Villager.thinking.config, stream_fields=True))


def test_fields_that_arrive_early_wait_for_their_tick_in_lockstep():
    hashes, _, thoughts = lived([range(6)], 7, ticks=12, kind=Streaming)
    assert len(hashes) == 12
    assert thoughts


@pytest.mark.parametrize("enters_first", [True, False])
def test_a_host_follows_the_timing_of_each_world_that_it_enters(enters_first):
    world = TileWorld.from_scenario(meadow(2))
    host = CharacterHost(Villager, Start, client=SlowModel())
    host.enter(RunInfo("first", 1, 0))
    if enters_first:
        host.begin(1, [replace(one, deadline_ms=500) for one in world.observe(range(2))])
    else:
        host.character("entity:1")
    host.enter(RunInfo("second", 1, 4))
    thoughts = []
    for _ in range(12):
        seen = [replace(one, deadline_ms=int(MAX_DURATION_MS.maximum)) for one in world.observe(range(2))]
        host.begin(world.tick_id, seen)
        for observation in seen:
            host.perceive(observation)
        world.step({row: host.act(observation) for row, observation in enumerate(seen)})
        host.reflect(world.tick_id)
        thoughts += host.take_thoughts()
    host.close()
    assert {thought.answered_tick - thought.asked_tick for _, thought in thoughts} == {3}
