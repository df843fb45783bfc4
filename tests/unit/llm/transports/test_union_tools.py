"""Tools at endpoints that have none: asked for as one JSON object, and read back out of it."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tickmind.llm.client import ModelClient
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMResponseError
from tickmind.llm.messages import Message, ToolCall
from tickmind.llm.structured.readers.json_reader import strict_json
from tickmind.llm.testing import ScriptedTransport, join_pieces
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, OutputSpec, ToolSpec, Usage
from tickmind.llm.transports import make_transport
from tickmind.llm.transports.chat import ChatTransport
from tickmind.llm.transports.union_tools import UnionReader, UnionToolsTransport
from tickmind.tools import StopReason, ToolAgent, tool

MOVE = ToolSpec("move", "Go one step.", {"type": "object", "properties": {"dx": {"enum": [-1, 1]}}, "required": ["dx"]})
SAY = ToolSpec("say", "Speak.", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
NO_TOOLS = Capabilities(output="grammar", tools=False)
REQUEST = ModelRequest("m", (Message.system("Be brave."), Message.user("A dragon!")), tools=(MOVE, SAY))


def read(text: str, *sizes: int, request: ModelRequest = REQUEST) -> ModelReply:
    """What a reader makes of a text that comes in pieces of these sizes, then whole."""
    reader, pieces, start = UnionReader(request), [], 0
    for size in (*sizes, len(text)):
        pieces += reader.feed(text[start : start + size])
        start += size
    return join_pieces([*pieces, *reader.finish()])


async def both(reply: str, request: ModelRequest = REQUEST, reason: str = "stop") -> tuple[ModelReply, ModelRequest]:
    """The reply through the transport, whole and streamed; and what was really asked."""
    inner = ScriptedTransport(ModelReply(reply, reason, usage=Usage(3, 4)), cut=1, capabilities=NO_TOOLS)
    transport = UnionToolsTransport(inner)
    whole = await transport.complete(request, timeout_s=1)
    async with transport.stream(request, timeout_s=1) as pieces:
        streamed = join_pieces([piece async for piece in pieces])
    assert (streamed.content, streamed.tool_calls, streamed.finish_reason, streamed.usage) == (
        whole.content, whole.tool_calls, whole.finish_reason, whole.usage,
    )  # fmt: skip
    assert inner.calls[0].request == inner.calls[1].request
    return whole, inner.calls[0].request


@pytest.mark.asyncio
async def test_a_call_is_read_out_of_the_object() -> None:
    reply, asked = await both('{"tool":"move","arguments":{"dx":-1}}')
    assert reply.tool_calls == (ToolCall("call_0", "move", '{"dx":-1}'),)
    assert (reply.content, reply.finish_reason) == ("", "tool_calls")
    assert (asked.tools, asked.tool_choice) == ((), "auto")
    assert asked.output is not None
    assert [choice["properties"].get("tool") for choice in asked.output.schema["anyOf"]] == [
        {"const": "move"}, {"const": "say"}, None,
    ]  # fmt: skip


@pytest.mark.asyncio
async def test_an_answer_is_read_out_of_the_object() -> None:
    reply, _ = await both('{"reply":"I \\"run\\".\\n\\u00e9\\ud83d\\ude00é😀"}')
    assert (reply.content, reply.tool_calls, reply.finish_reason) == ('I "run".\né😀é😀', (), "stop")


@pytest.mark.asyncio
async def test_the_model_is_told_the_tools_at_the_end_of_its_instructions() -> None:
    _, asked = await both('{"reply":""}')
    system = asked.messages[0].text
    assert system.startswith("Be brave.\n")
    assert "- move: Go one step." in system
    assert json.dumps(dict(MOVE.schema), separators=(",", ":")) in system
    assert asked.messages[1:] == REQUEST.messages[1:]


@pytest.mark.asyncio
async def test_a_tool_that_must_be_used_leaves_no_way_to_answer() -> None:
    must = ModelRequest("m", (Message.user("Go!"),), tools=(MOVE,), tool_choice="required")
    _, asked = await both('{"tool":"move","arguments":{"dx":1}}', must)
    assert asked.output is not None
    assert asked.output.schema["properties"]["tool"] == {"const": "move"}
    assert "reply" not in asked.messages[0].text.replace("replying", "")


@pytest.mark.asyncio
async def test_without_tools_nothing_is_changed() -> None:
    request = ModelRequest("m", REQUEST.messages)
    reply, asked = await both('{"reply":"as it is"}', request)
    assert (reply.content, asked) == ('{"reply":"as it is"}', request)


@pytest.mark.asyncio
async def test_where_no_tool_may_be_used_there_is_only_the_answer() -> None:
    request = ModelRequest("m", REQUEST.messages, tools=(MOVE,), tool_choice="none")
    reply, asked = await both('{"reply":"I stay."}', request)
    assert (reply.content, reply.tool_calls) == ("I stay.", ())
    assert asked.output is not None
    assert list(asked.output.schema["properties"]) == ["reply"]
    _, before = await both('{"reply":""}', ModelRequest("m", REQUEST.messages, tools=(MOVE,)))
    assert asked.messages[0].text.startswith(before.messages[0].text)


@pytest.mark.asyncio
async def test_an_answer_of_a_given_form_stays_one() -> None:
    form = OutputSpec({"type": "object", "properties": {"mood": {"enum": ["glad", "sad"]}}, "required": ["mood"]})
    request = ModelRequest("m", REQUEST.messages, tools=(MOVE,), output=form)
    reply, asked = await both('{"reply":{"mood":"glad"}}', request)
    assert reply.content == '{"mood":"glad"}'
    assert asked.output is not None
    assert asked.output.schema["anyOf"][-1]["properties"]["reply"] == form.schema
    reply, _ = await both('{"tool":"move","arguments":{"dx":1}}', request)
    assert reply.tool_calls[0].name == "move"


@pytest.mark.asyncio
async def test_earlier_calls_and_results_are_told_as_text() -> None:
    calls = (ToolCall("a", "move", '{"dx": 1}'), ToolCall("b", "say", "not json"))
    turns = (
        Message.user("Go!"),
        Message.assistant("Well.", tool_calls=calls),
        Message.tool(calls[0], "moved"),
        Message("tool", Message.user("said").parts, tool_call_id="b"),
        Message.assistant('Done "so".'),
        Message.user("Again!"),
    )
    reply, asked = await both('{"tool":"move","arguments":{}}', ModelRequest("m", turns, tools=(MOVE, SAY)))
    assert [(turn.role, turn.text) for turn in asked.messages[1:]] == [
        ("user", "Go!"),
        (
            "assistant",
            'Well.\n{"tool":"move","arguments":{"dx":1}}\n{"tool":"say","arguments":{"invalid_json":"not json"}}',
        ),
        ("user", "move returned: moved\nsay returned: said"),
        ("assistant", '{"reply":"Done \\"so\\"."}'),
        ("user", "Again!"),
    ]
    assert not any(turn.tool_calls for turn in asked.messages)
    assert reply.tool_calls[0].id == "call_2"  # as if it were the third of the conversation


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("text", "content", "arguments"),
    [
        ('{"tool":"move","arguments":{"dx":', "", '{"dx":'),
        ('{"reply":"Half a sen', "Half a sen", None),
        ('{"reply":"Half an escape \\u00', "Half an escape \\u00", None),
        ('{"reply":"Half a pair \\ud83d', "Half a pair \ufffd", None),
        ('{"reply', '{"reply', None),
    ],
)
async def test_what_is_cut_off_is_kept_as_far_as_it_came(text: str, content: str, arguments: str | None) -> None:
    reply, _ = await both(text, reason="length")
    assert (reply.content, reply.finish_reason) == (content, "length")
    assert [call.arguments for call in reply.tool_calls] == ([] if arguments is None else [arguments])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("text", "content", "arguments"),
    [
        ("I move.", "I move.", None),
        ('{"move": 1}', '{"move": 1}', None),
        ('{"toolbox": 1}', '{"toolbox": 1}', None),
        ('\n{ "tool" : "move",\n "arguments" : { "dx": [1, {}], "s": "}\\"]" } }\n', "", None),
        ('{"tool":"fly","arguments":{"up":1}, "more": 2} Off I go!', "Off I go!", '{"up":1}'),
        ('{"reply":"a bad \\x escape"}', "a bad \\x escape", None),
        ('{"reply":"over\ntwo lines"}', "over\ntwo lines", None),
    ],
)
async def test_endpoints_that_are_not_held_to_the_form_are_read_as_far_as_they_keep_to_it(
    text: str, content: str, arguments: str | None
) -> None:
    reply, _ = await both(text)
    assert reply.content == content
    if arguments is not None:
        assert reply.tool_calls[0].arguments == arguments


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
objects = st.dictionaries(words, st.one_of(words, st.integers(), st.lists(words, max_size=2)), max_size=3)
sizes = st.lists(st.integers(1, 7), max_size=30)


@given(words, sizes, st.booleans())
def test_any_answer_reads_the_same_however_it_is_cut(text: str, cut: list[int], ascii_only: bool) -> None:
    reply = read(json.dumps({"reply": text}, ensure_ascii=ascii_only), *cut)
    assert (reply.content, reply.tool_calls) == (text, ())


@given(objects, sizes, st.sampled_from([None, 1, 4]))
@example({"": -(2**63) - 1, "x": 2**64, "y": 10**40}, [], None)
def test_any_call_reads_the_same_however_it_is_cut(
    arguments: dict[str, Any], cut: list[int], indent: int | None
) -> None:
    reply = read(json.dumps({"tool": "move", "arguments": arguments}, indent=indent), *cut)
    assert (reply.content, reply.tool_calls[0].name) == ("", "move")
    assert strict_json(reply.tool_calls[0].arguments) == arguments


@given(st.lists(st.sampled_from([*'{}[]":,\\ \n', "tool", "reply", "arguments", "move", "\\u", "d83d"])), sizes)
def test_any_text_at_all_reads_the_same_however_it_is_cut(parts: list[str], cut: list[int]) -> None:
    text = "".join(parts)
    assert read(text, *cut) == read(text)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("start", "more"),
    [("", " "), ('{"reply":"', "\\x"), ('{"reply":"', "\\ud83d"), ('{"tool":"move","arguments":', "{[")],
)
def test_a_reply_that_goes_on_and_on_is_read_in_its_own_time(start: str, more: str) -> None:
    reply = read(start + more * 200_000)
    assert len(reply.content + "".join(call.arguments for call in reply.tool_calls)) >= 200_000


@tool
def move(dx: int) -> str:
    """Go one step."""
    return f"moved {dx}"


@pytest.mark.asyncio
@pytest.mark.parametrize("streaming", [False, True])
async def test_an_agent_uses_tools_as_at_any_other_endpoint(streaming: bool) -> None:
    inner = ScriptedTransport(
        [
            '{"tool":"move","arguments":{"dx":"left"}}',
            '{"tool":"move","arguments":{"dx":-1}}',
            '{"reply":"I am safe."}',
        ],
        capabilities=NO_TOOLS,
        cut=3,
    )
    agent = ToolAgent(UnionToolsTransport(inner), [move], model="m")
    result = await agent.ainvoke("A dragon!", streaming=streaming).result()
    assert (result.text, result.stopped, result.steps) == ("I am safe.", StopReason.NO_MORE_TOOLS, 3)
    assert [(entry.name, entry.ok) for entry in result.tool_trace] == [("move", False), ("move", True)]
    assert "moved -1" in inner.calls[-1].request.messages[-1].text


@pytest.mark.asyncio
async def test_an_agent_asked_for_an_answer_at_its_limit_gets_words() -> None:
    steps = ['{"tool":"move","arguments":{"dx":1}}', '{"reply":"Out of breath."}']
    inner = ScriptedTransport(steps, capabilities=NO_TOOLS)
    agent = ToolAgent(UnionToolsTransport(inner), [move], model="m", max_steps=1, answer_at_limit=True)
    result = await agent.invoke("A dragon!")
    assert (result.text, result.stopped) == ("Out of breath.", StopReason.MAX_STEPS)


@pytest.mark.asyncio
async def test_leaving_early_and_errors_go_through() -> None:
    async with UnionToolsTransport(ScriptedTransport('{"reply":"long"}')).stream(REQUEST, timeout_s=1) as pieces:
        assert (await anext(pieces)).content == ""
    broken = UnionToolsTransport(ScriptedTransport([LLMResponseError("no"), LLMResponseError("no")]))
    with pytest.raises(LLMResponseError):
        await broken.complete(REQUEST, timeout_s=1)
    with pytest.raises(LLMResponseError):
        async with broken.stream(REQUEST, timeout_s=1):
            pass
    await broken.aclose()


@pytest.mark.asyncio
async def test_it_is_put_around_endpoints_whose_capabilities_have_no_tools() -> None:
    config = ModelConfig(base_url="http://127.0.0.1:9/v1", capabilities=NO_TOOLS)
    async with ModelClient(config) as client:
        assert isinstance(client.transport, UnionToolsTransport)
        assert client.transport.capabilities == Capabilities(output="grammar", tools=True)
    plain = make_transport(ModelConfig(base_url="http://127.0.0.1:9/v1"))
    assert isinstance(plain, ChatTransport)
