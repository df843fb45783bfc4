"""A reader of `actor_state` by blocks: one tick of all actors, or all ticks of one."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import pyarrow as pa

from tickmind.protocol import ActorColumns
from tickmind.record.columns import Column
from tickmind.record.errors import DamagedRunError
from tickmind.record.meta import RunMeta
from tickmind.record.parquet.file import TableFile
from tickmind.record.tables.actor_state_writer import MOST_CELLS, Blocks, smallest

_SMALL_CELLS = 4_000_000
_STATE = ("x", "y", "status_bits", "facing")


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """One unpacked row group."""

    rows: Column  # place -> row of the actor
    columns: tuple[Column, ...]  # each place x tick


class ActorStateReader:
    """The table in its blocks. Small blocks that were read last are cached."""

    def __init__(self, file: TableFile, meta: RunMeta, rows: Mapping[str, int]) -> None:
        self._file = file
        self._rows = rows
        self._first = meta.first_tick_id or 0
        self._ticks = 0 if meta.last_tick_id is None else meta.last_tick_id - self._first + 1
        if meta.block_ticks < 1 or meta.block_actors < 1:
            raise DamagedRunError("meta.json does not state the blocks of actor_state.parquet")
        self._blocks = Blocks(meta.block_ticks, meta.block_actors)
        self._spans = self._blocks.groups(len(rows))
        blocks = -(-self._ticks // self._blocks.ticks) if self._spans else 0
        if file.groups != blocks * len(self._spans):
            raise DamagedRunError("actor_state.parquet has other blocks than meta.json states")
        self._kept: OrderedDict[int, _Group] = OrderedDict()

    def state_at(self, tick_id: int) -> ActorColumns:
        """Return all actors after an existing tick."""
        block, place = divmod(tick_id - self._first, self._blocks.ticks)
        x, y, status = (np.zeros(len(self._rows), dtype=np.int32) for _ in range(3))
        state = (x, y, status, np.zeros(len(self._rows), dtype=np.int8))
        for number in range(len(self._spans)):
            group = self._group(block, number)
            columns: tuple[Column, ...] = state
            for column, values in zip(columns, group.columns, strict=True):
                column[group.rows] = values[:, place]
        return ActorColumns(*state)

    def of_actor(self, row: int, ticks: range) -> ActorColumns:
        """Return one actor after each of these existing ticks."""
        number = row // self._blocks.actors
        parts: list[tuple[Column, ...]] = []
        tick = ticks.start
        while tick < ticks.stop:
            block, place = divmod(tick - self._first, self._blocks.ticks)
            count = min(self._blocks.ticks - place, ticks.stop - tick)
            group = self._group(block, number)
            where = int(np.flatnonzero(group.rows == row)[0])
            parts.append(tuple(values[where, place : place + count] for values in group.columns))
            tick += count
        kinds = (np.int32, np.int32, np.int32, np.int8)
        return ActorColumns(
            *(
                np.concatenate([np.zeros(0, dtype=kind), *(part[place] for part in parts)]).astype(kind)
                for place, kind in enumerate(kinds)
            )
        )

    def _group(self, block: int, number: int) -> _Group:
        place = block * len(self._spans) + number
        if place in self._kept:
            self._kept.move_to_end(place)
            return self._kept[place]
        group = self._read(place, block, number)
        self._kept[place] = group
        while len(self._kept) > 1 and sum(one.columns[0].size for one in self._kept.values()) > MOST_CELLS:
            self._kept.popitem(last=False)
        return group

    def _read(self, place: int, block: int, number: int) -> _Group:
        start, stop = self._spans[number]
        actors = stop - start
        ticks = min(self._blocks.ticks, self._ticks - block * self._blocks.ticks)
        first, end = self._file.span(place)
        if end - first != actors * ticks:
            raise DamagedRunError("actor_state.parquet has a row group of the wrong size")
        table = self._file.group(place, ("actor_id", *_STATE), threads=True)
        rows = self._order(table.column(0), actors, ticks)
        if not np.array_equal(np.sort(rows), np.arange(start, stop)):
            raise DamagedRunError("actor_state.parquet has other actors than the world")
        return _Group(
            rows, tuple(self._kept_form(table.column(name).to_numpy()).reshape(actors, ticks) for name in _STATE)
        )

    def _kept_form(self, column: Column) -> Column:
        """Return the column in as few bytes as it needs if a block is large, else unchanged."""
        return column if len(self._rows) * self._blocks.ticks <= _SMALL_CELLS else column.astype(smallest(column))

    def _order(self, column: pa.ChunkedArray, actors: int, ticks: int) -> Column:
        """Return the order of the actors in a block."""
        whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        names = whole.dictionary.to_pylist()
        codes = whole.indices.to_numpy().reshape(actors, ticks)
        if not (codes == codes[:, :1]).all():
            raise DamagedRunError("actor_state.parquet is not in the order of actors")
        rows: Column = np.fromiter(map(self._rows.get, names, repeat(-1)), dtype=np.int64, count=len(names))
        order: Column = rows[codes[:, 0]]
        return order
