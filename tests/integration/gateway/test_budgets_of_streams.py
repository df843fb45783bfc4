"""A stream is paid for from its owner's budget, whether it tells its tokens or not, and also if it was broken off."""

import asyncio
import json
from typing import Any

import pytest
from tests.conftest import LoopClock

from tickmind.gateway.settings.config import Budget, Limits, SharingConfig

pytestmark = pytest.mark.asyncio
EVENT = b'data: {"choices":[{"delta":{"content":"word "}}]}\n\n'
SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
MODEL = "raw/gpt-4o"  # whose price is known
SETTINGS = {"sharing": SharingConfig(budget=Budget(requests=100, tokens=100_000, usd=10.0))}


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def status(house: Any) -> Any:
    (found,) = house.gateway.budgets.listing()
    assert (found.reserved_requests, found.reserved_tokens, found.reserved_usd) == (0, 0, 0.0)
    return found


def assert_estimated(house: Any) -> None:
    """The request paid what it had reserved."""
    found = status(house)
    assert found.requests == 1
    assert found.tokens > 100
    assert found.usd > 0
    assert found.unpriced == 0


def assert_free(house: Any) -> None:
    found = status(house)
    assert (found.requests, found.tokens, found.usd) == (0, 0, 0.0)


async def test_a_stream_that_does_not_tell_its_tokens_costs_what_was_counted(raw_housing: Any) -> None:
    async def answer(connection: Any) -> None:
        await connection.send(SSE + chunk(EVENT * 3 + b"data: [DONE]\n\n") + b"0\r\n\r\n")

    async with raw_housing(answer, settings=SETTINGS) as house:
        assert (await house.chat(model=MODEL, stream=True, max_tokens=200)).status == 200
        found = status(house)
        assert (found.requests, found.unpriced) == (1, 0)
        assert 3 < found.tokens < 60
        assert found.usd > 0


async def test_the_tokens_of_a_long_last_event_are_read(raw_housing: Any, with_provider: Any) -> None:
    response = {"output": [{"text": "word " * 5000}], "usage": {"input_tokens": 7, "output_tokens": 11}, "user": None}
    last = b'event: response.completed\ndata: {"type":"response.completed","response":%b}\n\n'

    async def answer(connection: Any) -> None:
        event = last % json.dumps(response).encode()
        await connection.send(SSE, chunk(event[:9000]), chunk(event[9000:]), b"0\r\n\r\n", every_s=0.01)

    change = with_provider("raw", surfaces=("chat", "responses"))
    async with raw_housing(answer, settings=SETTINGS, change=change) as house:
        reply = await house.ask("/v1/responses", {"model": MODEL, "stream": True, "input": "Hi"})
        assert reply.status == 200
        assert status(house).tokens == 18


async def test_a_caller_that_leaves_a_stream_has_paid_for_it(raw_housing: Any) -> None:
    async def answer(connection: Any) -> None:
        await connection.send(SSE + chunk(EVENT * 3))
        await connection.hang()

    async with raw_housing(answer, settings=SETTINGS) as house:
        reader, writer = await house.open()
        document = {"model": MODEL, "stream": True, "max_tokens": 200, "messages": [{}]}
        writer.write(house.request("/v1/chat/completions", document))
        await asyncio.wait_for(reader.readuntil(b"word"), 60)
        writer.close()
        await house.settle()
        assert_estimated(house)


async def test_a_caller_that_leaves_while_the_provider_thinks_has_paid_for_it(raw_housing: Any) -> None:
    seen = asyncio.Event()

    async def answer(connection: Any) -> None:
        seen.set()
        await connection.hang()

    async with raw_housing(answer, settings=SETTINGS) as house:
        asking = asyncio.create_task(house.chat(model=MODEL, max_tokens=200))
        await asyncio.wait_for(seen.wait(), 60)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await house.settle()
        assert_estimated(house)


@pytest.mark.parametrize("begun", [True, False])
async def test_a_call_that_meets_its_deadline_at_the_provider_is_paid_for(
    raw_housing: Any, begun: bool, loop_clock: LoopClock
) -> None:
    async def answer(connection: Any) -> None:
        await connection.send(SSE + chunk(EVENT * 3) if begun else b"")
        await connection.hang()

    async with raw_housing(answer, settings=SETTINGS) as house:
        reader, writer = await house.open()
        document = {"model": MODEL, "stream": True, "max_tokens": 200, "messages": [{}]}
        writer.write(house.request("/v1/chat/completions", document, x_tickmind_timeout_ms="30000"))
        await house.until(lambda: len(house.raw.heads) == 1)
        if begun:
            await asyncio.wait_for(reader.readuntil(b"word"), 60)
        loop_clock.skip(30)
        await house.settle()
        writer.close()
        assert_estimated(house)


async def test_a_stream_that_breaks_is_paid_for(raw_housing: Any) -> None:
    async def answer(connection: Any) -> None:
        await connection.send(SSE + chunk(EVENT * 3))
        connection.reset()

    async with raw_housing(answer, settings=SETTINGS) as house:
        await house.chat(model=MODEL, stream=True, max_tokens=200)
        assert_estimated(house)


@pytest.mark.parametrize("reply", [b"HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\n{}", b""])
async def test_an_error_or_no_answer_at_all_costs_nothing(raw_housing: Any, reply: bytes) -> None:
    async def answer(connection: Any) -> None:
        await connection.send(reply)
        connection.writer.close()

    async with raw_housing(answer, settings=SETTINGS) as house:
        assert (await house.chat(model=MODEL, stream=True)).status >= 400
        assert_free(house)


async def test_a_caller_that_leaves_the_queue_has_paid_nothing(raw_housing: Any, with_provider: Any) -> None:
    async def answer(connection: Any) -> None:
        await connection.hang()

    change = with_provider("raw", limits=Limits(concurrency=1))
    async with raw_housing(answer, settings=SETTINGS, change=change) as house:
        asking = [asyncio.create_task(house.chat(model=MODEL)) for _ in range(2)]
        await house.until(lambda: house.gateway.dispatcher.statistics().queued == 1)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await house.settle()
        assert status(house).requests == 1
