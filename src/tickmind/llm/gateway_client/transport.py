"""`GatewayTransport`: waits for the session's turn, sends the request with its deadline, and applies the cooldown.

It retries nothing: the gateway alone owns queues, fallback and retries.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from types import TracebackType
from typing import Literal

from tickmind.base import Clock
from tickmind.llm.errors import LLMDeadlineError, LLMRateLimitError, LLMResponseError
from tickmind.llm.gateway_client.calls import told_timeout
from tickmind.llm.gateway_client.gate import Gates
from tickmind.llm.gateway_contract import TIMEOUT_HEADER
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, Transport

OnCooldown = Literal["wait", "raise", "send"]


class GatewayTransport:
    """Wrap the transport that speaks to the gateway. `on_use` is called before anything is sent."""

    def __init__(
        self,
        inner: Transport,
        gates: Gates,
        *,
        on_cooldown: OnCooldown,
        on_use: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._inner = inner
        self._gates = gates
        self._on_cooldown = on_cooldown
        self._on_use = on_use
        self._clock = clock

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the models behind the gateway, as configured."""
        return self._inner.capabilities

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Send the request at its turn; the timeout includes the wait."""
        left_s = await self.turn(request.model, timeout_s)
        try:
            return await self._inner.complete(_told_until(request, left_s), timeout_s=left_s)
        except (LLMRateLimitError, LLMResponseError) as error:
            self._gates.of(request.model).note_refusal(error)
            raise

    def stream(self, request: ModelRequest, *, timeout_s: float) -> "GatewayStream":
        """Send the request at its turn and stream the reply."""
        return GatewayStream(self, self._inner, request, timeout_s, self._gates)

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._inner.aclose()

    async def turn(self, model: str, timeout_s: float) -> float:
        """Wait for the session's turn and return the time left; raises `LLMCooldownError` if it comes too late."""
        self._on_use()
        if self._on_cooldown == "send":
            return timeout_s
        gate = self._gates.of(model)
        if self._on_cooldown == "raise":
            gate.take_nowait()
            return timeout_s
        began_s = self._clock.monotonic()
        await gate.take(timeout_s)
        left_s = timeout_s - (self._clock.monotonic() - began_s)
        if left_s <= 0:
            raise LLMDeadlineError(f"not this session's turn within the call's {timeout_s:g} s; raise timeout_s")
        return left_s


class GatewayStream:
    """A stream that is opened at its turn; its pieces are the wrapped transport's."""

    def __init__(
        self, owner: GatewayTransport, inner: Transport, request: ModelRequest, timeout_s: float, gates: Gates
    ) -> None:
        self._owner = owner
        self._inner = inner
        self._request = request
        self._timeout_s = timeout_s
        self._gates = gates
        self._context: AbstractAsyncContextManager[AsyncIterator[StreamPiece]] | None = None

    async def __aenter__(self) -> AsyncIterator[StreamPiece]:
        left_s = await self._owner.turn(self._request.model, self._timeout_s)
        context = self._inner.stream(_told_until(self._request, left_s), timeout_s=left_s)
        try:
            pieces = await context.__aenter__()
        except (LLMRateLimitError, LLMResponseError) as error:
            self._gates.of(self._request.model).note_refusal(error)
            raise
        self._context = context
        return pieces

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        context, self._context = self._context, None
        if context is not None:
            await context.__aexit__(exc_type, exc, trace)


def _told_until(request: ModelRequest, left_s: float) -> ModelRequest:
    return replace(request, headers={TIMEOUT_HEADER: told_timeout(left_s), **request.headers})
