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


class Door:
    """A way to a world that counts the answers to its clients' pings: all connections through it end with it."""

    def __init__(self, address):
        self._host, self._port = address.rsplit(":", 1)
        self._open = set()
        self.answered: asyncio.Queue[None] = asyncio.Queue()

    @asynccontextmanager
    async def opened(self):
        """Give the address of the door."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()  # before its connections end, or a client would come again
            await server.wait_closed()
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open)

    async def _serve(self, reader, writer):
        self._open.add(asyncio.current_task())
        links = [writer]
        try:
            up_reader, up_writer = await asyncio.open_connection(self._host, int(self._port))
            links.append(up_writer)
            await asyncio.gather(self._copy(reader, up_writer, PREFACE), self._copy(up_reader, writer, 0))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # one side is gone, or the test is over
        finally:
            for link in links:
                link.close()
            for link in links:
                with suppress(ConnectionError):
                    await link.wait_closed()

    async def _copy(self, reader, writer, preface):
        """Hand frames of HTTP/2 on, and count the answers to pings."""
        writer.write(await reader.readexactly(preface))
        while True:
            head = await reader.readexactly(9)
            writer.write(head + await reader.readexactly(int.from_bytes(head[:3])))
            if not preface and (head[3], head[4]) == (PING, ACK):
                self.answered.put_nowait(None)


async def test_a_watcher_of_a_world_that_stands_still_is_never_sent_away(serve, until, monkeypatch):
    monkeypatch.setattr(connection, "_PING_MS", 200)
    monkeypatch.setattr(connection, "_PING_TOLERATED_MS", 1)
    async with serve(running=False) as server:
        door = Door(server.address)
        async with door.opened() as address, WorldClient(WorldEndpoint(address, timeout_s=60)) as client:
            events = client.viewer_events(await client.world(), retry=None)
            watching = asyncio.ensure_future(anext(events))
            await until(lambda: server.statistics().streams.get("viewer") == 1)
            counted = asyncio.ensure_future(_take(door.answered, ENOUGH))
            await asyncio.wait([watching, counted], return_when=asyncio.FIRST_COMPLETED)
            assert not watching.done(), watching.exception()
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


async def _take(queue, number):
    for _ in range(number):
        await queue.get()
