"""`BackgroundLoop`, an event loop in a thread of its own for blocking interfaces, and the end of listening servers."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")
ACCEPT_TURNS = 4  # of a loop, from an accepted socket to its connection

_given_up: "WeakSet[asyncio.AbstractEventLoop]" = WeakSet()


def is_over(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether a loop is closed, or abandoned because something blocks it: its clients may move to another."""
    return loop.is_closed() or loop in _given_up


async def close_listener(server: asyncio.Server) -> None:
    """Accept no more connections, and close a server when those that it has accepted are made.

    asyncio drops a connection, unclosed, whose server is closed between the two.
    """
    loop = asyncio.get_running_loop()
    if isinstance(loop, asyncio.SelectorEventLoop):
        for listening in server.sockets:
            loop.remove_reader(listening.fileno())
        for _ in range(ACCEPT_TURNS):
            await asyncio.sleep(0)
    server.close()


class BackgroundLoop:
    """Run async work for threads without a loop. It starts at once and ends with `close`.

    `refuse` and `cancelled` make the errors, from a message, for a call that is not possible and one that is cut
    short; `instead` names what to use within an event loop.
    """

    def __init__(
        self,
        name: str,
        *,
        refuse: Callable[[str], Exception],
        cancelled: Callable[[str], Exception],
        instead: str,
    ) -> None:
        self._refuse = refuse
        self._cancelled = cancelled
        self._instead = instead
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._lock = threading.Lock()
        self._closed = False
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start work on the loop."""
        with self._lock:
            if self._closed:
                work.close()
                raise self._refuse("this client is closed; make a new one")
            if threading.current_thread() is self._thread:
                work.close()
                message = "a blocking call inside its own event loop would wait for ever"
                raise self._refuse(f"{message}; use {self._instead}")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work on the loop and wait for it; an interrupt of the waiting thread cancels it."""
        future = self.submit(work)
        try:
            return future.result()
        except CancelledError:
            raise self._cancelled("the call was cancelled because its client was closed") from None
        except BaseException:
            future.cancel()
            raise

    def iterate(self, stream: AsyncIterator[T]) -> Iterator[T]:
        """Yield the items of a stream; leaving the iteration ends the stream."""

        async def following() -> tuple[bool, T | None]:
            try:
                return True, await anext(stream)
            except StopAsyncIteration:
                return False, None

        try:
            while True:
                there_is_one, item = self.run(following())
                if not there_is_one:
                    return
                yield item  # type: ignore[misc]  # None only where the stream holds None
        finally:
            if not self._closed and hasattr(stream, "aclose"):
                self.run(stream.aclose())

    def give_up(self) -> None:
        """Mark the loop as blocked, so that its clients go on in another one."""
        _given_up.add(self._loop)

    def close(self) -> None:
        """Cancel running work and end the thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()
