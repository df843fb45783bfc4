"""A world's last checkpoint, in a file that is complete at every moment."""

from pathlib import Path

from tickmind.record.disk import Disk, OsDisk, disk_fault, write_whole
from tickmind.record.limits import MAX_CHECKPOINT_BYTES


class CheckpointFile:
    """Stores the last checkpoint of a world. After `save` returns, it survives a crash of the machine."""

    def __init__(self, path: Path, disk: Disk | None = None) -> None:
        self._path = path
        self._disk: Disk = disk or OsDisk()

    def save(self, data: bytes) -> None:
        """Write a new file beside the old one, and replace it when it is on disk."""
        try:
            write_whole(self._disk, self._path, data)
        except OSError as error:
            raise disk_fault(f"saving the checkpoint {self._path}", error) from error

    def load(self) -> bytes | None:
        """Return the file's content, or None if there is no file."""
        try:
            return self._disk.read_bytes(self._path, MAX_CHECKPOINT_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise disk_fault(f"reading the checkpoint {self._path}", error) from error
