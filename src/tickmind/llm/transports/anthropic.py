"""Anthropic's Messages API. Thinking blocks go back with their signatures, as the API demands beside tool calls.

A structured reply is requested by a tool that the model must use, whose arguments are then the content; with
thinking, which forbids forced tools, by the API's output format.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from tickmind.base import Secret
from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.http.client import HttpClient
from tickmind.llm.http.errors import FINISH_ERROR, embedded_error, gave_up_error
from tickmind.llm.messages import Audio, Image, Message, Part, ThinkingBlock, ToolCall
from tickmind.llm.structured.strict_schema import form_of
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, OutputSpec, StreamPiece, ToolCallDelta, Usage
from tickmind.llm.transports.wire import (
    Json,
    Parse,
    WireTransport,
    as_count,
    as_list,
    as_object,
    as_text,
    blocks_for,
    merged,
    named_call,
    parse_event,
    parse_object,
    piece_of,
    valid_arguments,
)

WIRE = "anthropic"
API_VERSION = "2023-06-01"
FALLBACK_MAX_TOKENS = 4096  # the API insists on a number
OutputVia = Literal["tool", "format"]

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_VERSION = re.compile(r"claude-(?:opus|sonnet|haiku)-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")  # a date is no version
_FIRST_STRICT = (4, 5)
_TOOL_CHOICE = {"auto": "auto", "none": "none", "required": "any"}


class AnthropicTransport(WireTransport):
    """Talks to an endpoint by the Messages API."""

    def __init__(
        self, config: ModelConfig, *, http: HttpClient | None = None, output_via: OutputVia | None = None
    ) -> None:
        super().__init__(config, AnthropicForm(config.capabilities, output_via=output_via), http=http)


class AnthropicForm:
    """The wire form by itself, without a network."""

    path = "/messages"

    def __init__(self, capabilities: Capabilities = Capabilities(), *, output_via: OutputVia | None = None) -> None:  # noqa: B008 - frozen
        self._capabilities = capabilities
        self._output_via = output_via

    def headers(self, key: Secret) -> dict[str, str | Secret]:
        """Return the header of the key, which this API names in its own way."""
        version: dict[str, str | Secret] = {"anthropic-version": API_VERSION}
        return {**version, "x-api-key": key} if key else version

    def encode(self, request: ModelRequest, *, stream: bool) -> Json:
        """Encode the request's body; unset fields are left out."""
        system = "\n\n".join(message.text for message in request.messages if message.role == "system")
        body: Json = {
            "model": request.model,
            "max_tokens": FALLBACK_MAX_TOKENS if request.max_tokens is None else request.max_tokens,
            "messages": encode_messages(message for message in request.messages if message.role != "system"),
        }
        if system:
            body["system"] = system
        if request.temperature is not None:
            body["temperature"] = min(request.temperature, 1.0)  # the API's maximum
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        tools = [_tool(tool.name, tool.description, tool.schema) for tool in request.tools if self._capabilities.tools]
        choice: Json = {"type": _TOOL_CHOICE[request.tool_choice]}
        if request.output is not None and self._by_tool(request):
            tools.append(_reply_tool(request.output, strict=holds_tools_strictly(request.model)))
            choice = {"type": "any"} if request.tools else {"type": "tool", "name": request.output.name}
        elif request.output is not None and self._capabilities.output != "none":
            body["output_config"] = {
                "format": {"type": "json_schema", "schema": form_of(request.output, lengths=False)[0]}
            }
        if tools:
            if not request.parallel_tool_calls and choice["type"] != "none":
                choice["disable_parallel_tool_use"] = True
            body["tools"], body["tool_choice"] = tools, choice
        if stream:
            body["stream"] = True
        return merged(body, request.extra)

    def decode(self, data: bytes, request: ModelRequest) -> ModelReply:
        """Read a whole reply."""
        return decode_reply(parse_object(data), output_tool=self._output_tool(request))

    def decoder(self, request: ModelRequest) -> "AnthropicDecoder":
        """Return a decoder for one stream."""
        return AnthropicDecoder(output_tool=self._output_tool(request))

    def _by_tool(self, request: ModelRequest) -> bool:
        if self._capabilities.output == "none" or not self._capabilities.tools:
            return False
        thinks = as_object(request.extra.get("thinking")).get("type") in {"enabled", "adaptive"}
        return (self._output_via or ("format" if thinks else "tool")) == "tool"

    def _output_tool(self, request: ModelRequest) -> str:
        return request.output.name if request.output is not None and self._by_tool(request) else ""


def holds_tools_strictly(model: str) -> bool:
    """Return whether a model, by its name, supports strict schemas of its tools; older ones refuse them."""
    version = _VERSION.search(model)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= _FIRST_STRICT


def _tool(name: str, description: str, schema: Any) -> Json:
    return {"name": name, "description": description, "input_schema": schema}


def _reply_tool(output: OutputSpec, *, strict: bool) -> Json:
    schema, strict = form_of(output, lengths=False) if strict else (output.schema, False)
    tool = _tool(output.name, "Gives the reply in the form asked for.", schema)
    return {**tool, "strict": True} if strict else tool


def encode_messages(messages: Iterable[Message]) -> list[Json]:
    """Encode the turns; consecutive tool results are one turn of the user, as the API requires."""
    turns: list[Json] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _encode_assistant(message) if role == "assistant" else _encode_user(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return turns


def _encode_user(message: Message) -> list[Json]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.text}]
    return [_encode_part(part) for part in message.parts]


def _encode_assistant(message: Message) -> list[Json]:
    blocks: list[Json] = []
    for block in blocks_for(message.thinking, WIRE):
        if block.data:
            blocks.append({"type": "redacted_thinking", "data": block.data})
        elif block.signature:  # the API refuses it without its signature
            blocks.append({"type": "thinking", "thinking": block.text, "signature": block.signature})
    if message.text:
        blocks.append({"type": "text", "text": message.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": valid_arguments(call.arguments)}
        for call in message.tool_calls
    ]
    return blocks


def _encode_part(part: Part) -> Json:
    if isinstance(part, Audio):
        raise LLMConfigError("Anthropic's API takes no audio; send a transcript or use another endpoint")
    if not isinstance(part, Image):
        return {"type": "text", "text": part.text}
    head, comma, data = part.url.partition(",")
    if head.startswith("data:") and comma:
        media_type = head[5:].partition(";")[0]
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
    return {"type": "image", "source": {"type": "url", "url": part.url}}


def decode_reply(reply: Json, *, output_tool: str = "") -> ModelReply:
    """Decode a whole reply from its parsed body. The arguments of the output tool are the content."""
    if reply.get("type") == "error" or reply.get("error") or "content" not in reply:
        raise embedded_error(reply)
    if reply.get("stop_reason") == FINISH_ERROR:
        raise gave_up_error(reply, {})
    texts: list[str] = []
    answered = False
    thinking: list[ThinkingBlock] = []
    calls: list[ToolCall] = []
    for entry in as_list(reply.get("content")):
        block = as_object(entry)
        kind = block.get("type")
        if kind == "text":
            texts.append(as_text(block.get("text")))
        elif kind in {"thinking", "redacted_thinking"}:
            thinking.append(_decode_thinking(block))
        elif kind == "tool_use":
            arguments = orjson.dumps(block.get("input") or {}).decode()
            if output_tool and block.get("name") == output_tool:
                texts.append(arguments)
                answered = True
            else:
                calls.append(named_call(as_text(block.get("id")), as_text(block.get("name")), arguments, len(calls)))
    return ModelReply(
        content="".join(texts),
        finish_reason=_finish(reply.get("stop_reason"), answered=answered and not calls) or "",
        thinking=tuple(thinking),
        tool_calls=tuple(calls),
        usage=decode_usage(reply.get("usage")) or Usage(),
        model=as_text(reply.get("model")),
        id=as_text(reply.get("id")),
    )


def decode_usage(value: Any) -> Usage | None:
    """Read token counts, if the endpoint gave any; tokens read from or written to the cache are part of the prompt."""
    if type(value) is not dict:
        return None
    fresh, output = as_count(value.get("input_tokens")), as_count(value.get("output_tokens"))
    cached, written = as_count(value.get("cache_read_input_tokens")), as_count(value.get("cache_creation_input_tokens"))
    prompt = None if fresh is None else fresh + (cached or 0) + (written or 0)
    return Usage(prompt_tokens=prompt, completion_tokens=output, cached_tokens=cached)


def _decode_thinking(block: Json) -> ThinkingBlock:
    return ThinkingBlock(
        as_text(block.get("thinking")), WIRE, as_text(block.get("signature")), as_text(block.get("data"))
    )


def _finish(reason: Any, *, answered: bool) -> str | None:
    if answered and reason == "tool_use":
        return "stop"
    return _FINISH.get(reason, reason) if type(reason) is str and reason else None


@dataclass(slots=True)
class _OpenBlock:
    """A thinking block that is still coming."""

    texts: list[str]
    seals: list[str]
    data: str = ""

    def close(self) -> ThinkingBlock:
        return ThinkingBlock("".join(self.texts), WIRE, "".join(self.seals), self.data)


class AnthropicDecoder:
    """Read the events of one stream; assembles thinking blocks, because they go back whole."""

    __slots__ = ("_answer_at", "_answered", "_calls", "_output_tool", "_prompt", "_thinking")

    def __init__(self, *, output_tool: str = "") -> None:
        self._output_tool = output_tool
        self._answer_at: set[int | None] = set()  # block indexes of the output tool
        self._answered = False
        self._calls: dict[int | None, int] = {}  # block index -> index of the tool call
        self._thinking: dict[int | None, _OpenBlock] = {}  # block index -> block so far
        self._prompt = Usage()

    def decode(self, data: bytes, parse: Parse = parse_event) -> StreamPiece | None:
        """Read one event."""
        event = parse(data)
        kind = event.get("type")
        if kind == "error" or (event.get("error")):
            raise embedded_error(event)
        if kind == "content_block_delta":
            return self._delta(as_count(event.get("index")), as_object(event.get("delta")))
        if kind == "content_block_start":
            return self._start(as_count(event.get("index")), as_object(event.get("content_block")))
        if kind == "content_block_stop":
            block = self._thinking.pop(as_count(event.get("index")), None)
            return StreamPiece(block=block.close()) if block is not None else None
        if kind == "message_start":
            message = as_object(event.get("message"))
            self._prompt = decode_usage(message.get("usage")) or Usage()
            return StreamPiece(usage=self._prompt, model=as_text(message.get("model")), id=as_text(message.get("id")))
        if kind == "message_delta":
            delta = as_object(event.get("delta"))
            reason = delta.get("stop_reason")
            if reason == FINISH_ERROR:
                raise gave_up_error(event, delta)
            return StreamPiece(
                finish_reason=_finish(reason, answered=self._answered and not self._calls),
                usage=self._add_usage(decode_usage(event.get("usage"))),
            )
        if kind == "message":  # an endpoint that does not stream
            return piece_of(decode_reply(event, output_tool=self._output_tool))
        return None

    def finish(self) -> StreamPiece | None:
        """Return None: nothing is known only at the end."""
        return None

    def _start(self, place: int | None, block: Json) -> StreamPiece | None:
        kind = block.get("type")
        if kind in {"thinking", "redacted_thinking"}:
            text = as_text(block.get("thinking"))
            seal, data = as_text(block.get("signature")), as_text(block.get("data"))
            self._thinking[place] = _OpenBlock([text], [seal], data)
            return StreamPiece(thinking=text) if text else None
        if kind == "text":
            text = as_text(block.get("text"))
            return StreamPiece(content=text) if text else None
        if kind != "tool_use":
            return None
        given = orjson.dumps(block["input"]).decode() if block.get("input") else ""
        if self._output_tool and block.get("name") == self._output_tool:
            self._answer_at.add(place)
            self._answered = True
            return StreamPiece(content=given) if given else None
        index = self._calls.setdefault(place, len(self._calls))
        return StreamPiece(
            tool_calls=(ToolCallDelta(index, as_text(block.get("id")), as_text(block.get("name")), given),)
        )

    def _delta(self, place: int | None, delta: Json) -> StreamPiece | None:
        kind = delta.get("type")
        if kind == "text_delta":
            return StreamPiece(content=as_text(delta.get("text")))
        if kind == "thinking_delta":
            text = as_text(delta.get("thinking"))
            self._open_block(place).texts.append(text)
            return StreamPiece(thinking=text)
        if kind == "signature_delta":
            self._open_block(place).seals.append(as_text(delta.get("signature")))
            return None
        if kind == "input_json_delta":
            text = as_text(delta.get("partial_json"))
            if place in self._answer_at:
                return StreamPiece(content=text)
            index = self._calls.setdefault(place, len(self._calls))
            return StreamPiece(tool_calls=(ToolCallDelta(index, arguments=text),))
        return None

    def _open_block(self, place: int | None) -> "_OpenBlock":
        return self._thinking.setdefault(place, _OpenBlock([], []))

    def _add_usage(self, later: Usage | None) -> Usage | None:
        if later is None:
            return None
        start = self._prompt
        return Usage(
            prompt_tokens=start.prompt_tokens if later.prompt_tokens is None else later.prompt_tokens,
            completion_tokens=later.completion_tokens,
            cached_tokens=start.cached_tokens if later.cached_tokens is None else later.cached_tokens,
        )
