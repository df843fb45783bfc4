"""`RunDeadline`: the time limit of a run."""

import asyncio


class RunDeadline:
    """The end of a run's time, on the event loop's clock; without one the run has no time limit."""

    def __init__(self, run_s: float | None) -> None:
        self._at_s = None if run_s is None else asyncio.get_running_loop().time() + run_s

    def allow(self, timeout_s: float) -> float:
        """Return the timeout, or the run's remaining time if that is less; 0 or less once it is used up."""
        if self._at_s is None:
            return timeout_s
        return min(timeout_s, self._at_s - asyncio.get_running_loop().time())
