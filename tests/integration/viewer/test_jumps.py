"""Jumping about in a long record: whoever jumps waits for nobody."""

import asyncio
import threading

import aiohttp
import numpy as np
import pytest

from tickmind.protocol import ACTION_CODES, UNUSED, ActionType, IntentColumns
from tickmind.record import LogOptions, RunStore, SyncPolicy
from tickmind.server.testing import meadow
from tickmind.viewer.frames import FrameKind, unpack
from tickmind.viewer.server import ViewerConfig, ViewerServer
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.world import TileWorld

pytestmark = pytest.mark.asyncio

TICKS = 400
ACTORS = 30
WAIT_S = 120  # until something that takes no time on an idle machine counts as failed


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of people who walk about; call it to open it."""
    store = RunStore(tmp_path_factory.mktemp("runs"))
    world = TileWorld.from_scenario(meadow(ACTORS))
    dice = np.random.default_rng(3)
    rows = np.arange(ACTORS, dtype=np.int32)
    unused = np.full(ACTORS, UNUSED, dtype=np.int32)
    moves = np.full(ACTORS, ACTION_CODES[ActionType.MOVE], dtype=np.uint8)
    log = store.create(world.info, "walk", options=LogOptions(sync=SyncPolicy.NEVER))
    for _ in range(TICKS):
        ways = dice.integers(0, 8, ACTORS).astype(np.int8)
        log.publish(world.step(IntentColumns(rows, moves, ways, unused, unused, unused, {})))
    log.close()
    return lambda: store.open("walk")


def ticks_of(data):
    return [frame.tick_id for frame in unpack(data) if frame.kind is FrameKind.TICK]


async def test_a_jump_comes_before_a_window_that_was_asked_for_earlier(run):
    async with ReplaySource(run) as source:
        window = asyncio.create_task(source.window(1, TICKS))
        jump = asyncio.create_task(source.state(350))
        done, _ = await asyncio.wait({window, jump}, return_when=asyncio.FIRST_COMPLETED)
        assert jump in done
        whole = await window
        assert ticks_of(whole) == list(range(1, TICKS + 1))
        (key,) = unpack(await jump)
        assert (key.kind, key.tick_id) == (FrameKind.KEYFRAME, 350)
        assert (await source.window(351, 360)).startswith(await jump)  # the same bytes


async def test_a_jump_waits_for_no_tick_that_a_window_is_being_read_from(run):
    reading, go_on = threading.Event(), threading.Event()

    def open_run():
        reader = run()
        records = reader.records

        def slow(first, last):
            reading.set()
            assert go_on.wait(WAIT_S)
            yield from records(first, last)

        reader.records = slow
        return reader

    async with ReplaySource(open_run) as source:
        window = asyncio.create_task(source.window(1, 9))
        assert await asyncio.to_thread(reading.wait, WAIT_S)
        (key,) = unpack(await asyncio.wait_for(source.state(350), WAIT_S))
        assert key.tick_id == 350
        assert not window.done()
        go_on.set()
        assert ticks_of(await window) == list(range(1, 10))


async def test_jumps_during_a_window_leave_it_whole(run):
    async with ReplaySource(run) as source:
        window = asyncio.create_task(source.window(1, TICKS))
        jumps = await asyncio.gather(*(source.state(tick) for tick in (7, TICKS, 7, 120, 1, 9999)))
        assert [next(unpack(one)).tick_id for one in jumps] == [7, TICKS, 7, 120, 1, TICKS]
        assert ticks_of(await window) == list(range(1, TICKS + 1))


async def test_a_window_that_nobody_wants_any_more_is_let_go(run):
    reading = threading.Event()

    def open_run():
        reader = run()
        records = reader.records

        def telling(first, last):
            for record in records(first, last):
                reading.set()
                yield record

        reader.records = telling
        return reader

    async with ReplaySource(open_run) as source:
        for _ in range(3):
            reading.clear()
            window = asyncio.create_task(source.window(1, TICKS))
            assert await asyncio.to_thread(reading.wait, WAIT_S)
            window.cancel()
            await asyncio.gather(window, return_exceptions=True)
            assert ticks_of(await source.window(5, 9)) == [5, 6, 7, 8, 9]
        assert ticks_of(await source.window(1, TICKS)) == list(range(1, TICKS + 1))


class Endless:
    """A source whose windows never come."""

    watchers = None

    def __init__(self):
        self.asked = asyncio.Event()
        self.gone = asyncio.Event()

    async def window(self, first, last):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.gone.set()


async def test_whoever_goes_away_takes_the_question_along(page_built):
    source = Endless()
    showing = ViewerServer(source, ViewerConfig(port=0))  # type: ignore[arg-type]  # more of it is not asked for
    async with showing as server, aiohttp.ClientSession() as session:
        asking = asyncio.create_task(session.get(f"{server.url}api/window?first=1&last=9"))
        await asyncio.wait_for(source.asked.wait(), WAIT_S)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await asyncio.wait_for(source.gone.wait(), WAIT_S)
