"""`ObservationJournal`: what the minds of a process observed in a lockstep run, in a file of its state folder."""

import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from google.protobuf.message import DecodeError

from tickmind.agent.reliving import PastTurn
from tickmind.base import Limit, get_logger
from tickmind.base.files import PRIVATE_MODE, open_file
from tickmind.protocol import Observation
from tickmind.wire import MessageError
from tickmind.wire.codec.observations import decode_observation, encode_observation
from tickmind.wire.v1 import observation_pb2 as pb

FORMAT_VERSION = 1
MAX_JOURNAL_BYTES = Limit("size of the journal of a lockstep run", 4_000_000_000, "bytes")
MAX_TURN_BYTES = Limit("size of one tick in a journal", 200_000_000, "bytes")
_FRAME = struct.Struct("<II")  # length and checksum of what follows
_TURN = struct.Struct("<QI")  # tick and number of observations
_PART = struct.Struct("<I")  # length of an observation
_log = get_logger(__name__)


class ObservationJournal:
    """The past of one run. A journal of another run is begun anew.

    A tick is in the file before its minds see it, so a half-written last one was never lived. The file outlives a
    killed process, not a machine without power. Raises `ValueError` if a tick that was lived could not be kept.
    """

    def __init__(self, path: Path, run_id: str) -> None:
        self.run_id = run_id
        self._path = path
        self._descriptor = open_file(path, os.O_RDWR | os.O_CREAT, mode=PRIVATE_MODE)
        header = self._header(whole=True)
        self._start = self._end = len(header)
        self._is_full = False
        try:
            self._open(header)
        except BaseException:
            os.close(self._descriptor)
            raise

    def turns(self, before_tick: int) -> Iterator[PastTurn]:
        """Yield the turns before a tick, in order.

        Raises `ValueError` if turns that were lived can't be read: only the tick that comes may be half written.
        """
        last: int | None = None
        for content, _ in self._frames():
            if _tick_of(content) >= before_tick:
                return
            turn = _decoded(content)
            last = turn.tick_id
            yield turn
        if last == before_tick - 1 or (last is None and self._is_torn()):
            return
        if self._end < os.fstat(self._descriptor).st_size:
            raise ValueError(f"it is damaged after tick {last or 0}, and the world is at tick {before_tick}")

    def _is_torn(self) -> bool:
        """Return whether what follows the sound turns is the beginning of one more, as a kill leaves it."""
        left = os.fstat(self._descriptor).st_size - self._end
        head = os.pread(self._descriptor, _FRAME.size, self._end)
        return left < _FRAME.size or left < _FRAME.size + _FRAME.unpack(head)[0]

    def drop_from(self, tick_id: int) -> None:
        """Remove a tick that was kept and not lived to its end, and what follows: it is kept anew."""
        for content, at in self._frames():
            if _tick_of(content) >= tick_id:
                self._end = at
                break
        os.ftruncate(self._descriptor, self._end)

    def keep(self, tick_id: int, observations: Sequence[Observation]) -> None:
        """Append a turn. If that fails, the minds live on, and can't be restored any more."""
        content = zlib.compress(_encoded(tick_id, observations), 1)
        data = _FRAME.pack(len(content), zlib.crc32(content)) + content
        if self._is_full or not MAX_JOURNAL_BYTES.allows(self._end + len(data)):
            self._warn("it is too large")
            return
        try:
            written = os.pwrite(self._descriptor, data, self._end)
        except OSError as error:
            self._warn(error.strerror or str(error))
            return
        if written < len(data):
            self._warn("the disk is full")
            return
        self._end += len(data)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _warn(self, why: str) -> None:
        if self._is_full:
            return
        self._is_full = True  # from here on turns are missing
        _log.warning("can't keep what minds observe; one that is killed can't be restored", why=why)
        try:
            os.pwrite(self._descriptor, self._header(whole=False), 0)  # in place, so a full disk has room for it
        except OSError as error:
            _log.warning("can't mark the journal as ended", path=str(self._path), why=error.strerror)

    def _header(self, *, whole: bool) -> bytes:
        state = "whole" if whole else "ended"  # of the same length
        return json.dumps({"tickmind_journal": FORMAT_VERSION, "run_id": self.run_id, "turns": state}).encode() + b"\n"

    def _open(self, header: bytes) -> None:
        start = os.pread(self._descriptor, len(header), 0)
        if start == self._header(whole=False):
            raise ValueError("what its minds observed could not be kept to the end")
        if start != header:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, header, 0)
        while (frame := self._frame(self._end)) is not None:
            self._end = frame[1]

    def _frames(self) -> Iterator[tuple[bytes, int]]:
        """Yield the content and the place of each sound frame."""
        at = self._start
        while at < self._end and (frame := self._frame(at)) is not None:
            yield frame[0], at
            at = frame[1]

    def _frame(self, at: int) -> tuple[bytes, int] | None:
        """Return the content of the frame at a place and the place of the next; None if there is no whole one."""
        head = os.pread(self._descriptor, _FRAME.size, at)
        if len(head) < _FRAME.size:
            return None
        length, checksum = _FRAME.unpack(head)
        if not MAX_TURN_BYTES.allows(length):
            return None
        content = os.pread(self._descriptor, length, at + _FRAME.size)
        if len(content) < length or zlib.crc32(content) != checksum:
            return None
        try:
            return zlib.decompress(content), at + _FRAME.size + length
        except zlib.error:
            return None


def _encoded(tick_id: int, observations: Sequence[Observation]) -> bytes:
    parts = [_TURN.pack(tick_id, len(observations))]
    for observation in observations:
        data = encode_observation(observation).SerializeToString()
        parts += [_PART.pack(len(data)), data]
    return b"".join(parts)


def _tick_of(content: bytes) -> int:
    tick_id: int = _TURN.unpack_from(content)[0]
    return tick_id


def _decoded(content: bytes) -> PastTurn:
    """Read a turn whose checksum is right."""
    tick_id, count = _TURN.unpack_from(content)
    at = _TURN.size
    observations: list[Observation] = []
    try:
        for _ in range(count):
            (length,) = _PART.unpack_from(content, at)
            at += _PART.size
            observations.append(decode_observation(pb.Observation.FromString(content[at : at + length])))
            at += length
    except (DecodeError, MessageError, struct.error) as error:
        raise ValueError(f"tick {tick_id} of the journal can't be read") from error
    return PastTurn(tick_id, tuple(observations))
