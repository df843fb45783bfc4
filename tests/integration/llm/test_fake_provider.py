"""The fake provider over real HTTP: the official client talks to it, and every misbehaviour reaches the caller."""

import asyncio
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
import zlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import aiohttp
import openai
import pytest
import pytest_asyncio
from jsonschema import validate

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.messages import ThinkingBlock, ToolCall
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
    SeededTransport,
    Step,
)
from tickmind.llm.transport import ModelReply, ModelRequest, Usage

pytestmark = [pytest.mark.timeout(120), pytest.mark.asyncio]
KEY = "canary-0123456789"
ASK: list[Any] = [{"role": "user", "content": "Where is the bread?"}]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"action": {"enum": ["eat", "sleep"]}, "energy": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["action", "energy"],
    "additionalProperties": False,
}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "walk", "description": "Go", "parameters": SCHEMA}}]
CALLS = (ToolCall("call_a", "walk", '{"action": "eat", "energy": 3}'), ToolCall("call_b", "walk", '{"action": "'))


@pytest_asyncio.fixture
async def server() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as running:
        yield running


@pytest_asyncio.fixture
async def client(server: FakeProvider) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key=KEY, max_retries=0, timeout=60) as made:
        yield made


@pytest_asyncio.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60), trust_env=False) as session:
        yield session


def chat_body(**more: Any) -> dict[str, Any]:
    return {"model": "fake-1", "messages": ASK, **more}


# The official client


async def test_openai_chat_gets_a_whole_reply(server: FakeProvider, client: openai.AsyncOpenAI) -> None:
    server.enqueue(ModelReply("In the oven.", "stop", usage=Usage(11, 7, 2, 3)))
    reply = await client.chat.completions.create(model="fake-1", messages=ASK, temperature=0.0)
    assert reply.choices[0].message.content == "In the oven."
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (11, 7, 18)
    assert server.seen_keys == [KEY]
    seen = server.seen[0]
    assert seen.request is not None
    assert seen.request.temperature == 0.0
    assert "authorization" not in seen.headers
    assert KEY not in repr(server.seen) + repr(server)


async def test_openai_chat_streams(server: FakeProvider, client: openai.AsyncOpenAI) -> None:
    server.enqueue(Respond(ModelReply("In the öven 🍞.", "length", usage=Usage(5, 6)), cut=[1, 3]))
    stream = await client.chat.completions.create(
        model="fake-1", messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "In the öven 🍞."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 6


async def test_openai_chat_stream_tells_usage_only_when_asked(client: openai.AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="fake-1", messages=ASK, stream=True)
    assert all(chunk.usage is None for chunk in [chunk async for chunk in stream])


async def test_openai_chat_calls_tools(server: FakeProvider, client: openai.AsyncOpenAI) -> None:
    server.enqueue(ModelReply("Let me go.", "tool_calls", tool_calls=CALLS))
    reply = await client.chat.completions.create(model="fake-1", messages=ASK, tools=TOOLS)
    message = reply.choices[0].message
    assert message.content == "Let me go."
    assert [call.function.arguments for call in message.tool_calls or () if call.type == "function"] == [
        call.arguments for call in CALLS
    ]
    assert reply.choices[0].finish_reason == "tool_calls"
    answers: list[Any] = [{"role": "tool", "tool_call_id": call.id, "content": "done"} for call in CALLS]
    history = [*ASK, message.model_dump(exclude_none=True), *answers]
    await client.chat.completions.create(model="fake-1", messages=history, tools=TOOLS)
    request = server.seen[-1].request
    assert request is not None
    assert [message.role for message in request.messages] == ["user", "assistant", "tool", "tool"]
    assert request.messages[1].tool_calls == CALLS


async def test_openai_chat_streams_tool_calls(server: FakeProvider, client: openai.AsyncOpenAI) -> None:
    server.enqueue(Respond(ModelReply("", "tool_calls", tool_calls=CALLS), cut=2))
    stream = await client.chat.completions.create(model="fake-1", messages=ASK, tools=TOOLS, stream=True)
    joined: dict[int, list[str]] = {}
    async for chunk in stream:
        for delta in chunk.choices[0].delta.tool_calls or ():
            assert delta.function is not None
            known = joined.setdefault(delta.index, ["", "", ""])
            known[0] += delta.id or ""
            known[1] += delta.function.name or ""
            known[2] += delta.function.arguments or ""
    assert [ToolCall(*parts) for _, parts in sorted(joined.items())] == list(CALLS)


async def test_a_required_tool_is_called_with_valid_arguments(client: openai.AsyncOpenAI) -> None:
    reply = await client.chat.completions.create(model="fake-1", messages=ASK, tools=TOOLS, tool_choice="required")
    for call in reply.choices[0].message.tool_calls or ():
        assert call.type == "function"
        validate(json.loads(call.function.arguments), SCHEMA)


async def test_openai_chat_gets_an_object_that_fits_the_schema(client: openai.AsyncOpenAI) -> None:
    form: Any = {"type": "json_schema", "json_schema": {"name": "decision", "schema": SCHEMA, "strict": True}}
    first = await client.chat.completions.create(model="fake-1", messages=ASK, response_format=form)
    content = first.choices[0].message.content or ""
    validate(json.loads(content), SCHEMA)
    again = await client.chat.completions.create(model="fake-1", messages=ASK, response_format=form)
    assert again.choices[0].message.content == content


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_openai_chat_sees_thinking_as_a_field(
    server: FakeProvider, client: openai.AsyncOpenAI, field: Any
) -> None:
    step = Respond(ModelReply("Yes.", "stop", thinking=(ThinkingBlock("Hmm, bread."),)), thinking=field, cut=3)
    server.enqueue(step, step)
    reply = await client.chat.completions.create(model="fake-1", messages=ASK)
    assert reply.choices[0].message.model_extra == {field: "Hmm, bread."}
    stream = await client.chat.completions.create(model="fake-1", messages=ASK, stream=True)
    deltas = [chunk.choices[0].delta async for chunk in stream]
    assert "".join((delta.model_extra or {}).get(field, "") for delta in deltas) == "Hmm, bread."
    assert "".join(delta.content or "" for delta in deltas) == "Yes."


async def test_openai_chat_sees_thinking_as_tags(server: FakeProvider, client: openai.AsyncOpenAI) -> None:
    step = Respond(ModelReply("Yes.", "stop", thinking=(ThinkingBlock("Hmm."),)), thinking="tags", cut=1)
    server.enqueue(step, step)
    reply = await client.chat.completions.create(model="fake-1", messages=ASK)
    assert reply.choices[0].message.content == "<think>Hmm.</think>Yes."
    stream = await client.chat.completions.create(model="fake-1", messages=ASK, stream=True)
    pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert "".join(pieces) == "<think>Hmm.</think>Yes."
    assert max(map(len, pieces)) == 1


async def test_openai_responses_gets_a_whole_reply(server: FakeProvider, client: openai.AsyncOpenAI) -> None:
    server.enqueue(
        ModelReply("Here.", "stop", thinking=(ThinkingBlock("Hmm."),), tool_calls=CALLS[:1], usage=Usage(9, 4, 1, 2))
    )
    tool: Any = {"type": "function", "name": "walk", "parameters": SCHEMA, "strict": False}
    reply = await client.responses.create(model="fake-1", input="Where?", instructions="Be brief.", tools=[tool])
    assert reply.status == "completed"
    assert reply.output_text == "Here."
    assert [item.type for item in reply.output] == ["reasoning", "message", "function_call"]
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (9, 4)
    assert reply.usage.output_tokens_details.reasoning_tokens == 1
    request = server.seen[0].request
    assert request is not None
    assert [message.role for message in request.messages] == ["system", "user"]
    follow_up: Any = [
        {"role": "user", "content": "Where?"},
        *[item.model_dump(exclude_none=True) for item in reply.output],
        {"type": "function_call_output", "call_id": CALLS[0].id, "output": "done"},
    ]
    await client.responses.create(model="fake-1", input=follow_up)
    request = server.seen[1].request
    assert request is not None
    assert [message.role for message in request.messages] == ["user", "assistant", "tool"]
    assert request.messages[1].tool_calls == CALLS[:1]
    assert request.messages[1].thinking[0].text == "Hmm."


async def test_openai_responses_streams(server: FakeProvider, client: openai.AsyncOpenAI) -> None:
    blocks = (ThinkingBlock("Hmm, bread."),)
    server.enqueue(Respond(ModelReply("In the oven.", "length", thinking=blocks, tool_calls=CALLS), cut=[2, 5]))
    stream = await client.responses.create(model="fake-1", input="Where?", stream=True)
    events = [event async for event in stream]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "In the oven."
    thought = [event.delta for event in events if event.type == "response.reasoning_summary_text.delta"]
    assert "".join(thought) == "Hmm, bread."
    calls = [event.arguments for event in events if event.type == "response.function_call_arguments.done"]
    assert calls == [call.arguments for call in CALLS]
    last = events[-1]
    assert last.type == "response.incomplete"
    assert last.response.incomplete_details is not None
    assert last.response.incomplete_details.reason == "max_output_tokens"
    assert last.response.output_text == "In the oven."


async def test_openai_responses_helper_puts_the_stream_together(
    server: FakeProvider, client: openai.AsyncOpenAI
) -> None:
    server.enqueue(ModelReply("In the oven.", "stop", tool_calls=CALLS[:1]))
    async with client.responses.stream(model="fake-1", input="Where?") as stream:
        final = await stream.get_final_response()
    assert final.output_text == "In the oven."


async def test_openai_responses_gets_an_object_that_fits_the_schema(client: openai.AsyncOpenAI) -> None:
    form: Any = {"format": {"type": "json_schema", "name": "decision", "schema": SCHEMA, "strict": True}}
    reply = await client.responses.create(model="fake-1", input="What now?", text=form)
    validate(json.loads(reply.output_text), SCHEMA)


async def test_openai_lists_models(client: openai.AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["fake-1"]
    assert (await client.models.retrieve("fake-1")).owned_by == "fake"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("other")


async def test_openai_sees_a_rate_limit(server: FakeProvider, client: openai.AsyncOpenAI) -> None:
    server.enqueue(Refuse(429, "slow down", retry_after=2))
    with pytest.raises(openai.RateLimitError, match="slow down") as caught:
        await client.chat.completions.create(model="fake-1", messages=ASK)
    assert caught.value.response.headers["retry-after"] == "2"
    assert len(server.seen) == 1


async def test_openai_sees_an_error_within_a_stream(server: FakeProvider, client: openai.AsyncOpenAI) -> None:
    server.enqueue(Break("A long enough reply.", events=2, ending="error"))
    stream = await client.chat.completions.create(model="fake-1", messages=ASK, stream=True)
    with pytest.raises(openai.APIError, match="failed here"):
        _ = [chunk async for chunk in stream]


# Anthropic's client, where it is installed


async def test_anthropic_client_gets_whole_and_streamed_replies(server: FakeProvider) -> None:
    anthropic = pytest.importorskip("anthropic", reason="the anthropic client is not installed")
    blocks = (ThinkingBlock("Hmm.", signature="seal"), ThinkingBlock("", data="cipher"))
    reply = ModelReply("Here.", "tool_calls", thinking=blocks, tool_calls=CALLS[:1], usage=Usage(9, 4, None, 2))
    server.enqueue(reply, Respond(reply, cut=2))
    tools = [{"name": "walk", "input_schema": SCHEMA}]
    asked = {"model": "fake-1", "max_tokens": 99, "messages": ASK, "system": "Be brief.", "tools": tools}
    async with anthropic.AsyncAnthropic(base_url=server.origin, api_key=KEY, max_retries=0) as client:
        whole = await client.messages.create(**asked)
        async with client.messages.stream(**asked) as stream:
            texts = [text async for text in stream.text_stream]
            final = await stream.get_final_message()
        models = await client.models.list()
        history = [*ASK, {"role": "assistant", "content": [block.model_dump() for block in whole.content]}]
        result = {"type": "tool_result", "tool_use_id": CALLS[0].id, "content": "done"}
        await client.messages.create(**asked | {"messages": [*history, {"role": "user", "content": [result]}]})
        server.enqueue(Refuse(529, "too busy"))
        with pytest.raises(anthropic.APIStatusError, match="too busy"):
            await client.messages.create(**asked)
        server.enqueue(Break("A long enough reply.", events=4, ending="error"))
        with pytest.raises(anthropic.APIStatusError, match="failed here"):
            async with client.messages.stream(**asked) as stream:
                await stream.get_final_message()
    for message in (whole, final):
        assert [block.type for block in message.content] == ["thinking", "redacted_thinking", "text", "tool_use"]
        assert message.content[0].signature == "seal"
        assert message.content[3].input == {"action": "eat", "energy": 3}
        assert message.stop_reason == "tool_use"
        assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (7, 2)
        assert message.usage.output_tokens == 4
    assert "".join(texts) == "Here."
    assert [model.id for model in models.data] == ["fake-1"]
    assert set(server.seen_keys) == {KEY}
    request = server.seen[3].request
    assert request is not None
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "tool"]
    assert [block.signature or block.data for block in request.messages[2].thinking] == ["seal", "cipher"]


# Misbehaviour, as any client meets it


async def test_retry_after_comes_as_seconds_date_or_garbage(server: FakeProvider, http: aiohttp.ClientSession) -> None:
    date = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
    server.enqueue(*(Refuse(429, retry_after=value) for value in (1.5, date, "soon")))
    seen = []
    for _ in range(3):
        async with http.post(f"{server.base_url}/chat/completions", json=chat_body()) as reply:
            seen.append(reply.headers["Retry-After"])
    assert seen == ["1.5", "Sat, 14 Mar 2026 09:26:53 GMT", "soon"]


@pytest.mark.parametrize("status", [500, 503])
async def test_errors_come_in_the_provider_s_own_form(
    server: FakeProvider, http: aiohttp.ClientSession, status: int
) -> None:
    server.enqueue(Refuse(status, "broken"), Refuse(status, "broken"))
    async with http.post(f"{server.base_url}/responses", json={"model": "m", "input": "hi"}) as reply:
        assert reply.status == status
        assert (await reply.json())["error"] == {
            "message": "broken", "type": "server_error", "param": None, "code": None,
        }  # fmt: skip
    body = {"model": "m", "max_tokens": 5, "messages": ASK}
    headers = {"anthropic-version": "2023-06-01"}
    async with http.post(f"{server.base_url}/messages", json=body, headers=headers) as reply:
        assert (await reply.json())["error"] == {"type": "api_error", "message": "broken"}


async def test_bad_requests_are_refused(server: FakeProvider, http: aiohttp.ClientSession) -> None:
    bodies: list[tuple[str, Any]] = [
        ("/chat/completions", []),
        ("/chat/completions", {"model": "m", "messages": []}),
        ("/chat/completions", {"messages": ASK}),
        ("/chat/completions", chat_body(temperature="hot")),
        ("/responses", {"model": "m"}),
        ("/messages", {"model": "m", "messages": ASK, "max_tokens": 5}),  # without its version header
    ]
    for path, body in bodies:
        async with http.post(f"{server.base_url}{path}", json=body) as reply:
            assert reply.status == 400, (path, body)
    for data in (b"{", b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": NaN}'):
        async with http.post(f"{server.base_url}/chat/completions", data=data) as reply:
            assert reply.status == 400
    async with http.get(f"{server.origin}/elsewhere") as reply:
        assert reply.status == 404


async def test_unknown_fields_are_refused_when_strict(http: aiohttp.ClientSession) -> None:
    async with FakeProvider(strict_fields=True) as server:
        async with http.post(f"{server.base_url}/chat/completions", json=chat_body(max_steps=8)) as reply:
            assert reply.status == 400
            assert "max_steps" in await reply.text()
        async with http.post(f"{server.base_url}/chat/completions", json=chat_body(top_p=1)) as reply:
            assert reply.status == 200


async def test_other_keys_are_refused(http: aiohttp.ClientSession) -> None:
    async with FakeProvider(accept_keys=["right"]) as server:
        for key, status in (("wrong", 401), ("right", 200)):
            headers = {"Authorization": f"Bearer {key}"}
            async with http.post(f"{server.base_url}/chat/completions", json=chat_body(), headers=headers) as reply:
                assert reply.status == status
        assert server.seen_keys == ["wrong", "right"]


async def test_malformed_json(server: FakeProvider, http: aiohttp.ClientSession) -> None:
    server.enqueue(BadJson(), BadJson())
    async with http.post(f"{server.base_url}/chat/completions", json=chat_body()) as reply:
        with pytest.raises(json.JSONDecodeError):
            await reply.json()
    async with http.post(f"{server.base_url}/chat/completions", json=chat_body(stream=True)) as reply:
        lines = [line async for line in reply.content if line.startswith(b"data: ") and b"[DONE]" not in line]
    json.loads(lines[0][6:])
    with pytest.raises(json.JSONDecodeError):
        json.loads(lines[1][6:])


@pytest.mark.parametrize("stream", [False, True])
async def test_bad_utf8(server: FakeProvider, http: aiohttp.ClientSession, stream: bool) -> None:
    server.enqueue(BadUtf8())
    async with http.post(f"{server.base_url}/chat/completions", json=chat_body(stream=stream)) as reply:
        with pytest.raises(UnicodeDecodeError):
            (await reply.read()).decode()


@pytest.mark.parametrize("ending", ["close", "reset"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_reply_breaks_off(server: FakeProvider, http: aiohttp.ClientSession, ending: Any, stream: bool) -> None:
    server.enqueue(Break("A reply that is long enough to be cut.", events=2, ending=ending))
    async with http.post(f"{server.base_url}/chat/completions", json=chat_body(stream=stream)) as reply:
        assert reply.status == 200
        with pytest.raises((aiohttp.ClientPayloadError, aiohttp.ClientOSError)):
            await reply.read()


async def test_drip_cuts_bytes_anywhere(server: FakeProvider, http: aiohttp.ClientSession) -> None:
    server.enqueue(Drip("Größe 🍞", size_bytes=1, interval_s=0.0))
    async with http.post(f"{server.base_url}/chat/completions", json=chat_body(stream=True)) as reply:
        assert (await reply.text()).endswith("data: [DONE]\n\n")


async def test_a_drip_outlives_a_total_timeout(server: FakeProvider, http: aiohttp.ClientSession) -> None:
    server.enqueue(Drip("Slowly.", size_bytes=1, interval_s=0.02))
    async with http.post(f"{server.base_url}/chat/completions", json=chat_body(stream=True)) as reply:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reply.read(), 0.3)


async def test_a_gzip_bomb_is_small_on_the_wire(server: FakeProvider) -> None:
    server.enqueue(HugeBody(20_000_000, gzip=True))
    async with (
        aiohttp.ClientSession(auto_decompress=False) as plain,
        plain.post(f"{server.base_url}/chat/completions", json=chat_body()) as reply,
    ):
        assert reply.headers["Content-Encoding"] == "gzip"
        packed = await reply.read()
    assert len(packed) < 50_000
    assert len(json.loads(gzip.decompress(packed))["choices"][0]["message"]["content"]) == 20_000_000
    assert zlib.decompressobj(31).decompress(packed, 20).startswith(b'{"id":"chatcmpl-')


async def test_a_huge_body_is_sent_as_it_is_made(server: FakeProvider, http: aiohttp.ClientSession) -> None:
    server.enqueue(HugeBody(3_000_000))
    async with http.post(f"{server.base_url}/chat/completions", json=chat_body(stream=True)) as reply:
        assert sum([len(block) async for block in reply.content.iter_any()]) > 3_000_000


async def test_redirects(server: FakeProvider, http: aiohttp.ClientSession) -> None:
    server.enqueue(Redirect("http://127.0.0.1:9/v1"))
    url = f"{server.base_url}/chat/completions"
    async with http.post(url, json=chat_body(), allow_redirects=False) as reply:
        assert (reply.status, reply.headers["Location"]) == (307, "http://127.0.0.1:9/v1")


async def test_a_provider_can_echo_the_key(server: FakeProvider, http: aiohttp.ClientSession) -> None:
    server.enqueue(EchoHeaders())
    headers = {"Authorization": f"Bearer {KEY}"}
    async with http.post(f"{server.base_url}/chat/completions", json=chat_body(), headers=headers) as reply:
        assert reply.status == 401
        assert KEY in await reply.text()


async def test_late_headers(server: FakeProvider, http: aiohttp.ClientSession) -> None:
    server.enqueue(Late("At last.", headers_after_s=3600), Late("At last.", headers_after_s=0.01))
    url = f"{server.base_url}/chat/completions"
    call = asyncio.create_task(http.post(url, json=chat_body()))
    await server.wait_seen()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call, 0.1)
    async with http.post(url, json=chat_body()) as reply:
        assert reply.status == 200


@pytest.mark.parametrize("step", [Hang(), Break("Some text that never ends.", events=2, ending="hang")])
async def test_a_hanging_server_still_closes_at_once(http: aiohttp.ClientSession, step: Step) -> None:
    async with FakeProvider([step]) as server:

        async def ask() -> None:
            async with http.post(f"{server.base_url}/chat/completions", json=chat_body(stream=True)) as reply:
                await reply.read()

        call = asyncio.create_task(ask())
        await server.wait_seen()
        started = asyncio.get_running_loop().time()
    with pytest.raises(aiohttp.ClientError):
        await call
    assert asyncio.get_running_loop().time() - started < 30  # aiohttp would wait for a minute


async def test_nothing_is_left_behind(http: aiohttp.ClientSession) -> None:
    before = asyncio.all_tasks()
    async with FakeProvider([Hang(), "Hi."]) as server:
        url = f"{server.base_url}/chat/completions"
        call = asyncio.create_task(http.post(url, json=chat_body()))
        await server.wait_seen()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with http.post(url, json=chat_body()) as reply:
            assert reply.status == 200
        port = int(server.origin.rsplit(":", 1)[1])
    assert asyncio.all_tasks() == before
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=30)


# Scripts, threads and processes


async def test_a_function_can_hold_a_reply_back(http: aiohttp.ClientSession) -> None:
    gate = asyncio.Event()

    async def script(request: ModelRequest) -> Step:
        await gate.wait()
        return request.messages[-1].text.upper()

    async with FakeProvider(script) as server:
        call = asyncio.create_task(http.post(f"{server.base_url}/chat/completions", json=chat_body()))
        await server.wait_seen()
        assert not call.done()
        gate.set()
        async with await call as reply:
            assert (await reply.json())["choices"][0]["message"]["content"] == "WHERE IS THE BREAD?"


async def test_a_seeded_model_can_answer(http: aiohttp.ClientSession) -> None:
    seeded = SeededTransport(7)
    async with FakeProvider(seeded.reply) as server:
        bodies = []
        for _ in range(2):
            async with http.post(f"{server.base_url}/chat/completions", json=chat_body()) as reply:
                bodies.append(await reply.json())
    assert bodies[0] == bodies[1]


async def test_a_taken_port_is_a_clear_error(server: FakeProvider) -> None:
    port = int(server.origin.rsplit(":", 1)[1])
    with pytest.raises(LLMConfigError, match=f"127.0.0.1:{port} can't be used"):
        async with FakeProvider(port=port):
            pass


def post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as reply:
        return json.load(reply)


async def test_it_runs_in_a_thread_and_leaves_none() -> None:
    def use() -> None:
        with FakeProvider.in_thread(["Hi."], models=("a",)) as server:
            reply = post(f"{server.base_url}/chat/completions", chat_body())
            assert reply["choices"][0]["message"]["content"] == "Hi."
            assert any(thread.name == "fake-provider" for thread in threading.enumerate())
            port = int(server.origin.rsplit(":", 1)[1])
            with pytest.raises(LLMConfigError, match="can't be used"), FakeProvider.in_thread(port=port):
                pass

    await asyncio.to_thread(use)
    assert not any(thread.name == "fake-provider" for thread in threading.enumerate())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
async def test_it_runs_as_a_process_and_stops_cleanly(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "tickmind.llm.testing.server", "--port", "0", "--text", "Hi.", "--model", "a"]

    def use() -> None:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
        ) as process:
            assert process.stdout is not None
            base_url = process.stdout.readline().strip()
            reply = post(f"{base_url}/chat/completions", chat_body())
            assert reply["choices"][0]["message"]["content"] == "Hi."
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")

    await asyncio.to_thread(use)
