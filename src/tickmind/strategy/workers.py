"""Where queries run: threads for clients that block, a background event loop for those that don't.

Not a `ThreadPoolExecutor`, because that can't get rid of a worker whose client never returns: here a stuck worker is
given up and replaced, so it costs its own thread and nothing else. So is a loop that an async client blocks.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tickmind.base import Clock
from tickmind.base.background import BackgroundLoop
from tickmind.llm.deliberation import Contained, sign_of_life
from tickmind.llm.sync import background_loop

T = TypeVar("T")

LOOP_PATIENCE_S = 5.0  # a loop that gives no sign of life for so long after a timeout is blocked
CLOSING_S = 2.0  # how long closing waits for cancelled coroutines
_log = logging.getLogger("tickmind.strategy")


@dataclass(frozen=True, slots=True)
class WorkerStatistics:
    """How busy the workers are."""

    threads: int  # able to take work
    stuck: int  # given up, still not back
    waiting: int  # jobs that no thread has taken yet


class Job(Generic[T]):
    """One piece of work, its outcome, and when it was complete."""

    __slots__ = ("abandoned", "done_at_s", "error", "future", "started", "value", "work")

    def __init__(self, work: Callable[[], T] | None = None) -> None:
        self.work = work
        self.value: T | None = None
        self.error: BaseException | None = None
        self.done_at_s: float | None = None
        self.started = False
        self.abandoned = False
        self.future: Future[T] | None = None  # of an async job


class Workers:
    """Runs jobs and hands back the finished ones; nothing that the tick calls waits.

    One thread, that of the ticks, submits, abandons and collects. `threads` work at once; beyond them at most
    `max_stuck` are given up at any time, and then blocking jobs wait until one of those comes back.
    """

    def __init__(self, *, threads: int, max_stuck: int, clock: Clock) -> None:
        self._wanted = threads
        self._max_stuck = max_stuck
        self._clock = clock
        self._done: deque[Job[Any]] = deque()  # appended by threads, emptied by the tick
        self._changed = threading.Condition()  # guards what follows
        self._jobs: deque[Job[Any]] = deque()  # that no thread has taken yet
        self._threads = 0
        self._idle = 0
        self._stuck = 0
        self._shift = 0  # closing begins a new one, and threads of an old one end
        self._told_full = False
        self._loop: BackgroundLoop | None = None
        self._life: Future[None] | None = None  # what the loop was last asked for
        self._life_asked_at_s = 0.0

    def submit(self, work: Callable[[], T]) -> Job[T]:
        """Run blocking work in a thread."""
        job = Job(work)
        with self._changed:
            self._jobs.append(job)
            grows = self._idle < len(self._jobs) and self._may_grow()
            self._threads += grows
            self._changed.notify()
        if grows:
            self._start_thread()
        return job

    def submit_async(self, work: Coroutine[Any, Any, T]) -> Job[T]:
        """Run a coroutine on the background loop."""
        job: Job[T] = Job()
        job.started = True
        try:
            if self._loop is None or self._is_blocked():
                self._loop, self._life = background_loop("tickmind-strategy"), None
            job.future = self._loop.submit(Contained(work))
        except BaseException:
            work.close()
            raise
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

    def abandon(self, job: Job[Any], *, overdue: bool = False) -> None:
        """Let go of a job: an async one is cancelled, a thread that is stuck in one is replaced if that is allowed.

        The log hears of a thread only if its job is overdue; else nobody can say that its client does not return.
        """
        if job.future is not None:
            job.abandoned = True
            job.future.cancel()
            self._ask_for_life()
            return
        with self._changed:
            if job.abandoned or job.done_at_s is not None:
                return
            job.abandoned = True
            if not job.started:
                self._jobs.remove(job)
                return
            self._stuck += 1
            self._threads -= 1
            grows = len(self._jobs) > self._idle and self._may_grow()
            self._threads += grows
            stuck = self._stuck
        if grows:
            self._start_thread()
        if overdue:
            _log.warning(
                "a client does not return, so its thread is given up; threads that are stuck by now: %d", stuck
            )

    def statistics(self) -> WorkerStatistics:
        """How busy the workers are."""
        with self._changed:
            return WorkerStatistics(self._threads, self._stuck, len(self._jobs))

    def close(self, farewells: Sequence[Callable[[], Coroutine[Any, Any, object]]] = ()) -> None:
        """Let idle threads end and cancel what is async; nothing is waited for that may never end.

        If there is a loop, the farewells run on it before it ends. Work that is submitted later starts new threads.
        """
        with self._changed:
            self._shift += 1
            self._threads = self._idle = 0
            for job in self._jobs:
                job.abandoned = True
            self._jobs.clear()
            self._changed.notify_all()
        if self._loop is not None:
            _closing(self._loop, farewells).join(CLOSING_S)
            self._loop = self._life = None

    # Threads

    def _may_grow(self) -> bool:
        """Whether there may be one more thread; called with the lock held."""
        if self._threads >= self._wanted:
            return False
        full = self._threads + self._stuck >= self._wanted + self._max_stuck
        if full and not self._told_full:
            _log.error("%d threads are stuck in clients that don't return; others are not replaced", self._stuck)
        self._told_full = full
        return not full

    def _start_thread(self) -> None:
        try:
            threading.Thread(
                target=self._work, args=(self._shift,), name="tickmind-strategy-worker", daemon=True
            ).start()
        except RuntimeError:
            with self._changed:
                self._threads -= 1
            _log.exception("the system gives no more threads; queries wait for those that there are")

    def _work(self, shift: int) -> None:
        while (job := self._next_job(shift)) is not None:
            try:
                job.value = job.work() if job.work is not None else None
            except BaseException as error:  # noqa: BLE001  whatever a client raises is its answer, told at the harvest
                job.error = error
            if not self._hand_in(job, shift):
                return
            del job  # an idle thread holds on to no prompt

    def _next_job(self, shift: int) -> Job[Any] | None:
        """Wait for work; None means that the thread is no longer wanted."""
        with self._changed:
            self._idle += shift == self._shift
            while shift == self._shift and not self._jobs:
                self._changed.wait()
            if shift != self._shift:
                return None
            self._idle -= 1
            job = self._jobs.popleft()
            job.started = True
            return job

    def _hand_in(self, job: Job[Any], shift: int) -> bool:
        """Give back a finished job; tells whether the thread is still wanted."""
        with self._changed:
            if not job.abandoned:
                job.done_at_s = self._clock.monotonic()
                self._done.append(job)
                return True
            self._stuck -= 1  # this thread was given up, and another may have taken its place
            wanted = self._threads < self._wanted and shift == self._shift
            self._threads += wanted
            return wanted

    # The loop

    def _settle_async(self, job: Job[Any], future: "Future[Any]") -> None:
        job.done_at_s = self._clock.monotonic()
        if future.cancelled():
            job.error = TimeoutError("the query was cancelled")
        else:
            job.error = future.exception()
            job.value = None if job.error is not None else future.result()
        self._done.append(job)

    def _ask_for_life(self) -> None:
        if self._loop is not None and (self._life is None or self._life.done()):
            self._life = self._loop.submit(sign_of_life())
            self._life_asked_at_s = self._clock.monotonic()

    def _is_blocked(self) -> bool:
        """Whether some coroutine holds the loop up; such a loop counts as a stuck thread until it is back."""
        loop, life = self._loop, self._life
        if loop is None or life is None or life.done():
            return False
        if self._clock.monotonic() - self._life_asked_at_s < LOOP_PATIENCE_S:
            return False
        with self._changed:
            if self._stuck >= self._max_stuck:
                return False
            self._stuck += 1
        _log.error("an async client blocks its event loop; the loop is given up and another takes its place")
        loop.give_up()
        life.add_done_callback(lambda _: self._loop_came_back(loop))
        return True

    def _loop_came_back(self, loop: BackgroundLoop) -> None:
        with self._changed:
            self._stuck -= 1
        _closing(loop)


def _closing(
    loop: BackgroundLoop, farewells: Sequence[Callable[[], Coroutine[Any, Any, object]]] = ()
) -> threading.Thread:
    closer = threading.Thread(target=_close, args=(loop, farewells), name="tickmind-strategy-closer", daemon=True)
    closer.start()
    return closer


def _close(loop: BackgroundLoop, farewells: Sequence[Callable[[], Coroutine[Any, Any, object]]]) -> None:
    for farewell in farewells:
        try:
            loop.run(Contained(farewell()))
        except Exception:  # noqa: BLE001  a client is anybody's code, and the others are to be closed all the same
            _log.warning("a client could not be closed", exc_info=True)
    loop.close()
