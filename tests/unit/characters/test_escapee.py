"""Two prisoners get out together, also on a machine that makes them miss turns."""

import random
from pathlib import Path

import pytest
from tests.long import short_or_long

from tickmind.agent import CharacterHost, Settings, Start
from tickmind.characters.escapee import Escapee
from tickmind.world import TileWorld, load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios" / "escape.yaml"
BENCHES = {(7, 12), (13, 12)}
LATEST_START = 30  # the tick in which the second process is up at last


class Prison:
    """Two prisoners, each with a process that may start late, and miss or waste turns."""

    def __init__(self, scenario, seed=0, missed=0.0, starts=(1, 1)):
        self.world = TileWorld.from_scenario(scenario)
        self._chance = random.Random(seed)
        self._missed = missed
        self._starts = starts
        self._hosts = [CharacterHost(Escapee, self._start) for _ in starts]
        self._away = [0] * len(starts)  # turns that a process still misses

    def _start(self, entity_id):
        return Start(entity_id, Settings(), random.Random(entity_id))

    def live(self, ticks):
        """Live until both sit on benches; return the tick, or None if that takes too long."""
        for _ in range(ticks):
            observations = self.world.observe(range(2))
            if {(seen.me.x, seen.me.y) for seen in observations} == BENCHES:
                return self.world.tick_id
            intents = {row: self._turn(row, seen) for row, seen in enumerate(observations)}
            self.world.step({row: intent for row, intent in intents.items() if intent is not None})
        return None

    def _turn(self, row, observation):
        if observation.tick_id < self._starts[row]:
            return None
        if self._away[row] == 0 and self._happens(0.3 * self._missed):
            self._away[row] = self._chance.randint(1, 6)  # it does not get the processor for a while
        if self._away[row] or self._happens(self._missed):
            self._away[row] = max(0, self._away[row] - 1)
            return None  # a newer observation took the place of this one, so what it heard is lost, too
        host = self._hosts[row]
        host.begin(observation.tick_id, [observation])
        host.perceive(observation)
        if self._happens(self._missed / 2):
            return None  # it has perceived, but there was no time to act
        intent = host.act(observation)
        return None if self._happens(self._missed) else intent  # it may be late

    def _happens(self, probability):
        return self._chance.random() < probability


@pytest.fixture(scope="module")
def scenario():
    return load_scenario(SCENARIO)


def _starts(seed):
    """Return when two processes start: one at once, one at some later time."""
    chance = random.Random(f"starts {seed}")
    return chance.sample((1, chance.randint(1, LATEST_START)), 2)


def _left_behind(scenario, seeds, most_missed):
    """Return the seeds for which not both get out; each has its own share of missed turns."""
    shares = {seed: most_missed * random.Random(f"missed {seed}").random() for seed in seeds}
    return [seed for seed in seeds if Prison(scenario, seed, shares[seed], _starts(seed)).live(600) is None]


def test_two_prisoners_on_a_calm_machine_are_out_soon(scenario):
    assert Prison(scenario).live(60) is not None


@pytest.mark.parametrize("late", [0, 1])
def test_a_prisoner_who_starts_late_hears_the_code_when_it_is_said_again(scenario, late):
    starts = [1, 1]
    starts[late] = LATEST_START
    assert Prison(scenario, starts=starts).live(LATEST_START + 60) is not None


@pytest.mark.slow
def test_prisoners_who_miss_turns_get_out(scenario):
    assert _left_behind(scenario, range(short_or_long(15, 220)), most_missed=0.3) == []
