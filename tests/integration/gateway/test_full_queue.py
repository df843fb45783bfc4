"""A full queue refuses what comes beyond it at once: each refusal is a moment's work, and nothing is kept of it."""

import asyncio
import gc
import sys
import time
from dataclasses import replace
from typing import Any

import pytest
from tests.integration.gateway.conftest import read_reply
from tests.long import short_or_long

from tickmind.gateway.queue.dispatcher import Dispatcher
from tickmind.gateway.settings.config import CircuitConfig, GatewayConfig, Limits, QueueConfig

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(600)]
CAPACITY = 100
BURST = short_or_long(2_000, 100_000)  # requests
CONNECTIONS = short_or_long(20, 200)
ROUNDS = 4  # the first ones fill what is kept of the last calls
MOST_REFUSAL_CPU_S = 0.002  # of the loop's thread, at p99; measured 0.00006 to 0.0002
MOST_BLOCKS = 500  # that two rounds may leave behind; one block kept of every refusal would be twice that or more


async def hang(connection: Any) -> None:
    await connection.hang()


def narrow(config: GatewayConfig) -> GatewayConfig:
    one = replace(config.providers["raw"], limits=Limits(burst=1000, concurrency=1))
    return replace(config, providers={"raw": one})


@pytest.fixture
def refusal_cpu_s(monkeypatch):
    """What each submission took, of the thread's CPU time."""
    took: list[float] = []
    submit = Dispatcher.submit

    def timed(self, *arguments):
        began_s = time.thread_time()
        submit(self, *arguments)
        took.append(time.thread_time() - began_s)

    monkeypatch.setattr(Dispatcher, "submit", timed)
    return took


async def burst(house, data, count):
    """Send so many requests at once over one connection, and count the statuses of the replies."""
    reader, writer = await house.open()
    statuses: dict[int, int] = {}
    try:
        writer.write(data * count)
        for _ in range(count):
            reply = await asyncio.wait_for(read_reply(reader), 300)
            statuses[reply.status] = statuses.get(reply.status, 0) + 1
            assert float(reply.headers["retry-after"]) > 0
    finally:
        writer.close()
        await writer.wait_closed()
    return statuses


async def test_a_burst_at_a_full_queue_is_refused_at_once_and_leaves_nothing_behind(raw_housing, refusal_cpu_s):
    settings = {"circuit": CircuitConfig(failures=10**9), "queue": QueueConfig(capacity=CAPACITY, max_wait_s=3600)}
    async with raw_housing(hang, settings=settings, change=narrow) as house:
        data = house.request(
            "/v1/chat/completions",
            {"model": "m", "messages": [{"role": "user", "content": "A dragon!"}]},
            X_Tickmind_Timeout_Ms="300000",
        )
        waiting = [await house.open() for _ in range(CAPACITY + 1)]
        for _, writer in waiting:
            writer.write(data)
        statistics = house.gateway.dispatcher.statistics
        await house.until(lambda: (statistics().in_flight, statistics().queued) == (1, CAPACITY))
        refusal_cpu_s.clear()
        blocks = []
        for _ in range(ROUNDS):
            each = BURST // ROUNDS // CONNECTIONS
            found = await asyncio.gather(*(burst(house, data, each) for _ in range(CONNECTIONS)))
            assert found == [{503: each}] * CONNECTIONS
            assert (statistics().in_flight, statistics().queued) == (1, CAPACITY)
            await asyncio.sleep(0)
            gc.collect()
            blocks.append(sys.getallocatedblocks() - len(refusal_cpu_s))  # the figures of this test itself
        assert len(refusal_cpu_s) == BURST
        took = sorted(refusal_cpu_s)
        assert took[int(0.99 * BURST)] < MOST_REFUSAL_CPU_S, took[-20:]
        assert blocks[-1] - blocks[1] < MOST_BLOCKS, blocks
        for _, writer in waiting:
            writer.close()
            await writer.wait_closed()
        await house.settle()
