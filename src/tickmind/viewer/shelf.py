"""What was told of characters of a live world, kept small so that watchers can go back to it."""

import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tickmind.base import Limit

_ENTRY_BYTES = 200  # that Python needs for an entry beside its content
_QUICK = 1  # of zlib's levels; texts that repeat themselves become a third by it


class Shelf:
    """Documents by character and tick, packed; the oldest go when there is no more room."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._documents: dict[int, deque[tuple[int, bytes]]] = {}  # actor row -> tick and document, oldest first
        self._rows: deque[int] = deque()  # whose document it is, oldest first
        self._size = 0

    def add(self, row: int, tick_id: int, document: Mapping[str, Any]) -> None:
        """Keep one more of a character."""
        packed = zlib.compress(orjson.dumps(document), _QUICK)
        self._documents.setdefault(row, deque()).append((tick_id, packed))
        self._rows.append(row)
        self._size += len(packed) + _ENTRY_BYTES
        while not self._limit.allows(self._size):
            _, oldest = self._documents[self._rows.popleft()].popleft()
            self._size -= len(oldest) + _ENTRY_BYTES

    def newest(self, row: int, first_tick: int, last_tick: int) -> Iterator[dict[str, Any]]:
        """What was told of a character in these ticks, newest first."""
        for tick_id, packed in reversed(self._documents.get(row, ())):
            if first_tick <= tick_id <= last_tick:
                yield orjson.loads(zlib.decompress(packed))
