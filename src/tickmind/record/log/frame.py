"""One frame of the log: a header with a checksum, and its content, compressed as a whole.

    marker | kind | codec | flags | tick id | raw size | stored size | synced | checksum   (little endian, 40 bytes)

`synced` is how much of the segment was known to be on disk when the frame was written. It distinguishes a torn tail,
which a crash leaves and which is cut, from damage to durable data, which is never cut without consent.
"""

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

import pyarrow as pa

from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import MAX_FRAME_BYTES

MARKER = 0x4D54_4C01
HEADER = struct.Struct("<IBBHqIIQI4x")
_CHECKED = HEADER.size - 8  # the header up to the checksum


class LogFrameKind(IntEnum):
    """The kinds of frames."""

    HEAD = 1  # which run and which tick the segment begins with
    TICK = 2
    REPORTS = 3  # thoughts and statuses after the last tick
    FOOT = 4  # where the ticks of the segment are


class Codec(IntEnum):
    """How the content is compressed."""

    NONE = 0
    ZSTD = 1
    LZ4 = 2


_CODECS = {Codec.ZSTD: pa.Codec("zstd", 1), Codec.LZ4: pa.Codec("lz4_raw")}
SMALLEST_TO_COMPRESS = 128
LARGEST_FOR_ZSTD = 32_768  # it is smaller than LZ4, and slower
_WORTH = 0.9  # contents that do not shrink to this share are not worth the time
_PAUSE = 15  # frames until the next try


@dataclass(frozen=True, slots=True)
class LogFrame:
    """The header of a frame, and its place."""

    kind: LogFrameKind
    codec: Codec
    keyframe: bool  # can be read without the ticks before it
    tick_id: int
    raw_bytes: int
    stored_bytes: int
    synced: int  # bytes of the segment that were on disk when it was written
    checksum: int
    offset: int  # of the header, in the segment

    @property
    def end(self) -> int:
        """Where the next frame begins."""
        return self.offset + HEADER.size + self.stored_bytes


def pack_frame(
    kind: LogFrameKind, tick_id: int, content: bytes, *, synced: int, keyframe: bool = False, codec: Codec | None = None
) -> bytes:
    """Return header and content as written; without a codec, the one that suits the size."""
    MAX_FRAME_BYTES.check(len(content))
    if codec is None:
        codec = _codec_for(len(content))
    stored: bytes = content
    if codec is not Codec.NONE and len(content) >= SMALLEST_TO_COMPRESS:
        stored = _CODECS[codec].compress(content, asbytes=True)
    if stored is content or len(stored) >= len(content):
        codec, stored = Codec.NONE, content
    head = HEADER.pack(MARKER, kind, codec, int(keyframe), tick_id, len(content), len(stored), synced, 0)
    checksum = zlib.crc32(stored, zlib.crc32(head[:_CHECKED]))
    return b"".join((head[:_CHECKED], checksum.to_bytes(4, "little"), bytes(4), stored))


def _codec_for(size: int) -> Codec:
    return Codec.ZSTD if size <= LARGEST_FOR_ZSTD else Codec.LZ4


class CompressionBackoff:
    """Leaves large contents uncompressed for a while after one hardly shrank: the next will be much like it."""

    def __init__(self) -> None:
        self._pause = 0  # frames

    def codec_for(self, size: int) -> Codec:
        """Return the codec to try for a content of this size."""
        codec = _codec_for(size)
        if codec is Codec.LZ4 and self._pause:
            self._pause -= 1
            return Codec.NONE
        return codec

    def learn(self, codec: Codec, raw: int, stored: int) -> None:
        """Learn from the result of compressing."""
        if codec is Codec.LZ4 and stored > _WORTH * raw:
            self._pause = _PAUSE


def read_header(data: bytes | memoryview, offset: int) -> LogFrame | None:
    """Parse the header in these bytes; None if it is invalid; `is_whole` checks the content."""
    if len(data) < HEADER.size:
        return None
    marker, kind, codec, flags, tick_id, raw, stored, synced, checksum = HEADER.unpack_from(data)
    if marker != MARKER or kind not in _KINDS or codec not in _CODEC_NUMBERS:
        return None
    if raw > MAX_FRAME_BYTES.maximum or stored > raw:
        return None
    return LogFrame(LogFrameKind(kind), Codec(codec), bool(flags & 1), tick_id, raw, stored, synced, checksum, offset)


_KINDS = frozenset(LogFrameKind)
_CODEC_NUMBERS = frozenset(Codec)


def is_whole(frame: LogFrame, data: bytes | memoryview) -> bool:
    """Whether header and content are intact; `data` is all of the frame."""
    if len(data) != HEADER.size + frame.stored_bytes:
        return False
    return zlib.crc32(data[HEADER.size :], zlib.crc32(data[:_CHECKED])) == frame.checksum


def content_of(frame: LogFrame, data: bytes | memoryview) -> pa.Buffer:
    """Return the content of a whole frame. Takes no more memory than the header says."""
    stored = pa.py_buffer(data)[HEADER.size :]
    if frame.codec is Codec.NONE:
        return stored
    try:
        return _CODECS[frame.codec].decompress(stored, decompressed_size=frame.raw_bytes)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedRunError(f"tick {frame.tick_id} of the log can't be decompressed; recover the run") from error
