import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tickmind.base import ManualClock
from tickmind.llm.errors import (
    LLMConnectionError,
    LLMDeadlineError,
    LLMError,
    LLMRateLimitError,
    LLMReplyTooLargeError,
    LLMResponseError,
)
from tickmind.llm.messages import Message
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece
from tickmind.llm.transports.retrying import RetryingTransport

REQUEST = ModelRequest("m", (Message.user("hi"),))
BROKEN = LLMConnectionError("broken")


class Script:
    """Each call takes the next step: an error to raise, or pieces to give (an error among them breaks the stream)."""

    capabilities = Capabilities()

    def __init__(self, *steps: LLMError | list[StreamPiece | LLMError]) -> None:
        self.steps = list(steps)
        self.timeouts: list[float] = []
        self.open = 0

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        self.timeouts.append(timeout_s)
        step = self.steps.pop(0)
        if isinstance(step, LLMError):
            raise step
        return ModelReply("ok", "stop")

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        self.timeouts.append(timeout_s)
        step = self.steps.pop(0)
        if isinstance(step, LLMError):
            raise step

        async def pieces() -> AsyncIterator[StreamPiece]:
            for item in step:
                if isinstance(item, LLMError):
                    raise item
                yield item

        self.open += 1
        try:
            yield pieces()
        finally:
            self.open -= 1

    async def aclose(self) -> None:
        pass


class Waits:
    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.clock.advance(seconds)


def retrying(script: Script, **more: Any) -> tuple[RetryingTransport, Waits]:
    clock = ManualClock()
    waits = Waits(clock)
    return RetryingTransport(script, clock=clock, sleep=waits, rng=random.Random(1), **more), waits


@pytest.mark.asyncio
async def test_a_passing_failure_is_tried_again_and_counted() -> None:
    script = Script(BROKEN, LLMResponseError("x", status=503), [])
    transport, waits = retrying(script)
    assert (await transport.complete(REQUEST, timeout_s=60)).attempts == 3
    assert len(waits.seconds) == 2
    assert all(0 <= wait <= bound for wait, bound in zip(waits.seconds, (0.5, 1.0), strict=True))


@pytest.mark.asyncio
async def test_attempts_are_bounded() -> None:
    script = Script(BROKEN, BROKEN, BROKEN, BROKEN)
    with pytest.raises(LLMConnectionError):
        await retrying(script, max_attempts=3)[0].complete(REQUEST, timeout_s=60)
    assert len(script.timeouts) == 3


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "error",
    [
        LLMDeadlineError("late"),
        LLMResponseError("bad request", status=400),
        LLMResponseError("unreadable"),
        LLMReplyTooLargeError("big", status=500),
    ],
)
async def test_what_will_not_pass_is_not_tried_again(error: LLMError) -> None:
    script = Script(error)
    with pytest.raises(type(error)):
        await retrying(script)[0].complete(REQUEST, timeout_s=60)
    assert len(script.timeouts) == 1


@pytest.mark.asyncio
async def test_the_endpoint_is_given_the_time_it_asks_for() -> None:
    transport, waits = retrying(Script(LLMRateLimitError("wait", retry_after_s=7), []))
    await transport.complete(REQUEST, timeout_s=60)
    assert 7 <= waits.seconds[0] <= 8


@pytest.mark.asyncio
async def test_a_wait_past_the_deadline_is_not_begun() -> None:
    transport, waits = retrying(Script(LLMRateLimitError("wait", retry_after_s=61)))
    with pytest.raises(LLMRateLimitError):
        await transport.complete(REQUEST, timeout_s=60)
    assert waits.seconds == []


@pytest.mark.asyncio
async def test_all_attempts_share_one_deadline() -> None:
    script = Script(LLMRateLimitError("wait", retry_after_s=20), [])
    await retrying(script)[0].complete(REQUEST, timeout_s=60)
    assert script.timeouts[0] == 60
    assert script.timeouts[1] <= 40


@pytest.mark.asyncio
async def test_a_stream_that_breaks_before_its_first_piece_is_opened_again() -> None:
    script = Script(BROKEN, [BROKEN], [StreamPiece("a"), StreamPiece("b")])
    async with retrying(script)[0].stream(REQUEST, timeout_s=60) as pieces:
        got = [piece async for piece in pieces]
    assert [(piece.content, piece.attempts) for piece in got] == [("a", 3), ("b", 1)]
    assert script.open == 0


@pytest.mark.asyncio
async def test_a_stream_is_never_tried_again_after_a_piece_was_delivered() -> None:
    script = Script([StreamPiece("a"), BROKEN], [StreamPiece("again")])
    got = []
    with pytest.raises(LLMConnectionError):  # noqa: PT012 - the block is what fails
        async with retrying(script)[0].stream(REQUEST, timeout_s=60) as pieces:
            async for piece in pieces:
                got.append(piece.content)  # noqa: PERF401 - the pieces before the error count
    assert got == ["a"]
    assert len(script.timeouts) == 1
