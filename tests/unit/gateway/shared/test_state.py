"""The connection to the shared state goes on trying, whatever goes wrong with it."""

import asyncio
import logging

import pytest
import redis.asyncio

from tickmind.base import Secret, SystemClock
from tickmind.gateway.shared import state as module
from tickmind.gateway.shared.state import SharedState

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
    assert "the shared state is lost" in caplog.text
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
