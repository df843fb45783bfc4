"""The disk as an argument: the real one, or one that loses what was not synced (`tickmind.record.testing`)."""

import errno
import fcntl
import os
from pathlib import Path
from typing import BinaryIO, Protocol

from tickmind.base import Limit
from tickmind.base.files import UnsafeFileError, create_file, open_file, open_to_read, read_at_most
from tickmind.record.errors import DiskFaultError, RunBusyError


class DiskFile(Protocol):
    """A file that is being written, at its end."""

    def write(self, data: bytes) -> None:
        """Add all of it. When it returns, other processes see it; a crash of the machine may still lose it."""
        ...

    def sync(self) -> None:
        """Wait until all that was written is on disk, length included."""
        ...

    def close(self) -> None:
        """Let go of the file; that alone makes nothing safe."""
        ...


class DiskLock(Protocol):
    """The right to write in a folder, until it is released or the process ends in whichever way."""

    def release(self) -> None:
        """Let others have it."""
        ...


class Disk(Protocol):
    """Every operation that the record makes, so that a simulation can count them, fail them and crash between them.

    Whatever is refused raises `OSError`. A name that was created, replaced or removed is sure to stay so only after
    `sync_folder`.
    """

    def make_folder(self, path: Path) -> None:
        """Make a folder and those above it; one that is there already is fine."""
        ...

    def create(self, path: Path) -> DiskFile:
        """Make an empty file in the place of whatever has the name; a link is replaced, never followed."""
        ...

    def append(self, path: Path) -> DiskFile:
        """Go on at the end of a file that is no link."""
        ...

    def open(self, path: Path) -> BinaryIO:
        """Read a regular file from any place in it; a pipe or a device is refused."""
        ...

    def read_bytes(self, path: Path, limit: Limit) -> bytes:
        """All of a small regular file; one beyond the limit is a `LimitExceededError`."""
        ...

    def size(self, path: Path) -> int:
        """How many bytes a file has."""
        ...

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file that is no link, and wait until that is on disk."""
        ...

    def replace(self, old: Path, new: Path) -> None:
        """Give a file another name, in the place of whatever has it; or a folder one that nothing has."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file, or a folder that is empty."""
        ...

    def list(self, path: Path) -> "list[str]":
        """The names in a folder, sorted; none if there is no such folder."""
        ...

    def is_link(self, path: Path) -> bool:
        """Whether the name belongs to a symbolic link, whatever that leads to."""
        ...

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on disk."""
        ...

    def lock(self, path: Path) -> DiskLock:
        """Take the lock of this name, or raise `BlockingIOError` if somebody has it."""
        ...

    def is_locked(self, path: Path) -> bool:
        """Whether somebody has the lock of this name. Nothing is written for that."""
        ...


class OsFile:
    """A file of the operating system, written without a buffer in between."""

    def __init__(self, number: int) -> None:
        self._number = number

    def write(self, data: bytes) -> None:
        """Add all of it, however often the system has to be asked."""
        written = os.write(self._number, data)
        if written < len(data):
            rest = memoryview(data)
            while written < len(rest):
                written += os.write(self._number, rest[written:])

    def sync(self) -> None:
        """`fdatasync`: the data, and of the rest what is needed to read it again."""
        os.fdatasync(self._number)

    def close(self) -> None:
        """Give the number back; closing twice does no harm."""
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
        """Let others have it; doing so twice does no harm."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1


class OsDisk:
    """The disk of this machine."""

    def make_folder(self, path: Path) -> None:
        """Make a folder and those above it."""
        path.mkdir(parents=True, exist_ok=True)

    def create(self, path: Path) -> OsFile:
        """Make a file in the place of whatever has the name."""
        return OsFile(create_file(path))

    def append(self, path: Path) -> OsFile:
        """Go on at the end of a file."""
        return OsFile(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND))

    def open(self, path: Path) -> BinaryIO:
        """Read a file, without a buffer: somebody may be writing to it."""
        return open(path, "rb", buffering=0, opener=open_to_read)  # Path.open has no opener

    def read_bytes(self, path: Path, limit: Limit) -> bytes:
        """All of a small file, by what can be read of it: a size that the system tells may be a lie."""
        data = read_at_most(path, int(limit.maximum) + 1)
        limit.check(len(data))
        return data

    def size(self, path: Path) -> int:
        """How many bytes a file has."""
        return path.stat().st_size

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file, and wait until that is on disk."""
        number = open_file(path, os.O_WRONLY)
        try:
            os.ftruncate(number, size)
            os.fsync(number)
        finally:
            os.close(number)

    def replace(self, old: Path, new: Path) -> None:
        """Give a file or a folder another name."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file or an empty folder."""
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()

    def list(self, path: Path) -> "list[str]":
        """The names in a folder."""
        try:
            return sorted(os.listdir(path))  # noqa: PTH208  # names, not paths
        except (FileNotFoundError, NotADirectoryError):
            return []

    def is_link(self, path: Path) -> bool:
        """Whether the name belongs to a symbolic link."""
        return path.is_symlink()

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on disk."""
        number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(number)
        finally:
            os.close(number)

    def lock(self, path: Path) -> OsLock:
        """Take a lock, or raise `BlockingIOError`."""
        return OsLock(path)

    def is_locked(self, path: Path) -> bool:
        """Whether somebody has a lock; who may only read the file may ask."""
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
    errno.EACCES: "this user may not write there; choose another folder or change its rights",
    errno.EIO: "the disk reports an error; check it, then resume the run or recover it",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n), then resume the run",
}


_READING_ADVICE = {
    errno.EACCES: "this user may not read it; change its rights, or ask whoever owns it",
    errno.EPERM: "this user may not read it; change its rights, or ask whoever owns it",
    errno.EIO: "the disk reports an error; check it",
    errno.EMFILE: _ADVICE[errno.EMFILE],
}


def disk_fault(what: str, error: OSError) -> DiskFaultError:
    """An error that says what could not be done, why, and what to do."""
    why = _ADVICE.get(error.errno or 0, f"{error.strerror or error}; check the disk, then resume the run or recover it")
    if isinstance(error, UnsafeFileError):
        why = f"{error.filename}: {error.strerror}"
    return DiskFaultError(f"{what} failed: {why}")


def reading_fault(what: str, error: OSError) -> DiskFaultError:
    """The same, where somebody only wanted to look."""
    why = _READING_ADVICE.get(error.errno or 0, f"{error.strerror or error}; check the disk")
    if isinstance(error, UnsafeFileError):
        why = f"{error.filename}: {error.strerror}"
    return DiskFaultError(f"reading {what} failed: {why}")


def write_whole(disk: Disk, path: Path, data: bytes) -> None:
    """Put a small file in place so that at every moment the old one or the new one is there, whole."""
    beside = path.with_name(f"{path.name}.new")
    file = disk.create(beside)
    try:
        file.write(data)
        file.sync()
    finally:
        file.close()
    disk.replace(beside, path)
    disk.sync_folder(path.parent)


def take_lock(disk: Disk, path: Path, run_id: str) -> DiskLock:
    """The lock of a run, or `RunBusyError` if another process has it."""
    try:
        return disk.lock(path)
    except BlockingIOError:
        raise RunBusyError(
            f"the run {run_id} is being written by another process; stop that one first, or read the run"
        ) from None
