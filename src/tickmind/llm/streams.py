"""A streamed reply as a caller sees it: chunks of content or thinking, then the whole result."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from tickmind.base import Clock
from tickmind.llm.errors import LLMConfigError
from tickmind.llm.messages import ThinkingBlock, ToolCall
from tickmind.llm.pacing import pace
from tickmind.llm.results import LLMResult, StreamChunk, Timing
from tickmind.llm.thinking import Piece, ThinkSplitter
from tickmind.llm.transport import StreamPiece, ToolCallDelta, Usage

FINISH_UNKNOWN = "unknown"  # the reply ended in order, but the endpoint never said why
FINISH_CANCELLED = "cancelled"  # the caller left before the end

CostOf = Callable[[str, Usage], float | None]


class ToolCallBuilder:
    """Puts streamed tool calls together."""

    __slots__ = ("_calls", "_current")

    def __init__(self) -> None:
        self._calls: list[tuple[int, str, str, list[str]]] = []  # index on the wire, id, name, pieces of the arguments
        self._current: dict[int, int] = {}  # index on the wire -> place in _calls

    def add(self, delta: ToolCallDelta) -> None:
        """Take a piece. Some endpoints give every call the same index: another id then begins another call."""
        place = self._current.get(delta.index)
        if place is not None:
            index, id_, name, arguments = self._calls[place]
            if not (delta.id and id_ and delta.id != id_):
                self._calls[place] = (index, id_ or delta.id, name or delta.name, arguments)
                arguments.append(delta.arguments)
                return
        self._current[delta.index] = len(self._calls)
        self._calls.append((delta.index, delta.id, delta.name, [delta.arguments]))

    def build(self) -> tuple[ToolCall, ...]:
        """The calls so far, in the order of their indexes."""
        in_order = sorted(self._calls, key=lambda call: call[0])
        return tuple(
            ToolCall(id_ or f"call_{place}", name, "".join(arguments) or "{}")
            for place, (_, id_, name, arguments) in enumerate(in_order)
        )


class ModelStream(AsyncIterator[StreamChunk]):
    """A reply as it comes. Use it with `async with`, iterate it, and await `result` inside or after the block.

    Chunks carry content or thinking, never both; the last one carries only the finish reason. Leaving the block early
    ends the request, and `result` is then what came so far, with the finish reason `cancelled`. If the call fails, the
    iteration and `result` raise the same error, and `partial` still gives what came. No task is started.
    """

    def __init__(
        self,
        open_stream: Callable[[], AbstractAsyncContextManager[AsyncIterator[StreamPiece]]],
        *,
        model: str,
        clock: Clock,
        splitter: ThinkSplitter,
        cost_of: CostOf,
        on_end: Callable[[LLMResult | None], None] | None = None,
    ) -> None:
        self._open_stream = open_stream
        self._context: AbstractAsyncContextManager[AsyncIterator[StreamPiece]] | None = None
        self._clock = clock
        self._splitter = splitter
        self._cost_of = cost_of
        self._on_end = on_end
        self._pieces: AsyncIterator[StreamPiece] | None = None
        self._ready: deque[StreamChunk] = deque()
        self._calls: ToolCallBuilder | None = None
        self._blocks: list[ThinkingBlock] = []
        self._finish_reason: str | None = None
        self._usage = Usage()
        self._model = model
        self._attempts = 1
        self._started_s = clock.monotonic()
        self._first_token_s: float | None = None
        self._result: LLMResult | None = None
        self._error: BaseException | None = None
        self._reader: asyncio.Task[object] | None = None
        self._waiters: list[asyncio.Future[None]] = []

    async def __aenter__(self) -> "ModelStream":
        self._started_s = self._clock.monotonic()
        try:
            await pace()
            context = self._open_stream()
            self._pieces = await context.__aenter__()
            self._context = context
        except asyncio.CancelledError:
            self._end(FINISH_CANCELLED)
            raise
        except BaseException as exc:
            self._fail(exc)
            raise
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pieces = None
        try:
            if self._context is not None:
                await self._context.__aexit__(exc_type, exc, trace)
        finally:
            if self._result is None and self._error is None:
                self._end(self._finish_reason or FINISH_CANCELLED)
            self._ready.clear()

    async def __anext__(self) -> StreamChunk:
        ready = self._ready
        while not ready:
            if self._pieces is None or self._result is not None:
                raise StopAsyncIteration
            if self._reader is None:
                self._reader = asyncio.current_task()
            try:
                piece = await self._pieces.__anext__()
            except StopAsyncIteration:
                self._take_pieces(self._splitter.finish())
                self._end(self._finish_reason or FINISH_UNKNOWN)
            except Exception as exc:
                self._fail(exc)
                raise
            else:
                self._take(piece)
        return ready.popleft()

    @property
    def result(self) -> "ResultAwaitable":
        """The whole reply, to be awaited: inside the block it reads on to the end, after it there is no wait."""
        return ResultAwaitable(self)

    @property
    def partial(self) -> LLMResult:
        """What has come so far."""
        return self._result or self._build(self._finish_reason or FINISH_CANCELLED)

    async def wait_result(self) -> LLMResult:
        """The same as awaiting `result`."""
        while self._result is None and self._error is None:
            if self._pieces is None:
                raise LLMConfigError("open the stream with 'async with' before you await its result")
            reader = self._reader
            if reader is None or reader is asyncio.current_task() or reader.done():
                async for _ in self:
                    pass
            else:  # somebody else reads it: wait until that ends
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.append(waiter)
                await waiter
        if self._result is not None:
            return self._result
        raise self._error or LLMConfigError("the stream has no result")

    def _take(self, piece: StreamPiece) -> None:
        if piece.thinking:
            self._splitter.note_thinking(piece.thinking)
            self._ready.append(StreamChunk("", piece.thinking))
        if piece.content:
            self._take_pieces(self._splitter.feed(piece.content))
        if piece.tool_calls:
            if self._calls is None:
                self._calls = ToolCallBuilder()
            for delta in piece.tool_calls:
                self._calls.add(delta)
        if self._first_token_s is None and (piece.content or piece.thinking or piece.tool_calls):
            self._first_token_s = self._clock.monotonic() - self._started_s
        if piece.finish_reason is not None:
            self._finish_reason = piece.finish_reason
        if piece.usage is not None:
            self._usage = piece.usage
        if piece.block is not None:
            self._blocks.append(piece.block)
        if piece.model:
            self._model = piece.model
        if piece.attempts > 1:
            self._attempts = piece.attempts

    def _take_pieces(self, pieces: list[Piece]) -> None:
        for is_thinking, text in pieces:
            self._ready.append(StreamChunk("", text) if is_thinking else StreamChunk(text))

    def _end(self, finish_reason: str) -> None:
        self._splitter.finish()
        self._result = self._build(finish_reason)
        self._ready.append(StreamChunk(finish_reason=finish_reason))
        if self._on_end is not None:
            self._on_end(self._result)
        self._wake()

    def _fail(self, exc: BaseException) -> None:
        self._error = exc
        if self._on_end is not None:
            self._on_end(None)
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    def _build(self, finish_reason: str) -> LLMResult:
        usage = self._usage
        return LLMResult(
            content=self._splitter.content,
            thinking=self._splitter.thinking,
            finish_reason=finish_reason,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            tool_calls=self._calls.build() if self._calls is not None else (),
            blocks=tuple(self._blocks),
            timing=Timing(self._clock.monotonic() - self._started_s, self._first_token_s),
            cost_usd=self._cost_of(self._model, usage),
            attempts=self._attempts,
            model=self._model,
        )


class ResultAwaitable:
    """What `ModelStream.result` gives; await it as often as you like."""

    __slots__ = ("_stream",)

    def __init__(self, stream: ModelStream) -> None:
        self._stream = stream

    def __await__(self) -> Generator[object, None, LLMResult]:
        return self._stream.wait_result().__await__()
