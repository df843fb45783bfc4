from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickmind.base import Secret
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMConfigError, LLMError, LLMRateLimitError, LLMResponseError
from tickmind.llm.messages import Audio, Message, Text, ThinkingBlock, ToolCall
from tickmind.llm.transport import Capabilities, ModelRequest, OutputSpec, StreamPiece, ToolCallDelta, ToolSpec, Usage
from tickmind.llm.transports.chat import ChatDecoder, ChatForm, decode_reply, encode_message
from tickmind.llm.transports.wire import Json, dump_body

STRICT = {
    "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False,
}  # fmt: skip
LOOSE = {"type": "object", "properties": {"a": STRICT, "b": {"type": "string"}}, "required": ["a"]}


def request(**more: Any) -> ModelRequest:
    return ModelRequest("m", (Message.user("hi"),), **more)


def encode(form: ChatForm | None = None, *, stream: bool = False, **more: Any) -> Json:
    body = (form or ChatForm()).encode(request(**more), stream=stream)
    orjson.dumps(body)
    return body


def event(delta: Json | None = None, **choice: Any) -> bytes:
    return orjson.dumps({"id": "r1", "model": "m1", "choices": [{"index": 0, "delta": delta or {}, **choice}]})


def test_only_what_was_set_is_sent() -> None:
    assert encode() == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_temperature_zero_is_sent() -> None:
    assert encode(temperature=0.0)["temperature"] == 0.0


def test_every_option_has_its_field() -> None:
    body = encode(max_tokens=5, stop=("x",), seed=7, extra={"top_k": 3})
    assert (body["max_tokens"], body["stop"], body["seed"], body["top_k"]) == (5, ["x"], 7, 3)


def test_openai_gets_the_new_name_for_max_tokens() -> None:
    assert encode(ChatForm(max_tokens_field="max_completion_tokens"), max_tokens=5)["max_completion_tokens"] == 5


def test_streams_ask_for_usage() -> None:
    body = encode(stream=True)
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


def test_tools_are_described() -> None:
    body = encode(tools=(ToolSpec("look", "Look around.", STRICT),), tool_choice="required", parallel_tool_calls=False)
    assert body["tools"][0]["function"] == {"name": "look", "description": "Look around.", "parameters": STRICT}
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("required", False)


@pytest.mark.parametrize(("schema", "strict"), [(STRICT, True), (LOOSE, False)])
def test_a_schema_is_strict_only_if_it_meets_the_rules(schema: dict[str, Any], strict: bool) -> None:
    form = encode(output=OutputSpec(schema))["response_format"]
    assert form == {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": strict}}


def test_output_follows_what_the_endpoint_can() -> None:
    output = OutputSpec(STRICT)
    by_object = ChatForm(Capabilities(output="json_object"))
    assert encode(by_object, output=output)["response_format"] == {"type": "json_object"}
    assert "response_format" not in encode(ChatForm(Capabilities(output="none")), output=output)


def test_pictures_and_sounds_are_parts() -> None:
    content = encode_message(Message.user("see", images=["https://x/y.png"], audio=[Audio(b"\0\1", "mp3")]))["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "input_audio"]
    assert content[2]["input_audio"] == {"data": "AAE=", "format": "mp3"}


def test_text_beside_tool_calls_is_kept() -> None:
    turn = encode_message(Message.assistant("One moment.", tool_calls=[ToolCall("1", "look", "{}")]))
    assert turn["content"] == "One moment."
    assert turn["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}


def test_invalid_tool_arguments_go_back_as_valid_json() -> None:
    turn = encode_message(Message.assistant(tool_calls=[ToolCall("1", "look", '{"at": ')]))
    assert orjson.loads(turn["tool_calls"][0]["function"]["arguments"]) == {"invalid_json": '{"at": '}


def test_reasoning_goes_back_with_tool_calls_under_its_own_name() -> None:
    blocks = [ThinkingBlock("hm", "chat/reasoning"), ThinkingBlock("no", "anthropic", "sig")]
    turn = encode_message(Message.assistant(tool_calls=[ToolCall("1", "look", "{}")], thinking=blocks))
    assert turn["reasoning"] == "hm"
    assert "no" not in str(turn)
    assert "reasoning" not in encode_message(Message.assistant("answer", thinking=blocks))


def test_a_tool_result_names_its_call() -> None:
    turn = encode_message(Message.tool(ToolCall("c1", "look", "{}"), "a door"))
    assert turn == {"role": "tool", "tool_call_id": "c1", "content": "a door"}


def test_several_texts_are_parts() -> None:
    assert len(encode_message(Message("user", (Text("a"), Text("b"))))["content"]) == 2


def test_the_key_is_a_bearer_token_and_hidden() -> None:
    headers = ChatForm().headers(Secret("canary-123456"))
    assert "canary" not in repr(headers)
    assert ChatForm().headers(Secret("")) == {}


def test_a_whole_reply_is_read() -> None:
    reply = decode_reply(
        {
            "id": "r", "model": "m", "choices": [{"finish_reason": "tool_calls", "message": {
                "content": None, "reasoning": "hm",
                "tool_calls": [{"id": "c", "function": {"name": "look", "arguments": {"at": 1}}}]}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2},
                      "completion_tokens_details": {"reasoning_tokens": 1}},
        }
    )  # fmt: skip
    assert (reply.content, reply.finish_reason) == ("", "tool_calls")
    assert reply.thinking == (ThinkingBlock("hm", "chat/reasoning"),)
    assert reply.tool_calls == (ToolCall("c", "look", '{"at":1}'),)
    assert reply.usage == Usage(3, 4, 1, 2)


def test_content_in_parts_and_refusals_are_read() -> None:
    parts = [{"type": "thinking", "thinking": [{"text": "hm"}]}, {"type": "text", "text": "hello"}]
    reply = decode_reply({"choices": [{"message": {"content": parts}}]})
    assert (reply.content, reply.thinking[0].text) == ("hello", "hm")
    assert decode_reply({"choices": [{"message": {"content": None, "refusal": "No."}}]}).content == "No."


def test_a_piece_may_carry_thinking_and_the_finish_reason_at_once() -> None:
    piece = ChatDecoder().decode(event({"reasoning_content": "hm", "content": "x"}, finish_reason="length"))
    assert piece == StreamPiece("x", "hm", finish_reason="length", model="m1", id="r1")


def test_the_last_event_with_usage_and_no_choices_is_read() -> None:
    data = orjson.dumps({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
    assert ChatDecoder().decode(data) == StreamPiece(usage=Usage(1, 2))


def test_reasoning_ends_as_one_block() -> None:
    decoder = ChatDecoder()
    for text in ("h", "m"):
        decoder.decode(event({"reasoning": text}))
    assert decoder.finish() == StreamPiece(block=ThinkingBlock("hm", "chat/reasoning"))


def test_tool_call_pieces_are_passed_on() -> None:
    piece = ChatDecoder().decode(event({"tool_calls": [{"index": 1, "id": "c", "function": {"name": "look"}}]}))
    assert piece is not None
    assert piece.tool_calls == (ToolCallDelta(1, "c", "look", ""),)


def test_a_whole_reply_in_place_of_a_stream_is_one_piece() -> None:
    data = orjson.dumps({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]})
    assert ChatDecoder().decode(data) == StreamPiece("hello", finish_reason="stop", usage=Usage())


@pytest.mark.parametrize("data", [b"<html>", b"[]", b'{"a": NaN}', b""])
def test_an_unreadable_event_is_a_response_error(data: bytes) -> None:
    with pytest.raises(LLMResponseError):
        ChatDecoder().decode(data)


def test_an_error_inside_a_stream_is_raised() -> None:
    with pytest.raises(LLMRateLimitError):
        ChatDecoder().decode(b'{"error": {"message": "slow down", "type": "rate_limit_exceeded"}}')
    with pytest.raises(LLMResponseError, match="boom") as caught:
        ChatDecoder().decode(b'{"error": {"message": "boom", "code": 500}}')
    assert caught.value.status == 500


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "message", "content", "tool_calls", "function", "index", "usage", "type"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values, json_values)
def test_no_json_makes_the_decoder_fail_otherwise(value: Any, delta: Any) -> None:
    decoder = ChatDecoder()
    for data in (value, {"choices": [value]}, {"choices": [{"delta": delta}]}, {"choices": [{"message": delta}]}):
        try:
            decoder.decode(orjson.dumps(data))
        except LLMError:
            continue
    decoder.finish()


def test_the_default_field_follows_the_address() -> None:
    assert ModelConfig().host == "api.openai.com"


def test_a_schema_may_be_any_mapping_and_what_json_cannot_hold_is_named() -> None:
    assert dump_body({"schema": MappingProxyType({"a": 1})}) == b'{"schema":{"a":1}}'
    with pytest.raises(LLMConfigError, match="can't be written as JSON"):
        dump_body({"extra": {1, 2}})
