"""The providers' side of HTTP/1.1: pooled connections, one exchange at a time on each, everything by callback.

It parses with the same `ResponseParser` as the model client, and caches parsed heads. Redirects are not followed,
proxies are not used, and a connection goes only to the addresses that were checked for its origin.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from tickmind.base import get_logger
from tickmind.gateway.http.head_memo import HeadMemo, Recall
from tickmind.gateway.http.reply import ReplyHead, ReplyListener, UpstreamExchange
from tickmind.gateway.routing.origins import Pin
from tickmind.llm.http.protocol import HttpFormatError, ResponseParser

KEEP_ALIVE_S = 4.0  # common servers close idle connections after 5 s
CONNECT_TIMEOUT_S = 10.0
STALE_S = 1.0  # a kept connection that the server has closed fails within this
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class UpstreamAddress:
    """An endpoint: the name for `Host` and TLS, and for a caller's own endpoint the only addresses to dial."""

    host: str
    port: int
    tls: bool
    path: str  # in front of every request's path, without a slash at its end
    pin: Pin | None = None

    @classmethod
    def of(cls, base_url: str, pin: Pin | None = None) -> "UpstreamAddress":
        """Return the endpoint of a checked base URL."""
        parts = urlsplit(base_url)
        tls = parts.scheme == "https"
        port = parts.port or (443 if tls else 80)
        return cls(parts.hostname or "", port, tls, parts.path.rstrip("/"), pin)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return the addresses to dial in order; none if the pinned name does not resolve any more."""
        return (self.host,) if self.pin is None else self.pin.addresses

    @property
    def authority(self) -> str:
        """Return the host and, if it is not the default, the port."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.tls else 80) else f"{name}:{self.port}"


class UpstreamConnection(asyncio.Protocol):
    """One connection to a provider, with at most one exchange at a time."""

    is_sent = True
    __slots__ = (
        "_heads",
        "_heard",
        "_listener",
        "_parser",
        "_paused",
        "_pool",
        "_request",
        "_sent_s",
        "_transport",
        "idle_since_s",
        "usable",
    )  # fmt: skip

    def __init__(self, pool: "UpstreamPool") -> None:
        self._pool = pool
        self._heads = Recall(pool.heads)
        self._transport: asyncio.Transport | None = None
        self._listener: ReplyListener | None = None
        self._parser: ResponseParser | None = None  # of a reply that does not come in one piece
        self._request = b""  # while it may have to be sent again
        self._heard = False
        self._paused = False
        self._sent_s = 0.0
        self.idle_since_s = 0.0
        self.usable = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the open connection."""
        self._transport = cast("asyncio.Transport", transport)
        self.usable = True

    def start(self, request: bytes, listener: ReplyListener, reused: bool) -> None:
        """Send a request; its reply goes to the listener."""
        self._listener = listener
        self._heard = False
        if reused:
            self._request = request
            self._sent_s = self._pool.loop.time()
        if self._transport is not None:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Parse bytes and pass them to the listener."""
        listener = self._listener
        if listener is None:  # unsolicited bytes
            self.abort()
            return
        parser = self._parser
        if parser is not None:
            self._read(parser, data, listener)
            return
        self._heard = True
        known = self._heads.find(data)
        if known is None:
            self._parser = parser = ResponseParser()
            self._read(parser, data, listener, fresh=True)
            return
        head, at, length = known
        if length == len(data) - at:
            self._listener = None
            self._request = b""
            self._pool.keep(self)
            try:
                listener.whole(head, data[at:])
            except Exception:  # noqa: BLE001 - as in `_finish`
                self._failed(listener)
            return
        self._parser = parser = ResponseParser.after_head(head.status, head.headers, None if length < 0 else length)
        listener.head(head, length)
        if self._listener is listener:  # it did not cancel meanwhile
            self._read(parser, data[at:], listener)

    def eof_received(self) -> bool:
        """Handle the end of the provider's stream."""
        self.usable = False
        listener = self._listener
        if listener is not None and self._parser is not None:
            try:
                self._parser.end()
            except HttpFormatError as exc:
                self._break(str(exc))
            else:
                self._finish(self._parser, listener)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange; a request lost at once on a kept connection is sent again on a new connection."""
        self._transport = None
        self.usable = False
        self._pool.lost(self)
        listener, self._listener = self._listener, None
        if listener is None:
            return
        if self._request and not self._heard and self._pool.loop.time() - self._sent_s < STALE_S:
            listener.carried_by(self._pool.send_fresh(self._request, listener))
            return
        listener.broken(f"the connection broke: {exc}" if exc else "the connection was closed before the reply came")

    def pause(self) -> None:
        """Stop reading, because the caller does not keep up."""
        if self._transport is not None and not self._transport.is_closing():
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        self._paused = False
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """Do nothing: a request is bounded in size, and the transport may buffer it."""

    def resume_writing(self) -> None:
        """Do nothing; no writer waits."""

    def cancel(self) -> None:
        """Drop the connection and its listener."""
        self._listener = None
        self.usable = False
        self._pool.give_place(self)
        if self._transport is not None:
            self._transport.abort()

    abort = cancel

    def _read(self, parser: ResponseParser, data: bytes, listener: ReplyListener, *, fresh: bool = False) -> None:
        headed = parser.status != 0
        if headed and (stop := parser.whole_chunks(data)) and listener.chunks(data[:stop]):
            data = data[stop:]
            if not data or self._listener is not listener:
                return
        try:
            pieces = parser.feed(data)
        except HttpFormatError as exc:
            self._break(str(exc))
            return
        if not headed:
            if not parser.status:
                return
            head, length = self._note_head(parser, data if fresh else b"")
            listener.head(head, length)
            if self._listener is not listener:  # it cancelled meanwhile
                return
        if pieces:
            listener.data(pieces)
            if self._listener is not listener:
                return
        if parser.done:
            self._finish(parser, listener)

    def _note_head(self, parser: ResponseParser, data: bytes) -> tuple[ReplyHead, int]:
        """Return the parsed head and the length; memorise a head that came in one piece and is plain."""
        headers = parser.headers
        length = headers.get("content-length", "")
        head = ReplyHead(parser.status, headers)
        usual = parser.keep_alive and (length.isdigit() or "transfer-encoding" in headers)
        if usual and data.startswith(b"HTTP/1.1 200"):  # not after an interim reply
            self._heads.keep(data, head)
        return head, int(length) if length.isdigit() else -1

    def _finish(self, parser: ResponseParser, listener: ReplyListener) -> None:
        self._listener = self._parser = None
        self._request = b""
        if parser.reusable:
            if self._paused:  # by this reply's last bytes; no later event would resume it
                self.resume()
            self._pool.keep(self)
        elif self._transport is not None:
            self.usable = False
            self._pool.give_place(self)
            self._transport.close()
        try:
            listener.done()
        except Exception:  # noqa: BLE001 - else its caller would wait for ever, and its slot be lost
            self._failed(listener)

    @staticmethod
    def _failed(listener: ReplyListener) -> None:
        """Report that a listener failed on a reply; called while that exception is handled."""
        _log.exception("passing a reply on failed")
        listener.broken("internal error of the gateway; see its log")

    def _break(self, reason: str) -> None:
        listener = self._listener
        self.cancel()
        if listener is not None:
            listener.broken(reason)


class Dial:
    """A request whose connection is being opened."""

    is_sent = False
    __slots__ = ("_dials", "listener", "task")

    def __init__(self, listener: ReplyListener, dials: set[asyncio.Task[None]]) -> None:
        self.listener: ReplyListener | None = listener
        self.task: asyncio.Task[None] | None = None
        self._dials = dials  # of its pool

    def cancel(self) -> None:
        """Cancel the dial."""
        self.listener = None
        task = self.task
        self.done()  # the next dial may begin at once
        if task is not None:
            task.cancel()

    def done(self) -> None:
        """Free its place among the dials."""
        if self.task is not None:
            self._dials.discard(self.task)
            self.task = None

    def pause(self) -> None:
        """Do nothing; no data arrives yet."""

    def resume(self) -> None:
        """Do nothing; reading was not paused."""

    def failed(self, reason: str) -> None:
        """End: there will be no connection."""
        listener, self.listener = self.listener, None
        if listener is not None:
            listener.broken(reason)


class UpstreamPool:
    """The connections to one endpoint."""

    def __init__(
        self,
        endpoint: UpstreamAddress,
        *,
        loop: asyncio.AbstractEventLoop,
        max_connections: int,
        tls_context: Callable[[], ssl.SSLContext],
        heads: HeadMemo[ReplyHead],
    ) -> None:
        self.endpoint = endpoint
        self.loop = loop
        self.heads = heads
        self._max_connections = max_connections
        self._tls_context = tls_context
        self._idle: list[UpstreamConnection] = []  # most recently used last
        self._open: set[UpstreamConnection] = set()
        self._dials: set[asyncio.Task[None]] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    def send(self, request: bytes, listener: ReplyListener) -> UpstreamExchange:
        """Send a request on a kept connection, or on a new one."""
        idle = self._idle
        while idle:
            connection = idle.pop()
            if connection.usable:
                connection.start(request, listener, True)
                return connection
            connection.abort()  # the provider closed it; free its place
        return self.send_fresh(request, listener)

    def send_fresh(self, request: bytes, listener: ReplyListener) -> UpstreamExchange:
        """Send on a new connection; the listener learns which by `carried_by`."""
        dial = Dial(listener, self._dials)
        if len(self._open) + len(self._dials) >= self._max_connections:
            self.loop.call_soon(dial.failed, "too many connections to this provider; raise max_upstream_connections")
            return dial
        task = dial.task = self.loop.create_task(self._connect(request, dial))
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)
        return dial

    def keep(self, connection: UpstreamConnection) -> None:
        """Keep a connection for the next request."""
        if self._closed:
            connection.abort()
            return
        connection.idle_since_s = self.loop.time()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = self.loop.call_later(KEEP_ALIVE_S, self._drop_old)

    def give_place(self, connection: UpstreamConnection) -> None:
        """Free the place of a connection that is being closed."""
        self._open.discard(connection)

    def lost(self, connection: UpstreamConnection) -> None:
        """Remove a lost connection."""
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def statistics(self) -> dict[str, int]:
        """Return the number of open, idle and opening connections."""
        return {"open": len(self._open), "idle": len(self._idle), "dialing": len(self._dials)}

    def close(self) -> None:
        """Drop everything; exchanges in flight are not notified, their owners have cancelled them before."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for task in list(self._dials):
            task.cancel()
        for connection in list(self._open):
            connection.abort()

    def close_idle(self) -> None:
        """Close the idle connections now, and each of the others after its reply."""
        self._closed = True
        for connection in list(self._idle):
            connection.abort()

    async def _connect(self, request: bytes, dial: Dial) -> None:
        endpoint = self.endpoint
        context = self._tls_context() if endpoint.tls else None
        connection: UpstreamConnection | None = None
        problem = "its name does not resolve any more"
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
        dial.done()  # before the connection takes its place in `_open`, else it would count twice
        if connection is None:
            dial.failed(f"can't connect to the provider: {problem}")
            return
        listener = dial.listener
        if listener is None or self._closed:  # cancelled meanwhile
            connection.abort()
            return
        self._open.add(connection)
        listener.carried_by(connection)
        connection.start(request, listener, False)

    def _drop_old(self) -> None:
        self._sweep = None
        now_s = self.loop.time()
        fresh = [item for item in self._idle if item.usable and now_s - item.idle_since_s < KEEP_ALIVE_S]
        for connection in self._idle:
            if connection not in fresh:
                connection.abort()
        self._idle = fresh
        if fresh:
            self._sweep = self.loop.call_later(KEEP_ALIVE_S, self._drop_old)
