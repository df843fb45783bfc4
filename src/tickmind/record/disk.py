"""The disk port: the real disk, or one that loses unsynced data (`tickmind.record.testing`)."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from tickmind.base import Limit
from tickmind.base.files import UnsafeFileError, create_file, open_file, open_to_read, read_at_most
from tickmind.record.errors import DiskFaultError, RunBusyError


class DiskFile(Protocol):
    """A file that is open for appending."""

    def write(self, data: bytes) -> None:
        """Append all bytes. When it returns, other processes see them; a crash of the machine may still lose them."""
        ...

    def sync(self) -> None:
        """Wait until everything written is on disk, including the length."""
        ...

    def close(self) -> None:
        """Close the file; that alone makes nothing durable."""
        ...


class DiskLock(Protocol):
    """The right to write in a folder, until it is released or the process ends."""

    def release(self) -> None:
        """Release it."""
        ...


class Disk(Protocol):
    """All disk operations of the record, so that a simulation can count them, fail them and crash between them.

    Failures raise `OSError`. A name that was created, replaced or removed is durable only after `sync_folder`.
    """

    def make_folder(self, path: Path) -> None:
        """Make a folder and its parents; existing ones are fine."""
        ...

    def create(self, path: Path) -> DiskFile:
        """Create an empty file, replacing any file of that name; a link is replaced, never followed."""
        ...

    def append(self, path: Path) -> DiskFile:
        """Open a file that is no link for appending."""
        ...

    def open(self, path: Path) -> BinaryIO:
        """Open a regular file for random access; a pipe or a device is refused."""
        ...

    def read_bytes(self, path: Path, limit: Limit) -> bytes:
        """Read a small regular file; raises `LimitExceededError` beyond the limit."""
        ...

    def size(self, path: Path) -> int:
        """Return the size of a file in bytes."""
        ...

    def truncate(self, path: Path, size: int) -> None:
        """Truncate a file that is no link, and wait until that is on disk."""
        ...

    def replace(self, old: Path, new: Path) -> None:
        """Rename a file, replacing any file of the new name; or a folder to an unused name."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file, or a folder that is empty."""
        ...

    def list(self, path: Path) -> "list[str]":
        """Return the names in a folder, sorted; none if it does not exist."""
        ...

    def is_link(self, path: Path) -> bool:
        """Whether the name is a symbolic link, whatever its target."""
        ...

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on disk."""
        ...

    def lock(self, path: Path) -> DiskLock:
        """Acquire the lock of this name; raises `BlockingIOError` if it is held."""
        ...

    def is_locked(self, path: Path) -> bool:
        """Whether the lock of this name is held; writes nothing."""
        ...


class OsFile:
    """A file of the operating system, written without a buffer in between."""

    def __init__(self, number: int) -> None:
        self._number = number

    def write(self, data: bytes) -> None:
        """Append all bytes, in as many system calls as needed."""
        written = os.write(self._number, data)
        if written < len(data):
            rest = memoryview(data)
            while written < len(rest):
                written += os.write(self._number, rest[written:])

    def sync(self) -> None:
        """Call `fdatasync`: the data, and the metadata needed to read it again."""
        os.fdatasync(self._number)

    def close(self) -> None:
        """Close the descriptor; closing twice does no harm."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1


class OsLock:
    """A lock of the operating system, which ends with the process."""

    def __init__(self, path: Path) -> None:
        self._number = open_file(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(self._number)
            raise

    def release(self) -> None:
        """Release it; doing so twice does no harm."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1


class OsDisk:
    """The disk of this machine."""

    def make_folder(self, path: Path) -> None:
        """Make a folder and those above it."""
        path.mkdir(parents=True, exist_ok=True)

    def create(self, path: Path) -> OsFile:
        """Create a file, replacing any file of that name."""
        return OsFile(create_file(path))

    def append(self, path: Path) -> OsFile:
        """Open a file for appending."""
        return OsFile(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND))

    def open(self, path: Path) -> BinaryIO:
        """Open a file without a buffer: another process may be writing to it."""
        return open(path, "rb", buffering=0, opener=open_to_read)  # Path.open has no opener

    def read_bytes(self, path: Path, limit: Limit) -> bytes:
        """Read a small file by what can be read of it: the reported size may be wrong."""
        data = read_at_most(path, int(limit.maximum) + 1)
        limit.check(len(data))
        return data

    def size(self, path: Path) -> int:
        """Return the size of a file in bytes."""
        return path.stat().st_size

    def truncate(self, path: Path, size: int) -> None:
        """Truncate a file, and wait until that is on disk."""
        number = open_file(path, os.O_WRONLY)
        try:
            os.ftruncate(number, size)
            os.fsync(number)
        finally:
            os.close(number)

    def replace(self, old: Path, new: Path) -> None:
        """Rename a file or a folder."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file or an empty folder."""
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()

    def list(self, path: Path) -> "list[str]":
        """Return the names in a folder."""
        try:
            return sorted(os.listdir(path))  # noqa: PTH208  # names, not paths
        except (FileNotFoundError, NotADirectoryError):
            return []

    def is_link(self, path: Path) -> bool:
        """Whether the name is a symbolic link."""
        return path.is_symlink()

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on disk."""
        number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(number)
        finally:
            os.close(number)

    def lock(self, path: Path) -> OsLock:
        """Acquire a lock; raises `BlockingIOError` if it is held."""
        return OsLock(path)

    def is_locked(self, path: Path) -> bool:
        """Whether a lock is held; read access to the file suffices."""
        try:
            number = open_to_read(path)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(number)
        return False


_ADVICE = {
    errno.ENOSPC: "the disk is full; make room, then resume the run or recover it",
    errno.EDQUOT: "the disk quota is used up; make room, then resume the run or recover it",
    errno.EROFS: "the disk is read-only; mount it for writing, or choose another folder",
    errno.EACCES: "this user may not write there; choose another folder or change its permissions",
    errno.EIO: "the disk reports an error; check it, then resume the run or recover it",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n), then resume the run",
}


_READING_ADVICE = {
    errno.EACCES: "this user may not read it; change its permissions, or ask its owner",
    errno.EPERM: "this user may not read it; change its permissions, or ask its owner",
    errno.EIO: "the disk reports an error; check it",
    errno.EMFILE: _ADVICE[errno.EMFILE],
}


def disk_fault(what: str, error: OSError) -> DiskFaultError:
    """Make an error that says what failed, why, and what to do."""
    why = _ADVICE.get(error.errno or 0, f"{error.strerror or error}; check the disk, then resume the run or recover it")
    if isinstance(error, UnsafeFileError):
        why = f"{error.filename}: {error.strerror}"
    return DiskFaultError(f"{what} failed: {why}")


def reading_fault(what: str, error: OSError) -> DiskFaultError:
    """Make the same error for a failed read."""
    why = _READING_ADVICE.get(error.errno or 0, f"{error.strerror or error}; check the disk")
    if isinstance(error, UnsafeFileError):
        why = f"{error.filename}: {error.strerror}"
    return DiskFaultError(f"reading {what} failed: {why}")


def write_whole(disk: Disk, path: Path, data: bytes) -> None:
    """Write a small file atomically: at every moment the old or the new one is there, complete."""
    beside = path.with_name(f"{path.name}.new")
    file = disk.create(beside)
    try:
        file.write(data)
        file.sync()
    finally:
        file.close()
    disk.replace(beside, path)
    disk.sync_folder(path.parent)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn the disk's refusal of a read into a `DiskFaultError`."""
    try:
        yield
    except OSError as error:
        raise reading_fault(what, error) from error


def remove_folder(disk: Disk, path: Path) -> None:
    """Remove a folder and the files in it, if it is there."""
    for name in disk.list(path):
        disk.remove(path / name)
    if path.name in disk.list(path.parent):
        disk.remove(path)


def take_lock(disk: Disk, path: Path, run_id: str) -> DiskLock:
    """Acquire the lock of a run; raises `RunBusyError` if another process has it."""
    try:
        return disk.lock(path)
    except BlockingIOError:
        raise RunBusyError(
            f"the run {run_id} is being written by another process; stop that process first, or only read the run"
        ) from None
