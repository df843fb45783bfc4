"""The gate for plain calls: admits as many as fit into a share of the loop's time, so that ticks keep the rest."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tickmind.base import Limit

CALL_S = 0.0002  # gRPC's own time for a plain call
LONGEST_BURST_S = 1.0  # longer ticks count as this


class CallsRefusedError(Exception):
    """Too many calls wait already."""

    def __init__(self, limit: Limit) -> None:
        super().__init__(f"the {limit.name} has reached {limit.maximum:,}; retry in a second")


class CallGate:
    """Admits plain calls as long as they take no more than a share of the time; others wait.

    Connections take turns, so that a flood from one does not delay the others. A client that waits for its answers is
    slowed down at no cost; beyond `waiting` calls are refused.

        gate = CallGate(0.5, tick_s=1.0, waiting=MAX_WAITING_CALLS)
        async with gate.passing(context.peer()):
            ...  # one call, without an await
    """

    def __init__(
        self, share: float, *, tick_s: float, waiting: Limit, on_refused: Callable[[], None] = lambda: None
    ) -> None:
        self._share = share
        self._most_s = share * min(tick_s, LONGEST_BURST_S)
        self._credit_s = self._most_s  # of the loop's time; negative after a long call
        self._counted_s = 0.0  # when the credit was updated
        self._limit = waiting
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}  # connection -> its calls; in order of turns
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._on_refused = on_refused

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return self._count

    @asynccontextmanager
    async def passing(self, peer: str, more_s: float = 0.0) -> AsyncIterator[None]:
        """Wait for a turn, and charge the call's time plus `more_s`; raises `CallsRefusedError` if too many wait."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        self._refill(now_s)
        if self._count or self._credit_s <= 0:
            await self._wait(peer, loop)
            now_s = loop.time()
        else:
            self._credit_s -= CALL_S
        try:
            yield
        finally:
            self._credit_s -= loop.time() - now_s + more_s

    def _refill(self, now_s: float) -> None:
        self._credit_s = min(self._most_s, self._credit_s + max(now_s - self._counted_s, 0.0) * self._share)
        self._counted_s = now_s

    async def _wait(self, peer: str, loop: asyncio.AbstractEventLoop) -> None:
        if not self._limit.allows(self._count + 1):
            self._on_refused()
            raise CallsRefusedError(self._limit)
        turn: asyncio.Future[None] = loop.create_future()
        self._lines.setdefault(peer, deque()).append(turn)
        self._count += 1
        self._wake(loop)
        try:
            await turn
        finally:
            if turn.cancelled():  # the client cancelled; else its turn has been counted
                self._leave(peer, turn)

    def _leave(self, peer: str, turn: asyncio.Future[None]) -> None:
        line = self._lines.get(peer)
        if line is not None and turn in line:
            line.remove(turn)
            self._count -= 1
            if not line:
                del self._lines[peer]

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is None and self._count:
            wait_s = max(CALL_S, CALL_S - self._credit_s) / self._share
            self._timer = loop.call_later(wait_s, self._go_on, loop)

    def _go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Admit the calls whose turn it is."""
        self._timer = None
        self._refill(loop.time())
        while self._count and self._credit_s > 0:
            peer, line = next(iter(self._lines.items()))
            turn = line.popleft()
            del self._lines[peer]
            if line:
                self._lines[peer] = line  # behind all others
            self._count -= 1
            if not turn.done():
                turn.set_result(None)
                self._credit_s -= CALL_S
        self._wake(loop)
