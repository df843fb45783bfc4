"""A watcher of a world that stands still stays: its pings are answered, never taken for abuse."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from tickmind.wire import WorldClient, WorldEndpoint
from tickmind.wire.client import connection

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180)]
PREFACE = 24  # bytes that a client of HTTP/2 sends before its first frame
PING, ACK = 6, 1
ENOUGH = 6  # gRPC ends a connection at the third ping that comes too early


async def copy(reader, writer, preface, on_frame):
    """Hand frames of HTTP/2 on until one side is gone, and name the type and flags of each."""
    try:
        writer.write(await reader.readexactly(preface))
        while True:
            head = await reader.readexactly(9)
            writer.write(head + await reader.readexactly(int.from_bytes(head[:3])))
            on_frame(head[3], head[4])
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@asynccontextmanager
async def counting_pings(address):
    """A door to a world that counts the answers to its clients' pings; gives its address and their number."""
    host, port = address.rsplit(":", 1)
    answered: asyncio.Queue[None] = asyncio.Queue()
    links: list[asyncio.StreamWriter] = []
    over = asyncio.Event()

    async def serve(reader, writer):
        up_reader, up_writer = await asyncio.open_connection(host, int(port))
        links.extend((writer, up_writer))

        def on_reply(kind, flags):
            if (kind, flags) == (PING, ACK):
                answered.put_nowait(None)

        await asyncio.gather(copy(reader, up_writer, PREFACE, lambda *_: None), copy(up_reader, writer, 0, on_reply))
        over.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", answered
        for link in links:
            link.close()
        await over.wait()


async def test_a_watcher_of_a_world_that_stands_still_is_never_sent_away(serve, until, monkeypatch):
    monkeypatch.setattr(connection, "_PING_MS", 200)
    monkeypatch.setattr(connection, "_PING_TOLERATED_MS", 1)
    async with (
        serve(running=False) as server,
        counting_pings(server.address) as (address, answered),
        WorldClient(WorldEndpoint(address, timeout_s=60)) as client,
    ):
        events = client.viewer_events(await client.world(), retry=None)
        watching = asyncio.ensure_future(anext(events))
        await until(lambda: server.statistics().streams.get("viewer") == 1)
        counted = asyncio.ensure_future(_take(answered, ENOUGH))
        await asyncio.wait([watching, counted], return_when=asyncio.FIRST_COMPLETED)
        assert not watching.done(), watching.exception()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _take(queue, number):
    for _ in range(number):
        await queue.get()
