"""Our client against the fake provider over real sockets, in all three wire forms: what is sent, read and refused."""

import asyncio
import json
import traceback
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

import pytest
from pydantic import BaseModel

from tickmind.base import Secret
from tickmind.llm.client import ModelClient
from tickmind.llm.config import Api, CallConfig, ModelConfig
from tickmind.llm.errors import (
    LLMConfigError,
    LLMConnectionError,
    LLMDeadlineError,
    LLMError,
    LLMRateLimitError,
    LLMReplyTooLargeError,
    LLMResponseError,
)
from tickmind.llm.messages import Audio, Image, Message, ThinkingBlock, ToolCall
from tickmind.llm.results import LLMResult
from tickmind.llm.testing import (
    BadJson,
    BadUtf8,
    Break,
    Drip,
    EchoHeaders,
    FakeProvider,
    Hang,
    HugeBody,
    Late,
    Redirect,
    Refuse,
    Respond,
    Step,
)
from tickmind.llm.transport import ModelReply, ModelRequest, ToolSpec, Usage
from tickmind.llm.transports.wire import WireTransport
from tickmind.tools import StopReason, ToolAgent, tool

if TYPE_CHECKING:
    from tests.conftest import LoopClock

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(120)]
CANARY = "canary-4711-key-0123456789abcdef"
APIS: tuple[Api, ...] = ("chat", "responses", "anthropic")
MOVE = ToolSpec("move", "Go.", {"type": "object", "properties": {"dx": {"type": "integer"}}, "required": ["dx"]})
CALLS = (ToolCall("call_a", "move", '{"dx":1}'), ToolCall("call_b", "move", '{"dx":-1,"why":"é \\"😀\\""}'))
THINKING = (ThinkingBlock("Hm. A <dragon>! 😀", signature="seal 1"), ThinkingBlock("Run?", signature="seal 2"))
THOUGHT = "".join(block.text for block in THINKING)

every_form = pytest.mark.parametrize("api", APIS)
whole_and_streamed = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@asynccontextmanager
async def talking(api: Api, *steps: Step, timeout_s: float = 60.0, **options: Any) -> AsyncIterator[tuple[Any, Any]]:
    """A client and a provider that does these steps; at the end nothing of a call may be left."""
    provider = {name: options.pop(name) for name in ("cut", "thinking", "default") if name in options}
    before = asyncio.all_tasks()
    async with FakeProvider(steps, strict_fields=True, accept_keys=[CANARY], **provider) as server:
        config = ModelConfig(server.base_url, Secret(CANARY), "m", api=api, timeout_s=timeout_s, **options)
        async with ModelClient(config) as client:
            yield client, server
            assert isinstance(client.transport, WireTransport)
            assert client.transport.http.statistics()["busy"] == 0
    assert asyncio.all_tasks() == before


async def ask(client: ModelClient, *, streamed: bool = False, **options: Any) -> LLMResult:
    if not streamed:
        return await client.complete("A dragon!", **options)
    async with client.stream("A dragon!", **options) as stream:
        chunks = [chunk async for chunk in stream]
    result = await stream.result
    assert "".join(chunk.content for chunk in chunks) == result.content
    assert "".join(chunk.thinking for chunk in chunks) == result.thinking
    assert chunks[-1].finish_reason == result.finish_reason
    return result


async def fails(client: ModelClient, kind: type[LLMError], *, streamed: bool) -> LLMError:
    """The error of a call, which must come before its deadline unless it is that, and must not show the key."""
    with pytest.raises(LLMError) as caught:
        await ask(client, streamed=streamed)
    assert type(caught.value) is kind, repr(caught.value)
    assert CANARY not in "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    return caught.value


def facts(result: LLMResult) -> tuple[object, ...]:
    return result.content, result.thinking, result.finish_reason, result.tool_calls, result.total_tokens, result.model


# Good replies


@every_form
@pytest.mark.parametrize("form", ["reasoning_content", "reasoning", "tags"])
@pytest.mark.parametrize("reason", ["stop", "length"])
async def test_thinking_comes_apart_in_every_form_alike_whole_and_streamed(
    api: Api, form: Literal["reasoning_content", "reasoning", "tags"], reason: str
) -> None:
    reply = ModelReply("I\n\nrun é😀.", reason, THINKING, usage=Usage(11, 7))
    async with talking(api, Respond(reply, thinking=form), Respond(reply, thinking=form, cut=1)) as (client, _):
        whole, streamed = await ask(client), await ask(client, streamed=True)
    assert facts(whole) == facts(streamed)
    assert facts(whole) == (reply.content, THOUGHT, reason, (), 18, "m")
    assert streamed.timing.first_token_s is not None
    assert whole.blocks == streamed.blocks


@every_form
async def test_tool_calls_are_the_same_whole_and_streamed(api: Api) -> None:
    reply = ModelReply("I go.", "tool_calls", THINKING, CALLS, Usage(5, 6))
    options: dict[str, Any] = {"tools": (MOVE,), "parallel_tool_calls": False}
    async with talking(api, reply, Respond(reply, cut=2)) as (client, server):
        whole, streamed = await ask(client, **options), await ask(client, streamed=True, **options)
        for seen in server.seen:
            assert (seen.request.tools, seen.request.parallel_tool_calls) == ((MOVE,), False)
    assert facts(whole)[:3] == facts(streamed)[:3] == ("I go.", THOUGHT, "tool_calls")
    for result in (whole, streamed):
        assert [(call.id, call.name, json.loads(call.arguments)) for call in result.tool_calls] == [
            (call.id, call.name, json.loads(call.arguments)) for call in CALLS
        ]


@every_form
async def test_a_stream_of_broken_tool_arguments_still_ends(api: Api) -> None:
    reply = ModelReply("", "tool_calls", tool_calls=(ToolCall("a", "move", '{"dx": '),))
    async with talking(api, Respond(reply, cut=3)) as (client, _):
        result = await ask(client, streamed=True, tools=(MOVE,))
    assert result.tool_calls == (ToolCall("a", "move", '{"dx": '),)


@every_form
async def test_a_stream_without_a_finish_reason_keeps_its_tail(api: Api) -> None:
    async with talking(api, ModelReply("All of it <", "")) as (client, _):
        result = await ask(client, streamed=True)
    assert (result.content, result.finish_reason) == ("All of it <", "unknown")


@every_form
async def test_a_reply_without_counts_has_none(api: Api) -> None:
    async with talking(api, Respond("Hi.", usage=False)) as (client, _):
        result = await ask(client, streamed=True)
    assert result.content == "Hi."
    if api != "anthropic":  # which always counts
        assert (result.prompt_tokens, result.completion_tokens, result.total_tokens) == (None, None, None)


class Plan(BaseModel):
    """What to do."""

    action: Literal["flee", "fight"]
    courage: int


@every_form
@whole_and_streamed
async def test_an_object_comes_typed_and_an_unreadable_one_is_asked_for_again(api: Api, streamed: bool) -> None:
    good = '{"action": "fight", "courage": 3}'
    reply: Step = good
    if api == "anthropic":  # there the form is a tool that must be used
        reply = ModelReply("", "tool_calls", tool_calls=(ToolCall("t", "reply", good),))
    async with talking(api, "I would rather not say.", reply) as (client, server):
        call = CallConfig(temperature=0.0)
        if streamed:
            async with client.stream_structured("A dragon!", Plan, call) as stream:
                found = await stream.result
        else:
            found = await client.complete_structured("A dragon!", Plan, call)
        held = [seen.request.tools if api == "anthropic" else seen.request.output for seen in server.seen]
    assert (found.value, found.attempts, found.finish_reason) == (Plan(action="fight", courage=3), 2, "stop")
    assert all(held)
    assert "I would rather not say." in server.seen[1].request.messages[-2].text


@every_form
@whole_and_streamed
async def test_an_agent_uses_its_tool_and_goes_on(api: Api, streamed: bool) -> None:
    @tool
    def move(dx: int, why: str = "") -> str:
        """Go."""
        return f"moved {dx} {why}"

    call = ModelReply("I go.", "tool_calls", THINKING, CALLS, Usage(5, 6))
    async with talking(api, call, "Safe.") as (client, server):
        agent = ToolAgent(client, [move], system="Be brave.", temperature=0.0, max_output_tokens=50)
        result = await agent.ainvoke("A dragon!", streaming=streamed).result()
        first, second = (seen.request for seen in server.seen)
    assert (result.text, result.stopped, result.usage.completion_tokens) == (
        "Safe.", StopReason.NO_MORE_TOOLS, 8,
    )  # fmt: skip
    assert (first.temperature, first.max_tokens, first.tools[0].name) == (0.0, 50, "move")
    assert second.tools == first.tools
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "tool", "tool"]
    assert [call.id for call in second.messages[2].tool_calls] == ["call_a", "call_b"]
    assert [message.tool_call_id for message in second.messages[3:]] == ["call_a", "call_b"]
    assert "moved 1" in second.messages[3].text
    assert second.messages[2].text == "I go."


# What is sent


@every_form
async def test_what_is_sent_is_what_was_meant(api: Api) -> None:
    turns = [
        Message.system("Be brave."),
        Message.user(["Look:", "there"], images=[b"\x89PNG", Image("https://example.org/x.png", "high")]),
        Message.assistant("I see."),
        Message.user("And now?"),
    ]
    call = CallConfig(temperature=0.0, max_tokens=77, stop=() if api == "responses" else ("END",))
    async with talking(api, "Hi.") as (client, server):
        await client.complete(turns, call, tools=(MOVE,), tool_choice="required")
        seen = server.seen[-1]
    sent: ModelRequest = seen.request
    expected = list(turns)
    if api == "anthropic":  # which has no detail of a picture
        expected[1] = Message.user(["Look:", "there"], images=[b"\x89PNG", Image("https://example.org/x.png")])
    assert list(sent.messages) == expected
    assert (sent.model, sent.temperature, sent.max_tokens, sent.stop) == ("m", 0.0, 77, call.stop)
    assert (sent.tools, sent.tool_choice, sent.output) == ((MOVE,), "required", None)
    assert (seen.wire, seen.streams) == (api, False)
    assert "connection" not in seen.headers
    assert server.seen_keys == [CANARY]


@every_form
async def test_sounds_are_sent_where_they_can_be(api: Api) -> None:
    turn = Message.user("What is this?", audio=[Audio(b"RIFF\x00\xff", "mp3")])
    async with talking(api, "A roar.") as (client, server):
        if api == "anthropic":
            with pytest.raises(LLMConfigError, match="takes no audio"):
                await client.complete([turn])
            assert not server.seen
        else:
            await client.complete([turn])
            assert server.seen[-1].request.messages == (turn,)


@every_form
@whole_and_streamed
async def test_thinking_goes_back_on_the_form_that_it_came_from_and_on_no_other(api: Api, streamed: bool) -> None:
    sealed = ThinkingBlock("Hm.", signature="seal" if api == "anthropic" else "", data="" if api == "chat" else "x9")
    if api == "anthropic":
        sealed = replace(sealed, data="")
    reply = ModelReply("", "tool_calls", (sealed,), CALLS[:1])
    async with talking(api, reply, "Done.", "Done.") as (client, server):
        first = await ask(client, streamed=streamed, tools=(MOVE,))
        turns = [Message.user("A dragon!"), first.as_message(), Message.tool(first.tool_calls[0], "ok")]
        await client.complete(turns, tools=(MOVE,))
        returned = server.seen[-1].request.messages[1]
        for other in APIS:
            if other != api:
                async with ModelClient(replace(client.config, api=other)) as stranger:
                    server.enqueue("Done.")
                    await stranger.complete(turns, tools=(MOVE,))
                assert server.seen[-1].request.messages[1].thinking == ()
    assert first.blocks[0].wire.partition("/")[0] == api
    assert [(block.text, block.data) for block in returned.thinking] == [("Hm.", sealed.data)]
    if api == "anthropic":
        assert returned.thinking[0].signature == "seal"


# Refusals and damage


@every_form
@whole_and_streamed
@pytest.mark.parametrize(
    ("wait", "seconds"), [(7, 7.0), (1.5, 1.5), ("soon", None), (-3, None), (None, None), ("nan", None)]
)
async def test_a_429_says_how_long_to_wait(api: Api, streamed: bool, wait: Any, seconds: float | None) -> None:
    async with talking(api, Refuse(429, "slow down", retry_after=wait)) as (client, server):
        error = await fails(client, LLMRateLimitError, streamed=streamed)
        assert len(server.seen) == 1
    assert isinstance(error, LLMRateLimitError)
    assert error.retry_after_s == seconds
    assert "slow down" in str(error)


@every_form
async def test_a_429_may_name_a_date_or_milliseconds(api: Api) -> None:
    soon, past = datetime.now(UTC) + timedelta(seconds=100), datetime(2015, 10, 21, tzinfo=UTC)
    steps = [Refuse(429, retry_after=soon), Refuse(503, retry_after=past), Refuse(429, headers={"retry-after-ms": "5"})]
    async with talking(api, *steps) as (client, _):
        waits = []
        for _ in steps:
            error = await fails(client, LLMRateLimitError, streamed=False)
            assert isinstance(error, LLMRateLimitError)
            waits.append(error.retry_after_s)
    assert waits[0] is not None
    assert 90 < waits[0] <= 100
    assert waits[1:] == [0.0, 0.005]


@every_form
@whole_and_streamed
@pytest.mark.parametrize(
    ("step", "status", "words"),
    [
        (Refuse(400, "no such field"), 400, "no such field"),
        (Refuse(401, "who are you"), 401, "LLM_API_KEY"),
        (Refuse(404, "no such model"), 404, "LLM_MODEL"),
        (Refuse(500, "oops"), 500, "oops"),
        (EchoHeaders(), 401, "***"),
        (Redirect("http://127.0.0.1:1/steal"), 307, "redirects are not followed"),
        (BadJson(), 200, "not JSON"),
        (BadUtf8(), 200, "not JSON"),
    ],
    ids=["400", "401", "404", "500", "echo", "redirect", "json", "utf8"],
)
async def test_a_bad_answer_is_an_error_that_says_what_to_do(
    api: Api, streamed: bool, step: Step, status: int, words: str
) -> None:
    async with talking(api, step, "Well again.") as (client, server):
        error = await fails(client, LLMResponseError, streamed=streamed)
        assert isinstance(error, LLMResponseError)
        assert (error.status, len(server.seen)) == (status, 1)
        assert words in str(error)
        assert (await ask(client, streamed=streamed)).content == "Well again."


@every_form
@whole_and_streamed
@pytest.mark.parametrize("gzip", [False, True], ids=["plain", "gzip"])
async def test_a_huge_reply_is_refused_while_it_is_read(api: Api, streamed: bool, gzip: bool) -> None:
    async with talking(api, HugeBody(50_000_000, gzip=gzip), max_reply_bytes=1_000_000) as (client, _):
        tracemalloc.start()
        try:
            error = await fails(client, LLMReplyTooLargeError, streamed=streamed)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert "max_reply_bytes" in str(error)
    assert peak_bytes < 12_000_000


# Time and broken connections


@every_form
@whole_and_streamed
@pytest.mark.parametrize(
    "step",
    [
        Hang(),
        Late("Too late.", headers_after_s=3600),
        Drip("Slowly, very slowly, a reply that never ends in time." * 100, size_bytes=1, interval_s=0.02),
        Break("A reply that stops and stays silent.", events=2, ending="hang"),
    ],
    ids=["hang", "late", "drip", "silent"],
)
async def test_a_call_ends_at_its_total_deadline(api: Api, streamed: bool, step: Step, loop_clock: "LoopClock") -> None:
    async with talking(api, step, timeout_s=500) as (client, server):
        failing = asyncio.create_task(fails(client, LLMDeadlineError, streamed=streamed))
        await server.wait_seen()
        loop_clock.skip(300)
        await asyncio.sleep(0.1)  # a drip goes on meanwhile
        assert not failing.done()
        loop_clock.skip(200)
        error = await asyncio.wait_for(failing, 60)
    assert "500 s" in str(error)


@every_form
async def test_a_stream_that_runs_out_of_time_keeps_what_came(api: Api, loop_clock: "LoopClock") -> None:
    silent = Break(Respond("word " * 20, cut=5), events=10, ending="hang")
    async with talking(api, silent) as (client, _):
        stream = client.stream("A dragon!")
        with pytest.raises(LLMDeadlineError):  # noqa: PT012 - the block is what fails
            async with stream:
                async for chunk in stream:
                    if chunk.content:
                        loop_clock.skip(60)
        with pytest.raises(LLMDeadlineError):
            await stream.result
    assert stream.partial.content.startswith("word ")


@every_form
@whole_and_streamed
async def test_late_and_slow_replies_within_the_deadline_are_read(api: Api, streamed: bool) -> None:
    slow = Drip(Late("In time.", headers_after_s=0.05), size_bytes=40, interval_s=0.001)
    async with talking(api, slow) as (client, _):
        assert (await ask(client, streamed=streamed)).content == "In time."


@every_form
@whole_and_streamed
@pytest.mark.parametrize("ending", ["close", "reset"])
async def test_a_broken_connection_is_an_error_and_what_came_is_kept(
    api: Api, streamed: bool, ending: Literal["close", "reset"]
) -> None:
    step = Break(Respond("A long reply that breaks.", cut=2), events=8, ending=ending)
    async with talking(api, step, "Well again.") as (client, server):
        await fails(client, LLMConnectionError, streamed=streamed)
        assert len(server.seen) == 1
        assert (await ask(client, streamed=streamed)).content == "Well again."
        server.enqueue(step)
        stream = client.stream("A dragon!")
        with pytest.raises(LLMConnectionError):
            async with stream:
                await stream.result
        if ending == "close":  # a reset may overtake what came before it
            assert "A long reply that breaks.".startswith(stream.partial.content)
            assert stream.partial.content


@every_form
async def test_an_error_inside_a_stream_is_an_error_of_ours(api: Api) -> None:
    step = Break(Respond("A long reply that fails.", cut=2), events=8, ending="error")
    async with talking(api, step) as (client, _):
        error = await fails(client, LLMResponseError, streamed=True)
    assert "failed here, as scripted" in str(error)


@every_form
async def test_leaving_a_stream_or_cancelling_a_call_leaves_nothing(api: Api, loop_clock: "LoopClock") -> None:
    endless = Drip("word " * 10_000, size_bytes=200, interval_s=0.01)
    async with talking(api, endless, Hang(), "Well again.") as (client, server):
        async with client.stream("A dragon!") as stream:
            async for chunk in stream:
                if chunk.content:
                    break
        assert (await stream.result).finish_reason == "cancelled"
        call = asyncio.create_task(client.complete("A dragon!"))
        await server.wait_seen(2)
        with loop_clock.stopped():  # it ends at once, so it needs no time
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        assert client.transport.http.statistics()["busy"] == 0
        assert (await ask(client)).content == "Well again."


@every_form
async def test_a_hundred_calls_at_once_get_each_its_own_reply(api: Api) -> None:
    async with FakeProvider(lambda request: f"You said {request.messages[-1].text}") as server:
        config = ModelConfig(server.base_url, Secret(CANARY), "m", api=api, timeout_s=60)
        async with ModelClient(config) as client:

            async def one(number: int) -> str:
                if number % 2:
                    return (await client.complete(f"call {number}")).content
                async with client.stream(f"call {number}") as stream:
                    return (await stream.result).content

            replies = await asyncio.gather(*map(one, range(100)))
    assert replies == [f"You said call {number}" for number in range(100)]
