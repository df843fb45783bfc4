"""What is done to a log after a crash, before somebody goes on with it or finishes it."""

from pathlib import Path

from tickmind.record.disk import Disk
from tickmind.record.errors import DamagedRunError
from tickmind.record.segment import Index, SegmentReader, foot_frame, segment_number


def mend_tail(disk: Disk, folder: Path) -> int:
    """Cut what a crash left half written at the end of a log, and close the last segment; gives the bytes cut.

    Damage to what was safe on disk already is not cut: it is a `DamagedRunError`.
    """
    names = [name for name in disk.list(folder) if segment_number(name) is not None]
    if not names:
        return 0
    path = folder / names[-1]
    segment = SegmentReader(disk, path)
    try:
        segment.load()
        if segment.closed and segment.is_complete():
            _make_safe(disk, path)  # its end may have been written just before the crash
            return 0
        size, end = disk.size(path), segment.index.end
        if size > end and segment.safe_beyond(end):
            raise DamagedRunError(
                f"{segment.name} is damaged at byte {end:,}, and there are whole ticks after that; "
                "recover the run to keep what comes before"
            )
    finally:
        segment.close()
    if not segment.index.ticks:
        disk.remove(path)
        disk.sync_folder(folder)
        return size
    disk.truncate(path, end)
    _make_safe(disk, path, foot_frame(segment.index, end, end))
    return size - end


def cut_damage(disk: Disk, folder: Path) -> int:
    """Leave nothing in a log but the ticks before the first damage; gives the bytes cut.

    Only for finishing a run: what comes after the damage is lost.
    """
    cut = 0
    names = [name for name in disk.list(folder) if segment_number(name) is not None]
    expected: int | None = None
    damaged = False
    for name in names:
        path = folder / name
        size = disk.size(path)
        index = None if damaged else _whole_part(disk, path, expected)
        if index is None:
            damaged = True
            cut += size
            disk.remove(path)
            continue
        expected = index.ticks[-1] + 1
        if index.end < size:
            damaged = True
            cut += size - index.end
            disk.truncate(path, index.end)
            _make_safe(disk, path, foot_frame(index, index.end, index.end))
    disk.sync_folder(folder)
    return cut


def _whole_part(disk: Disk, path: Path, expected: int | None) -> Index | None:
    """The beginning of a segment that is whole, and where it ends; None if there is nothing.

    `expected` is the tick that it must begin with. Where it is whole altogether, that is the end of the file.
    """
    segment = SegmentReader(disk, path)
    try:
        segment.load()
        index = segment.index
        bad = next((at for at, offset in enumerate(index.offsets) if segment.frame_at(offset) is None), None)
        if not index.ticks or bad == 0 or (expected is not None and index.ticks[0] != expected):
            return None
        if bad is not None:
            return index.before(bad)
        if segment.closed:
            index.end = disk.size(path)
        return index
    finally:
        segment.close()


def _make_safe(disk: Disk, path: Path, foot: bytes = b"") -> None:
    """Let a file, its end and its name be on disk: whoever was killed may not have waited for that."""
    file = disk.append(path)
    try:
        if foot:
            file.write(foot)
        file.sync()
    finally:
        file.close()
    disk.sync_folder(path.parent)
