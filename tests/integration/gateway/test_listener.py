"""A gateway on a socket that somebody else opened."""

import asyncio
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
