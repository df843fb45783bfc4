"""Who asks the model on behalf of an agent."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from typing import Protocol

from tickmind.llm.assembly import ReplyBuilder
from tickmind.llm.client import ModelClient
from tickmind.llm.messages import ThinkingBlock
from tickmind.llm.transport import ModelReply, ModelRequest, StreamPiece


class Caller(Protocol):
    """Anything that takes a request to a model: a `Transport`, or whatever wraps one.

    A caller that knows which model to ask has a `default_model`; with any other the agent must be told. One that knows
    prices has `cost_usd(model, usage)`.
    """

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Ask and wait for the whole reply."""
        ...

    def stream(
        self, request: ModelRequest, *, timeout_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamPiece]]:
        """Ask and read the reply as it comes."""
        ...


class ClientCaller:
    """A `ModelClient` as an agent uses it: with its model, its meter and its way of separating `<think>`."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self.cost_usd = client.cost_usd
        self.default_model = client.config.model

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Ask and wait for the whole reply, thinking separated."""
        try:
            reply = await self._client.transport.complete(request, timeout_s=timeout_s)
        except BaseException:
            self._client.count(request, None)
            raise
        self._client.count(request, reply)
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
        came = ReplyBuilder()
        try:
            async with (
                self._client.transport.stream(request, timeout_s=timeout_s) as pieces,
                aclosing(self._separated(pieces, came)) as separated,
            ):
                yield separated
        except BaseException:
            self._client.count(request, None)
            raise
        self._client.count(request, came.reply())

    async def _separated(
        self, pieces: AsyncIterator[StreamPiece], came: ReplyBuilder
    ) -> AsyncGenerator[StreamPiece, None]:
        splitter = self._client.splitter()
        async for piece in pieces:
            came.add(piece)
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
