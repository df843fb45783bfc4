import asyncio
import time

import pytest

from tickmind.llm.http import pacing
from tickmind.llm.http.pacing import LoopPacer, pace, pacer_for


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@pytest.mark.asyncio
async def test_a_quiet_loop_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "MAX_BUSY_S", 5.0)  # a collection of garbage is no quiet
    pacer = LoopPacer(asyncio.get_running_loop())
    assert not pacer.is_late()


@pytest.mark.asyncio
async def test_a_busy_loop_goes_round_before_more_is_done() -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def work() -> None:
        await pace()
        burn(0.002)

    counter = asyncio.create_task(count_turns())
    await asyncio.gather(*(work() for _ in range(pacing.BATCH * 3)))
    counter.cancel()
    assert turns >= 3


@pytest.mark.asyncio
async def test_who_queues_goes_on_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "MAX_BUSY_S", 5.0)  # a collection of garbage is no quiet
    pacer = LoopPacer(asyncio.get_running_loop())
    done: list[int] = []

    async def work(number: int) -> None:
        await pacer.turn()
        done.append(number)

    await asyncio.gather(*(work(number) for number in range(200)))
    assert done == list(range(200))
    assert not pacer.is_late()


@pytest.mark.asyncio
async def test_a_cancelled_place_does_not_block_the_queue() -> None:
    pacer = LoopPacer(asyncio.get_running_loop())
    first, second = asyncio.create_task(pacer.turn()), asyncio.create_task(pacer.turn())
    await asyncio.sleep(0)
    first.cancel()
    await second
    assert first.cancelled()


@pytest.mark.asyncio
async def test_all_in_one_loop_share_a_pacer() -> None:
    loop = asyncio.get_running_loop()
    assert pacer_for(loop) is pacer_for(loop)
