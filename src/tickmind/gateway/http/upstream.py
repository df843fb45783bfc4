"""The providers' side of HTTP/1.1: pooled connections, one exchange at a time on each, everything by callback.

It parses with the same `ResponseParser` as the model client. Redirects are not followed, proxies are not used, and a
connection goes only to the addresses that were checked for its origin.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast
from urllib.parse import urlsplit

from tickmind.base import get_logger
from tickmind.gateway.routing.origins import Pin
from tickmind.llm.http1 import HttpFormatError, ResponseParser

KEEP_ALIVE_S = 4.0  # common servers close idle connections after 5 s
CONNECT_TIMEOUT_S = 10.0
STALE_S = 1.0  # a kept connection that the server had given up shows it at once
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to connect: the name for `Host` and TLS, and where a caller named it, the only addresses to dial."""

    host: str
    port: int
    tls: bool
    path: str  # in front of every request's path, without a slash at its end
    pin: Pin | None = None

    @classmethod
    def of(cls, base_url: str, pin: Pin | None = None) -> "Endpoint":
        """The endpoint of a checked base URL."""
        parts = urlsplit(base_url)
        tls = parts.scheme == "https"
        port = parts.port or (443 if tls else 80)
        return cls(parts.hostname or "", port, tls, parts.path.rstrip("/"), pin)

    @property
    def addresses(self) -> tuple[str, ...]:
        """What to dial, one after the other; none if the pinned name leads nowhere any more."""
        return (self.host,) if self.pin is None else self.pin.addresses

    @property
    def authority(self) -> str:
        """Host and, if it is not the usual one, port."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.tls else 80) else f"{name}:{self.port}"


class Listener(Protocol):
    """Hears one exchange: `head` once, `data` as pieces come, then `done`; or `broken` at any time. Never both."""

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """The status and the headers, names in lower case."""
        ...

    def data(self, pieces: list[bytes]) -> None:
        """Pieces of the body, dechunked."""
        ...

    def done(self) -> None:
        """The reply is whole."""
        ...

    def broken(self, reason: str) -> None:
        """There will be no whole reply."""
        ...


class UpstreamConnection(asyncio.Protocol):
    """One connection to a provider."""

    __slots__ = (
        "_heard",
        "_listener",
        "_parser",
        "_pool",
        "_request",
        "_reused",
        "_sent_s",
        "_transport",
        "idle_since_s",
    )  # fmt: skip

    def __init__(self, pool: "UpstreamPool") -> None:
        self._pool = pool
        self._transport: asyncio.Transport | None = None
        self._listener: Listener | None = None
        self._parser = ResponseParser()
        self._request = b""
        self._reused = False
        self._heard = False
        self._sent_s = 0.0
        self.idle_since_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast("asyncio.Transport", transport)

    @property
    def closed(self) -> bool:
        """Whether it can't be used any more."""
        return self._transport is None or self._transport.is_closing()

    def start(self, request: bytes, listener: Listener, *, reused: bool) -> None:
        """Send a request; the listener hears the reply."""
        self._listener = listener
        self._request = request if reused else b""
        self._reused = reused
        self._heard = False
        self._sent_s = self._pool.loop.time() if reused else 0.0
        self._parser = ResponseParser()
        if self._transport is not None:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Parse, and pass on."""
        listener, parser = self._listener, self._parser
        if listener is None:  # nobody asked for anything
            self.abort()
            return
        headed = self._heard and parser.status != 0
        self._heard = True
        try:
            pieces = parser.feed(data)
        except HttpFormatError as exc:
            self._break(str(exc))
            return
        if not headed:
            if not parser.status:
                return
            listener.head(parser.status, parser.headers)
            if self._listener is not listener:  # it gave up on what it heard
                return
        if pieces:
            listener.data(pieces)
            if self._listener is not listener:
                return
        if parser.done:
            self._finish(listener)

    def eof_received(self) -> bool:
        """The provider has said all."""
        listener = self._listener
        if listener is not None and self._heard:
            try:
                self._parser.end()
            except HttpFormatError as exc:
                self._break(str(exc))
            else:
                self._finish(listener)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone; a request that a kept connection lost at once goes out again on a new one."""
        self._transport = None
        self._pool.lost(self)
        listener, self._listener = self._listener, None
        if listener is None:
            return
        if self._reused and not self._heard and self._pool.loop.time() - self._sent_s < STALE_S:
            self._pool.send_fresh(self._request, listener)
            return
        listener.broken(f"the connection broke: {exc}" if exc else "the connection was closed before the reply came")

    def pause(self) -> None:
        """Stop reading, because the caller does not keep up."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """A request is bounded in size; the transport may buffer it."""

    def resume_writing(self) -> None:
        """Nothing waits for it."""

    def abort(self) -> None:
        """Drop the connection and forget who listened."""
        self._listener = None
        if self._transport is not None:
            self._transport.abort()

    def _finish(self, listener: Listener) -> None:
        self._listener = None
        self._request = b""
        if self._parser.reusable:
            self._pool.keep(self)
        elif self._transport is not None:
            self._transport.close()
        listener.done()

    def _break(self, reason: str) -> None:
        listener = self._listener
        self.abort()
        if listener is not None:
            listener.broken(reason)


class Ticket:
    """An exchange that was handed to a pool; `cancel` ends it wherever it is, and nothing is heard after that."""

    __slots__ = ("connection", "dial", "listener", "pool")

    def __init__(self, pool: "UpstreamPool", listener: Listener) -> None:
        self.pool = pool
        self.listener: Listener | None = listener
        self.connection: UpstreamConnection | None = None
        self.dial: asyncio.Task[None] | None = None  # while there is no connection

    def cancel(self) -> None:
        """Give up; a connection in the middle of a reply or being opened is dropped."""
        self.listener = None
        if self.dial is not None:
            self.dial.cancel()
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.abort()

    # between the connection and the listener

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Pass it on."""
        if self.listener is not None:
            self.listener.head(status, headers)

    def data(self, pieces: list[bytes]) -> None:
        """Pass it on."""
        if self.listener is not None:
            self.listener.data(pieces)

    def done(self) -> None:
        """Pass it on, and forget the connection."""
        listener, self.listener = self.listener, None
        self.connection = None
        if listener is not None:
            try:
                listener.done()
            except Exception:  # noqa: BLE001 - else its caller would wait for ever, and its slot be lost
                _log.exception("a reply could not be passed on")
                listener.broken("a fault of the gateway; see its log")

    def broken(self, reason: str) -> None:
        """Pass it on, and forget the connection."""
        listener, self.listener = self.listener, None
        self.connection = None
        if listener is not None:
            listener.broken(reason)


class UpstreamPool:
    """The connections to one endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        loop: asyncio.AbstractEventLoop,
        max_connections: int,
        tls_context: Callable[[], ssl.SSLContext],
    ) -> None:
        self.endpoint = endpoint
        self.loop = loop
        self._max_connections = max_connections
        self._tls_context = tls_context
        self._idle: list[UpstreamConnection] = []  # the freshest last
        self._open: set[UpstreamConnection] = set()
        self._dials: set[asyncio.Task[None]] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    def send(self, request: bytes, listener: Listener) -> Ticket:
        """Send a request on a kept connection, or on a new one."""
        ticket = Ticket(self, listener)
        idle = self._idle
        while idle:
            connection = idle.pop()
            if not connection.closed:
                ticket.connection = connection
                connection.start(request, ticket, reused=True)
                return ticket
        self._dial(request, ticket)
        return ticket

    def send_fresh(self, request: bytes, listener: Listener) -> None:
        """Send on a new connection what a kept one lost."""
        assert isinstance(listener, Ticket), "connections of a pool talk to its tickets"
        listener.connection = None
        self._dial(request, listener)

    def keep(self, connection: UpstreamConnection) -> None:
        """Keep a connection for the next request."""
        if self._closed:
            connection.abort()
            return
        connection.idle_since_s = self.loop.time()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = self.loop.call_later(KEEP_ALIVE_S, self._drop_old)

    def lost(self, connection: UpstreamConnection) -> None:
        """Forget a connection that is gone."""
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def statistics(self) -> dict[str, int]:
        """Connections open, idle and being opened."""
        return {"open": len(self._open), "idle": len(self._idle), "dialing": len(self._dials)}

    def close(self) -> None:
        """Drop everything; exchanges under way are not told, their owners have let go of them before."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for task in list(self._dials):
            task.cancel()
        for connection in list(self._open):
            connection.abort()

    def close_idle(self) -> None:
        """Let the idle connections go, and each of the others after its reply."""
        self._closed = True
        for connection in list(self._idle):
            connection.abort()

    def _dial(self, request: bytes, ticket: Ticket) -> None:
        if len(self._open) + len(self._dials) >= self._max_connections:
            self.loop.call_soon(ticket.broken, "too many connections to this provider; see max_upstream_connections")
            return
        task = self.loop.create_task(self._connect(request, ticket))
        ticket.dial = task
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)

    async def _connect(self, request: bytes, ticket: Ticket) -> None:
        endpoint = self.endpoint
        context = self._tls_context() if endpoint.tls else None
        connection: UpstreamConnection | None = None
        problem = "its name leads nowhere now"
        for address in endpoint.addresses:
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    _, connection = await self.loop.create_connection(
                        lambda: UpstreamConnection(self),
                        address,
                        endpoint.port,
                        ssl=context,
                        server_hostname=endpoint.host if context is not None else None,
                    )
                break
            except (OSError, TimeoutError) as exc:
                problem = str(exc) or type(exc).__name__
        ticket.dial = None
        if connection is None:
            ticket.broken(f"can't connect: {problem}")
        elif ticket.listener is None or self._closed:  # given up meanwhile
            connection.abort()
        else:
            self._open.add(connection)
            ticket.connection = connection
            connection.start(request, ticket, reused=False)

    def _drop_old(self) -> None:
        self._sweep = None
        now_s = self.loop.time()
        fresh = [item for item in self._idle if not item.closed and now_s - item.idle_since_s < KEEP_ALIVE_S]
        for connection in self._idle:
            if connection not in fresh:
                connection.abort()
        self._idle = fresh
        if fresh:
            self._sweep = self.loop.call_later(KEEP_ALIVE_S, self._drop_old)
