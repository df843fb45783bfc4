"""`Transport`: the only seam to any model. `ModelRequest` and `ModelReply` are its provider-free form.

A transport maps this form to a provider's wire form and back, and does nothing else: it does not retry, does not
separate `<think>` tags and does not parse objects. Wrap one to add behaviour (retries, recording, faults).
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from tickmind.llm.errors import LLMConfigError
from tickmind.llm.messages import Message, ThinkingBlock, ToolCall
from tickmind.llm.served import Served

ToolChoice = Literal["auto", "none", "required"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it."""

    name: str
    description: str
    schema: Mapping[str, Any]  # JSON schema of the arguments, an object


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """The form that a reply must have; endpoints that can, constrain the decoding to it."""

    schema: Mapping[str, Any]  # JSON schema, an object
    name: str = "reply"
    optional_as_null: bool = False  # the reader treats null as an omitted property


@dataclass(frozen=True, slots=True)
class GrammarLimits:
    """Bounds of a reply that a grammar forms, where the schema has none; for local models.

    A text has at most 2,000 characters, because llama.cpp refuses longer repetitions. Raises `LLMConfigError` if one of
    them is less than 1.
    """

    string_chars: int = 200
    array_items: int = 8
    object_extras: int = 8  # entries of a map whose keys are free
    key_chars: int = 40
    integer_digits: int = 9
    fraction_digits: int = 4
    depth: int = 32  # of nested schemas

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) < 1:
                raise LLMConfigError(f"GrammarLimits.{name} must be 1 or more, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call, complete: no setting comes from elsewhere."""

    model: str
    messages: tuple[Message, ...]
    temperature: float | None = None  # None: not sent; 0.0 is a temperature
    max_tokens: int | None = None
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = True
    output: OutputSpec | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)  # fields for this provider only, sent as they are
    headers: Mapping[str, str] = field(default_factory=dict)  # of this request alone, where it travels by HTTP
    grammar_limits: GrammarLimits | None = None  # for an endpoint that is held to its output by a grammar


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it did not report them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    thinking_tokens: int | None = None  # part of completion_tokens
    cached_tokens: int | None = None  # part of prompt_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum; what neither of the two knows stays unknown."""
        return Usage(
            _plus(self.prompt_tokens, other.prompt_tokens),
            _plus(self.completion_tokens, other.completion_tokens),
            _plus(self.thinking_tokens, other.thinking_tokens),
            _plus(self.cached_tokens, other.cached_tokens),
        )

    def values(self, model: str, cost_usd: float | None) -> dict[str, Any]:
        """Return the fields of a `ModelUsage`."""
        return {
            "model": model,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cached_tokens": self.cached_tokens,
            "cost_usd": cost_usd,
        }


def _plus(left: int | None, right: int | None) -> int | None:
    return left if right is None else right if left is None else left + right


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A whole reply. `finish_reason` is stop, length, tool_calls or content_filter, else the provider's own term."""

    content: str
    finish_reason: str
    thinking: tuple[ThinkingBlock, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    id: str = ""
    attempts: int = 1  # more than one where a wrapper or a gateway retried
    served: Served | None = None  # the provider that answered, if a gateway reported it


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a streamed tool call; pieces with the same index belong together."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class StreamPiece:
    """The content of one stream event; any of the fields may be empty, and several may be set at once."""

    content: str = ""
    thinking: str = ""
    tool_calls: tuple[ToolCallDelta, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    block: ThinkingBlock | None = None  # a whole thinking block, if the provider requires it back; repeats `thinking`
    model: str = ""
    id: str = ""
    attempts: int = 1  # more than one, on the first piece, where a wrapper or a gateway retried
    served: Served | None = None  # the provider, on the first piece, if a gateway reported it


def says_something(piece: StreamPiece) -> bool:
    """Return whether a piece is part of an answer or its end; a name, a role or a token count is neither."""
    return bool(
        piece.content
        or piece.thinking
        or piece.tool_calls
        or piece.block is not None
        or piece.finish_reason is not None
    )


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The features of an endpoint beyond text. Without native `tools`, calls are requested as a form of output."""

    output: Literal["none", "json_object", "json_schema", "grammar"] = "json_schema"  # grammar: llama.cpp's own
    tools: bool = True


class Transport(Protocol):
    """Carry one request to one endpoint. Raises only `LLMError`s and leaves nothing behind when cancelled."""

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the endpoint."""
        ...

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Send a request and wait for the whole reply; the timeout is for all of it."""
        ...

    def stream(
        self, request: ModelRequest, *, timeout_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamPiece]]:
        """Send a request and stream the reply; leaving the context ends the request."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...
