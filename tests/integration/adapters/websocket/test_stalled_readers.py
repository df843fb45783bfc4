"""Clients that do not read are cut off, and delay nobody else."""

import asyncio
import base64
import os
import socket

import pytest
from tests.kits.socket_client import connected

from tickmind.adapters.websocket import SocketLimits, WebSocketConfig
from tickmind.adapters.websocket.frames import JSON_SUBPROTOCOL
from tickmind.adapters.websocket.limits import MAX_STALL_S
from tickmind.protocol import Thought, Wait
from tickmind.wire import WorldClient

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(180), pytest.mark.slow]
TEXT = "x" * 200_000
ENOUGH_TICKS = 12  # to fill what the kernel holds for a reader


def connect_without_reading(url, first):
    """Shake hands, send a first frame and read nothing more."""
    host, port = url.split("/")[2].split(":")
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect((host, int(port)))
    key = base64.b64encode(os.urandom(16)).decode()
    lines = ("GET /ws/v1 HTTP/1.1", f"Host: {host}:{port}", "Upgrade: websocket", "Connection: Upgrade",
             "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}",
             f"Sec-WebSocket-Protocol: {JSON_SUBPROTOCOL}", "", "")  # fmt: skip
    raw.sendall("\r\n".join(lines).encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += raw.recv(1)
    assert b" 101 " in head
    data = first.encode()
    assert len(data) < 126
    raw.sendall(bytes((0x81, 0x80 | len(data), 0, 0, 0, 0)) + data)  # masked by zeros
    return raw


async def test_a_watcher_that_stalls_is_cut_off_and_others_miss_no_tick(serve, until):
    door = WebSocketConfig(port=0, limits=SocketLimits(stall_s=MAX_STALL_S.at(0.2)))
    async with serve(door=door) as (world, server), WorldClient(world.address) as agent:
        stalled = await asyncio.to_thread(connect_without_reading, server.url, '{"watch": {}}')
        try:
            await until(lambda: world.statistics().streams.get("viewer") == 1)
            async with connected(server.url) as watcher, agent.control("entity:1", "me") as session:
                await watcher.send(watch={})
                await until(lambda: world.statistics().streams.get("viewer") == 2)
                seen: list[int] = []
                async for observation in session:
                    if seen:
                        assert seen[-1] == observation.tick_id - 1
                    if server.endpoint.stalled and len(seen) >= ENOUGH_TICKS:
                        break
                    tick_id = observation.tick_id
                    for _ in range(3):
                        await agent.report_thought(session.lease, tick_id, Thought(1, 1, 1, TEXT, TEXT, TEXT))
                    assert (await session.submit(tick_id, Wait())).accepted
                    seen.append((await watcher.receive_until("watch")).event.tick_id)
            assert server.endpoint.stalled == 1
        finally:
            stalled.close()
