"""Executors: where trials run. The port is small, so that other machines fit behind it.

with ProcessExecutor(2) as executor:
    executor.submit(run_trial, order).result()

A worker reads the programs and measures that an order names, and writes below the order's folder, so it needs the file
system of the process that submits.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Final, Protocol, Self, TypeVar

from tickmind.base import configure_logging
from tickmind.base.process_guard import guard_process

OrderT = TypeVar("OrderT")
AnswerT = TypeVar("AnswerT")
_START: Final = "spawn"  # a fork would copy the threads' locks of the process that starts it


class Executor(Protocol):
    """Does work elsewhere. Work and its order are sent, so both must be picklable.

    `submit` returns a future of `concurrent.futures`, on which the caller waits from another thread than the one that
    fulfils it.
    """

    @property
    def workers(self) -> int:
        """How many orders are done at once; more may be submitted, and wait."""
        ...

    def submit(self, work: Callable[[OrderT], AnswerT], order: OrderT) -> "Future[AnswerT]":
        """Begin one order; its future raises `BrokenExecutor` if the worker ended before it was done.

        The executor goes on after that: the next order gets another worker.
        """
        ...

    def close(self) -> None:
        """End the workers, also those that still work."""
        ...


class ProcessExecutor:
    """Does work in processes of this machine. None of them outlives the one that started them."""

    def __init__(self, workers: int, *, log_level: str = "error") -> None:
        self.workers = workers
        self._log_level = log_level
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, work: Callable[[OrderT], AnswerT], order: OrderT) -> "Future[AnswerT]":
        """Begin one order; after a worker ended by itself, its pool is replaced."""
        try:
            return self._get().submit(work, order)
        except BrokenProcessPool:
            self.close()
            return self._get().submit(work, order)

    def _get(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context(_START)
            self._pool = ProcessPoolExecutor(self.workers, context, _begin_worker, (self._log_level,))
        return self._pool

    def close(self) -> None:
        """End the workers at once; what they were doing is lost, and is done again by the next experiment."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        workers = list((pool._processes or {}).values())  # noqa: SLF001  there is no public way to end them
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _begin_worker(log_level: str) -> None:
    """Prepare a worker: Ctrl-C is for the process that started it, and without that process it ends."""
    guard_process()
    configure_logging(level=log_level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), name="parent-watch", daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)  # the main thread may be in the middle of a trial
