"""Watching and questions over WebSocket."""

import pytest
from tests.kits.socket_client import SUBPROTOCOLS, connected

from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
from tickmind.protocol import Wait
from tickmind.wire import WorldClient, WorldEndpoint, codec, columns
from tickmind.wire.v1 import door_pb2

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]


@pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
async def test_a_client_finds_the_actors_that_are_free(serve, subprotocol):
    async with serve() as (_, server), connected(server.url, subprotocol) as client:
        await client.send(describe={"uncontrolledOnly": True}, requestId=1)
        page = await client.receive_until("describe")
        assert [entity.entity_id for entity in page.entities] == [f"entity:{number}" for number in range(1, 5)]
        await client.open("entity:2")
        await client.send(describe={"uncontrolledOnly": True, "pageSize": 2})
        page = await client.receive_until("describe")
        assert [entity.entity_id for entity in page.entities] == ["entity:1", "entity:3"]
        assert page.more
        await client.send(describe={})
        assert len((await client.receive_until("describe")).entities) == 4


@pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
async def test_a_watcher_gets_the_world_and_what_happens_in_it(serve, subprotocol):
    async with serve() as (world, server), connected(server.url, subprotocol) as client:
        await client.send(world={}, requestId=7)
        reader, last = codec.WorldReader(), False
        while not last:
            part = await client.receive_until("world")
            reader.add(part.part)
            last = part.last
        info = reader.finish()
        assert info == world.authority.info
        bounds = columns.ColumnBounds.of(info)
        await client.send(watch={})
        await client.send(snapshot={})
        before = columns.decode_snapshot((await client.receive_until("snapshot")).snapshot, bounds)
        async with WorldClient(world.address) as agent, agent.control("entity:1", "me") as session:
            observations = aiter(session)
            for _ in range(3):
                await session.submit((await anext(observations)).tick_id, Wait())
            ticks = [columns.decode_viewer_event((await client.receive_until("watch")).event, bounds) for _ in range(2)]
        assert ticks[0].tick_id >= before.tick_id
        assert ticks[1].tick_id == ticks[0].tick_id + 1


async def test_a_filter_that_the_world_refuses_ends_the_connection_with_its_words(serve):
    async with serve() as (_, server), connected(server.url) as client:
        await client.send(watch={"filter": {"regions": [{"minX": 5, "maxX": 1}]}})
        answer = await client.receive()
        assert answer is not None
        assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_REFUSED
        assert answer.error.ends
        assert "INVALID_ARGUMENT" in answer.error.message
        assert await client.receive() is None


async def test_a_question_that_the_world_refuses_leaves_the_connection(serve):
    async with serve() as (_, server), connected(server.url) as client:
        await client.send(describe={"pageSize": -1}, requestId=3)
        answer = await client.receive()
        assert answer is not None
        assert (answer.error.code, answer.error.ends) == (door_pb2.SOCKET_ERROR_CODE_REFUSED, False)
        assert answer.request_id == 3
        await client.send(describe={})
        assert len((await client.receive_until("describe")).entities) == 4


async def test_a_world_that_is_not_there_is_unreachable_and_the_client_may_retry(unused_tcp_port):
    world = WorldEndpoint(f"127.0.0.1:{unused_tcp_port}")
    async with WebSocketServer(world, WebSocketConfig(port=0)) as server, connected(server.url) as client:
        await client.send(describe={})
        answer = await client.receive()
        assert answer is not None
        assert answer.error.code == door_pb2.SOCKET_ERROR_CODE_UNREACHABLE
        assert (answer.error.retry_after_ms, answer.error.ends) == (1000, False)
        await client.send(control={"open": {"entityId": "entity:1", "controllerId": "me"}})
        answer = await client.receive()
        assert answer is not None
        assert (answer.error.code, answer.error.ends) == (door_pb2.SOCKET_ERROR_CODE_UNREACHABLE, True)
