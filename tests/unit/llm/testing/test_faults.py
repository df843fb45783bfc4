"""The faulty transport fails by plan and by chance, repeatably, and counts it."""

import asyncio
import random

import pytest

from tickmind.llm.errors import (
    LLMConfigError,
    LLMConnectionError,
    LLMDeadlineError,
    LLMError,
    LLMRateLimitError,
    LLMResponseError,
)
from tickmind.llm.messages import Message
from tickmind.llm.testing import Fault, FaultyTransport, ScriptedTransport, join_pieces
from tickmind.llm.transport import ModelReply, ModelRequest

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
TEXT = "A reply with enough letters to be cut."
ASK = ModelRequest("m", (Message.user("hi"),))


async def no_sleep(seconds: float) -> None:
    await asyncio.sleep(0)


def faulty(*plan: Fault | str | None) -> FaultyTransport:
    return FaultyTransport(ScriptedTransport(TEXT, cut=4), plan, sleep=no_sleep)


async def stream(transport: FaultyTransport, timeout_s: float = 60) -> ModelReply:
    async with transport.stream(ASK, timeout_s=timeout_s) as pieces:
        return join_pieces([piece async for piece in pieces])


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.REFUSED, LLMConnectionError),
        (Fault.RESET, LLMConnectionError),
        (Fault.RATE_LIMITED, LLMRateLimitError),
        (Fault.SERVER_ERROR, LLMResponseError),
        (Fault.UNREADABLE, LLMResponseError),
        (Fault.HANG, LLMDeadlineError),
    ],
)
async def test_a_fault_is_raised_whole_and_streamed(fault: Fault, kind: type[LLMError]) -> None:
    transport = faulty(fault, fault.value)
    with pytest.raises(kind):
        await transport.complete(ASK, timeout_s=60)
    with pytest.raises(kind):
        await stream(transport)
    assert transport.statistics().faults == {fault: 2}


async def test_statuses_tell_the_faults_apart() -> None:
    transport = faulty(Fault.SERVER_ERROR, Fault.UNREADABLE, Fault.RATE_LIMITED)
    with pytest.raises(LLMResponseError) as server_error:
        await transport.complete(ASK, timeout_s=1)
    with pytest.raises(LLMResponseError) as unreadable:
        await transport.complete(ASK, timeout_s=1)
    with pytest.raises(LLMRateLimitError) as limited:
        await transport.complete(ASK, timeout_s=1)
    assert (server_error.value.status, unreadable.value.status, limited.value.retry_after_s) == (503, 200, 1.0)


async def test_a_reset_comes_after_a_part_of_the_stream() -> None:
    got = ""

    async def read() -> None:
        nonlocal got
        async with faulty(Fault.RESET).stream(ASK, timeout_s=1) as pieces:
            async for piece in pieces:
                got += piece.content

    with pytest.raises(LLMConnectionError):
        await read()
    assert got
    assert TEXT.startswith(got)
    assert got != TEXT


@pytest.mark.parametrize(("fault", "finish_reason"), [(Fault.TRUNCATED, "length"), (Fault.UNFINISHED, "")])
async def test_half_a_reply(fault: Fault, finish_reason: str) -> None:
    transport = faulty(fault, fault)
    for reply in (await transport.complete(ASK, timeout_s=1), await stream(transport)):
        assert reply.finish_reason == finish_reason
        assert 0 < len(reply.content) < len(TEXT)
        assert TEXT.startswith(reply.content)


async def test_garbage_says_nonsense_in_the_right_form() -> None:
    transport = faulty(Fault.GARBAGE, Fault.GARBAGE)
    for reply in (await transport.complete(ASK, timeout_s=1), await stream(transport)):
        assert reply.finish_reason == "stop"
        assert reply.content != TEXT


async def test_a_drip_brings_everything_unless_the_timeout_is_shorter() -> None:
    transport = faulty(*[Fault.DRIP] * 4)
    assert (await stream(transport)).content == TEXT
    assert (await transport.complete(ASK, timeout_s=60)).content == TEXT
    with pytest.raises(LLMDeadlineError):
        await stream(transport, timeout_s=0.5)
    with pytest.raises(LLMDeadlineError):
        await transport.complete(ASK, timeout_s=0.5)


async def test_a_hang_ends_when_cancelled() -> None:
    transport = FaultyTransport(ScriptedTransport(TEXT), [Fault.HANG])
    task = asyncio.create_task(transport.complete(ASK, timeout_s=3600))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_none_in_the_plan_and_its_end_let_calls_through() -> None:
    transport = faulty(None, Fault.REFUSED)
    assert (await stream(transport)).content == TEXT
    with pytest.raises(LLMConnectionError):
        await stream(transport)
    assert (await transport.complete(ASK, timeout_s=1)).content == TEXT
    assert (transport.statistics().calls, transport.statistics().total) == (3, 1)


async def outcomes(seed: int) -> list[str]:
    transport = FaultyTransport(
        ScriptedTransport(TEXT), rates={"refused": 0.2, Fault.RATE_LIMITED: 0.2}, rng=random.Random(seed)
    )
    seen = []
    for _ in range(300):
        try:
            seen.append((await transport.complete(ASK, timeout_s=1)).finish_reason)
        except LLMError as error:
            seen.append(type(error).__name__)
    statistics = transport.statistics()
    assert statistics.calls == 300
    assert statistics.total == 300 - seen.count("stop")
    return seen


async def test_rates_are_shares_of_calls_and_repeat_with_the_seed() -> None:
    seen = await outcomes(1)
    assert seen == await outcomes(1)
    assert seen != await outcomes(2)
    assert 30 < seen.count("LLMConnectionError") < 90
    assert 30 < seen.count("LLMRateLimitError") < 90


async def test_closing_closes_the_wrapped_transport() -> None:
    inner = ScriptedTransport(TEXT)
    await FaultyTransport(inner).aclose()
    assert inner.closed


async def test_unknown_faults_and_impossible_rates_are_refused() -> None:
    with pytest.raises(LLMConfigError, match="no fault 'meteor', only refused"):
        faulty("meteor")
    with pytest.raises(LLMConfigError, match="together at most 1"):
        FaultyTransport(ScriptedTransport(TEXT), rates={Fault.HANG: 0.7, Fault.RESET: 0.7})
