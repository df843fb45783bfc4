"""An event loop whose time is a number: it jumps to whatever is due next, so that a minute takes no time at all.

Everything on it runs in one thread and in one order, so the same seed gives the same history. Work that is handed to a
thread runs here too, after a while that its process decides.
"""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from tickmind.record.testing import CrashedError

T = TypeVar("T")
STEP_S = 1e-6  # what one turn of the loop takes, so that nobody can wait for a time that never comes
MOST_TURNS = 400_000


class StuckError(AssertionError):
    """Nothing can ever happen again, or the same things happen without end."""


class Owner(Protocol):
    """A simulated process, as the loop sees it."""

    alive: bool
    tasks: "set[asyncio.Task[Any]]"

    def thread_delays_s(self) -> tuple[float, float]:
        """How long it takes until a thread does its work, and from then until that is known."""
        ...

    def die(self) -> None:
        """Stop at once."""
        ...


OWNER: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("OWNER", default=None)


class SimLoop(asyncio.BaseEventLoop):
    """A deterministic event loop with a time of its own. It has no sockets, signals or threads."""

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0
        self._turns = 0
        self._selector = self  # what the base class waits on

    def time(self) -> float:
        return self._now_s

    def select(self, timeout: float | None) -> tuple[()]:
        """Wait for nothing but time."""
        self._turns += 1
        if timeout is None:
            raise StuckError("nothing will ever happen again")
        if self._turns > MOST_TURNS:
            raise StuckError(f"{MOST_TURNS} turns took the simulation only to {self._now_s:.3f} s")
        self._now_s += max(timeout, 0.0) + STEP_S
        return ()

    def _process_events(self, _events: tuple[()]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def create_task(self, coro: Coroutine[Any, Any, T], **given: Any) -> "asyncio.Task[T]":  # type: ignore[override]  # the base class has forms for several versions of Python
        task: asyncio.Task[T] = super().create_task(coro, **given)
        context = given.get("context")
        owner = OWNER.get() if context is None else context.get(OWNER)
        if owner is not None:
            owner.tasks.add(task)
            task.add_done_callback(owner.tasks.discard)
        return task

    def run_in_executor(self, _executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":  # type: ignore[override]  # as above
        """Run it here, later; a process that is killed meanwhile never gets there."""
        owner = OWNER.get()
        done: asyncio.Future[T] = self.create_future()

        def work() -> None:
            if owner is not None and not owner.alive:
                return
            try:
                result = func(*args)
            except CrashedError:
                assert owner is not None, "only processes are killed"
                owner.die()
            except Exception as error:  # noqa: BLE001 - whoever waits for it gets it
                self.call_later(rest_s, tell, done.set_exception, error)
            else:
                self.call_later(rest_s, tell, done.set_result, result)

        def tell(how: Callable[[Any], None], what: Any) -> None:
            if not done.done() and (owner is None or owner.alive):
                how(what)

        work_s, rest_s = owner.thread_delays_s() if owner is not None else (0.0, 0.0)
        self.call_later(work_s, work)
        return done


def simulate(main: Coroutine[Any, Any, T]) -> T:
    """Run a whole history."""
    with asyncio.Runner(loop_factory=SimLoop) as runner:
        return runner.run(main)
