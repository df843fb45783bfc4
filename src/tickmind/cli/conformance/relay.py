"""`Relay`: stands between an agent and its world, so that connections can be dropped and the world can be away."""

import asyncio
from contextlib import suppress

from tickmind.base import Limit

MAX_CONNECTIONS = Limit("number of connections of one agent", 64)
_PIECE_BYTES = 65_536
_HOST = "127.0.0.1"


class Relay:
    """Passes the bytes of TCP connections on, whatever protocol they speak. Use it in `async with`.

    Its own address stays the same while the world behind it comes and goes.
    """

    def __init__(self) -> None:
        self._target: tuple[str, int] | None = None  # None: the world is down
        self._server: asyncio.Server | None = None
        self._port = 0
        self._open: set[asyncio.Task[None]] = set()
        self.connections = 0
        """The number of connections so far that reached the world."""

    async def __aenter__(self) -> "Relay":
        self._server = await asyncio.start_server(self._accept, _HOST, 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
        await self.drop()

    @property
    def address(self) -> str:
        """The address for agents."""
        return f"{_HOST}:{self._port}"

    def lead_to(self, address: str | None) -> None:
        """Pass new connections on to this address; with None they are closed at once."""
        if address is None:
            self._target = None
            return
        host, _, port = address.rpartition(":")
        self._target = host.strip("[]"), int(port)

    async def drop(self) -> None:
        """Cut all connections."""
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "a server runs its callbacks in tasks"
        self._open.add(task)
        try:
            if self._target is not None and MAX_CONNECTIONS.allows(len(self._open)):
                await self._join(self._target, reader, writer)
        except (OSError, asyncio.CancelledError):
            return  # one side is gone, or the connection is to be cut
        finally:
            self._open.discard(task)
            writer.transport.abort()

    async def _join(self, target: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_world, to_world = await asyncio.open_connection(*target)
        self.connections += 1
        ways = [asyncio.create_task(_copy(reader, to_world)), asyncio.create_task(_copy(from_world, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            to_world.transport.abort()  # before the wait, which another cut may end
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):  # the other side is gone, and so this one ends
        while data := await reader.read(_PIECE_BYTES):
            writer.write(data)
            await writer.drain()
