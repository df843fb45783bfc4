"""The writer of a log: appends to segments, and starts the next one when a segment is long enough."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tickmind.base import Clock
from tickmind.protocol import NO_REPORTS, ActorColumns, TickRecord, TickReports
from tickmind.record.disk import Disk, DiskFile
from tickmind.record.limits import MAX_SEGMENT_TICKS
from tickmind.record.log.frame import Codec, CompressionBackoff, LogFrameKind, pack_frame
from tickmind.record.log.segment import Index, foot_frame, head_frame, segment_name
from tickmind.record.log.sync_policy import SyncPolicy
from tickmind.record.log.tick_codec import pack_only_reports, pack_tick


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a log is written."""

    sync: SyncPolicy = SyncPolicy.EVERY_TICK
    keyframe_ticks: int = 64  # a keyframe of all actors every so many ticks
    segment_bytes: int = 64_000_000
    segment_ticks: int = 4096
    codec: Codec | None = None  # None: chosen by the size of a tick
    keep_log: bool = False  # beside the finished files, so that the run can still be resumed


class LogWriter:
    """Writes the files of one log. After an `OSError` from the disk, the writer must not be used again."""

    def __init__(
        self,
        disk: Disk,
        folder: Path,
        run_id: str,
        *,
        clock: Clock,
        options: LogOptions,
        next_number: int = 1,
        before_first: Callable[[], None] = lambda: None,
    ) -> None:
        self._disk = disk
        self._folder = folder
        self._run_id = run_id
        self._clock = clock
        self._options = options
        self._most_ticks = min(options.segment_ticks, MAX_SEGMENT_TICKS.maximum)
        self._next_number = next_number
        self._before_first: Callable[[], None] | None = before_first  # None when the first file was made
        self._file: DiskFile | None = None
        self._new_name = False  # the folder is not synced since the file was made
        self._index = Index()
        self._synced = 0  # bytes of the current file that are on disk
        self._synced_s = clock.monotonic()
        self._before: ActorColumns | None = None
        self._last_tick = 0
        self._backoff = CompressionBackoff()

    def write(self, record: TickRecord, reports: TickReports = NO_REPORTS) -> None:
        """Append a tick. When it returns, the tick is as durable as the policy says."""
        options = self._options
        count = len(self._index.ticks)
        if count >= self._most_ticks or self._index.end >= options.segment_bytes:
            self.end_segment()
            count = 0
        before = self._before if self._file is not None and count % options.keyframe_ticks else None
        frame = self._frame(record, before, reports)
        head = b"" if self._file is not None else self._begin_segment(record.tick_id)
        offset = self._index.end
        self._append(head + frame if head else frame, end=offset + len(frame))
        self._index.add(record.tick_id, offset, keyframe=before is None)
        self._before, self._last_tick = record.actor_state, record.tick_id
        now_s = self._clock.monotonic()
        if (now_s - self._synced_s) * 1e3 >= options.sync.interval_ms:
            self._sync(now_s)

    def _frame(self, record: TickRecord, before: ActorColumns | None, reports: TickReports) -> bytes:
        content = pack_tick(record, before, reports)
        codec, keyframe = self._options.codec, before is None
        if codec is None and not keyframe:
            codec = self._backoff.codec_for(len(content))
        frame = pack_frame(
            LogFrameKind.TICK, record.tick_id, content, synced=self._synced, keyframe=keyframe, codec=codec
        )
        if codec is not None:
            self._backoff.learn(codec, len(content), len(frame))
        return frame

    def write_reports(self, reports: TickReports) -> None:
        """Append reports after the last tick."""
        frame = pack_frame(LogFrameKind.REPORTS, self._last_tick, pack_only_reports(reports), synced=self._synced)
        head = b"" if self._file is not None else self._begin_segment(self._last_tick)
        self._append(head + frame, end=self._index.end + len(frame))

    def end_segment(self) -> None:
        """Write the index of the segment; the next file is created with the next tick."""
        if self._file is None:
            return
        self._file.write(foot_frame(self._index, self._index.end, self._synced))
        if not self._options.sync.never:
            self._sync(self._clock.monotonic())
        self._file.close()
        self._file = None
        self._index = Index()
        self._synced = 0

    def abandon(self) -> None:
        """Close the file unchanged."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin_segment(self, first_tick: int) -> bytes:
        if self._before_first is not None:
            self._before_first()
            self._before_first = None
        path = self._folder / segment_name(self._next_number)
        head = head_frame(self._run_id, self._next_number, first_tick)
        self._file = self._disk.create(path)
        self._new_name = True
        self._next_number += 1
        self._index = Index(end=len(head))
        return head

    def _append(self, data: bytes, *, end: int) -> None:
        assert self._file is not None
        self._file.write(data)
        self._index.end = end

    def _sync(self, now_s: float) -> None:
        assert self._file is not None
        self._file.sync()
        if self._new_name:
            self._disk.sync_folder(self._folder)
            self._new_name = False
        self._synced = self._index.end
        self._synced_s = now_s
