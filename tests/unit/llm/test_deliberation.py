import asyncio
import gc

import pytest

from tickmind.llm.deliberation import Contained
from tickmind.llm.errors import LLMError


@pytest.mark.asyncio
async def test_work_that_is_cancelled_before_it_began_ends_quietly(recwarn):
    began = []

    async def work():
        began.append(1)

    task = asyncio.create_task(Contained(work()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    gc.collect()
    assert began == []
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
@pytest.mark.asyncio
async def test_work_that_wants_to_end_the_process_ends_only_itself(kind):
    async def at_once():
        raise kind

    async def when_cancelled():
        try:
            await asyncio.sleep(60)
        finally:
            raise kind

    with pytest.raises(LLMError, match=kind.__name__):
        await asyncio.create_task(Contained(at_once()))
    task = asyncio.create_task(Contained(when_cancelled()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(LLMError, match=kind.__name__):
        await task


@pytest.mark.asyncio
async def test_work_gives_its_value_and_may_be_cancelled_at_any_wait():
    cleaned = []

    async def value():
        await asyncio.sleep(0)
        return 7

    async def waits():
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(1)

    assert await asyncio.create_task(Contained(value())) == 7
    assert await Contained(value()) == 7
    task = asyncio.create_task(Contained(waits()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == [1]
