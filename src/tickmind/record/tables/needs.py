"""The finished table of needs, by tick."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tickmind.protocol import NeedColumns
from tickmind.record.columns import Column
from tickmind.record.errors import DamagedRunError
from tickmind.record.parquet.file import TableFile

_COLUMNS = ("tick_id", "actor_id", "energy", "hunger")


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A row group; rows of one tick follow each other."""

    number: int
    ticks: Column
    needs: NeedColumns


class NeedsFile:
    """Reads recorded needs. A tick is never in two row groups, and the current row group is cached."""

    def __init__(self, file: TableFile, rows: Mapping[str, int], own_needs: Sequence[str] = ()) -> None:
        self._file = file
        self._own = [f"own_{name}" for name in own_needs]
        self._rows = rows
        self._spans = [file.ticks(group) for group in range(file.groups)]
        self._kept: _Group | None = None

    def at(self, tick_id: int) -> NeedColumns | None:
        """Return the needs of a tick, or None if there are none."""
        return next((needs for _, needs in self.between(tick_id, tick_id)), None)

    def between(self, first: int, last: int) -> Iterator[tuple[int, NeedColumns]]:
        """Iterate over ticks with recorded needs, each with these."""
        for number, (begin, end) in enumerate(self._spans):
            if begin > last or end < first:
                continue
            group = self._group(number)
            start, stop = (int(place) for place in np.searchsorted(group.ticks, [first, last + 1]))
            while start < stop:
                tick_id = int(group.ticks[start])
                past = int(np.searchsorted(group.ticks, tick_id, side="right"))
                yield tick_id, group.needs.some(slice(start, past))
                start = past

    def _group(self, number: int) -> _Group:
        if self._kept is None or self._kept.number != number:
            table = self._file.group(number, (*_COLUMNS, *self._own))
            names = ("tick_id", *_COLUMNS[2:], *self._own)
            ticks, energy, hunger, *own = (np.asarray(table.column(name).to_numpy()) for name in names)
            if (ticks[1:] < ticks[:-1]).any():
                raise DamagedRunError("needs.parquet is not in the order of ticks")
            actors = self._actors(table.column("actor_id"))
            needs = NeedColumns(actors, energy, hunger, np.stack(own, axis=1) if own else None)
            self._kept = _Group(number, ticks, needs)
        return self._kept

    def _actors(self, column: pa.ChunkedArray) -> Column:
        parts: list[Column] = [np.zeros(0, dtype=np.int32)]
        for chunk in column.chunks:
            known = [self._rows.get(name, -1) for name in chunk.dictionary.to_pylist()]
            if -1 in known or chunk.null_count:
                raise DamagedRunError("needs.parquet names an actor that is not known")
            parts.append(np.array(known, dtype=np.int32)[chunk.indices.to_numpy()])
        return np.concatenate(parts)
