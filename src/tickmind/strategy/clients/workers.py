"""`Workers`: run queries, in threads for blocking clients and on a background event loop for async ones.

Not a `ThreadPoolExecutor`, because that can't get rid of a worker whose client never returns: here a stuck worker is
abandoned and replaced, so it costs its own thread and nothing else. So is a loop that an async client blocks.
"""

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count
from operator import attrgetter
from typing import Any, Generic, TypeVar

from tickmind.base import Clock
from tickmind.base.background import BackgroundLoop
from tickmind.llm.sync import background_loop
from tickmind.strategy.clients.contained import Contained, sign_of_life

T = TypeVar("T")

LOOP_PATIENCE_S = 5.0  # a loop that does not respond for so long after a timeout counts as blocked
CLOSING_S = 2.0  # how long closing waits for cancelled coroutines
_numbers = count(1)  # of jobs
_log = logging.getLogger("tickmind.strategy")


@dataclass(frozen=True, slots=True)
class WorkerStatistics:
    """The load of the workers."""

    threads: int  # available for work
    stuck: int  # abandoned and not back
    waiting: int  # jobs that no thread has taken yet


class WorkItem(Generic[T]):
    """One piece of work, its outcome, when it began and when it was complete."""

    __slots__ = (
        "abandoned",
        "done_at_s",
        "error",
        "future",
        "left",
        "number",
        "shift",
        "started_at_s",
        "stuck",
        "value",
        "work",
    )

    def __init__(self, work: Callable[[], T] | None = None) -> None:
        self.number = next(_numbers)  # keeps jobs that end in one tick in order of submission
        self.work = work
        self.value: T | None = None
        self.error: BaseException | None = None
        self.started_at_s: float | None = None
        self.done_at_s: float | None = None
        self.abandoned = False
        self.left = False  # no agent waits for it, and another thread may replace its own
        self.stuck = False  # its thread was abandoned
        self.shift = 0  # of the thread that took it
        self.future: Future[T] | None = None  # of an async job

    @property
    def holds_thread(self) -> bool:
        """Whether a thread that was not abandoned works on it."""
        return self.future is None and self.started_at_s is not None and self.done_at_s is None and not self.stuck


class Workers:
    """Run jobs and return the finished ones; nothing that the tick calls waits.

    One thread, that of the ticks, submits, abandons and collects. `threads` work at once; beyond them at most
    `max_stuck` are abandoned at any time, and then blocking jobs wait until one of those comes back. A call that is
    abandoned before it is overdue may be healthy, so it is not stuck; at most `threads` such calls are left to
    end by themselves while others take their place.
    """

    def __init__(self, *, threads: int, max_stuck: int, clock: Clock) -> None:
        self._wanted = threads
        self._max_stuck = max_stuck
        self._clock = clock
        self._done: deque[WorkItem[Any]] = deque()  # appended by threads, emptied by the tick
        lock = threading.Lock()
        self._completed = threading.Condition(lock)  # for settle(): a job is done
        self._changed = threading.Condition(lock)  # guards what follows
        self._jobs: OrderedDict[WorkItem[Any], None] = OrderedDict()  # that no thread has taken yet, the oldest first
        self._settling = 0  # callers of settle() that wait
        self._threads = 0
        self._idle = 0
        self._stuck = 0
        self._left = 0  # threads whose result no agent waits for, and not overdue
        self._shift = 0  # closing starts a new shift, and threads of an old one end
        self._told_full = False
        self._loop: BackgroundLoop | None = None
        self._life: Future[None] | None = None  # the last probe of the loop
        self._life_asked_at_s = 0.0

    def submit(self, work: Callable[[], T]) -> WorkItem[T]:
        """Run blocking work in a thread."""
        job = WorkItem(work)
        with self._changed:
            self._jobs[job] = None
            grows = self._grow(1)
            if self._idle:
                self._changed.notify()
        if grows:
            self._start_thread()
        return job

    def submit_async(self, work: Coroutine[Any, Any, T]) -> WorkItem[T]:
        """Run a coroutine on the background loop."""
        job: WorkItem[T] = WorkItem()
        job.started_at_s = self._clock.monotonic()
        try:
            if self._loop is None or self._is_blocked():
                self._loop, self._life = background_loop("tickmind-strategy"), None
            job.future = self._loop.submit(Contained(work))
        except BaseException:
            work.close()
            raise
        job.future.add_done_callback(lambda future: self._settle_async(job, future))
        return job

    def finished(self) -> list[WorkItem[Any]]:
        """Return the jobs that have ended since the last call, in the order of submission, without abandoned ones.

        The places of calls that were left are filled here and not when they are left: jobs that wait for a thread may
        be abandoned in the same tick.
        """
        if self._jobs and self._left:
            with self._changed:
                grows = self._grow(self._wanted)
            for _ in range(grows):
                self._start_thread()
        finished = []
        while self._done:
            job = self._done.popleft()
            if not job.abandoned:
                finished.append(job)
        if len(finished) > 1:
            finished.sort(key=attrgetter("number"))
        return finished

    def settle(self, jobs: Sequence[WorkItem[Any]], timeout_s: float) -> bool:
        """Wait until the jobs are complete; False if some are not within `timeout_s` of real time."""
        with self._completed:
            self._settling += 1
            try:
                return self._completed.wait_for(lambda: all(job.done_at_s is not None for job in jobs), timeout_s)
            finally:
                self._settling -= 1

    def abandon(self, jobs: Iterable[WorkItem[Any]], *, overdue: bool = False) -> None:
        """Drop jobs. Those that no thread has taken go first, so that dropping the others starts none of them.

        Cancel async ones. A thread at work counts as healthy until its job is `overdue`; then the thread is abandoned
        and replaced, if that is allowed, and a warning is logged.
        """
        running: list[WorkItem[Any]] = []
        with self._changed:
            for job in jobs:
                if job.done_at_s is not None:
                    continue
                job.abandoned = True
                if job.started_at_s is not None:
                    running.append(job)
                else:
                    self._jobs.pop(job, None)
            given_up = [job for job in running if overdue and job.holds_thread]
            for job in running:
                if job.holds_thread:
                    self._vacate(job, overdue=overdue)
            grows = self._grow(len(given_up))
            stuck = self._stuck
        for _ in range(grows):
            self._start_thread()
        if given_up:
            number = f"{len(given_up)} clients" if len(given_up) > 1 else "1 client"
            _log.warning("%s did not return; abandoned the threads, %d are stuck now", number, stuck)
        if any(job.future is not None for job in running):
            for job in running:
                if job.future is not None:
                    job.future.cancel()
            self._ask_for_life()

    def _vacate(self, job: WorkItem[Any], *, overdue: bool) -> None:
        """Count the thread of a job as stuck, or as left if there is room for that; called with the lock held."""
        if job.left:
            if not overdue:
                return
            job.left = False
            self._left -= 1
        elif overdue or self._left < self._wanted:
            self._threads -= job.shift == self._shift
        else:
            return  # too many are left already, so its place stays taken
        if overdue:
            job.stuck = True
            self._stuck += 1
        else:
            job.left = True
            self._left += 1

    def _grow(self, most: int) -> int:
        """Add as many new threads as the queue needs and limits allow; called with the lock held."""
        grows = 0
        while grows < most and len(self._jobs) > self._idle + grows and self._may_grow():
            self._threads += 1
            grows += 1
        return grows

    def statistics(self) -> WorkerStatistics:
        """Return the load of the workers."""
        with self._changed:
            return WorkerStatistics(self._threads, self._stuck, len(self._jobs))

    def close(self, farewells: Sequence[Callable[[], Coroutine[Any, Any, object]]] = ()) -> None:
        """Let idle threads end and cancel async jobs; waits for nothing that may never end.

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
        """Return whether there may be one more thread; called with the lock held."""
        if self._threads >= self._wanted:
            return False
        full = self._threads + self._stuck >= self._wanted + self._max_stuck
        if full and not self._told_full:
            _log.error("%d threads are stuck in clients that don't return; no more are replaced", self._stuck)
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
            _log.exception("can't start another thread; queries wait for the existing ones")

    def _work(self, shift: int) -> None:
        while (job := self._next_job(shift)) is not None:
            try:
                job.value = job.work() if job.work is not None else None
            except BaseException as error:  # noqa: BLE001  what a client raises is its outcome, reported at the harvest
                job.error = error
            if not self._hand_in(job, shift):
                return
            del job  # an idle thread must not keep a prompt in memory

    def _next_job(self, shift: int) -> WorkItem[Any] | None:
        """Wait for work; None means that the thread is no longer needed."""
        with self._changed:
            self._idle += shift == self._shift
            while shift == self._shift and not self._jobs:
                self._changed.wait()
            if shift != self._shift:
                return None
            self._idle -= 1
            job = self._jobs.popitem(last=False)[0]
            job.shift = shift
            job.started_at_s = self._clock.monotonic()
            return job

    def _hand_in(self, job: WorkItem[Any], shift: int) -> bool:
        """Hand over a finished job and return whether the thread is still needed."""
        with self._changed:
            job.done_at_s = self._clock.monotonic()
            if not job.abandoned:
                self._done.append(job)
            if self._settling:
                self._completed.notify_all()
            if not job.stuck and not job.left:
                return shift == self._shift
            self._stuck -= job.stuck
            self._left -= job.left
            job.stuck = job.left = False  # another thread may have replaced this one
            wanted = self._threads < self._wanted and shift == self._shift
            self._threads += wanted
            return wanted

    # The loop

    def _settle_async(self, job: WorkItem[Any], future: "Future[Any]") -> None:
        if future.cancelled():
            job.error = TimeoutError("the query was cancelled")
        else:
            job.error = future.exception()
            job.value = None if job.error is not None else future.result()
        with self._completed:
            job.done_at_s = self._clock.monotonic()
            self._done.append(job)
            if self._settling:
                self._completed.notify_all()

    def _ask_for_life(self) -> None:
        if self._loop is not None and (self._life is None or self._life.done()):
            self._life = self._loop.submit(sign_of_life())
            self._life_asked_at_s = self._clock.monotonic()

    def _is_blocked(self) -> bool:
        """Return whether some coroutine blocks the loop; such a loop counts as a stuck thread until it is back."""
        loop, life = self._loop, self._life
        if loop is None or life is None or life.done():
            return False
        if self._clock.monotonic() - self._life_asked_at_s < LOOP_PATIENCE_S:
            return False
        with self._changed:
            if self._stuck >= self._max_stuck:
                return False
            self._stuck += 1
        _log.error("an async client blocks its event loop; abandoned the loop and started another")
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
        except Exception:  # noqa: BLE001  a client is user code, and the others must be closed too
            _log.warning("can't close a client", exc_info=True)
    loop.close()
