"""A disk in memory that loses unsynced data at a crash, as a real disk may."""

import errno
import io
import math
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from tickmind.base import Limit

SECTOR_BYTES = 512
ANY_SIZE = Limit("size of a file in memory", math.inf, "bytes")


class CrashedError(BaseException):
    """The machine stopped here. Not an `Exception`: a dead process handles nothing."""


@dataclass(eq=False)
class _Inode:
    """A file apart from its name: its content on disk, and as programs see it."""

    safe: bytes = b""
    seen: bytearray = field(default_factory=bytearray)
    clean: int = 0  # bytes from the beginning that the system will not write again
    lost: list[tuple[int, int]] = field(default_factory=list)  # spans of these that never reached the disk

    def settle(self) -> None:
        """Put everything on disk except what the system has given up."""
        self.safe, self.clean = self.written(), len(self.seen)

    def give_up(self) -> None:
        """Drop pending writes, as Linux does after an error; programs still see them."""
        self.lost.append((self.clean, len(self.seen)))
        self.clean = len(self.seen)

    def cut(self, size: int) -> None:
        """Truncate the file."""
        del self.seen[size:]
        self.clean = min(self.clean, size)
        self.lost = [(start, min(end, size)) for start, end in self.lost if start < size]

    def written(self) -> bytes:
        """Return what would be on disk if every pending write succeeded."""
        data = bytearray(self.seen)
        for start, end in self.lost:
            data[start:end] = bytes(end - start)
        return bytes(data)


@dataclass(eq=False)
class _Folder:
    """The names in a folder: on disk, as programs see them, and the changes in between in order."""

    safe: dict[str, _Inode] = field(default_factory=dict)
    seen: dict[str, _Inode] = field(default_factory=dict)
    changes: list[dict[str, _Inode | None]] = field(default_factory=list)  # each at once: name -> file, None: gone
    moves: list[tuple[str, str]] = field(default_factory=list)  # folders in it: old and new name, not on disk yet

    def change(self, names: dict[str, _Inode | None]) -> None:
        self.changes.append(names)
        _apply(self.seen, names)


def _apply(names: dict[str, _Inode], change: dict[str, _Inode | None]) -> None:
    for name, inode in change.items():
        if inode is None:
            names.pop(name, None)
        else:
            names[name] = inode


class MemoryDisk:
    """Implements `tickmind.record.Disk`. Equal seeds and operations give equal disks after a crash.

    `crash_at(n)` stops the machine at the n-th operation from now: it raises `CrashedError`, as does every later one,
    until `restart`. `fail_at(n)` makes the n-th operation from now fail with an error of the system; a write that
    fails has written a part. Reading and listing do not count, because nothing is lost between them.

    After a sync that failed, Linux counts what it could not write as written: programs go on seeing it, later syncs
    succeed, and the next loss of power shows that it was never on disk. So does this disk, unless
    `drops_failed_syncs` is False: then the next sync writes it.
    """

    def __init__(self, seed: int = 0, *, drops_failed_syncs: bool = True) -> None:
        self.drops_failed_syncs = drops_failed_syncs
        self._random = random.Random(seed)
        self._folders: dict[Path, _Folder] = {}
        self._locks: set[Path] = set()
        self._crash_at: int | None = None
        self._faults: dict[int, int] = {}  # operation -> errno
        self._life = 0  # grows with each restart, which invalidates files and locks
        self.operations = 0  # so far, in all lives
        self.crashed = False

    def copy(self, seed: int = 0) -> "MemoryDisk":
        """Return an independent disk of the same content, without open files or locks."""
        disk = MemoryDisk(seed, drops_failed_syncs=self.drops_failed_syncs)
        known: dict[_Inode | None, _Inode | None] = {None: None}  # file here -> the same there

        def same(names: Mapping[str, _Inode | None]) -> dict[str, Any]:
            for inode in names.values():
                if inode is not None and inode not in known:
                    known[inode] = _Inode(inode.safe, bytearray(inode.seen), inode.clean, list(inode.lost))
            return {name: known[inode] for name, inode in names.items()}

        for path, folder in self._folders.items():
            changes = [same(change) for change in folder.changes]
            disk._folders[path] = _Folder(same(folder.safe), same(folder.seen), changes, list(folder.moves))
        return disk

    # Faults

    def crash_at(self, operations: int) -> None:
        """Stop at the n-th operation from now; 1 is the next one, which may happen in part."""
        self._crash_at = self.operations + operations

    def fail_at(self, operations: int, code: int = errno.ENOSPC) -> None:
        """Let the n-th operation from now fail with this system error."""
        self._faults[self.operations + operations] = code

    def spare(self) -> None:
        """Cancel all planned faults."""
        self._crash_at = None
        self._faults.clear()

    def restart(self, *, lost_power: bool = True) -> None:
        """Start again with what is on disk: everything synced, and by chance some of the rest.

        With `lost_power=False` only the process was killed: everything written is still there, synced or not.
        """
        self._life += 1
        self._locks.clear()
        self._crash_at = None
        self.crashed = False
        if not lost_power:
            return
        torn: dict[int, _Inode] = {}
        self._undo_moves()
        for folder in self._folders.values():
            kept = self._random.randint(0, len(folder.changes))  # a journal keeps the order
            for change in folder.changes[:kept]:
                _apply(folder.safe, change)
            folder.changes = []
            folder.seen = dict(folder.safe)
            torn.update((id(inode), inode) for inode in folder.safe.values())
        for inode in torn.values():
            inode.safe = self._tear(inode)
            inode.seen, inode.clean, inode.lost = bytearray(inode.safe), len(inode.safe), []

    def _undo_moves(self) -> None:
        """Undo renames of folders that had not reached the disk."""
        for path, folder in list(self._folders.items()):
            if not folder.moves:
                continue
            kept = self._random.randint(0, len(folder.moves))
            for old, new in reversed(folder.moves[kept:]):
                if path / new in self._folders:
                    self._folders[path / old] = self._folders.pop(path / new)
            folder.moves = []

    def _tear(self, inode: _Inode) -> bytes:
        """Return what was synced, and a random part of the rest, with missing sectors."""
        safe, seen = inode.safe, inode.written()
        if seen == safe:
            return safe
        common = len(safe) if seen.startswith(safe) else 0
        if len(seen) < len(safe):  # it was truncated, and that was not synced
            return safe if self._random.random() < 0.5 else seen
        end = self._random.randint(common, len(seen))
        tail = bytearray(seen[common:end])
        if self._random.random() < 0.3:
            for start in range(0, len(tail), SECTOR_BYTES):
                if self._random.random() < 0.3:
                    tail[start : start + SECTOR_BYTES] = bytes(len(tail[start : start + SECTOR_BYTES]))
        return seen[:common] + bytes(tail)

    def _operate(self, *, part: "tuple[_Inode, bytes] | None" = None) -> None:
        """Count an operation, and let it fail if that is planned."""
        self._alive()
        self.operations += 1
        code = self._faults.pop(self.operations, None)
        crash = self._crash_at is not None and self.operations >= self._crash_at
        if part is not None and (code is not None or crash):
            inode, data = part
            inode.seen += data[: self._random.randint(0, len(data))]
        if crash:
            self.crashed = True
            raise CrashedError(f"the machine stopped at operation {self.operations}")
        if code is not None:
            raise OSError(code, os.strerror(code))

    def _alive(self) -> None:
        if self.crashed:
            raise CrashedError("the machine has stopped; call restart()")

    # The operations of a disk

    def make_folder(self, path: Path) -> None:
        """Make a folder and its parents; folders themselves survive a crash."""
        self._operate()
        for one in (path, *path.parents):
            self._folders.setdefault(one, _Folder())

    def create(self, path: Path) -> "MemoryFile":
        """Create a file, replacing any file of that name."""
        self._operate()
        folder, inode = self._folder(path.parent), _Inode()
        if path.name in folder.seen:
            folder.change({path.name: None})
        folder.change({path.name: inode})
        return MemoryFile(self, inode)

    def append(self, path: Path) -> "MemoryFile":
        """Open a file for appending."""
        self._operate()
        inode = self._folder(path.parent).seen.get(path.name)
        if inode is None:
            inode = _Inode()
            self._folder(path.parent).change({path.name: inode})
        return MemoryFile(self, inode)

    def open(self, path: Path) -> BinaryIO:
        """Open a file for reading; later writes are visible."""
        return cast("BinaryIO", MemoryReader(self._inode(path)))

    def read_bytes(self, path: Path, limit: Limit = ANY_SIZE) -> bytes:
        """Read a whole file."""
        data = bytes(self._inode(path).seen)
        limit.check(len(data))
        return data

    def size(self, path: Path) -> int:
        """Return the size of a file in bytes."""
        return len(self._inode(path).seen)

    def truncate(self, path: Path, size: int) -> None:
        """Truncate a file; when it returns, that is on disk."""
        inode = self._inode(path)
        self._operate()
        inode.cut(size)
        inode.settle()

    def replace(self, old: Path, new: Path) -> None:
        """Rename a file, or a folder to an unused name, in the same folder."""
        if old in self._folders:
            self._operate()
            self._folders[new] = self._folders.pop(old)
            self._folder(new.parent).moves.append((old.name, new.name))
            return
        inode = self._inode(old)
        self._operate()
        if old.parent == new.parent:
            self._folder(old.parent).change({old.name: None, new.name: inode})
        else:
            self._folder(new.parent).change({new.name: inode})
            self._folder(old.parent).change({old.name: None})

    def remove(self, path: Path) -> None:
        """Remove a file, or a folder that is empty."""
        self._operate()
        if path in self._folders:
            if self._folders[path].seen:
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
            del self._folders[path]
            return
        self._inode(path)
        self._folder(path.parent).change({path.name: None})

    def list(self, path: Path) -> "list[str]":
        """Return the names in a folder, of files and folders."""
        self._alive()
        files = self._folders[path].seen if path in self._folders else {}
        return sorted({*files, *(folder.name for folder in self._folders if folder.parent == path and folder != path)})

    def is_link(self, path: Path) -> bool:  # noqa: ARG002  # there are none
        """Return False: a disk in memory has no links."""
        return False

    def sync_folder(self, path: Path) -> None:
        """Make the names in a folder durable."""
        self._operate()
        folder = self._folder(path)
        folder.safe = dict(folder.seen)
        folder.changes, folder.moves = [], []

    def lock(self, path: Path) -> "MemoryLock":
        """Acquire a lock; raises `BlockingIOError` if it is held."""
        self._alive()
        if path in self._locks:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self._locks.add(path)
        return MemoryLock(self, path)

    def is_locked(self, path: Path) -> bool:
        """Whether a lock is held."""
        self._alive()
        return path in self._locks

    def _folder(self, path: Path) -> _Folder:
        folder = self._folders.get(path)
        if folder is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return folder

    def _inode(self, path: Path) -> _Inode:
        self._alive()
        inode = self._folder(path.parent).seen.get(path.name)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return inode


class MemoryFile:
    """A file of a `MemoryDisk` that is being written."""

    def __init__(self, disk: MemoryDisk, inode: _Inode) -> None:
        self._disk = disk
        self._inode = inode
        self._life = disk._life  # noqa: SLF001  # one thing in three classes

    def write(self, data: bytes) -> None:
        """Append bytes; a crash may lose them."""
        self._check()
        self._disk._operate(part=(self._inode, bytes(data)))  # noqa: SLF001  # one thing in three classes
        self._inode.seen += data

    def sync(self) -> None:
        """Make the file durable."""
        self._check()
        try:
            self._disk._operate()  # noqa: SLF001  # one thing in three classes
        except OSError:
            if self._disk.drops_failed_syncs:
                self._inode.give_up()
            raise
        self._inode.settle()

    def close(self) -> None:
        """Do nothing."""

    def _check(self) -> None:
        if self._life != self._disk._life:  # noqa: SLF001  # one thing in three classes
            raise CrashedError("this file was opened before the machine stopped")


class MemoryReader(io.RawIOBase):
    """A file of a `MemoryDisk` that is being read."""

    def __init__(self, inode: _Inode) -> None:
        super().__init__()
        self._inode = inode
        self._place = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: len(self._inode.seen)}[whence]
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Read what is there."""
        data = self._inode.seen[self._place : self._place + len(buffer)]
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


class MemoryLock:
    """A lock of a `MemoryDisk`; a restart frees it."""

    def __init__(self, disk: MemoryDisk, path: Path) -> None:
        self._disk = disk
        self._path = path
        self._life = disk._life  # noqa: SLF001  # one thing in three classes

    def release(self) -> None:
        """Release it."""
        if self._life == self._disk._life:  # noqa: SLF001  # one thing in three classes
            self._disk._locks.discard(self._path)  # noqa: SLF001  # one thing in three classes
