"""The client against real sockets: a small server that says exactly what a test tells it to, well-formed or not."""

import asyncio
import gzip
import threading
import time
import traceback
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tickmind.base import Secret
from tickmind.llm.client import ModelClient
from tickmind.llm.config import CallConfig, ModelConfig
from tickmind.llm.errors import (
    LLMCancelledError,
    LLMConfigError,
    LLMConnectionError,
    LLMDeadlineError,
    LLMError,
    LLMReplyTooLargeError,
    LLMResponseError,
)
from tickmind.llm.messages import ThinkingBlock
from tickmind.llm.sync import SyncModelClient
from tickmind.llm.transports.wire import WireTransport

if TYPE_CHECKING:
    from tests.conftest import LoopClock

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("lasting_connections")]
CANARY = "canary-key-0123456789abcdef"
Handler = Callable[["Exchange"], Awaitable[None]]


class Exchange:
    """One request, and the socket to answer on."""

    def __init__(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        self.head = head.decode("latin-1")
        self.body: Any = orjson.loads(body)
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self, body: bytes, *, status: str = "200 OK", headers: str = "") -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        await self.send(head.encode() + body)

    async def start_events(self) -> None:
        await self.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))


class Server:
    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.requests: list[Exchange] = []
        self.connections = 0
        self.port = 0
        self.writers: list[asyncio.StreamWriter] = []
        self.asked = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                exchange = Exchange(head, await reader.readexactly(length), writer)
                self.requests.append(exchange)
                self.asked.set()
                await self.handler(exchange)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[Server]:
    server = Server(handler)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for writer in server.writers:
            writer.close()
        await asyncio.sleep(0)


def config(server: Server, **more: Any) -> ModelConfig:
    return ModelConfig(base_url=server.url, api_key=Secret(CANARY), model="m", **{"timeout_s": 60.0, **more})


def completion(content: str, **message: Any) -> bytes:
    return orjson.dumps({"choices": [{"message": {"content": content, **message}, "finish_reason": "stop"}]})


def event(content: str = "", **choice: Any) -> bytes:
    delta = {"content": content} if content else {}
    return b"data: " + orjson.dumps({"choices": [{"delta": delta, **choice}]}) + b"\n\n"


async def answer(exchange: Exchange) -> None:
    await exchange.reply(completion("hello"))


async def fails(server: Server, error: type[LLMError], **more: Any) -> LLMError:
    async with ModelClient(config(server, **more)) as client:
        with pytest.raises(error) as caught:
            await client.complete("hi")
    text = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert CANARY not in text
    return caught.value


@pytest.mark.asyncio
async def test_a_call_goes_out_as_told_and_connections_are_reused() -> None:
    async with serving(answer) as server, ModelClient(config(server, headers={"X-Team": "blue"})) as client:
        for _ in range(3):
            result = await client.complete("hi", CallConfig(temperature=0.0))
        assert (result.content, result.finish_reason) == ("hello", "stop")
        assert server.connections == 1
        request = server.requests[0]
        assert request.head.startswith("POST /v1/chat/completions HTTP/1.1\r\n")
        assert f"Authorization: Bearer {CANARY}" in request.head
        assert "X-Team: blue" in request.head
        assert request.body["temperature"] == 0.0


@pytest.mark.asyncio
async def test_a_call_is_one_request_whatever_the_answer() -> None:
    async def broken(exchange: Exchange) -> None:
        await exchange.reply(b"{}", status="500 Oops")

    async with serving(broken) as server:
        await fails(server, LLMResponseError)
        assert len(server.requests) == 1


@pytest.mark.asyncio
async def test_headers_that_drip_end_at_the_total_deadline(loop_clock: "LoopClock") -> None:
    async def drip(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await exchange.send(b"X: y\r\n")
            await asyncio.sleep(0.02)

    async with serving(drip) as server:
        failing = asyncio.create_task(fails(server, LLMDeadlineError, timeout_s=500))
        await server.asked.wait()
        loop_clock.skip(300)
        await asyncio.sleep(0.1)  # the dripping goes on meanwhile
        assert not failing.done()
        loop_clock.skip(200)
        await asyncio.wait_for(failing, 60)


@pytest.mark.asyncio
async def test_a_gzip_bomb_is_stopped_while_it_is_read() -> None:
    bomb = _bomb()
    assert len(bomb) < 2_000_000

    async def explode(exchange: Exchange) -> None:
        await exchange.reply(bomb, headers="Content-Encoding: gzip\r\n")

    async with serving(explode) as server:
        tracemalloc.start()
        try:
            await fails(server, LLMReplyTooLargeError, max_reply_bytes=4 * 1024 * 1024)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak_bytes < 16 * 1024 * 1024


def _bomb() -> bytes:
    """A GiB of zeros in about a MB: one block that stands by itself, over and over."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    start = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * 1023


@pytest.mark.asyncio
async def test_a_compressed_reply_within_the_limit_is_read() -> None:
    async def packed(exchange: Exchange) -> None:
        await exchange.reply(gzip.compress(completion("small")), headers="Content-Encoding: gzip\r\n")

    async with serving(packed) as server, ModelClient(config(server)) as client:
        assert (await client.complete("hi")).content == "small"


@pytest.mark.asyncio
async def test_proxy_variables_are_ignored_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(answer) as proxy, serving(answer) as server:
        monkeypatch.setenv("http_proxy", f"http://user:secretpw@127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with ModelClient(config(server)) as client:
            await client.complete("hi")
        assert (len(server.requests), len(proxy.requests)) == (1, 0)
        async with ModelClient(config(server, trust_proxy_env=True)) as client:
            await client.complete("hi")
        assert (len(server.requests), len(proxy.requests)) == (1, 1)
        assert proxy.requests[0].head.startswith(f"POST {server.url}/chat/completions HTTP/1.1")
        assert "Proxy-Authorization: Basic " in proxy.requests[0].head


@pytest.mark.asyncio
async def test_a_provider_that_echoes_the_key_does_not_put_it_into_the_error() -> None:
    async def echo(exchange: Exchange) -> None:
        padding = "x" * 390  # the key would lie across the place where the text is shortened
        body = orjson.dumps({"error": {"message": f"{padding} {exchange.head}"}})
        await exchange.reply(body, status="400 Bad", headers=f"Location: /{CANARY}\r\n")

    async with serving(echo) as server:
        error = await fails(server, LLMResponseError)
        assert "canary" not in str(error)
        assert len(str(error)) < 600


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", LLMResponseError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<html>!!!", LLMResponseError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", LLMConnectionError),
        (b"", LLMConnectionError),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\nabc", LLMResponseError),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", LLMResponseError),
    ],
)
async def test_garbage_is_a_clear_error(data: bytes, error: type[LLMError]) -> None:
    async def garbage(exchange: Exchange) -> None:
        await exchange.send(data)
        exchange.writer.close()

    async with serving(garbage) as server:
        await fails(server, error)


@pytest.mark.asyncio
async def test_nobody_listening_is_a_connection_error_that_says_where() -> None:
    async with serving(answer) as server:
        pass
    error = await fails(server, LLMConnectionError)
    assert f"127.0.0.1:{server.port}" in str(error)


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [1, 7, 50, 100_000])
async def test_a_stream_reads_the_same_whatever_the_packets(size: int) -> None:
    wire = b": hi\r\n\r\n" + b"".join(
        [
            b"data: " + orjson.dumps({"choices": [{"delta": {"reasoning_content": "hm"}}]}) + b"\r\n\r\n",
            event("<thi"), event("nk>deep</think>h"), event("i"), event(finish_reason="length"),
            b'data: {"choices": [],\ndata: "usage": {"prompt_tokens": 3, "completion_tokens": 4}}\n\n',
            b"data: [DONE]",
        ]
    )  # fmt: skip

    async def cut(exchange: Exchange) -> None:
        await exchange.start_events()
        for start in range(0, len(wire), size):
            await exchange.chunk(wire[start : start + size])
        await exchange.send(b"0\r\n\r\n")

    async with serving(cut) as server, ModelClient(config(server)) as client:
        async with client.stream("hi") as stream:
            chunks = [chunk async for chunk in stream]
        result = await stream.result
    assert "".join(chunk.content for chunk in chunks) == result.content == "hi"
    assert "".join(chunk.thinking for chunk in chunks) == result.thinking == "hmdeep"
    assert (result.finish_reason, result.total_tokens) == ("length", 7)
    assert result.blocks == (ThinkingBlock("hm", "chat/reasoning_content"),)


@pytest.mark.asyncio
async def test_a_stream_that_just_ends_keeps_its_tail_and_says_unknown() -> None:
    async def no_end(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        await exchange.send(event("all of ") + event("it").rstrip())
        exchange.writer.close()

    async with serving(no_end) as server, ModelClient(config(server)) as client, client.stream("hi") as stream:
        result = await stream.result
    assert (result.content, result.finish_reason) == ("all of it", "unknown")


@pytest.mark.asyncio
async def test_an_endpoint_that_does_not_stream_is_read_all_the_same() -> None:
    async with serving(answer) as server, ModelClient(config(server)) as client, client.stream("hi") as stream:
        result = await stream.result
    assert (result.content, result.finish_reason) == ("hello", "stop")


async def _stream_events(exchange: Exchange) -> None:
    await exchange.start_events()
    for number in range(3 if exchange.body["messages"][0]["content"] == "short" else 1_000_000):
        await exchange.chunk(event(f"{number} "))
        await asyncio.sleep(0.001)
    await exchange.chunk(event(finish_reason="stop"))
    await exchange.chunk(b"data: [DONE]\n\n")


async def _stream_forever(exchange: Exchange) -> None:
    await _stream_events(exchange)
    await exchange.send(b"0\r\n\r\n")


@pytest.mark.asyncio
async def test_leaving_a_stream_early_ends_the_request_and_leaves_nothing() -> None:
    async with serving(_stream_forever) as server, ModelClient(config(server)) as client:
        before = asyncio.all_tasks()
        async with asyncio.timeout(60), client.stream("long") as stream:
            async for chunk in stream:
                if chunk.content == "2 ":
                    break
        result = await stream.result
        assert (result.finish_reason, result.content[:6]) == ("cancelled", "0 1 2 ")
        leftover = {task for task in asyncio.all_tasks() - before if "serve" not in repr(task.get_coro())}
        assert not leftover
        assert isinstance(client.transport, WireTransport)
        assert client.transport.http.statistics() == {"busy": 0, "idle": 0}


@pytest.mark.asyncio
async def test_cancelling_a_call_returns_at_once_and_drops_its_connection(loop_clock: "LoopClock") -> None:
    async with serving(_stream_forever) as server, ModelClient(config(server)) as client:
        task = asyncio.create_task(client.complete("long"))
        await server.asked.wait()
        with loop_clock.stopped():  # it ends at once, so it needs no time
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert isinstance(client.transport, WireTransport)
        assert client.transport.http.statistics() == {"busy": 0, "idle": 0}


@pytest.mark.asyncio
async def test_the_connection_of_a_finished_stream_is_reused_though_its_end_comes_late() -> None:
    left, ended = asyncio.Event(), asyncio.Event()

    async def end_late(exchange: Exchange) -> None:
        await _stream_events(exchange)
        await left.wait()
        await exchange.send(b"0\r\n\r\n")
        ended.set()

    async with serving(end_late) as server, ModelClient(config(server)) as client:
        for _ in range(3):
            async with client.stream("short") as stream:
                assert (await stream.result).content == "0 1 2 "
            left.set()
            await ended.wait()
            for _ in range(10):  # the client reads it in a turn of the loop
                await asyncio.sleep(0)
            left.clear()
            ended.clear()
        assert server.connections == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("reset", [False, True])
async def test_a_kept_connection_that_the_server_drops_costs_no_call(reset: bool) -> None:
    async def once(exchange: Exchange) -> None:  # says that it keeps the connection, and drops it at the next request
        if [other.writer for other in server.requests].count(exchange.writer) > 1:
            if reset:
                exchange.writer.transport.abort()
            exchange.writer.close()
            return
        await answer(exchange)

    async with serving(once) as server, ModelClient(config(server)) as client:
        for _ in range(3):
            assert (await client.complete("hi")).content == "hello"
        async with client.stream("hi") as stream:
            assert (await stream.result).content == "hello"
        assert server.connections == 4


@pytest.mark.asyncio
async def test_a_request_is_sent_again_only_if_the_connection_was_a_kept_one_and_only_once() -> None:
    async def drop(exchange: Exchange) -> None:
        if len(server.requests) == 1:
            await answer(exchange)
        else:
            exchange.writer.close()

    async with serving(drop) as server, ModelClient(config(server)) as client:
        await client.complete("hi")
        with pytest.raises(LLMConnectionError):
            await client.complete("on the kept connection, then on a new one")
        assert len(server.requests) == 3
        with pytest.raises(LLMConnectionError):
            await client.complete("on a new one")
        assert len(server.requests) == 4


@pytest.mark.asyncio
async def test_calls_wait_for_a_free_connection_within_their_deadline() -> None:
    release = asyncio.Event()

    async def held(exchange: Exchange) -> None:
        await release.wait()
        await answer(exchange)

    async with serving(held) as server, ModelClient(config(server, max_connections=1)) as client:
        first = asyncio.create_task(client.complete("one"))
        await server.asked.wait()
        with pytest.raises(LLMDeadlineError):
            await client.complete("two", CallConfig(timeout_s=0.1))
        release.set()
        assert (await first).content == "hello"
        assert server.connections == 1


@pytest.mark.asyncio
async def test_a_closed_client_says_so() -> None:
    async with serving(answer) as server:
        async with ModelClient(config(server)) as client:
            await client.complete("hi")
        with pytest.raises(LLMConfigError, match="closed"):
            await client.complete("hi")


# the blocking face


class ThreadedServer:
    """The same server in a loop of its own, for tests that block."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with serving(self._handler) as self.server:
            self._ready.set()
            await self._stop.wait()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

    def __enter__(self) -> Server:
        self._thread.start()
        self._ready.wait()
        return self.server

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


def test_scripts_and_many_threads_can_ask() -> None:
    async def echo(exchange: Exchange) -> None:
        await exchange.reply(completion(exchange.body["messages"][0]["content"]))

    got: dict[int, str] = {}
    with ThreadedServer(echo) as server, SyncModelClient(config(server)) as client:

        def ask(number: int) -> None:
            got[number] = client.complete(f"call {number}").content

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert got == {number: f"call {number}" for number in range(20)}


def test_a_blocking_stream_is_read_to_its_end_or_left_early() -> None:
    with ThreadedServer(_stream_forever) as server, SyncModelClient(config(server)) as client:
        with client.stream("short") as stream:
            chunks = list(stream)
        assert "".join(chunk.content for chunk in chunks) == stream.result.content == "0 1 2 "
        assert chunks[-1].finish_reason == stream.result.finish_reason == "stop"
        with client.stream("long") as stream:
            next(stream)
        assert stream.result.finish_reason == "cancelled"
        assert stream.result.content.startswith("0 ")
        with client.stream("short") as stream:
            assert stream.result.content == "0 1 2 "


def test_a_blocking_stream_raises_what_went_wrong() -> None:
    async def broken(exchange: Exchange) -> None:
        await exchange.reply(b"{}", status="500 Oops")

    with ThreadedServer(broken) as server, SyncModelClient(config(server)) as client:
        with client.stream("hi") as stream, pytest.raises(LLMResponseError):
            next(stream)
        with pytest.raises(LLMResponseError):
            _ = stream.result


def test_closing_ends_the_thread_and_the_calls_under_way() -> None:
    before = threading.active_count()
    with ThreadedServer(_stream_forever) as server:
        client = SyncModelClient(config(server))
        failed: list[BaseException] = []

        def ask() -> None:
            try:
                client.complete("long")
            except LLMError as exc:
                failed.append(exc)

        thread = threading.Thread(target=ask)
        thread.start()
        while not server.requests:
            time.sleep(0.001)
        client.close()
        thread.join(60)
        assert isinstance(failed[0], LLMCancelledError | LLMConnectionError)
        client.close()
        with pytest.raises(LLMConfigError, match="closed"):
            client.complete("hi")
    assert threading.active_count() == before
