"""OpenAI Chat Completions, as the provider's side reads and writes it."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.messages import Audio, Image, Message, Part, Text, ThinkingBlock, ToolCall
from tickmind.llm.scripted.pieces import cut_text
from tickmind.llm.testing.wire import (
    Wire,
    WireStyle,
    as_object,
    bool_at,
    counted,
    encode,
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
from tickmind.llm.transport import ModelReply, ModelRequest, OutputSpec, ToolChoice, ToolSpec

WIRE = "chat"
_READ = names(
    "model messages temperature max_tokens max_completion_tokens tools tool_choice parallel_tool_calls response_format "
    "stop seed stream stream_options"
)
_KNOWN = _READ | names(
    "audio frequency_penalty function_call functions logit_bias logprobs metadata modalities n prediction "
    "presence_penalty prompt_cache_key reasoning_effort safety_identifier service_tier store top_logprobs top_p user "
    "verbosity web_search_options"
)
_FINGERPRINT = "fp_fake"
_ERROR_TYPES = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


def read_request(body: Mapping[str, Any]) -> ModelRequest:
    """Our request from a provider's; raises `LLMConfigError` where the provider would answer 400."""
    messages = tuple(_message(as_object(item, "messages[]")) for item in list_at(body, "messages"))
    if not messages:
        raise LLMConfigError("'messages' must not be empty")
    tools = tuple(_tool(as_object(item, "tools[]")) for item in list_at(body, "tools"))
    choice, tools = _tool_choice(body.get("tool_choice"), tools)
    stop = body.get("stop")
    most = int_at(body, "max_completion_tokens")
    return ModelRequest(
        model=text_at(body, "model"),
        messages=messages,
        temperature=number_at(body, "temperature"),
        max_tokens=most if most is not None else int_at(body, "max_tokens"),
        tools=tools,
        tool_choice=choice,
        parallel_tool_calls=bool_at(body, "parallel_tool_calls", default=True),
        output=_output(object_at(body, "response_format")),
        stop=(stop,) if isinstance(stop, str) else tuple(list_at(body, "stop")),
        seed=int_at(body, "seed"),
        extra=extra_of(body, _READ),
    )


def whole_reply(reply: ModelReply, request: ModelRequest, style: WireStyle) -> dict[str, Any]:
    """A `chat.completion`."""
    content = tagged(reply) if style.thinking == "tags" else reply.content
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
    if not content and reply.tool_calls:
        message["content"] = None
    if reply.thinking and style.thinking != "tags":
        message[style.thinking] = "".join(block.text for block in reply.thinking)
    if reply.tool_calls:
        message["tool_calls"] = [_call(call) for call in reply.tool_calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish_reason or None}
    form = _head("chat.completion", reply, request, style) | {"choices": [choice]}
    if style.usage:
        form["usage"] = _usage(reply, request)
    return form


def stream_events(reply: ModelReply, request: ModelRequest, style: WireStyle) -> Iterator[bytes]:
    """`chat.completion.chunk`s, and `[DONE]`."""
    head = _head("chat.completion.chunk", reply, request, style)
    tells_usage = style.usage and style.stream_usage

    def chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return event(head | {"choices": [choice]} | ({"usage": None} if tells_usage else {}))

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    content = reply.content
    if style.thinking == "tags":
        content = tagged(reply)
    else:
        for block in reply.thinking:
            for text in cut_text(block.text, style.cut):
                yield chunk({style.thinking: text})
    for text in cut_text(content, style.cut):
        yield chunk({"content": text})
    for index, call in enumerate(reply.tool_calls):
        yield chunk({"tool_calls": [{"index": index} | _call(ToolCall(call.id, call.name, ""))]})
        for text in cut_text(call.arguments, style.cut):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    if reply.finish_reason:
        yield chunk({}, reply.finish_reason)
    if tells_usage:
        yield event(head | {"choices": [], "usage": _usage(reply, request)})
    yield b"data: [DONE]\n\n"


def error_body(status: int, message: str) -> dict[str, Any]:
    """What stands in the body of an error."""
    kind = _ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    code = "rate_limit_exceeded" if status == 429 else None
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def stream_error(message: str) -> bytes:
    """An error after the stream began."""
    return b"data: " + encode(error_body(500, message)) + b"\n\n"


def read_tool_choice(choice: Any, tools: tuple[ToolSpec, ...], name: str) -> tuple[ToolChoice, tuple[ToolSpec, ...]]:
    """A choice of one tool is the duty to use a tool, of which there is only that one."""
    if choice in ("auto", "none", "required"):
        return choice, tools
    if choice is None:
        return "auto", tools
    chosen = tuple(tool for tool in tools if tool.name == name)
    if not chosen:
        raise LLMConfigError("'tool_choice' names no tool of this request")
    return "required", chosen


def image_part(url: str, detail: Any) -> Image:
    """A picture as both OpenAI forms have it."""
    return Image(url, detail if detail in ("low", "high") else "auto")


def audio_part(sound: Mapping[str, Any]) -> Audio:
    """A sound as both OpenAI forms have it."""
    try:
        return Audio(base64.b64decode(text_at(sound, "data"), validate=True), text_at(sound, "format", "wav"))
    except binascii.Error as error:
        raise LLMConfigError(f"'input_audio' is not base64: {error}") from error


def _tool_choice(choice: Any, tools: tuple[ToolSpec, ...]) -> tuple[ToolChoice, tuple[ToolSpec, ...]]:
    name = object_at(choice, "function").get("name", "") if isinstance(choice, Mapping) else ""
    return read_tool_choice(choice, tools, name)


def _tool(item: Mapping[str, Any]) -> ToolSpec:
    function = object_at(item, "function")
    schema = object_at(function, "parameters") or {"type": "object", "properties": {}}
    return ToolSpec(text_at(function, "name"), text_at(function, "description", ""), schema)


def _output(form: Mapping[str, Any]) -> OutputSpec | None:
    if form.get("type") == "json_schema":
        wanted = object_at(form, "json_schema")
        return OutputSpec(object_at(wanted, "schema"), text_at(wanted, "name", "reply"))
    if form.get("type") == "json_object":
        return OutputSpec(object_at(form, "schema") or {"type": "object"})
    return None


def _message(item: Mapping[str, Any]) -> Message:
    role = text_at(item, "role")
    parts = _parts(item.get("content"))
    if role in ("system", "developer"):
        return Message("system", parts)
    if role == "user":
        return Message("user", parts, name=text_at(item, "name", ""))
    if role == "tool":
        return Message("tool", parts, tool_call_id=text_at(item, "tool_call_id"))
    if role != "assistant":
        raise LLMConfigError(f"'messages[].role' can't be {role!r}")
    thinking = text_at(item, "reasoning_content", "") or text_at(item, "reasoning", "")
    calls = [as_object(call, "tool_calls[]") for call in list_at(item, "tool_calls")]
    return Message(
        "assistant",
        parts,
        tuple(
            ToolCall(
                text_at(call, "id"),
                text_at(object_at(call, "function"), "name"),
                text_at(object_at(call, "function"), "arguments"),
            )
            for call in calls
        ),
        thinking=(ThinkingBlock(thinking, WIRE),) if thinking else (),
    )


def _parts(content: Any) -> tuple[Part, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(_part(as_object(item, "content[]")) for item in list_at({"content": content}, "content"))


def _part(item: Mapping[str, Any]) -> Part:
    kind = text_at(item, "type")
    if kind == "text":
        return Text(text_at(item, "text"))
    if kind == "image_url":
        picture = object_at(item, "image_url")
        return image_part(text_at(picture, "url"), picture.get("detail"))
    if kind == "input_audio":
        return audio_part(object_at(item, "input_audio"))
    raise LLMConfigError(f"'content[].type' can't be {kind!r}")


def _head(kind: str, reply: ModelReply, request: ModelRequest, style: WireStyle) -> dict[str, Any]:
    return {
        "id": reply.id or f"chatcmpl-{style.number:06d}",
        "object": kind,
        "created": style.created_s,
        "model": reply.model or request.model,
        "system_fingerprint": _FINGERPRINT,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _usage(reply: ModelReply, request: ModelRequest) -> dict[str, Any]:
    prompt, completion, cached, thinking = counted(reply, request)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": thinking, "audio_tokens": 0},
    }


CHAT = Wire(WIRE, "/chat/completions", _KNOWN, read_request, whole_reply, stream_events, error_body, stream_error)
