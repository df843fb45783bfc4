"""`Rows`: a table in ascending entity id that may change under the loops that read it.

Written by hand because it is the engine's inner loop. Rows lie in chunks, so that a change moves little memory; a table
that has not changed for a while is one chunk, which a loop reads with the list's own iterator at its full speed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from sys import getrefcount
from typing import Any, TypeAlias

Row: TypeAlias = tuple[int, tuple[Any, ...]]  # entity id, its components in query order

CHUNK_ROWS = 4096
CALM_LOOPS = 32  # loops without a change after which joining all chunks pays off


class _Chunk:
    """Some neighbouring rows."""

    __slots__ = ("ids", "rows")

    def __init__(self, ids: list[int], rows: list[Row]) -> None:
        self.ids = ids  # ascending
        self.rows = rows  # beside the ids


class _Loop:
    """The position of one running `for`."""

    __slots__ = ("_chained", "chunk", "reader")

    def __init__(self, chunk: _Chunk, *, chained: bool) -> None:
        self.chunk = chunk
        self.reader: Any = iter(chunk.rows)
        self._chained = chained  # continues with further chunks, and reports its end itself

    def go_on(self, chunk: _Chunk) -> Any:
        """Continue with the next chunk."""
        self.chunk = chunk
        self.reader = iter(chunk.rows)
        return self.reader

    def has_ended(self) -> bool:
        """Return whether no code but this table holds the iterator."""
        return not self._chained and getrefcount(self.reader) <= 2  # our attribute and the call itself

    def forget(self, place: int) -> None:
        """Step back if the row that is about to be removed is behind the loop."""
        position = len(self.chunk.rows) - self.reader.__length_hint__()
        if place < position:
            self.reader.__setstate__(position - 1)


class Rows:
    """A table of rows. Rows may be changed and removed at any time, added only while no loop runs."""

    __slots__ = ("_calm_loops", "_chunks", "_loops", "_lows")

    def __init__(self, rows: list[Row]) -> None:
        self._chunks = [_Chunk([row[0] for row in rows], rows)]
        self._lows = [0]  # beside the chunks: no id in the chunk is lower
        self._loops: list[_Loop] = []
        self._calm_loops = CALM_LOOPS

    def __len__(self) -> int:
        return sum(len(chunk.ids) for chunk in self._chunks)

    def __iter__(self) -> Iterator[Row]:
        reading = self.being_read()
        self._calm_loops += 1
        if len(self._chunks) > 1:
            if self._calm_loops < CALM_LOOPS or reading:
                turns = self._visit()
                next(turns)  # so that the loop is known from now on, not from its first row
                return chain.from_iterable(turns)
            self._join()
        loop = _Loop(self._chunks[0], chained=False)
        self._loops.append(loop)
        return loop.reader  # type: ignore[no-any-return]  # a list iterator, whose inner methods mypy does not know

    def being_read(self) -> bool:
        """Return whether a loop is running."""
        if self._loops:
            self._loops = [loop for loop in self._loops if not loop.has_ended()]
        return bool(self._loops)

    def copy(self) -> "Rows":
        """Return a copy of the table."""
        return Rows(list(chain.from_iterable(chunk.rows for chunk in self._chunks)))

    def put(self, row: Row) -> bool:
        """Replace the row of this entity, or add it if no loop runs; return whether the row is in the table now."""
        number, chunk, place = self._find(row[0])
        if place < len(chunk.ids) and chunk.ids[place] == row[0]:
            chunk.rows[place] = row
            return True
        if self.being_read():
            return False
        self._calm_loops = 0
        if len(chunk.ids) > 2 * CHUNK_ROWS:
            self._split(number)
            _, chunk, place = self._find(row[0])
        chunk.ids.insert(place, row[0])
        chunk.rows.insert(place, row)
        return True

    def discard(self, entity_id: int) -> None:
        """Remove a row, if it is there."""
        number, chunk, place = self._find(entity_id)
        if place == len(chunk.ids) or chunk.ids[place] != entity_id:
            return
        self._calm_loops = 0
        if self.being_read():
            for loop in self._loops:
                if loop.chunk is chunk:
                    loop.forget(place)
        elif len(chunk.ids) > 2 * CHUNK_ROWS:
            self._split(number)
            _, chunk, place = self._find(entity_id)
        del chunk.ids[place], chunk.rows[place]

    def clear(self) -> None:
        """Remove all rows; running loops end."""
        for chunk in self._chunks:
            chunk.ids.clear()
            chunk.rows.clear()

    def _find(self, entity_id: int) -> tuple[int, _Chunk, int]:
        """Return the chunk that the entity belongs to, its number, and the place in it."""
        number = bisect_right(self._lows, entity_id) - 1
        chunk = self._chunks[number]
        return number, chunk, bisect_left(chunk.ids, entity_id)

    def _visit(self) -> Iterator[Iterable[Row]]:
        loop = _Loop(self._chunks[0], chained=True)
        self._loops.append(loop)
        try:
            yield ()
            yield loop.reader
            for chunk in self._chunks[1:]:
                yield loop.go_on(chunk)
        finally:  # also when the loop is left early: the generator is closed then
            self._loops.remove(loop)

    def _split(self, number: int) -> None:
        """Split one chunk into several; never under a loop."""
        chunk = self._chunks[number]
        starts = range(0, len(chunk.ids), CHUNK_ROWS)
        parts = [_Chunk(chunk.ids[at : at + CHUNK_ROWS], chunk.rows[at : at + CHUNK_ROWS]) for at in starts]
        self._chunks[number : number + 1] = parts
        self._lows[number + 1 : number + 1] = [part.ids[0] for part in parts[1:]]

    def _join(self) -> None:
        """Join all rows to one chunk; never under a loop."""
        ids = list(chain.from_iterable(chunk.ids for chunk in self._chunks))
        rows = list(chain.from_iterable(chunk.rows for chunk in self._chunks))
        self._chunks, self._lows = [_Chunk(ids, rows)], [0]
