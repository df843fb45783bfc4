"""Clients that never finish the headers of their first request are cut off by each web listener of a world."""

import asyncio
from typing import Any

import pytest

import tickmind.viewer.server as viewer_server
from tickmind.adapters.websocket import SocketLimits, WebSocketConfig, WebSocketServer
from tickmind.adapters.websocket.limits import MAX_FIRST_FRAME_S
from tickmind.viewer.server import MAX_HELLO_S, ViewerConfig, ViewerServer
from tickmind.wire import WorldEndpoint

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
SOON_S = 0.1
HEADERS = [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"GET /" + b"x" * 500]


class NoFrames:
    watchers = None

    def digest(self) -> dict[str, Any]:
        return {}


def viewer():
    source: Any = NoFrames()
    return ViewerServer(source, ViewerConfig(port=0))


def websocket():
    limits = SocketLimits(first_frame_s=MAX_FIRST_FRAME_S.at(SOON_S))
    return WebSocketServer(WorldEndpoint("127.0.0.1:1"), WebSocketConfig(port=0, limits=limits))


@pytest.mark.parametrize("listening", [viewer, websocket])
async def test_only_clients_that_finish_their_headers_stay(listening, monkeypatch):
    monkeypatch.setattr(viewer_server, "page_files", dict)
    monkeypatch.setattr(viewer_server, "MAX_HELLO_S", MAX_HELLO_S.at(SOON_S))
    async with listening() as server:
        port = int(server.url.split(":")[2].split("/")[0])
        good_reader, good_writer = await asyncio.open_connection("127.0.0.1", port)
        request = f"GET /api/digest HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        good_writer.write(request)
        assert (await good_reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 ")
        for begun in HEADERS:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(begun)
            async with asyncio.timeout(60):
                assert await reader.read() == b""
            writer.close()
        assert not good_reader.at_eof(), "one that asked is still served"
        good_writer.write(request)
        async with asyncio.timeout(60):
            assert b"HTTP/1.1 " in await good_reader.readuntil(b"HTTP/1.1 ")
        good_writer.close()
