"""The pooled HTTP client against a server that sends just the bytes that a test gives it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tickmind.base import Limit
from tickmind.llm.errors import LLMConfigError, LLMError
from tickmind.llm.http.client import HttpClient

EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("lasting_connections")]
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class Server:
    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.connections = 0
        self.requests = 0
        self.asked = asyncio.Event()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(2)  # the body, {}
                self.requests += 1
                self.asked.set()
                await self._answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Server]:
    server = Server(answer)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    async with listening:
        yield server


async def read_events(client: HttpClient) -> list[bytes]:
    events: list[bytes] = []
    async with client.stream("/x", {}, b"{}", timeout_s=60) as stream:
        while got := await stream.next_events():
            events += got
    return events


@pytest.mark.asyncio
@pytest.mark.parametrize("tail", [b"data: [DONE]\n\n", b": bye\n\ndata: late\n\n"])
async def test_what_follows_the_end_mark_is_not_read(tail: bytes) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(EVENTS + chunk(b"data: one\n\ndata: [DONE]\n\n" + tail) + b"0\r\n\r\n")

    async with serving(answer) as server:
        client = HttpClient(server.url)
        assert await read_events(client) == [b"one"]
        await client.aclose()


@pytest.mark.asyncio
async def test_a_connection_is_used_again_though_the_reply_ended_before_its_reader_left() -> None:
    read, ended = asyncio.Event(), asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(EVENTS + chunk(b"data: one\n\ndata: [DONE]\n\n"))
        await writer.drain()
        await read.wait()  # so that the end is a read of its own
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        ended.set()

    async with serving(answer) as server:
        client = HttpClient(server.url)
        for _ in range(3):
            async with client.stream("/x", {}, b"{}", timeout_s=60) as stream:
                assert await stream.next_events() == [b"one"]
                read.set()
                await ended.wait()
                for _ in range(10):  # the end arrives while the reader is busy
                    await asyncio.sleep(0)
            read.clear()
            ended.clear()
        assert (server.requests, server.connections) == (3, 1)
        await client.aclose()


@pytest.mark.asyncio
async def test_closing_fails_the_calls_that_wait_for_a_connection_too() -> None:
    async def answer(_writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with serving(answer) as server:
        client = HttpClient(server.url, max_connections=Limit("connections", 1))
        calls = [asyncio.create_task(client.post("/x", {}, b"{}", timeout_s=60)) for _ in range(3)]
        await server.asked.wait()
        await client.aclose()
        async with asyncio.timeout(30):
            results = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(result, LLMError) for result in results)
        assert (server.requests, client.statistics()) == (1, {"busy": 0, "idle": 0})


def test_a_host_that_has_no_form_on_the_wire_is_refused_with_the_reason() -> None:
    with pytest.raises(LLMConfigError, match="host"):
        HttpClient("http://\u00fc" + "x" * 70 + ".example/v1")
