"""Two runs are compared tick by tick and thought by thought, and the first difference is named."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tickmind.protocol import EntityInfo, Thought, ThoughtReport
from tickmind.record import RunReader
from tickmind.record.report.comparison import compare_runs


class Run(RunReader):
    """The parts of a run that are compared."""

    def __init__(self, run_id, hashes, thoughts):
        self._name, self._hashes, self._thoughts = run_id, hashes, thoughts
        self.seed, self.world = 1, "village"
        self.actors: tuple[EntityInfo, ...] = ()

    @property
    def info(self):
        return SimpleNamespace(name=self.world, actors=self.actors, seed=self.seed)

    @property
    def run_id(self):
        return self._name

    def records(self, first=None, last=None):
        return iter([Tick(number, state_hash) for number, state_hash in enumerate(self._hashes, start=1)])

    def thoughts(self, first=None, last=None, actors=None):
        return iter(self._thoughts)


class Tick:
    def __init__(self, tick_id, state_hash):
        self.tick_id, self.state_hash = tick_id, state_hash


def thought(actor="ada", asked=1, **more):
    return ThoughtReport(actor, asked + 1, replace(Thought(1, asked, asked + 1, "You live here.", "Hm?"), **more))


BASE = ([11, 22, 33], [thought(), thought("bram", 2)])


def compared(hashes, thoughts):
    return compare_runs(Run("one", *BASE), Run("two", hashes, thoughts))


def test_equal_runs_are_the_same_whatever_the_order_of_thoughts_and_however_long_they_took():
    outcome = compared(BASE[0], [thought("bram", 2, latency_s=9.0), thought(latency_s=0.1), thought()])
    assert outcome.equal
    assert (outcome.ticks, outcome.thoughts) == (3, 2)


@pytest.mark.parametrize(
    ("hashes", "says"),
    [
        ([11, 23, 33], "the worlds differ after tick 2"),
        ([11, 22], "only one has tick 3"),
        ([11, 22, 33, 44], "only two has tick 4"),
    ],
)
def test_the_first_other_state_is_named(hashes, says):
    assert compared(hashes, BASE[1]).state_difference == says


@pytest.mark.parametrize(
    ("thoughts", "says"),
    [
        ([thought(), thought("bram", 2, reply="Yes.")], "the reply of bram in tick 2: '' and 'Yes.'"),
        ([thought(user_message="Ha?"), thought("bram", 2)], "the user message of ada in tick 1: 'Hm?' and 'Ha?'"),
        ([thought()], "only one has a thought of bram in tick 2"),
        ([*BASE[1], thought("cleo", 3)], "only two has a thought of cleo in tick 3"),
        ([thought(), thought("cleo", 2)], "only one has a thought of bram in tick 2"),
        (
            [thought(error_type="timeout", error="too slow"), thought("bram", 2)],
            "the error of ada in tick 1: '' and 'timeout: too slow'",
        ),
    ],
)
def test_the_first_other_thought_is_named(thoughts, says):
    outcome = compared(BASE[0], thoughts)
    assert outcome.thought_difference == says
    assert not outcome.equal


def test_other_worlds_and_other_seeds_are_named():
    one, other = Run("one", *BASE), Run("two", [11, 23, 33], BASE[1])
    other.seed = 2
    assert compare_runs(one, other).state_difference == "the worlds differ after tick 2, with the seeds 1 and 2"
    other.actors = (EntityInfo("ada", "villager", ("npc",)),)
    assert compare_runs(one, other).state_difference == "they have other actors: none and ada (villager, npc)"
    other.world = "arena"
    assert compare_runs(one, other).state_difference == "they are runs of other worlds: village and arena"
