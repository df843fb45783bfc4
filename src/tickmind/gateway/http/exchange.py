"""One HTTP request and its responder, as handlers see them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tickmind.gateway.call_options import CallOptions

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
    """Return the status line of a reply; a provider's non-standard status passes without a reason phrase."""
    return _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status


class Head:
    """All of a request but its body. Header names are lower-case bytes; `chunked`: the caller can read chunks.

    Requests with the same head share one object, so what follows from the head alone is cached on it: `cors`,
    `endpoint` and `call_options`.
    """

    __slots__ = ("call_options", "chunked", "close", "cors", "endpoint", "headers", "keep_alive", "method", "url")

    def __init__(
        self, method: bytes, url: bytes, headers: dict[bytes, bytes], *, keep_alive: bool, chunked: bool = True
    ) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.keep_alive = keep_alive
        self.chunked = chunked
        self.close = b"" if keep_alive else b"connection: close\r\n"
        self.cors: bytes | None = None
        self.endpoint: Handler | None = None
        self.call_options: CallOptions | None = None


class Request:
    """A complete request."""

    __slots__ = ("body", "head", "peer")

    def __init__(self, head: Head, body: bytes, peer: str) -> None:
        self.head = head
        self.body = body
        self.peer = peer

    @property
    def method(self) -> bytes:
        """`POST` and the like."""
        return self.head.method

    @property
    def headers(self) -> dict[bytes, bytes]:
        """The headers by lower-case name."""
        return self.head.headers

    @property
    def path(self) -> bytes:
        """The URL without its query."""
        return self.head.url.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        """The part after the question mark."""
        return self.head.url.partition(b"?")[2]


class Pending(Protocol):
    """Work in progress for a request; the connection reports when the caller is gone or slow."""

    def gone(self) -> None:
        """Drop everything: the caller disconnected."""
        ...

    def hold(self) -> None:
        """Pause: the caller reads slower than we write."""
        ...

    def go_on(self) -> None:
        """Resume: the caller has caught up."""
        ...


class CallerConnection(Protocol):
    """The connection that a responder writes to."""

    def write(self, data: bytes) -> None:
        """Send bytes unchanged."""
        ...

    def finish(self, data: bytes, keep_alive: bool) -> None:
        """Send the last bytes of a reply."""
        ...


class Responder:
    """Answers one request, once: `reply` with a whole body, or `begin`, then `piece` as often as needed, and `end`."""

    __slots__ = ("_begun", "_connection", "_head", "_keep_alive", "pending")

    def __init__(self, connection: CallerConnection, head: Head) -> None:
        self._begun = b""  # the head of a reply that goes out with its first bytes
        self._connection: CallerConnection | None = connection
        self._head = head
        self._keep_alive = head.keep_alive
        self.pending: Pending | None = None

    @property
    def open(self) -> bool:
        """Whether the caller still waits for the answer."""
        return self._connection is not None

    @property
    def takes_chunks(self) -> bool:
        """Whether the caller can read a reply in chunks."""
        return self._head.chunked

    def reply(self, status: int, headers: bytes, body: bytes) -> None:
        """Send a whole reply; `headers` are lines that end with CRLF, without the length."""
        connection = self._connection
        if connection is None:
            return
        self._connection = self.pending = None
        head = self._head
        line = _STATUS_LINES.get(status) or status_line(status)
        if status == 204:
            data = b"%b%b%b\r\n" % (line, headers, head.close)
        else:
            sent = b"" if head.method == b"HEAD" else body
            data = b"%b%b%bcontent-length: %d\r\n\r\n%b" % (line, headers, head.close, len(body), sent)
        connection.finish(data, self._keep_alive)

    def begin(self, status: int, headers: bytes) -> None:
        """Prepare the head of a reply of unknown length; with HTTP/1.0 it ends when the connection closes.

        It goes out with the first bytes of the body, or with its end.
        """
        if self._connection is None:
            return
        chunked = self._head.chunked
        self._keep_alive = self._keep_alive and chunked
        close = b"" if self._keep_alive else b"connection: close\r\n"
        framing = b"transfer-encoding: chunked\r\n" if chunked else b""
        self._begun = b"%b%b%b%b\r\n" % (status_line(status), headers, close, framing)

    def piece(self, data: bytes) -> None:
        """Send the next bytes of the body."""
        if data:
            self.chunks(b"%x\r\n%b\r\n" % (len(data), data) if self._head.chunked else data)

    def chunks(self, data: bytes) -> None:
        """Send body bytes that are already in chunks; only if the caller `takes_chunks`."""
        if self._connection is not None:
            if self._begun:
                data, self._begun = self._begun + data, b""
            self._connection.write(data)

    def end(self, last: bytes = b"") -> None:
        """End a reply that was begun, with a last piece if there is one."""
        connection = self._connection
        if connection is None:
            return
        self._connection = self.pending = None
        if self._head.chunked:
            last = b"%x\r\n%b\r\n0\r\n\r\n" % (len(last), last) if last else b"0\r\n\r\n"
        connection.finish(self._begun + last, self._keep_alive)

    def lost(self) -> None:
        """Note that the connection is lost; called by the connection."""
        pending = self.pending
        self._connection = self.pending = None
        if pending is not None:
            pending.gone()


Handler = Callable[[Request, Responder], None]
