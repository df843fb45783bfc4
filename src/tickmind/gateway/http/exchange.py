"""One request and its reply, as handlers see them: bytes in, and a responder that is used once."""

from typing import Protocol

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
    """One whole request. Header names are lower-case bytes; `chunked`: the caller can read a reply in chunks."""

    __slots__ = ("body", "chunked", "headers", "keep_alive", "method", "peer", "url")

    def __init__(
        self,
        method: bytes,
        url: bytes,
        headers: dict[bytes, bytes],
        body: bytes,
        peer: str,
        *,
        keep_alive: bool,
        chunked: bool = True,
    ) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.peer = peer
        self.keep_alive = keep_alive
        self.chunked = chunked

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


class Connection(Protocol):
    """Where a responder writes to."""

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        ...

    def answered(self, *, keep_alive: bool) -> None:
        """The reply is out."""
        ...

    def abort(self) -> None:
        """Drop the caller."""
        ...


class Responder:
    """Answers one request, once: `reply` with a whole body, or `begin`, `piece` as often as needed, and `end`."""

    __slots__ = ("_chunked", "_connection", "_head_only", "_keep_alive", "pending")

    def __init__(self, connection: Connection, request: Request) -> None:
        self._connection: Connection | None = connection
        self._keep_alive = request.keep_alive
        self._chunked = request.chunked
        self._head_only = request.method == b"HEAD"
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

    def begin(self, status: int, headers: bytes) -> None:
        """Send the head of a reply whose length is not known; to HTTP/1.0 its end is that of the connection."""
        if self._connection is None:
            return
        self._keep_alive = self._keep_alive and self._chunked
        close = b"" if self._keep_alive else b"connection: close\r\n"
        framing = b"transfer-encoding: chunked\r\n" if self._chunked else b""
        self._connection.write(b"%b%b%b%b\r\n" % (status_line(status), headers, close, framing))

    def piece(self, data: bytes) -> None:
        """Send the next bytes of the body."""
        if self._connection is not None and data:
            self._connection.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def end(self, last: bytes = b"") -> None:
        """End the reply that was begun, with a last piece if there is one."""
        connection = self._connection
        if connection is None:
            return
        self._connection = self.pending = None
        if not self._chunked:
            connection.write(last)
        else:
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
