"""Run what may hang: blocking handlers in threads of their own, coroutines in tasks; neither can block a run.

A thread can't be killed. A thread that outlives its timeout or its run is abandoned: it goes on, nothing waits for
it, the process may end without it, and it is counted until it returns.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class OverdueError(TimeoutError):
    """The work took longer than it was given; never leaves this package."""


GRACE_S = 0.05  # how long cancelled work may take to clean up


class StuckWork:
    """Count the work that could not be stopped. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = 0
        self._total = 0

    @property
    def now(self) -> int:
        """How many calls still run."""
        return self._now

    @property
    def total(self) -> int:
        """How many calls there ever were."""
        return self._total

    def add(self) -> None:
        """Count one more call."""
        with self._lock:
            self._now += 1
            self._total += 1

    def remove(self) -> None:
        """Count a call that has returned after all."""
        with self._lock:
            self._now -= 1


class _Job:
    """A thread's work and whether a caller still waits for it."""

    def __init__(self, ledgers: tuple[StuckWork, ...]) -> None:
        self._lock = threading.Lock()
        self._ledgers = ledgers
        self._ended = False
        self._abandoned = False

    def abandon(self) -> None:
        with self._lock:
            if self._ended:
                return
            self._abandoned = True
            for ledger in self._ledgers:
                ledger.add()

    def end(self) -> None:
        with self._lock:
            self._ended = True
            if self._abandoned:
                for ledger in self._ledgers:
                    ledger.remove()


def _settle(future: "asyncio.Future[tuple[T | None, BaseException | None]]", value: Any, error: Any) -> None:
    if not future.done():
        future.set_result((value, error))


async def run_in_thread(
    work: Callable[[], T], *, name: str, timeout_s: float | None, ledgers: tuple[StuckWork, ...] = ()
) -> T:
    """Run blocking work in a daemon thread. Raises `OverdueError` when it takes too long, and leaves it to itself."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()
    job = _Job(ledgers)

    def run() -> None:
        value: T | None = None
        error: BaseException | None = None
        try:
            value = context.run(work)
        except BaseException as caught:  # noqa: BLE001 - raised in the waiting task
            error = caught
        job.end()
        try:
            loop.call_soon_threadsafe(_settle, future, value, error)
        except RuntimeError:  # the loop is closed, so no task waits
            return

    threading.Thread(target=run, name=name, daemon=True).start()
    try:
        done, _ = await asyncio.wait({future}, timeout=timeout_s)
    except asyncio.CancelledError:
        job.abandon()
        raise
    if not done:
        job.abandon()
        future.cancel()
        raise OverdueError
    value, error = future.result()
    if error is not None and not isinstance(error, Exception):
        raise InterruptedError(f"it ended with {type(error).__name__}") from error
    if error is not None:
        raise error
    return value  # type: ignore[return-value]  # None only where T is None


async def run_bounded(
    work: Coroutine[Any, Any, T],
    *,
    timeout_s: float | None,
    grace_s: float = GRACE_S,
    ledgers: tuple[StuckWork, ...] = (),
) -> T:
    """Run a coroutine that may ignore its cancellation. Raises `OverdueError` when it takes too long.

    A coroutine that cancels itself counts as having failed with `InterruptedError`; ours alone is a cancellation.
    """
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
    except asyncio.CancelledError:
        await _put_down(task, grace_s, ledgers)
        raise
    if not done:
        await _put_down(task, grace_s, ledgers)
        raise OverdueError
    if task.cancelled():
        raise InterruptedError("it cancelled itself")
    return task.result()


async def _put_down(task: "asyncio.Task[T]", grace_s: float, ledgers: tuple[StuckWork, ...]) -> None:
    task.cancel()
    try:
        await asyncio.wait({task}, timeout=grace_s)
    finally:
        if not task.done():
            for ledger in ledgers:
                ledger.add()
        task.add_done_callback(_Forget(ledgers if not task.done() else ()))


class _Forget:
    """Consume the outcome of an abandoned task."""

    def __init__(self, ledgers: tuple[StuckWork, ...]) -> None:
        self._ledgers = ledgers

    def __call__(self, task: "asyncio.Task[Any]") -> None:
        for ledger in self._ledgers:
            ledger.remove()
        if not task.cancelled():
            task.exception()  # marks it as seen
