"""The cached answer to one query, kept up to date by every change instead of being made anew.

A loop over a query visits an entity if it matched when the loop began and has matched ever since; entities are visited
in ascending id, with their components as they are at that moment. So a loop may spawn, despawn, attach and detach as it
likes: what is gone is skipped, what is new waits for the next loop.

Written by hand because it is the engine's inner loop: a loop reads a plain list with the list's own iterator. Changes
between loops are noted and taken in together when the next loop begins; a change under a running loop is made in place,
and the loop's position is mended.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from sys import getrefcount
from typing import Any, TypeAlias

from tickmind.tick.filters import AnyOf, Not, QueryTerm

Row: TypeAlias = tuple[int, tuple[Any, ...]]  # entity id, its required components in query order
Store: TypeAlias = dict[int, Any]  # entity id -> component of one type

FEW_CHANGES = 16  # so many are made in place; more are worth a new list


class _Table:
    """Rows in ascending entity id, and the loops that read them."""

    __slots__ = ("_loops", "ids", "rows")

    def __init__(self, ids: "array[int]", rows: list[Row]) -> None:
        self.ids = ids
        self.rows = rows  # beside the ids
        self._loops: list[Any] = []  # list iterators; those that only we still hold have ended

    def __iter__(self) -> Iterator[Row]:
        loop = iter(self.rows)
        self._loops.append(loop)
        return loop

    def being_read(self) -> bool:
        """Whether a loop over these rows is running."""
        if self._loops:
            self._loops = [loop for loop in self._loops if getrefcount(loop) > 3]  # ours: the list, the name, the call
        return bool(self._loops)

    def find(self, entity_id: int) -> int:
        """Where the entity's row is, or -1."""
        place = bisect_left(self.ids, entity_id)
        return place if place < len(self.ids) and self.ids[place] == entity_id else -1

    def change(self, entity_id: int, row: Row | None) -> bool:
        """Replace or remove the entity's row, if there is one; loops that have passed it stay where they are."""
        place = self.find(entity_id)
        if place < 0:
            return False
        if row is not None:
            self.rows[place] = row
            return True
        positions = [len(self.rows) - loop.__length_hint__() for loop in self._loops]
        del self.ids[place], self.rows[place]
        for loop, position in zip(self._loops, positions, strict=True):
            if place < position:
                loop.__setstate__(position - 1)
        return True

    def changed(self, changes: dict[int, Row | None]) -> "_Table":
        """This table with some rows added, replaced or removed: itself if that is safe and quick, else a new one."""
        if len(changes) <= FEW_CHANGES and not self.being_read():
            for entity_id, row in changes.items():
                if not self.change(entity_id, row) and row is not None:
                    place = bisect_left(self.ids, entity_id)
                    self.ids.insert(place, entity_id)
                    self.rows.insert(place, row)
            return self
        old_ids, old_rows = self.ids, self.rows
        ids, rows, start = array("q"), list[Row](), 0
        for entity_id in sorted(changes):  # slices, because a list comprehension is ten times slower
            place = bisect_left(old_ids, entity_id, start)
            ids += old_ids[start:place]
            rows += old_rows[start:place]
            start = place + (place < len(old_ids) and old_ids[place] == entity_id)
            if (row := changes[entity_id]) is not None:
                ids.append(entity_id)
                rows.append(row)
        ids += old_ids[start:]
        rows += old_rows[start:]
        return _Table(ids, rows)

    def clear(self) -> None:
        """Remove all rows; running loops end."""
        del self.ids[:], self.rows[:]


class Query:
    """Which entities match some terms, in ascending id."""

    __slots__ = ("_any", "_changes", "_earlier", "_excluded", "_required", "_table")

    def __init__(self, terms: tuple[QueryTerm, ...], stores: dict[type, Store], alive: dict[int, None]) -> None:
        self._required = tuple(stores[term] for term in terms if isinstance(term, type))
        self._excluded = tuple(stores[term.component_type] for term in terms if isinstance(term, Not))
        self._any = tuple(tuple(stores[kind] for kind in t.component_types) for t in terms if isinstance(t, AnyOf))
        self._table = self._read(alive)
        self._changes: dict[int, Row | None] = {}  # entity id -> its row, or None, from the next loop on
        self._earlier: list[_Table] = []  # tables that loops were reading when a newer one was needed

    @property
    def takes_bare_entities(self) -> bool:
        """Whether an entity without components can match."""
        return not self._required and not self._any

    def __iter__(self) -> Iterator[Row]:
        if self._changes:
            self._settle()
        return iter(self._table)

    def __len__(self) -> int:
        if self._changes:
            self._settle()
        return len(self._table.rows)

    def refresh(self, entity_id: int) -> None:
        """Take in that the components of a living entity changed."""
        self._change(entity_id, self._row(entity_id))

    def remove(self, entity_id: int) -> None:
        """Take in that the entity is gone."""
        self._change(entity_id, None)

    def _change(self, entity_id: int, row: Row | None) -> None:
        if self._earlier:
            self._earlier = [table for table in self._earlier if table.being_read()]
            for table in self._earlier:
                table.change(entity_id, row)
        if self._table.being_read() and entity_id not in self._changes and self._table.change(entity_id, row):
            if row is None:
                self._changes[entity_id] = None  # from now on it is new if it matches again
        else:
            self._changes[entity_id] = row

    def reset(self, alive: dict[int, None]) -> None:
        """Take in that the whole world was replaced; running loops end."""
        for table in (self._table, *self._earlier):
            table.clear()
        self._changes.clear()
        self._earlier.clear()
        self._table = self._read(alive)

    def _settle(self) -> None:
        """Take in what changed since the last loop began; loops that are running keep their table."""
        table = self._table.changed(self._changes)
        if table is not self._table and self._table.being_read():
            self._earlier.append(self._table)
        self._table = table
        self._changes.clear()

    def _row(self, entity_id: int) -> Row | None:
        for store in self._excluded:
            if entity_id in store:
                return None
        for group in self._any:
            if not any(entity_id in store for store in group):
                return None
        try:
            return entity_id, tuple([store[entity_id] for store in self._required])
        except KeyError:
            return None

    def _read(self, alive: dict[int, None]) -> _Table:
        base: dict[int, Any] = min(self._required, key=len) if self._required else alive
        rows = [row for row in map(self._row, sorted(base)) if row is not None]
        return _Table(array("q", [row[0] for row in rows]), rows)
