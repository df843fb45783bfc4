"""`Query`: the cached answer to one query, updated by every change instead of being recomputed.

A loop over a query visits an entity if it matched when the loop began and has matched ever since; entities are visited
in ascending id, with their components as they are at that moment. So a loop may spawn, despawn, attach and detach
freely: removed entities are skipped, new ones wait for the next loop.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from tickmind.tick.filters import AnyOf, Not, QueryTerm
from tickmind.tick.rows import Row, Rows

Store: TypeAlias = dict[int, Any]  # entity id -> component of one type


class Query:
    """The entities that match some terms, in ascending id."""

    __slots__ = ("_any", "_earlier", "_excluded", "_new", "_required", "_rows")

    def __init__(self, terms: tuple[QueryTerm, ...], store: Callable[[type], Store], alive: dict[int, None]) -> None:
        self._required = tuple(store(term) for term in terms if isinstance(term, type))
        self._excluded = tuple(store(term.component_type) for term in terms if isinstance(term, Not))
        self._any = tuple(tuple(store(kind) for kind in t.component_types) for t in terms if isinstance(t, AnyOf))
        self._rows = Rows(self._read(alive))
        self._new: dict[int, Row] = {}  # entity id -> row that came while a loop was running
        self._earlier: list[Rows] = []  # tables without later additions, for loops that began before those

    @property
    def takes_bare_entities(self) -> bool:
        """Whether an entity without components can match."""
        return not self._required and not self._any

    def __iter__(self) -> Iterator[Row]:
        if self._new or self._earlier:
            self._settle()
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows) + len(self._new)

    def refresh(self, entity_id: int) -> None:
        """Update the row of a living entity whose components changed."""
        row = self._row(entity_id)
        if row is None:
            self.remove(entity_id)
            return
        if not self._rows.put(row):
            self._new[entity_id] = row
        elif self._new:
            self._new.pop(entity_id, None)
        for table in self._earlier:
            if table.being_read():
                table.put(row)

    def remove(self, entity_id: int) -> None:
        """Remove an entity that no longer matches."""
        if self._new:
            self._new.pop(entity_id, None)
        self._rows.discard(entity_id)
        for table in self._earlier:
            table.discard(entity_id)

    def reset(self, alive: dict[int, None]) -> None:
        """Recompute all rows because the whole world was replaced; running loops end."""
        for table in (self._rows, *self._earlier):
            table.clear()
        self._new.clear()
        self._rows = Rows(self._read(alive))

    def _settle(self) -> None:
        """Add the new rows; running loops keep the table without them."""
        if self._new and self._rows.being_read():
            self._earlier.append(self._rows)
            self._rows = self._rows.copy()
        self._earlier = [table for table in self._earlier if table.being_read()]
        for row in self._new.values():
            self._rows.put(row)
        self._new.clear()

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

    def _read(self, alive: dict[int, None]) -> list[Row]:
        base: dict[int, Any] = min(self._required, key=len) if self._required else alive
        return [row for row in map(self._row, sorted(base)) if row is not None]
