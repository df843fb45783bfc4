"""Control streams of a bridge's clients, over one stream to a real world."""

import asyncio
from typing import Any

import pytest
from tests.kits.served_world import LOCKSTEP, came_true, serving

from tickmind.base import Secret
from tickmind.protocol import Reason
from tickmind.server import ServerConfig
from tickmind.wire import (
    ControlClosedError,
    NotAllowedError,
    OverloadedError,
    RefusedMessageError,
    UnreachableError,
    WireError,
    WorldEndpoint,
    codec,
)
from tickmind.wire.client.link import MAX_UNSENT
from tickmind.wire.client.relay import MAX_RELAY_CHANNELS, WorldRelay
from tickmind.wire.messages.frames import Closed, ControlOpen, KeepAlive
from tickmind.wire.v1 import control_pb2

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]
TOKEN = Secret("a-token-of-this-world")


class Client:
    """A client of a bridge."""

    def __init__(self, relay, token=None):
        self.frames: list[Any] = []
        self.ends: list[WireError | None] = []
        self.link = relay.caller(token).control(self.take, self.ends.append)

    def take(self, data):
        self.frames.append(codec.decode_down(control_pb2.ControlResponse.FromString(data)))

    async def open(self, entity_id):
        """Open the control of an entity, and return the answer."""
        first = written(ControlOpen(entity_id, f"agent of {entity_id}"))
        opened = codec.decode_down(control_pb2.ControlResponse.FromString(await self.link.open(first)))
        self.link.start_silently()
        return opened


def written(frame):
    return codec.encode_up(frame).SerializeToString()


def one_connection(server, **given):
    return WorldRelay(WorldEndpoint(server.address, timeout_s=60, **given), channels=MAX_RELAY_CHANNELS.at(1))


def streams(server):
    return {kind: count for kind, count in server.statistics().streams.items() if count}


async def test_clients_share_a_stream_until_the_last_has_left():
    async with serving(pace=LOCKSTEP) as server:
        relay = one_connection(server)
        clients = [Client(relay) for _ in range(3)]
        opened = await asyncio.gather(*(client.open(f"entity:{n}") for n, client in enumerate(clients, 1)))
        assert [answer.lease.entity_id for answer in opened] == ["entity:1", "entity:2", "entity:3"]
        assert streams(server) == {"relay": 1, "control": 3}
        await came_true(lambda: all(client.frames for client in clients))
        for client in clients[:2]:
            await client.link.close()
            assert client.ends == [None]
        await came_true(lambda: streams(server) == {"relay": 1, "control": 1})
        clients[2].link.send_nowait(written(KeepAlive()))
        await clients[2].link.close()
        await came_true(lambda: streams(server) == {})
        again = Client(relay)
        assert (await again.open("entity:4")).lease.entity_id == "entity:4"
        await relay.close()
        await came_true(lambda: streams(server) == {})
        assert isinstance(again.ends[0], ControlClosedError)


async def test_a_refused_client_gets_the_reason_and_the_others_stay():
    async with serving(pace=LOCKSTEP) as server:
        relay = one_connection(server)
        first, second, third = (Client(relay) for _ in range(3))
        await first.open("entity:1")
        assert (await second.open("nobody")).reason is Reason.UNKNOWN_ENTITY
        await came_true(lambda: second.ends)
        assert isinstance(second.ends[0], ControlClosedError)
        with pytest.raises(ControlClosedError):
            second.link.send_nowait(written(KeepAlive()))
        with pytest.raises(RefusedMessageError, match="the first frame"):
            await third.link.open(written(KeepAlive()))
        assert not first.ends
        await relay.close()


async def test_each_token_has_a_stream_of_its_own_and_a_wrong_one_none():
    async with serving(pace=LOCKSTEP, config=ServerConfig("127.0.0.1:0", tokens=(TOKEN, Secret("another")))) as server:
        relay = one_connection(server)
        first, second = Client(relay, TOKEN), Client(relay, Secret("another"))
        await first.open("entity:1")
        await second.open("entity:2")
        assert streams(server) == {"relay": 2, "control": 2}
        for token in (None, Secret("a-wrong-token")):
            with pytest.raises(NotAllowedError):
                await Client(relay, token).open("entity:3")
        assert not first.ends + second.ends
        await relay.close()


async def test_a_world_that_stops_ends_all_of_them():
    async with serving(pace=LOCKSTEP) as server:
        relay = one_connection(server)
        clients = [Client(relay) for _ in range(2)]
        for number, client in enumerate(clients, 1):
            await client.open(f"entity:{number}")
    await came_true(lambda: all(client.ends for client in clients))
    assert [client.frames[-1] for client in clients] == [Closed(Reason.STOPPING)] * 2
    with pytest.raises(UnreachableError):
        await Client(relay).open("entity:1")
    await relay.close()


async def test_one_client_that_sends_too_much_at_once_is_refused_alone():
    async with serving(pace=LOCKSTEP) as server:
        relay = one_connection(server)
        first, second = Client(relay), Client(relay)
        await first.open("entity:1")
        await second.open("entity:2")
        alive = written(KeepAlive())
        for _ in range(MAX_UNSENT):
            first.link.send_nowait(alive)
        with pytest.raises(OverloadedError):
            first.link.send_nowait(alive)
        second.link.send_nowait(alive)
        await came_true(lambda: first.link.unsent == 0)
        first.link.send_nowait(alive)
        await relay.close()
