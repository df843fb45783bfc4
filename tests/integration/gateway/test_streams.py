"""Streams: their tokens are counted, nothing begins before the first byte, and identical ones share one call."""

import asyncio
import json
from typing import Any

import pytest

from tickmind.gateway.settings.config import Budget, CacheConfig, Limits, SharingConfig

pytestmark = pytest.mark.asyncio
SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
PATIENCE_S = 60.0
SHARED = {"cache": CacheConfig(deduplicate=True)}
BUDGET = {"sharing": SharingConfig(budget=Budget(requests=100, tokens=100_000, usd=10.0))}


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(text: str) -> bytes:
    return b"data: %b\n\n" % json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode()


USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3}}\n\n'
DONE = b"data: [DONE]\n\n"


async def count(connection: Any) -> None:
    """A provider that tells the tokens of a stream if it is asked to."""
    asked = json.loads(connection.body).get("stream_options", {}).get("include_usage")
    await connection.send(SSE, *(chunk(event(word)) for word in ("Run", "!", "!")))
    await connection.send(*([chunk(USAGE)] if asked else []), chunk(DONE), b"0\r\n\r\n")


def spent(house: Any) -> Any:
    (found,) = house.gateway.budgets.listing()
    return found


async def test_a_provider_that_can_is_asked_to_count_and_the_caller_gets_what_it_asked_for(
    raw_housing: Any, with_provider: Any
) -> None:
    change = with_provider("raw", stream_usage=True)
    async with raw_housing(count, settings=BUDGET, change=change) as house:
        plain = await house.chat(model="raw/gpt-4o", stream=True, max_tokens=5000)
        assert plain.body == event("Run") + event("!") * 2 + DONE
        assert spent(house).tokens == 14
        asked = await house.chat(model="raw/gpt-4o", stream=True, stream_options={"include_usage": True})
        assert asked.body == event("Run") + event("!") * 2 + USAGE + DONE
        other = await house.chat(model="raw/gpt-4o", stream=True, stream_options={"include_obfuscation": False})
        assert other.body == plain.body
        assert (spent(house).tokens, spent(house).requests) == (3 * 14, 3)
        total = (await house.get("/api/llm/costs")).json["total"]
        assert (total["promptTokens"], total["completionTokens"], total["unpriced"]) == (33, 9, 0)


async def test_of_a_stream_that_tells_nothing_the_deltas_are_counted(raw_housing: Any) -> None:
    async def answer(connection: Any) -> None:
        assert b"stream_options" not in connection.body
        await connection.send(SSE, *(chunk(event("word ")) for _ in range(50)), chunk(DONE), b"0\r\n\r\n")

    async with raw_housing(answer, settings=BUDGET) as house:
        assert (await house.chat("x" * 400, model="raw/gpt-4o", stream=True, max_tokens=5000)).status == 200
        assert 100 + 45 <= spent(house).tokens <= 150 + 80
        assert spent(house).usd > 0


@pytest.mark.parametrize(("detail", "most"), [("high", 1000), ("low", 300)])
async def test_a_picture_counts_as_a_picture(housing: Any, detail: str, most: int) -> None:
    picture = {"url": "data:image/png;base64," + "iVBORw0KGgo/" * 20_000, "detail": detail}
    content = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": picture}]
    document = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": content}]}
    async with housing(one=["A cat."] * 3, limits={"one": Limits(tokens_per_minute=3 * most, burst=100)}) as house:
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(2):
                assert (await house.ask("/v1/chat/completions", document)).status == 200
            item = {"type": "input_image", "image_url": picture["url"], "detail": detail}
            request = {"model": "m", "max_output_tokens": 10, "input": [{"role": "user", "content": [item]}]}
            assert (await house.ask("/v1/responses", request)).status == 200


@pytest.mark.parametrize("cut", ["reset", "close", "error", "empty"])
async def test_a_stream_that_comes_to_nothing_before_its_first_byte_falls_back(
    raw_housing: Any, cut: str, two_providers: Any
) -> None:
    async def answer(connection: Any) -> None:
        await connection.send(SSE)
        if cut == "error":
            failed = b'data: {"error":{"code":502,"message":"the model is away"}}\n\n'
            await connection.send(chunk(failed), b"0\r\n\r\n")
        elif cut == "empty":
            await connection.send(b"0\r\n\r\n")
        elif cut == "reset":
            connection.reset()
        else:
            connection.writer.close()

    async with raw_housing(answer, change=two_providers) as house:
        reply = await house.chat(stream=True)
        assert (reply.status, reply.headers["x-tickmind-provider"]) == (200, "good")
        assert b"[DONE]" in reply.body


async def test_a_stream_that_begins_with_an_error_is_that_error(raw_housing: Any) -> None:
    async def answer(connection: Any) -> None:
        failed = b'data: {"error":{"code":400,"message":"wrong, sk-canary-0123456789abcdef"}}\n\n'
        await connection.send(SSE, chunk(failed), b"0\r\n\r\n")

    async with raw_housing(answer) as house:
        reply = await house.chat(stream=True)
        assert (reply.status, reply.json["error"]["message"]) == (400, "wrong, ***")


async def test_identical_streams_share_one_call_whenever_they_come(raw_housing: Any) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(connection: Any) -> None:
        await connection.send(SSE, chunk(event("Run")))
        begun.set()
        await go_on.wait()
        await connection.send(chunk(event("!")), chunk(DONE), b"0\r\n\r\n")

    async with raw_housing(answer, settings=SHARED) as house:
        early = [asyncio.create_task(house.chat(stream=True)) for _ in range(2)]
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        late = asyncio.create_task(house.chat(stream=True))
        other = asyncio.create_task(house.chat("Another question.", stream=True))
        await house.until(lambda: house.gateway.cache.statistics().joined == 2 and len(house.raw.heads) == 2)
        go_on.set()
        replies = [await asyncio.wait_for(task, PATIENCE_S) for task in (*early, late, other)]
        assert [reply.body for reply in replies] == [event("Run") + event("!") + DONE] * 4
        assert sorted(reply.headers.get("x-tickmind-shared", "0") for reply in replies) == ["0", "0", "1", "1"]
        assert {reply.headers["content-type"] for reply in replies} == {"text/event-stream"}
        await house.settle()
        assert house.gateway.cache.statistics().in_flight == 0


async def test_a_stream_goes_on_for_those_who_joined_when_its_first_caller_leaves(raw_housing: Any) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(connection: Any) -> None:
        await connection.send(SSE, chunk(event("Run")))
        begun.set()
        await go_on.wait()
        await connection.send(chunk(event("!")), chunk(DONE), b"0\r\n\r\n")

    async with raw_housing(answer, settings=SHARED) as house:
        leader = asyncio.create_task(house.chat(stream=True))
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        follower = asyncio.create_task(house.chat(stream=True))
        await house.until(lambda: house.gateway.cache.statistics().joined == 1)
        leader.cancel()
        await asyncio.gather(leader, return_exceptions=True)
        await house.until(lambda: len(house.server._connections) == 1)
        go_on.set()
        assert (await asyncio.wait_for(follower, PATIENCE_S)).body == event("Run") + event("!") + DONE
        await house.settle()


async def test_a_shared_stream_that_breaks_says_so_to_all(raw_housing: Any) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(connection: Any) -> None:
        await connection.send(SSE, chunk(event("Run")))
        begun.set()
        await go_on.wait()
        connection.reset()

    async with raw_housing(answer, settings=SHARED) as house:
        asking = [asyncio.create_task(house.chat(stream=True)) for _ in range(3)]
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        await house.until(lambda: house.gateway.cache.statistics().joined == 2)
        go_on.set()
        for task in asking:
            body = (await asyncio.wait_for(task, PATIENCE_S)).body
            assert body.startswith(event("Run"))
            assert b"PROVIDER_ERROR" in body
        await house.settle()


async def test_a_stream_that_was_kept_is_given_again(raw_housing: Any) -> None:
    async with raw_housing(count, settings={"cache": CacheConfig(keep_s=60.0)}) as house:
        first, second = await house.chat(stream=True), await house.chat(stream=True)
        assert first.body == second.body
        assert (second.headers["content-type"], second.headers["x-tickmind-shared"]) == ("text/event-stream", "1")
        assert len(house.raw.heads) == 1


@pytest.fixture
def two_providers() -> Any:
    from dataclasses import replace

    from tickmind.gateway.settings.config import Route

    return lambda config: replace(config, exact={"m": Route((("raw", None), ("good", None)))})
