"""Python's garbage collector, kept out of the part of a tick in which somebody waits for an answer."""

import gc

WHOLE_EVERY_TICKS = 60


def settle() -> None:
    """Keep what is there for good, and never look through it again; for programs, at the end of their start."""
    gc.collect()
    gc.freeze()


class GarbageKeeper:
    """Collects garbage when it is told to. It rules over the whole process, so programs choose it, not libraries.

    What is there at the start stays for good, and is never looked at: nearly all of it is code. With `most_young`
    Python still collects by itself once there are so many new objects, for programs whose ticks may stop. `phase` says
    at which tick everything is looked at, so that of several processes not all do so in the same one.
    """

    def __init__(self, *, most_young: int | None = None, phase: int = 0) -> None:
        self._most_young = most_young
        self._ticks = phase
        self._settled = False
        self._usual = gc.get_threshold()

    def start(self) -> None:
        """Take over."""
        gc.freeze()
        if self._most_young is None:
            gc.disable()
        else:
            self._usual = gc.get_threshold()
            gc.set_threshold(self._most_young, *self._usual[1:])

    def collect(self) -> None:
        """Collect what is young, and now and then all; call it once a tick, when nobody waits."""
        if not self._settled:  # what came since the start is mostly code that was loaded late
            self._settled = True
            settle()
        self._ticks += 1
        gc.collect(2 if self._ticks % WHOLE_EVERY_TICKS == 0 else 1)

    def stop(self) -> None:
        """Give it back."""
        gc.enable()
        gc.set_threshold(*self._usual)
        gc.unfreeze()
