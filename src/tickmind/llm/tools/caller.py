"""Who asks the model on behalf of an agent."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Protocol

from tickmind.llm.client import ModelClient
from tickmind.llm.messages import ThinkingBlock
from tickmind.llm.streams import ToolCallBuilder
from tickmind.llm.transport import ModelReply, ModelRequest, StreamPiece, Usage


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
        self._calls = ToolCallBuilder()
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
            self._calls.add(delta)
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
        calls = self._calls.build()
        return ModelReply(
            self.content,
            self._finish_reason or ("tool_calls" if calls else "stop"),
            blocks,
            calls,
            self._usage,
            self._model,
            self._id,
        )


class ClientCaller:
    """A `ModelClient` as an agent uses it: with its model, its limits and its way of separating `<think>`."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self.default_model = client.config.model

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Ask and wait for the whole reply, thinking separated."""
        reply = await self._client.transport.complete(request, timeout_s=timeout_s)
        splitter = self._client.splitter()
        splitter.feed(reply.content)
        splitter.finish()
        if not splitter.thinking:
            return reply
        thinking = (*reply.thinking, ThinkingBlock(splitter.thinking))
        return replace(reply, content=splitter.content, thinking=thinking)

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Ask and read the reply as it comes, thinking separated."""
        async with self._client.transport.stream(request, timeout_s=timeout_s) as pieces:
            yield self._separated(pieces)

    async def _separated(self, pieces: AsyncIterator[StreamPiece]) -> AsyncIterator[StreamPiece]:
        splitter = self._client.splitter()
        async for piece in pieces:
            if not piece.content:
                yield piece
                continue
            for is_thinking, text in splitter.feed(piece.content):
                yield StreamPiece(thinking=text) if is_thinking else StreamPiece(text)
            yield replace(piece, content="")
        for is_thinking, text in splitter.finish():
            yield StreamPiece(thinking=text) if is_thinking else StreamPiece(text)


def as_caller(caller: Caller | ModelClient) -> Caller:
    """Whatever was given, as an agent uses it."""
    return ClientCaller(caller) if isinstance(caller, ModelClient) else caller
