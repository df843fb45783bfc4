"""The last ticks of a live world, kept in memory so that watchers can go back to them."""

from collections import deque
from dataclasses import dataclass, field

from tickmind.base import Limit
from tickmind.viewer.errors import NoSuchWindowError
from tickmind.viewer.source import LATE_TICKS

MAX_HISTORY_BYTES = Limit("memory for the last ticks", 128 * 1024 * 1024, "bytes")


@dataclass(slots=True)
class _Window:
    """A keyframe, and the frames of the ticks after it."""

    before: int  # the keyframe's tick
    keyframe: bytes
    frames: list[tuple[int, bytes]] = field(default_factory=list)  # tick, frame
    told: list[tuple[int, bytes]] = field(default_factory=list)  # tick, what agents told by then
    size: int = 0

    @property
    def last(self) -> int:
        return self.frames[-1][0] if self.frames else self.before


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
        if self._windows and not self._windows[-1].frames:
            self._size -= self._windows.pop().size
        self._windows.append(_Window(tick_id, keyframe, size=len(keyframe)))
        self._size += len(keyframe)
        while len(self._windows) > 1 and not self._limit.allows(self._size):
            self._size -= self._windows.popleft().size

    def add(self, tick_id: int, frame: bytes) -> None:
        """Keep the frame of a tick."""
        self._keep(self._windows[-1].frames, tick_id, frame)

    def add_told(self, tick_id: int, frame: bytes) -> None:
        """Keep what agents told with a tick; it may be of ticks a little before."""
        self._keep(self._windows[-1].told, tick_id, frame)

    def _keep(self, frames: list[tuple[int, bytes]], tick_id: int, frame: bytes) -> None:
        frames.append((tick_id, frame))
        self._windows[-1].size += len(frame)
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
                parts.extend(frame for tick_id, frame in window.frames if tick_id <= last)
            if parts:
                parts.extend(frame for tick_id, frame in window.told if tick_id <= last + LATE_TICKS)
        if not parts:
            raise NoSuchWindowError(
                f"ticks {first} to {last} are not there; ask for some of {self.first_tick_id} to {self.last_tick_id}"
            )
        return b"".join(parts)
