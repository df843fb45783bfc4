"""Worlds under load, in processes of their own; the benchmark `world_load` asks for more and for longer."""

import pytest
from benchmarks.world_load import control_agents, hosts, plain_agents, run, stalled_beside

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def check(figures, intents):
    """All that was asked was done; how quickly is a matter of the machine."""
    assert figures.ticks >= 3
    assert figures.accepted >= 2 * intents
    assert set(figures.refused) <= {"late_tick"}
    assert figures.cut == 0


def test_agents_on_streams_of_their_own_are_answered():
    figures, _, _ = run(60, control_agents(60), 60, enough=lambda found: found.ticks >= 4)
    check(figures, 60)


def test_hosts_of_many_are_answered():
    figures, _, _ = run(4000, hosts(4000, 4), 60, enough=lambda found: found.ticks >= 4)
    check(figures, 4000)


def test_agents_with_plain_calls_are_answered():
    figures, _, _ = run(40, plain_agents(40), 60, enough=lambda found: found.ticks >= 4)
    check(figures, 40)


def test_stalled_readers_are_cut_off_and_cost_little():
    actors, stalled = 2000, 200
    agents = stalled_beside(actors, 50, stalled)
    figures, _, before_mb = run(actors, agents, 240, tick_ms=200, enough=lambda found: found.cut == stalled)
    assert figures.cut == stalled
    assert figures.memory_mb - before_mb <= 64
    assert figures.accepted > 0
