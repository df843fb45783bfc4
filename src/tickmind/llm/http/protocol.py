"""HTTP/1.1 for one purpose: post a body, read the reply. A parser without I/O, and a connection that feeds it.

It exists because a thousand characters share one core: `asyncio.BufferedProtocol` reads into one shared buffer, and
nothing is done per chunk of a stream but what the stream needs.
"""

import asyncio
from functools import lru_cache
from typing import cast

from tickmind.base import Limit
from tickmind.llm.http.pacing import LoopPacer

MAX_HEAD_BYTES = Limit("size of the headers of a reply", 64 * 1024, "bytes")
READ_BUFFER_BYTES = 64 * 1024
SEVERAL_BYTES = 600  # more than the usual chunk of a stream
_LAST_LINES = b"0\r\n\r\n"
_LAST_CHUNK = b"\r\n" + _LAST_LINES
_NEWLINE = ord("\n")
HIGH_WATER_BYTES = 64 * 1024  # unread bytes of one connection after which it stops reading

_HEAD, _LENGTH, _UNTIL_CLOSE, _CHUNK_SIZE, _CHUNK, _CHUNK_END, _TRAILER, _DONE = range(8)


class HttpFormatError(Exception):
    """The peer does not speak HTTP/1.1 as it should."""


class HttpCutError(HttpFormatError):
    """The connection ended in the middle of a reply."""


class ResponseParser:
    """Reads one response, in any cut: `feed` gives the pieces of its body, `headers` are there once `status` is.

    `done` says that the response is whole, `reusable` that the connection can carry another one.
    """

    __slots__ = ("_buffer", "_left", "_state", "headers", "keep_alive", "status")

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}  # lower-case name -> value
        self.keep_alive = False
        self._state = _HEAD
        self._buffer = b""
        self._left = 0

    @classmethod
    def after_head(cls, status: int, headers: dict[str, str], length: int | None) -> "ResponseParser":
        """Return a parser that has read such a head already; without a length the body comes in chunks."""
        parser = cls()
        parser.status = status
        parser.headers = headers
        parser.keep_alive = True
        if length is None:
            parser._state = _CHUNK_SIZE
        else:
            parser._left = length
            parser._state = _LENGTH if length else _DONE
        return parser

    @property
    def done(self) -> bool:
        """Whether the whole response was read."""
        return self._state == _DONE

    @property
    def reusable(self) -> bool:
        """Whether the connection is in order after this response."""
        return self._state == _DONE and self.keep_alive and not self._buffer

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes."""
        if self._buffer:
            data = self._buffer + data
            self._buffer = b""
        if self._state == _HEAD:
            data = self._read_head(data)
            if self._state == _HEAD:
                return []
        if self._state >= _CHUNK_SIZE:
            if data == _LAST_LINES and self._state == _CHUNK_SIZE:  # a shortcut for the usual end
                self._state = _DONE
                return []
            return self._read_chunks(data)
        if self._state == _UNTIL_CLOSE:
            return [data] if data else []
        body, rest = data[: self._left], data[self._left :]
        self._left -= len(body)
        if not self._left:
            self._state = _DONE
            self._buffer = rest
        return [body] if body else []

    def whole_chunks(self, data: bytes) -> int:
        """Return how many of the next bytes are whole chunks of whole lines, to be passed on with their framing.

        It reads nothing: `feed` what is not passed on.
        """
        at = 0
        if self._state == _CHUNK_SIZE and not self._buffer:
            if len(data) > SEVERAL_BYTES and (length := _plain_chunks(data)):
                return length
            while (end := data.find(b"\r\n", at, at + 16)) > 0 and (size := _plain_size(b"\n" + data[at:end])):
                stop = end + 1 + size
                if data[stop - 1 : stop + 2] != b"\n\r\n":
                    break
                at = stop + 2
        return at

    def end(self) -> None:
        """Note that the peer closed the connection; raises if that cuts the response short."""
        if self._state == _UNTIL_CLOSE:
            self._state = _DONE
        if self._state != _DONE:
            raise HttpCutError("the connection was closed before the reply was whole")

    def _read_head(self, data: bytes) -> bytes:
        """Read the status line and the headers; return the bytes that follow them."""
        while True:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if not MAX_HEAD_BYTES.allows(len(data)):
                    raise HttpFormatError("the reply's headers are too large")
                if not data.startswith(b"HTTP/1."[: len(data)]):
                    raise HttpFormatError("the reply is not HTTP/1.1; is this the address of a model endpoint?")
                self._buffer = data
                return b""
            lines = data[:end].decode("latin-1").split("\r\n")
            data = data[end + 4 :]
            version, _, rest = lines[0].partition(" ")
            code = rest[:3]
            if version not in {"HTTP/1.1", "HTTP/1.0"} or not (code.isdigit() and code.isascii() and len(code) == 3):
                raise HttpFormatError("the reply is not HTTP/1.1; is this the address of a model endpoint?")
            self.status = int(code)
            if self.status >= 200:  # anything below only says that the reply is still to come
                break
            self.status = 0
        self._read_fields(lines)
        self._choose_body(version)
        return data

    def _read_fields(self, lines: list[str]) -> None:
        headers = self.headers
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon or not name or name[-1] in " \t" or name[0] in " \t":
                raise HttpFormatError("the reply has a malformed header")
            name, value = name.lower(), value.strip(" \t")
            if name in headers:
                if name in {"content-length", "transfer-encoding"} and headers[name] != value:
                    raise HttpFormatError(f"the reply has two different {name} headers")
                value = value if name == "content-length" else f"{headers[name]}, {value}"
            headers[name] = value

    def _choose_body(self, version: str) -> None:
        headers = self.headers
        connection = headers.get("connection", "").lower()
        self.keep_alive = "close" not in connection if version == "HTTP/1.1" else "keep-alive" in connection
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if self.status in {204, 304}:
            self._state = _DONE
        elif coding is not None:
            if coding.lower() != "chunked":
                raise HttpFormatError("the reply has a transfer encoding that was not asked for")
            if length is not None:
                self.keep_alive = False
            self._state = _CHUNK_SIZE
        elif length is not None:
            if not (length.isdigit() and length.isascii() and len(length) < 16):
                raise HttpFormatError("the reply has a malformed content-length")
            self._left = int(length)
            self._state = _LENGTH if self._left else _DONE
        else:
            self.keep_alive = False
            self._state = _UNTIL_CLOSE

    def _read_chunks(self, data: bytes) -> list[bytes]:
        pieces: list[bytes] = []
        at, size = 0, len(data)
        while self._state != _DONE:
            if self._state == _CHUNK:
                piece = data[at : at + self._left]
                if piece:
                    pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    return pieces
                self._state = _CHUNK_END
            if self._state == _CHUNK_END:
                if size - at < 2:
                    break
                if data[at : at + 2] != b"\r\n":
                    raise HttpFormatError("a chunk of the reply is longer than it said")
                at += 2
                self._state = _CHUNK_SIZE
            end = data.find(b"\r\n", at)
            if end < 0:
                if size - at > 4096:
                    raise HttpFormatError("a line between the chunks of the reply is too long")
                break
            line = data[at:end]
            at = end + 2
            if self._state == _TRAILER:
                if not line:
                    self._state = _DONE
                continue
            self._left = _chunk_size(line)
            self._state = _CHUNK if self._left else _TRAILER
        self._buffer = data[at:]
        return pieces


def _plain_chunks(data: bytes) -> int:
    """Return the length of all chunks before the last, if each is whole and plain; 0 if a loop has to tell them apart.

    It looks at all chunks at once and searches for single bytes, which takes a fifth of the time of a loop.
    """
    body = data[:-5] if data.endswith(_LAST_CHUNK) else data
    parts = body.split(b"\r")  # a size and a chunk by turns, each but the first with the newline before it
    chunks = parts[1::2]
    sizes = list(map(_plain_size, (b"\n" + parts[0], *parts[2:-1:2])))
    if parts[-1] != b"\n" or 0 in sizes or sizes != list(map(len, chunks)):
        return 0
    return 0 if [chunk for chunk in chunks if chunk[0] != _NEWLINE or chunk[-1] != _NEWLINE] else len(body)


@lru_cache(4096)
def _plain_size(line: bytes) -> int:
    """Return the size of a chunk, and of a newline before it, from a line with nothing but digits after its newline.

    It is 0 for the last chunk, and for a line that is not as plain.
    """
    digits = line[1:]
    try:
        size = _chunk_size(digits) if line.startswith(b"\n") and digits.isalnum() else 0
    except HttpFormatError:
        return 0
    return size + 1 if size else 0


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip(b" \t")
    if not digits.isalnum() or len(digits) > 15 or digits[1:2] in {b"x", b"X"}:
        raise HttpFormatError("the reply has a malformed chunk size")
    try:
        return int(digits, 16)
    except ValueError:
        raise HttpFormatError("the reply has a malformed chunk size") from None


class HttpConnection(asyncio.BufferedProtocol):
    """One connection to an endpoint. It is used by one exchange at a time; `buffer` may be shared within a loop."""

    def __init__(self, buffer: memoryview, pacer: LoopPacer) -> None:
        self.closed = False
        self.idle_since = 0.0
        self.tail: ResponseParser | None = None  # reads the end of a reply whose reader has left
        self._buffer = buffer
        self._pacer = pacer
        self._pieces: list[bytes] = []
        self._unread = 0
        self._paused = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None

    # called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the loop's signature
        """Return the buffer that the loop reads into."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Keep what was read and wake the reader."""
        data = bytes(self._buffer[:nbytes])
        if self.tail is not None:
            self._read_tail(self.tail, data)
            return
        self._pieces.append(data)
        self._unread += nbytes
        if self._unread > HIGH_WATER_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def eof_received(self) -> bool:
        """Close our side too when the peer has sent everything."""
        self._end()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake the reader with the reason for which the connection ended."""
        if exc is not None and self._error is None:
            self._error = exc
        self._end()

    # called by an exchange

    @property
    def is_clean(self) -> bool:
        """Whether it can carry a new exchange."""
        return not self.closed and not self._pieces and (self.tail is None or self.tail.reusable)

    @property
    def transport(self) -> asyncio.Transport:
        """The transport underneath, for TLS inside a proxy's tunnel."""
        if self._transport is None:
            raise HttpCutError("the connection was closed")
        return self._transport

    def write(self, data: bytes) -> None:
        """Send bytes; a lost connection shows at the next read."""
        if self._transport is not None and not self.closed:
            self._transport.write(data)

    async def read(self) -> bytes:
        """Return the bytes that arrived, at least one; none at the end. Raises what broke the connection."""
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self.closed:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if self._pacer.is_late():
            await self._pacer.turn()
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._drop_pieces()
        return data

    def leave(self, tail: ResponseParser) -> None:
        """Leave the rest of the reply to `tail`, which reads and discards it."""
        self.tail = tail
        rest = b"".join(self._pieces)
        self._drop_pieces()
        if rest:
            self._read_tail(tail, rest)

    def expire(self) -> None:
        """End the connection at its deadline: what has arrived can be read, then `TimeoutError` follows."""
        if self._error is None and not self.closed:
            self._error = TimeoutError()
        self.abort()

    def abort(self) -> None:
        """Drop the connection at once."""
        if self._transport is not None:
            self._transport.abort()
        self._end()

    def _drop_pieces(self) -> None:
        self._pieces.clear()
        self._unread = 0
        if self._paused and self._transport is not None and not self.closed:
            self._paused = False
            self._transport.resume_reading()

    def _end(self) -> None:
        self.closed = True
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _read_tail(self, tail: ResponseParser, data: bytes) -> None:
        try:
            extra = tail.done or tail.feed(data)
        except HttpFormatError:
            extra = True
        if extra:  # more than the end of a reply: it has no reader
            self.abort()
