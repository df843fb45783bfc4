"""When a run must be over."""

import asyncio


class RunDeadline:
    """The end of a run's time, on the event loop's clock; without one a run may take as long as it likes."""

    def __init__(self, run_s: float | None) -> None:
        self._at_s = None if run_s is None else asyncio.get_running_loop().time() + run_s

    def allow(self, timeout_s: float) -> float:
        """The timeout, or what is left of the run if that is less; not over 0 once the time is used up."""
        if self._at_s is None:
            return timeout_s
        return min(timeout_s, self._at_s - asyncio.get_running_loop().time())
