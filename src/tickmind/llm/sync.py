"""`SyncModelClient`: the model client for scripts and threads, with an event loop in the background."""

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from types import TracebackType, UnionType
from typing import Any, Generic, Protocol, Self, TypeVar, Unpack, overload

from tickmind.base import Clock
from tickmind.base.background import BackgroundLoop
from tickmind.llm.client import ModelClient
from tickmind.llm.config import CallConfig, EffectiveCall, ModelConfig
from tickmind.llm.errors import LLMCancelledError, LLMConfigError
from tickmind.llm.messages import MessagesLike
from tickmind.llm.options import RequestOptions, StructuredOptions
from tickmind.llm.prices import PRICES, Price, UsageMeter
from tickmind.llm.results import LLMResult, StreamChunk, StructuredResult
from tickmind.llm.structured import ReplySchema
from tickmind.llm.structured.calls import StructuredUpdate
from tickmind.llm.transport import Transport

T = TypeVar("T")
Item_co = TypeVar("Item_co", covariant=True)
Outcome_co = TypeVar("Outcome_co", covariant=True)


def background_loop(name: str = "tickmind-llm") -> BackgroundLoop:
    """Return a loop for blocking calls to models, whose errors are those of the model client."""
    return BackgroundLoop(name, refuse=LLMConfigError, cancelled=LLMCancelledError, instead="ModelClient")


class SyncModelClient:
    """Block on the calls of a `ModelClient`, for code without an event loop. Any number of threads may share it.

    with SyncModelClient(load_model_config()) as client:
        print(client.complete("Say hello in five words.").content)
    """

    def __init__(
        self,
        config: ModelConfig,
        transport: Transport | None = None,
        *,
        clock: Clock | None = None,
        prices: Mapping[str, Price] = PRICES,
        meter: UsageMeter | None = None,
    ) -> None:
        self._adopt(ModelClient(config, transport, clock=clock, prices=prices, meter=meter))

    def _adopt(self, client: ModelClient) -> None:
        self._client = client
        self._background = background_loop()
        self._closing = threading.Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sync{self._client!r}"

    @property
    def config(self) -> ModelConfig:
        """The config that this client was made with."""
        return self._client.config

    @property
    def async_client(self) -> ModelClient:
        """The client underneath, for coroutines that are handed to `run`."""
        return self._client

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run async work with `async_client` in the background loop and wait for it."""
        return self._background.run(work)

    def close(self) -> None:
        """Close the connections and end the background loop; running calls are cancelled."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        try:
            self._background.run(self._client.aclose())
        finally:
            self._background.close()

    def complete(
        self,
        messages: MessagesLike,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[RequestOptions],
    ) -> LLMResult:
        """Ask and wait for the whole reply, thinking separated."""
        return self._background.run(self._client.complete(messages, call, **options))

    def stream(
        self,
        messages: MessagesLike,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[RequestOptions],
    ) -> "SyncStream[StreamChunk, LLMResult]":
        """Ask and read the reply as it comes: `with client.stream(...) as stream: for chunk in stream`."""
        return SyncStream(self._client.stream(messages, call, **options), self._background)

    @overload
    def complete_structured(
        self,
        messages: MessagesLike,
        schema: ReplySchema[T] | type[T],
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredResult[T]: ...
    @overload
    def complete_structured(
        self,
        messages: MessagesLike,
        schema: UnionType,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredResult[Any]: ...
    @overload
    def complete_structured(
        self,
        messages: MessagesLike,
        schema: Mapping[str, Any] | Sequence[str],
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredResult[dict[str, Any]]: ...
    def complete_structured(
        self,
        messages: MessagesLike,
        schema: Any,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> StructuredResult[Any]:
        """Ask for an object and wait for it; see `ModelClient.complete_structured`."""
        return self._background.run(self._client.complete_structured(messages, schema, call, **options))

    @overload
    def stream_structured(
        self,
        messages: MessagesLike,
        schema: ReplySchema[T] | type[T],
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> "SyncStream[StructuredUpdate, StructuredResult[T]]": ...
    @overload
    def stream_structured(
        self,
        messages: MessagesLike,
        schema: UnionType,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> "SyncStream[StructuredUpdate, StructuredResult[Any]]": ...
    @overload
    def stream_structured(
        self,
        messages: MessagesLike,
        schema: Mapping[str, Any] | Sequence[str],
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> "SyncStream[StructuredUpdate, StructuredResult[dict[str, Any]]]": ...
    def stream_structured(
        self,
        messages: MessagesLike,
        schema: Any,
        call: CallConfig | EffectiveCall | None = None,
        **options: Unpack[StructuredOptions],
    ) -> "SyncStream[StructuredUpdate, StructuredResult[Any]]":
        """Ask for an object and read it as it comes; see `ModelClient.stream_structured`."""
        return SyncStream(self._client.stream_structured(messages, schema, call, **options), self._background)


class AsyncStream(Protocol[Item_co, Outcome_co]):
    """The interface that both kinds of stream share."""

    @property
    def result(self) -> Awaitable[Outcome_co]:
        """An awaitable of the result."""
        ...

    async def __aenter__(self) -> "AsyncStream[Item_co, Outcome_co]": ...

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __aiter__(self) -> AsyncIterator[Item_co]: ...


class SyncStream(Iterator[Item_co], Generic[Item_co, Outcome_co]):
    """A streamed reply for code without an event loop. One thread reads it."""

    def __init__(self, stream: AsyncStream[Item_co, Outcome_co], background: BackgroundLoop) -> None:
        self._stream = stream
        self._background = background
        self._chunks: queue.SimpleQueue[Item_co | None] = queue.SimpleQueue()  # None: no more
        self._pump: Future[Outcome_co] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._ended = False

    def __enter__(self) -> "SyncStream[Item_co, Outcome_co]":
        self._pump = self._background.submit(self._read())
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended = True
        if self._pump is not None and not self._pump.done():
            self._background.run(self._stop())

    def __next__(self) -> Item_co:
        if self._pump is None:
            raise LLMConfigError("open the stream with 'with' before you read it")
        chunk = None if self._ended else self._chunks.get()
        if chunk is None:
            if not self._ended:
                self._ended = True
                _ = self.result  # raises the error of the stream
            raise StopIteration
        return chunk

    @property
    def result(self) -> Outcome_co:
        """The whole reply: inside the block it waits for the end, after it this is what came.

        Raises `LLMConfigError` if the stream was never opened, `LLMCancelledError` if its client was closed.
        """
        if self._pump is None:
            raise LLMConfigError("open the stream with 'with' before you read its result")
        try:
            return self._pump.result()
        except CancelledError:
            raise LLMCancelledError("the stream was cancelled because its client was closed") from None

    async def _read(self) -> Outcome_co:
        self._task = asyncio.current_task()
        try:
            async with self._stream as stream:
                async for chunk in stream:
                    self._chunks.put(chunk)
        except asyncio.CancelledError:
            if not self._ended:  # else the caller left early, and the result is what came so far
                raise
        finally:
            self._chunks.put(None)
        return await self._stream.result

    async def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
