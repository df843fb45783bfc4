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
    """The past of one run. A journal of another run is begun anew; a half-written last tick is cut off.

    A tick is in the file before its minds see it. The file outlives a killed process, not a machine without power.
    """

    def __init__(self, path: Path, run_id: str) -> None:
        self.run_id = run_id
        self._path = path
        self._descriptor = open_file(path, os.O_RDWR | os.O_CREAT, mode=PRIVATE_MODE)
        header = json.dumps({"tickmind_journal": FORMAT_VERSION, "run_id": run_id}).encode() + b"\n"
        self._start = len(header)
        if os.pread(self._descriptor, len(header), 0) == header:
            self._end = self._sound_end()
        else:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, header, 0)
            self._end = self._start
        os.ftruncate(self._descriptor, self._end)
        self._is_full = False

    def turns(self, before_tick: int) -> Iterator[PastTurn]:
        """Yield the turns before a tick, in order."""
        at = self._start
        while at < self._end and (frame := self._frame(at)) is not None:
            turn = _decoded(frame[0])
            if turn.tick_id >= before_tick:
                return
            yield turn
            at = frame[1]

    def keep(self, tick_id: int, observations: Sequence[Observation]) -> None:
        """Append a turn. If that fails, a later kill costs the minds what came since, and nothing else."""
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
        if not self._is_full:  # from here on a turn would be missing
            self._is_full = True
            _log.warning("can't keep what minds observe; one that is killed will not be as it was", why=why)

    def _sound_end(self) -> int:
        at = self._start
        while (frame := self._frame(at)) is not None:
            at = frame[1]
        return at

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
