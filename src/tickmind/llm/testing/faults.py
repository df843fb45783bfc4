"""`FaultyTransport`: fails on purpose, in the ways that endpoints and networks do."""

import asyncio
import math
import random
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

from tickmind.llm.errors import (
    LLMConfigError,
    LLMConnectionError,
    LLMError,
    LLMRateLimitError,
    LLMResponseError,
)
from tickmind.llm.http.time_budget import Sleep, TimeBudget
from tickmind.llm.transport import Capabilities, ModelReply, ModelRequest, StreamPiece, Transport


class Fault(StrEnum):
    """The ways in which a call can be made to fail."""

    REFUSED = "refused"  # nothing listens there
    RESET = "reset"  # the connection breaks while the reply comes
    RATE_LIMITED = "rate_limited"  # 429, with how long to wait
    SERVER_ERROR = "server_error"  # 503
    UNREADABLE = "unreadable"  # 200, but not the provider's wire form
    GARBAGE = "garbage"  # a reply of the right form that says nonsense
    TRUNCATED = "truncated"  # half a reply, ended by "length"
    UNFINISHED = "unfinished"  # half a reply that never says how it ended
    DRIP = "drip"  # a whole reply, slowly
    HANG = "hang"  # no reply until the call is cancelled or its timeout passes


@dataclass(frozen=True, slots=True)
class FaultStatistics:
    """The number of calls, and of failures by kind."""

    calls: int
    faults: Mapping[Fault, int]

    @property
    def total(self) -> int:
        """All calls that went wrong."""
        return sum(self.faults.values())


_ERRORS = {
    Fault.REFUSED: "the connection was refused",
    Fault.RESET: "the connection was reset while the reply came",
    Fault.UNREADABLE: "the reply can't be read: <html>bad gateway</html>",
}
_GARBAGE_LETTERS = 'abc xyz{}[]":,\\\n\t\u00e9\u4e16\U0001f600\ufffd'


class FaultyTransport:
    """Wrap a transport and make calls fail: by a plan (call by call), by rates (a share of calls), or both.

    The plan names a fault or None for each call in turn; behind its end the rates decide, drawn from `rng`, so a seed
    gives the same failures in the same order of calls. Waits go through `sleep` and count against the call's timeout.

        >>> from tickmind.llm import LLMError, ModelClient, ModelConfig
        >>> from tickmind.llm.testing import ScriptedTransport
        >>> async def ask():
        ...     transport = FaultyTransport(ScriptedTransport("Hi."), ["server_error"])
        ...     async with ModelClient(ModelConfig(), transport=transport) as client:
        ...         try:
        ...             await client.complete("Good morning!")
        ...         except LLMError as error:
        ...             print(type(error).__name__)
        ...         print((await client.complete("Good morning!")).content)
        >>> asyncio.run(ask())
        LLMResponseError
        Hi.
    """

    def __init__(
        self,
        inner: Transport,
        plan: Iterable[Fault | str | None] = (),
        *,
        rates: Mapping[Fault | str, float] | None = None,
        rng: random.Random | int = 0,
        retry_after_s: float | None = 1.0,
        drip_s: float = 0.1,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._inner = inner
        self._plan = iter([None if fault is None else _fault(fault) for fault in plan])
        self._rates = {_fault(name): rate for name, rate in (rates or {}).items()}
        if min(self._rates.values(), default=0) < 0 or sum(self._rates.values()) > 1 + 1e-9:
            raise LLMConfigError("the rates of faults are shares of all calls: none below 0, together at most 1")
        self._rng = rng if isinstance(rng, random.Random) else random.Random(rng)
        self._retry_after_s = retry_after_s
        self._drip_s = drip_s
        self._sleep = sleep
        self._calls = 0
        self._counts: Counter[Fault] = Counter()

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the wrapped transport."""
        return self._inner.capabilities

    def statistics(self) -> FaultStatistics:
        """Return what went wrong so far."""
        return FaultStatistics(self._calls, dict(self._counts))

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> ModelReply:
        """Carry the call, or let it fail."""
        fault = self._draw()
        budget = TimeBudget(timeout_s, sleep=self._sleep)
        await self._before(fault, budget)
        reply = await self._inner.complete(request, timeout_s=timeout_s)
        if fault in {Fault.RESET, Fault.UNREADABLE}:
            raise self._error(fault)
        if fault is Fault.DRIP:
            for _ in range(max(1, len(reply.content))):
                await budget.wait(self._drip_s)
        if fault is Fault.GARBAGE:
            return replace(reply, content=self._garbage(), tool_calls=(), finish_reason="stop")
        if fault in {Fault.TRUNCATED, Fault.UNFINISHED}:
            return _half(reply, "length" if fault is Fault.TRUNCATED else "")
        return reply

    @asynccontextmanager
    async def stream(self, request: ModelRequest, *, timeout_s: float) -> AsyncIterator[AsyncIterator[StreamPiece]]:
        """Carry the stream, or let it fail, before it or within."""
        fault = self._draw()
        budget = TimeBudget(timeout_s, sleep=self._sleep)
        await self._before(fault, budget)
        async with self._inner.stream(request, timeout_s=timeout_s) as source:
            if fault is None:
                yield source
                return
            async with aclosing(self._spoil(source, fault, budget)) as pieces:
                yield pieces

    async def aclose(self) -> None:
        """Close the wrapped transport."""
        await self._inner.aclose()

    def _draw(self) -> Fault | None:
        self._calls += 1
        fault = next(self._plan, _END)
        if isinstance(fault, _End):
            fault = self._by_chance()
        if fault is not None:
            self._counts[fault] += 1
        return fault

    def _by_chance(self) -> Fault | None:
        if not self._rates:
            return None
        names = [*self._rates, None]
        weights = [*self._rates.values(), max(0.0, 1 - sum(self._rates.values()))]
        return self._rng.choices(names, weights)[0]

    async def _before(self, fault: Fault | None, budget: TimeBudget) -> None:
        """Apply the fault before the wrapped transport is called."""
        if fault is Fault.HANG:
            await budget.wait(math.inf)
        if fault in {Fault.REFUSED, Fault.RATE_LIMITED, Fault.SERVER_ERROR}:
            raise self._error(fault)

    def _error(self, fault: Fault) -> LLMError:
        if fault is Fault.RATE_LIMITED:
            return LLMRateLimitError("too many requests", retry_after_s=self._retry_after_s)
        if fault is Fault.SERVER_ERROR:
            return LLMResponseError("the endpoint is overloaded", status=503)
        if fault is Fault.UNREADABLE:
            return LLMResponseError(_ERRORS[fault])
        return LLMConnectionError(_ERRORS[fault])

    def _garbage(self) -> str:
        return "".join(self._rng.choices(_GARBAGE_LETTERS, k=self._rng.randint(1, 60)))

    async def _spoil(
        self, source: AsyncIterator[StreamPiece], fault: Fault, budget: TimeBudget
    ) -> AsyncGenerator[StreamPiece, None]:
        if fault is Fault.GARBAGE:
            yield StreamPiece(content=self._garbage())
            yield StreamPiece(finish_reason="stop")
            return
        if fault is Fault.DRIP:
            async for piece in source:
                await budget.wait(self._drip_s)
                yield piece
            return
        pieces = [piece async for piece in source]
        saying = [index for index, piece in enumerate(pieces) if piece.content or piece.thinking or piece.tool_calls]
        keep = saying[len(saying) // 2] if saying else 0
        for piece in pieces[:keep]:
            yield replace(piece, finish_reason=None, usage=None)
        if fault in {Fault.RESET, Fault.UNREADABLE}:
            raise self._error(fault)
        if fault is Fault.TRUNCATED:
            yield StreamPiece(finish_reason="length")


class _End:
    """The end of the plan."""


_END = _End()


def _fault(name: Fault | str) -> Fault:
    try:
        return Fault(name)
    except ValueError as error:
        raise LLMConfigError(f"there is no fault {name!r}, only {', '.join(Fault)}") from error


def _half(reply: ModelReply, finish_reason: str) -> ModelReply:
    calls = tuple(replace(call, arguments=call.arguments[: len(call.arguments) // 2]) for call in reply.tool_calls)
    return replace(
        reply, content=reply.content[: len(reply.content) // 2], tool_calls=calls, finish_reason=finish_reason
    )
