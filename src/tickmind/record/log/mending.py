"""Repair of a log after a crash, before the run is resumed or recovered."""

from pathlib import Path

from tickmind.record.disk import Disk
from tickmind.record.errors import DamagedRunError
from tickmind.record.log.salvage import Loss, Salvage
from tickmind.record.log.segment import Index, SegmentReader, foot_frame, segment_number

_COPY_BYTES = 1 << 20


def mend_tail(disk: Disk, folder: Path) -> int:
    """Cut the half-written end that a crash left, and close the last segment; return the number of bytes cut.

    The last segment is rewritten: a failed sync may have left a part of it in memory only, where it can be read until
    the power is lost and no later sync of the same file writes it. Damage to durable data is not cut: it raises
    `DamagedRunError`.
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
                "recover the run to keep the ticks before it"
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
    """Replace a segment by a new file with the ticks of an index, and a foot."""
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
    """Keep only the ticks before the first missing one.

    Only for finishing a run: whole ticks after that go to the folder `beside`. A segment without ticks, from a session
    that ended before its first tick, costs no others: the next segment with ticks shows whether one is missing.
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
            damaged = damaged or gap or expected is None  # before the first tick the gap is unknown
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
    """Return the intact beginning of a segment, and where it ends (the end of the file if all is intact)."""
    segment = SegmentReader(disk, path)
    try:
        try:
            segment.load()
        except DamagedRunError:  # its index is invalid and is rebuilt
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
    """Sync a file, its end and its name, as a killed process may not have done."""
    file = disk.append(path)
    try:
        if foot:
            file.write(foot)
        file.sync()
    finally:
        file.close()
    disk.sync_folder(path.parent)
