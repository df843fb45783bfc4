"""A caller's own `AsyncOpenAI` as transport, against a real socket."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from tickmind.llm import safety
from tickmind.llm.client import ModelClient
from tickmind.llm.config import CallConfig, ModelConfig
from tickmind.llm.errors import (
    LLMConfigError,
    LLMConnectionError,
    LLMDeadlineError,
    LLMRateLimitError,
    LLMResponseError,
)
from tickmind.llm.messages import ThinkingBlock
from tickmind.llm.transports.openai_sdk import OpenAITransport

openai = pytest.importorskip("openai")
CANARY = "canary-key-0123456789abcdef"


class Server:
    """Answers every request with the next of its replies; None never answers."""

    def __init__(self, *replies: bytes | None) -> None:
        self.replies = list(replies)
        self.bodies: list[Any] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                self.bodies.append(orjson.loads(await reader.readexactly(length)))
                reply = self.replies.pop(0)
                if reply is None:
                    await asyncio.sleep(3600)
                else:
                    writer.write(reply)
        except (asyncio.IncompleteReadError, ConnectionError, IndexError):
            pass
        finally:
            writer.close()


def reply(body: bytes, status: str = "200 OK", kind: str = "application/json", headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


def event(**delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None if delta else "length"}
    chunk = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


@asynccontextmanager
async def asking(server: Server) -> AsyncIterator[ModelClient]:
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{server.port}/v1"
    async with openai.AsyncOpenAI(base_url=url, api_key=CANARY) as sdk:
        try:
            yield ModelClient(ModelConfig(base_url=url, model="m"), OpenAITransport(sdk))
        finally:
            listener.close()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


@pytest.mark.asyncio
async def test_a_whole_reply_comes_through_with_its_reasoning() -> None:
    message = {"role": "assistant", "content": "hello", "reasoning_content": "hm"}
    body = {"id": "r", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}  # fmt: skip
    server = Server(reply(orjson.dumps(body)))
    async with asking(server) as client:
        result = await client.complete("hi", CallConfig(temperature=0.0, extra={"top_k": 3}))
    assert (result.content, result.thinking, result.finish_reason) == ("hello", "hm", "stop")
    assert (server.bodies[0]["temperature"], server.bodies[0]["top_k"]) == (0.0, 3)


@pytest.mark.asyncio
async def test_a_stream_comes_through_with_its_thinking_separated() -> None:
    wire = event(reasoning_content="hm") + event(content="<thi") + event(content="nk>x</think>hi") + event()
    server = Server(reply(wire + b"data: [DONE]\n\n", kind="text/event-stream"))
    async with asking(server) as client, client.stream("hi") as stream:
        result = await stream.result
    assert (result.content, result.thinking, result.finish_reason) == ("hi", "hmx", "length")
    assert result.blocks == (ThinkingBlock("hm", "chat/reasoning_content"),)


@pytest.mark.asyncio
async def test_the_sdk_does_not_retry() -> None:
    failing = reply(b'{"error": {"message": "boom"}}', "500 Oops")
    server = Server(failing, failing, failing)
    async with asking(server) as client:
        with pytest.raises(LLMResponseError, match="boom"):
            await client.complete("hi")
    assert len(server.bodies) == 1


@pytest.mark.asyncio
async def test_a_429_keeps_its_wait_and_hides_the_key() -> None:
    body = orjson.dumps({"error": {"message": f"too many for {CANARY}"}})
    server = Server(reply(body, "429 Slow", headers="Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"))
    async with asking(server) as client:
        with pytest.raises(LLMRateLimitError, match="too many") as caught:
            await client.complete("hi")
    assert caught.value.retry_after_s == 0.0
    assert CANARY not in str(caught.value)


@pytest.mark.asyncio
async def test_the_total_deadline_holds() -> None:
    async with asking(Server(None)) as client:
        started = time.monotonic()
        with pytest.raises(LLMDeadlineError):
            await client.complete("hi", CallConfig(timeout_s=0.2))
        assert time.monotonic() - started < 30  # the server is silent for an hour


@pytest.mark.asyncio
async def test_a_broken_connection_is_a_connection_error() -> None:
    async with asking(Server()) as client:
        with pytest.raises(LLMConnectionError):
            await client.complete("hi")


@pytest.mark.asyncio
async def test_provider_requests_can_be_switched_off() -> None:
    transport = OpenAITransport(openai.AsyncOpenAI(api_key="x"))
    with safety.provider_requests(allowed=False), pytest.raises(LLMConfigError, match="ALLOW_PROVIDER_REQUESTS"):
        await ModelClient(ModelConfig(), transport).complete("hi")
