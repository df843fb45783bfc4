"""The history: the last ticks of a live world in memory, so that watchers can go back."""

from collections import deque
from dataclasses import dataclass, field

from tickmind.base import Limit
from tickmind.viewer.errors import NoSuchWindowError
from tickmind.viewer.sources.bundles import Bundle
from tickmind.viewer.sources.source import LATE_TICKS

MAX_HISTORY_BYTES = Limit("memory for the last ticks", 128 * 1024 * 1024, "bytes")


@dataclass(slots=True)
class _Window:
    """A keyframe, and the frames of the ticks after it."""

    before: int  # the keyframe's tick
    keyframe: bytes
    frames: Bundle = field(default_factory=Bundle)
    notes: Bundle = field(default_factory=Bundle)  # reports of agents

    @property
    def last(self) -> int:
        return self.frames.last if self.frames else self.before

    @property
    def size(self) -> int:
        return len(self.keyframe) + self.frames.size + self.notes.size

    def pack(self) -> None:
        self.frames.pack()
        self.notes.pack()


class FrameHistory:
    """Windows of ticks, of which the oldest are dropped beyond the limit."""

    def __init__(self, window_ticks: int, *, limit: Limit = MAX_HISTORY_BYTES) -> None:
        self._window_ticks = window_ticks
        self._limit = limit
        self._windows: deque[_Window] = deque()
        self._size = 0  # of all but the last, which still grows

    @property
    def first_tick_id(self) -> int:
        """The first tick whose changes can be shown."""
        return self._windows[0].before + 1 if self._windows else 0

    @property
    def last_tick_id(self) -> int:
        """The newest tick."""
        return self._windows[-1].last if self._windows else -1

    def wants_keyframe(self) -> bool:
        """Whether the next tick begins a new window."""
        return not self._windows or self.last_tick_id % self._window_ticks == 0

    def begin(self, tick_id: int, keyframe: bytes) -> None:
        """Begin a window with the keyframe after a tick."""
        if self._windows:
            newest = self._windows[-1]
            if newest.frames:
                newest.pack()
                self._size += newest.size
            else:
                self._windows.pop()
        self._windows.append(_Window(tick_id, keyframe))
        while len(self._windows) > 1 and not self._limit.allows(self._size + len(keyframe)):
            self._size -= self._windows.popleft().size

    def add(self, tick_id: int, frame: bytes) -> None:
        """Add the frame of a tick."""
        self._windows[-1].frames.add(tick_id, frame)

    def add_reports(self, tick_id: int, frame: bytes) -> None:
        """Add the reports that came with a tick; they may be of ticks a little before."""
        self._windows[-1].notes.add(tick_id, frame)

    def window(self, first: int, last: int) -> bytes:
        """Return a keyframe, and the frames after it up to `last`. It begins at `first` or a little before.

        A keyframe after `last` itself is returned alone, as a page that opens before the first tick requests it.
        Reports of these ticks that came a little later are included.
        """
        parts: list[bytes | memoryview] = []
        for window in self._windows:
            if window.last < first and window.before != first - 1:
                continue
            if window.before >= last + LATE_TICKS:
                break
            if window.before < last or (window.before == last and not parts):
                parts.append(window.keyframe)
                parts += (frame for _, frame in window.frames.parts(window.before, last))
            if parts:
                parts += (frame for _, frame in window.notes.parts(window.before, last + LATE_TICKS))
        if not parts:
            kept = (self.first_tick_id, self.last_tick_id)
            hint = f"request ticks from {kept[0]} to {kept[1]}" if kept[0] <= kept[1] else "no tick has come yet"
            raise NoSuchWindowError(f"ticks {first} to {last} are not available; {hint}")
        return b"".join(parts)
