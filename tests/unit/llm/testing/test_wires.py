"""The three wire forms: requests read into ours, replies written so that no split loses anything."""

import base64
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.messages import Audio, Image, Message, Text, ThinkingBlock, ToolCall
from tickmind.llm.testing.wire import WireStyle
from tickmind.llm.testing.wire_anthropic import ANTHROPIC
from tickmind.llm.testing.wire_chat import CHAT
from tickmind.llm.testing.wire_responses import RESPONSES
from tickmind.llm.transport import ModelReply, ModelRequest, OutputSpec, ToolSpec, Usage

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
ASK = ModelRequest("m", (Message.user("hi"),))
PICTURE = "data:image/png;base64,iVBO"
SOUND = base64.b64encode(b"RIFF").decode()

texts = st.text(st.characters(codec="utf-8"), max_size=30)
replies = st.builds(
    ModelReply,
    content=texts.filter(bool),
    finish_reason=st.sampled_from(["stop", "length", "content_filter"]),
    thinking=st.lists(st.builds(ThinkingBlock, texts.filter(bool)), max_size=2).map(tuple),
    tool_calls=st.lists(st.builds(ToolCall, st.just("c"), st.just("f"), texts), max_size=2).map(tuple),
)


def events(data: Iterable[bytes]) -> list[dict[str, Any]]:
    lines = [line for line in b"".join(data).decode().split("\n") if line.startswith("data: ")]
    return [json.loads(line[6:]) for line in lines if line != "data: [DONE]"]


@given(replies, st.integers(1, 7))
def test_chat_streams_what_it_says_whole(reply: ModelReply, cut: int) -> None:
    message = CHAT.whole(reply, ASK, WireStyle())["choices"][0]["message"]
    content, thinking = "", ""
    arguments = [""] * len(reply.tool_calls)
    finish_reason = None
    for event in events(CHAT.events(reply, ASK, WireStyle(cut=cut))):
        choice = event["choices"][0]
        content += choice["delta"].get("content", "")
        thinking += choice["delta"].get("reasoning_content", "")
        for delta in choice["delta"].get("tool_calls", ()):
            arguments[delta["index"]] += delta["function"]["arguments"]
        finish_reason = choice["finish_reason"] or finish_reason
    assert (content, thinking) == (message["content"], message.get("reasoning_content", ""))
    assert arguments == [call.arguments for call in reply.tool_calls]
    assert finish_reason == reply.finish_reason


@given(replies, st.integers(1, 7))
def test_responses_streams_what_it_says_whole(reply: ModelReply, cut: int) -> None:
    sent = events(RESPONSES.events(reply, ASK, WireStyle(cut=cut)))
    whole = RESPONSES.whole(reply, ASK, WireStyle())
    assert sent[-1]["response"] == whole
    items = [event["item"] for event in sent if event["type"] == "response.output_item.done"]
    assert items == whole["output"]
    deltas: dict[str, str] = {}
    for event in sent:
        if "delta" in event:
            deltas[event["item_id"]] = deltas.get(event["item_id"], "") + event["delta"]
    for item in items:
        said = item.get("arguments") or "".join(part["text"] for part in item.get("content") or item.get("summary", ()))
        assert deltas.get(item["id"], "") == said


@given(replies, st.integers(1, 7))
def test_anthropic_streams_what_it_says_whole(reply: ModelReply, cut: int) -> None:
    whole = ANTHROPIC.whole(reply, ASK, WireStyle())
    blocks: list[dict[str, Any]] = []
    arguments: list[str] = []
    stop_reason = None
    for event in events(ANTHROPIC.events(reply, ASK, WireStyle(cut=cut))):
        if event["type"] == "content_block_start":
            blocks.append(event["content_block"])
            if event["content_block"]["type"] == "tool_use":
                arguments.append("")
        delta = event.get("delta", {})
        for name in ("text", "thinking", "signature"):
            if name in delta:
                blocks[event["index"]][name] += delta[name]
        if "partial_json" in delta:
            arguments[-1] += delta["partial_json"]
        stop_reason = delta.get("stop_reason", stop_reason)
    spoken = [block for block in blocks if block["type"] != "tool_use"]
    assert spoken == [block for block in whole["content"] if block["type"] != "tool_use"]
    assert arguments == [call.arguments for call in reply.tool_calls]
    assert stop_reason == whole["stop_reason"]


@pytest.mark.parametrize("wire", [CHAT, RESPONSES, ANTHROPIC])
def test_a_stream_may_end_without_saying_how(wire: Any) -> None:
    sent = b"".join(wire.events(ModelReply("hi", ""), ASK, WireStyle()))
    assert not any(word in sent for word in (b'"stop"', b"end_turn", b"response.completed"))


@pytest.mark.parametrize("wire", [CHAT, RESPONSES, ANTHROPIC])
def test_thinking_can_come_as_tags(wire: Any) -> None:
    reply = ModelReply("Yes.", "stop", thinking=(ThinkingBlock("Hmm."),))
    whole = json.dumps(wire.whole(reply, ASK, WireStyle(thinking="tags")))
    assert "<think>Hmm.</think>Yes." in whole
    assert "reasoning_content" not in whole


def test_responses_can_send_plain_reasoning() -> None:
    reply = ModelReply("Yes.", "stop", thinking=(ThinkingBlock("Hmm.", data="cipher"),))
    item = RESPONSES.whole(reply, ASK, WireStyle(thinking="reasoning"))["output"][0]
    assert item["content"] == [{"type": "reasoning_text", "text": "Hmm."}]
    assert item["encrypted_content"] == "cipher"
    kinds = [event["type"] for event in events(RESPONSES.events(reply, ASK, WireStyle(thinking="reasoning")))]
    assert "response.reasoning_text.delta" in kinds


def test_usage_is_told_as_given() -> None:
    reply = ModelReply("hi", "stop", usage=Usage(10, 5, 3, 4))
    chat = CHAT.whole(reply, ASK, WireStyle())["usage"]
    assert (chat["prompt_tokens"], chat["completion_tokens"], chat["total_tokens"]) == (10, 5, 15)
    assert chat["prompt_tokens_details"]["cached_tokens"] == 4
    assert chat["completion_tokens_details"]["reasoning_tokens"] == 3
    responses = RESPONSES.whole(reply, ASK, WireStyle())["usage"]
    assert (responses["input_tokens"], responses["output_tokens"]) == (10, 5)
    anthropic = ANTHROPIC.whole(reply, ASK, WireStyle())["usage"]
    assert (anthropic["input_tokens"], anthropic["cache_read_input_tokens"]) == (6, 4)
    assert "usage" not in CHAT.whole(reply, ASK, WireStyle(usage=False))


def test_chat_requests_are_read_whole() -> None:
    body = {
        "model": "m",
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
                    {"type": "input_audio", "input_audio": {"data": SOUND, "format": "mp3"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "Hmm.",
                "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{"}}],
            },
            {"role": "tool", "tool_call_id": "1", "content": "done"},
        ],
        "temperature": 0.0,
        "max_completion_tokens": 7,
        "tools": [
            {"type": "function", "function": {"name": "f", "parameters": SCHEMA}},
            {"type": "function", "function": {"name": "g"}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA}},
        "stop": "END",
        "seed": 3,
        "top_k": 5,
        "stream": True,
    }
    assert CHAT.read(body) == ModelRequest(
        "m",
        (
            Message.system("Be brief."),
            Message("user", (Text("look"), Image(PICTURE, "low"), Audio(b"RIFF", "mp3"))),
            Message.assistant(tool_calls=[ToolCall("1", "f", "{")], thinking=[ThinkingBlock("Hmm.", "chat")]),
            Message("tool", (Text("done"),), tool_call_id="1"),
        ),
        temperature=0.0,
        max_tokens=7,
        tools=(ToolSpec("f", "", SCHEMA),),
        tool_choice="required",
        parallel_tool_calls=False,
        output=OutputSpec(SCHEMA, "r"),
        stop=("END",),
        seed=3,
        extra={"top_k": 5},
    )


def test_responses_requests_are_read_whole() -> None:
    body = {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": PICTURE}],
            },
            {
                "type": "reasoning",
                "id": "rs",
                "summary": [{"type": "summary_text", "text": "Hmm."}],
                "encrypted_content": "x",
            },
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "2", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "done"},
        ],
        "text": {"format": {"type": "json_schema", "name": "r", "schema": SCHEMA}},
        "tools": [{"type": "function", "name": "f", "parameters": SCHEMA}],
        "tool_choice": "none",
        "max_output_tokens": 7,
        "previous_response_id": "resp_1",
    }
    assert RESPONSES.read(body) == ModelRequest(
        "m",
        (
            Message.system("Be brief."),
            Message("user", (Text("look"), Image(PICTURE))),
            Message.assistant(
                "I look.",
                tool_calls=[ToolCall("1", "f", "{}"), ToolCall("2", "f", "{}")],
                thinking=[ThinkingBlock("Hmm.", "responses", "rs", "x")],
            ),
            Message("tool", (Text("done"),), tool_call_id="1"),
        ),
        max_tokens=7,
        tools=(ToolSpec("f", "", SCHEMA),),
        tool_choice="none",
        output=OutputSpec(SCHEMA, "r"),
        extra={"previous_response_id": "resp_1"},
    )


def test_anthropic_requests_are_read_whole() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
    body = {
        "model": "m",
        "max_tokens": 7,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hmm.", "signature": "seal"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "done"},
                    {"type": "text", "text": "And?"},
                ],
            },
        ],
        "tools": [{"name": "f", "description": "F", "input_schema": SCHEMA}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "stop_sequences": ["END"],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    }
    assert ANTHROPIC.read(body) == ModelRequest(
        "m",
        (
            Message.system("Be brief."),
            Message("user", (Text("look"), Image(PICTURE))),
            Message.assistant(
                "I look.",
                tool_calls=[ToolCall("1", "f", '{"x": 1}')],
                thinking=[ThinkingBlock("Hmm.", "anthropic", "seal"), ThinkingBlock("", "anthropic", data="x")],
            ),
            Message("tool", (Text("done"),), tool_call_id="1"),
            Message.user("And?"),
        ),
        max_tokens=7,
        tools=(ToolSpec("f", "F", SCHEMA),),
        tool_choice="required",
        parallel_tool_calls=False,
        output=OutputSpec(SCHEMA),
        stop=("END",),
        extra={"thinking": {"type": "enabled", "budget_tokens": 1024}},
    )


def test_arguments_that_are_no_object_still_reach_a_whole_anthropic_message() -> None:
    reply = ModelReply("", "tool_calls", tool_calls=(ToolCall("1", "f", '{"x": '),))
    assert ANTHROPIC.whole(reply, ASK, WireStyle())["content"][0]["input"] == {"INVALID_JSON": '{"x": '}


USER = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("wire", "body", "message"),
    [
        (CHAT, {"model": "m"}, "'messages' must not be empty"),
        (CHAT, {"model": "m", "messages": "hi"}, "must be an array"),
        (CHAT, {"model": 3, "messages": USER}, "'model' must be a string"),
        (CHAT, {"model": "m", "messages": [{"role": "king", "content": ""}]}, "can't be 'king'"),
        (CHAT, {"model": "m", "messages": USER, "max_tokens": 1.5}, "whole number"),
        (CHAT, {"model": "m", "messages": USER, "temperature": True}, "must be a number"),
        (CHAT, {"model": "m", "messages": USER, "parallel_tool_calls": "no"}, "true or false"),
        (CHAT, {"model": "m", "messages": USER, "tool_choice": {"function": {"name": "f"}}}, "names no tool"),
        (CHAT, {"model": "m", "messages": [{"role": "tool", "content": "x"}]}, "'tool_call_id' must be a string"),
        (CHAT, {"model": "m", "messages": [{"role": "user", "content": [{"type": "video"}]}]}, "can't be 'video'"),
        (RESPONSES, {"model": "m", "input": []}, "'input' must not be empty"),
        (RESPONSES, {"model": "m", "input": [{"type": "dream"}]}, "can't be 'dream'"),
        (ANTHROPIC, {"model": "m", "messages": USER}, "'max_tokens' is required"),
        (ANTHROPIC, {"model": "m", "max_tokens": 1, "messages": [{"role": "system", "content": ""}]}, "into 'system'"),
    ],
)
def test_what_a_provider_refuses_is_refused(wire: Any, body: dict[str, Any], message: str) -> None:
    with pytest.raises(LLMConfigError, match=message):
        wire.read(body)
