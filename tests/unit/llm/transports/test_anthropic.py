from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import Secret
from tickmind.llm.errors import LLMConfigError, LLMError, LLMRateLimitError, LLMResponseError
from tickmind.llm.messages import Image, Message, ThinkingBlock, ToolCall
from tickmind.llm.transport import ModelRequest, OutputSpec, StreamPiece, ToolCallDelta, ToolSpec, Usage
from tickmind.llm.transports.anthropic import AnthropicDecoder, AnthropicForm, decode_reply, encode_messages
from tickmind.llm.transports.wire import Json

SCHEMA = {"type": "object", "properties": {}}
LOOK = ToolSpec("look", "Look.", SCHEMA)


def encode(*, stream: bool = False, **more: Any) -> Json:
    messages = (Message.system("be brief"), Message.system("be kind"), Message.user("hi"))
    body = AnthropicForm().encode(ModelRequest("m", messages, **more), stream=stream)
    orjson.dumps(body)
    return body


def feed(*events: Json, output_tool: str = "") -> list[StreamPiece]:
    decoder = AnthropicDecoder(output_tool=output_tool)
    return [piece for item in events if (piece := decoder.decode(orjson.dumps(item))) is not None]


def test_system_texts_stand_apart() -> None:
    body = encode()
    assert body["system"] == "be brief\n\nbe kind"
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert body["max_tokens"] == 4096


def test_temperature_zero_is_sent_and_too_hot_is_the_hottest() -> None:
    assert encode(temperature=0.0)["temperature"] == 0.0
    assert encode(temperature=1.2)["temperature"] == 1.0


def test_tools_have_their_form() -> None:
    body = encode(tools=(LOOK,), tool_choice="required", parallel_tool_calls=False)
    assert body["tools"] == [{"name": "look", "description": "Look.", "input_schema": SCHEMA}]
    assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}


def test_an_output_is_a_tool_that_must_be_used() -> None:
    body = encode(output=OutputSpec(SCHEMA, "answer"))
    assert body["tool_choice"] == {"type": "tool", "name": "answer"}
    both = encode(output=OutputSpec(SCHEMA, "answer"), tools=(LOOK,))
    assert [tool["name"] for tool in both["tools"]] == ["look", "answer"]
    assert both["tool_choice"] == {"type": "any"}


def test_with_thinking_on_the_output_is_a_format() -> None:
    body = encode(output=OutputSpec(SCHEMA), extra={"thinking": {"type": "enabled", "budget_tokens": 1024}})
    closed = {**SCHEMA, "required": [], "additionalProperties": False}
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": closed}}
    assert "tools" not in body


def test_thinking_goes_back_with_its_seal_before_the_tool_calls() -> None:
    call = ToolCall("c", "look", '{"at": 1}')
    blocks = [
        ThinkingBlock("hm", "anthropic", "sig"),
        ThinkingBlock("", "anthropic", data="sealed"),
        ThinkingBlock("foreign", "chat/reasoning"),
        ThinkingBlock("unsealed", "anthropic"),
    ]
    turns = encode_messages([Message.assistant("One moment.", tool_calls=[call], thinking=blocks)])
    assert turns[0]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "sealed"},
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "c", "name": "look", "input": {"at": 1}},
    ]


def test_results_of_parallel_tools_are_one_turn() -> None:
    calls = [ToolCall("a", "look", "{}"), ToolCall("b", "look", "oops")]
    turns = encode_messages([Message.assistant(tool_calls=calls), *(Message.tool(call, "x") for call in calls)])
    assert [turn["role"] for turn in turns] == ["assistant", "user"]
    assert [block["tool_use_id"] for block in turns[1]["content"]] == ["a", "b"]
    assert turns[0]["content"][1]["input"] == {"invalid_json": "oops"}


def test_pictures_go_by_bytes_or_address_and_sounds_not_at_all() -> None:
    turns = encode_messages(
        [Message.user("see", images=[Image.from_bytes(b"\0", media_type="image/png"), "https://x/y.png"])]
    )
    sources = [block["source"] for block in turns[0]["content"][1:]]
    assert sources[0] == {"type": "base64", "media_type": "image/png", "data": "AA=="}
    assert sources[1] == {"type": "url", "url": "https://x/y.png"}
    with pytest.raises(LLMConfigError, match="no audio"):
        encode_messages([Message.user("hear", audio=[b"\0"])])


def test_the_key_has_its_own_header() -> None:
    headers = AnthropicForm().headers(Secret("canary-123456"))
    assert headers["x-api-key"] == Secret("canary-123456")
    assert "canary" not in repr(headers)


def test_a_whole_reply_is_read() -> None:
    reply = decode_reply(
        {
            "type": "message", "id": "r", "model": "m", "stop_reason": "tool_use",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "hello"}, {"type": "tool_use", "id": "c", "name": "look", "input": {"at": 1}},
            ],
            "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 10},
        }
    )  # fmt: skip
    assert (reply.content, reply.finish_reason) == ("hello", "tool_calls")
    assert reply.thinking == (ThinkingBlock("hm", "anthropic", "sig"), ThinkingBlock("", "anthropic", data="x"))
    assert reply.tool_calls == (ToolCall("c", "look", '{"at":1}'),)
    assert reply.usage == Usage(13, 4, None, 10)


def test_the_output_tool_gives_the_content() -> None:
    content = [{"type": "tool_use", "id": "c", "name": "answer", "input": {"a": 1}}]
    reply = decode_reply({"content": content, "stop_reason": "tool_use"}, output_tool="answer")
    assert (reply.content, reply.finish_reason, reply.tool_calls) == ('{"a":1}', "stop", ())


@pytest.mark.parametrize(
    ("told", "reason"),
    [("end_turn", "stop"), ("max_tokens", "length"), ("refusal", "content_filter"), ("pause_turn", "pause_turn")],
)
def test_the_finish_reason_is_translated(told: str, reason: str) -> None:
    assert decode_reply({"content": [], "stop_reason": told}).finish_reason == reason


def test_a_stream_gives_thinking_blocks_whole() -> None:
    pieces = feed(
        {"type": "message_start", "message": {"id": "r", "model": "m", "usage": {"input_tokens": 3}}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "h"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "x"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "hello"}},
        {"type": "content_block_stop", "index": 2},
        {"type": "content_block_start", "index": 3,
         "content_block": {"type": "tool_use", "id": "c", "name": "look", "input": {}}},
        {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": '{"at":'}},
        {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
        {"type": "content_block_stop", "index": 3},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    )  # fmt: skip
    assert "".join(piece.thinking for piece in pieces) == "hm"
    assert "".join(piece.content for piece in pieces) == "hello"
    assert [piece.block for piece in pieces if piece.block] == [
        ThinkingBlock("hm", "anthropic", "sig"), ThinkingBlock("", "anthropic", data="x"),
    ]  # fmt: skip
    deltas = [delta for piece in pieces for delta in piece.tool_calls]
    assert deltas[0] == ToolCallDelta(0, "c", "look")
    assert "".join(delta.arguments for delta in deltas) == '{"at":1}'
    assert (pieces[-1].finish_reason, pieces[-1].usage) == ("tool_calls", Usage(3, 9))


def test_a_streamed_output_tool_gives_content() -> None:
    pieces = feed(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "answer"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        output_tool="answer",
    )
    assert [(piece.content, piece.tool_calls, piece.finish_reason) for piece in pieces] == [
        ('{"a":1}', (), None), ("", (), "stop"),
    ]  # fmt: skip


def test_errors_inside_a_stream_are_raised() -> None:
    with pytest.raises(LLMRateLimitError):
        feed({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}})
    with pytest.raises(LLMResponseError) as caught:
        feed({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
    assert caught.value.status == 529


values: st.SearchStrategy[Any] = (
    st.none() | st.integers(0, 9) | st.text(max_size=4) | st.lists(st.integers(0, 9), max_size=2) | st.just({})
)


@given(
    st.sampled_from(["message_start", "content_block_start", "content_block_delta", "content_block_stop",
                     "message_delta", "message", "error", "ping"]),
    st.dictionaries(st.sampled_from(["index", "delta", "message", "content_block", "content", "usage"]), values),
)  # fmt: skip
def test_odd_events_are_errors_or_nothing(kind: str, fields: dict[str, Any]) -> None:
    try:
        feed({"index": 0, **fields, "type": kind})
    except LLMError:
        return
