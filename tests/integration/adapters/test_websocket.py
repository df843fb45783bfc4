"""Control, watching, questions and reports over WebSocket, against a real world."""

import pytest
from tests.kits.socket_client import SUBPROTOCOLS, connected

from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
from tickmind.wire import WorldEndpoint
from tickmind.wire.v1 import action_pb2

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]


def at(server):
    return WebSocketServer(WorldEndpoint(server.address), WebSocketConfig(port=0))


@pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
async def test_an_agent_observes_and_acts(serve, lockstep, subprotocol):
    async with serve(pace=lockstep) as server, at(server) as door, connected(door.url, subprotocol) as client:
        opened = await client.open()
        assert opened.lease.entity_id == "entity:1"
        observation = await client.receive_until("control.observation")
        assert observation.me.entity_id == "entity:1"
        ack = await client.intend(observation.tick_id, {"move": {"direction": "DIRECTION_E"}})
        assert ack.accepted
        following = await client.receive_until("control.observation")
        assert following.tick_id == observation.tick_id + 1
        assert following.result.action_type == action_pb2.ACTION_TYPE_MOVE
