"""Many small things that were told tick by tick, kept small: those that came together are packed together."""

import zlib
from array import array
from collections import deque
from collections.abc import Iterator

from tickmind.base import Limit

_LARGEST_TO_PACK = 1 << 18  # bytes: more would take long, and of large things little is what Python needs for each
_FULL_BYTES = 1 << 16  # packed in about a millisecond, and enough to find what repeats itself
_FULL_PARTS = 256
_QUICK = 1  # of zlib's levels
_BUNDLE_BYTES = 700  # that Python needs for a bundle beside its parts
_PART_BYTES = 23  # and for a part


class Bundle:
    """Parts, each of a tick and maybe of a character; when no more come they can be packed."""

    __slots__ = ("_content", "_ends", "_packed", "_rows", "_ticks")

    def __init__(self) -> None:
        self._ticks = array("q")
        self._rows = array("i")
        self._ends = array("q")  # part -> where it ends in the content
        self._content: bytearray | bytes = bytearray()
        self._packed = False

    def __len__(self) -> int:
        return len(self._ticks)

    @property
    def last(self) -> int:
        """The tick of the last one; there must be one."""
        return self._ticks[-1]

    @property
    def size(self) -> int:
        """Bytes of memory that it takes."""
        return _BUNDLE_BYTES + len(self._content) + _PART_BYTES * len(self)

    @property
    def full(self) -> bool:
        """Whether more parts would make it no smaller."""
        return len(self._content) >= _FULL_BYTES or len(self) >= _FULL_PARTS

    def add(self, tick_id: int, part: bytes, row: int = 0) -> None:
        """One more part; not after it was packed."""
        self._content += part
        self._ticks.append(tick_id)
        self._rows.append(row)
        self._ends.append(len(self._content))

    def pack(self) -> None:
        """No more come."""
        self._packed = len(self) > 1 and len(self._content) <= _LARGEST_TO_PACK
        self._content = zlib.compress(self._content, _QUICK) if self._packed else bytes(self._content)

    def parts(self, first: int, last: int, row: int = 0) -> list[tuple[int, bytes]]:
        """Tick and content of those of a character in these ticks, in the order in which they came."""
        found = [
            place
            for place, (tick, whose) in enumerate(zip(self._ticks, self._rows, strict=True))
            if whose == row and first <= tick <= last
        ]
        if not found:
            return []
        content = memoryview(zlib.decompress(self._content) if self._packed else self._content)
        starts = [self._ends[place - 1] if place else 0 for place in found]
        return [
            (self._ticks[place], bytes(content[start : self._ends[place]]))
            for place, start in zip(found, starts, strict=True)
        ]


class Bundles:
    """Parts without end, of which the oldest go when there is no more room; the newest stays, however large."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._bundles: deque[Bundle] = deque([Bundle()])  # only the last one is open
        self._closed_size = 0  # of all but the last

    def add(self, tick_id: int, part: bytes, row: int = 0) -> None:
        """Keep one more."""
        newest = self._bundles[-1]
        newest.add(tick_id, part, row)
        if newest.full:
            newest.pack()
            self._closed_size += newest.size
            self._bundles.append(Bundle())
        while len(self._bundles) > 2 and not self._limit.allows(self._closed_size + self._bundles[-1].size):
            self._closed_size -= self._bundles.popleft().size

    def newest(self, first: int, last: int, row: int = 0) -> Iterator[tuple[int, bytes]]:
        """Tick and content of those of a character in these ticks, the last that came first."""
        for bundle in reversed(self._bundles):
            yield from reversed(bundle.parts(first, last, row))
