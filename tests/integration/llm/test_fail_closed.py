"""A reply that is no answer is an error, in all three wire forms, streamed and whole; never an empty answer."""

import asyncio
import json

import pytest

from tickmind.base import Secret
from tickmind.llm.client import ModelClient
from tickmind.llm.config import Api, ModelConfig
from tickmind.llm.errors import LLMError, LLMRateLimitError, LLMReplyTooLargeError, LLMResponseError
from tickmind.llm.testing import (
    EmptyReply,
    ErrorBeside,
    ErrorLine,
    FakeProvider,
    HtmlPage,
    Step,
    UnframedError,
    WrongType,
)
from tickmind.llm.transports.openai_sdk import OpenAITransport
from tickmind.tools import ToolAgent

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(60)]
APIS: tuple[Api, ...] = ("chat", "responses", "anthropic")
every_form = pytest.mark.parametrize("api", APIS)

# step, status, words of the message
STREAMED_ONLY: dict[str, tuple[Step, int, str]] = {
    "json as text": (WrongType(), 200, "ask without streaming"),
    "json without a type": (WrongType(content_type=""), 200, "no content type"),
    "only a role": (EmptyReply(events=1), 200, "neither an answer nor a finish reason"),
    "error object in mid-stream": (UnframedError(500, events=2), 500, "failed here"),
    "error line in mid-stream": (ErrorLine(events=2), 500, "failed here"),
}
BOTH: dict[str, tuple[Step, int, str]] = {
    "html": (HtmlPage(), 200, "is this the address of a model endpoint?"),
    "error object": (UnframedError(401), 401, "LLM_API_KEY"),
    "error object as text": (UnframedError(500, content_type="text/plain"), 500, "failed here"),
    "error object without a type": (UnframedError(500, content_type=""), 500, "failed here"),
    "nothing": (EmptyReply(), 200, ""),
    "error beside, 402": (ErrorBeside(402), 402, "the provider behind this router failed"),
    "error beside, 502": (ErrorBeside(502), 502, "the provider behind this router failed"),
}


async def error_of(client: ModelClient, *, streamed: bool) -> LLMError:
    with pytest.raises(LLMError) as caught:
        await ask(client, streamed=streamed)
    return caught.value


async def ask(client: ModelClient, *, streamed: bool) -> str:
    if not streamed:
        return (await client.complete("Hello?")).content
    async with client.stream("Hello?") as stream:
        async for _ in stream:
            pass
        return (await stream.result).content


@every_form
@pytest.mark.parametrize(("step", "status", "words"), (STREAMED_ONLY | BOTH).values(), ids=STREAMED_ONLY | BOTH)
async def test_a_stream_that_is_no_answer_is_an_error(api: Api, step: Step, status: int, words: str) -> None:
    async with FakeProvider([step, "Well again."]) as server, ModelClient(_config(server, api)) as client:
        error = await error_of(client, streamed=True)
        assert isinstance(error, LLMResponseError)
        assert error.status == status
        assert words in str(error)
        assert await ask(client, streamed=True) == "Well again."


@every_form
@pytest.mark.parametrize(("step", "status"), [item[:2] for item in BOTH.values()], ids=BOTH)
async def test_a_whole_reply_that_is_no_answer_is_an_error(api: Api, step: Step, status: int) -> None:
    async with FakeProvider([step, "Well again."]) as server, ModelClient(_config(server, api)) as client:
        error = await error_of(client, streamed=False)
        assert isinstance(error, LLMResponseError)
        assert error.status == status
        assert await ask(client, streamed=False) == "Well again."


@every_form
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("step", [item[0] for item in BOTH.values()], ids=BOTH)
async def test_an_agent_is_not_ok_and_remembers_nothing_of_it(api: Api, streaming: bool, step: Step) -> None:
    async with FakeProvider(["Hello.", step]) as server, ModelClient(_config(server, api)) as client:
        agent = ToolAgent(client)
        await agent.invoke("Good morning!")
        before = agent.history
        result = await agent.ainvoke("And now?", streaming=streaming).result()
        assert not result.ok
        assert result.error is not None
        assert agent.history == before


async def test_a_rate_limit_inside_a_reply_is_one() -> None:
    async with FakeProvider([UnframedError(429)] * 2) as server, ModelClient(_config(server, "chat")) as client:
        for streamed in (False, True):
            assert isinstance(await error_of(client, streamed=streamed), LLMRateLimitError)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "step", [HtmlPage(), UnframedError(500), ErrorBeside(402), ErrorBeside(502), EmptyReply(events=1)], ids=repr
)
async def test_through_the_sdk_it_is_an_error_as_well(step: Step, streamed: bool) -> None:
    openai = pytest.importorskip("openai")
    async with (
        FakeProvider([step]) as server,
        openai.AsyncOpenAI(base_url=server.base_url, api_key="key") as sdk,
        ModelClient(ModelConfig(server.base_url, model="m"), OpenAITransport(sdk)) as client,
    ):
        await error_of(client, streamed=streamed)


# What no provider form writes by itself: raw bodies over a socket


async def answering(body: bytes, content_type: str = "text/event-stream") -> tuple[asyncio.Server, str]:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(request.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        writer.write(head + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


HALF = b'data: {"choices":[{"index":0,"delta":{"content":"Hal"}}]}\n\n'


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (HALF + b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}\n\n', 502),
        (HALF + b'data: {"choices":[{"delta":{},"finish_reason":"error","error":{"code":503}}]}\n\n', 503),
        (HALF + b'data: {"error":{"code":"402","message":"pay"},"choices":[{"delta":{"content":"f"}}]}\n\n', 402),
        (HALF + b'event: error\ndata: {"message":"gone","code":500}\n\n', 500),
        (HALF + b"error: out of memory\n\n", 200),
        (HALF + b'{\n  "error": {\n    "message": "gone",\n    "type": "server_error"\n  }\n}\n', 500),
        (b"data: [DONE]\n\n", 200),
        (b": keep-alive\n\n", 200),
    ],
    ids=["finish", "choice", "code as text", "error event", "plain line", "indented", "done", "comment"],
)
async def test_a_chat_stream_that_fails_in_other_ways_is_an_error(body: bytes, status: int) -> None:
    server, url = await answering(body)
    async with server, ModelClient(ModelConfig(url, model="m")) as client:
        error = await error_of(client, streamed=True)
        assert isinstance(error, LLMResponseError)
        assert error.status == status


@pytest.mark.parametrize("body", [b'{"choices":[{}]}', b'{"choices":[{"message":null}]}', b"{}", b"[]", b"null"])
async def test_a_whole_reply_with_nothing_in_it_is_an_error(body: bytes) -> None:
    server, url = await answering(body, "application/json")
    async with server, ModelClient(ModelConfig(url, model="m")) as client:
        for streamed in (False, True):
            assert isinstance(await error_of(client, streamed=streamed), LLMResponseError)


async def test_events_of_another_content_type_are_read() -> None:
    body = (
        HALF + b'data: {"choices":[{"delta":{"content":"f"},"finish_reason":"stop"}],"error":null}\n\ndata: [DONE]\n\n'
    )
    server, url = await answering(body, "text/plain")
    async with server, ModelClient(ModelConfig(url, model="m")) as client:
        assert await ask(client, streamed=True) == "Half"


async def test_an_empty_answer_with_a_finish_reason_is_an_answer() -> None:
    server, url = await answering(b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    async with server, ModelClient(ModelConfig(url, model="m")) as client:
        assert await ask(client, streamed=True) == ""


# The cap on a reply's size


def _long_stream(count: int, text: str, padding: int) -> bytes:
    event = {"choices": [{"delta": {"content": text}}], "padding": "x" * padding}
    last = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    return (b"data: " + json.dumps(event).encode() + b"\n\n") * count + b"data: " + json.dumps(last).encode() + b"\n\n"


async def test_the_cap_counts_what_a_stream_says_and_not_its_framing() -> None:
    server, url = await answering(_long_stream(200, "word ", 1000))
    async with server, ModelClient(ModelConfig(url, model="m", max_reply_bytes=10_000)) as client:
        assert await ask(client, streamed=True) == "word " * 200


async def test_a_stream_that_says_more_than_the_cap_is_refused() -> None:
    server, url = await answering(_long_stream(200, "word " * 20, 0))
    async with server, ModelClient(ModelConfig(url, model="m", max_reply_bytes=10_000)) as client:
        assert isinstance(await error_of(client, streamed=True), LLMReplyTooLargeError)


async def test_one_event_over_the_cap_is_refused_before_it_is_whole() -> None:
    server, url = await answering(_long_stream(1, "word", 1_000_000))
    async with server, ModelClient(ModelConfig(url, model="m", max_reply_bytes=10_000)) as client:
        assert isinstance(await error_of(client, streamed=True), LLMReplyTooLargeError)


def _config(server: FakeProvider, api: Api) -> ModelConfig:
    return ModelConfig(server.base_url, Secret("key"), "m", api=api, timeout_s=30)
