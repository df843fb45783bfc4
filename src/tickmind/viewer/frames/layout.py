"""The layout of frames: a head, a list of sections, and the sections' bytes, all little endian.

    offset  size  what
    0       1     version of the format, 1
    1       1     kind: 1 hello, 2 keyframe, 3 tick, 4 notes
    2       2     number of sections, n
    4       4     size of the whole frame in bytes, a multiple of 8
    8       8     tick
    16      8     time in the world after that tick, in ms
    24      8n    for each section: its tag (2 bytes), 2 bytes of zero, its size in bytes (4)
    ...           the sections in that order, each begun at a multiple of 8 and filled up with zeros

A reader skips tags that it does not know. Because everything is aligned, JavaScript lays typed arrays over a frame,
or over many that follow each other in one buffer, without copying.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

import orjson

from tickmind.base import Limit
from tickmind.viewer.errors import FrameError

VERSION = 1
MAX_FRAME_BYTES = Limit("size of a frame", 256 * 1024 * 1024, "bytes")
_HEAD = struct.Struct("<BBHIqq")
_ENTRY = struct.Struct("<HHI")
HEAD_BYTES, ENTRY_BYTES = _HEAD.size, _ENTRY.size


class FrameKind(IntEnum):
    """The kinds of frames."""

    HELLO = 1  # everything constant; comes first
    KEYFRAME = 2  # everything as it is after a tick
    TICK = 3  # what one tick changed
    NOTES = 4  # reports of agents; each entry has its tick


class Tag(IntEnum):
    """The kinds of sections. Numbers are never reused."""

    # hello
    INFO = 1  # JSON object
    FLOOR = 2  # uint8 for each tile, row by row from the north-west corner
    OBJECT_PLACE = 3  # int16 x of all objects, then int16 y
    OBJECT_KIND = 4  # uint8 for each object
    OBJECT_IDS = 5  # JSON list
    ACTOR_IDS = 6  # JSON list
    ACTOR_TYPE = 7  # uint16 for each actor: place in INFO's `actor_types`

    # keyframe
    ACTOR_X = 16  # int16 for each actor
    ACTOR_Y = 17  # int16
    ACTOR_FACING = 18  # uint8, 0 is north and 2 east
    ACTOR_STATUS = 19  # uint8
    OBJECT_STATE = 20  # uint8 for each object
    OBJECT_STOCK = 21  # int32 for each object
    GROUND = 22  # int32 x of all heaps, then y, item kind and amount
    OBJECT_PLACES = 23  # int16 x of all objects, then int16 y, where some come and go; -1: it is not there

    # tick
    STEPS = 32  # uint8[16]: step codes by number; then 4 bits for each actor, the lower first: its code's number, or 15
    STEP_ROWS = 33  # uint32: actors with a step code, where they are few
    STEP_CODES = 34  # uint8 for each of these, or for each actor whose number in STEPS is 15
    PLACE_ROWS = 35  # uint32: actors whose new place has no step code
    PLACES = 36  # int16 x of these, then int16 y
    PLACE_FACING = 37  # uint8 for each of these
    STATUS_ROWS = 38  # uint32: actors whose status is new
    STATUS = 39  # uint8 for each of these
    RESULT_ROWS = 40  # uint32: actors with a result that has no step code
    RESULT_CODES = 41  # uint8 action of these, then uint8 reason
    DETAILS = 42  # JSON list of [row, target, [[effect, value], ...]]
    SAID = 43  # JSON list of [row, channel, text, x, y]
    OBJECTS = 44  # JSON list of [object row, field, value] and of [x, y, item kind, amount] on the ground; the value of
    # `tile` is y times 65536, and x, of an object that was built, and -1 of one that is gone
    RULES = 45  # JSON list of [name, actor rows, score, ends, own, text, [[effect, value], ...]], if there are any

    # notes
    THOUGHTS = 48  # JSON list of objects
    STATES = 49  # JSON list of [tick, row, state, detail]
    HOLDING = 50  # the same for all agents not simply running after the frame's tick, even if there are none


_TAGS = frozenset(int(tag) for tag in Tag)


@dataclass(frozen=True, slots=True)
class Frame:
    """A parsed frame; the sections are views of its bytes."""

    kind: FrameKind
    tick_id: int
    sim_time_ms: int
    sections: Mapping[Tag, memoryview]


def pack(kind: FrameKind, tick_id: int, sim_time_ms: int, sections: Mapping[Tag, bytes]) -> bytes:
    """Make a frame. Empty sections are left out."""
    kept = {tag: data for tag, data in sections.items() if data}
    parts = [b""]
    for tag, data in kept.items():
        parts.append(_ENTRY.pack(tag, 0, len(data)))
    for data in kept.values():
        parts.extend((data, bytes(-len(data) % 8)))
    size = _HEAD.size + sum(map(len, parts))
    MAX_FRAME_BYTES.check(size)
    parts[0] = _HEAD.pack(VERSION, kind, len(kept), size, tick_id, sim_time_ms)
    return b"".join(parts)


def unpack(data: bytes) -> Iterator[Frame]:
    """Parse frames that follow each other; for tests and tools in Python."""
    view = memoryview(data)
    while view:
        if len(view) < _HEAD.size:
            raise FrameError(f"a frame has a head of {_HEAD.size} bytes, but only {len(view)} are left")
        version, kind, count, size, tick_id, sim_time_ms = _HEAD.unpack_from(view)
        if version != VERSION:
            raise FrameError(f"frames of version {version} can't be read, only those of version {VERSION}")
        at = _HEAD.size + count * _ENTRY.size
        if size > len(view) or at > size:
            raise FrameError(f"a frame of {size} bytes does not fit into the {len(view)} that are left")
        sections: dict[Tag, memoryview] = {}
        for place in range(count):
            tag, _, length = _ENTRY.unpack_from(view, _HEAD.size + place * _ENTRY.size)
            if at + length > size:
                raise FrameError(f"section {tag} does not fit into its frame")
            if tag in _TAGS:
                sections[Tag(tag)] = view[at : at + length]
            at += length + -length % 8
        try:
            yield Frame(FrameKind(kind), tick_id, sim_time_ms, sections)
        except ValueError:
            raise FrameError(f"{kind} is no kind of frame") from None
        view = view[size:]


def json_section(value: object) -> bytes:
    """Return a JSON section; empty for an empty value."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS) if value else b""
