"""Readers that stall are cut off, are told so when they read on, and count until they are gone."""

import asyncio

import grpc
import grpc.aio
import pytest

from tickmind.protocol import Thought, Wait
from tickmind.server import ServerConfig
from tickmind.server.limits import MAX, ServerLimits

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]
LONG = "x" * 200_000
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
            assert (await client.report_thought(session.lease, 1, Thought(1, 1, 1, "", "", LONG))).accepted
            await session.submit(observation.tick_id, Wait())
            await until(lambda: server.statistics().streams_cut == 1)
            assert server.statistics().unread_bytes > len(LONG)
            assert server.statistics().streams["viewer"] == 1, "it counts until it is gone"
        async with asyncio.timeout(60):
            assert len(await viewer.read()) > len(LONG)
            with pytest.raises(grpc.aio.AioRpcError) as told:
                await viewer.read()
        assert told.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await until(lambda: server.statistics().streams["viewer"] == 0)
        assert server.statistics().unread_bytes == 0
        await channel.close()
