"""Watchers of a live world: each has a short queue of its own, and none delays another."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tickmind.base import Limit

MAX_WATCHERS = Limit("number of watchers", 1000)
MAX_BACKLOG_FRAMES = Limit("number of pending frames of one watcher", 16)


class Watcher:
    """One watcher. If it falls behind, it skips ticks and continues from a keyframe."""

    def __init__(self, keyframe: Callable[[], bytes], backlog: Limit) -> None:
        self._keyframe = keyframe
        self._backlog = backlog
        self._queue: deque[bytes] = deque()
        self._behind = True  # every watcher begins with a keyframe
        self._news = asyncio.Event()
        self._news.set()
        self.skipped = 0

    def put(self, frame: bytes) -> None:
        """Queue a frame; never waits."""
        if not self._behind:
            if self._backlog.allows(len(self._queue) + 1):
                self._queue.append(frame)
            else:
                self.skipped += len(self._queue) + 1
                self._queue.clear()
                self._behind = True
        self._news.set()

    def restart(self) -> None:
        """Drop the queue, and continue from a keyframe: for a world that was lost and found again."""
        self._queue.clear()
        self._behind = True
        self._news.set()

    async def next(self) -> bytes:
        """Wait for the next frame."""
        while True:
            await self._news.wait()
            if self._behind:
                self._behind = False
                self._queue.clear()
                frame = self._keyframe()
                if frame:
                    return frame
                self._behind = True
            elif self._queue:
                return self._queue.popleft()
            self._news.clear()


class Watchers:
    """All watchers of one source. A frame is made once for all of them."""

    def __init__(
        self, keyframe: Callable[[], bytes], *, limit: Limit = MAX_WATCHERS, backlog: Limit = MAX_BACKLOG_FRAMES
    ) -> None:
        self._keyframe = keyframe
        self._limit = limit
        self._backlog = backlog
        self._watchers: set[Watcher] = set()

    def __len__(self) -> int:
        return len(self._watchers)

    @contextmanager
    def join(self) -> Iterator[Watcher]:
        """Watch as long as the block lasts; raises `LimitExceededError` if there are too many."""
        self._limit.check(len(self._watchers) + 1)
        watcher = Watcher(self._keyframe, self._backlog)
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)

    def send(self, frame: bytes) -> None:
        """Queue a frame for all watchers."""
        for watcher in self._watchers:
            watcher.put(frame)

    def restart(self) -> None:
        """Let all watchers continue from a new keyframe."""
        for watcher in self._watchers:
            watcher.restart()
