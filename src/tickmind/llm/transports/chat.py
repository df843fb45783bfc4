"""OpenAI-compatible Chat Completions: OpenAI, Groq, Cerebras, Ollama, llama.cpp, vLLM and many more.

Reasoning comes as `reasoning_content` or `reasoning`; it goes back under the same name, and only with tool calls,
because that is where endpoints ask for it and elsewhere some refuse it.
"""

import base64
from typing import Any

import orjson

from tickmind.llm.config import ModelConfig
from tickmind.llm.grammar.json_grammar import json_grammar
from tickmind.llm.http.client import HttpClient
from tickmind.llm.http.errors import FINISH_ERROR, embedded_error, gave_up_error
from tickmind.llm.messages import Audio, Image, Message, Part, Text, ThinkingBlock
from tickmind.llm.structured.strict_schema import OPENAI_HOST, form_of
from tickmind.llm.transport import (
    Capabilities,
    ModelReply,
    ModelRequest,
    StreamPiece,
    ToolCallDelta,
    Usage,
)
from tickmind.llm.transports.wire import (
    BearerForm,
    Json,
    Parse,
    WireTransport,
    arguments_text,
    as_list,
    as_object,
    as_text,
    blocks_for,
    merged,
    named_call,
    parse_event,
    parse_object,
    piece_of,
    token_usage,
    valid_arguments,
)

WIRE = "chat"
_REASONING_FIELDS = ("reasoning_content", "reasoning")
_FINISH = {"function_call": "tool_calls"}


class ChatTransport(WireTransport):
    """Talks to an endpoint by Chat Completions."""

    def __init__(self, config: ModelConfig, *, http: HttpClient | None = None) -> None:
        field = config.max_tokens_field
        if field is None:  # OpenAI's newer models refuse the old name, other servers the new one
            field = "max_completion_tokens" if config.host == OPENAI_HOST else "max_tokens"
        super().__init__(config, ChatForm(config.capabilities, max_tokens_field=field, host=config.host), http=http)


class ChatForm(BearerForm):
    """The wire form by itself, without a network."""

    path = "/chat/completions"

    def __init__(
        self,
        capabilities: Capabilities = Capabilities(),  # noqa: B008 - frozen
        *,
        max_tokens_field: str = "max_tokens",
        host: str = OPENAI_HOST,
    ) -> None:
        self._capabilities = capabilities
        self._host = host
        self._max_tokens_field = max_tokens_field

    def encode(self, request: ModelRequest, *, stream: bool) -> Json:
        """Encode the request's body; unset fields are left out."""
        body: Json = {"model": request.model, "messages": [encode_message(item) for item in request.messages]}
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens is not None:
            body[self._max_tokens_field] = request.max_tokens
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        if request.tools and self._capabilities.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
                }
                for tool in request.tools
            ]
            body["tool_choice"] = request.tool_choice
            if not request.parallel_tool_calls:
                body["parallel_tool_calls"] = False
        if request.output is not None and self._capabilities.output == "json_schema":
            schema, strict = form_of(request.output, lengths=self._host != OPENAI_HOST)
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": request.output.name, "schema": schema, "strict": strict},
            }
        elif request.output is not None and self._capabilities.output == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif request.output is not None and self._capabilities.output == "grammar":
            body["grammar"] = json_grammar(request.output.schema, limits=request.grammar_limits)
        if stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        return merged(body, request.extra)

    def decode(self, data: bytes, request: ModelRequest) -> ModelReply:  # noqa: ARG002 - other forms need the request
        """Read a whole reply."""
        return decode_reply(parse_object(data))

    def decoder(self, request: ModelRequest) -> "ChatDecoder":  # noqa: ARG002 - other forms need the request
        """Return a decoder for one stream."""
        return ChatDecoder()


def encode_message(message: Message) -> Json:
    """Encode one turn."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text}
    if message.role != "assistant":
        only_text = len(message.parts) == 1 and isinstance(message.parts[0], Text)
        content: Any = message.text if only_text else [_encode_part(part) for part in message.parts]
        return {"role": message.role, "content": content}
    turn: Json = {"role": "assistant", "content": message.text or None if message.tool_calls else message.text}
    if message.tool_calls:
        turn["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": orjson.dumps(valid_arguments(call.arguments)).decode()},
            }
            for call in message.tool_calls
        ]
        for block in blocks_for(message.thinking, WIRE):
            field = block.wire.partition("/")[2] or _REASONING_FIELDS[0]
            turn[field] = turn.get(field, "") + block.text
    return turn


def _encode_part(part: Part) -> Json:
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": part.url, "detail": part.detail}}
    if isinstance(part, Audio):
        data = base64.b64encode(part.data).decode("ascii")
        return {"type": "input_audio", "input_audio": {"data": data, "format": part.format}}
    return {"type": "text", "text": part.text}


def decode_reply(reply: Json) -> ModelReply:
    """Decode a whole reply from its parsed body."""
    choices = as_list(reply.get("choices"))
    choice = as_object(choices[0]) if choices else {}
    if not choices or reply.get("error"):
        raise embedded_error(reply)
    if choice.get("finish_reason") == FINISH_ERROR:
        raise gave_up_error(reply, choice)
    message = as_object(choice.get("message"))
    content, thinking = _content(message)
    field = "reasoning_content"
    for name in _REASONING_FIELDS:
        if text := as_text(message.get(name)):
            thinking, field = text, name
            break
    calls = [as_object(item) for item in as_list(message.get("tool_calls"))]
    if not calls and type(message.get("function_call")) is dict:  # the form of a call before there were tools
        calls = [{"function": message["function_call"]}]
    return ModelReply(
        content=content,
        finish_reason=_finish(choice.get("finish_reason")) or "",
        thinking=(ThinkingBlock(thinking, f"{WIRE}/{field}"),) if thinking else (),
        tool_calls=tuple(
            named_call(
                as_text(call.get("id")),
                as_text(as_object(call.get("function")).get("name")),
                arguments_text(as_object(call.get("function")).get("arguments")),
                index,
            )
            for index, call in enumerate(calls)
        ),
        usage=_usage(reply) or Usage(),
        model=as_text(reply.get("model")),
        id=as_text(reply.get("id")),
    )


def _usage(body: Json) -> Usage | None:
    return token_usage(body.get("usage"), "prompt_tokens", "completion_tokens")


class ChatDecoder:
    """Read the events of one stream. It keeps the reasoning, which goes back whole with tool calls."""

    __slots__ = ("_field", "_named", "_reasoning")

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._field = _REASONING_FIELDS[0]
        self._named = False  # model and id were given out

    def decode(self, data: bytes, parse: Parse = parse_event) -> StreamPiece | None:
        """Read one event."""
        event = parse(data)
        choices = event.get("choices")
        if event.get("error"):
            raise embedded_error(event)
        if not choices or type(choices) is not list:
            usage = _usage(event)
            return StreamPiece(usage=usage) if usage is not None else None
        choice = as_object(choices[0])
        reason = choice.get("finish_reason")
        if reason == FINISH_ERROR:
            raise gave_up_error(event, choice)
        delta = choice.get("delta")
        if type(delta) is not dict:
            return piece_of(decode_reply(event)) if "message" in choice else self._finish_only(event, choice)
        content = delta.get("content")
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        if type(content) is not str:
            content, inline = _content(delta)
            thinking = thinking or inline
        if type(thinking) is str and thinking:
            if not delta.get("reasoning_content") and delta.get("reasoning"):
                self._field = "reasoning"
            self._reasoning.append(thinking)
        else:
            thinking = ""
        calls = delta.get("tool_calls")
        if not calls and "function_call" in delta and type(delta["function_call"]) is dict:
            calls = [{"index": 0, "function": delta["function_call"]}]
        named = self._named
        self._named = True
        return StreamPiece(
            content,
            thinking,
            _decode_call_deltas(calls) if calls else (),
            _finish(reason),
            _usage(event),
            None,
            "" if named else as_text(event.get("model")),
            "" if named else as_text(event.get("id")),
        )

    def finish(self) -> StreamPiece | None:
        """Return the reasoning as one block."""
        if not self._reasoning:
            return None
        return StreamPiece(block=ThinkingBlock("".join(self._reasoning), f"{WIRE}/{self._field}"))

    def _finish_only(self, event: Json, choice: Json) -> StreamPiece:
        return StreamPiece(finish_reason=_finish(choice.get("finish_reason")), usage=_usage(event))


def _decode_call_deltas(calls: Any) -> tuple[ToolCallDelta, ...]:
    deltas = []
    for place, item in enumerate(as_list(calls)):
        call = as_object(item)
        function = as_object(call.get("function"))
        index = call.get("index")
        deltas.append(
            ToolCallDelta(
                index if type(index) is int else place,
                as_text(call.get("id")),
                as_text(function.get("name")),
                arguments_text(function.get("arguments")),
            )
        )
    return tuple(deltas)


def _finish(reason: Any) -> str | None:
    return _FINISH.get(reason, reason) if type(reason) is str and reason else None


def _content(message: Json) -> tuple[str, str]:
    """Return content and thinking of a message, whether written as a text, as parts, or as a refusal."""
    content = message.get("content")
    if type(content) is str:
        return content, ""
    texts: list[str] = []
    thinking: list[str] = []
    for item in as_list(content):
        part = as_object(item)
        if part.get("type") == "thinking":
            inner = part.get("thinking")
            thinking.append(
                as_text(inner) or "".join(as_text(as_object(piece).get("text")) for piece in as_list(inner))
            )
        else:
            texts.append(as_text(part.get("text")))
    return "".join(texts) or as_text(message.get("refusal")), "".join(thinking)
