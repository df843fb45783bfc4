"""Who asks the model on behalf of an agent."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.transport import ModelReply, ModelRequest, StreamPiece, ToolCallDelta, Usage


class Caller(Protocol):
    """Anything that takes a request to a model: a `Transport`, or whatever wraps one.

    A caller that knows which model to ask has a `default_model`; with any other the agent must be told.
    """

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Ask and wait for the whole reply."""
        ...

    def stream(
        self, request: ModelRequest, *, timeout_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamPiece]]:
        """Ask and read the reply as it comes."""
        ...


def add_usage(first: Usage, second: Usage) -> Usage:
    """The sum; what neither of them knows stays unknown."""

    def plus(one: int | None, other: int | None) -> int | None:
        return one if other is None else other if one is None else one + other

    return Usage(
        plus(first.prompt_tokens, second.prompt_tokens),
        plus(first.completion_tokens, second.completion_tokens),
        plus(first.thinking_tokens, second.thinking_tokens),
        plus(first.cached_tokens, second.cached_tokens),
    )


class ReplyBuilder:
    """Puts the pieces of a stream together; nothing is lost if it ends without a finish reason."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._blocks: list[ThinkingBlock] = []
        self._calls: dict[int, _CallBuilder] = {}  # index in the stream -> the call
        self._finish_reason = ""
        self._usage = Usage()
        self._model = ""
        self._id = ""

    def add(self, piece: StreamPiece) -> None:
        """Take one piece."""
        if piece.content:
            self._content.append(piece.content)
        if piece.thinking:
            self._thinking.append(piece.thinking)
        if piece.block is not None:
            self._blocks.append(piece.block)
        for delta in piece.tool_calls:
            self._calls.setdefault(delta.index, _CallBuilder()).add(delta)
        if piece.finish_reason is not None:
            self._finish_reason = piece.finish_reason
        if piece.usage is not None:
            self._usage = piece.usage
        self._model = piece.model or self._model
        self._id = piece.id or self._id

    @property
    def content(self) -> str:
        """What was said so far."""
        return "".join(self._content)

    def reply(self) -> ModelReply:
        """The whole of what came."""
        blocks = tuple(self._blocks)
        if not blocks and self._thinking:
            blocks = (ThinkingBlock("".join(self._thinking)),)
        calls = tuple(self._calls[index].call() for index in sorted(self._calls))
        return ModelReply(
            self.content,
            self._finish_reason or ("tool_calls" if calls else "stop"),
            blocks,
            calls,
            self._usage,
            self._model,
            self._id,
        )


class _CallBuilder:
    def __init__(self) -> None:
        self._id = ""
        self._name = ""
        self._arguments: list[str] = []

    def add(self, delta: ToolCallDelta) -> None:
        self._id = self._id or delta.id
        self._name = self._name or delta.name
        self._arguments.append(delta.arguments)

    def call(self) -> ToolCall:
        return ToolCall(self._id, self._name, "".join(self._arguments))
