"""Times that do not depend on how often the machine stands still."""

import asyncio
import time


class Stopwatch:
    """How long something takes, apart from the time in which the machine did not even let this process look.

    Whoever is waited for shares the machine, so it was held up at least as long.
    """

    def __init__(self):
        self._began_s = time.monotonic()
        self.held_up_s = 0.0

    @property
    def seconds(self):
        """What counts."""
        return time.monotonic() - self._began_s - self.held_up_s

    def look(self, pause_s=0.01):
        before_s = time.monotonic()
        time.sleep(pause_s)
        self.held_up_s += max(0.0, time.monotonic() - before_s - 2 * pause_s)

    async def until(self, condition, most_s=60.0, pause_s=0.01):
        async with asyncio.timeout(most_s):
            while not condition():
                before_s = time.monotonic()
                await asyncio.sleep(pause_s)
                self.held_up_s += max(0.0, time.monotonic() - before_s - 2 * pause_s)
        return self.seconds
