"""The last checkpoint of a world, in one file that is whole at every moment."""

from pathlib import Path

from tickmind.record.disk import Disk, OsDisk, disk_fault, write_whole
from tickmind.record.limits import MAX_CHECKPOINT_BYTES


class CheckpointFile:
    """Keeps the last checkpoint of a world. What `save` has returned from survives a crash of the machine."""

    def __init__(self, path: Path, disk: Disk | None = None) -> None:
        self._path = path
        self._disk: Disk = disk or OsDisk()

    def save(self, data: bytes) -> None:
        """Write beside the file, and put it in its place when it is on disk."""
        try:
            write_whole(self._disk, self._path, data)
        except OSError as error:
            raise disk_fault(f"keeping the checkpoint {self._path}", error) from error

    def load(self) -> bytes | None:
        """The file's content, if there is one."""
        try:
            return self._disk.read_bytes(self._path, MAX_CHECKPOINT_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise disk_fault(f"reading the checkpoint {self._path}", error) from error
