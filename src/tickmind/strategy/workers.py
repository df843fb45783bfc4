"""Where queries run: threads for clients that block, a background event loop for those that don't.

Not a `ThreadPoolExecutor`, because that can't get rid of a worker whose client never returns: here a stuck worker is
given up and replaced, so it costs its own thread and nothing else.
"""

import queue
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tickmind.base import Clock
from tickmind.llm.sync import BackgroundLoop

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkerStatistics:
    """How busy the workers are."""

    threads: int  # able to take work
    stuck: int  # given up, still not back
    waiting: int  # jobs that no thread has taken yet


class Job(Generic[T]):
    """One piece of work, its outcome, and when it was complete."""

    __slots__ = ("abandoned", "done_at_s", "error", "future", "started", "value", "work")

    def __init__(self, work: Callable[[], T] | None) -> None:
        self.work = work
        self.value: T | None = None
        self.error: BaseException | None = None
        self.done_at_s: float | None = None
        self.started = False
        self.abandoned = False
        self.future: Future[T] | None = None  # of an async job


class Workers:
    """Runs jobs and hands back the finished ones; nothing that the tick calls waits."""

    def __init__(self, *, threads: int, max_stuck: int, clock: Clock) -> None:
        self._wanted = threads
        self._max_stuck = max_stuck
        self._clock = clock
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._waiting = 0
        self._done: deque[Job[Any]] = deque()  # appended by threads, emptied by the tick
        self._lock = threading.Lock()
        self._threads = 0
        self._stuck = 0
        self._loop: BackgroundLoop | None = None
        self._closed = False

    def submit(self, work: Callable[[], T]) -> Job[T]:
        """Run blocking work in a thread."""
        job: Job[T] = Job(work)
        with self._lock:
            self._waiting += 1
            grow = self._threads < self._wanted and not self._closed
            self._threads += grow
        if grow:
            self._start_thread()
        self._jobs.put(job)
        return job

    def submit_async(self, work: Coroutine[Any, Any, T]) -> Job[T]:
        """Run a coroutine on the background loop."""
        if self._loop is None:
            self._loop = BackgroundLoop("tickmind-strategy")
        job: Job[T] = Job(None)
        job.started = True
        job.future = self._loop.submit(work)
        job.future.add_done_callback(lambda future: self._settle_async(job, future))
        return job

    def finished(self) -> list[Job[Any]]:
        """The jobs that have ended since the last time; abandoned ones are left out."""
        found = []
        while self._done:
            job = self._done.popleft()
            if not job.abandoned:
                found.append(job)
        return found

    def abandon(self, job: Job[Any]) -> bool:
        """Let go of a job: an async one is cancelled, a thread that is stuck in one is replaced.

        Tells whether the thread could be replaced; not if too many are stuck already.
        """
        if job.future is not None:
            job.abandoned = True
            job.future.cancel()
            return True
        with self._lock:
            if job.abandoned or job.done_at_s is not None:
                return True
            job.abandoned = True
            if not job.started:
                return True  # no thread has it; whoever takes it drops it
            self._stuck += 1
            self._threads -= 1
            grow = self._stuck <= self._max_stuck and not self._closed
            self._threads += grow
        if grow:
            self._start_thread()
        return grow

    def statistics(self) -> WorkerStatistics:
        """How busy the workers are."""
        with self._lock:
            return WorkerStatistics(self._threads, self._stuck, self._waiting)

    def close(self) -> None:
        """Let idle threads end and cancel what is async; nothing is waited for that may never end."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            threads = self._threads
        for _ in range(threads):
            self._jobs.put(None)
        if self._loop is not None:
            self._loop.close()

    def _start_thread(self) -> None:
        threading.Thread(target=self._work, name="tickmind-strategy-worker", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            with self._lock:
                self._waiting -= 1
                if job.abandoned:
                    continue
                job.started = True
            try:
                job.value = job.work() if job.work is not None else None
            except BaseException as error:  # noqa: BLE001  whatever a client raises is its answer, told at the harvest
                job.error = error
            if not self._hand_in(job):
                return

    def _hand_in(self, job: Job[Any]) -> bool:
        """Give back a finished job; tells whether the thread is still wanted."""
        with self._lock:
            if not job.abandoned:
                job.done_at_s = self._clock.monotonic()
                self._done.append(job)
                return True
            self._stuck -= 1  # this thread was given up, and another may have taken its place
            wanted = self._threads < self._wanted and not self._closed
            self._threads += wanted
            return wanted

    def _settle_async(self, job: Job[Any], future: "Future[Any]") -> None:
        job.done_at_s = self._clock.monotonic()
        if future.cancelled():
            job.error = TimeoutError("the query was cancelled")
        else:
            job.error = future.exception()
            job.value = None if job.error is not None else future.result()
        self._done.append(job)
