"""The scripted transport says what it is told and remembers what it was asked."""

import asyncio

import pytest

from tickmind.llm.errors import LLMConfigError, LLMConnectionError, LLMDeadlineError, LLMRateLimitError
from tickmind.llm.messages import Message, ThinkingBlock, ToolCall
from tickmind.llm.testing import Script, ScriptedTransport, join_pieces
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, Transport

pytestmark = pytest.mark.asyncio


def ask(text: str = "hi") -> ModelRequest:
    return ModelRequest("m", (Message.system("Be brief."), Message.user(text)))


async def read(transport: Transport, request: ModelRequest, timeout_s: float = 9.0) -> list[StreamPiece]:
    async with transport.stream(request, timeout_s=timeout_s) as pieces:
        return [piece async for piece in pieces]


class Sleeps:
    """Counts waits and takes none."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


async def test_a_list_is_said_in_order() -> None:
    transport = ScriptedTransport(["one", ModelReply("two", "length")])
    assert (await transport.complete(ask("a"), timeout_s=1)).content == "one"
    assert (await transport.complete(ask("b"), timeout_s=1)).finish_reason == "length"
    assert [request.messages[-1].text for request in transport.requests] == ["a", "b"]
    with pytest.raises(LLMConfigError, match="2 replies and all are used"):
        await transport.complete(ask(), timeout_s=1)


async def test_a_mapping_answers_the_user_s_last_text() -> None:
    transport = ScriptedTransport({"hi": "hello", "bye": "farewell"})
    assert (await transport.complete(ask("bye"), timeout_s=1)).content == "farewell"
    with pytest.raises(LLMConfigError, match="no reply to 'what', only to 'hi', 'bye'"):
        await transport.complete(ask("what"), timeout_s=1)


async def test_one_text_answers_every_call() -> None:
    transport = ScriptedTransport("ok")
    assert [(await transport.complete(ask(), timeout_s=1)).content for _ in range(3)] == ["ok"] * 3


async def later(request: ModelRequest) -> str:
    await asyncio.sleep(0)
    return request.messages[-1].text.upper()


@pytest.mark.parametrize("script", [lambda request: request.messages[-1].text.upper(), later])
async def test_a_function_answers_from_the_request(script: Script) -> None:
    assert (await ScriptedTransport(script).complete(ask("hi"), timeout_s=1)).content == "HI"


async def test_an_exception_is_raised_whole_and_streamed() -> None:
    transport = ScriptedTransport([LLMRateLimitError("slow", retry_after_s=3), LLMConnectionError("gone")])
    with pytest.raises(LLMRateLimitError):
        await transport.complete(ask(), timeout_s=1)
    with pytest.raises(LLMConnectionError):
        await read(transport, ask())


@pytest.mark.parametrize("cut", [1, 3, 100])
async def test_a_stream_amounts_to_the_reply(cut: int) -> None:
    reply = ModelReply(
        "Hello there.",
        "tool_calls",
        thinking=(ThinkingBlock("Hmm.", "chat", "seal"),),
        tool_calls=(ToolCall("1", "walk", '{"x": 1}'), ToolCall("2", "wait", "{}")),
        model="m",
    )
    pieces = await read(ScriptedTransport([reply], cut=cut), ask())
    assert join_pieces(pieces) == reply
    assert max(len(piece.content) for piece in pieces) <= cut


async def test_latency_goes_through_the_given_sleep() -> None:
    sleep = Sleeps()
    transport = ScriptedTransport("abcd", cut=2, latency_s=1.0, piece_latency_s=0.25, sleep=sleep)
    pieces = await read(transport, ask())
    assert sleep.waits == [1.0] + [0.25] * len(pieces)


async def test_waits_end_at_the_timeout() -> None:
    sleep = Sleeps()
    transport = ScriptedTransport("abcd", cut=1, latency_s=1.0, piece_latency_s=0.25, sleep=sleep)
    with pytest.raises(LLMDeadlineError, match=r"timeout of 1\.5 s"):
        await read(transport, ask(), timeout_s=1.5)
    assert sum(sleep.waits) == 1.5
    with pytest.raises(LLMDeadlineError):
        await transport.complete(ask(), timeout_s=0.5)


async def test_calls_tell_how_they_were_made() -> None:
    transport = ScriptedTransport("ok", capabilities=Capabilities("none", tools=False))
    await transport.complete(ask(), timeout_s=4)
    await read(transport, ask(), timeout_s=5)
    assert [(call.streamed, call.timeout_s) for call in transport.calls] == [(False, 4), (True, 5)]
    assert transport.capabilities.output == "none"


async def test_a_call_after_closing_is_found() -> None:
    transport = ScriptedTransport("ok")
    await transport.aclose()
    assert transport.closed
    with pytest.raises(LLMConnectionError, match="was closed"):
        await transport.complete(ask(), timeout_s=1)


async def test_a_stream_left_early_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    async with ScriptedTransport("a long reply", cut=1).stream(ask(), timeout_s=1) as pieces:
        async for _ in pieces:
            break
    assert asyncio.all_tasks() == before
    with pytest.raises(StopAsyncIteration):
        await anext(pieces)
