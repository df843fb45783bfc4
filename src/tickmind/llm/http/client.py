"""`HttpClient`: pooled HTTP to one endpoint, with one total deadline, a cap on decoded size, no redirects, no retries.

It posts JSON to one endpoint, or gets some, and reads the reply whole or as an event stream. Everything that goes wrong
is an `LLMError`; bodies of error replies are masked, then shortened.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from tickmind.base import Clock, Limit, Secret, SystemClock
from tickmind.base.access.tls_files import TlsFiles
from tickmind.base.background import is_over
from tickmind.llm.config import MAX_CONNECTIONS, MAX_REPLY_BYTES, parse_base_url
from tickmind.llm.errors import (
    LLMConfigError,
    LLMConnectionError,
    LLMDeadlineError,
    LLMError,
    LLMResponseError,
)
from tickmind.llm.http.dialing import Dialer
from tickmind.llm.http.errors import error_beside_events, error_from_reply, too_large_error
from tickmind.llm.http.inflating import Inflater
from tickmind.llm.http.pool import ConnectionPool
from tickmind.llm.http.protocol import HttpConnection, HttpCutError, HttpFormatError, ResponseParser
from tickmind.llm.http.retry_after import parse_retry_after
from tickmind.llm.http.sse import SseDecoder
from tickmind.llm.safety import check_endpoint

STALE_S = 1.0  # a kept connection that the server had given up shows it at once; what breaks later is a failure
MAX_ERROR_BODY_BYTES = 64 * 1024  # how much of an error reply is read
_DONE = b"[DONE]"

Headers = Mapping[str, str | Secret]


class HttpReply(NamedTuple):
    """A whole reply whose status was success."""

    body: bytes
    headers: Mapping[str, str]  # lower-case name -> value


class HttpClient:
    """Post to one endpoint. A client belongs to the event loop that first uses it; close it with `aclose`.

    When that loop is over, closed or given up because something blocks it, the client goes on in the next one.
    """

    def __init__(
        self,
        base_url: str,
        *,
        max_reply_bytes: Limit = MAX_REPLY_BYTES,
        max_connections: Limit = MAX_CONNECTIONS,
        trust_proxy_env: bool = False,
        tls: TlsFiles | None = None,
        clock: Clock | None = None,
    ) -> None:
        endpoint = parse_base_url(base_url)
        self.host = endpoint.hostname or ""
        self.max_reply_bytes = max_reply_bytes
        self.clock = clock or SystemClock()
        self.dialer = Dialer(endpoint, trust_proxy_env=trust_proxy_env, tls=tls)
        self.origin = f"{endpoint.scheme}://{self.dialer.authority}"
        self._path = endpoint.path.rstrip("/")
        self._max_connections = int(max_connections.maximum)
        self._pool: ConnectionPool | None = None
        self._closed = False

    async def post(self, path: str, headers: Headers, body: bytes, *, timeout_s: float) -> HttpReply:
        """Post and read the whole reply; the timeout is for all of it."""
        return await _whole(HttpExchange(self, self._request(path, headers, body), timeout_s))

    async def get(self, path: str, headers: Headers, *, timeout_s: float) -> HttpReply:
        """Get a whole reply; the timeout is for all of it."""
        return await _whole(HttpExchange(self, self._request(path, headers, b"", method="GET"), timeout_s))

    def stream(self, path: str, headers: Headers, body: bytes, *, timeout_s: float) -> "EventStream":
        """Post and read the reply as events; leaving the context ends the request."""
        return EventStream(HttpExchange(self, self._request(path, headers, body), timeout_s))

    def statistics(self) -> dict[str, int]:
        """Connections in use and idle."""
        return {"busy": 0, "idle": 0} if self._pool is None else self._pool.statistics()

    async def aclose(self) -> None:
        """Close all connections; calls that are under way fail."""
        self._closed = True
        pool = self._pool
        if pool is None:
            return
        if pool.loop is not asyncio.get_running_loop():
            pool.leave()
        elif pool.close():
            await asyncio.sleep(0)  # lets the loop drop the sockets

    def pool(self) -> ConnectionPool:
        """Return the pool of the running loop, which must be the one that the client belongs to.

        A client whose loop is over, closed or given up, belongs to the next one that uses it.
        """
        loop = asyncio.get_running_loop()
        if self._closed:
            raise LLMConfigError("this client is closed; make a new one")
        pool = self._pool
        if pool is not None and pool.loop is loop:
            return pool
        if pool is not None:
            if not is_over(pool.loop):
                raise LLMConfigError(
                    "this client was used in another event loop; make one for each loop, "
                    "or use SyncModelClient in threads"
                )
            pool.leave()
        self._pool = ConnectionPool(self.dialer, loop, most=self._max_connections)
        return self._pool

    def _request(self, path: str, headers: Headers, body: bytes, *, method: str = "POST") -> bytes:
        dialer = self.dialer
        lines = [
            f"{method} {dialer.target_prefix}{self._path}{path} HTTP/1.1",
            f"Host: {dialer.authority}",
            f"Content-Length: {len(body)}",
            "Content-Type: application/json",
            "Accept-Encoding: identity",
            "User-Agent: tickmind",
        ]
        for name, value in headers.items():
            lines.append(f"{name}: {value.reveal() if isinstance(value, Secret) else value}")
        if dialer.proxy_authorization:
            lines.append(f"Proxy-Authorization: Basic {dialer.proxy_authorization.reveal()}")
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class HttpExchange:
    """One request and its reply. `open` sends it and reads the headers; `read` gives the decoded body in pieces."""

    __slots__ = (
        "_client",
        "_connection",
        "_counts",
        "_decoder",
        "_heard",
        "_parser",
        "_pieces",
        "_pool",
        "_read_bytes",
        "_request",
        "_timeout_s",
        "_timer",
        "ended",
    )

    def __init__(self, client: HttpClient, request: bytes, timeout_s: float) -> None:
        self._client = client
        self._request = request
        self._timeout_s = timeout_s
        self._pool: ConnectionPool | None = None  # that the connection is from
        self._connection: HttpConnection | None = None
        self._parser = ResponseParser()
        self._pieces: list[bytes] = []  # of the body, that came with the headers
        self._decoder: Inflater | None = None
        self._counts = True  # the size of the whole body is capped here
        self._read_bytes = 0
        self._heard = False  # anything of the reply has come
        self._timer: asyncio.TimerHandle | None = None
        self.ended = False  # the reader has all that it needs, though the body may not have ended

    @property
    def headers(self) -> Mapping[str, str]:
        """The reply's headers, once it is open; names are lower-case."""
        return self._parser.headers

    @property
    def origin(self) -> str:
        """The endpoint's scheme, host and port."""
        return self._client.origin

    @property
    def content_type(self) -> str:
        """The media type of the reply, without parameters."""
        return self._parser.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def open(self) -> None:
        """Send the request and read the headers; raises for any status but success.

        Servers drop connections that they said they would keep. A kept one that is dropped as soon as a request goes
        out is the connection's fault, so the request goes out once more, on a new one.
        """
        check_endpoint(self._client.host)
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._timeout_s
        kept = await self._send(deadline_s, fresh=False)
        sent_s = loop.time()
        try:
            await self._read_head()
        except LLMConnectionError:
            if not kept or self._heard or loop.time() - sent_s > STALE_S or loop.time() >= deadline_s:
                raise
            self.close()
            await self._send(deadline_s, fresh=True)
            await self._read_head()
        self._request = b""
        if not 200 <= self._parser.status < 300:
            raise await self._status_error()
        coding = self._parser.headers.get("content-encoding", "identity").lower()
        if coding != "identity":
            self._decoder = Inflater(coding)

    async def read(self) -> bytes:
        """Return the next decoded bytes of the body; nothing at its end."""
        while True:
            pieces, self._pieces = self._pieces, []
            if not pieces:
                if self._parser.done:
                    return b""
                pieces = await self._receive()
            data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            if self._decoder is not None and data:
                data = self._decoder.decode(data, room=int(self._client.max_reply_bytes.maximum) - self._read_bytes)
            if data:
                if self._counts:
                    self._read_bytes += len(data)
                    if self._read_bytes > self._client.max_reply_bytes.maximum:
                        raise self.too_large()
                return data

    async def read_all(self) -> bytes:
        """Return the whole decoded body."""
        length = self._parser.headers.get("content-length", "")
        if self._decoder is None and length.isdigit() and not self._client.max_reply_bytes.allows(int(length)):
            raise self.too_large()
        body = await self.read()
        if self._parser.done and not self._pieces:
            return body
        parts = [body]
        while part := await self.read():
            parts.append(part)
        return b"".join(parts)

    def leave_size_to_reader(self) -> int:
        """Let the reader cap what it holds, where it does not hold the whole body; returns how many bytes that may be.

        A compressed body, which the client never requests, stays capped as a whole: a few bytes of it can keep a reader
        busy for long.
        """
        self._counts = self._decoder is not None
        return int(self._client.max_reply_bytes.maximum)

    def close(self) -> None:
        """Give the connection back, or drop it if the reply was not read to its end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        connection, self._connection = self._connection, None
        if connection is not None and self._pool is not None:
            self._pool.release(connection, self._parser, ended=self.ended)

    async def _send(self, deadline_s: float, *, fresh: bool) -> bool:
        """Send the request and return whether the connection was reused."""
        try:
            self._pool = self._client.pool()
            connection = await self._pool.acquire(deadline_s, fresh=fresh)
        except (OSError, HttpFormatError) as exc:
            raise self._failed(exc) from exc
        self._connection = connection
        self._timer = asyncio.get_running_loop().call_at(deadline_s, connection.expire)
        connection.write(self._request)
        return connection.idle_since > 0

    async def _read_head(self) -> None:
        while not self._parser.status:
            self._pieces = await self._receive()

    async def _receive(self) -> list[bytes]:
        if self._connection is None:
            raise LLMConnectionError("the exchange is closed")
        try:
            data = await self._connection.read()
            if data:
                self._heard = True
                return self._parser.feed(data)
            self._parser.end()
        except (OSError, HttpFormatError) as exc:
            raise self._failed(exc) from exc
        return []

    def _failed(self, exc: Exception) -> LLMError:
        origin = self._client.origin
        if isinstance(exc, TimeoutError):
            return LLMDeadlineError(f"{origin} did not finish within {self._timeout_s:g} s; raise timeout_s if it may")
        if self._connection is None:
            return LLMConnectionError(f"can't reach {origin}: {exc}; check LLM_BASE_URL and that the server runs")
        if isinstance(exc, HttpFormatError) and not isinstance(exc, HttpCutError):
            return LLMResponseError(f"{origin}: {exc}")
        return LLMConnectionError(f"the connection to {origin} broke: {exc}")

    def too_large(self) -> LLMError:
        """Return the error for a reply over the size limit."""
        return too_large_error(self._client.origin, self._client.max_reply_bytes)

    async def _status_error(self) -> LLMError:
        status, headers = self._parser.status, self._parser.headers
        body = b""
        try:
            coding = headers.get("content-encoding", "identity").lower()
            self._decoder = Inflater(coding) if coding != "identity" else None
            while len(body) < MAX_ERROR_BODY_BYTES and (part := await self.read()):
                body += part
        except LLMError as exc:  # the status says enough, and the body was only to explain it
            body = body or str(exc).encode()
        wait_s = parse_retry_after(headers, now_wall_s=self._client.clock.wall())
        return error_from_reply(self._client.origin, status, body, headers=headers, retry_after_s=wait_s)


async def _whole(exchange: HttpExchange) -> HttpReply:
    """Send a request and read the whole reply. The request itself is no local variable: tracebacks may show those."""
    try:
        await exchange.open()
        return HttpReply(await exchange.read_all(), exchange.headers)
    finally:
        exchange.close()


class EventStream:
    """The reply as events: `async with` opens it, `next_events` gives the data of one or more events at a time."""

    __slots__ = ("_any", "_error", "_exchange", "_finished", "_held_bytes", "_max_held_bytes", "_sse")

    def __init__(self, exchange: HttpExchange) -> None:
        self._exchange = exchange
        self._sse: SseDecoder | None = None
        self._any = False  # an event has come
        self._held_bytes = 0  # of the event that is coming; what an event brought before is not held here
        self._max_held_bytes = 0
        self._finished = False
        self._error: LLMError | None = None  # how the stream failed, raised behind its last event

    async def __aenter__(self) -> "EventStream":
        try:
            await self._exchange.open()
        except BaseException:
            self._exchange.close()
            raise
        if self._exchange.content_type != "application/json":  # else the endpoint does not stream: one event
            self._sse = SseDecoder()
            self._max_held_bytes = self._exchange.leave_size_to_reader()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._exchange.close()

    @property
    def headers(self) -> Mapping[str, str]:
        """The reply's headers; names are lower-case."""
        return self._exchange.headers

    async def next_events(self) -> list[bytes]:
        """Return the data of the next events, at least one; none at the end of the stream.

        Raises `LLMResponseError` (or another `LLMError` that fits what the endpoint said) behind the last event if the
        reply is no event stream, or if an error stands in it outside of the events.
        """
        if self._finished:
            if self._error is not None:
                raise self._error
            return []
        if self._sse is None:
            self._finished = True
            body = await self._exchange.read_all()
            return [body] if body else []
        while True:
            data = await self._exchange.read()
            events = self._sse.feed(data) if data else self._sse.finish()
            if _DONE in events:  # some endpoints say it twice
                self._any = self._exchange.ended = True
                self._finish(self._sse)
                return events[: events.index(_DONE)] or await self.next_events()
            if events:
                self._any = True
            if not data or self._sse.failure is not None:
                self._finish(self._sse)
                return events or await self.next_events()
            if events:
                self._held_bytes = 0
                return events
            self._held_bytes += len(data)
            if self._held_bytes > self._max_held_bytes:
                raise self._exchange.too_large()

    def _finish(self, sse: SseDecoder) -> None:
        self._finished = True
        exchange = self._exchange
        self._error = error_beside_events(
            exchange.origin, exchange.content_type, failure=sse.failure, stray=sse.stray, has_events=self._any
        )
