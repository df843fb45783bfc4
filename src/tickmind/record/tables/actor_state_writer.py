"""Writes `actor_state` in blocks: some ticks of some actors in each row group, the ticks of one actor in a row.

This way a position differs from the one before it by at most one tile, which takes two bits, except where the next
actor begins. Jumps forward cost less than jumps back, so the actors of a row group are written along diagonals of the
map, from the north-west to the south-east. The order is that of the dictionary of `actor_id`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tickmind.protocol import ActorColumns
from tickmind.protocol.record import AWAY
from tickmind.record.columns import Column
from tickmind.record.parquet.chunk_file import ChunkFile
from tickmind.record.parquet.chunks import Chunk, by_arrow, each_in_turn, encoded_text, same, small_numbers, words
from tickmind.record.parquet.schemas import ACTOR_STATE

_CELLS = 1 << 20  # of a block in a small world
MOST_CELLS = 26_000_000  # of a block in a large one
_LEAST_TICKS = 96
LARGE = 50_000  # actors: from here on size matters more than fast access to one tick
_LEAST_TICKS_OF_LARGE = 256
_MOST_TICKS = 4096
_GROUP_ROWS = 1 << 20
_TURNED_AT_ONCE = 64  # actors: as many rows of a matrix as fit into the cache
_STATE = ("x", "y", "status_bits", "facing")
_GROUPS_AT_ONCE = 2
_STRIDE = 45  # tiles, in x + y, from one actor to the next along a diagonal: further than most move in a block


@dataclass(frozen=True, slots=True)
class Blocks:
    """The block sizes of the table: `ticks` in a block, `actors` in a row group."""

    ticks: int
    actors: int

    @classmethod
    def of(cls, actors: int) -> "Blocks":
        """Return the sizes for a world with so many actors: one tick and one actor are both cheap to read."""
        actors = max(actors, 1)
        least = _LEAST_TICKS if actors < LARGE else _LEAST_TICKS_OF_LARGE
        ticks = max(min(_CELLS // actors, _MOST_TICKS), min(least, max(MOST_CELLS // actors, 1)))
        return cls(ticks, min(max(_GROUP_ROWS // ticks, 1), actors))

    def groups(self, actors: int) -> "list[tuple[int, int]]":
        """Return the actors' rows of the row groups of one block."""
        return [(first, min(first + self.actors, actors)) for first in range(0, actors, self.actors)]


class ActorStateWriter:
    """Collects ticks, and writes a block when it is full."""

    def __init__(
        self,
        file: ChunkFile,
        run_id: str,
        actor_ids: Sequence[str],
        area: int,
        *,
        run: Callable[[Callable[[], None]], None],
    ) -> None:
        self._file = file
        self._run_id = words([encoded_text(run_id)])
        self._actor_ids = [encoded_text(actor_id) for actor_id in actor_ids]
        self.blocks = Blocks.of(len(actor_ids))
        self._band = max(1, round(4 * area / (_STRIDE * self.blocks.actors)))
        self._run = run  # writes a block, perhaps while the next one is being collected
        self._first_tick = 0
        self._ticks = 0  # in the block so far
        self._block = self._new_block()
        self._spare: list[Column] = []  # the last written block, whose memory is reused
        self.rows = 0
        self.absences = False  # whether actors were away in some tick

    def _new_block(self) -> list[Column]:
        """Make a matrix of ticks x actors for each column, in few bytes until a value needs more."""
        return [np.empty((self.blocks.ticks, len(self._actor_ids)), dtype=np.int8) for _ in _STATE]

    def add(self, tick_id: int, state: ActorColumns) -> None:
        """Add a tick."""
        if not self._ticks:
            self._first_tick = tick_id
        self.absences = self.absences or (len(state.x) > 0 and int(state.x.min()) <= AWAY)
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
                matrix = self._block[place] = _widened(matrix, self._ticks, kind)
        matrix[self._ticks] = column

    def flush(self) -> None:
        """Write the block, full or not."""
        block, first, ticks = self._block, self._first_tick, self._ticks
        self.rows += ticks * len(self._actor_ids)
        if ticks and len(self._actor_ids):
            kept = [matrix[:ticks] for matrix in block]
            self._run(lambda: self._write(first, kept))  # the block before is written by now
            spare = self._spare or block
            self._block = [
                old if old is not new and old.dtype == new.dtype else np.empty_like(new)
                for old, new in zip(spare, block, strict=True)
            ]
            self._spare = block
        self._ticks = 0

    def _write(self, first_tick: int, block: "list[Column]") -> None:
        """Write one row group after the other, and prepare the next ones meanwhile."""
        when = _Ticks(first_tick, len(block[0]))
        ready: deque[Future[list[Chunk]]] = deque()
        with ThreadPoolExecutor(_GROUPS_AT_ONCE, thread_name_prefix="sealing") as pool:
            for start, stop in self.blocks.groups(len(self._actor_ids)):
                if len(ready) > _GROUPS_AT_ONCE:
                    self._file.add(ready.popleft().result())
                ready.append(pool.submit(self._group, when.of(stop - start), block, start, stop))
            while ready:
                self._file.add(ready.popleft().result())

    def _group(self, when: Chunk, block: "list[Column]", start: int, stop: int) -> "list[Chunk]":
        some = [matrix[:, start:stop] for matrix in block]
        order = self._order(some[0][0], some[1][0])
        ids = words(map(self._actor_ids[start:stop].__getitem__, order.tolist()))
        places = [pa.array(_by_actor(matrix, order, np.int32)) for matrix in some[:2]]
        status, facing = some[2:]
        return [
            same(self._run_id, when.rows),
            when,
            each_in_turn(ids, len(status)),
            *by_arrow(ACTOR_STATE, ("x", "y"), places),
            small_numbers(_by_actor(status, order, status.dtype)),
            small_numbers(_by_actor(facing, order, facing.dtype), optional=True),
        ]

    def _order(self, x: Column, y: Column) -> Column:
        wide_x, wide_y = x.astype(np.int64), y.astype(np.int64)
        return np.lexsort((wide_x + wide_y, (wide_x - wide_y) // self._band))


class _Ticks:
    """The column `tick_id` of a block, equal in all row groups of as many actors."""

    def __init__(self, first_tick: int, ticks: int) -> None:
        self._ticks = np.arange(first_tick, first_tick + ticks, dtype=np.int64)
        self._known: dict[int, Chunk] = {}

    def of(self, actors: int) -> Chunk:
        """Return the ticks once for each of so many actors."""
        if actors not in self._known:
            (self._known[actors],) = by_arrow(ACTOR_STATE, ("tick_id",), [pa.array(np.tile(self._ticks, actors))])
        return self._known[actors]


def _widened(matrix: Column, ticks: int, kind: np.dtype[Any]) -> Column:
    """Return the matrix in a wider type, with only the first ticks in use."""
    wide: Column = np.empty(matrix.shape, dtype=kind)
    wide[:ticks] = matrix[:ticks]
    return wide


def _by_actor(matrix: Column, order: Column, kind: Any) -> Column:
    """Transpose a matrix of ticks x actors: all ticks of one actor after all of another, in this order."""
    turned: Column = np.empty(matrix.shape[::-1], dtype=matrix.dtype)
    for start in range(0, len(turned), _TURNED_AT_ONCE):
        turned[start : start + _TURNED_AT_ONCE] = matrix[:, start : start + _TURNED_AT_ONCE].T
    return turned[order].astype(kind, copy=False).reshape(-1)


def smallest(column: Column) -> type[np.generic]:
    """Return the smallest type that holds all values: a block of a large world takes much memory."""
    low, high = int(column.min()), int(column.max())
    for kind in (np.int8, np.int16):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return kind
    return np.int32
