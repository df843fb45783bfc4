"""The frames that wait for one client: a bounded queue, and the newest observation."""

import asyncio
from collections import deque
from typing import TypeAlias

from tickmind.base import Limit
from tickmind.wire.v1 import door_pb2 as pb

Frame: TypeAlias = pb.SocketResponse | bytes  # bytes: a `ControlResponse` as the world has sent it


class SocketOutbox:
    """Frames of one client in their order; of the observations only the newest waits, behind all other frames."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._frames: deque[Frame] = deque()
        self._newest: Frame | None = None
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False
        self.skipped = 0  # observations replaced by newer ones before they were sent

    @property
    def ended(self) -> bool:
        """Whether nothing more will be queued."""
        return self._ended

    @property
    def is_empty(self) -> bool:
        """Whether no frame waits, so that another may be written without being queued."""
        return not self._frames and self._newest is None and not self._ended

    def put(self, frame: Frame) -> bool:
        """Queue a frame; return False, and leave it out, if as many wait as may."""
        if self._ended:
            return True
        if not self._limit.allows(len(self._frames) + 1):
            return False
        self._frames.append(frame)
        self._room.clear()
        self._changed.set()
        return True

    async def put_patiently(self, frame: Frame) -> None:
        """Queue a frame as soon as no other waits: answers are long, and one who reads slowly may ask for many."""
        while self._frames and not self._ended:
            await self._room.wait()
        self.put(frame)

    def put_newest(self, frame: Frame) -> None:
        """Let an observation wait instead of the one before it."""
        if self._ended:
            return
        self.skipped += self._newest is not None
        self._newest = frame
        self._changed.set()

    def end(self, last: Frame | None = None, *, at_once: bool = False) -> None:
        """Queue a last frame, if there is one, and nothing after it; `at_once` drops what waits."""
        if self._ended:
            return
        if at_once:
            self._frames.clear()
        if last is not None:
            self._frames.append(last)
        self._newest = None
        self._ended = True
        self._changed.set()
        self._room.set()

    async def next(self) -> Frame | None:
        """Wait for the next frame and return it; None after the last one."""
        while True:
            if self._frames:
                frame = self._frames.popleft()
                if not self._frames:
                    self._room.set()
                return frame
            if self._newest is not None:
                newest, self._newest = self._newest, None
                return newest
            if self._ended:
                return None
            self._changed.clear()
            await self._changed.wait()
