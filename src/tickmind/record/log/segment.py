"""A segment, one file of the log: frames one after another, and, once closed, an index of its ticks at the end.

    magic | HEAD | TICK ... | FOOT | offset of FOOT | end mark

A segment begins with a keyframe, so it can be read without the ones before it.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from tickmind.record.disk import Disk
from tickmind.record.errors import DamagedRunError, SchemaVersionError
from tickmind.record.limits import MAX_SEGMENT_BYTES, MAX_SEGMENT_TICKS
from tickmind.record.log.frame import (
    HEADER,
    MARKER,
    LogFrame,
    LogFrameKind,
    content_of,
    is_whole,
    pack_frame,
    read_header,
)

MAGIC = b"tmlog\x00\x01\n"
_MAGIC_STEM = MAGIC[:6]
END = struct.Struct("<Q8s")
END_MARK = b"tmlogend"
_READ_BYTES = 1 << 20
_MOST_HEAD_BYTES = 1 << 12  # of an index, before its columns


def segment_name(number: int) -> str:
    """Return the name of the n-th file of the log."""
    return f"{number:08d}.tmlog"


def segment_number(name: str) -> int | None:
    """Return the number of the log file with this name, or None if it is none."""
    stem = name.removesuffix(".tmlog")
    return int(stem) if stem != name and len(stem) == 8 and stem.isascii() and stem.isdigit() else None


@dataclass(slots=True)
class Index:
    """Where the ticks of a segment are; each list has one entry per tick."""

    ticks: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    keyframes: list[int] = field(default_factory=list)  # ticks
    end: int = len(MAGIC)  # after the last whole frame

    def add(self, tick_id: int, offset: int, *, keyframe: bool) -> None:
        """Add a tick."""
        self.ticks.append(tick_id)
        self.offsets.append(offset)
        if keyframe:
            self.keyframes.append(tick_id)

    def before(self, place: int) -> "Index":
        """Return the index of the part before one of the ticks."""
        tick_id, end = self.ticks[place], self.offsets[place]
        keyframes = [tick for tick in self.keyframes if tick < tick_id]
        return Index(self.ticks[:place], self.offsets[:place], keyframes, end)

    def pack(self) -> bytes:
        """Return the content of a FOOT frame."""
        head = json.dumps({"ticks": len(self.ticks), "keyframes": len(self.keyframes), "end": self.end}).encode()
        columns = [np.array(values, dtype="<i8").tobytes() for values in (self.ticks, self.offsets, self.keyframes)]
        return b"".join((len(head).to_bytes(8, "little"), head, *columns))

    @classmethod
    def unpack(cls, content: bytes) -> "Index":
        """Parse the content; raises `DamagedRunError` if it is invalid."""
        try:
            size = 8 + int.from_bytes(content[:8], "little")
            head = json.loads(content[8 : min(size, _MOST_HEAD_BYTES)])
            columns = np.frombuffer(content, dtype="<i8", offset=size).tolist()
            ticks, keyframes, end = int(head["ticks"]), int(head["keyframes"]), int(head["end"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DamagedRunError("a segment of the log has no readable index; recover the run") from error
        if ticks < 0 or keyframes < 0 or len(columns) != 2 * ticks + keyframes:
            raise DamagedRunError("a segment of the log has a truncated index; recover the run")
        return cls(columns[:ticks], columns[ticks : 2 * ticks], columns[2 * ticks :], end)


def head_frame(run_id: str, number: int, first_tick: int) -> bytes:
    """Return the beginning of a segment."""
    content = json.dumps({"run_id": run_id, "segment": number, "first_tick": first_tick}).encode()
    return MAGIC + pack_frame(LogFrameKind.HEAD, first_tick, content, synced=0)


def foot_frame(index: Index, offset: int, synced: int) -> bytes:
    """Return the end of a segment that is complete."""
    frame = pack_frame(LogFrameKind.FOOT, index.ticks[-1] if index.ticks else 0, index.pack(), synced=synced)
    return frame + END.pack(offset, END_MARK)


class SegmentReader:
    """Reads one segment, closed or still growing."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = disk.open(path)
        self._disk = disk
        self.index = Index(end=0)
        self.closed = False  # has a FOOT, so nothing comes after

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def reopen(self) -> None:
        """Reopen the file by its name; the one before may have been rewritten."""
        self._file.close()
        self._file = self._disk.open(self._path)

    @property
    def name(self) -> str:
        """The name of the file, for messages."""
        return self._path.name

    def load(self) -> None:
        """Load the index from the end of the file if it has one, else scan what is new in it."""
        if not self.closed and not self._take_foot():
            self.scan()

    def _take_foot(self) -> bool:
        size = self._disk.size(self._path)
        MAX_SEGMENT_BYTES.check(size)
        if size < len(MAGIC) + END.size:
            return False
        end = self._read(size - END.size, END.size)
        if len(end) < END.size:  # of a file that was replaced
            return False
        offset, mark = END.unpack(end)
        if mark != END_MARK or not len(MAGIC) <= offset < size:
            return False
        frame = self.frame_at(offset)
        if frame is None or frame.kind is not LogFrameKind.FOOT or frame.end + END.size != size:
            return False
        self._check_magic()
        if frame.raw_bytes > _MOST_HEAD_BYTES + 3 * 8 * MAX_SEGMENT_TICKS.maximum:
            raise DamagedRunError(f"the index of {self.name} has more ticks than a segment; recover the run")
        index = Index.unpack(self.content(frame).to_pybytes())
        if index.end != offset or len(index.ticks) > offset // HEADER.size:
            raise DamagedRunError(f"the index of {self.name} does not match its file; recover the run")
        self.index, self.closed = index, True
        return True

    def _check_magic(self) -> bool:
        """Whether the magic bytes are there; raises if they are of another kind. A crash may have cut them short."""
        magic = self._read(0, len(MAGIC))
        if magic == MAGIC:
            return True
        if len(magic) == len(MAGIC) and magic.startswith(_MAGIC_STEM):
            raise SchemaVersionError(f"{self.name} was written by a later version of tickmind; use that version")
        return False

    def scan(self) -> None:
        """Scan the frames after the last known one, as far as they are whole."""
        if not self.index.end:
            if not self._check_magic() or self.frame_at(len(MAGIC)) is None:
                return
            self.index.end = len(MAGIC)
        for frame in self._whole_frames(self.index.end):
            if frame.kind is LogFrameKind.FOOT:
                self.closed = True
                return
            if frame.kind is LogFrameKind.TICK:
                self.index.add(frame.tick_id, frame.offset, keyframe=frame.keyframe)
            self.index.end = frame.end

    def whole_frames_beyond(self, offset: int) -> Iterator[LogFrame]:
        """Iterate over whole frames after a place, wherever they begin."""
        mark = MARKER.to_bytes(4, "little")
        for start in range(offset, self._disk.size(self._path), _READ_BYTES):
            data = self._read(start, _READ_BYTES + HEADER.size)
            place = data.find(mark)
            while 0 <= place < _READ_BYTES:
                frame = self.frame_at(start + place)
                if frame is not None:
                    yield frame
                place = data.find(mark, place + 1)

    def is_complete(self) -> bool:
        """Whether the file ends with the last whole frame."""
        return self.closed or self.index.end == self._disk.size(self._path)

    def loose_reports(self) -> Iterator[pa.Buffer]:
        """Iterate over the contents of frames with only reports; they follow the last tick."""
        start = self.frame_at(self.index.offsets[-1]) if self.index.offsets else None
        for frame in self._whole_frames(start.end if start is not None else self._after_head()):
            if frame.kind is LogFrameKind.REPORTS:
                yield self.content(frame)

    def _after_head(self) -> int:
        head = self.frame_at(len(MAGIC))
        return head.end if head is not None else len(MAGIC)

    def _whole_frames(self, offset: int) -> Iterator[LogFrame]:
        while (frame := self.frame_at(offset)) is not None:
            yield frame
            offset = frame.end

    def frame_at(self, offset: int) -> LogFrame | None:
        """Return the header of the frame at a place, if it is whole."""
        frame = read_header(self._read(offset, HEADER.size), offset)
        if frame is None or not is_whole(frame, self._read(offset, frame.end - offset)):
            return None
        return frame

    def content(self, frame: LogFrame) -> pa.Buffer:
        """Return the content of a frame."""
        return content_of(frame, self._read(frame.offset, frame.end - frame.offset))

    def safe_beyond(self, offset: int) -> bool:
        """Whether a whole frame after this place shows that the place was on disk when it was written.

        Then the place is damaged, not the torn tail of a crash.
        """
        return any(frame.synced > offset for frame in self.whole_frames_beyond(offset))

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size)
