"""Worlds under load, in processes of their own; the benchmark `world_load` asks for more and for longer."""

import asyncio
import multiprocessing
import threading
from concurrent.futures import Future
from contextlib import contextmanager

import pytest
from benchmarks import world_load
from benchmarks.world_load import control_agents, flooded, hosts, plain_agents, stalled_beside
from tests.integration.stopwatch import Stopwatch
from tests.long import short_or_long

LONGEST_S = 240
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@contextmanager
def watching():
    """Notice how long the machine stands still meanwhile."""
    watch, over = Stopwatch(), threading.Event()

    def look():
        while not over.is_set():
            watch.look()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()


def run(*given, **options):
    """As `world_load.run`, in a thread of its own, so that a load that does not end fails and holds nobody up."""
    found: Future[world_load.Run] = Future()

    def load():
        try:
            found.set_result(world_load.run(*given, **options))
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test raises it
            found.set_exception(error)

    threading.Thread(target=load, daemon=True).start()
    try:
        return found.result(LONGEST_S)
    finally:
        for process in multiprocessing.active_children():
            process.kill()  # there are some only if it did not end


def test_a_load_whose_agents_do_not_come_fails(monkeypatch):
    monkeypatch.setattr(world_load, "OPENING_S", 0.05)
    monkeypatch.setattr(world_load, "ENDING_S", 0.05)
    told = []

    async def agent():
        try:
            await asyncio.Event().wait()
        finally:
            told.append("once")
            await asyncio.Event().wait()  # for a world that does not answer

    async def load():
        await world_load._all_open([asyncio.ensure_future(agent()) for _ in range(2)], asyncio.Semaphore(0))

    with pytest.raises(world_load.NotOpenError, match="not all"):
        asyncio.run(load())
    assert told == ["once", "once"]


def test_a_world_that_dies_is_not_waited_for():
    with world_load.world(4) as (_, pipe):
        [process] = multiprocessing.active_children()
        process.kill()
        with pytest.raises((EOFError, ConnectionResetError)):
            pipe.recv()


def answered(intents):
    """Enough: each of them was accepted twice, on average. How soon that is depends on the machine."""
    return lambda found: found.ticks >= 3 and found.accepted >= 2 * intents


def check(figures, intents):
    """All that was asked was done; how quickly is a matter of the machine."""
    assert figures.ticks >= 3
    assert figures.accepted >= 2 * intents
    assert set(figures.refused) <= {"late_tick"}
    assert figures.cut == 0


def test_agents_on_streams_of_their_own_are_answered():
    check(run(60, control_agents(60), 120, enough=answered(60)).figures, 60)


def test_hosts_of_many_are_answered():
    check(run(4000, hosts(4000, 4), 120, enough=answered(4000)).figures, 4000)


def test_agents_with_plain_calls_are_answered():
    check(run(40, plain_agents(40), 120, enough=answered(40)).figures, 40)


@pytest.mark.realtime(alone=True)
def test_a_flood_of_plain_calls_costs_no_tick_and_no_lease():
    actors, (seconds, most_asked) = 20_000, short_or_long((4, 1500), (120, 4000))
    with watching() as watch:  # a renewal that fails ends the run with its error
        figures = run(actors, flooded(10, 20, most_asked), seconds, tick_ms=500).figures
    assert figures.refused["unknown_entity"] > 0  # a part of the flood was answered
    assert set(figures.refused) <= {"late_tick", "unknown_entity"}
    assert figures.accepted > 0
    assert figures.overrun_most_ms <= 1000 * watch.held_up_s


@pytest.mark.realtime(alone=True)
def test_stalled_readers_are_cut_off_and_cost_little():
    actors, (stalled, tick_ms) = 2000, short_or_long((60, 100), (200, 200))  # each of which could take megabytes
    agents = stalled_beside(actors, 50, stalled)
    with watching() as watch:
        found = run(actors, agents, 180, tick_ms=tick_ms, enough=lambda found: found.cut == stalled)
    figures = found.figures
    assert figures.cut == stalled
    assert figures.memory_mb - found.before_mb <= 64
    assert figures.accepted > 0
    # a reader that was waited for would hold the world up for the 5 s after which it is cut off
    assert figures.overrun_most_ms <= 2000 + 1000 * watch.held_up_s
    assert figures.jitter_p99_ms <= 500 + 1000 * watch.held_up_s
