"""`ModelStream`: a streamed reply as chunks of content or thinking, then the whole result."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from tickmind.base import Clock
from tickmind.llm.http.pacing import pace
from tickmind.llm.results import FINISH_CANCELLED, FINISH_UNKNOWN, LLMResult, StreamChunk, Timing
from tickmind.llm.streaming.assembly import ReplyBuilder
from tickmind.llm.streaming.result_stream import ResultStream
from tickmind.llm.streaming.thinking import Piece, ThinkSplitter
from tickmind.llm.transport import StreamPiece, Usage

CostOf = Callable[[str, Usage], float | None]


class ModelStream(ResultStream[StreamChunk, LLMResult]):
    """A streamed reply. Use it with `async with`, iterate it, and await `result` inside or after the block.

    Chunks carry content or thinking, never both; the last one carries only the finish reason. Leaving the block early
    ends the request, and `result` is then what came so far, with the finish reason `cancelled`. If the call fails, the
    iteration and `result` raise the same error, and `partial` still holds what came.
    """

    def __init__(
        self,
        open_stream: Callable[[], AbstractAsyncContextManager[AsyncIterator[StreamPiece]]],
        *,
        model: str,
        clock: Clock,
        splitter: ThinkSplitter,
        cost_of: CostOf,
        on_end: Callable[[LLMResult | None], None],
    ) -> None:
        super().__init__()
        self._open_stream = open_stream
        self._context: AbstractAsyncContextManager[AsyncIterator[StreamPiece]] | None = None
        self._pieces: AsyncIterator[StreamPiece] | None = None
        self._asked_model = model
        self._clock = clock
        self._splitter = splitter
        self._cost_of = cost_of
        self._on_end = on_end
        self._builder = ReplyBuilder()
        self._started_s = clock.monotonic()
        self._first_token_s: float | None = None

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
        self._open = True
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        try:
            if self._context is not None:
                await self._context.__aexit__(exc_type, exc, trace)
        finally:
            if self._outcome is None and self._error is None:
                self._end(self._builder.finish_reason or FINISH_CANCELLED)
            self._close()

    @property
    def partial(self) -> LLMResult:
        """The reply so far."""
        return self._outcome or self._build(self._builder.finish_reason or FINISH_CANCELLED)

    async def _advance(self) -> None:
        if self._pieces is None:
            return
        try:
            piece = await self._pieces.__anext__()
        except StopAsyncIteration:
            self._end(self._builder.finish_reason or FINISH_UNKNOWN)
        else:
            self._take(piece)

    def _take(self, piece: StreamPiece) -> None:
        if piece.thinking:
            self._splitter.note_thinking(piece.thinking)
            self._ready.append(StreamChunk("", piece.thinking))
        if piece.content:
            self._give(self._splitter.feed(piece.content))
        if self._first_token_s is None and (piece.content or piece.thinking or piece.tool_calls):
            self._first_token_s = self._clock.monotonic() - self._started_s
        self._builder.add(piece)

    def _give(self, pieces: list[Piece]) -> None:
        for is_thinking, text in pieces:
            self._ready.append(StreamChunk("", text) if is_thinking else StreamChunk(text))

    def _end(self, finish_reason: str) -> None:
        self._give(self._splitter.finish())
        self._ready.append(StreamChunk(finish_reason=finish_reason))
        result = self._build(finish_reason)
        self._settle(result)
        self._on_end(result)

    def _fail(self, error: BaseException) -> None:
        self._give(self._splitter.finish())
        super()._fail(error)
        self._on_end(None)

    def _build(self, finish_reason: str) -> LLMResult:
        came = self._builder
        model = came.model or self._asked_model
        return LLMResult(
            content=self._splitter.content,
            thinking=self._splitter.thinking,
            finish_reason=finish_reason,
            tool_calls=came.tool_calls,
            blocks=tuple(came.blocks),
            timing=Timing(self._clock.monotonic() - self._started_s, self._first_token_s),
            attempts=came.attempts,
            served=came.served,
            **came.usage.values(model, self._cost_of(model, came.usage)),
        )
