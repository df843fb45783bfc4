"""Many small things that were told tick by tick, kept small: those that came together are packed together."""

import zlib
from array import array
from collections import deque
from collections.abc import Iterator

from tickmind.base import Limit

LARGEST_TO_PACK = 1 << 18  # bytes: more would take long while a world is waiting
_FULL_BYTES = 1 << 16  # packed in about a millisecond, and enough to find what repeats itself
_FULL_PARTS = 256
_QUICK = 1  # of zlib's levels
_BUNDLE_BYTES = 700  # that Python needs for a bundle beside its parts
_PART_BYTES = 23  # and for a part


class Bundle:
    """Parts, each of a tick and maybe of a character; when no more come they can be packed."""

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
        self._lowest, self._highest = min(self._lowest, tick_id), max(self._highest, tick_id)

    def pack(self, largest: int = LARGEST_TO_PACK) -> None:
        """No more come; what has more bytes than `largest` stays as it is."""
        self._packed = len(self._content) <= largest
        self._content = zlib.compress(self._content, _QUICK) if self._packed else bytes(self._content)

    def parts(self, first: int, last: int, row: int = 0) -> list[tuple[int, memoryview]]:
        """Tick and content of those of a character in these ticks, in the order in which they came."""
        if last < self._lowest or self._highest < first or row not in self._rows:
            return []
        whose = zip(self._ticks, self._rows, strict=True)
        found = [place for place, (tick, one) in enumerate(whose) if one == row and first <= tick <= last]
        if not found:
            return []
        if isinstance(self._content, bytearray):  # it would not grow while somebody looks at it
            content = memoryview(bytes(self._content))
        else:
            content = memoryview(zlib.decompress(self._content) if self._packed else self._content)
        starts = [self._ends[place - 1] if place else 0 for place in found]
        return [
            (self._ticks[place], content[start : self._ends[place]]) for place, start in zip(found, starts, strict=True)
        ]


class Bundles:
    """Parts without end, of which the oldest go when there is no more room; the newest stays, however large.

    Only what has at most `largest` bytes is packed.
    """

    def __init__(self, limit: Limit, *, largest: int = LARGEST_TO_PACK) -> None:
        self._limit = limit
        self._largest = largest
        self._bundles: deque[Bundle] = deque([Bundle()])  # only the last one is open
        self._closed_size = 0  # of all but the last

    def add(self, tick_id: int, part: bytes, row: int = 0) -> None:
        """Keep one more."""
        if len(part) >= _FULL_BYTES and self._bundles[-1]:
            self._close()  # so that it is packed without what is large
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
        """Tick and content of those of a character in these ticks, the last that came first."""
        for bundle in reversed(self._bundles):
            yield from reversed(bundle.parts(first, last, row))
