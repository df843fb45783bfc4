"""A WebSocket client for tests that write many frames at once: no more than a handshake and plain frames."""

import asyncio
import base64
import os
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from tickmind.adapters.websocket.frames import JSON_SUBPROTOCOL

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10  # opcodes
_FINAL, _MASKED = 0x80, 0x80
_NO_MASK = bytes(4)  # a mask that leaves all as it is
_SHORT, _TWO_BYTES, _EIGHT_BYTES = 125, 126, 127


def frame(data: bytes, opcode: int = TEXT) -> bytes:
    """Return a frame of a client."""
    size = len(data)
    if size <= _SHORT:
        head = struct.pack("!BB", _FINAL | opcode, _MASKED | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", _FINAL | opcode, _MASKED | _TWO_BYTES, size)
    else:
        head = struct.pack("!BBQ", _FINAL | opcode, _MASKED | _EIGHT_BYTES, size)
    return head + _NO_MASK + data


class RawSocket:
    """A connection after its handshake."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def write(self, texts: Iterable[str]) -> None:
        """Send text frames, all at once; halves of letters go as they are."""
        self._writer.write(b"".join([frame(text.encode("utf-8", "surrogatepass")) for text in texts]))

    async def read(self) -> bytes | None:
        """Return the next frame's data; None after the last one."""
        try:
            while True:
                first, size = await self._reader.readexactly(2)
                if size == _TWO_BYTES:
                    (size,) = struct.unpack("!H", await self._reader.readexactly(2))
                elif size == _EIGHT_BYTES:
                    (size,) = struct.unpack("!Q", await self._reader.readexactly(8))
                data = await self._reader.readexactly(size)
                match first & 15:
                    case 1 | 2:
                        return data
                    case 8:
                        self._writer.write(frame(data, CLOSE))
                        return None
                    case 9:
                        self._writer.write(frame(data, PONG))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None


@asynccontextmanager
async def raw_socket(url: str, subprotocol: str = JSON_SUBPROTOCOL) -> AsyncIterator[RawSocket]:
    """A connection to an endpoint."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 20)
    try:
        key = base64.b64encode(os.urandom(16)).decode()
        lines = (
            f"GET {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Upgrade: websocket", "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Protocol: {subprotocol}",
        )  # fmt: skip
        writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 101 "), answer
        yield RawSocket(reader, writer)
    finally:
        writer.close()
