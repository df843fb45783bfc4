"""Anthropic Messages, as the provider's side reads and writes it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.messages import Image, Message, Part, Text, ThinkingBlock, ToolCall
from tickmind.llm.scripted.pieces import cut_text
from tickmind.llm.testing.wire import (
    Wire,
    WireStyle,
    as_object,
    bool_at,
    counted,
    event,
    extra_of,
    int_at,
    list_at,
    names,
    number_at,
    object_at,
    tagged,
    text_at,
)
from tickmind.llm.testing.wire_chat import read_tool_choice
from tickmind.llm.transport import ModelReply, ModelRequest, OutputSpec, ToolSpec

WIRE = "anthropic"
_READ = names("model messages system temperature max_tokens tools tool_choice stop_sequences output_config stream")
_KNOWN = _READ | names(
    "cache_control container context_management inference_geo mcp_servers metadata output_format service_tier speed "
    "thinking top_k top_p"
)
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none", "tool": "tool"}
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read_request(body: Mapping[str, Any]) -> ModelRequest:
    """Our request from a provider's; raises `LLMConfigError` where the provider would answer 400."""
    messages = [message for item in list_at(body, "messages") for message in _turns(as_object(item, "messages[]"))]
    if not messages:
        raise LLMConfigError("'messages' must not be empty")
    if body.get("system"):
        messages.insert(0, Message("system", _texts(body["system"])))
    tools = tuple(_tool(as_object(item, "tools[]")) for item in list_at(body, "tools"))
    wanted = object_at(body, "tool_choice")
    choice = _CHOICES.get(wanted.get("type", "auto"))
    if choice is None:
        raise LLMConfigError(f"'tool_choice.type' can't be {wanted.get('type')!r}")
    tool_choice, tools = read_tool_choice(choice, tools, text_at(wanted, "name", ""))
    most = int_at(body, "max_tokens")
    if most is None:
        raise LLMConfigError("'max_tokens' is required")
    return ModelRequest(
        model=text_at(body, "model"),
        messages=tuple(messages),
        temperature=number_at(body, "temperature"),
        max_tokens=most,
        tools=tools,
        tool_choice=tool_choice,
        parallel_tool_calls=not bool_at(wanted, "disable_parallel_tool_use", default=False),
        output=_output(object_at(object_at(body, "output_config"), "format")),
        stop=tuple(list_at(body, "stop_sequences")),
        extra=extra_of(body, _READ),
    )


def whole_reply(reply: ModelReply, request: ModelRequest, style: WireStyle) -> dict[str, Any]:
    """A `message`."""
    prompt, completion, cached, _ = counted(reply, request)
    return _head(reply, request, style) | {
        "content": _blocks(reply, style),
        "stop_reason": _stop_reason(reply),
        "usage": {
            "input_tokens": prompt - cached,
            "output_tokens": completion,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
        },
    }


def stream_events(reply: ModelReply, request: ModelRequest, style: WireStyle) -> Iterator[bytes]:
    """Every event from `message_start` to `message_stop`."""

    def send(kind: str, **fields: Any) -> bytes:
        return event({"type": kind} | fields, kind)

    prompt, completion, cached, _ = counted(reply, request)
    usage = {"input_tokens": prompt - cached, "output_tokens": 1, "cache_read_input_tokens": cached}
    yield send("message_start", message=_head(reply, request, style) | {"usage": usage})
    yield send("ping")
    arguments = iter(call.arguments for call in reply.tool_calls)
    for index, block in enumerate(_blocks(reply, style)):
        kind = block["type"]
        if kind == "thinking":
            yield send("content_block_start", index=index, content_block=block | {"thinking": "", "signature": ""})
            deltas = [{"type": "thinking_delta", "thinking": text} for text in cut_text(block["thinking"], style.cut)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif kind == "text":
            yield send("content_block_start", index=index, content_block=block | {"text": ""})
            deltas = [{"type": "text_delta", "text": text} for text in cut_text(block["text"], style.cut)]
        elif kind == "tool_use":
            yield send("content_block_start", index=index, content_block=block | {"input": {}})
            texts = ["", *cut_text(next(arguments), style.cut)]
            deltas = [{"type": "input_json_delta", "partial_json": text} for text in texts]
        else:
            yield send("content_block_start", index=index, content_block=block)
            deltas = []
        for delta in deltas:
            yield send("content_block_delta", index=index, delta=delta)
        yield send("content_block_stop", index=index)
    if reason := _stop_reason(reply):
        yield send(
            "message_delta",
            delta={"stop_reason": reason, "stop_sequence": None},
            usage={"output_tokens": completion if style.usage else 0},
        )
        yield send("message_stop")


def error_body(status: int, message: str) -> dict[str, Any]:
    """What stands in the body of an error."""
    return {"type": "error", "error": {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}}


def stream_error(message: str) -> bytes:
    """An error after the stream began."""
    return event(error_body(529, message), "error")


def _turns(item: Mapping[str, Any]) -> list[Message]:
    """One turn of theirs: tool results are turns of ours, before whatever else the user says."""
    role = text_at(item, "role")
    if role not in ("user", "assistant"):
        raise LLMConfigError(f"'messages[].role' can't be {role!r}; instructions go into 'system'")
    content = item.get("content")
    if isinstance(content, str):
        return [Message("user" if role == "user" else "assistant", (Text(content),) if content else ())]
    blocks = [as_object(block, "content[]") for block in list_at(item, "content")]
    if role == "assistant":
        return [_assistant(blocks)]
    results = [
        Message("tool", _texts(block.get("content")), tool_call_id=text_at(block, "tool_use_id"))
        for block in blocks
        if block.get("type") == "tool_result"
    ]
    said = tuple(_part(block) for block in blocks if block.get("type") != "tool_result")
    return [*results, Message("user", said)] if said or not results else results


def _assistant(blocks: list[Mapping[str, Any]]) -> Message:
    parts: list[Part] = []
    calls: list[ToolCall] = []
    thinking: list[ThinkingBlock] = []
    for block in blocks:
        kind = text_at(block, "type")
        if kind == "tool_use":
            arguments = json.dumps(object_at(block, "input"), ensure_ascii=False)
            calls.append(ToolCall(text_at(block, "id"), text_at(block, "name"), arguments))
        elif kind == "thinking":
            thinking.append(ThinkingBlock(text_at(block, "thinking"), WIRE, text_at(block, "signature")))
        elif kind == "redacted_thinking":
            thinking.append(ThinkingBlock("", WIRE, data=text_at(block, "data")))
        else:
            parts.append(_part(block))
    return Message("assistant", tuple(parts), tuple(calls), thinking=tuple(thinking))


def _texts(content: Any) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),)
    return tuple(_part(as_object(block, "content[]")) for block in list_at({"content": content}, "content"))


def _part(block: Mapping[str, Any]) -> Part:
    kind = text_at(block, "type")
    if kind == "text":
        return Text(text_at(block, "text"))
    if kind == "image":
        source = object_at(block, "source")
        if source.get("type") == "url":
            return Image(text_at(source, "url"))
        return Image(f"data:{text_at(source, 'media_type')};base64,{text_at(source, 'data')}")
    raise LLMConfigError(f"'content[].type' can't be {kind!r} here")


def _tool(item: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(text_at(item, "name"), text_at(item, "description", ""), object_at(item, "input_schema"))


def _output(form: Mapping[str, Any]) -> OutputSpec | None:
    return OutputSpec(object_at(form, "schema")) if form.get("type") == "json_schema" else None


def _blocks(reply: ModelReply, style: WireStyle) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    content = reply.content
    if style.thinking == "tags":
        content = tagged(reply)
    else:
        for index, block in enumerate(reply.thinking):
            if block.text or not block.data:
                seal = block.signature or f"sig_{style.number:06d}_{index}"
                blocks.append({"type": "thinking", "thinking": block.text, "signature": seal})
            if block.data:
                blocks.append({"type": "redacted_thinking", "data": block.data})
    if content:
        blocks.append({"type": "text", "text": content})
    blocks.extend(
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}
        for call in reply.tool_calls
    )
    return blocks


def _input(arguments: str) -> dict[str, Any]:
    """A whole message has no place for arguments that are not an object; a stream sends them as they are."""
    try:
        value = json.loads(arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": arguments}


def _stop_reason(reply: ModelReply) -> str | None:
    return _STOP_REASONS.get(reply.finish_reason, reply.finish_reason) or None


def _head(reply: ModelReply, request: ModelRequest, style: WireStyle) -> dict[str, Any]:
    return {
        "id": reply.id or f"msg_{style.number:06d}",
        "type": "message",
        "role": "assistant",
        "model": reply.model or request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


ANTHROPIC = Wire(WIRE, "/messages", _KNOWN, read_request, whole_reply, stream_events, error_body, stream_error)
