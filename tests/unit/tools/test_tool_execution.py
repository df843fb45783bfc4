import asyncio
import contextvars
import gc
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel, Field

from tickmind.base import Limit, Secret
from tickmind.llm.errors import ErrorType
from tickmind.tools import Failed, Interrupt, Ok, Tool, tool


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int


class Order(BaseModel):
    title: str
    amount: int = Field(ge=1)


@pytest.mark.asyncio
async def test_a_blocking_tool_does_not_block_the_loop() -> None:
    gate = threading.Event()

    @tool
    def wait() -> str:
        return "done" if gate.wait(60) else "late"

    task = asyncio.create_task(wait.execute({}))
    for _ in range(10):
        await asyncio.sleep(0)
    gate.set()
    assert await task == Ok("done", "done")


@pytest.mark.asyncio
async def test_context_variables_reach_the_thread() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

    @tool
    def look() -> str:
        return variable.get()

    variable.set("mine")
    assert await look.execute({}) == Ok("mine", "mine")


@pytest.mark.asyncio
async def test_a_timed_out_thread_is_abandoned_counted_and_forgotten_when_it_returns() -> None:
    gate = threading.Event()
    hang = Tool.from_function(lambda: gate.wait(60), name="hang", timeout_s=0.02)
    result = await hang.execute({})
    assert isinstance(result, Failed)
    assert result.message == "tool 'hang' did not finish within 0.02 s"
    assert hang.statistics().abandoned == 1
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "tool-hang":
            thread.join(60)
    assert hang.statistics().abandoned == 0


@pytest.mark.asyncio
async def test_a_tool_with_too_many_stuck_calls_is_not_called_again() -> None:
    gate = threading.Event()
    template = Tool.from_function(lambda: gate.wait(60), name="hang")
    hang = Tool(
        "hang", "", template._handler, template._arguments, timeout_s=0.01, max_abandoned=Limit("stuck calls", 1)
    )
    await hang.execute({})
    result = await hang.execute({})
    gate.set()
    assert isinstance(result, Failed)
    assert "1 calls that never returned" in result.message


@pytest.mark.asyncio
async def test_an_async_tool_is_really_cancelled_by_its_timeout() -> None:
    ended: list[str] = []

    @tool(timeout_s=0.01)
    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    assert isinstance(await hang.execute({}), Failed)
    assert ended == ["cleaned up"]
    assert hang.statistics().abandoned == 0
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.asyncio
async def test_an_async_tool_that_ignores_its_cancellation_is_abandoned_and_counted() -> None:
    release = asyncio.Event()

    @tool(timeout_s=0.01)
    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    assert isinstance(await stubborn.execute({}), Failed)
    assert stubborn.statistics().abandoned == 1
    release.set()
    for _ in range(3):
        await asyncio.sleep(0)
    assert stubborn.statistics().abandoned == 0


def _raiser(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.asyncio
@pytest.mark.parametrize("error", [ValueError("bad"), StopIteration(1), SystemExit(1), TimeoutError("own")])
async def test_whatever_a_tool_raises_comes_back_as_an_envelope(error: BaseException) -> None:
    async def fail_async() -> None:
        raise error

    for subject in (Tool.from_function(_raiser(error)), Tool.from_function(fail_async)):
        result = await subject.execute({})
        assert isinstance(result, Failed)
        assert result.type is ErrorType.TOOL_ERROR
        assert result.details["name"] == subject.name


@pytest.mark.asyncio
async def test_a_tool_that_cancels_itself_only_fails() -> None:
    @tool
    async def odd() -> None:
        raise asyncio.CancelledError

    assert isinstance(await odd.execute({}), Failed)
    assert isinstance(await Tool.from_function(_raiser(asyncio.CancelledError())).execute({}), Failed)


@pytest.mark.asyncio
async def test_a_secret_in_an_exception_is_masked() -> None:
    key = Secret("canary-key-12345")
    result = await Tool.from_function(_raiser(ValueError(f"refused {key.reveal()}"))).execute({})
    assert isinstance(result, Failed)
    assert "canary" not in str(result)
    assert "ValueError: refused ***" in result.message


@pytest.mark.asyncio
async def test_an_interrupt_is_a_question_whether_raised_or_returned() -> None:
    for subject in (
        Tool.from_function(lambda: Interrupt("sure?"), name="a"),
        Tool.from_function(_raiser(Interrupt("sure?"))),
    ):
        with pytest.raises(Interrupt, match=r"sure\?"):
            await subject.execute({})


@pytest.mark.parametrize("is_async", [True, False])
def test_work_that_is_cancelled_before_it_begins_leaves_no_coroutine_behind(is_async: bool) -> None:
    """As when all tasks of a loop are cancelled at its end."""

    async def slowly() -> str:
        return "done"

    def soon() -> Any:
        return slowly()

    async def end_at_once() -> None:
        call = asyncio.create_task(Tool.from_function(slowly if is_async else soon, inline=not is_async).execute({}))
        await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert len(others) == 2  # the call, and the work, which has not begun
        for task in others:
            task.cancel()
        await asyncio.wait([call])

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        asyncio.run(end_at_once())
        gc.collect()
    assert [str(one.message) for one in seen] == []
