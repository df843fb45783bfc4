"""Callers' connections: who goes when there are too many, who is slow, and who is done with sending but not gone."""

import asyncio
import socket
from typing import Any

import pytest
from tests.conftest import LoopClock

from tickmind.gateway.settings.config import WireConfig
from tickmind.llm.testing import Hang, Respond

pytestmark = pytest.mark.asyncio
PATIENCE_S = 60.0


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether the gateway has closed a connection over which nothing came."""
    try:
        return await asyncio.wait_for(reader.read(1), PATIENCE_S) == b""
    except ConnectionError:
        return True


async def test_at_the_limit_the_connection_that_was_idle_for_longest_goes(housing: Any) -> None:
    async with housing(one=[Hang()], settings={"wire": WireConfig(max_connections=3)}) as house:
        busy = asyncio.create_task(house.chat())
        await house.providers["one"].wait_seen()
        oldest = await house.open()
        await house.until(lambda: len(house.server._connections) == 2)
        younger = await house.open()
        await house.until(lambda: len(house.server._connections) == 3)
        newest_reader, newest = await house.open()
        newest.write(house.request("/healthz", method="GET"))
        assert (await asyncio.wait_for(newest_reader.readline(), PATIENCE_S)).startswith(b"HTTP/1.1 200")
        assert await ended(oldest[0])
        younger[1].write(house.request("/healthz", method="GET"))
        assert (await asyncio.wait_for(younger[0].readline(), PATIENCE_S)).startswith(b"HTTP/1.1 200")
        assert not busy.done()
        busy.cancel()
        await asyncio.gather(busy, return_exceptions=True)
        for _, writer in (oldest, younger, (newest_reader, newest)):
            writer.close()


async def test_a_connection_in_use_does_not_go(housing: Any) -> None:
    async with housing(one=[Hang(), Hang()], settings={"wire": WireConfig(max_connections=2)}) as house:
        busy = [asyncio.create_task(house.chat()) for _ in range(2)]
        await house.until(lambda: len(house.providers["one"].seen) == 2)
        reader, writer = await house.open()
        assert await ended(reader)
        writer.close()
        assert not any(task.done() for task in busy)
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)


async def test_a_body_may_take_longer_than_the_headers_and_has_a_time_of_its_own(
    housing: Any, loop_clock: LoopClock
) -> None:
    wire = WireConfig(header_timeout_s=10.0, body_timeout_s=60.0)
    async with housing(one=["Run!"], settings={"wire": wire}) as house:
        document = {"model": "m", "messages": [{"role": "user", "content": "x" * 1000}]}
        whole = house.request("/v1/chat/completions", document)
        reader, writer = await house.open()
        writer.write(whole[:-500])
        await house.until(lambda: any(not one.idle for one in house.server._connections))
        loop_clock.skip(30)
        await asyncio.sleep(0)
        writer.write(whole[-500:])
        assert (await asyncio.wait_for(reader.readline(), PATIENCE_S)).startswith(b"HTTP/1.1 200")
        writer.close()
        reader, writer = await house.open()
        writer.write(whole[:-500])
        await house.until(lambda: any(not one.idle for one in house.server._connections))
        loop_clock.skip(62)
        assert (await asyncio.wait_for(reader.readline(), PATIENCE_S)).startswith(b"HTTP/1.1 408")
        writer.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_caller_that_is_done_with_sending_gets_its_reply(raw_housing: Any, stream: bool) -> None:
    asked, closed = asyncio.Event(), asyncio.Event()
    body = b'{"choices":[{"message":{"content":"Run!"}}]}'
    event = b'data: {"choices":[{"delta":{"content":"Run!"}}]}\n\n'

    async def answer(connection: Any) -> None:
        asked.set()
        await closed.wait()
        if stream:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            await connection.send(head, b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event))
        else:
            await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    async with raw_housing(answer) as house:
        reader, writer = await house.open()
        document = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "Hi"}]}
        writer.write(house.request("/v1/chat/completions", document))
        await asyncio.wait_for(asked.wait(), PATIENCE_S)
        writer.write_eof()
        await house.until(lambda: any(one._ended for one in house.server._connections))
        closed.set()
        said = await asyncio.wait_for(reader.read(), PATIENCE_S)  # until the gateway closes
        assert b"HTTP/1.1 200 OK" in said
        assert b"Run!" in said
        interim, _, rest = said.rpartition(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert rest.startswith(b"HTTP/1.1 200 OK")
        assert interim.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"") == b""
        writer.close()


async def test_a_caller_that_is_gone_is_told_from_one_that_is_done_with_sending(housing: Any) -> None:
    async with housing(one=[Hang()]) as house:
        one = socket.socket()
        one.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(one, ("127.0.0.1", house.server.port))
        document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        await loop.sock_sendall(one, house.request("/v1/chat/completions", document))
        await house.providers["one"].wait_seen()
        one.close()
        await house.settle()
        await house.until(lambda: not house.server._connections)


async def test_the_reply_of_a_caller_that_is_done_with_sending_is_its_last(housing: Any) -> None:
    async with housing(one=[Respond("One."), Respond("Two.")]) as house:
        reader, writer = await house.open()
        document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        request = house.request("/v1/chat/completions", document)
        writer.write(request + request + request[:50])
        writer.write_eof()
        said = await asyncio.wait_for(reader.read(), PATIENCE_S)
        assert said.count(b"HTTP/1.1 200 OK") == 2
        assert b"400" not in said
        writer.close()


TWINS = [
    b'{"model":"m","messages":[{}],"model":"other"}',
    b'{"model": "m", "messages": [{}], "messages": [{"role": "user"}]}',
    b'{"model":"m","stream":false,"messages":[{}],"stream":true}',
    b'{"model":"m","messages":[{}],"max_tokens":1,"max_tokens":99999}',
    b'{"model":"m","messages":[{}],"mod\\u0065l":"other"}',
    b'{ "model" : "m" , "messages":[{}], "model":"other"}',
]


@pytest.mark.parametrize("body", TWINS)
async def test_a_field_that_comes_twice_is_refused(housing: Any, body: bytes) -> None:
    async with housing(one=()) as house:
        reply = await house.ask("/v1/chat/completions", body)
        assert (reply.status, reply.json["error"]["code"]) == (400, "BAD_REQUEST")
        assert "2 times" in reply.json["error"]["message"]
        twice = b'{"agentId":"a","prompt":"x","prompt":"y","input":"x","input":"y"}'
        for path in ("/api/llm/generate", "/v1/responses", "/api/llm/defer"):
            assert (await house.ask(path, twice)).status == 400
        assert not house.providers["one"].seen


async def test_a_name_that_comes_again_within_the_messages_is_no_twin(housing: Any) -> None:
    async with housing(one=["Run!"] * 2) as house:
        tools = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"model": {}}}}}]
        assert (await house.chat('say "model": \u00e9', tools=tools, metadata={"stream": 1, "max_x": 2})).status == 200
