"""Replies as lax endpoints write them: calls without ids, legacy calls, letters cut in two."""

import asyncio
import json
from typing import Any

import pytest

from tickmind.base import Limit
from tickmind.llm.client import ModelClient
from tickmind.llm.config import Api, ModelConfig
from tickmind.llm.messages import Message, ToolCall
from tickmind.llm.streaming.assembly import ToolCallBuilder
from tickmind.llm.testing import ScriptedTransport
from tickmind.llm.transport import ModelRequest, ToolCallDelta
from tickmind.llm.transports.chat import ChatForm
from tickmind.tools import ToolAgent

REQUEST = ModelRequest("m", (Message.user("Hi"),))


def calls_of(*deltas: ToolCallDelta) -> list[tuple[str, Any]]:
    builder = ToolCallBuilder()
    for delta in deltas:
        builder.add(delta)
    calls = builder.build()
    assert len({call.id for call in calls}) == len(calls)
    return [(call.name, json.loads(call.arguments)) for call in calls]


@pytest.mark.parametrize("second", ["go", "look"], ids=["another name", "the same name"])
@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
def test_two_calls_without_ids_at_one_index_stay_two(second: str, cut: bool) -> None:
    deltas = []
    for name, arguments in (("look", '{"at":{"x":1}}'), (second, '{"to":2}')):
        pieces = [ToolCallDelta(0, name=name), *(ToolCallDelta(0, arguments=letter) for letter in arguments)]
        deltas += pieces if cut else [ToolCallDelta(0, name=name, arguments=arguments)]
    assert calls_of(*deltas) == [("look", {"at": {"x": 1}}), (second, {"to": 2})]


def test_a_call_whose_name_comes_with_every_piece_stays_one() -> None:
    deltas = [
        ToolCallDelta(0, name="look", arguments=part) for part in ('{"at":', "[{", '"x":1}', ',{"x":2}', "]}", "")
    ]
    assert calls_of(*deltas) == [("look", {"at": [{"x": 1}, {"x": 2}]})]


def test_an_id_holds_the_pieces_of_a_call_together() -> None:
    deltas = [
        ToolCallDelta(0, "a", "look", "{}"),
        ToolCallDelta(0, "a", "look", ""),
        ToolCallDelta(0, "b", "look", "{}"),
    ]
    assert calls_of(*deltas) == [("look", {}), ("look", {})]


def test_a_legacy_function_call_is_a_tool_call() -> None:
    call = {"name": "look", "arguments": '{"at":1}'}
    choice = {
        "message": {"role": "assistant", "content": None, "function_call": call},
        "finish_reason": "function_call",
    }
    reply = ChatForm().decode(json.dumps({"choices": [choice]}).encode(), REQUEST)
    assert (reply.tool_calls, reply.finish_reason) == ((ToolCall("call_0", "look", '{"at":1}'),), "tool_calls")


def test_a_legacy_function_call_is_read_from_a_stream() -> None:
    decoder = ChatForm().decoder(REQUEST)
    builder = ToolCallBuilder()
    for part in ({"name": "look", "arguments": ""}, {"arguments": '{"at"'}, {"arguments": ":1}"}):
        piece = decoder.decode(json.dumps({"choices": [{"delta": {"function_call": part}}]}).encode())
        assert piece is not None
        for delta in piece.tool_calls:
            builder.add(delta)
    assert builder.build() == (ToolCall("call_0", "look", '{"at":1}'),)


# Letters cut in two


def _events(api: Api, *texts: str, thinking: bool = False) -> bytes:
    """A stream of these texts; what is beyond ASCII is written as escapes, halves included."""
    events: list[dict[str, Any]] = []
    for text in texts:
        if api == "chat":
            events.append({"choices": [{"delta": {"reasoning" if thinking else "content": text}}]})
        elif api == "responses":
            kind = "reasoning_text" if thinking else "output_text"
            events.append({"type": f"response.{kind}.delta", "delta": text})
        else:
            delta = {"type": "thinking_delta", "thinking": text} if thinking else {"type": "text_delta", "text": text}
            events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    return b"".join(b"data: " + json.dumps(event).encode("ascii") + b"\n\n" for event in events)


async def _streamed(api: Api, body: bytes) -> tuple[str, str, str]:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        config = ModelConfig(f"http://127.0.0.1:{port}/v1", model="m", api=api)
        async with ModelClient(config) as client, client.stream("Hi") as stream:
            chunks = [chunk async for chunk in stream]
            result = await stream.result
    assert "".join(chunk.content for chunk in chunks) == result.content
    return result.content, result.thinking, "".join(block.text for block in result.blocks)


@pytest.mark.asyncio
@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
async def test_a_letter_cut_across_events_survives(api: Api) -> None:
    assert (await _streamed(api, _events(api, "a \ud83d", "\ude00 b", "\ud83d", "\ude01")))[0] == "a 😀 b😁"
    thought = await _streamed(api, _events(api, "Hm \ud83d", "\ude00", thinking=True) + _events(api, "Yes."))
    assert thought[:2] == ("Yes.", "Hm 😀")


@pytest.mark.asyncio
async def test_the_reasoning_that_goes_back_has_whole_letters() -> None:
    body = _events("chat", "Hm \ud83d", "\ude00", thinking=True) + _events("chat", "Yes.")
    assert (await _streamed("chat", body))[2] == "Hm 😀"


@pytest.mark.asyncio
async def test_half_a_letter_without_its_other_half_is_marked() -> None:
    assert (await _streamed("chat", _events("chat", "a \ud83d", "b", "\ude00c")))[0] == "a \ufffdb\ufffdc"


def test_half_a_letter_in_a_whole_reply_is_marked() -> None:
    body = json.dumps({"choices": [{"message": {"content": "a \ud83d b 😀"}, "finish_reason": "stop"}]}).encode()
    assert ChatForm().decode(body, REQUEST).content == "a \ufffd b 😀"


# A run that is read no more


@pytest.mark.asyncio
async def test_a_run_whose_stream_is_read_no_more_ends() -> None:
    client = ModelClient(ModelConfig("http://127.0.0.1:9/v1"), ScriptedTransport("word " * 200, cut=1))
    agent = ToolAgent(client, max_events=Limit("events", 8))
    async with agent.stream("Talk!") as stream:
        async for _ in stream:
            break
        result = await asyncio.wait_for(stream.run.result(), 20)
    assert result.ok
    assert len(result.text) >= 999


@pytest.mark.asyncio
async def test_a_stream_that_was_left_can_be_read_on() -> None:
    client = ModelClient(ModelConfig("http://127.0.0.1:9/v1"), ScriptedTransport("one two three four", cut=1))
    agent = ToolAgent(client)
    async with agent.stream("Talk!") as stream:
        said = []
        async for text in stream.text():
            said.append(text)
            break
        said += [text async for text in stream.text()]
    assert "".join(said) == "one two three four"
