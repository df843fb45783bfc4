"""What every stream that a caller sees has in common: items as they come, and one result for whoever awaits it."""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Generator
from typing import Generic, TypeVar

from tickmind.llm.errors import LLMConfigError

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class ResultStream(AsyncIterator[Item], Generic[Item, Outcome]):
    """Iterate it, await its `result`, or both, in one task or in several; no task is started.

    One of them reads at a time and the others wait for it. Whoever awaits the result reads on and leaves the items to
    those who have begun to iterate; where nobody has, they are dropped, because a thousand streams are a lot of items.
    A stream that failed stays failed: all of them raise the same error.

    A kind of stream reads in `_advance`, puts items into `_ready` and ends with `_settle`.
    """

    def __init__(self) -> None:
        self._open = False
        self._iterated = False
        self._ready: deque[Item] = deque()
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self._reading = False
        self._waiters: list[asyncio.Future[None]] = []  # those who wait for the one who reads

    async def __anext__(self) -> Item:
        ready = self._ready
        self._iterated = True
        while not ready:
            if not self._open:
                if self._outcome is None and self._error is None:
                    raise LLMConfigError("open the stream with 'async with' before you iterate it")
                raise StopAsyncIteration
            if self._error is not None:
                raise self._error
            if self._outcome is not None:
                raise StopAsyncIteration
            await self._step()
        return ready.popleft()

    @property
    def result(self) -> "ResultAwaitable[Outcome]":
        """The whole, to be awaited: inside the block it reads on to the end, after it there is no wait."""
        return ResultAwaitable(self)

    async def wait_result(self) -> Outcome:
        """The same as awaiting `result`."""
        while self._open and self._outcome is None and self._error is None:
            await self._step()
            if not self._iterated:
                self._ready.clear()
        if self._outcome is not None:
            return self._outcome
        raise self._error or LLMConfigError("open the stream with 'async with' before you await its result")

    async def _step(self) -> None:
        """Read on a little, or wait until whoever reads has done so."""
        if self._reading:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
            return
        self._reading = True
        try:
            await self._advance()
        except Exception as error:  # noqa: BLE001 - kept, and raised to everybody who reads
            if self._outcome is None:  # else the block was left under the reader's feet, and there is a result
                self._fail(error)
        finally:
            self._reading = False
            if self._waiters:
                self._wake()

    @abstractmethod
    async def _advance(self) -> None:
        """Read the next of it."""

    def _settle(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def _fail(self, error: BaseException) -> None:
        self._error = error

    def _close(self) -> None:
        """Nothing more is read; what is not read yet is dropped."""
        self._open = False
        self._ready.clear()
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()


class ResultAwaitable(Generic[Outcome]):
    """What `ResultStream.result` gives; await it as often as you like."""

    __slots__ = ("_stream",)

    def __init__(self, stream: ResultStream[Item, Outcome]) -> None:
        self._stream = stream

    def __await__(self) -> Generator[object, None, Outcome]:
        return self._stream.wait_result().__await__()
