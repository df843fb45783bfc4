"""The callers' side of HTTP/1.1: requests in, replies out, one at a time per connection.

`httptools` parses (strictly); this module only bounds, orders and answers. It is an asyncio protocol instead of a
framework because a framework costs more per request than everything else that the gateway does.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import cast

import httptools

from tickmind.base import Clock, get_logger
from tickmind.gateway.http.exchange import Handler, Head, Request, Responder, status_line
from tickmind.gateway.http.head_memo import HeadMemo, Recall
from tickmind.gateway.settings.config import WireConfig

MAX_URL_BYTES = 2048
MAX_PIPELINED = 8  # requests queued behind the current one, before reading stops
MAX_HEADERS = 100
LINGER_S = 2.0  # how long a refused caller may keep sending, so that it sees the refusal instead of a reset
PROBE_S = 0.05  # after which a write to a nearby caller that is gone has failed
_NEVER = math.inf
_log = get_logger(__name__)


class InboundConnection(asyncio.Protocol):
    """One caller's connection."""

    __slots__ = (
        "_begun", "_body", "_body_bytes", "_came", "_choked", "_chunked", "_deaf", "_ended", "_fed", "_handler",
        "_header_bytes", "_headers", "_heads", "_in_head", "_max_request_bytes", "_monotonic", "_on_close", "_parser",
        "_patience_s", "_queue", "_reading", "_responder", "_transport", "_unwanted", "_url", "_wire", "busy_since_s",
        "idle_since_s", "peer",
    )  # fmt: skip

    def __init__(
        self,
        handler: Handler,
        wire: WireConfig,
        clock: Clock,
        on_close: Callable[["InboundConnection"], None],
        heads: HeadMemo[Head],
    ) -> None:
        self._handler = handler
        self._wire = wire
        self._max_request_bytes = wire.max_request_bytes
        self._monotonic = clock.monotonic
        self._on_close = on_close
        self._heads = Recall(heads)
        self._came = b""  # bytes being parsed, if a request begins with them
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._unwanted = False  # it is to be dropped as soon as it is made
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._header_bytes = 0
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._queue: deque[Request] = deque()
        self._responder: Responder | None = None
        self._in_head = True
        self._chunked = True  # whether the caller can read a reply in chunks
        self._fed = 0  # bytes of the current request, in all reads but the first
        self._deaf = False  # no more input is read from this caller
        self._ended = False  # the caller has closed its side of the connection
        self._begun = False  # a part of the reply is sent
        self._choked = False  # the write buffer is full
        self._reading = True
        self._patience_s = wire.idle_timeout_s
        self.peer = ""
        self.idle_since_s = clock.monotonic()
        self.busy_since_s = _NEVER  # when the current request began to arrive

    # called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the new connection."""
        self._transport = cast("asyncio.Transport", transport)
        if self._unwanted:
            self._transport.abort()
            return
        peer = transport.get_extra_info("peername")
        self.peer = peer[0] if isinstance(peer, tuple) else "local"

    def data_received(self, data: bytes) -> None:
        """Parse input; malformed input is answered with 400 and the connection is closed."""
        if self.busy_since_s == _NEVER:
            while not self._deaf and (known := self._heads.find(data)) is not None:
                head, at, length = known
                end, size = at + length, len(data)
                if size < end or length > self._max_request_bytes:
                    break
                request = Request(head, data[at:end], self.peer)
                if self._responder is None and not self._queue and not self._choked:
                    self._serve(request)
                elif not self._keep(request):
                    self._fail(400, _TOO_MANY)
                if size == end:
                    return
                data = data[end:]
        if not self._deaf:
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        """Parse input that is not a whole request, or has an unknown head."""
        self._came = data if self.busy_since_s == _NEVER else b""
        self._fed += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return  # the request is still served, as the last one
        except httptools.HttpParserError as exc:
            self._malformed(exc.__context__)
            return
        finally:
            self._came = b""
        if self.busy_since_s != _NEVER:
            wire = self._wire
            if self._in_head and self._fed > wire.max_header_bytes + MAX_URL_BYTES:
                self._fail(431, b"the headers are larger than max_header_bytes")
            elif self._fed > wire.max_header_bytes + 2 * wire.max_request_bytes:
                self._fail(413, b"the request is larger than max_request_bytes")

    def _learn(self, request: Request) -> None:
        """Memorise the head, if the input was exactly this request, with a body of a given length."""
        head, data = request.head, self._came
        if (
            len(request.body) == len(data) - data.find(b"\r\n\r\n") - 4
            and head.headers.get(b"content-length", b"").isdigit()
            and b"expect" not in head.headers
            and head.keep_alive
        ):
            self._heads.keep(data, head)

    def eof_received(self) -> bool:
        """Handle the caller's half-close: it is gone, or only done with sending and still gets its reply."""
        transport, responder = self._transport, self._responder
        if transport is None or responder is None or self._begun or not responder.takes_chunks:
            return False
        if not transport.can_write_eof():  # TLS has no half-closed connections
            return False
        self._ended = self._deaf = True
        self.busy_since_s = _NEVER
        self._body = []
        self._probe()
        asyncio.get_running_loop().call_later(PROBE_S, self._probe)
        return True

    def _probe(self) -> None:
        """Find out whether a caller that half-closed is gone: then a second write after this one fails.

        It writes an interim reply, which every HTTP/1.1 client ignores.
        """
        if self._transport is not None and self._responder is not None and not self._begun:
            self._transport.write(_CONTINUE)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's signature
        """Stop all work for the caller."""
        self._transport = None
        self._deaf = True
        del self._parser  # break the reference cycle, which else waits for the garbage collector
        self._queue.clear()
        responder, self._responder = self._responder, None
        if responder is not None:
            responder.lost()
        self._on_close(self)

    def pause_writing(self) -> None:
        """Stop writing to and reading from a caller that does not keep up."""
        self._choked = True
        self._read_or_wait()
        if self._responder is not None and self._responder.pending is not None:
            self._responder.pending.hold()

    def resume_writing(self) -> None:
        """Resume: the caller has caught up."""
        self._choked = False
        if self._responder is not None:
            if self._responder.pending is not None:
                self._responder.pending.go_on()
        elif self._queue:
            self._serve(self._queue.popleft())
        self._read_or_wait()

    # called by the parser

    def on_message_begin(self) -> None:
        """Begin a new request."""
        self.busy_since_s = self._monotonic()
        self._in_head = True
        self._fed = 0
        self._url = b""
        self._headers = {}
        self._header_bytes = 0
        self._body = []
        self._body_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Collect the request's target, possibly in pieces."""
        self._url += url
        if len(self._url) > MAX_URL_BYTES:
            raise _BadRequestError(414, b"the URL is too long")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header; trailers after a chunked body count against the limit and are dropped."""
        self._header_bytes += len(name) + len(value) + 4
        if self._header_bytes > self._wire.max_header_bytes or len(self._headers) >= MAX_HEADERS:
            raise _BadRequestError(431, b"the headers are too large")
        if not self._in_head:
            return
        name = name.lower()
        if name in self._headers and name in _ONCE:
            raise _BadRequestError(400, b"a header that may occur once occurs twice")
        self._headers[name] = value

    def on_headers_complete(self) -> None:
        """Refuse requests that can't be served, before their body is read."""
        self._in_head = False
        parser = self._parser
        if parser.should_upgrade():
            if parser.get_method() == b"CONNECT":
                raise _BadRequestError(501, b"this server is no proxy")
            if not self._headers.keys().isdisjoint(_FRAMING):
                raise _BadRequestError(501, b"this server speaks plain HTTP/1.1 only; leave the Upgrade header out")
        version = parser.get_http_version()
        self._chunked = version != "1.0"
        if version == "1.1":
            if b"host" not in self._headers:
                raise _BadRequestError(400, b"the Host header is missing")
        elif version != "1.0":
            raise _BadRequestError(505, b"this server speaks HTTP/1.1")
        length = self._headers.get(b"content-length")
        if length is not None and int(length) > self._wire.max_request_bytes:
            raise _BadRequestError(413, b"the request is larger than max_request_bytes")
        if self._headers.get(b"expect", b"").lower() == b"100-continue" and self._responder is None:
            assert self._transport is not None, "what is read comes from it"
            self._transport.write(_CONTINUE)
        self.busy_since_s = self._monotonic()  # the body has its own time limit

    def on_body(self, body: bytes) -> None:
        """Collect a piece of the body."""
        self._body_bytes += len(body)
        if self._body_bytes > self._wire.max_request_bytes:
            raise _BadRequestError(413, b"the request is larger than max_request_bytes")
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Serve the complete request, or queue it until the one before is answered."""
        self.busy_since_s = _NEVER
        self._fed = 0
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body = []
        parser = self._parser
        keep_alive = parser.should_keep_alive() and not parser.should_upgrade()
        self._deaf = not keep_alive
        head = Head(parser.get_method(), self._url, self._headers, keep_alive=keep_alive, chunked=self._chunked)
        request = Request(head, body, self.peer)
        self._learn(request)
        if self._responder is None and not self._queue and not self._choked:
            self._serve(request)
        elif not self._keep(request):
            raise _BadRequestError(400, _TOO_MANY)

    # called by responders and the server

    @property
    def serving(self) -> bool:
        """Whether a request is being answered."""
        return self._responder is not None

    @property
    def idle(self) -> bool:
        """Whether no request is being read or answered."""
        return self._responder is None and not self._queue and self.busy_since_s == _NEVER

    def write(self, data: bytes) -> None:
        """Send bytes unchanged."""
        self._begun = True
        if self._transport is not None:
            self._transport.write(data)

    def finish(self, data: bytes, keep_alive: bool) -> None:
        """Send the last bytes of a reply; then serve the next request, or close."""
        self._responder = None
        self._begun = False
        transport = self._transport
        if transport is None:
            return
        transport.write(data)
        self.idle_since_s = self._monotonic()
        if not keep_alive or (self._ended and not self._queue):
            transport.close()
            return
        if self._queue and not self._choked:
            request = self._queue.popleft()
            self._read_or_wait()
            self._serve(request)

    def abort(self) -> None:
        """Drop the connection at once."""
        if self._transport is not None:
            self._transport.abort()
        else:
            self._unwanted = True

    def close(self) -> None:
        """Close after the written bytes are sent."""
        if self._transport is not None:
            self._transport.close()
        else:
            self._unwanted = True  # it was accepted, and its TLS handshake is not over

    def check(self, now_s: float) -> None:
        """Close the connection if it sends too slowly or is idle for too long; the server calls it every second."""
        transport = self._transport
        if transport is None:
            return
        wire = self._wire
        if self._ended:
            self._probe()
        if self._reading and now_s - self.busy_since_s > (
            wire.header_timeout_s if self._in_head else wire.body_timeout_s
        ):
            self._fail(408, b"the request did not arrive in time")
        elif self._responder is None and now_s - self.idle_since_s > self._patience_s:
            if self._choked or self._deaf or transport.is_closing():  # the written bytes are not read
                transport.abort()
            else:
                transport.close()

    def _keep(self, request: Request) -> bool:
        """Queue a complete request; return False if too many are queued."""
        self._queue.append(request)
        self._read_or_wait()
        return len(self._queue) <= 4 * MAX_PIPELINED

    def _serve(self, request: Request) -> None:
        head = request.head
        self._responder = responder = Responder(self, head)
        try:
            (head.endpoint or self._handler)(request, responder)
        except Exception:  # noqa: BLE001 - a fault of ours must not take the caller's other requests with it
            _log.exception("request handler failed", path=request.path.decode("latin-1")[:100])
            pending = responder.pending
            responder.reply(500, b"content-type: application/json\r\n", _FAULT)
            if pending is not None:
                pending.gone()

    def _read_or_wait(self) -> None:
        """Resume reading, unless enough requests are queued."""
        transport = self._transport
        wanted = not self._choked and len(self._queue) < MAX_PIPELINED
        if transport is None or self._ended or wanted == self._reading or transport.is_closing():
            return
        self._reading = wanted
        if not wanted:
            transport.pause_reading()
            return
        transport.resume_reading()
        if self.busy_since_s != _NEVER:
            self.busy_since_s = self._monotonic()

    def _malformed(self, cause: BaseException | None) -> None:
        if self._deaf:  # input after the last request is ignored
            return
        if isinstance(cause, _BadRequestError):
            self._fail(cause.status, cause.words)
        else:
            self._fail(400, b"the request is not valid HTTP/1.1")

    def _fail(self, status: int, words: bytes) -> None:
        """Answer a malformed request, and close: what follows on this connection can't be trusted."""
        transport = self._transport
        if transport is None:
            return
        self._deaf = True
        self.busy_since_s = _NEVER
        self._body = []
        if self._responder is not None or self._queue:  # a reply is in progress; this answer would be mixed into it
            transport.abort()
            return
        body = b'{"error":{"message":"%b","type":"invalid_request_error","code":"BAD_REQUEST"}}' % words
        transport.write(
            b"%bcontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b"
            % (status_line(status), len(body), body)
        )
        if not transport.can_write_eof():
            transport.close()
            return
        transport.write_eof()
        self.idle_since_s = self._monotonic()
        self._patience_s = LINGER_S


class _BadRequestError(Exception):
    """Raised inside a parser's callback to stop reading."""

    def __init__(self, status: int, words: bytes) -> None:
        super().__init__(words.decode())
        self.status = status
        self.words = words


_FAULT = b'{"error":{"message":"internal error of the gateway; see its log","type":"server_error","code":"INTERNAL"}}'
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_TOO_MANY = b"too many pipelined requests without waiting for a reply"
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_ONCE = _FRAMING | {b"host", b"authorization", b"origin"}
