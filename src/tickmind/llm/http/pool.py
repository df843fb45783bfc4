"""The connections of one client in one event loop: kept for the next request, opened a few at a time."""

import asyncio
from collections import deque
from contextlib import suppress

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.http.dialing import Dialer
from tickmind.llm.http.pacing import pace, pacer_for
from tickmind.llm.http.protocol import READ_BUFFER_BYTES, HttpConnection, ResponseParser

KEEP_ALIVE_S = 4.0  # common servers close idle connections after 5 s; reusing one just then loses a request
MAX_DIALS = 16  # connections being opened at once, so that a thousand calls don't stall the loop


class ConnectionPool:
    """Connections to one endpoint. All but `leave` is for the loop that it belongs to."""

    def __init__(self, dialer: Dialer, loop: asyncio.AbstractEventLoop, *, most: int) -> None:
        self.loop = loop
        self._dialer = dialer
        self._buffer = memoryview(bytearray(READ_BUFFER_BYTES))
        self._idle: deque[HttpConnection] = deque()  # oldest first
        self._busy: set[HttpConnection] = set()
        self._free = asyncio.Semaphore(most)
        self._dials = asyncio.Semaphore(MAX_DIALS)
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    def statistics(self) -> dict[str, int]:
        """Connections in use and idle."""
        return {"busy": len(self._busy), "idle": len(self._idle)}

    def close(self) -> bool:
        """Drop all connections, so that running exchanges fail; return whether there were any."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        connections = [*self._idle, *self._busy]
        self._idle.clear()
        for connection in connections:
            connection.abort()
        return bool(connections)

    def leave(self) -> None:
        """Have the loop drop all connections soon; any thread may call this."""
        self._closed = True
        with suppress(RuntimeError):  # a closed loop has no connections left to drop
            self.loop.call_soon_threadsafe(self.close)

    async def acquire(self, deadline_s: float, *, fresh: bool = False) -> HttpConnection:
        """Return an open connection for one exchange, a new one if need be; raises `TimeoutError` at the deadline."""
        self._check_open()
        if not fresh and not self._free.locked() and (connection := self._take_idle(self.loop.time())):
            await self._free.acquire()  # does not wait
            self._busy.add(connection)
            return connection
        async with asyncio.timeout_at(deadline_s):
            await self._free.acquire()
            try:
                self._check_open()
                connection = (None if fresh else self._take_idle(self.loop.time())) or await self._dial()
            except BaseException:
                self._free.release()
                raise
        self._busy.add(connection)
        return connection

    def release(self, connection: HttpConnection, parser: ResponseParser, *, ended: bool) -> None:
        """Give a connection back; it is kept if the reply was read to its end."""
        self._busy.discard(connection)
        self._free.release()
        keep = parser.reusable or (ended and parser.keep_alive and not parser.done)
        if self._closed or connection.closed or not keep:
            connection.abort()
            return
        connection.leave(parser)
        connection.idle_since = self.loop.time()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = self.loop.call_later(KEEP_ALIVE_S, self._drop_old)

    def _check_open(self) -> None:
        if self._closed:
            raise LLMConfigError("this client is closed; make a new one")

    def _take_idle(self, now: float) -> HttpConnection | None:
        idle = self._idle
        for _ in range(len(idle)):
            connection = idle.pop()
            if connection.closed or now - connection.idle_since > KEEP_ALIVE_S:
                connection.abort()
            elif connection.is_clean:
                connection.tail = None
                return connection
            elif connection.tail is not None and not connection.tail.done:
                idle.appendleft(connection)  # the end of its last reply is still to come
            else:
                connection.abort()
        return None

    async def _dial(self) -> HttpConnection:
        async with self._dials:
            await pace()
            pacer = pacer_for(self.loop)
            connection = await self._dialer.dial(lambda: HttpConnection(self._buffer, pacer))
            if self._closed:  # while the connection was being opened
                connection.abort()
                self._check_open()
            return connection

    def _drop_old(self) -> None:
        self._sweep = None
        now = self.loop.time()
        while self._idle and (self._idle[0].closed or now - self._idle[0].idle_since >= KEEP_ALIVE_S - 0.05):
            self._idle.popleft().abort()
        if self._idle:
            self._sweep = self.loop.call_later(KEEP_ALIVE_S, self._drop_old)
