"""Copies of an agent's state folder: what takes its characters back, and what they remember, on the runner's machine.

The node of an agent may be lost with its disk. So the node sends what has changed since it last did, and the runner
keeps it where the agent would keep it without a cluster. The next start takes it along, to whichever node it goes.
"""

import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tickmind.base import Limit, get_logger
from tickmind.base.files import PRIVATE_MODE, open_file, replace_file

MAX_COPY_BYTES = Limit("size of what is copied of an agent's state at a time", 8_000_000, "bytes")
MAX_PIECE_BYTES = Limit("size of one piece of a state file", 4_000_000, "bytes")
_NAME_CHARS = 200
_END_BYTES = 2_000_000  # of both ends of what was sent of a file, by which it is known again; small ones whole
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StatePiece:
    """Part of a file from an offset on; at 0 the file begins anew. Without data the file is gone."""

    name: str
    offset: int
    packed: bytes | None = field(repr=False)  # compressed


@dataclass(slots=True)
class _Sent:
    """How much of a file was sent, and a checksum of that."""

    inode: int
    changed_ns: int
    size: int
    offset: int
    checksum: int


class StateFolder:
    """The state of an agent on its node. Files that only grow are sent by their ends, others whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sent: dict[str, _Sent] = {}  # file -> what was sent, the one that waited longest first

    def fill(self, pieces: Iterable[StatePiece]) -> None:
        """Write what an earlier start has kept; it is not sent back."""
        keep_pieces(self._folder, pieces)
        for entry in os.scandir(self._folder):
            facts = entry.stat(follow_symlinks=False)
            with os.fdopen(open_file(self._folder / entry.name, os.O_RDONLY), "rb") as file:
                checksum = _checksum(file, facts.st_size)
            self._sent[entry.name] = _Sent(facts.st_ino, facts.st_mtime_ns, facts.st_size, facts.st_size, checksum)

    def changes(self) -> list[StatePiece]:
        """Return what has changed since the last call, up to a limit; the rest comes with the next ones."""
        entries = {entry.name: entry for entry in os.scandir(self._folder) if _is_kept(entry)}
        pieces = [StatePiece(name, 0, None) for name in self._sent.keys() - entries.keys()]
        for piece in pieces:
            del self._sent[piece.name]
        room = int(MAX_COPY_BYTES.maximum)
        for name in [*(name for name in entries if name not in self._sent), *list(self._sent)]:
            if room <= 0:
                break
            data = self._next_piece(name, entries[name], min(room, int(MAX_PIECE_BYTES.maximum)))
            if data is not None:
                pieces.append(data[0])
                room -= data[1]
        return pieces

    def _next_piece(self, name: str, entry: "os.DirEntry[str]", room: int) -> tuple[StatePiece, int] | None:
        try:
            facts = entry.stat(follow_symlinks=False)
            sent = self._sent.get(name)
            stamp = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
            if sent is not None and (sent.inode, sent.changed_ns, sent.size) == stamp and sent.offset >= facts.st_size:
                return None
            with os.fdopen(open_file(self._folder / name, os.O_RDONLY), "rb") as file:
                # A file may begin anew in place, and the file system gives numbers of removed files to new ones.
                grows = (
                    sent is not None
                    and sent.inode == facts.st_ino
                    and facts.st_size > sent.offset
                    and _checksum(file, sent.offset) == sent.checksum
                )
                offset = sent.offset if sent is not None and grows else 0
                file.seek(offset)
                data = file.read(room)
                checksum = _checksum(file, offset + len(data))
        except FileNotFoundError:
            return None  # it was replaced or removed meanwhile; the next call looks again
        self._sent.pop(name, None)
        self._sent[name] = _Sent(*stamp, offset + len(data), checksum)
        return StatePiece(name, offset, zlib.compress(data, 1)), len(data)


def read_pieces(folder: Path) -> list[StatePiece]:
    """Return all files of a state folder."""
    pieces: list[StatePiece] = []
    for entry in os.scandir(folder):
        if not _is_kept(entry):
            continue
        with os.fdopen(open_file(folder / entry.name, os.O_RDONLY), "rb") as file:
            offset = 0
            while (data := file.read(int(MAX_PIECE_BYTES.maximum))) or not offset:
                pieces.append(StatePiece(entry.name, offset, zlib.compress(data, 1)))
                offset += len(data)
                if not data:
                    break
    return pieces


def keep_pieces(folder: Path, pieces: Iterable[StatePiece]) -> None:
    """Write pieces into a state folder. Names and sizes are checked: a node may send anything."""
    for piece in pieces:
        if not _is_name(piece.name):
            _log.warning("a node sent a state file with a name that is not kept", name=piece.name[:_NAME_CHARS])
            continue
        path = folder / piece.name
        if piece.packed is None:
            path.unlink(missing_ok=True)
            continue
        try:
            data = _unpacked(piece.packed)
        except (ValueError, zlib.error):
            _log.warning("a node sent a damaged state file, which is not kept", name=piece.name)
            continue
        if piece.offset == 0:
            replace_file(path, data, mode=PRIVATE_MODE)
        else:
            with os.fdopen(open_file(path, os.O_RDWR | os.O_CREAT, mode=PRIVATE_MODE), "r+b") as file:
                file.seek(piece.offset)
                file.write(data)
                file.truncate()


def _checksum(file: BinaryIO, size: int) -> int:
    """Return the checksum of so much of a file; of a large one, of both ends."""
    file.seek(0)
    checksum = zlib.crc32(file.read(min(size, _END_BYTES)))
    if size > _END_BYTES:
        file.seek(max(_END_BYTES, size - _END_BYTES))
        checksum = zlib.crc32(file.read(min(size - _END_BYTES, _END_BYTES)), checksum)
    return checksum


def _unpacked(packed: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(packed, int(MAX_PIECE_BYTES.maximum))
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise ValueError("it is too long, or cut off")
    return data


def _is_kept(entry: "os.DirEntry[str]") -> bool:
    return _is_name(entry.name) and entry.is_file(follow_symlinks=False)


def _is_name(name: str) -> bool:
    """Return whether this is the plain name of a finished file: temporary ones begin with a dot."""
    return 0 < len(name) <= _NAME_CHARS and "/" not in name and "\0" not in name and not name.startswith(".")
