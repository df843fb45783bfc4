"""What goes wrong at the edges goes wrong for one caller only, and is told."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.conftest import LoopClock

from tickmind.base import Secret
from tickmind.gateway.settings.config import CacheConfig, CircuitConfig, GatewayConfig, Limits, WireConfig

pytestmark = pytest.mark.asyncio
EVENT = b'data: {"choices":[{"delta":{"content":"word "}}]}\n\n'
SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
OK = b'{"choices":[{"message":{"content":"%b"}}]}'


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def test_a_stream_that_breaks_inside_an_event_still_ends_with_an_error_of_its_own(raw_housing: Any) -> None:
    async def break_off(connection: Any) -> None:
        await connection.send(SSE + chunk(EVENT) + chunk(EVENT[:20]))
        connection.writer.close()

    async with raw_housing(break_off) as house:
        reply = await house.chat(stream=True)
        events = reply.body.decode().split("\n\n")
        assert json.loads(events[-2].removeprefix("data: "))["error"]["code"] == "PROVIDER_ERROR"


async def test_secrets_in_a_providers_own_headers_are_masked_like_its_key(raw_housing: Any) -> None:
    secret = "header-canary-22aa44cc66"

    async def echo(connection: Any) -> None:
        if connection.streamed:
            text = EVENT.replace(b"word", secret.encode())
            await connection.send(SSE, *(chunk(text[at : at + 5]) for at in range(0, len(text), 5)), b"0\r\n\r\n")
        else:
            body = OK % secret.encode()
            await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    def with_header(config: GatewayConfig) -> GatewayConfig:
        raw = replace(config.providers["raw"], secret_headers={"x-api-key": Secret(secret)})
        return replace(config, providers={**config.providers, "raw": raw})

    async with raw_housing(echo, change=with_header) as house:
        for reply in (await house.chat(), await house.generate(), await house.chat(stream=True)):
            assert (reply.status, secret in reply.body.decode()) == (200, False)
            assert "***" in reply.body.decode()
        assert secret.encode() in house.raw.heads[0]


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request", b"401 Unauthorized"])
async def test_a_key_that_comes_back_in_another_spelling_is_masked_too(raw_housing: Any, status: bytes) -> None:
    key = "canary/0123+4567890"

    async def echo(connection: Any) -> None:
        spelt = json.dumps(key).replace("/", "\\/").replace("+", "\\u002B")[1:-1].encode()
        body = b'{"choices":[{"message":{"content":"%b"}}],"error":{"message":"%b"}}' % (spelt, spelt)
        if connection.streamed:
            await connection.send(SSE + chunk(b"data: " + body + b"\n\n") + b"0\r\n\r\n")
        else:
            head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            await connection.send(head % (status, len(body)) + body)

    async with raw_housing(echo, key=key) as house:
        replies = [await house.chat(), await house.chat(stream=True), await house.generate()]
        replies += [await house.get("/api/llm/overview"), await house.get("/api/llm/stats")]
        for reply in replies:
            said = reply.body.replace(b"\\/", b"/").replace(b"\\u002B", b"+")
            assert key.encode() not in said


@pytest.mark.slow
async def test_requests_beyond_the_connections_to_a_provider_wait_for_one(raw_housing: Any, with_provider: Any) -> None:
    under_way = most = answered = 0
    two = asyncio.Event()

    async def answer(connection: Any) -> None:
        nonlocal under_way, most, answered
        under_way += 1
        most = max(most, under_way)
        if answered == 0:
            if under_way == 2:
                two.set()
            await two.wait()
        await asyncio.sleep(0.005)  # for one that must not come
        under_way -= 1
        answered += 1
        body = OK % b"Served."
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n" % len(body))
        if answered % 2:  # some connections can't be kept
            await connection.send(b"Connection: close\r\n")
        await connection.send(b"\r\n", body)

    wire = WireConfig(max_upstream_connections=2)
    change = with_provider("raw", limits=Limits(requests_per_second=1e4, burst=1000))
    async with raw_housing(answer, settings={"wire": wire}, change=change) as house:
        replies = await asyncio.gather(*(house.chat() for _ in range(20)))
        assert {reply.status for reply in replies} == {200}
        assert most == 2


async def test_a_place_at_a_provider_is_free_as_soon_as_its_caller_is_gone(
    raw_housing: Any, with_provider: Any
) -> None:
    async def hang(connection: Any) -> None:
        await connection.hang()

    change = with_provider("raw", limits=Limits(requests_per_second=1e4, burst=1000))
    async with raw_housing(hang, settings={"wire": WireConfig(max_upstream_connections=1)}, change=change) as house:
        for _ in range(3):
            asking = [asyncio.create_task(house.chat(headers={"x_tickmind_timeout_ms": "300"})) for _ in range(2)]
            codes = {reply.json["error"]["code"] for reply in await asyncio.gather(*asking)}
            assert codes <= {"DEADLINE", "OVERLOADED"}
        assert house.gateway.dispatcher.lanes()[0].failed == 0


async def test_those_who_wait_when_the_gateway_stops_are_told(raw_housing: Any, with_provider: Any) -> None:
    async def hang(connection: Any) -> None:
        await connection.hang()

    change = with_provider("raw", limits=Limits(concurrency=1))
    async with raw_housing(hang, change=change) as house:
        under_way = asyncio.create_task(house.chat())
        await house.until(lambda: len(house.raw.heads) == 1)
        queued = [asyncio.create_task(house.chat()) for _ in range(3)]
        await house.ask("/api/llm/defer", {"agentId": "ada", "durationMs": 90_000})
        held = asyncio.create_task(house.generate())
        await house.until(lambda: house.gateway.dispatcher.statistics().queued == 3 and len(house.gateway.holding) == 1)
        await house.server.stop(drain_s=0.0)
        for reply in await asyncio.gather(*queued):
            assert (reply.status, reply.json["error"]["code"]) == (503, "SHUTTING_DOWN")
        assert ((await held).status, (await held).json["error"]) == (503, "SHUTTING_DOWN")
        with pytest.raises((OSError, EOFError)):
            await under_way


async def test_a_large_request_is_refused_in_words_and_not_by_a_reset(housing: Any) -> None:
    async with housing(one=(), settings={"wire": WireConfig(max_request_bytes=10_000)}) as house:
        for _ in range(3):
            reply = await house.chat("x" * 20_000_000)
            assert (reply.status, reply.json["error"]["code"]) == (413, "BAD_REQUEST")
        await house.until(lambda: not house.server._connections)


@pytest.mark.slow
async def test_when_what_many_wait_for_comes_to_nothing_all_of_them_are_told(raw_housing: Any) -> None:
    asked, breaks = asyncio.Event(), asyncio.Event()

    async def answer(connection: Any) -> None:
        if b"limit" in connection.body:
            await connection.send(b"HTTP/1.1 429 No\r\nRetry-After: 3000\r\nContent-Length: 2\r\n\r\n{}")
            return
        asked.set()
        await breaks.wait()
        connection.reset()

    settings = {"cache": CacheConfig(deduplicate=True), "circuit": CircuitConfig(failures=1000)}
    async with raw_housing(answer, settings=settings) as house:
        many = [asyncio.create_task(house.chat()) for _ in range(500)]
        await asked.wait()
        await house.until(lambda: house.gateway.cache.statistics().joined == 499)
        assert (await house.chat("limit")).status == 429
        breaks.set()
        replies = await asyncio.wait_for(asyncio.gather(*many), 60)
        assert sorted({reply.status for reply in replies}) == [429, 503]
        await house.settle()


async def test_requests_that_nest_too_deeply_to_be_written_again_are_refused_and_leave_nothing(housing: Any) -> None:
    deep: Any = []
    for _ in range(400):
        deep = [deep]
    settings = {"cache": CacheConfig(deduplicate=True, keep_s=10.0)}
    async with housing(one=(), settings=settings) as house:
        for model in ("m", "one/other"):
            reply = await house.chat(model=model, metadata=deep)
            assert (reply.status, reply.json["error"]["code"]) == (400, "BAD_REQUEST")
        await house.settle()
        assert not house.providers["one"].seen


async def test_a_dial_that_nobody_waits_for_ends(housing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tickmind.gateway.http.upstream.CONNECT_TIMEOUT_S", 3600.0)
    loop = asyncio.get_running_loop()
    dialing = asyncio.Event()

    async def never(*_args: Any, **_options: Any) -> Any:
        dialing.set()
        await asyncio.Event().wait()

    async with housing(one=()) as house:
        reader, writer = await house.open()
        monkeypatch.setattr(loop, "create_connection", never)
        writer.write(house.request("/v1/chat/completions", {"model": "m", "messages": [{}]}))
        await dialing.wait()
        assert [pool["dialing"] for pool in house.upstream_pools()] == [1]
        writer.close()
        await house.settle()  # long before a dial is given up
        del reader


async def test_a_fault_while_a_custom_endpoint_is_looked_up_is_told(
    housing: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with housing(one=()) as house:

        async def fail(*_args: Any) -> Any:
            raise RuntimeError("a fault of ours")

        monkeypatch.setattr(house.gateway.router, "custom_plan", fail)
        custom = {"baseUrl": "https://example.com/v1", "apiKey": "k", "model": "x"}
        reply = await house.generate(customConfig=custom)
        assert (reply.status, reply.json["error"]) == (500, "INTERNAL")
        assert "a fault of ours" in caplog.text


async def test_a_look_up_counts_for_the_deadline(
    housing: Any, monkeypatch: pytest.MonkeyPatch, loop_clock: LoopClock
) -> None:
    custom = {"baseUrl": "https://x.example", "apiKey": "tm-own-key", "model": "theirs"}
    async with housing(one=()) as house:
        router = house.gateway.router
        plan = router.plan("m", "chat")
        looked_up = asyncio.Event()

        async def slow(*_: Any) -> Any:
            await looked_up.wait()
            return plan

        monkeypatch.setattr(router, "custom_plan", slow)
        waiting = asyncio.create_task(house.generate(customConfig=custom, timeoutMs=30_000))
        await house.until(lambda: len(house.gateway._tasks) == 1)
        loop_clock.skip(30)
        assert ((await waiting).status, (await waiting).json["error"]) == (504, "DEADLINE")
        waiting = asyncio.create_task(house.generate(customConfig=custom, timeoutMs=50_000, dropAfterMs=5_000))
        await house.until(lambda: len(house.gateway._tasks) == 1)
        loop_clock.skip(5)  # it is of no use after that
        looked_up.set()
        assert ((await waiting).status, (await waiting).json["error"]) == (410, "EXPIRED")
        assert not house.providers["one"].seen


async def test_a_fault_while_a_reply_is_read_is_told_and_leaves_nothing(
    raw_housing: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer(connection: Any) -> None:
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    def fail(*_args: Any) -> Any:
        raise RuntimeError("a fault of ours")

    settings = {"circuit": CircuitConfig(failures=100)}
    async with raw_housing(answer, settings=settings) as house:
        monkeypatch.setattr("tickmind.gateway.surface.openai._tokens_of", fail)
        reply = await house.chat()
        assert (reply.status, reply.json["error"]["code"]) == (502, "PROVIDER_ERROR")
        assert "a fault of ours" in caplog.text
        await house.settle()


async def test_replies_in_very_many_pieces_take_no_more_memory_than_their_bytes(raw_housing: Any) -> None:
    body = OK % (b"x" * 20_000)

    async def drip(connection: Any) -> None:
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        for at in range(0, len(body), 20):
            await connection.send(body[at : at + 20])
            await asyncio.sleep(0)

    async with raw_housing(drip) as house:
        reply = await house.chat()
        assert (reply.status, reply.body) == (200, body)


@pytest.mark.slow
async def test_a_caller_that_reads_nothing_of_its_stream_holds_the_provider_back_and_is_dropped_in_time(
    raw_housing: Any,
) -> None:
    sent = 0

    async def flood(connection: Any) -> None:
        nonlocal sent
        await connection.send(SSE)
        while True:
            await connection.send(chunk(EVENT * 200))
            sent += 1

    wire = WireConfig(default_timeout_s=1.5, idle_timeout_s=0.5)
    async with raw_housing(flood, settings={"wire": wire}) as house:
        _, writer = await house.open()
        writer.transport.pause_reading()
        document = {"model": "m", "stream": True, "messages": [{}]}
        writer.write(house.request("/v1/chat/completions", document))
        await house.until(lambda: sent > 0)
        await house.settle()
        await house.until(lambda: not house.server._connections)
        assert sent * len(EVENT) * 200 < 64_000_000
        writer.close()
