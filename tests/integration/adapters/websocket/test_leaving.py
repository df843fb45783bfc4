"""A client that leaves while its connection is being closed does not cut the closing short."""

import asyncio

import pytest

import tickmind.adapters.websocket.endpoint as endpoint_module
from tickmind.adapters.websocket import WebSocketConfig, WebSocketServer
from tickmind.wire import WorldEndpoint

HANDSHAKE = (
    "GET /ws/v1 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    "Sec-WebSocket-Protocol: tickmind.v1.json\r\n\r\n"
)
pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]


class ClosingSession:
    """A session that is closing its streams to the world, which takes until `may_end` is set."""

    is_stalled = False

    def __init__(self, *_given):
        self.noticed = asyncio.Event()
        self.may_end = asyncio.Event()
        self.is_cut = False
        sessions.append(self)

    async def run(self):
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.is_cut = True
            self.noticed.set()
            raise

    def leave(self):
        self.noticed.set()

    def stop(self):
        self.may_end.set()


sessions: list[ClosingSession] = []


async def test_a_client_that_leaves_meanwhile_waits_for_the_end_of_the_closing(monkeypatch):
    monkeypatch.setattr(endpoint_module, "SocketSession", ClosingSession)
    async with WebSocketServer(WorldEndpoint("127.0.0.1:1"), WebSocketConfig(port=0)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.split(":")[2].split("/")[0]))
        writer.write(HANDSHAKE.encode())
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        (session,) = sessions
        writer.transport.abort()
        async with asyncio.timeout(60):
            await session.noticed.wait()
        assert not session.is_cut
        assert server.endpoint.connections == 1
        session.may_end.set()
        async with asyncio.timeout(60):
            while server.endpoint.connections:  # noqa: ASYNC110 - the endpoint has no event for it
                await asyncio.sleep(0)
    sessions.clear()
