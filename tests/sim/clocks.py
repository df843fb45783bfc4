"""The clocks of a simulated machine, which do what clocks do when somebody turns them."""

import asyncio


class SimClock:
    """A clock over the loop's time. Its monotonic time may run at a wrong rate, and its wall time may jump anywhere."""

    def __init__(self, *, monotonic_s: float = 0.0, wall_s: float = 1_700_000_000.0) -> None:
        self._rate = 1.0
        self._since_s = asyncio.get_running_loop().time()
        self._monotonic_s = monotonic_s
        self._wall_s = wall_s

    def monotonic(self) -> float:
        return self._monotonic_s + self._passed_s()

    def wall(self) -> float:
        return self._wall_s + self._passed_s()

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing in a world may block")

    def _passed_s(self) -> float:
        return (asyncio.get_running_loop().time() - self._since_s) * self._rate

    def run_at(self, rate: float) -> None:
        """Run faster or slower from now on."""
        passed_s = self._passed_s()
        self._monotonic_s += passed_s
        self._wall_s += passed_s
        self._since_s = asyncio.get_running_loop().time()
        self._rate = rate

    def jump_wall(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self._wall_s += seconds
