"""The last ticks of a live world, kept in memory so that watchers can go back to them."""

import zlib
from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from tickmind.base import Limit
from tickmind.viewer.errors import NoSuchWindowError
from tickmind.viewer.source import LATE_TICKS

MAX_HISTORY_BYTES = Limit("memory for the last ticks", 128 * 1024 * 1024, "bytes")
_LARGEST_TO_PACK = 1 << 18  # bytes: more would take long, and of large frames little is what Python needs for each
_QUICK = 1  # of zlib's levels


class _Frames:
    """Frames with the ticks that they came with; when no more come they can be packed, as small ones repeat a lot."""

    __slots__ = ("_ends", "_frames", "_packed", "_ticks")

    def __init__(self) -> None:
        self._ticks = array("q")
        self._ends = array("q")  # frame -> where it ends in all of them
        self._frames: list[bytes] = []
        self._packed: bytes | None = None  # instead of them

    def __len__(self) -> int:
        return len(self._ticks)

    @property
    def last(self) -> int:
        """The tick of the last one; there must be one."""
        return self._ticks[-1]

    @property
    def size(self) -> int:
        """Bytes that they take."""
        return len(self._packed) if self._packed is not None else self._ends[-1] if self._ends else 0

    def add(self, tick_id: int, frame: bytes) -> None:
        self._ticks.append(tick_id)
        self._ends.append(self.size + len(frame))
        self._frames.append(frame)

    def pack(self) -> None:
        """No more come."""
        if self._packed is None and 0 < self.size <= _LARGEST_TO_PACK:
            self._packed = zlib.compress(b"".join(self._frames), _QUICK)
            self._frames = []

    def up_to(self, tick_id: int) -> Iterator[bytes]:
        """Those that came with this tick or before it."""
        whole = memoryview(zlib.decompress(self._packed)) if self._packed is not None else None
        start = 0
        for place, (tick, end) in enumerate(zip(self._ticks, self._ends, strict=True)):
            if tick <= tick_id:
                yield self._frames[place] if whole is None else bytes(whole[start:end])
            start = end


@dataclass(slots=True)
class _Window:
    """A keyframe, and the frames of the ticks after it."""

    before: int  # the keyframe's tick
    keyframe: bytes
    frames: _Frames = field(default_factory=_Frames)
    told: _Frames = field(default_factory=_Frames)  # what agents told by then

    @property
    def last(self) -> int:
        return self.frames.last if self.frames else self.before

    @property
    def size(self) -> int:
        return len(self.keyframe) + self.frames.size + self.told.size

    def pack(self) -> None:
        self.frames.pack()
        self.told.pack()


class History:
    """Windows of ticks, the oldest of which go when there is no more room."""

    def __init__(self, window_ticks: int, *, limit: Limit = MAX_HISTORY_BYTES) -> None:
        self._window_ticks = window_ticks
        self._limit = limit
        self._windows: deque[_Window] = deque()
        self._size = 0

    @property
    def first_tick_id(self) -> int:
        """The first tick that can be shown with what changed in it."""
        return self._windows[0].before + 1 if self._windows else 0

    @property
    def last_tick_id(self) -> int:
        """The newest tick."""
        return self._windows[-1].last if self._windows else -1

    def wants_keyframe(self) -> bool:
        """Whether the next tick begins a new window."""
        return not self._windows or self.last_tick_id % self._window_ticks == 0

    def begin(self, tick_id: int, keyframe: bytes) -> None:
        """Begin a window with everything as it is after a tick."""
        if self._windows:
            newest = self._windows.pop()
            self._size -= newest.size
            if newest.frames:
                newest.pack()
                self._windows.append(newest)
                self._size += newest.size
        self._windows.append(_Window(tick_id, keyframe))
        self._size += len(keyframe)
        while len(self._windows) > 1 and not self._limit.allows(self._size):
            self._size -= self._windows.popleft().size

    def add(self, tick_id: int, frame: bytes) -> None:
        """Keep the frame of a tick."""
        self._keep(self._windows[-1].frames, tick_id, frame)

    def add_told(self, tick_id: int, frame: bytes) -> None:
        """Keep what agents told with a tick; it may be of ticks a little before."""
        self._keep(self._windows[-1].told, tick_id, frame)

    def _keep(self, frames: _Frames, tick_id: int, frame: bytes) -> None:
        frames.add(tick_id, frame)
        self._size += len(frame)

    def window(self, first: int, last: int) -> bytes:
        """A keyframe, and the frames after it up to `last`. It begins at `first` or a little before.

        What agents told of these ticks a little later is in it too.
        """
        parts: list[bytes] = []
        for window in self._windows:
            if window.last < first and window.before != first - 1:
                continue
            if window.before >= last + LATE_TICKS:
                break
            if window.before < last:
                parts.append(window.keyframe)
                parts.extend(window.frames.up_to(last))
            if parts:
                parts.extend(window.told.up_to(last + LATE_TICKS))
        if not parts:
            raise NoSuchWindowError(
                f"ticks {first} to {last} are not there; ask for some of {self.first_tick_id} to {self.last_tick_id}"
            )
        return b"".join(parts)
