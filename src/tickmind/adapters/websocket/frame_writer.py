"""Writes frames to one client: at once where that takes no waiting, which most frames do."""

import asyncio
from struct import Struct

from aiohttp import WSMsgType, web

from tickmind.adapters.websocket.frames import FrameCodec
from tickmind.adapters.websocket.outbox import Frame

_WHOLE = 0x80  # bit of a frame that is a whole message
_SHORT, _LONG = 125, 65_535  # the longest frames with a size in one byte and in two
_HEAD, _LONG_HEAD, _LONGEST_HEAD = Struct("!BB"), Struct("!BBH"), Struct("!BBQ")


class FrameWriter:
    """Writes frames as the codec of the client's subprotocol does, and waits `stall_s` for a slow client."""

    def __init__(
        self,
        socket: web.WebSocketResponse,
        transport: asyncio.Transport | None,
        codec: FrameCodec,
        stall_s: float,
    ) -> None:
        self._socket = socket
        self._transport = transport
        self._codec = codec
        self._stall_s = stall_s
        self._is_writing = False

    def write_nowait(self, frame: bytes) -> bool:
        """Write a `ControlResponse`; return False, and leave it, if another is being written or the client is slow.

        Without a task's turn for each frame the frames to a thousand clients are written in half of the time.
        """
        transport = self._transport
        if self._is_writing or transport is None or self._socket.closed or transport.is_closing():
            return False
        unsent, (low, high) = transport.get_write_buffer_size(), transport.get_write_buffer_limits()
        if unsent > low:
            return False
        data = self._codec.write_control(frame)
        if isinstance(data, str):
            opcode, data = WSMsgType.TEXT, data.encode()
        else:
            opcode = WSMsgType.BINARY
        if unsent + len(data) >= high:
            return False
        transport.write(_head(opcode, len(data)) + data)
        return True

    async def write(self, frame: Frame) -> None:
        """Write a frame; raises `TimeoutError` if the client takes too long for it, and `ConnectionError`."""
        self._is_writing = True
        try:
            codec, socket = self._codec, self._socket
            data = codec.write_control(frame) if isinstance(frame, bytes) else codec.write(frame)
            async with asyncio.timeout(self._stall_s):
                await (socket.send_str(data) if isinstance(data, str) else socket.send_bytes(data))
        finally:
            self._is_writing = False

    def abort(self) -> None:
        """Cut the connection off."""
        if self._transport is not None:
            self._transport.abort()


def _head(opcode: int, size: int) -> bytes:
    """Return what precedes the data of a message from a server, which is not masked."""
    if size <= _SHORT:
        return _HEAD.pack(_WHOLE | opcode, size)
    if size <= _LONG:
        return _LONG_HEAD.pack(_WHOLE | opcode, 126, size)
    return _LONGEST_HEAD.pack(_WHOLE | opcode, 127, size)
