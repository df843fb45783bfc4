"""What is done to a log after a crash, before somebody goes on with it or finishes it."""

from pathlib import Path

from tickmind.record.disk import Disk
from tickmind.record.errors import DamagedRunError
from tickmind.record.log.salvage import Loss, Salvage
from tickmind.record.log.segment import Index, SegmentReader, foot_frame, segment_number

_COPY_BYTES = 1 << 20


def mend_tail(disk: Disk, folder: Path) -> int:
    """Cut what a crash left half written at the end of a log, and close the last segment; gives the bytes cut.

    The last segment is written anew: a sync that failed may have left a part of it in memory only, where it can be
    read until the power is lost and no later sync of the same file writes it. Damage to what was safe on disk already
    is not cut: it is a `DamagedRunError`.
    """
    names = [name for name in disk.list(folder) if segment_number(name) is not None]
    if not names:
        return 0
    path = folder / names[-1]
    segment = SegmentReader(disk, path)
    try:
        segment.load()
        size, index = disk.size(path), segment.index
        bad = next((at for at, offset in enumerate(index.offsets) if segment.frame_at(offset) is None), None)
        if bad is not None:
            index = index.before(bad)
        whole = segment.closed and bad is None
        if not whole and size > index.end and segment.safe_beyond(index.end):
            raise DamagedRunError(
                f"{segment.name} is damaged at byte {index.end:,}, and there are whole ticks after that; "
                "recover the run to keep what comes before"
            )
    finally:
        segment.close()
    if whole or index.ticks:
        _write_anew(disk, path, index)
        return 0 if whole else size - index.end
    disk.remove(path)
    disk.sync_folder(folder)
    return size


def _write_anew(disk: Disk, path: Path, index: Index) -> None:
    """Put a new file with the ticks of an index, and a foot, in the place of a segment."""
    beside = path.with_name(f"{path.name}.new")
    file = disk.create(beside)
    try:
        with disk.open(path) as source:
            for start in range(0, index.end, _COPY_BYTES):
                source.seek(start)
                file.write(source.read(min(_COPY_BYTES, index.end - start)))
        file.write(foot_frame(index, index.end, index.end))
        file.sync()
    finally:
        file.close()
    disk.replace(beside, path)
    disk.sync_folder(path.parent)


def cut_damage(disk: Disk, folder: Path, beside: Path) -> Loss:
    """Leave nothing in a log but the ticks before the first one that is missing.

    Only for finishing a run: what is whole after that goes to the folder `beside`. A segment without ticks, as a
    session leaves that ended before its first one, costs no others, whole or not: whether a tick is missing shows the
    next segment with ticks.
    """
    cut, salvage = 0, Salvage(disk, beside)
    names = [name for name in disk.list(folder) if segment_number(name) is not None]
    expected: int | None = None
    damaged = False
    for name in names:
        path = folder / name
        size = disk.size(path)
        whole = _whole_part(disk, path)
        gap = bool(whole.ticks) and expected not in (None, whole.ticks[0])
        if damaged or gap or (not whole.ticks and not 0 < whole.end == size):
            damaged = damaged or gap or expected is None  # before the first tick nobody knows what is missing
            cut += size
            salvage.move(path)
            continue
        if whole.ticks:
            expected = whole.ticks[-1] + 1
        if whole.end < size:
            cut += size - whole.end
            salvage.copy(path, whole.end)
            disk.truncate(path, whole.end)
            _make_safe(disk, path, foot_frame(whole, whole.end, whole.end))
    disk.sync_folder(folder)
    return salvage.loss(cut, None if expected is None else expected - 1)


def _whole_part(disk: Disk, path: Path) -> Index:
    """The beginning of a segment that is whole, and where it ends; if all of it is, at the end of the file."""
    segment = SegmentReader(disk, path)
    try:
        try:
            segment.load()
        except DamagedRunError:  # its index says what can't be; it gets another one
            segment.scan()
            return segment.index
        index = segment.index
        bad = next((at for at, offset in enumerate(index.offsets) if segment.frame_at(offset) is None), None)
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
