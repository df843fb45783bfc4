"""The same run, watched live and read from its record."""

import asyncio
from pathlib import Path

import aiohttp
import orjson
import pytest

from tickmind.record import RunStore
from tickmind.viewer.frames import Frame, FrameKind, Tag, unpack
from tickmind.viewer.sources.live import LiveSource
from tickmind.viewer.sources.replay import ReplaySource
from tickmind.wire import Backoff, WorldClient

pytestmark = pytest.mark.asyncio


def by_tick(data, kind=FrameKind.TICK):
    found = {}
    at = 0
    for frame in unpack(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if frame.kind is kind:
            found[frame.tick_id] = data[at : at + size]
        at += size
    return found


@pytest.mark.slow
async def test_live_and_replay_give_the_same_frames_tick_by_tick(village, viewing, until, tmp_path):
    async with village(record=True) as life, viewing(life.client) as (_server, source):
        await life.run(40)
        await until(lambda: source.span().last_tick_id == 40)
        live = by_tick(await source.window(1, 40))
        live_keys = by_tick(await source.window(1, 40), FrameKind.KEYFRAME)
        life.log.close()
    async with ReplaySource(lambda: RunStore(tmp_path / "runs").open("village")) as replay:
        replayed = by_tick(await replay.window(1, 40))
        assert sorted(live) == sorted(replayed) == list(range(1, 41))
        assert {tick for tick in live if live[tick] != replayed[tick]} <= {1}  # nobody has recorded what was before
        for tick, frame in live_keys.items():
            if tick > 0:
                assert by_tick(await replay.window(tick + 1, 40), FrameKind.KEYFRAME)[tick] == frame
        middle = by_tick(await replay.window(17, 23))
        assert middle == {tick: replayed[tick] for tick in range(17, 24)}


def told(data, tag):
    """What the notes in some frames tell, without the order in which it came."""
    sections = [frame.sections[tag] for frame in unpack(data) if tag in frame.sections]
    return sorted(entry for section in sections for entry in orjson.loads(section))


@pytest.mark.slow
async def test_live_and_replay_tell_the_same_of_who_asks_a_model(village, viewing, until, tmp_path):
    asking = [[5, row, "deliberating", "asks for a plan"] for row in range(6)]
    async with village(record=True) as life, viewing(life.client) as (_server, source):
        await life.run(7)
        await until(lambda: source.span().last_tick_id == 7)
        with source.watchers.join() as watcher:  # who comes in the middle of a thought
            assert told(await watcher.next(), Tag.HOLDING) == asking
        await life.run(13)
        await until(lambda: source.span().last_tick_id == 20)
        live = await source.window(1, 20)
        life.log.close()
    async with ReplaySource(lambda: RunStore(tmp_path / "runs").open("village")) as replay:
        replayed = await replay.window(1, 20)
        assert told(live, Tag.STATES) == told(replayed, Tag.STATES) != []
        assert told(live, Tag.HOLDING) == told(replayed, Tag.HOLDING) == []
        assert told(await replay.window(8, 20), Tag.HOLDING) == asking


@pytest.mark.slow
async def test_a_run_that_is_still_growing_is_shown_as_far_as_it_is(village, until, tmp_path):
    async with village(record=True) as life:
        await life.run(12)
        async with ReplaySource(lambda: RunStore(tmp_path / "runs").open("village")) as replay:
            await until(lambda: replay.span().last_tick_id == 12 and replay.digest()["ticks"] == 12)
            assert replay.span().growing
            await life.run(8)
            await until(lambda: replay.span().last_tick_id == 20)
            assert max(by_tick(await replay.window(1, 20))) == 20
            assert [one["reply"] for one in await replay.thoughts(0, 20, 5)] == [life.thought.reply]
            assert await replay.thoughts(0, 7, 5) == []
            life.log.close()
            await until(lambda: not replay.span().growing)
            assert replay.digest()["columns"]["answers"][7] == 6


@pytest.mark.slow
async def test_many_watchers_are_one_subscription_of_the_world(village, viewing, until):
    async with village() as life, viewing(life.client) as (server, source), aiohttp.ClientSession() as session:
        watching = []
        for _ in range(100):
            socket = await session.ws_connect(f"{server.url}live")
            await socket.send_str("")
            watching.append(socket)
        await until(lambda: len(source.watchers) == 100)
        await life.run(10)
        for socket in watching:
            seen = {}
            while 10 not in seen:
                message = await asyncio.wait_for(socket.receive(), 120)
                seen.update(by_tick(message.data))
        assert life.server.statistics().streams["viewer"] == 1
        await session.close()
        await until(lambda: not len(source.watchers) and not any("Watcher" in repr(one) for one in asyncio.all_tasks()))


@pytest.mark.slow
async def test_a_watcher_that_stalls_goes_on_from_a_keyframe(village, viewing, until):
    async with village() as life, viewing(life.client) as (_server, source):
        with source.watchers.join() as slow, source.watchers.join() as quick:
            assert next(unpack(await slow.next())).kind is FrameKind.KEYFRAME
            assert next(unpack(await quick.next())).kind is FrameKind.KEYFRAME
            running = asyncio.create_task(life.run(60))
            seen: list[int] = []
            while not seen or seen[-1] < 60:
                frame = next(unpack(await asyncio.wait_for(quick.next(), 120)))
                if frame.kind is FrameKind.TICK:
                    seen.append(frame.tick_id)
            await running
            assert seen == list(range(1, 61))
            first = next(unpack(await slow.next()))
            assert (first.kind, first.tick_id) == (FrameKind.KEYFRAME, 60)
            assert slow.skipped > 0


@pytest.mark.slow
async def test_a_world_that_was_away_is_found_again(world_process, until, tmp_path):
    runs = ("--runs", tmp_path / "runs", "--tps", 10)
    scenario = Path(__file__).parents[3] / "scenarios" / "clearing.yaml"
    process, address = await world_process(scenario, "--port", 0, "--run-id", "away", *runs)
    port = address.rpartition(":")[2]
    async with WorldClient(address) as client, LiveSource(client, retry=Backoff(first_s=0.05, longest_s=0.2)) as source:
        await until(lambda: source.span().last_tick_id > source.span().first_tick_id)  # however late it joined
        with source.watchers.join() as watcher:
            assert next(unpack(await watcher.next())).kind is FrameKind.KEYFRAME
            process.kill()
            process.wait()
            await until(lambda: not source.span().connected)
            first, seen = source.span().first_tick_id, source.span().last_tick_id
            assert max(by_tick(await source.window(1, seen))) == seen  # what was seen can still be looked at
            await world_process("--resume", "away", "--port", port, *runs)
            await until(lambda: source.span().connected and source.span().last_tick_id > seen + 3)
            frames: list[Frame] = []
            while not frames or frames[-1].tick_id <= seen + 2:
                frames += unpack(await asyncio.wait_for(watcher.next(), 120))
            assert any(frame.kind is FrameKind.KEYFRAME and frame.tick_id >= seen for frame in frames)
            assert (source.span().run_id, source.span().first_tick_id) == ("away", first)  # nothing of it is lost
