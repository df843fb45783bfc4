"""Readers that stall are cut off, are told so when they read on, and count until they are gone."""

import asyncio
import math
import time

import grpc
import grpc.aio
import pytest
from tests.long import short_or_long

from tickmind.base.garbage import settle
from tickmind.protocol import Thought, TickRecord, Wait
from tickmind.server import ServerConfig, TickLoop, TickPace
from tickmind.server.limits import MAX, ServerLimits

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]
TEXT = "x" * 200_000
NARROW = [  # a connection that holds less than that for somebody who reads nothing
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 65_536),
    ("grpc.max_receive_message_length", -1),
]


async def test_a_reader_that_is_cut_off_during_its_first_message_is_told_so(serve, talk, lockstep, until):
    limits = ServerLimits(stall_s=MAX.stall_s.at(0.2))
    config = ServerConfig("127.0.0.1:0", limits=limits)
    async with serve(pace=lockstep, config=config) as server, talk(server) as client:
        channel = grpc.aio.insecure_channel(server.address, options=NARROW)
        viewer = channel.unary_stream("/tickmind.v1.ViewerService/StreamViewerEvents")(b"")
        await until(lambda: server.statistics().streams.get("viewer") == 1)
        async with client.control("entity:1", "me") as session:
            observation = await anext(aiter(session))
            assert (await client.report_thought(session.lease, 1, Thought(1, 1, 1, "", "", TEXT))).accepted
            await session.submit(observation.tick_id, Wait())
            await until(lambda: server.statistics().streams_cut == 1)
            assert server.statistics().unread_bytes > len(TEXT)
            assert server.statistics().streams["viewer"] == 1, "it counts until it is gone"
        async with asyncio.timeout(60):
            assert len(await viewer.read()) > len(TEXT)
            with pytest.raises(grpc.aio.AioRpcError) as told:
                await viewer.read()
        assert told.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await until(lambda: server.statistics().streams["viewer"] == 0)
        assert server.statistics().unread_bytes == 0
        await channel.close()


# How much of a tick readers cost that read nothing

TICKS = short_or_long(1_000, 20_000)  # as many as a p99.9 needs
PERIOD_S = 0.05
READERS, EVERY_TICKS = 60, 100
STREAMS = ("/tickmind.v1.ViewerService/StreamViewerEvents", "/tickmind.v1.TickService/StreamTicks")
MOST_WORK_S = PERIOD_S / 2  # of the loop's thread in a tick, at p99.9, readers and all; measured 0.002 to 0.01


class WorkClock:
    """The CPU time of this thread, and what was skipped: a busy machine makes nothing late, only work does."""

    def __init__(self) -> None:
        self._skipped_s = 0.0

    def monotonic(self) -> float:
        return time.thread_time() + self._skipped_s

    def wall(self) -> float:
        return self.monotonic()

    def skip_to(self, at_s: float) -> None:
        self._skipped_s += max(0.0, at_s - self.monotonic())


class TurnsForOthers:
    """Lets everybody else on the loop have some turns, and then skips to the time that is waited for."""

    def __init__(self, clock: WorkClock) -> None:
        self._clock = clock

    async def until(self, at_s: float, poke: asyncio.Event) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        self._clock.skip_to(at_s)


class Ticks:
    """Notes the numbers of the published ticks, and the CPU time of the thread between two of them."""

    def __init__(self) -> None:
        self.published: list[int] = []
        self.work_s: list[float] = []
        self._last_s = time.thread_time()

    def publish(self, record: TickRecord) -> None:
        self.published.append(record.tick_id)
        now_s = time.thread_time()
        self.work_s.append(now_s - self._last_s)
        self._last_s = now_s


async def test_readers_that_read_nothing_make_no_tick_late(serve, talk, until):
    clock = WorkClock()
    async with (
        serve(pace=TickPace(PERIOD_S, PERIOD_S / 2), running=False, clock=clock) as server,
        talk(server) as client,
    ):
        authority = server.authority
        channel = grpc.aio.insecure_channel(server.address, options=NARROW)
        stalled = [channel.unary_stream(path)(b"") for path in STREAMS for _ in range(READERS // len(STREAMS))]
        await until(lambda: sum(server.statistics().streams.values()) == READERS)
        lease = await client.acquire("entity:1", "me")
        settle()  # as a world's own process does: what earlier tests left behind is no work of a tick
        ticks = Ticks()
        loop = TickLoop(authority, pacer=TurnsForOthers(clock), on_tick=ticks.publish)
        for _ in range(TICKS // EVERY_TICKS):
            lease = await client.renew(lease)
            report = client.report_thought(lease, authority.world.tick_id, Thought(1, 1, 1, "", "", TEXT))
            assert (await report).accepted
            assert await loop.run(EVERY_TICKS) == EVERY_TICKS
            await client.renew(lease)
        stuck = [stream for stream in authority.streams._open if stream.writing]
        assert len(stuck) >= READERS // len(STREAMS), "nobody stalled"
        assert ticks.published == list(range(1, TICKS + 1))
        tally = authority.tally
        assert tally.overruns == 0, tally.late_most_s
        assert sorted(ticks.work_s)[math.ceil(0.999 * TICKS) - 1] < MOST_WORK_S
        del stalled
        await channel.close()
