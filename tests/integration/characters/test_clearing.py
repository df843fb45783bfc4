"""The newcomer's characters live in the clearing for long, by the real rules and without a network."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tickmind.agent import Start
from tickmind.agent.testing import observe
from tickmind.characters.berry_eater import berry_eater
from tickmind.characters.random_walker import RandomWalker
from tickmind.cli.new import AGENT
from tickmind.protocol import ActionType, ActorStatus, Direction, Move, Wait, Wake
from tickmind.world import TileWorld, load_scenario

CLEARING = Path(__file__).parents[3] / "scenarios" / "clearing.yaml"
TICKS = 1500
LATELY = 300  # ticks, in which nobody sleeps all the time


def written():
    """The agent that `tickmind new agent` writes."""
    found = {"__name__": "gatherer"}
    exec(AGENT.format(name="gatherer", title="Gatherer"), found)
    return found["gatherer"]


@pytest.mark.slow
def test_after_long_everybody_in_the_clearing_still_acts():
    world = TileWorld.from_scenario(load_scenario(CLEARING))
    walker = RandomWalker(Start("entity:3", random=random.Random(3)))
    acts = [written(), berry_eater, walker.act]
    lately: Counter[tuple[str, str]] = Counter()
    vain: Counter[tuple[str, str]] = Counter()
    for _ in range(TICKS):
        seen = world.observe(range(3))
        record = world.step({row: act(one) for row, (act, one) in enumerate(zip(acts, seen, strict=True))})
        if world.tick_id > TICKS - LATELY:
            for result in record.action_results():
                (lately if result.ok else vain)[result.actor_id, result.action_type] += 1
    for name in ("entity:1", "entity:2", "entity:3"):
        assert lately[name, ActionType.MOVE] > LATELY / 3, (lately, vain)
        assert sum(times for (who, _), times in vain.items() if who == name) < LATELY / 3, vain
    for name in ("entity:1", "entity:2"):
        assert lately[name, ActionType.USE] >= 1, lately


def test_whoever_is_asleep_wants_to_wake_up():
    for act in (written(), berry_eater, RandomWalker(Start("me")).act):
        assert act(observe("@.b", status=ActorStatus.ASLEEP, hunger=500, carrying={"berries": 1})) == Wake()


def test_nobody_pushes_against_those_who_stand_there():
    for act in (written(), berry_eater, RandomWalker(Start("me")).act):
        assert act(observe("###\n1@#\n###")) == Wait()
        assert act(observe("1..\n@..\n###")) == Move(Direction.E)
    for act in (written(), berry_eater):
        assert act(observe("@1b\n...")) == Move(Direction.SE)
