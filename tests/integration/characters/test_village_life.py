"""Villagers by the real rules, without a network, while no model answers: they live sensibly on what they see."""

import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.characters.villager import Villager
from tickmind.mind.promises import PromiseState
from tickmind.mind.talk import Talk, TalkEnd
from tickmind.mind.talk.sessions import MAX_TALK_LINES
from tickmind.protocol import ActionType, Persona
from tickmind.strategy import Deliberation
from tickmind.wire.messages.limits import MAX_DURATION_MS
from tickmind.world import TileWorld, load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios" / "willowbrook.yaml"


class Watched(Villager):
    """A villager whose ended talks are kept."""

    ended: ClassVar[list[Talk]] = []

    def __init__(self, start):
        super().__init__(start)
        settle, talks = self.talker.settle, self.talker.talks

        def keep(tick):
            self.ended.extend(talks.ended)
            settle(tick)

        self.talker.settle = keep  # type: ignore[method-assign]  # to see what it settles


class OutOfOrder:
    """A model that fails until it is mended."""

    def __init__(self):
        self.mended = False

    async def answer(self, question):
        if not self.mended:
            raise ConnectionError("the model is out of order")
        return Deliberation("sit for a while")


@pytest.mark.slow
def test_while_all_models_fail_for_a_day_villagers_eat_talk_keep_promises_and_seldom_repeat_themselves():
    world = TileWorld.from_scenario(load_scenario(SCENARIO))
    info, rows = world.info, range(len(world.info.actors))
    personas = {actor.entity_id: actor.persona or Persona() for actor in info.actors}
    food = Settings({"food": ["bread", "stew", "fish", "tea", "berries"]})
    model = OutOfOrder()
    company = CharacterHost(
        Watched,
        lambda who: Start(who, food, random.Random(who), personas[who], info.setting, info.kinds, items=info.items),
        client=model,
    )
    Watched.ended.clear()
    first = world.observe(rows)
    farthest = [0] * len(rows)  # steps from where each began
    did, lines, in_need = Counter[str](), list[tuple[str, str]](), 0
    traded: set[str] = set()
    for _ in range(600):
        observations = [replace(seen, deadline_ms=int(MAX_DURATION_MS.maximum)) for seen in world.observe(rows)]
        company.begin(world.tick_id, observations)
        for seen in observations:
            company.perceive(seen)
        record = world.step({row: company.act(seen) for row, seen in enumerate(observations)})
        for result in record.action_results():
            did[str(result.action_type)] += result.ok
            if result.ok and result.action_type in (ActionType.BUY, ActionType.SELL):
                traded.update(effect.name.removeprefix("inventory.") for effect in result.effects)
        lines += [(said.actor_id, said.text) for said in record.utterances]
        farthest = [
            max(before, abs(a.me.x - b.me.x) + abs(a.me.y - b.me.y))
            for before, a, b in zip(farthest, first, observations, strict=True)
        ]
        in_need += sum(seen.me.hunger >= 700 or seen.me.energy < 150 for seen in observations)
        company.reflect(record.tick_id)
    thoughts = company.take_thoughts()
    assert len(thoughts) >= len(rows)
    assert all(thought.error_type for _, thought in thoughts)
    model.mended = True
    for _ in range(400):
        observations = [replace(seen, deadline_ms=int(MAX_DURATION_MS.maximum)) for seen in world.observe(rows)]
        company.begin(world.tick_id, observations)
        for seen in observations:
            company.perceive(seen)
        company.reflect(world.step({row: company.act(seen) for row, seen in enumerate(observations)}).tick_id)
        if any(not thought.error_type for _, thought in company.take_thoughts()):
            break
    else:
        raise AssertionError("nobody thought again after the model was mended")
    company.close()
    assert min(farthest) > 8
    assert in_need <= 0.03 * 600 * len(rows)
    assert did["Interact"] >= 6  # the doors
    assert did["Pickup"] > 20
    assert min(did["Buy"], did["Sell"]) > 20
    assert {"bread", "coin", "fish", "flour", "wheat"} <= traded
    assert len(lines) > 200
    names = re.compile(rf"\b(?:{'|'.join(personas)})\b", re.IGNORECASE)
    masked = Counter((who, names.sub("*", text)) for who, text in lines)
    assert sum(count - 1 for count in masked.values()) <= 0.1 * len(lines)
    real = [talk for talk in Watched.ended if {line.speaker_id for line in talk.lines} > {talk.partner_id}]
    assert len(real) > 50
    assert all(len(talk.lines) <= talk.most_lines for talk in real)
    assert max(len(talk.lines) for talk in real if len(talk.with_ids) == 1) <= MAX_TALK_LINES.maximum
    assert any(len(talk.with_ids) > 1 for talk in real)  # some talk in a circle
    assert sum(talk.ended is TalkEnd.FAREWELL for talk in real) >= 0.9 * len(real)
    promised = [one for who in personas for one in company.character(who).talker.promises if one.by == who]
    kept, broken = (sum(one.state is state for one in promised) for state in (PromiseState.KEPT, PromiseState.BROKEN))
    assert kept >= 5
    assert kept >= 0.7 * (kept + broken)
    heard = [entry for who in personas for entry in company.character(who).memory if entry.told_by]
    assert len(heard) > 50
