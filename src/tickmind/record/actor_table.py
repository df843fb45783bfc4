"""`actor_state` in blocks: some ticks of some actors in each row group, the ticks of one actor next to each other.

Written so, a position differs from the one before it by at most one tile, which takes two bits; only where the next
actor begins is there a jump. Jumps forward cost less than jumps back, so the actors of a row group are written along
diagonals of the map, from the north-west to the south-east. The order is that of the dictionary of `actor_id`.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tickmind.protocol import ActorColumns
from tickmind.record.columns import Column
from tickmind.record.tables import ACTOR_STATE

_CELLS = 1 << 20  # of a block in a small world
MOST_CELLS = 26_000_000  # of a block in a large one
_LEAST_TICKS = 96
LARGE = 50_000  # actors: from here on it matters more how much there is to keep than how soon one tick is read
_LEAST_TICKS_OF_LARGE = 256
_MOST_TICKS = 4096
_GROUP_ROWS = 1 << 20
_TURNED_AT_ONCE = 64  # actors: as many rows of a matrix as fit where memory is quick
_SCHEMA = ACTOR_STATE.written_schema
_KINDS: dict[str, type[np.generic]] = {"x": np.int32, "y": np.int32, "status_bits": np.int32, "facing": np.int8}
_STRIDE = 45  # tiles, in x + y, from one actor to the next along a diagonal: further than most stray in a block


@dataclass(frozen=True, slots=True)
class Blocks:
    """How the table is cut: `ticks` in a block, `actors` in a row group."""

    ticks: int
    actors: int

    @classmethod
    def of(cls, actors: int) -> "Blocks":
        """The cut for a world with so many actors: one tick and one actor are both cheap to read."""
        actors = max(actors, 1)
        least = _LEAST_TICKS if actors < LARGE else _LEAST_TICKS_OF_LARGE
        ticks = max(min(_CELLS // actors, _MOST_TICKS), min(least, max(MOST_CELLS // actors, 1)))
        return cls(ticks, min(max(_GROUP_ROWS // ticks, 1), actors))

    def groups(self, actors: int) -> "list[tuple[int, int]]":
        """The rows of actors in the row groups of one block."""
        return [(first, min(first + self.actors, actors)) for first in range(0, actors, self.actors)]


class ActorTable:
    """Collects ticks, and writes a block when it is full."""

    def __init__(
        self,
        writer: pq.ParquetWriter,
        run_id: str,
        actor_ids: Sequence[str],
        area: int,
        *,
        run: Callable[[Callable[[], None]], None],
    ) -> None:
        self._writer = writer
        self._run_id = pa.array([run_id])
        self._actor_ids = pa.array(actor_ids, pa.string())
        self.blocks = Blocks.of(len(actor_ids))
        self._band = max(1, round(4 * area / (_STRIDE * self.blocks.actors)))
        self._run = run  # writes a block, maybe while the next one is being collected
        self._first_tick = 0
        self._ticks = 0  # in the block so far
        self._block = self._new_block()
        self.rows = 0

    def _new_block(self) -> list[Column]:
        """A matrix of ticks x actors for each column, in few bytes until a value needs more."""
        return [np.empty((self.blocks.ticks, len(self._actor_ids)), dtype=np.int8) for _ in _KINDS]

    def add(self, tick_id: int, state: ActorColumns) -> None:
        """Take one tick."""
        if not self._ticks:
            self._first_tick = tick_id
        columns: tuple[Column, ...] = (state.x, state.y, state.status_bits, state.facing)
        for place, column in enumerate(columns):
            self._put(place, column)
        self._ticks += 1
        if self._ticks == self.blocks.ticks:
            self.flush()

    def _put(self, place: int, column: Column) -> None:
        matrix = self._block[place]
        if len(column) and matrix.dtype != column.dtype:
            kind = np.result_type(matrix.dtype, smallest(column))
            if kind != matrix.dtype:
                matrix = self._block[place] = matrix.astype(kind)
        matrix[self._ticks] = column

    def flush(self) -> None:
        """Write the block, full or not."""
        block, first, ticks = self._block, self._first_tick, self._ticks
        self.rows += ticks * len(self._actor_ids)
        if ticks and len(self._actor_ids):
            kept = [matrix[:ticks] for matrix in block]
            self._run(lambda: self._write(first, kept))
            self._block = [np.empty_like(matrix) for matrix in block]
        self._ticks = 0

    def _write(self, first_tick: int, block: "list[Column]") -> None:
        """Write a row group after the other, and make the next one ready meanwhile."""
        spans = self.blocks.groups(len(self._actor_ids))
        with ThreadPoolExecutor(1, thread_name_prefix="sealing") as ahead:
            ready = ahead.submit(self._group, first_tick, block, *spans[0])
            for place in range(len(spans)):
                table = ready.result()
                if place + 1 < len(spans):
                    ready = ahead.submit(self._group, first_tick, block, *spans[place + 1])
                self._writer.write_table(table, row_group_size=table.num_rows)

    def _group(self, first_tick: int, block: "list[Column]", start: int, stop: int) -> pa.Table:
        ticks, count = len(block[0]), stop - start
        order = self._order(block[0][0, start:stop], block[1][0, start:stop])
        same_run = pa.array(np.zeros(count * ticks, dtype=np.int32))
        whose = pa.array(np.repeat(np.arange(count, dtype=np.int32), ticks))
        ids = self._actor_ids[start:stop].take(pa.array(order))
        when = np.tile(np.arange(first_tick, first_tick + ticks, dtype=np.int64), count)
        return pa.Table.from_arrays(
            [
                pa.DictionaryArray.from_arrays(same_run, self._run_id, safe=False),
                pa.array(when),
                pa.DictionaryArray.from_arrays(whose, ids, safe=False),
                *(
                    pa.array(_by_actor(matrix[:, start:stop], order, kind))
                    for matrix, kind in zip(block, _KINDS.values(), strict=True)
                ),
            ],
            schema=_SCHEMA,
        )

    def _order(self, x: Column, y: Column) -> Column:
        wide_x, wide_y = x.astype(np.int64), y.astype(np.int64)
        return np.lexsort((wide_x + wide_y, (wide_x - wide_y) // self._band))


def _by_actor(matrix: Column, order: Column, kind: type[np.generic]) -> Column:
    """Of a matrix of ticks x actors all ticks of one actor after all of another, the actors in this order."""
    turned: Column = np.empty((len(order), len(matrix)), dtype=kind)
    for start in range(0, len(order), _TURNED_AT_ONCE):
        some = slice(start, start + _TURNED_AT_ONCE)
        turned[some] = matrix[:, order[some]].T
    return turned.reshape(-1)


def smallest(column: Column) -> type[np.generic]:
    """The type of the fewest bytes that holds all values: a block of a large world is a lot of memory."""
    low, high = int(column.min()), int(column.max())
    for kind in (np.int8, np.int16):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return kind
    return np.int32
