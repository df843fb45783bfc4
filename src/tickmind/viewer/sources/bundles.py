"""Bundles: many small parts by tick, compressed together."""

import zlib
from array import array
from collections import deque
from collections.abc import Iterator

from tickmind.base import Limit

LARGEST_TO_PACK = 1 << 18  # bytes: more would take long while a world is waiting
_FULL_BYTES = 1 << 16  # packed in about a millisecond, and enough to find repetitions
_FULL_PARTS = 256
_QUICK = 1  # of zlib's levels
_BUNDLE_BYTES = 700  # overhead of a bundle in Python
_PART_BYTES = 23  # and of a part


class Bundle:
    """Parts, each of a tick and perhaps of a character; it can be packed when it is complete."""

    __slots__ = ("_content", "_ends", "_highest", "_lowest", "_packed", "_rows", "_ticks")

    def __init__(self) -> None:
        self._ticks = array("q")
        self._rows = array("i")
        self._ends = array("q")  # part -> where it ends in the content
        self._lowest, self._highest = 1 << 63, -1  # of the ticks, which need not come in order
        self._content: bytearray | bytes = bytearray()
        self._packed = False

    def __len__(self) -> int:
        return len(self._ticks)

    @property
    def last(self) -> int:
        """The tick of the last part; there must be one."""
        return self._ticks[-1]

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes."""
        return _BUNDLE_BYTES + len(self._content) + _PART_BYTES * len(self)

    @property
    def full(self) -> bool:
        """Whether more parts would not compress better."""
        return len(self._content) >= _FULL_BYTES or len(self) >= _FULL_PARTS

    def add(self, tick_id: int, part: bytes, row: int = 0) -> None:
        """Add a part; not after it was packed."""
        self._content += part
        self._ticks.append(tick_id)
        self._rows.append(row)
        self._ends.append(len(self._content))
        self._lowest, self._highest = min(self._lowest, tick_id), max(self._highest, tick_id)

    def pack(self, largest: int = LARGEST_TO_PACK) -> None:
        """Compress it; contents of more bytes than `largest` stay unchanged."""
        self._packed = len(self._content) <= largest
        self._content = zlib.compress(self._content, _QUICK) if self._packed else bytes(self._content)

    def parts(self, first: int, last: int, row: int = 0) -> list[tuple[int, memoryview]]:
        """Return tick and content of a character's parts in these ticks, in the order of their arrival."""
        if last < self._lowest or self._highest < first or row not in self._rows:
            return []
        whose = zip(self._ticks, self._rows, strict=True)
        places = [place for place, (tick, other) in enumerate(whose) if other == row and first <= tick <= last]
        if not places:
            return []
        if isinstance(self._content, bytearray):  # a bytearray can't grow while views of it exist
            content = memoryview(bytes(self._content))
        else:
            content = memoryview(zlib.decompress(self._content) if self._packed else self._content)
        starts = [self._ends[place - 1] if place else 0 for place in places]
        return [
            (self._ticks[place], content[start : self._ends[place]])
            for place, start in zip(places, starts, strict=True)
        ]


class Bundles:
    """An endless sequence of parts, of which the oldest are dropped beyond the limit; the newest stays, however large.

    Only bundles of at most `largest` bytes are packed.
    """

    def __init__(self, limit: Limit, *, largest: int = LARGEST_TO_PACK) -> None:
        self._limit = limit
        self._largest = largest
        self._bundles: deque[Bundle] = deque([Bundle()])  # only the last one is open
        self._closed_size = 0  # of all but the last

    def add(self, tick_id: int, part: bytes, row: int = 0) -> None:
        """Add a part."""
        if len(part) >= _FULL_BYTES and self._bundles[-1]:
            self._close()  # so that it is packed without the large part
        self._bundles[-1].add(tick_id, part, row)
        if self._bundles[-1].full:
            self._close()
        while len(self._bundles) > 2 and not self._limit.allows(self._closed_size + self._bundles[-1].size):
            self._closed_size -= self._bundles.popleft().size

    def _close(self) -> None:
        newest = self._bundles[-1]
        newest.pack(self._largest)
        self._closed_size += newest.size
        self._bundles.append(Bundle())

    def newest(self, first: int, last: int, row: int = 0) -> Iterator[tuple[int, memoryview]]:
        """Iterate over tick and content of a character's parts in these ticks, last arrival first."""
        for bundle in reversed(self._bundles):
            yield from reversed(bundle.parts(first, last, row))
