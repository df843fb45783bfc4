"""OpenAI Responses, as the provider's side reads and writes it."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.messages import Message, Part, Text, ThinkingBlock, ToolCall
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
from tickmind.llm.testing.wire_chat import audio_part, error_body, image_part, read_tool_choice
from tickmind.llm.transport import ModelReply, ModelRequest, OutputSpec, ToolSpec

WIRE = "responses"
_READ = names(
    "model input instructions temperature max_output_tokens tools tool_choice parallel_tool_calls text stream"
)
_KNOWN = _READ | names(
    "background conversation include max_tool_calls metadata previous_response_id prompt prompt_cache_key reasoning "
    "safety_identifier service_tier store stream_options top_logprobs top_p truncation user"
)
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def read_request(body: Mapping[str, Any]) -> ModelRequest:
    """Our request from a provider's; raises `LLMConfigError` where the provider would answer 400."""
    asked = body.get("input")
    messages = [Message.user(asked)] if isinstance(asked, str) else _messages(list_at(body, "input"))
    if not messages:
        raise LLMConfigError("'input' must not be empty")
    if instructions := text_at(body, "instructions", ""):
        messages.insert(0, Message.system(instructions))
    tools = tuple(_tool(as_object(item, "tools[]")) for item in list_at(body, "tools"))
    wanted = body.get("tool_choice")
    choice, tools = read_tool_choice(wanted, tools, wanted.get("name", "") if isinstance(wanted, Mapping) else "")
    return ModelRequest(
        model=text_at(body, "model"),
        messages=tuple(messages),
        temperature=number_at(body, "temperature"),
        max_tokens=int_at(body, "max_output_tokens"),
        tools=tools,
        tool_choice=choice,
        parallel_tool_calls=bool_at(body, "parallel_tool_calls", default=True),
        output=_output(object_at(object_at(body, "text"), "format")),
        extra=extra_of(body, _READ),
    )


def whole_reply(reply: ModelReply, request: ModelRequest, style: WireStyle) -> dict[str, Any]:
    """A `response`."""
    return _response(reply, request, style, _items(reply, style), _status(reply))


def stream_events(reply: ModelReply, request: ModelRequest, style: WireStyle) -> Iterator[bytes]:
    """Every event from `response.created` to `response.completed` or `response.incomplete`."""
    sequence = count()

    def send(kind: str, **fields: Any) -> bytes:
        return event({"type": kind, "sequence_number": next(sequence)} | fields, kind)

    beginning = _response(reply, request, style, [], "in_progress")
    yield send("response.created", response=beginning)
    yield send("response.in_progress", response=beginning)
    items = _items(reply, style)
    for index, item in enumerate(items):
        yield send("response.output_item.added", output_index=index, item=_begun(item))
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "function_call":
            for text in cut_text(item["arguments"], style.cut):
                yield send("response.function_call_arguments.delta", **place, delta=text)
            yield send("response.function_call_arguments.done", **place, arguments=item["arguments"], name=item["name"])
        else:
            for part in _parts_of(item):
                for kind, fields in _part_events(part, style):
                    yield send(kind, **place, **fields)
        yield send("response.output_item.done", output_index=index, item=item)
    if reply.finish_reason:
        status = _status(reply)
        yield send(f"response.{status}", response=_response(reply, request, style, items, status))


def stream_error(message: str) -> bytes:
    """An error after the stream began."""
    form = {"type": "error", "sequence_number": 0, "code": "server_error", "message": message, "param": None}
    return event(form, "error")


def _messages(items: Any) -> list[Message]:
    messages: list[Message] = []
    thinking: list[ThinkingBlock] = []  # waits for the turn that it belongs to
    for one in items:
        item = as_object(one, "input[]")
        kind = item.get("type", "message")
        if kind == "reasoning":
            thinking.append(_thinking(item))
            continue
        if kind == "function_call":
            call = ToolCall(text_at(item, "call_id"), text_at(item, "name"), text_at(item, "arguments"))
            message = Message("assistant", tool_calls=(call,), thinking=tuple(thinking))
        elif kind == "function_call_output":
            parts = _parts(item.get("output"))
            message = Message("tool", parts, tool_call_id=text_at(item, "call_id"))
        elif kind == "message":
            message = _message(item, tuple(thinking))
        else:
            raise LLMConfigError(f"'input[].type' can't be {kind!r}")
        if message.role == "assistant":
            thinking.clear()
            if messages and messages[-1].role == "assistant":
                message = _one_turn(messages.pop(), message)
        messages.append(message)
    return messages


def _one_turn(first: Message, then: Message) -> Message:
    return Message(
        "assistant",
        first.parts + then.parts,
        first.tool_calls + then.tool_calls,
        thinking=first.thinking + then.thinking,
    )


def _message(item: Mapping[str, Any], thinking: tuple[ThinkingBlock, ...]) -> Message:
    role = text_at(item, "role")
    parts = _parts(item.get("content"))
    if role in ("system", "developer"):
        return Message("system", parts)
    if role == "user":
        return Message("user", parts)
    if role == "assistant":
        return Message("assistant", parts, thinking=thinking)
    raise LLMConfigError(f"'input[].role' can't be {role!r}")


def _parts(content: Any) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(_part(as_object(item, "content[]")) for item in list_at({"content": content}, "content"))


def _part(item: Mapping[str, Any]) -> Part:
    kind = text_at(item, "type")
    if kind in ("input_text", "output_text"):
        return Text(text_at(item, "text"))
    if kind == "input_image":
        return image_part(text_at(item, "image_url"), item.get("detail"))
    if kind == "input_audio":
        return audio_part(object_at(item, "input_audio"))
    raise LLMConfigError(f"'content[].type' can't be {kind!r}")


def _thinking(item: Mapping[str, Any]) -> ThinkingBlock:
    said = [*list_at(item, "summary"), *list_at(item, "content")]
    texts = [text_at(as_object(part, "summary[]"), "text") for part in said]
    return ThinkingBlock("".join(texts), WIRE, text_at(item, "id", ""), text_at(item, "encrypted_content", ""))


def _tool(item: Mapping[str, Any]) -> ToolSpec:
    schema = object_at(item, "parameters") or {"type": "object", "properties": {}}
    return ToolSpec(text_at(item, "name"), text_at(item, "description", ""), schema)


def _output(form: Mapping[str, Any]) -> OutputSpec | None:
    if form.get("type") == "json_schema":
        return OutputSpec(object_at(form, "schema"), text_at(form, "name", "reply"))
    return OutputSpec({"type": "object"}) if form.get("type") == "json_object" else None


def _status(reply: ModelReply) -> str:
    return "incomplete" if reply.finish_reason in _INCOMPLETE else "completed"


def _items(reply: ModelReply, style: WireStyle) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    status = _status(reply)
    if style.thinking != "tags":
        items.extend(_reasoning(block, style, index) for index, block in enumerate(reply.thinking))
    content = tagged(reply) if style.thinking == "tags" else reply.content
    if content or not reply.tool_calls:
        part = {"type": "output_text", "text": content, "annotations": [], "logprobs": []}
        items.append(
            {
                "id": f"msg_{style.number:06d}",
                "type": "message",
                "role": "assistant",
                "status": status,
                "content": [part],
            }
        )
    for index, call in enumerate(reply.tool_calls):
        items.append(
            {
                "id": f"fc_{style.number:06d}_{index}",
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                "status": status,
            }
        )
    return items


def _reasoning(block: ThinkingBlock, style: WireStyle, index: int) -> dict[str, Any]:
    plain = style.thinking == "reasoning"
    item: dict[str, Any] = {"id": block.signature or f"rs_{style.number:06d}_{index}", "type": "reasoning"}
    item["summary"] = [{"type": "summary_text", "text": block.text}] if block.text and not plain else []
    if plain:
        item["content"] = [{"type": "reasoning_text", "text": block.text}]
    if block.data:
        item["encrypted_content"] = block.data
    return item


def _begun(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item before anything is in it."""
    empty: dict[str, Any] = {"arguments": "", "content": [], "summary": [], "status": "in_progress"}
    return {name: empty.get(name, value) for name, value in item.items()}


def _parts_of(item: Mapping[str, Any]) -> list[tuple[str, int, dict[str, Any]]]:
    """The kind, place and form of each part of a message or of reasoning."""
    return [
        (part["type"], index, part) for name in ("summary", "content") for index, part in enumerate(item.get(name, ()))
    ]


def _part_events(part: tuple[str, int, dict[str, Any]], style: WireStyle) -> Iterator[tuple[str, dict[str, Any]]]:
    kind, index, form = part
    text: str = form["text"]
    summary = kind == "summary_text"
    place = {"summary_index" if summary else "content_index": index}
    more: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
    around = "response.reasoning_summary_part" if summary else "response.content_part"
    inside = "response.reasoning_summary_text" if summary else f"response.{kind}"
    yield f"{around}.added", {**place, "part": form | {"text": ""}}
    for delta in cut_text(text, style.cut):
        yield f"{inside}.delta", {**place, **more, "delta": delta}
    yield f"{inside}.done", {**place, **more, "text": text}
    yield f"{around}.done", {**place, "part": form}


def _response(
    reply: ModelReply, request: ModelRequest, style: WireStyle, items: list[dict[str, Any]], status: str
) -> dict[str, Any]:
    ended = status != "in_progress"
    reason = _INCOMPLETE.get(reply.finish_reason) if status == "incomplete" else None
    return {
        "id": reply.id or f"resp_{style.number:06d}",
        "object": "response",
        "created_at": style.created_s,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": None,
        "max_output_tokens": request.max_tokens,
        "metadata": {},
        "model": reply.model or request.model,
        "output": items,
        "parallel_tool_calls": request.parallel_tool_calls,
        "previous_response_id": request.extra.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None},
        "temperature": request.temperature,
        "text": {"format": _text_format(request)},
        "tool_choice": request.tool_choice,
        "tools": [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
                "strict": False,
            }
            for tool in request.tools
        ],
        "top_p": None,
        "truncation": "disabled",
        "usage": _usage(reply, request) if ended and style.usage else None,
    }


def _text_format(request: ModelRequest) -> dict[str, Any]:
    if request.output is None:
        return {"type": "text"}
    return {"type": "json_schema", "name": request.output.name, "schema": request.output.schema}


def _usage(reply: ModelReply, request: ModelRequest) -> dict[str, Any]:
    prompt, completion, cached, thinking = counted(reply, request)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": thinking},
        "total_tokens": prompt + completion,
    }


RESPONSES = Wire(WIRE, "/responses", _KNOWN, read_request, whole_reply, stream_events, error_body, stream_error)
