"""`RecordingTransport`: carries calls and writes what they return; `play_pieces` plays a recorded stream."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from tickmind.base import Clock, SystemClock, redact
from tickmind.llm.cassettes.format import (
    RecordedCall,
    Redactor,
    TimedPiece,
    error_form,
    pieces_form,
    reply_form,
)
from tickmind.llm.errors import LLMConnectionError, LLMError
from tickmind.llm.http.time_budget import TimeBudget
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, Transport


class RecordingTransport(ABC):
    """Wrap a transport and write every call that it carries, each as soon as it is over.

    A call that is cancelled is not written, a stream that is left early is written as far as it was read.
    """

    def __init__(self, inner: Transport, *, clock: Clock | None = None, redactor: Redactor = redact) -> None:
        self._inner = inner
        self._clock = clock or SystemClock()
        self._redactor = redactor

    @abstractmethod
    def _write(self, line: Mapping[str, Any]) -> None:
        """Write the line of a call that is over."""

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the wrapped transport."""
        return self._inner.capabilities

    async def _record_whole(self, request: ModelRequest, timeout_s: float, line: dict[str, Any]) -> ModelReply:
        """Carry the call and write its reply, or its error, behind the first fields of its line."""
        start_s = self._clock.monotonic()
        try:
            reply = await self._inner.complete(request, timeout_s=timeout_s)
        except LLMError as error:
            self._write(line | self._took(start_s) | {"error": error_form(error, redactor=self._redactor)})
            raise
        self._write(line | self._took(start_s) | {"reply": reply_form(reply, redactor=self._redactor)})
        return reply

    @asynccontextmanager
    async def _record_stream(
        self, request: ModelRequest, timeout_s: float, line: dict[str, Any]
    ) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Carry the call and write its pieces with the times at which they came."""
        start_s = self._clock.monotonic()
        pieces: list[TimedPiece] = []
        end: Any = "closed"

        async def read(source: AsyncIterator[StreamPiece]) -> AsyncGenerator[StreamPiece, None]:
            nonlocal end
            try:
                async for piece in source:
                    pieces.append((self._clock.monotonic() - start_s, piece))
                    yield piece
            except LLMError as error:
                end = error_form(error, redactor=self._redactor)
                raise
            end = "done"

        async with AsyncExitStack() as stack:
            try:
                source = await stack.enter_async_context(self._inner.stream(request, timeout_s=timeout_s))
            except LLMError as error:
                self._write(line | {"pieces": [], "end": error_form(error, redactor=self._redactor)})
                raise
            try:
                async with aclosing(read(source)) as reader:
                    yield reader
            finally:
                self._write(line | {"pieces": pieces_form(pieces, redactor=self._redactor), "end": end})

    def _took(self, start_s: float) -> dict[str, float]:
        return {"took_s": round(self._clock.monotonic() - start_s, 6)}


async def play_pieces(
    call: RecordedCall, path: Path, budget: TimeBudget, pace: float = 0.0
) -> AsyncGenerator[StreamPiece, None]:
    """Yield the pieces of a recorded stream at a pace, then its end: nothing, or the recorded error."""
    now_s = 0.0
    for at_s, piece in call.pieces:
        await budget.wait((at_s - now_s) * pace)
        now_s = at_s
        yield piece
    if call.failure is not None:
        raise call.error()
    if not call.whole:
        raise LLMConnectionError(
            f"the recording in {path} ends here: its caller left this stream after {len(call.pieces)} pieces"
        )
