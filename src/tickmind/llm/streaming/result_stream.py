"""`ResultStream`: the base of every stream that callers see; yields items and ends in one result to await."""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Generator
from typing import Generic, TypeVar

from tickmind.llm.errors import LLMConfigError

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class ResultStream(AsyncIterator[Item], Generic[Item, Outcome]):
    """Iterate it, await its `result`, or both, in one task or in several; it starts no task of its own.

    One task reads at a time and the others wait for it. A task that awaits the result reads on and leaves the items to
    the tasks that iterate; without any, items are dropped, because a thousand streams hold many of them.
    A stream that failed stays failed: every task gets the same error.

    A subclass reads in `_advance`, puts items into `_ready` and ends with `_settle`.
    """

    def __init__(self) -> None:
        self._open = False
        self._iterated = False
        self._ready: deque[Item] = deque()
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self._reading = False
        self._waiters: list[asyncio.Future[None]] = []  # tasks that wait for the reading task

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
        """An awaitable of the result: inside the block it reads on to the end, after it there is no wait."""
        return ResultAwaitable(self)

    async def wait_result(self) -> Outcome:
        """Read on to the end and return the result, as `await stream.result` does."""
        while self._open and self._outcome is None and self._error is None:
            await self._step()
            if not self._iterated:
                self._ready.clear()
        if self._outcome is not None:
            return self._outcome
        raise self._error or LLMConfigError("open the stream with 'async with' before you await its result")

    async def _step(self) -> None:
        """Read on a little, or wait until the reading task has done so."""
        if self._reading:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
            return
        self._reading = True
        try:
            await self._advance()
        except Exception as error:  # noqa: BLE001 - kept, and raised in every reading task
            if self._outcome is None:  # else another task left the block, and there is a result
                self._fail(error)
        finally:
            self._reading = False
            if self._waiters:
                self._wake()

    @abstractmethod
    async def _advance(self) -> None:
        """Read the next piece."""

    def _settle(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def _fail(self, error: BaseException) -> None:
        self._error = error

    def _close(self) -> None:
        """Stop reading and drop what is not read yet."""
        self._open = False
        self._ready.clear()
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()


class ResultAwaitable(Generic[Outcome]):
    """The awaitable of a stream's result; await it as often as you like."""

    __slots__ = ("_stream",)

    def __init__(self, stream: ResultStream[Item, Outcome]) -> None:
        self._stream = stream

    def __await__(self) -> Generator[object, None, Outcome]:
        return self._stream.wait_result().__await__()
