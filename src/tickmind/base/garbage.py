"""Control of Python's garbage collector, to keep it out of the part of a tick in which agents wait for an answer."""

import gc

WHOLE_EVERY_TICKS = 60


def settle() -> None:
    """Freeze all existing objects, so that the collector never scans them; call it at the end of a program's start."""
    gc.collect()
    gc.freeze()


class GarbageKeeper:
    """Collect garbage only at chosen times. It controls the whole process, so programs choose it, not libraries.

    Objects that exist at the start stay for good and are never scanned: nearly all of them are code. With `most_young`
    Python still collects by itself once there are so many new objects, for programs whose ticks may stop. `phase` says
    at which tick everything is scanned, so that several processes do not all do so in the same one.
    """

    def __init__(self, *, most_young: int | None = None, phase: int = 0) -> None:
        self._most_young = most_young
        self._ticks = phase
        self._settled = False
        self._usual = gc.get_threshold()

    def start(self) -> None:
        """Take control of the collector."""
        gc.freeze()
        if self._most_young is None:
            gc.disable()
        else:
            self._usual = gc.get_threshold()
            gc.set_threshold(self._most_young, *self._usual[1:])

    def collect(self) -> None:
        """Collect young objects, and at intervals all; call it once a tick, when no agent waits."""
        if not self._settled:  # objects since the start are mostly code that was loaded late
            self._settled = True
            settle()
        self._ticks += 1
        gc.collect(2 if self._ticks % WHOLE_EVERY_TICKS == 0 else 1)

    def stop(self) -> None:
        """Return control to Python."""
        gc.enable()
        gc.set_threshold(*self._usual)
        gc.unfreeze()
