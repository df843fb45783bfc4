"""What the provider forms have in common: one shape for a form, careful reading, server-sent events.

The forms themselves (`wire_chat`, `wire_responses`, `wire_anthropic`) are pure: they read a provider's request into
ours and write our reply as that provider would, and know nothing of serving.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.scripted.pieces import Cut
from tickmind.llm.tokens import CHARS_PER_TOKEN
from tickmind.llm.transport import ModelReply, ModelRequest, Usage

ThinkingForm = Literal["reasoning_content", "reasoning", "tags"]
_TOKENS_PER_MESSAGE = 4


@dataclass(frozen=True, slots=True)
class WireStyle:
    """The freedom that a provider has within its form.

    `thinking` says where reasoning goes. Chat Completions has two fields in use; in Responses they mean a summary
    and plain reasoning text; Anthropic's form has blocks for it; "tags" puts `<think>` into the content of any form.
    """

    number: int = 1  # of the reply; ids are made from it
    created_s: int = 1_700_000_000
    cut: Cut = 12
    thinking: ThinkingForm = "reasoning_content"
    usage: bool = True
    stream_usage: bool = False  # Chat Completions sends it in a stream only when asked to


@dataclass(frozen=True, slots=True)
class Wire:
    """One provider's form."""

    name: str
    path: str
    fields: frozenset[str]  # of a request's top level
    read: Callable[[Mapping[str, Any]], ModelRequest]
    whole: Callable[[ModelReply, ModelRequest, WireStyle], dict[str, Any]]
    events: Callable[[ModelReply, ModelRequest, WireStyle], Iterator[bytes]]
    error: Callable[[int, str], dict[str, Any]]
    stream_error: Callable[[str], bytes]


def encode(value: Any) -> bytes:
    """JSON as it goes over the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def event(data: Any, name: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + encode(data) + b"\n\n"


def tagged(reply: ModelReply) -> str:
    """The content with its thinking in front of it, in tags."""
    thinking = "".join(block.text for block in reply.thinking)
    return f"<think>{thinking}</think>{reply.content}" if thinking else reply.content


def counted(reply: ModelReply, request: ModelRequest) -> tuple[int, int, int, int]:
    """Tokens of prompt and completion, and of them cached and thinking; a guess where the reply doesn't say."""
    usage: Usage = reply.usage
    thinking = sum(len(block.text) for block in reply.thinking)
    said = thinking + len(reply.content) + sum(len(call.name + call.arguments) for call in reply.tool_calls)
    heard = sum(_TOKENS_PER_MESSAGE + len(message.text) // CHARS_PER_TOKEN for message in request.messages)
    return (
        usage.prompt_tokens if usage.prompt_tokens is not None else heard,
        usage.completion_tokens if usage.completion_tokens is not None else -(-said // CHARS_PER_TOKEN),
        usage.cached_tokens or 0,
        usage.thinking_tokens if usage.thinking_tokens is not None else thinking // CHARS_PER_TOKEN,
    )


def text_at(body: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """A text field; required unless there is a default."""
    value = body.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise LLMConfigError(f"'{name}' must be a string, not {_kind(value)}")
    return value


def list_at(body: Mapping[str, Any], name: str) -> Sequence[Any]:
    """A list field; empty if it is not there."""
    value = body.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise LLMConfigError(f"'{name}' must be an array, not {_kind(value)}")
    return value


def object_at(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object field; empty if it is not there."""
    value = body.get(name)
    return {} if value is None else as_object(value, name)


def as_object(value: Any, name: str) -> Mapping[str, Any]:
    """An item that must be an object."""
    if not isinstance(value, Mapping):
        raise LLMConfigError(f"'{name}' must be an object, not {_kind(value)}")
    return value


def number_at(body: Mapping[str, Any], name: str) -> float | None:
    """A number field, or None."""
    value = body.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise LLMConfigError(f"'{name}' must be a number, not {_kind(value)}")
    return value


def int_at(body: Mapping[str, Any], name: str) -> int | None:
    """A whole number field, or None."""
    value = number_at(body, name)
    if value is not None and not isinstance(value, int):
        raise LLMConfigError(f"'{name}' must be a whole number")
    return value


def bool_at(body: Mapping[str, Any], name: str, *, default: bool) -> bool:
    """A truth field."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise LLMConfigError(f"'{name}' must be true or false, not {_kind(value)}")
    return value


def extra_of(body: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Fields that our request has no place for."""
    return {name: value for name, value in body.items() if name not in known}


def names(text: str) -> frozenset[str]:
    """Field names, written with spaces between."""
    return frozenset(text.split())


def _kind(value: Any) -> str:
    return "missing" if value is None else type(value).__name__
