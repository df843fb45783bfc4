"""A gateway on a socket that somebody else opened."""

import asyncio
import contextlib
import socket

import pytest

from tickmind.gateway.server import GatewayServer
from tickmind.gateway.settings.config import GatewayConfig

pytestmark = pytest.mark.asyncio


async def test_who_asks_before_the_gateway_is_there_is_answered_when_it_is() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    await writer.drain()
    async with GatewayServer(GatewayConfig(port=1), listener=listener) as server:
        assert server.url == f"http://127.0.0.1:{port}"
        assert (await asyncio.wait_for(reader.readline(), 60)).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_a_socket_that_is_open_to_others_needs_keys_too() -> None:
    with socket.create_server(("0.0.0.0", 0)) as listener, pytest.raises(Exception, match="gateway key"):
        GatewayServer(GatewayConfig(), listener=listener)


@pytest.mark.parametrize("turns", range(5))
async def test_a_connection_that_is_being_accepted_when_the_gateway_stops_is_closed(turns: int) -> None:
    async with GatewayServer(GatewayConfig(port=0)) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as caller:
            for _ in range(turns):
                await asyncio.sleep(0)  # from the accepted socket to its protocol it takes some turns of the loop
            await server.stop(drain_s=0.0)
            for _ in range(4):
                await asyncio.sleep(0)
            assert not server._connections
            with contextlib.suppress(ConnectionResetError):  # as good as an end
                assert caller.recv(1) == b""
