"""The callers' side of HTTP/1.1: requests in, replies out, one at a time per connection.

`httptools` parses (strictly); this module only bounds, orders and answers. It is a protocol of callbacks instead of a
framework because a framework costs more per request than everything else that the gateway does.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from tickmind.base import Clock
from tickmind.gateway.settings.config import WireConfig

MAX_URL_BYTES = 2048
MAX_PIPELINED = 8  # requests that may wait behind the one being answered, before reading stops
MAX_HEADERS = 100
_NEVER = math.inf

_REASONS = {
    200: b"OK", 204: b"No Content", 400: b"Bad Request", 401: b"Unauthorized", 402: b"Payment Required",
    403: b"Forbidden", 404: b"Not Found", 405: b"Method Not Allowed", 408: b"Request Timeout", 409: b"Conflict",
    410: b"Gone", 413: b"Content Too Large", 414: b"URI Too Long", 422: b"Unprocessable Content",
    429: b"Too Many Requests", 431: b"Request Header Fields Too Large", 500: b"Internal Server Error",
    501: b"Not Implemented", 502: b"Bad Gateway", 503: b"Service Unavailable", 504: b"Gateway Timeout",
    505: b"HTTP Version Not Supported",
}  # fmt: skip
_STATUS_LINES = {status: b"HTTP/1.1 %d %s\r\n" % (status, reason) for status, reason in _REASONS.items()}


def status_line(status: int) -> bytes:
    """The first line of a reply; a provider's own odd status passes through without a reason."""
    return _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status


class Request:
    """One whole request. Header names are lower-case bytes."""

    __slots__ = ("body", "headers", "keep_alive", "method", "peer", "url")

    def __init__(
        self, method: bytes, url: bytes, headers: dict[bytes, bytes], body: bytes, peer: str, *, keep_alive: bool
    ) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.peer = peer
        self.keep_alive = keep_alive

    @property
    def path(self) -> bytes:
        """The URL without its query."""
        return self.url.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        """What follows the question mark."""
        return self.url.partition(b"?")[2]


class Pending(Protocol):
    """Whatever is being done for a request; it hears when the caller is gone or slow."""

    def gone(self) -> None:
        """The caller went away: drop everything."""
        ...

    def hold(self) -> None:
        """The caller reads slower than we write."""
        ...

    def go_on(self) -> None:
        """The caller has caught up."""
        ...


Handler = Callable[[Request, "Responder"], None]


class Responder:
    """Answers one request, once: `reply` with a whole body, or `begin`, `piece` as often as needed, and `end`."""

    __slots__ = ("_connection", "_head_only", "_keep_alive", "pending")

    def __init__(self, connection: "InboundConnection", *, keep_alive: bool) -> None:
        self._connection: InboundConnection | None = connection
        self._keep_alive = keep_alive
        self._head_only = False
        self.pending: Pending | None = None

    @property
    def open(self) -> bool:
        """Whether somebody still waits for the answer."""
        return self._connection is not None

    def reply(self, status: int, headers: bytes, body: bytes) -> None:
        """Answer whole; `headers` are lines that end with CRLF, without the length."""
        connection = self._connection
        if connection is None:
            return
        self._connection = self.pending = None
        close = b"" if self._keep_alive else b"connection: close\r\n"
        line = _STATUS_LINES.get(status) or status_line(status)
        if self._head_only or status == 204:
            length = b"" if status == 204 else b"content-length: %d\r\n" % len(body)
            connection.write(b"%b%b%b%b\r\n" % (line, headers, close, length))
            connection.answered(keep_alive=self._keep_alive)
            return
        connection.write(b"%b%b%bcontent-length: %d\r\n\r\n%b" % (line, headers, close, len(body), body))
        connection.answered(keep_alive=self._keep_alive)

    def reply_head_only(self) -> None:
        """Leave the body out of the whole reply that follows, as HEAD wants it."""
        self._head_only = True

    def begin(self, status: int, headers: bytes) -> None:
        """Send the head of a reply whose length is not known."""
        if self._connection is not None:
            close = b"" if self._keep_alive else b"connection: close\r\n"
            self._connection.write(b"%b%b%btransfer-encoding: chunked\r\n\r\n" % (status_line(status), headers, close))

    def piece(self, data: bytes) -> None:
        """Send the next bytes of the body."""
        if self._connection is not None and data:
            self._connection.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self, last: bytes = b"") -> None:
        """End the reply that was begun, with a last piece if there is one."""
        connection = self._connection
        if connection is None:
            return
        self._connection = self.pending = None
        connection.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(last), last) if last else b"0\r\n\r\n")
        connection.answered(keep_alive=self._keep_alive)

    def cut(self) -> None:
        """Break off a reply that can't be finished, so that nobody takes it for whole."""
        connection = self._connection
        if connection is not None:
            self._connection = self.pending = None
            connection.abort()

    def lost(self) -> None:
        """The connection is gone (called by it)."""
        pending = self.pending
        self._connection = self.pending = None
        if pending is not None:
            pending.gone()


class InboundConnection(asyncio.Protocol):
    """One caller's connection."""

    __slots__ = (
        "_body", "_body_bytes", "_clock", "_handler", "_header_bytes", "_headers", "_on_close", "_parser", "_paused",
        "_queue", "_responder", "_transport", "_url", "_wire", "busy_since_s", "idle_since_s", "peer",
    )  # fmt: skip

    def __init__(
        self, handler: Handler, wire: WireConfig, clock: Clock, on_close: Callable[["InboundConnection"], None]
    ) -> None:
        self._handler = handler
        self._wire = wire
        self._clock = clock
        self._on_close = on_close
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._header_bytes = 0
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._queue: deque[Request] = deque()
        self._responder: Responder | None = None
        self._paused = False
        self.peer = ""
        self.idle_since_s = clock.monotonic()
        self.busy_since_s = _NEVER  # since when a request is being read

    # called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A caller has come."""
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.peer = peer[0] if isinstance(peer, tuple) else "local"

    def data_received(self, data: bytes) -> None:
        """Parse what came; anything malformed is answered with 400 and the connection is closed."""
        if self._transport is None:
            return
        if self.busy_since_s == _NEVER:
            self.busy_since_s = self._clock.monotonic()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(501, b"this server speaks plain HTTP/1.1 only")
        except httptools.HttpParserError as exc:
            cause = exc.__context__
            if isinstance(cause, _BadRequestError):
                self._fail(cause.status, cause.words)
            else:
                self._fail(400, b"the request is not valid HTTP/1.1")

    def eof_received(self) -> bool:
        """The caller has closed its side: it is gone."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's signature
        """Free whatever is being done for the caller."""
        self._transport = None
        self._queue.clear()
        responder, self._responder = self._responder, None
        if responder is not None:
            responder.lost()
        self._on_close(self)

    def pause_writing(self) -> None:
        """The caller does not keep up."""
        if self._responder is not None and self._responder.pending is not None:
            self._responder.pending.hold()

    def resume_writing(self) -> None:
        """The caller has caught up."""
        if self._responder is not None and self._responder.pending is not None:
            self._responder.pending.go_on()

    # called by the parser

    def on_message_begin(self) -> None:
        """A new request begins."""
        self._url = b""
        self._headers = {}
        self._header_bytes = 0
        self._body = []
        self._body_bytes = 0

    def on_url(self, url: bytes) -> None:
        """The request's target, possibly in pieces."""
        self._url += url
        if len(self._url) > MAX_URL_BYTES:
            raise _BadRequestError(414, b"the URL is too long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > self._wire.max_header_bytes or len(self._headers) >= MAX_HEADERS:
            raise _BadRequestError(431, b"the headers are too large")
        name = name.lower()
        if name in self._headers and name in _ONCE:
            raise _BadRequestError(400, b"a header that may come once came twice")
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        """Refuse what can't be served before its body is read."""
        version = self._parser.get_http_version()
        if version == "1.1":
            if b"host" not in self._headers:
                raise _BadRequestError(400, b"the Host header is missing")
        elif version != "1.0":
            raise _BadRequestError(505, b"this server speaks HTTP/1.1")
        length = self._headers.get(b"content-length")
        if length is not None and int(length) > self._wire.max_request_bytes:
            raise _BadRequestError(413, b"the request is larger than max_request_bytes")
        if self._headers.get(b"expect", b"").lower() == b"100-continue" and self._responder is None:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._body_bytes += len(body)
        if self._body_bytes > self._wire.max_request_bytes:
            raise _BadRequestError(413, b"the request is larger than max_request_bytes")
        self._body.append(body)

    def on_message_complete(self) -> None:
        """The request is whole: serve it, or keep it until the one before is answered."""
        self.busy_since_s = _NEVER
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        parser = self._parser
        request = Request(
            parser.get_method(), self._url, self._headers, body, self.peer, keep_alive=parser.should_keep_alive()
        )
        self._body = []
        if self._responder is None and not self._queue:
            self._serve(request)
            return
        self._queue.append(request)
        if len(self._queue) >= MAX_PIPELINED and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        if len(self._queue) > 4 * MAX_PIPELINED:
            raise _BadRequestError(400, b"too many requests without waiting for a reply")

    # called by responders and the server

    @property
    def serving(self) -> bool:
        """Whether a request is being answered."""
        return self._responder is not None

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        if self._transport is not None:
            self._transport.write(data)

    def answered(self, *, keep_alive: bool) -> None:
        """A reply is out: go on with the next request, or close."""
        self._responder = None
        self.idle_since_s = self._clock.monotonic()
        if self._transport is None:
            return
        if not keep_alive:
            self._transport.close()
            return
        if self._queue:
            request = self._queue.popleft()
            if self._paused and len(self._queue) < MAX_PIPELINED:
                self._paused = False
                self._transport.resume_reading()
            self._serve(request)

    def abort(self) -> None:
        """Drop the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close after what is written has gone out."""
        if self._transport is not None:
            self._transport.close()

    def check(self, now_s: float) -> None:
        """Close it if it sends too slowly or says nothing for too long; the server asks every second."""
        if now_s - self.busy_since_s > self._wire.header_timeout_s:
            self._fail(408, b"the request did not arrive in time")
        elif self._responder is None and now_s - self.idle_since_s > self._wire.idle_timeout_s:
            self.close()

    def _serve(self, request: Request) -> None:
        responder = Responder(self, keep_alive=request.keep_alive)
        self._responder = responder
        self._handler(request, responder)

    def _fail(self, status: int, words: bytes) -> None:
        """Answer what can't be parsed, and close: what follows on this connection can't be trusted."""
        transport = self._transport
        if transport is None:
            return
        if self._responder is not None:  # an answer is under way; another one would be mixed into it
            transport.abort()
            return
        self._transport = None
        self._queue.clear()
        body = b'{"error":{"message":"%b","type":"invalid_request_error","code":"BAD_REQUEST"}}' % words
        transport.write(
            b"%bcontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b"
            % (status_line(status), len(body), body)
        )
        transport.close()


class _BadRequestError(Exception):
    """Raised inside a parser's callback to stop reading."""

    def __init__(self, status: int, words: bytes) -> None:
        super().__init__(words.decode())
        self.status = status
        self.words = words


_ONCE = frozenset({b"host", b"content-length", b"transfer-encoding", b"authorization"})
