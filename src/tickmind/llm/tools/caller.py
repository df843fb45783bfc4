"""Who asks the model on behalf of an agent."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Protocol

from tickmind.llm.assembly import ReplyBuilder
from tickmind.llm.client import ModelClient
from tickmind.llm.thinking import ThinkSplitter
from tickmind.llm.transport import ModelReply, ModelRequest, StreamPiece


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


class ClientCaller:
    """A `ModelClient` as an agent uses it: with its model, its meter and its way of separating `<think>`."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self.default_model = client.config.model

    def splitter(self) -> ThinkSplitter:
        """What separates `<think>` from the answer at this endpoint."""
        return self._client.splitter()

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Ask and wait for the whole reply."""
        try:
            reply = await self._client.transport.complete(request, timeout_s=timeout_s)
        except BaseException:
            self._client.count(request, None)
            raise
        self._client.count(request, reply)
        return reply

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Ask and read the reply as it comes."""
        came = ReplyBuilder()
        try:
            async with (
                self._client.transport.stream(request, timeout_s=timeout_s) as pieces,
                aclosing(_noted(pieces, came)) as noted,
            ):
                yield noted
        except BaseException:
            self._client.count(request, None)
            raise
        self._client.count(request, came.reply())


async def _noted(pieces: AsyncIterator[StreamPiece], came: ReplyBuilder) -> AsyncGenerator[StreamPiece, None]:
    async for piece in pieces:
        came.add(piece)
        yield piece


def as_caller(caller: Caller | ModelClient) -> Caller:
    """Whatever was given, as an agent uses it."""
    return ClientCaller(caller) if isinstance(caller, ModelClient) else caller


def splitter_of(caller: Caller) -> ThinkSplitter:
    """What separates `<think>` from an answer; what a transport says is taken as it comes."""
    return caller.splitter() if isinstance(caller, ClientCaller) else ThinkSplitter(tags=False)
