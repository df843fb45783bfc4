"""Salvage of ticks after damage in a log: they can't follow a gap, so they are kept beside the run, never deleted."""

from dataclasses import dataclass
from pathlib import Path

from tickmind.record.disk import Disk
from tickmind.record.log.frame import LogFrame, LogFrameKind
from tickmind.record.log.segment import SegmentReader

_COPY_BYTES = 1 << 20
_WORTH_KEEPING = (LogFrameKind.TICK, LogFrameKind.REPORTS)


@dataclass(frozen=True, slots=True)
class Loss:
    """What a log lost when its gap was cut."""

    cut_bytes: int = 0  # half-written, damaged, or salvaged
    last_tick_id: int | None = None  # before the damage
    beside: tuple[int, ...] = ()  # whole ticks after the damage, ascending

    def in_words(self, folder: Path) -> str:
        """Describe which ticks are lost and where the salvaged ones are; empty if nothing was salvaged."""
        if not self.beside:
            return ""
        first = 1 if self.last_tick_id is None else self.last_tick_id + 1
        there = set(self.beside)
        lost = _ranges([tick for tick in range(first, self.beside[-1]) if tick not in there])
        gap = f"the log is damaged: {lost} can't be read" if lost else "the log has no readable beginning"
        return f"{gap}; {_ranges(self.beside)} after that can't be part of the tables, and are kept in {folder}"


class Salvage:
    """Moves segments, or copies one before it is cut, into a folder of their own."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._folder = folder

    def move(self, path: Path) -> None:
        """Move a segment out of the log; a segment without any whole frame is removed."""
        if self._frames(path, 0):
            self._disk.make_folder(self._folder)
            self._disk.replace(path, self._folder / path.name)
            self._disk.sync_folder(self._folder)
        else:
            self._disk.remove(path)

    def copy(self, path: Path, end: int) -> None:
        """Copy a segment before it is cut at `end`, if there are whole frames after that place."""
        if not self._frames(path, end):
            return
        self._disk.make_folder(self._folder)
        file = self._disk.create(self._folder / path.name)
        try:
            with self._disk.open(path) as source:
                while data := source.read(_COPY_BYTES):
                    file.write(data)
            file.sync()
        finally:
            file.close()
        self._disk.sync_folder(self._folder)

    def loss(self, cut_bytes: int, last_tick_id: int | None) -> Loss:
        """Return the total loss, including that of an earlier attempt that crashed."""
        ticks = [
            frame.tick_id
            for name in self._disk.list(self._folder)
            for frame in self._frames(self._folder / name, 0)
            if frame.kind is LogFrameKind.TICK and (last_tick_id is None or frame.tick_id > last_tick_id)
        ]
        return Loss(cut_bytes, last_tick_id, tuple(sorted(set(ticks))))

    def _frames(self, path: Path, offset: int) -> list[LogFrame]:
        """Return the whole ticks and reports after a place in a segment."""
        segment = SegmentReader(self._disk, path)
        try:
            return [frame for frame in segment.whole_frames_beyond(offset) if frame.kind in _WORTH_KEEPING]
        finally:
            segment.close()


def _ranges(ticks: "list[int] | tuple[int, ...]") -> str:
    """Describe ascending ticks: `tick 4, ticks 6 to 9`."""
    spans: list[list[int]] = []
    for tick in ticks:
        if spans and tick == spans[-1][1] + 1:
            spans[-1][1] = tick
        else:
            spans.append([tick, tick])
    return ", ".join(f"tick {low:,}" if low == high else f"ticks {low:,} to {high:,}" for low, high in spans)
