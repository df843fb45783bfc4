import asyncio

import pytest

from tickmind.cli.conformance.relay import Relay

pytestmark = pytest.mark.asyncio


async def echo(reader, writer):
    while data := await reader.read(1000):
        writer.write(data)
    writer.close()


async def connect(relay):
    host, port = relay.address.split(":")
    return await asyncio.open_connection(host, int(port))


async def test_bytes_pass_until_connections_are_dropped_and_again_afterwards():
    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server, Relay() as relay:
        relay.lead_to(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        for _ in range(2):
            reader, writer = await connect(relay)
            writer.write(b"hello")
            assert await reader.readexactly(5) == b"hello"
            await relay.drop()
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
            writer.transport.abort()
        assert relay.connections == 2


async def test_a_connection_to_nobody_is_closed():
    async with Relay() as relay:
        for target in (None, "127.0.0.1:1"):
            relay.lead_to(target)
            reader, writer = await connect(relay)
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
            writer.transport.abort()
