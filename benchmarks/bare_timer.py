"""What the machine itself allows: how late a bare timer fires that goes before all else on a core.

A virtual machine is stopped by its host at times, and nothing that runs in it is on time then.
"""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from time import monotonic, sleep

PERIOD_S = 0.002
PRIORITY = 90  # of 99, above all that is measured
PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Stillness:
    """Pauses of the machine since a time."""

    pauses: int = 0
    longest_s: float = 0.0

    def __str__(self) -> str:
        return f"the machine: {self.pauses} pauses over {PAUSE_S * 1000:.0f} ms, longest {self.longest_s * 1000:.0f} ms"


class BareTimer:
    """The timer, in a process of its own."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._before_all = pipe.recv()

    def look(self) -> Stillness | str:
        """What happened since the last look; words if nobody may go before all else here."""
        self._pipe.send("look")
        found = Stillness(*self._pipe.recv())
        return found if self._before_all else "the machine: not known, it refuses real-time priority"


@contextmanager
def bare_timer(core: int | None) -> Iterator[BareTimer]:
    """Watch a core meanwhile."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_watch, args=(there, core), daemon=True)
    process.start()
    there.close()  # so that its end is heard, however it comes
    try:
        yield BareTimer(here)
    finally:
        with suppress(BrokenPipeError):
            here.send("end")
        process.join(10)
        if process.is_alive():
            process.kill()
        here.close()


def _watch(pipe: Pipe, core: int | None) -> None:
    if core is not None:
        os.sched_setaffinity(0, [core])
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        pipe.send(True)
    except (AttributeError, PermissionError):
        pipe.send(False)
    pauses, longest_s, before_s = 0, 0.0, monotonic()
    while True:
        sleep(PERIOD_S)
        now_s = monotonic()
        late_s, before_s = now_s - before_s - PERIOD_S, now_s
        pauses += late_s > PAUSE_S
        longest_s = max(longest_s, late_s)
        if pipe.poll():
            if pipe.recv() == "end":
                return
            pipe.send((pauses, longest_s))
            pauses, longest_s = 0, 0.0
