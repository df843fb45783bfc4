"""`ModelCaller`: carries an agent's requests to the model."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from typing import Protocol

from tickmind.llm.client import ModelClient
from tickmind.llm.config import DEFAULT_TIMEOUT_S, merge_config
from tickmind.llm.streaming.assembly import ReplyBuilder
from tickmind.llm.streaming.thinking import ThinkSplitter
from tickmind.llm.transport import ModelReply, ModelRequest, StreamPiece
from tickmind.tools.config import AgentConfig


class ModelCaller(Protocol):
    """Anything that carries a request to a model: a `Transport`, or a wrapper of one.

    A caller with a model of its own has a `default_model`; with any other, name the model to the agent. A caller that
    knows prices has `cost_usd(model, usage)`.
    """

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Send a request and wait for the whole reply."""
        ...

    def stream(
        self, request: ModelRequest, *, timeout_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamPiece]]:
        """Send a request and stream the reply."""
        ...


class ClientCaller:
    """A `ModelClient` for an agent: with its model, its meter and its handling of `<think>`."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self.cost_usd = client.cost_usd
        self.default_model = client.config.model
        self.defaults = merge_config(client.config)
        self.refused_forms = client.refused_forms

    def _fitted(self, request: ModelRequest) -> ModelRequest:
        reply_tokens = self.defaults.max_tokens if request.max_tokens is None else request.max_tokens
        return replace(request, messages=self._client.fitted(request.messages, reply_tokens))

    def splitter(self) -> ThinkSplitter:
        """Return the splitter that separates `<think>` from the answer at this endpoint."""
        return self._client.splitter()

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Send a request and wait for the whole reply."""
        try:
            reply = await self._client.transport.complete(self._fitted(request), timeout_s=timeout_s)
        except BaseException:
            self._client.count(request, None)
            raise
        self._client.count(request, reply)
        return reply

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Send a request and stream the reply."""
        came = ReplyBuilder()
        try:
            async with (
                self._client.transport.stream(self._fitted(request), timeout_s=timeout_s) as pieces,
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


def as_caller(caller: ModelCaller | ModelClient) -> ModelCaller:
    """Return a client or transport as a caller."""
    return ClientCaller(caller) if isinstance(caller, ModelClient) else caller


def with_defaults(config: AgentConfig, caller: ModelCaller) -> AgentConfig:
    """Return the options of an agent, with the client's defaults for what they leave open."""
    if not config.model:
        config = replace(config, model=str(getattr(caller, "default_model", "")))
    timeouts, request_s = config.timeouts, DEFAULT_TIMEOUT_S
    if isinstance(caller, ClientCaller):
        defaults, request_s = caller.defaults, caller.defaults.timeout_s
        config = replace(
            config,
            temperature=defaults.temperature if config.temperature is None else config.temperature,
            max_output_tokens=defaults.max_tokens if config.max_output_tokens is None else config.max_output_tokens,
        )
    if timeouts.request_s is None:
        config = replace(config, timeouts=replace(timeouts, request_s=request_s))
    return config


def splitter_of(caller: ModelCaller) -> ThinkSplitter:
    """Return the splitter for `<think>`: the client's, else one that finds the tags anywhere."""
    return caller.splitter() if isinstance(caller, ClientCaller) else ThinkSplitter()
