"""Frames are written at once while the client keeps up, as aiohttp writes them, and none overtakes another."""

import asyncio
from typing import Any

import pytest
from aiohttp import WSMsgType

from tickmind.adapters.websocket.frame_writer import FrameWriter
from tickmind.wire.v1 import door_pb2 as pb

LOW, HIGH = 16 * 1024, 64 * 1024
pytestmark = pytest.mark.asyncio


class Transport:
    def __init__(self):
        self.written = []
        self.unsent = 0
        self.closing = False

    def is_closing(self):
        return self.closing

    def get_write_buffer_size(self):
        return self.unsent

    def get_write_buffer_limits(self):
        return LOW, HIGH

    def write(self, data):
        self.written.append(bytes(data))


class Socket:
    """Writes as aiohttp does; with `may_write` cleared, its client reads nothing."""

    closed = False

    def __init__(self):
        self.sent = []
        self.may_write = asyncio.Event()
        self.may_write.set()

    async def send_str(self, data):
        await self.send_bytes(data)

    async def send_bytes(self, data):
        await self.may_write.wait()
        self.sent.append(data)


class Codec:
    def __init__(self, *, is_text=False):
        self.is_text = is_text

    def write_control(self, data):
        return data.decode() if self.is_text else data

    def write(self, frame):
        return frame.SerializeToString()


@pytest.fixture
def transport():
    return Transport()


@pytest.fixture
def socket():
    return Socket()


def writer(socket: Any, transport: Any, *, is_text: bool = False, stall_s: float = 60.0) -> FrameWriter:
    codec: Any = Codec(is_text=is_text)
    return FrameWriter(socket, transport, codec, stall_s)


@pytest.mark.parametrize("is_text", [True, False])
@pytest.mark.parametrize("size", [0, 1, 125, 126, 40_000])
async def test_frames_are_those_of_aiohttp(socket, transport, is_text, size):
    from aiohttp._websocket.writer import WebSocketWriter
    from aiohttp.base_protocol import BaseProtocol

    theirs: Any = Transport()
    opcode = WSMsgType.TEXT if is_text else WSMsgType.BINARY
    protocol = BaseProtocol(asyncio.get_running_loop())
    await WebSocketWriter(protocol, theirs).send_frame(b"x" * size, opcode)
    assert writer(socket, transport, is_text=is_text).write_nowait(b"x" * size)
    assert b"".join(transport.written) == b"".join(theirs.written)


async def test_letters_of_several_bytes_count_as_bytes(socket, transport):
    assert writer(socket, transport, is_text=True).write_nowait("täglich".encode())
    assert transport.written == [b"\x81\x08" + "täglich".encode()]


async def test_a_long_frame_has_its_whole_size(socket, transport):
    transport.get_write_buffer_limits = lambda: (LOW, 1_000_000)
    assert writer(socket, transport).write_nowait(b"x" * 70_000)
    assert transport.written[0][:10] == b"\x82\x7f" + (70_000).to_bytes(8)


async def test_a_client_that_reads_slowly_or_is_gone_gets_no_frame_at_once(socket, transport):
    mine = writer(socket, transport)
    transport.unsent = LOW + 1
    assert not mine.write_nowait(b"frame")
    transport.unsent = LOW
    assert not mine.write_nowait(b"x" * (HIGH - LOW))
    transport.closing = True
    assert not mine.write_nowait(b"frame")
    transport.closing, socket.closed = False, True
    assert not mine.write_nowait(b"frame")
    assert not writer(socket, None).write_nowait(b"frame")
    assert not transport.written


async def test_no_frame_overtakes_one_that_is_being_written(socket, transport):
    mine = writer(socket, transport)
    socket.may_write.clear()
    writing = asyncio.create_task(mine.write(pb.SocketResponse(request_id=1)))
    await asyncio.sleep(0)
    assert not mine.write_nowait(b"frame")
    socket.may_write.set()
    await writing
    assert len(socket.sent) == 1
    assert mine.write_nowait(b"frame")


async def test_a_client_that_takes_too_long_for_a_frame_is_a_timeout(socket, transport):
    socket.may_write.clear()
    with pytest.raises(TimeoutError):
        await writer(socket, transport, stall_s=0).write(b"frame")
    assert not socket.sent
