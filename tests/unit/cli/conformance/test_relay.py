"""The relay between an agent and its world: what it cuts is closed on both sides."""

import asyncio

import pytest

from tickmind.cli.conformance.relay import Relay


@pytest.mark.asyncio
@pytest.mark.parametrize("turns", range(5))
async def test_a_connection_that_is_cut_while_it_is_being_cut_is_closed_on_both_sides(turns):
    arrived: asyncio.Queue[asyncio.StreamReader] = asyncio.Queue()
    writers = []

    def accept(reader, writer):
        writers.append(writer)
        arrived.put_nowait(reader)

    world = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with world, Relay() as relay:
        host, port = world.sockets[0].getsockname()
        relay.lead_to(f"{host}:{port}")
        reader, writer = await asyncio.open_connection(*relay.address.split(":"))
        at_world = await arrived.get()
        first = asyncio.create_task(relay.drop())
        for _ in range(turns):
            await asyncio.sleep(0)
        await relay.drop()
        await first
        for side in (reader, at_world):
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await side.readexactly(1)
        for one in (writer, *writers):
            one.close()
