"""Deterministic time for tests, demonstrations and experiments: a strategic layer in the time of its ticks.

    clock = SimulatedClock()
    manager.register_client(MockClient(reply, latency=(4, 30), sleep=clock.sleep_ticks))
    engine.add_system(make_simulated_system(manager, clock))
    engine.run(300)  # as fast as the machine can, and each run alike

A blocking client is called in the tick in which it is asked, and its result is withheld until its simulated
latency is over. So no thread is at work, and answers arrive in the same tick of every run. An async client, such as a
`ModelClient` over a cassette, is waited for, and its answer counts as instant. A `SlotModel` answers as a model on one
machine does: so many at once, while the others wait.
"""

import random
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tickmind.base import ManualClock
from tickmind.strategy.clients.workers import Workers, WorkerStatistics, WorkItem
from tickmind.strategy.errors import CAUGHT
from tickmind.strategy.manager import LLMManager
from tickmind.strategy.system import SETTLING_S, LLMSystem

if TYPE_CHECKING:
    from tickmind.tick import TickContext, World

__all__ = ["SimulatedClock", "SimulatedSystem", "SlotModel", "make_simulated_system"]

T = TypeVar("T")
_ROUNDING_S = 1e-6  # a latency of exactly one tick is over in the next one


class SimulatedClock(ManualClock):
    """The time of the ticks. A client that sleeps on it takes that long, and its answer comes so many ticks later."""

    def __init__(self) -> None:
        super().__init__()
        self.tick_s = 0.05  # seconds per tick, as the engine says
        self._slept_s: float | None = None  # by the call that is being made; None: there is none

    def sleep(self, seconds: float) -> None:
        """Make the current call take longer; outside of a call, advance the time."""
        if self._slept_s is None:
            super().sleep(seconds)
        else:
            self._slept_s += max(0.0, seconds)

    def sleep_ticks(self, ticks: float) -> None:
        """Make the current call take so many ticks longer; the next tick is the first that can have its answer."""
        self.sleep(ticks * self.tick_s)

    def time_call(self, work: Callable[[], None]) -> float:
        """Make a call, and return how many simulated seconds it took."""
        self._slept_s = 0.0
        try:
            work()
        finally:
            slept_s, self._slept_s = self._slept_s, None
        return slept_s


class SlotModel:
    """A client like a model with so many slots: each answer takes `service_ticks` in one, others wait for a slot.

    An abandoned question keeps its slot to the end, as in a model that can't be cancelled. `service_ticks` may be
    changed at any time.
    """

    def __init__(
        self,
        clock: SimulatedClock,
        service_ticks: tuple[float, float],
        *,
        slots: int = 1,
        reply: Callable[[str, str], str] = lambda _system_prompt, _user_message: "{}",
        seed: int = 0,
    ) -> None:
        self._clock = clock
        self._free_at_s = [0.0] * slots
        self._reply = reply
        self._random = random.Random(seed)
        self.service_ticks = service_ticks
        self.calls = 0
        self.busy_ticks = 0.0  # of all slots together

    def query(self, system_prompt: str, user_message: str) -> str:
        """Answer when a slot has had the time for it."""
        self.calls += 1
        now_s = self._clock.monotonic()
        slot = min(range(len(self._free_at_s)), key=self._free_at_s.__getitem__)
        ticks = self._random.uniform(*self.service_ticks)
        self.busy_ticks += ticks
        self._free_at_s[slot] = max(self._free_at_s[slot], now_s) + ticks * self._clock.tick_s
        self._clock.sleep(self._free_at_s[slot] - now_s)
        return self._reply(system_prompt, user_message)


class SimulatedWorkers(Workers):
    """Make calls at once and withhold their outcomes; `threads` calls are under way at a time, others wait."""

    def __init__(self, *, threads: int, clock: SimulatedClock) -> None:
        super().__init__(threads=threads, max_stuck=0, clock=clock)
        self._time = clock
        self._queue: deque[WorkItem[Any]] = deque()
        self._under_way: list[tuple[float, WorkItem[Any]]] = []  # when each is complete
        self._on_loop: list[WorkItem[Any]] = []  # async ones

    def submit(self, work: Callable[[], T]) -> WorkItem[T]:
        """Make a blocking call as soon as one of the threads would be free."""
        job = WorkItem(work)
        self._queue.append(job)
        self._begin()
        return job

    def submit_async(self, work: Coroutine[Any, Any, T]) -> WorkItem[T]:
        """Run a coroutine on the background loop; the tick waits for it."""
        job = super().submit_async(work)
        self._on_loop.append(job)
        return job

    def finished(self) -> list[WorkItem[Any]]:
        """Return the jobs that are complete by now, in the order of submission."""
        now_s = self._time.monotonic() + _ROUNDING_S
        for done_at_s, job in self._under_way:
            if done_at_s <= now_s:
                job.done_at_s = done_at_s
                self._done.append(job)
        self._under_way = [entry for entry in self._under_way if entry[0] > now_s]
        self._begin()
        return super().finished()

    def abandon(self, jobs: Iterable[WorkItem[Any]], *, overdue: bool = False) -> None:
        """Drop jobs; a call that was made is forgotten, as if its thread had been replaced."""
        dropped = {job for job in jobs if job.done_at_s is None}
        super().abandon([job for job in dropped if job.future is not None], overdue=overdue)
        for job in dropped:
            job.abandoned = True
            job.done_at_s = self._time.monotonic()
        self._queue = deque(job for job in self._queue if job not in dropped)
        self._under_way = [entry for entry in self._under_way if entry[1] not in dropped]

    def settle(self, jobs: Sequence[WorkItem[Any]], timeout_s: float) -> bool:
        """Wait for async jobs; a job with a simulated latency is complete when its tick comes."""
        return super().settle([job for job in jobs if job.future is not None], timeout_s)

    def settle_loop(self) -> bool:
        """Wait for all async jobs."""
        jobs, self._on_loop = self._on_loop, []
        return self.settle([job for job in jobs if not job.abandoned], SETTLING_S)

    def statistics(self) -> WorkerStatistics:
        """Return how many calls could be under way, and how many wait."""
        return WorkerStatistics(self._wanted, 0, len(self._queue))

    def _begin(self) -> None:
        while self._queue and len(self._under_way) < self._wanted:
            job = self._queue.popleft()
            job.started_at_s = self._time.monotonic()
            took_s = self._time.time_call(lambda job=job: _make(job))  # type: ignore[misc]  # mypy infers no default
            self._under_way.append((job.started_at_s + took_s, job))


def _make(job: WorkItem[Any]) -> None:
    try:
        job.value = job.work() if job.work is not None else None
    except (*CAUGHT, SystemExit) as error:  # reported to on_error when the answer would have come
        job.error = error


class SimulatedSystem(LLMSystem):
    """The strategic layer in simulated time; make it with `make_simulated_system`."""

    def __init__(self, manager: LLMManager, clock: SimulatedClock) -> None:
        self._simulated = SimulatedWorkers(threads=manager.config.thread_pool_size, clock=clock)
        super().__init__(manager, clock, self._simulated)
        self.clock = clock

    def __call__(self, world: "World", ctx: "TickContext") -> None:
        """Run one tick, and advance the simulated time by it."""
        self.clock.tick_s = ctx.dt
        self.clock.advance(ctx.dt)
        super().__call__(world, ctx)
        if not self._simulated.settle_loop():
            raise TimeoutError(f"an async client gave no answer within {SETTLING_S:g} s of real time")


def make_simulated_system(manager: LLMManager, clock: SimulatedClock | None = None) -> SimulatedSystem:
    """Make the strategic layer as `make_llm_system` does, but in the time of its ticks, for one engine.

    `max_queries_per_second` counts simulated seconds; with None there is no such limit. Pass the clock on which clients
    sleep, if they do.
    """
    return SimulatedSystem(manager, clock or SimulatedClock())
