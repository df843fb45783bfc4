"""The proxy that counts what goes to a model, and the queue that a gateway was."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from benchmarks.minds_meter import HOST, Meter

USAGE = {"prompt_tokens": 40, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 30}}


class Model:
    """A model that answers when it is let, one request after another."""

    def __init__(self):
        self.begun: asyncio.Queue[str] = asyncio.Queue()
        self.let: asyncio.Queue[bool] = asyncio.Queue()

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.lower().split("content-length: ")[1].split()[0])
        await self.begun.put((await reader.readexactly(length)).decode())
        try:
            await self.let.get()
            body = json.dumps({"usage": USAGE}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def metered(*, queued):
    model = Model()
    serving: list[asyncio.Task[None]] = []

    def tracked(serve):
        async def serve_one(reader, writer):
            serving.append(asyncio.create_task(serve(reader, writer)))
            await serving[-1]

        return serve_one

    async with await asyncio.start_server(tracked(model.serve), HOST, 0) as upstream:
        meter = Meter(upstream.sockets[0].getsockname()[1], "key", queued=queued)
        async with await asyncio.start_server(tracked(meter.serve), HOST, 0) as server:
            try:
                yield model, meter, server.sockets[0].getsockname()[1]
            finally:  # from Python 3.12 on a server that closes waits for its connections
                for task in serving:
                    task.cancel()
                await asyncio.gather(*serving, return_exceptions=True)


async def ask(port, text, path="/v1/chat/completions", **headers):
    reader, writer = await asyncio.open_connection(HOST, port)
    lines = [f"POST {path} HTTP/1.1", f"content-length: {len(text)}", *(f"{k}: {v}" for k, v in headers.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n" + text).encode())
    try:
        return int((await reader.readline()).split()[1])
    finally:
        writer.close()


@pytest.mark.asyncio
async def test_an_answer_is_counted_with_its_tokens():
    async with metered(queued=False) as (model, meter, port):
        model.let.put_nowait(True)
        assert await ask(port, "one", **{"x-tickmind-agent": "ada"}) == 200
        (served,) = meter.served
        assert (served.agent, served.body, served.used) == ("ada", b"one", True)
        assert (served.prompt_tokens, served.cached_tokens, served.completion_tokens) == (40, 30, 5)
        assert await ask(port, "{}", "/api/llm/heartbeat") == 200
        assert len(meter.served) == 1


@pytest.mark.asyncio
async def test_what_the_caller_gives_up_is_a_wasted_start():
    async with metered(queued=False) as (model, meter, port):
        asking = asyncio.create_task(ask(port, "one"))
        await model.begun.get()
        assert meter.served[0].status == 0  # under way
        asking.cancel()
        while not meter.served[0].status:  # noqa: ASYNC110 - a record has no event
            await asyncio.sleep(0)
        assert not meter.served[0].used


@pytest.mark.asyncio
async def test_the_old_queue_answers_the_oldest_first_and_drops_what_waited_too_long():
    async with metered(queued=True) as (model, meter, port):
        first = asyncio.create_task(ask(port, "first"))
        await model.begun.get()
        assert await ask(port, "hasty", **{"x-tickmind-drop-after-ms": "1"}) == 410
        second = asyncio.create_task(ask(port, "second"))
        model.let.put_nowait(True)
        model.let.put_nowait(True)
        assert await first == await second == 200
        assert [one.body for one in meter.served] == [b"first", b"second"]


@pytest.mark.asyncio
async def test_the_old_queue_cuts_off_what_the_model_is_working_on_at_the_deadline():
    async with metered(queued=True) as (_, meter, port):
        assert await ask(port, "one", **{"x-tickmind-timeout-ms": "20"}) == 504
        assert meter.served[0].status not in (0, 200)
