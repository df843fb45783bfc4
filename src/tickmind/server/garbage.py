"""Python's garbage collector, kept out of the part of a tick in which agents wait for answers."""

import gc

WHOLE_EVERY_TICKS = 60


class GarbageKeeper:
    """Collects garbage only when it is told to. It rules over the whole process, so programs choose it, not libraries.

    What is there at the start stays for good, and is never looked at: nearly all of it is code.
    """

    def __init__(self) -> None:
        self._ticks = 0

    def start(self) -> None:
        """Take over."""
        gc.freeze()
        gc.disable()

    def collect(self) -> None:
        """Collect what is young, and now and then all; call it once a tick, when nobody waits."""
        self._ticks += 1
        gc.collect(2 if self._ticks % WHOLE_EVERY_TICKS == 0 else 1)

    def stop(self) -> None:
        """Give it back."""
        gc.enable()
        gc.unfreeze()
