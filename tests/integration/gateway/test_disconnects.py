"""Callers that leave, in crowds and at any moment, leave nothing behind."""

import asyncio
import gc
import socket
import struct
import sys
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any

import pytest

from tickmind.gateway.settings.config import CircuitConfig, GatewayConfig, Limits, QueueConfig

ROUNDS, BATCH = 9, 120  # of four kinds
WARM_UP = 6  # rounds, with three calls of each in a batch: what is kept of the last two thousand calls fills up
SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b"7\r\ndata: 1\r\n2\r\n\n\n\r\n"


async def hang(connection: Any) -> None:
    if b"quick" in connection.body:
        body = b'{"choices":[]}'
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        return
    if connection.streamed:
        await connection.send(SSE + EVENT)
    await connection.hang()


def request(house: Any, model: str, *, stream: bool) -> bytes:
    document = {"model": model, "stream": stream, "messages": [{"role": "user", "content": "slow"}]}
    made: bytes = house.request("/v1/chat/completions", document, x_tickmind_session="crowd")
    return made


async def crowd(house: Any, data: bytes) -> list[socket.socket]:
    """As many connections as a batch has, each with some bytes sent."""
    loop = asyncio.get_running_loop()
    made = []
    for number in range(BATCH):
        one = socket.socket()
        one.setblocking(False)
        await loop.sock_connect(one, ("127.0.0.1", house.server.port))
        await loop.sock_sendall(one, data)
        if number % 2:  # half of them leave by a reset
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        made.append(one)
    return made


def leave(callers: list[socket.socket]) -> None:
    for one in callers:
        one.close()


def with_narrow(config: GatewayConfig) -> GatewayConfig:
    """The same provider once more, as `narrow`, which takes one request at a time."""
    narrow = replace(config.providers["raw"], name="narrow", limits=Limits(burst=1000, concurrency=1))
    return replace(config, providers={**config.providers, "narrow": narrow})


@pytest.mark.slow
@pytest.mark.asyncio
async def test_crowds_of_disconnects_leak_no_slot_and_no_memory(
    raw_housing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a slow machine a crowd would be refused for its expected wait; here it may wait for an hour.
    queue = QueueConfig(capacity=2 * BATCH, max_wait_s=3600, learn_service_times=False)
    settings = {"queue": queue, "circuit": CircuitConfig(failures=10**9)}
    async with raw_housing(hang, settings=settings, change=with_narrow) as house:
        server = house.server
        monkeypatch.setattr(house.gateway, "watch", lambda: None)  # its trend fills up over the first five minutes

        def busy() -> int:
            statistics = house.gateway.dispatcher.statistics()
            return int(statistics.in_flight + statistics.queued)

        whole = request(house, "m", stream=False)
        kinds = (
            whole,
            request(house, "m", stream=True),
            request(house, "narrow/m", stream=True),  # all but one of them wait
            whole[: len(whole) // 2],  # never says all
        )
        blocks = []
        for _ in range(ROUNDS):
            for data in kinds:
                callers = await crowd(house, data)
                await house.until(lambda: len(server._connections) == BATCH)
                if data is not kinds[-1]:
                    await house.until(lambda: busy() == BATCH)
                leave(callers)
                await house.settle()
                await house.until(lambda: not server._connections)
            house.raw.heads.clear()
            gc.collect()
            blocks.append(sys.getallocatedblocks())
        for model in ("m", "narrow/m"):
            reply = await house.chat("quick", model=model)
            assert (reply.status, reply.json) == (200, {"choices": []})
        # A block kept of every caller adds four batches in each round; what is kept once, or goes again, is no leak.
        added = [after - before for before, after in pairwise(blocks[WARM_UP - 1 :])]
        assert median(added) < 2 * BATCH, blocks
