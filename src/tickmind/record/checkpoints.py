"""The checkpoints of a world's run, in files that are named by their tick and complete at every moment."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tickmind.record.disk import Disk, OsDisk, disk_fault, reading_fault, write_whole
from tickmind.record.limits import MAX_CHECKPOINT_BYTES

CHECKPOINTS = "checkpoints"  # the folder in that of a run
ONLY_CHECKPOINT = "checkpoint"  # the file of earlier versions, which kept only the last one
KEPT_CHECKPOINTS = 16  # besides the first one and the two newest
_NAME = re.compile(r"(\d{12,18})-(\d{1,12})")
_UNKNOWN = -1  # the tick of a checkpoint of an earlier version, which its name does not say


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A checkpoint on disk: the state after tick `after_tick`; 0 is the beginning of a run."""

    after_tick: int  # -1: an earlier version wrote it, and only its content says
    incarnation: int  # of the start of the world that saved it
    path: Path
    disk: Disk

    def read(self) -> bytes:
        """Return its content, sound or not; raises `DiskFaultError` if it can't be read."""
        try:
            return self.disk.read_bytes(self.path, MAX_CHECKPOINT_BYTES)
        except OSError as error:
            raise reading_fault(f"the checkpoint {self.path}", error) from error


class CheckpointFolder:
    """Stores the checkpoints of one run. After `save` returns, the new one survives a crash of the machine.

    Kept are the first one, the two newest, and `kept` of those between, spread over the whole run. The folder of a run
    is `store.checkpoints(run_id)`:

        nearest = store.checkpoints("spring").nearest(500)  # the newest after tick 500 or an earlier one
    """

    def __init__(self, folder: Path, disk: Disk | None = None, *, kept: int = KEPT_CHECKPOINTS) -> None:
        self._folder = folder
        self._disk: Disk = disk or OsDisk()
        self._kept = kept
        self._made = False  # whether the folder is on disk

    def save(self, data: bytes, *, after_tick: int, incarnation: int) -> None:
        """Write a checkpoint, and remove those that are not kept; raises `DiskFaultError`.

        Checkpoints of later ticks are removed too: they are of ticks that a crash has taken back.
        """
        path = self._folder / f"{after_tick:012d}-{incarnation}"
        try:
            if not self._made:
                self._disk.make_folder(self._folder)
                self._disk.sync_folder(self._folder.parent)
                self._made = True
            write_whole(self._disk, path, data)
            for old in self._obsolete(after_tick, path):
                self._disk.remove(old)
        except OSError as error:
            raise disk_fault(f"saving the checkpoint {path}", error) from error

    def stored(self) -> Sequence[StoredCheckpoint]:
        """Return all checkpoints, the newest last; raises `DiskFaultError` if the folder can't be read."""
        try:
            names = self._disk.list(self._folder)
            beside = ONLY_CHECKPOINT in self._disk.list(self._folder.parent)
        except OSError as error:
            raise reading_fault(f"the checkpoints in {self._folder}", error) from error
        stored = [
            StoredCheckpoint(int(match[1]), int(match[2]), self._folder / match[0], self._disk)
            for match in filter(None, map(_NAME.fullmatch, names))
        ]
        if beside:
            stored.append(StoredCheckpoint(_UNKNOWN, 0, self._folder.parent / ONLY_CHECKPOINT, self._disk))
        return sorted(stored, key=lambda one: (one.after_tick, one.incarnation))

    def nearest(self, tick_id: int) -> StoredCheckpoint | None:
        """Return the newest checkpoint after this tick or an earlier one, or None; it may be damaged."""
        return next((checkpoint for checkpoint in reversed(self.stored()) if checkpoint.after_tick <= tick_id), None)

    def _obsolete(self, after_tick: int, new: Path) -> list[Path]:
        """Return the files that are not kept beside the new one."""
        stored = self.stored()
        kept = [
            checkpoint for checkpoint in stored if 0 <= checkpoint.after_tick < after_tick or checkpoint.path == new
        ]
        obsolete = [checkpoint.path for checkpoint in stored if checkpoint not in kept]
        while len(kept) > self._kept + 3:
            between = range(1, len(kept) - 2)
            least = min(between, key=lambda place: kept[place + 1].after_tick - kept[place - 1].after_tick)
            obsolete.append(kept.pop(least).path)
        return obsolete
