"""Rows in ascending entity id that may change under the loops that read them.

Written by hand because it is the engine's inner loop: rows lie in lists of some thousand, so that a change moves little
memory and a loop runs over plain lists at their full speed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, TypeAlias

Row: TypeAlias = tuple[int, tuple[Any, ...]]  # entity id, its components in query order

CHUNK_ROWS = 8192


class _Chunk:
    """Some neighbouring rows."""

    __slots__ = ("ids", "rows")

    def __init__(self, ids: list[int], rows: list[Row]) -> None:
        self.ids = ids  # ascending
        self.rows = rows  # beside the ids


class _Loop:
    """Where one running `for` is."""

    __slots__ = ("chunk", "reader")

    def __init__(self) -> None:
        self.chunk: _Chunk | None = None
        self.reader: Any = None  # the list iterator over the chunk's rows

    def forget(self, place: int) -> None:
        """Take in that the row at a place of the chunk is about to go: step back if it is behind us."""
        position = len(self.chunk.rows) - self.reader.__length_hint__() if self.chunk else 0
        if place < position:
            self.reader.__setstate__(position - 1)


class Rows:
    """A table of rows. Rows may be changed and removed at any time, added only while no loop runs."""

    __slots__ = ("_chunks", "_emptied", "_loops", "_lows")

    def __init__(self, rows: list[Row]) -> None:
        self._chunks = [
            _Chunk([row[0] for row in part], part)
            for part in (rows[start : start + CHUNK_ROWS] for start in range(0, max(len(rows), 1), CHUNK_ROWS))
        ]
        self._lows = [0, *(chunk.ids[0] for chunk in self._chunks[1:])]  # beside the chunks: no id in it is lower
        self._emptied = False
        self._loops: list[_Loop] = []

    def __len__(self) -> int:
        return sum(len(chunk.ids) for chunk in self._chunks)

    def __iter__(self) -> Iterator[Row]:
        if self._emptied and not self._loops:
            self._tidy()
        turns = self._visit()
        next(turns)  # so that the loop is known from now on, not from its first row
        return chain.from_iterable(turns)

    @property
    def being_read(self) -> bool:
        """Whether a loop is running."""
        return bool(self._loops)

    def copy(self) -> "Rows":
        """The same rows in a table of their own."""
        return Rows(list(chain.from_iterable(chunk.rows for chunk in self._chunks)))

    def put(self, row: Row) -> bool:
        """Replace the row of this entity, or add it if no loop runs; tells whether the row is in now."""
        number, chunk, place = self._find(row[0])
        if place < len(chunk.ids) and chunk.ids[place] == row[0]:
            chunk.rows[place] = row
            return True
        if self._loops:
            return False
        chunk.ids.insert(place, row[0])
        chunk.rows.insert(place, row)
        if len(chunk.ids) > 2 * CHUNK_ROWS:
            upper = _Chunk(chunk.ids[CHUNK_ROWS:], chunk.rows[CHUNK_ROWS:])
            del chunk.ids[CHUNK_ROWS:], chunk.rows[CHUNK_ROWS:]
            self._chunks.insert(number + 1, upper)
            self._lows.insert(number + 1, upper.ids[0])
        return True

    def discard(self, entity_id: int) -> None:
        """Remove a row, if it is there."""
        _, chunk, place = self._find(entity_id)
        if place < len(chunk.ids) and chunk.ids[place] == entity_id:
            for loop in self._loops:
                if loop.chunk is chunk:
                    loop.forget(place)
            del chunk.ids[place], chunk.rows[place]
            self._emptied = self._emptied or not chunk.ids

    def clear(self) -> None:
        """Remove all rows; running loops end."""
        for chunk in self._chunks:
            chunk.ids.clear()
            chunk.rows.clear()
        self._emptied = True

    def _find(self, entity_id: int) -> tuple[int, _Chunk, int]:
        """The chunk that the entity belongs to, its number, and the place in it."""
        number = bisect_right(self._lows, entity_id) - 1
        chunk = self._chunks[number]
        return number, chunk, bisect_left(chunk.ids, entity_id)

    def _visit(self) -> Iterator[Iterable[Row]]:
        loop = _Loop()
        self._loops.append(loop)
        try:
            yield ()
            for chunk in self._chunks:
                loop.chunk = chunk
                loop.reader = iter(chunk.rows)
                yield loop.reader
        finally:  # also when the loop is left early: the generator is closed then
            self._loops.remove(loop)

    def _tidy(self) -> None:
        kept = [chunk for chunk in self._chunks if chunk.ids] or [_Chunk([], [])]
        self._chunks, self._lows = kept, [0, *(chunk.ids[0] for chunk in kept[1:])]
        self._emptied = False
