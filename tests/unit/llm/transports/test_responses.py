from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.llm.errors import LLMConfigError, LLMError, LLMResponseError
from tickmind.llm.messages import Message, ThinkingBlock, ToolCall
from tickmind.llm.transport import ModelRequest, OutputSpec, StreamPiece, ToolCallDelta, ToolSpec, Usage
from tickmind.llm.transports.responses import ResponsesDecoder, ResponsesForm, decode_reply, encode_message
from tickmind.llm.transports.wire import Json

SCHEMA = {"type": "object", "properties": {}}
REASONING = {"type": "reasoning", "encrypted_content": "sealed", "summary": [{"text": "one"}, {"text": "two"}]}
CALL = {"type": "function_call", "id": "f", "call_id": "c", "name": "look", "arguments": '{"at":1}'}
MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "hello"}]}


def encode(*, stream: bool = False, **more: Any) -> Json:
    body = ResponsesForm().encode(ModelRequest("m", (Message.system("s"), Message.user("hi")), **more), stream=stream)
    orjson.dumps(body)
    return body


def feed(*events: Json) -> list[StreamPiece]:
    decoder = ResponsesDecoder()
    return [piece for item in events if (piece := decoder.decode(orjson.dumps(item))) is not None]


def test_nothing_is_stored_and_sealed_reasoning_is_asked_for() -> None:
    body = encode(temperature=0.0, max_tokens=9, stream=True)
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert (body["temperature"], body["max_output_tokens"], body["stream"]) == (0.0, 9, True)
    assert body["input"][1] == {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}


def test_tools_and_output_have_their_forms() -> None:
    body = encode(tools=(ToolSpec("look", "Look.", SCHEMA),), output=OutputSpec(SCHEMA))
    assert body["tools"][0]["name"] == "look"
    assert body["text"]["format"]["type"] == "json_schema"


def test_stop_sequences_are_refused_rather_than_dropped() -> None:
    with pytest.raises(LLMConfigError, match="no stop sequences"):
        encode(stop=("x",))


def test_a_turn_with_tools_goes_back_whole() -> None:
    call = ToolCall("c", "look", '{"at":1}')
    turn = Message.assistant(
        "One moment.", tool_calls=[call], thinking=[ThinkingBlock("hm", "responses", data="sealed")]
    )
    assert [item.get("type", "message") for item in encode_message(turn)] == ["reasoning", "message", "function_call"]
    assert encode_message(Message.tool(call, "a door")) == [
        {"type": "function_call_output", "call_id": "c", "output": "a door"}
    ]


def test_a_whole_reply_is_read() -> None:
    reply = decode_reply(
        {
            "id": "r", "model": "m", "status": "completed", "output": [REASONING, MESSAGE, CALL],
            "usage": {"input_tokens": 3, "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 2}},
        }
    )  # fmt: skip
    assert (reply.content, reply.finish_reason) == ("hello", "tool_calls")
    assert reply.thinking == (ThinkingBlock("one\n\ntwo", "responses", data="sealed"),)
    assert reply.tool_calls == (ToolCall("c", "look", '{"at":1}'),)
    assert reply.usage == Usage(3, 4, 2)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"status": "completed"}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "tired"}}, "tired"),
    ],
)
def test_the_finish_reason_is_translated(state: dict[str, Any], reason: str) -> None:
    assert decode_reply({**state, "output": []}).finish_reason == reason


def test_a_stream_gives_the_same_as_the_whole_reply() -> None:
    pieces = feed(
        {"type": "response.created", "response": {"id": "r", "model": "m"}},
        {"type": "response.reasoning_summary_part.added", "summary_index": 0},
        {"type": "response.reasoning_summary_text.delta", "delta": "one"},
        {"type": "response.reasoning_summary_part.added", "summary_index": 1},
        {"type": "response.reasoning_summary_text.delta", "delta": "two"},
        {"type": "response.output_item.done", "output_index": 0, "item": REASONING},
        {"type": "response.output_text.delta", "delta": "hel"},
        {"type": "response.output_text.delta", "delta": "lo"},
        {"type": "response.output_item.added", "output_index": 2, "item": {**CALL, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"at":1}'},
        {"type": "response.output_item.done", "output_index": 2, "item": CALL},
        {"type": "response.completed", "response": {"status": "completed", "usage": {"output_tokens": 4}}},
    )
    assert "".join(piece.content for piece in pieces) == "hello"
    assert "".join(piece.thinking for piece in pieces) == "one\n\ntwo"
    assert [delta for piece in pieces for delta in piece.tool_calls] == [
        ToolCallDelta(0, "c", "look"), ToolCallDelta(0, arguments='{"at":1}'),
    ]  # fmt: skip
    assert [piece.block for piece in pieces if piece.block] == [ThinkingBlock("one\n\ntwo", "responses", data="sealed")]
    assert pieces[-1].finish_reason == "tool_calls"
    assert pieces[-1].usage == Usage(None, 4)


def test_what_came_only_at_the_end_is_not_lost() -> None:
    pieces = feed(
        {"type": "response.output_item.done", "output_index": 0, "item": CALL},
        {"type": "response.completed", "response": {"status": "completed", "output": [MESSAGE]}},
    )
    assert pieces[0].tool_calls == (ToolCallDelta(0, "c", "look", '{"at":1}'),)
    assert pieces[1].content == "hello"


def test_a_failed_response_is_an_error() -> None:
    with pytest.raises(LLMResponseError, match="boom"):
        feed({"type": "response.failed", "response": {"error": {"message": "boom", "code": "server_error"}}})
    with pytest.raises(LLMResponseError, match="bad"):
        feed({"type": "error", "message": "bad"})


values: st.SearchStrategy[Any] = (
    st.none() | st.integers(0, 9) | st.text(max_size=4) | st.lists(st.integers(0, 9), max_size=2) | st.just({})
)
kinds = st.sampled_from(
    [
        "response.output_text.delta", "response.function_call_arguments.delta", "response.output_item.added",
        "response.output_item.done", "response.completed", "response.failed", "error", "response.created", "",
    ]
)  # fmt: skip


@given(kinds, st.dictionaries(st.sampled_from(["delta", "output_index", "response", "error", "output"]), values))
def test_odd_events_are_errors_or_nothing(kind: str, fields: dict[str, Any]) -> None:
    try:
        feed({"type": kind, "item": {"type": "function_call"}, **fields})
    except LLMError:
        return
