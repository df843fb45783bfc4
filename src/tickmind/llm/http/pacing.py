"""Keeps an event loop responsive while a thousand calls share it."""

import asyncio
import time
import weakref
from collections import deque
from weakref import WeakKeyDictionary

MAX_BUSY_S = 0.005  # processor time after which the loop goes round before more is done
BATCH = 64  # calls that may go on in one turn of the loop


class LoopPacer:
    """Keep the turns of a loop short when many calls need it at once, so that nothing else waits long.

    It counts the thread's processor time: once `MAX_BUSY_S` of it was used, the next calls queue up, and each
    further turn of the loop lets a few through, first come first served. A quiet loop delays no call.
    """

    __slots__ = ("_loop", "_queue", "_since_s")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.proxy(loop)  # a reference would keep the loop alive in the table of pacers
        self._queue: deque[asyncio.Future[None]] = deque()
        self._since_s = time.thread_time()

    def is_late(self) -> bool:
        """Return whether the loop should go round before more is done."""
        return bool(self._queue) or time.thread_time() - self._since_s > MAX_BUSY_S

    async def turn(self) -> None:
        """Wait for a later turn of the loop."""
        if not self._queue:
            self._loop.call_soon(self._let_through)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        await place

    def _let_through(self) -> None:
        self._since_s = time.thread_time()
        queue = self._queue
        for _ in range(min(BATCH, len(queue))):
            place = queue.popleft()
            if not place.done():
                place.set_result(None)
        if queue:
            self._loop.call_soon(self._let_through)


_pacers: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopPacer] = WeakKeyDictionary()  # loop -> its pacer


def pacer_for(loop: asyncio.AbstractEventLoop) -> LoopPacer:
    """Return the pacer of a loop; all clients in it share one."""
    pacer = _pacers.get(loop)
    if pacer is None:
        pacer = _pacers[loop] = LoopPacer(loop)
    return pacer


async def pace() -> None:
    """Let the loop go round if it has been busy for long; await it before anything costly."""
    pacer = pacer_for(asyncio.get_running_loop())
    if pacer.is_late():
        await pacer.turn()
