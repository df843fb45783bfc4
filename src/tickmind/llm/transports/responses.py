"""OpenAI's Responses API. Nothing is stored at the provider; encrypted reasoning travels with the conversation.

The API has no stop sequences (asking for them is an error) and no seed (it is left out).
"""

import base64

from tickmind.llm.config import ModelConfig
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.grammar.json_grammar import json_grammar
from tickmind.llm.http.client import HttpClient
from tickmind.llm.http.errors import embedded_error
from tickmind.llm.messages import Audio, Image, Message, Part, ThinkingBlock, ToolCall
from tickmind.llm.structured.strict_schema import OPENAI_HOST, form_of
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, ToolCallDelta, Usage
from tickmind.llm.transports.wire import (
    BearerForm,
    Json,
    Parse,
    WireTransport,
    arguments_text,
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
    token_usage,
)

WIRE = "responses"
_PARAGRAPH = "\n\n"  # between the parts of a reasoning summary
_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesTransport(WireTransport):
    """Talks to an endpoint by the Responses API."""

    def __init__(self, config: ModelConfig, *, http: HttpClient | None = None) -> None:
        super().__init__(config, ResponsesForm(config.capabilities, host=config.host), http=http)


class ResponsesForm(BearerForm):
    """The wire form by itself, without a network."""

    path = "/responses"

    def __init__(
        self,
        capabilities: Capabilities = Capabilities(),  # noqa: B008 - frozen
        *,
        host: str = OPENAI_HOST,
    ) -> None:
        self._capabilities = capabilities
        self._host = host

    def encode(self, request: ModelRequest, *, stream: bool) -> Json:
        """Encode the request's body; unset fields are left out."""
        if request.stop:
            raise LLMConfigError("the Responses API has no stop sequences; use api='chat' or leave stop empty")
        items: list[Json] = []
        for message in request.messages:
            items += encode_message(message)
        body: Json = {
            "model": request.model,
            "input": items,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens is not None:
            body["max_output_tokens"] = request.max_tokens
        if request.tools and self._capabilities.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                    "strict": False,
                }
                for tool in request.tools
            ]
            body["tool_choice"] = request.tool_choice
            if not request.parallel_tool_calls:
                body["parallel_tool_calls"] = False
        if request.output is not None and self._capabilities.output == "json_schema":
            schema, strict = form_of(request.output, lengths=self._host != OPENAI_HOST)
            form = {"type": "json_schema", "name": request.output.name, "schema": schema, "strict": strict}
            body["text"] = {"format": form}
        elif request.output is not None and self._capabilities.output == "json_object":
            body["text"] = {"format": {"type": "json_object"}}
        elif request.output is not None and self._capabilities.output == "grammar":
            body["grammar"] = json_grammar(request.output.schema, limits=request.grammar_limits)
        if stream:
            body["stream"] = True
        return merged(body, request.extra)

    def decode(self, data: bytes, request: ModelRequest) -> ModelReply:
        """Read a whole reply."""
        return decode_reply(parse_object(data), max_tokens=request.max_tokens)

    def decoder(self, request: ModelRequest) -> "ResponsesDecoder":
        """Return a decoder for one stream."""
        return ResponsesDecoder(max_tokens=request.max_tokens)


def encode_message(message: Message) -> list[Json]:
    """Encode one turn as items of the input."""
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text}]
    if message.role != "assistant":
        return [{"role": message.role, "content": [_encode_part(part) for part in message.parts]}]
    items: list[Json] = []
    for block in blocks_for(message.thinking, WIRE):
        if block.data:  # the provider only reads encrypted reasoning
            summary = [{"type": "summary_text", "text": block.text}] if block.text else []
            items.append({"type": "reasoning", "summary": summary, "encrypted_content": block.data})
    if message.text or not message.tool_calls:
        items.append({"role": "assistant", "content": [{"type": "output_text", "text": message.text}]})
    items += [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments or "{}"}
        for call in message.tool_calls
    ]
    return items


def _encode_part(part: Part) -> Json:
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": part.url, "detail": part.detail}
    if isinstance(part, Audio):
        data = base64.b64encode(part.data).decode("ascii")
        return {"type": "input_audio", "input_audio": {"data": data, "format": part.format}}
    return {"type": "input_text", "text": part.text}


def decode_reply(reply: Json, *, max_tokens: int | None = None) -> ModelReply:
    """Decode a whole reply from its parsed body; `max_tokens` is what was allowed."""
    if reply.get("error") or reply.get("status") == "failed" or "output" not in reply:
        raise embedded_error(reply)
    texts: list[str] = []
    blocks: list[ThinkingBlock] = []
    calls: list[ToolCall] = []
    for entry in as_list(reply.get("output")):
        item = as_object(entry)
        kind = item.get("type")
        if kind == "message":
            parts = map(as_object, as_list(item.get("content")))
            texts += [as_text(part.get("text")) or as_text(part.get("refusal")) for part in parts]
        elif kind == "reasoning":
            blocks.append(_decode_reasoning(item))
        elif kind == "function_call":
            arguments = arguments_text(item.get("arguments"))
            calls.append(named_call(as_text(item.get("call_id")), as_text(item.get("name")), arguments, len(calls)))
    return ModelReply(
        content="".join(texts),
        finish_reason=_finish(reply, has_calls=bool(calls), max_tokens=max_tokens),
        thinking=tuple(block for block in blocks if block.text or block.data),
        tool_calls=tuple(calls),
        usage=_usage(reply) or Usage(),
        model=as_text(reply.get("model")),
        id=as_text(reply.get("id")),
    )


def _usage(body: Json) -> Usage | None:
    return token_usage(body.get("usage"), "input_tokens", "output_tokens")


def _decode_reasoning(item: Json) -> ThinkingBlock:
    parts = as_list(item.get("summary")) or as_list(item.get("content"))
    text = _PARAGRAPH.join(as_text(as_object(part).get("text")) for part in parts)
    return ThinkingBlock(text, WIRE, data=as_text(item.get("encrypted_content")))


def _finish(reply: Json, *, has_calls: bool, max_tokens: int | None) -> str:
    status = as_text(reply.get("status"))
    if status == "completed":
        if has_calls:
            return "tool_calls"
        used = as_count(as_object(reply.get("usage")).get("output_tokens"))
        # llama.cpp calls a reply completed that ran out of tokens
        return "length" if used is not None and max_tokens is not None and used >= max_tokens else "stop"
    if status == "incomplete":
        reason = as_text(as_object(reply.get("incomplete_details")).get("reason"))
        return _INCOMPLETE.get(reason, reason or status)
    return status


class ResponsesDecoder:
    """Read the events of one stream; it remembers the tool calls and the summaries so far."""

    __slots__ = ("_calls", "_max_tokens", "_saw_arguments", "_texts", "_thoughts")

    def __init__(self, *, max_tokens: int | None = None) -> None:
        self._max_tokens = max_tokens
        self._calls: dict[int | None, int] = {}  # output index -> index of the tool call
        self._saw_arguments: set[int] = set()  # tool calls whose arguments came in pieces
        self._texts = False  # answer came in pieces
        self._thoughts = False  # reasoning came in pieces

    def decode(self, data: bytes, parse: Parse = parse_event) -> StreamPiece | None:
        """Read one event."""
        event = parse(data)
        kind = as_text(event.get("type"))
        if kind == "error" or (event.get("error")):
            raise embedded_error(event)
        if kind in {"response.output_text.delta", "response.refusal.delta"}:
            self._texts = True
            return StreamPiece(content=as_text(event.get("delta")))
        if kind in {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}:
            self._thoughts = True
            return StreamPiece(thinking=as_text(event.get("delta")))
        if kind == "response.reasoning_summary_part.added":
            return StreamPiece(thinking=_PARAGRAPH) if event.get("summary_index") else None
        if kind == "response.function_call_arguments.delta":
            index = self._call_index(as_count(event.get("output_index")))
            self._saw_arguments.add(index)
            return StreamPiece(tool_calls=(ToolCallDelta(index, arguments=as_text(event.get("delta"))),))
        if kind == "response.output_item.added":
            return self._item_added(event)
        if kind == "response.output_item.done":
            return self._item_done(event)
        if kind in {"response.completed", "response.incomplete"}:
            return self._ended(as_object(event.get("response")))
        if kind == "response.failed":
            raise embedded_error(as_object(event.get("response")))
        if kind == "response.created":
            response = as_object(event.get("response"))
            return StreamPiece(model=as_text(response.get("model")), id=as_text(response.get("id")))
        if not kind and "output" in event:  # an endpoint that does not stream
            return piece_of(decode_reply(event, max_tokens=self._max_tokens))
        return None

    def finish(self) -> StreamPiece | None:
        """Return None: nothing is known only at the end."""
        return None

    def _call_index(self, place: int | None) -> int:
        return self._calls.setdefault(place, len(self._calls))

    def _item_added(self, event: Json) -> StreamPiece | None:
        item = as_object(event.get("item"))
        if item.get("type") != "function_call":
            return None
        index = self._call_index(as_count(event.get("output_index")))
        return StreamPiece(tool_calls=(ToolCallDelta(index, as_text(item.get("call_id")), as_text(item.get("name"))),))

    def _item_done(self, event: Json) -> StreamPiece | None:
        item = as_object(event.get("item"))
        if item.get("type") == "reasoning":
            block = _decode_reasoning(item)
            text = "" if self._thoughts else block.text
            return StreamPiece(thinking=text, block=block) if block.text or block.data else None
        if item.get("type") != "function_call":
            return None
        known = as_count(event.get("output_index")) in self._calls
        index = self._call_index(as_count(event.get("output_index")))
        arguments = "" if index in self._saw_arguments else arguments_text(item.get("arguments"))
        if known and not arguments:
            return None
        return StreamPiece(
            tool_calls=(ToolCallDelta(index, as_text(item.get("call_id")), as_text(item.get("name")), arguments),)
        )

    def _ended(self, response: Json) -> StreamPiece:
        if response.get("error") or response.get("status") == "failed":
            raise embedded_error(response)
        content = "" if self._texts or "output" not in response else decode_reply(response).content
        return StreamPiece(
            content=content,
            finish_reason=_finish(response, has_calls=bool(self._calls), max_tokens=self._max_tokens) or "stop",
            usage=_usage(response),
            model=as_text(response.get("model")),
            id=as_text(response.get("id")),
        )
