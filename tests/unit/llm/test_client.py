import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.long import short_or_long

from tickmind.base import ManualClock
from tickmind.llm.client import ModelClient
from tickmind.llm.config import CallConfig, ModelConfig, ThinkTags
from tickmind.llm.errors import LLMConfigError, LLMConnectionError, LLMError
from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.prices import Price, UsageMeter
from tickmind.llm.results import LLMResult, StreamChunk
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, ToolCallDelta, Usage


class Double:
    """Answers with what it was given; a number among the pieces lets that many seconds pass."""

    capabilities = Capabilities()

    def __init__(self, *pieces: StreamPiece | float | LLMError, reply: ModelReply | None = None) -> None:
        self.clock = ManualClock()
        self.pieces = pieces
        self.reply = reply or ModelReply("hello", "stop")
        self.requests: list[ModelRequest] = []
        self.timeouts: list[float] = []
        self.open = 0

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        self.requests.append(request)
        self.timeouts.append(timeout_s)
        self.clock.advance(2)
        return self.reply

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        self.requests.append(request)
        self.open += 1
        try:
            yield self._give()
        finally:
            self.open -= 1

    async def _give(self) -> AsyncIterator[StreamPiece]:
        for piece in self.pieces:
            if isinstance(piece, float):
                self.clock.advance(piece)
            elif isinstance(piece, LLMError):
                raise piece
            else:
                yield piece

    async def aclose(self) -> None:
        pass


def client(double: Double, *, think_tags: ThinkTags = "auto", **more: Any) -> ModelClient:
    return ModelClient(ModelConfig(model="m", think_tags=think_tags), double, clock=double.clock, **more)


async def read(double: Double, **more: Any) -> tuple[list[StreamChunk], LLMResult]:
    async with client(double, **more).stream("hi") as stream:
        chunks = [chunk async for chunk in stream]
    return chunks, await stream.result


@pytest.mark.asyncio
async def test_temperature_zero_reaches_the_transport() -> None:
    double = Double()
    await client(double).complete("hi", CallConfig(temperature=0.0, timeout_s=3))
    assert (double.requests[0].temperature, double.requests[0].max_tokens, double.timeouts) == (0.0, 900, [3])


@pytest.mark.asyncio
async def test_a_whole_reply_is_a_result_with_timing_and_cost() -> None:
    reply = ModelReply("<think>b</think>c", "length", (ThinkingBlock("a", "chat"),), usage=Usage(1_000_000, 0))
    result = await client(Double(reply=reply), prices={"m": Price(3.0, 0.0)}).complete("hi")
    assert (result.content, result.thinking, result.finish_reason) == ("c", "ab", "length")
    assert (result.timing.total_s, result.cost_usd, result.model) == (2, 3.0, "m")
    assert result.as_message().thinking == (ThinkingBlock("a", "chat"),)


@pytest.mark.asyncio
async def test_a_reply_without_a_finish_reason_says_unknown() -> None:
    assert (await client(Double(reply=ModelReply("x", ""))).complete("hi")).finish_reason == "unknown"


@pytest.mark.asyncio
async def test_an_empty_conversation_is_refused() -> None:
    with pytest.raises(LLMConfigError, match="list of messages is empty"):
        await client(Double()).complete([])


@pytest.mark.asyncio
async def test_chunks_carry_content_or_thinking_and_the_last_one_the_finish_reason() -> None:
    chunks, result = await read(
        Double(StreamPiece("hel", "hm"), StreamPiece("lo", finish_reason="stop"), StreamPiece(usage=Usage(5, 6)))
    )
    assert [(chunk.content, chunk.thinking, chunk.finish_reason) for chunk in chunks] == [
        ("", "hm", None), ("hel", "", None), ("lo", "", None), ("", "", "stop"),
    ]  # fmt: skip
    assert (result.content, result.thinking, result.finish_reason, result.total_tokens) == ("hello", "hm", "stop", 11)


@pytest.mark.asyncio
async def test_a_finish_reason_beside_thinking_is_not_lost() -> None:
    _, result = await read(Double(StreamPiece(thinking="hm", finish_reason="length")))
    assert (result.thinking, result.finish_reason) == ("hm", "length")


@pytest.mark.asyncio
async def test_a_stream_without_a_finish_reason_keeps_its_tail() -> None:
    chunks, result = await read(Double(StreamPiece("1 <"), StreamPiece("thin")))
    assert "".join(chunk.content for chunk in chunks) == result.content == "1 <thin"
    assert result.finish_reason == chunks[-1].finish_reason == "unknown"


@pytest.mark.asyncio
async def test_time_to_the_first_token_is_measured() -> None:
    double = Double(StreamPiece(model="m2"), 3.0, StreamPiece("a"), 2.0, StreamPiece(finish_reason="stop"))
    _, result = await read(double)
    assert (result.timing.first_token_s, result.timing.total_s, result.model) == (3.0, 5.0, "m2")


@pytest.mark.asyncio
async def test_tool_calls_are_put_together() -> None:
    _, result = await read(
        Double(
            StreamPiece(tool_calls=(ToolCallDelta(0, "a", "look", '{"x"'), ToolCallDelta(1, "b", "go"))),
            StreamPiece("meanwhile", tool_calls=(ToolCallDelta(0, arguments=":1}"),)),
            StreamPiece(finish_reason="tool_calls"),
        )
    )
    assert result.tool_calls == (ToolCall("a", "look", '{"x":1}'), ToolCall("b", "go", "{}"))
    assert result.content == "meanwhile"


@pytest.mark.asyncio
async def test_tool_calls_that_share_an_index_are_told_apart_by_id() -> None:
    deltas = [ToolCallDelta(0, "a", "look", "{}"), ToolCallDelta(0, "b", "go", "{}"), ToolCallDelta(0, "", "", "")]
    _, result = await read(Double(*(StreamPiece(tool_calls=(delta,)) for delta in deltas)))
    assert [call.name for call in result.tool_calls] == ["look", "go"]


@pytest.mark.asyncio
async def test_leaving_early_gives_what_came_so_far() -> None:
    double = Double(StreamPiece("one "), StreamPiece("two"))
    async with client(double).stream("hi") as stream:
        async for _ in stream:
            break
    result = await stream.result
    assert (result.content, result.finish_reason) == ("one ", "cancelled")
    assert double.open == 0
    assert [chunk async for chunk in stream] == []


@pytest.mark.asyncio
async def test_the_result_can_be_awaited_without_reading_the_chunks() -> None:
    async with client(Double(StreamPiece("a"), StreamPiece("b", finish_reason="stop"))).stream("hi") as stream:
        first = await stream.result
        assert await stream.result is first
    assert (first.content, first.finish_reason) == ("ab", "stop")


@pytest.mark.asyncio
async def test_another_task_can_wait_for_the_result_while_one_reads() -> None:
    async with client(Double(StreamPiece("a"), StreamPiece("b"))).stream("hi") as stream:
        first = await anext(stream)
        waiting = asyncio.create_task(stream.wait_result())
        await asyncio.sleep(0)
        rest = [chunk async for chunk in stream]
        result = await waiting
    assert first.content + "".join(chunk.content for chunk in rest) == result.content == "ab"


@pytest.mark.asyncio
async def test_cancelling_the_reader_resolves_the_result_and_leaves_no_task() -> None:
    never, stuck = asyncio.Event(), asyncio.Event()

    class Stuck(Double):
        async def _give(self) -> AsyncIterator[StreamPiece]:
            yield StreamPiece("so far")
            stuck.set()
            await never.wait()

    double = Stuck()
    stream = client(double).stream("hi")

    async def reader() -> None:
        async with stream:
            async for _ in stream:
                pass

    before = asyncio.all_tasks()
    task = asyncio.create_task(reader())
    await stuck.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await stream.result).finish_reason == "cancelled"
    assert (await stream.result).content == "so far"
    assert asyncio.all_tasks() == before
    assert double.open == 0


@pytest.mark.asyncio
async def test_a_failing_stream_raises_from_the_iteration_and_the_result() -> None:
    stream = client(Double(StreamPiece("part"), LLMConnectionError("broke"))).stream("hi")
    with pytest.raises(LLMConnectionError):  # noqa: PT012 - the block is what fails
        async with stream:
            async for _ in stream:
                pass
    with pytest.raises(LLMConnectionError):
        await stream.result
    assert stream.partial.content == "part"


@pytest.mark.asyncio
async def test_a_stream_that_was_never_opened_says_so() -> None:
    with pytest.raises(LLMConfigError, match="async with"):
        await client(Double()).stream("hi").result


@pytest.mark.asyncio
async def test_a_meter_counts_calls_streams_and_failures() -> None:
    meter = UsageMeter()
    await client(Double(), meter=meter).complete("hi")
    await read(Double(StreamPiece("a", usage=Usage(1, 2))), meter=meter)
    with pytest.raises(LLMConnectionError):
        await read(Double(LLMConnectionError("x")), meter=meter)
    total = meter.statistics()
    assert (total.calls, total.failed_calls, total.total_tokens) == (3, 1, 3)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("mode", "content", "thinking"),
    [("auto", "b", "a"), ("opened", "b", "a"), ("off", "a</think>b", "")],
)
async def test_think_tags_are_read_as_configured(mode: ThinkTags, content: str, thinking: str) -> None:
    _, result = await read(Double(StreamPiece("a</think>b")), think_tags=mode)
    assert (result.content, result.thinking) == (content, thinking)


fragments = st.sampled_from(["<think>", "</think>", "<thi", "a", " b", "<", "\n"])
sources = st.lists(st.tuples(st.booleans(), st.lists(fragments, min_size=1, max_size=6).map("".join)), max_size=5)


@settings(max_examples=short_or_long(100, 200))
@given(sources, st.lists(st.integers(0, 40), max_size=10), st.sampled_from(["stop", "length", None]))
def test_any_cut_of_any_stream_gives_the_same_result(
    parts: list[tuple[bool, str]], places: list[int], reason: str | None
) -> None:
    """`parts` are runs of native thinking (True) or content (False)."""

    def run(cuts: list[int]) -> tuple[str, str, str, str, str]:
        pieces = []
        for is_thinking, text in parts:
            marks = sorted({cut % len(text) for cut in cuts} | {0, len(text)})
            for start, end in itertools.pairwise(marks):
                part = text[start:end]
                pieces.append(StreamPiece(thinking=part) if is_thinking else StreamPiece(part))
        chunks, result = asyncio.run(read(Double(*pieces, StreamPiece(finish_reason=reason))))
        content = "".join(chunk.content for chunk in chunks)
        thinking = "".join(chunk.thinking for chunk in chunks)
        return content, thinking, result.content, result.thinking, result.finish_reason

    assert run(places) == run([]) == run(list(range(50)))


@pytest.mark.asyncio
async def test_cancelling_while_a_stream_opens_gives_an_empty_cancelled_result() -> None:
    opening = asyncio.Event()

    class Stuck(Double):
        @asynccontextmanager
        async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
            opening.set()
            await asyncio.Event().wait()
            yield self._give()

    stream = client(Stuck()).stream("hi")
    task = asyncio.create_task(stream.__aenter__())
    await opening.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await stream.result).finish_reason == "cancelled"


@pytest.mark.asyncio
async def test_a_failed_stream_stays_failed_however_often_it_is_read() -> None:
    async with client(Double(StreamPiece("part <th"), LLMConnectionError("broke"))).stream("hi") as stream:
        with pytest.raises(LLMConnectionError):
            [chunk async for chunk in stream]
        with pytest.raises(LLMConnectionError):
            await anext(stream)
        with pytest.raises(LLMConnectionError):
            await stream.result
    with pytest.raises(LLMConnectionError):
        await stream.result
    assert stream.partial.content == "part <th"


@pytest.mark.asyncio
async def test_the_result_can_be_gathered_by_the_task_that_began_to_read() -> None:
    async with client(Double(StreamPiece("a"), StreamPiece("b"), StreamPiece("c"))).stream("hi") as stream:
        first = await anext(stream)
        async with asyncio.timeout(30):
            [result] = await asyncio.gather(stream.wait_result())
        rest = [chunk.content async for chunk in stream]
    assert (first.content, rest, result.content) == ("a", ["b", "c", ""], "abc")


@pytest.mark.asyncio
async def test_two_readers_share_the_chunks_and_none_is_lost() -> None:
    class Slow(Double):
        async def _give(self) -> AsyncIterator[StreamPiece]:
            for letter in "abcdef":
                await asyncio.sleep(0)
                yield StreamPiece(letter)

    async with client(Slow()).stream("hi") as stream:

        async def read_along() -> list[str]:
            return [chunk.content async for chunk in stream]

        one, other, result = await asyncio.gather(read_along(), read_along(), stream.wait_result())
    assert sorted(one + other) == ["", *"abcdef"]
    assert result.content == "abcdef"


@pytest.mark.asyncio
async def test_a_reader_that_is_cancelled_leaves_the_stream_to_the_others() -> None:
    waiting, go_on = asyncio.Event(), asyncio.Event()

    class Waiting:
        def __init__(self) -> None:
            self.letters = iter("ab")

        def __aiter__(self) -> "Waiting":
            return self

        async def __anext__(self) -> StreamPiece:
            waiting.set()
            await go_on.wait()
            for letter in self.letters:
                return StreamPiece(letter)
            raise StopAsyncIteration

    class Resumable(Double):
        def _give(self) -> AsyncIterator[StreamPiece]:
            return Waiting()

    async with client(Resumable()).stream("hi") as stream:
        first = asyncio.create_task(anext(stream))
        other = asyncio.create_task(stream.wait_result())
        await waiting.wait()
        await asyncio.sleep(0)  # the other one queues up
        first.cancel()
        go_on.set()
        async with asyncio.timeout(30):
            assert (await other).content == "ab"
