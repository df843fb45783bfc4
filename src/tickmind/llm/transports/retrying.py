"""`RetryingTransport`: the only place that retries requests to an endpoint, up to `max_attempts`.

Behind a gateway nothing is retried here, because the gateway does.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from types import TracebackType

from tickmind.base import Clock, SystemClock
from tickmind.llm.errors import (
    LLMConfigError,
    LLMConnectionError,
    LLMCooldownError,
    LLMDeadlineError,
    LLMError,
    LLMRateLimitError,
    LLMReplyTooLargeError,
    LLMResponseError,
)
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, Transport, says_something

_TRANSIENT = frozenset({408, 500, 502, 503, 504, 520, 522, 524, 529})


def is_transient(error: LLMError) -> bool:
    """Return whether the same request may succeed a little later."""
    if isinstance(error, LLMDeadlineError | LLMReplyTooLargeError | LLMCooldownError):
        return False  # only gateways send cooldowns, and they retry themselves
    if isinstance(error, LLMConnectionError | LLMRateLimitError):
        return True
    return isinstance(error, LLMResponseError) and error.status in _TRANSIENT


class RetryingTransport:
    """Retry after broken connections, 5xx and 429: a bounded number of times, within the call's own deadline.

    Waits are random between 0 and a bound that doubles (full jitter), and never shorter than the endpoint asked for. A
    wait that would pass the deadline is not begun: the error is raised at once. A stream is retried as long as nothing
    of the answer was delivered; a model's name, a role or a token count is not the answer. Raises `LLMConfigError` if
    `max_attempts` is less than 1.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        max_attempts: int = 3,
        base_delay_s: float = 0.5,
        max_delay_s: float = 20.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if max_attempts < 1:
            raise LLMConfigError(f"max_attempts must be 1 or more, not {max_attempts}")
        self._transport = transport
        self._max_attempts = max_attempts
        self._base_delay_s = base_delay_s
        self._max_delay_s = max_delay_s
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()
        self._sleep = sleep

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the wrapped transport."""
        return self._transport.capabilities

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Send a request, again if need be; the timeout is for all attempts together."""
        tries = Tries(self, timeout_s)
        while True:
            try:
                reply = await self._transport.complete(request, timeout_s=tries.start())
            except LLMError as error:
                await tries.wait_after(error)
            else:
                return replace(reply, attempts=tries.attempts) if tries.attempts > 1 else reply

    def stream(self, request: ModelRequest, *, timeout_s: float) -> "RetryingStream":
        """Send a request, again if need be, until the first piece of the answer has come."""
        return RetryingStream(self._transport, request, Tries(self, timeout_s))

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._transport.aclose()

    def delay_s(self, attempt: int, error: LLMError) -> float:
        """Return the wait after the n-th attempt failed."""
        bound = min(self._max_delay_s, self._base_delay_s * 2.0 ** min(attempt - 1, 32))
        jitter = self._rng.uniform(0.0, bound)
        if isinstance(error, LLMRateLimitError) and error.retry_after_s is not None:
            return error.retry_after_s + min(jitter, 0.1 * error.retry_after_s + 0.05)  # spread over, never before
        return jitter

    def now_s(self) -> float:
        """Return the clock's time."""
        return self._clock.monotonic()

    async def wait(self, delay_s: float) -> None:
        """Let the time pass."""
        await self._sleep(delay_s)

    @property
    def max_attempts(self) -> int:
        """The most attempts of a call."""
        return self._max_attempts


class Tries:
    """The attempts of one call."""

    def __init__(self, owner: RetryingTransport, timeout_s: float) -> None:
        self.attempts = 0
        self._owner = owner
        self._deadline_s = owner.now_s() + timeout_s

    def start(self) -> float:
        """Begin the next attempt and return the time that is left for it."""
        left_s = self._deadline_s - self._owner.now_s()
        if left_s <= 0:
            raise LLMDeadlineError("the call's deadline passed between two attempts; raise timeout_s")
        self.attempts += 1
        return left_s

    async def wait_after(self, error: LLMError) -> None:
        """Wait for the next attempt; raises the error if there is none."""
        if self.attempts >= self._owner.max_attempts or not is_transient(error):
            raise error
        delay_s = self._owner.delay_s(self.attempts, error)
        if self._owner.now_s() + delay_s >= self._deadline_s:
            raise error
        await self._owner.wait(delay_s)


class RetryingStream(AsyncIterator[StreamPiece]):
    """A stream that is opened again as long as nothing of the answer was delivered."""

    def __init__(self, transport: Transport, request: ModelRequest, tries: Tries) -> None:
        self._transport = transport
        self._request = request
        self._tries = tries
        self._context: AbstractAsyncContextManager[AsyncIterator[StreamPiece]] | None = None
        self._pieces: AsyncIterator[StreamPiece] | None = None
        self._delivered = False

    async def __aenter__(self) -> "RetryingStream":
        await self._open()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close(exc_type, exc, trace)

    async def __anext__(self) -> StreamPiece:
        while True:
            if self._pieces is None:
                raise StopAsyncIteration
            try:
                piece = await self._pieces.__anext__()
            except LLMError as error:
                if self._delivered:
                    raise
                await self._close(type(error), error, error.__traceback__)
                await self._tries.wait_after(error)
                await self._open()
                continue
            if not self._delivered:
                self._delivered = says_something(piece)
                if self._tries.attempts > 1:
                    piece = replace(piece, attempts=self._tries.attempts)
            return piece

    async def _open(self) -> None:
        while True:
            context = self._transport.stream(self._request, timeout_s=self._tries.start())
            try:
                self._pieces = await context.__aenter__()
            except LLMError as error:
                await self._tries.wait_after(error)
            else:
                self._context = context
                return

    async def _close(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        context, self._context, self._pieces = self._context, None, None
        if context is not None:
            await context.__aexit__(exc_type, exc, trace)
