"""The connection to the shared state goes on trying, whatever goes wrong with it."""

import asyncio
import logging
from contextlib import asynccontextmanager

import pytest
import redis.asyncio

from tickmind.base import ManualClock, Secret, SystemClock
from tickmind.gateway.cluster import state as module
from tickmind.gateway.cluster.state import SharedState
from tickmind.gateway.settings.config import Limits

CANARY = "canary-0123456789"


@pytest.mark.asyncio
async def test_an_address_that_can_not_be_read_is_a_loss_that_is_told_without_it(caplog):
    shared = SharedState(Secret(f"redis://:{CANARY}/x@localhost"), clock=SystemClock())
    with caplog.at_level(logging.INFO):
        assert not await shared.start(wait_s=30)
        statistics = shared.statistics()
        await shared.stop()
    assert statistics.degraded
    assert statistics.reason == "ValueError"
    assert "lost the connection to the shared state" in caplog.text
    assert CANARY not in caplog.text


@pytest.mark.asyncio
async def test_any_fault_is_a_loss_after_which_it_tries_again(monkeypatch):
    tried = asyncio.Semaphore(0)

    class Odd:
        async def script_load(self, _script):
            tried.release()
            raise RuntimeError("nobody expected this")

        async def aclose(self):
            raise RuntimeError("nor this")

    monkeypatch.setattr(redis.asyncio.Redis, "from_url", lambda *_, **__: Odd())
    monkeypatch.setattr(module, "RETRY_S", 0.001)
    monkeypatch.setattr(module, "MAX_RETRY_S", 0.001)
    shared = SharedState(Secret("redis://localhost"), clock=SystemClock())
    await shared.start(wait_s=30)
    async with asyncio.timeout(30):
        for _ in range(3):
            await tried.acquire()
    assert shared.statistics().reason == "RuntimeError"
    await shared.stop()


class Server:
    """Gives a permit for a hundredth of a second later; its answers are read `late_s` after that."""

    def __init__(self, clock):
        self._clock = clock
        self.late_s = 0.0
        self.answered = asyncio.Event()

    def now_us(self):
        return round((self._clock.monotonic() + 1000.0) * 1e6)

    async def script_load(self, script):
        return script

    async def evalsha(self, _script, _keys, *_arguments):
        return [self.now_us(), 1]

    @asynccontextmanager
    async def pipeline(self, *, transaction):
        assert not transaction
        yield Pipeline(self)

    async def answer(self):
        now_us = self.now_us()
        self._clock.advance(self.late_s)
        self.answered.set()
        return [[now_us, 0, now_us + 10_000]]

    async def aclose(self):
        pass


class Pipeline:
    def __init__(self, server):
        self._server = server

    def evalsha(self, *_arguments):
        pass

    async def execute(self):
        return await self._server.answer()


@pytest.mark.asyncio
async def test_a_permit_that_is_read_long_after_its_time_is_not_used_beside_the_next_ones(monkeypatch):
    clock = ManualClock()
    server = Server(clock)
    monkeypatch.setattr(redis.asyncio.Redis, "from_url", lambda *_, **__: server)
    shared = SharedState(Secret("redis://localhost"), clock=clock)
    pace = shared.pace("p", Limits(requests_per_second=100))
    assert await shared.start(wait_s=30)

    async def lease():
        server.answered.clear()
        pace.earliest_s(clock.monotonic(), 0)
        await asyncio.wait_for(server.answered.wait(), 30)
        await asyncio.sleep(0)

    await lease()
    assert pace.look_s(clock.monotonic(), 0) == pytest.approx(clock.monotonic() + 0.01)
    clock.advance(0.01)
    pace.take(clock.monotonic(), 0)
    server.late_s = 1.0
    await lease()
    (pool,) = pace.pools
    pace.look_s(clock.monotonic(), 0)
    assert pool.lost == 1
    await shared.stop()
