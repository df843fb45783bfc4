"""Counts of actors' states and actions per tick, from only the columns they need.

Charts of a whole run need no more, and whole ticks take many times as long to read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tickmind.protocol import ACTION_TYPES, ActorColumns, ActorStatus, NeedColumns, TickRecord
from tickmind.record.columns import Column
from tickmind.record.errors import DamagedRunError
from tickmind.record.meta import RunMeta
from tickmind.record.parquet.file import TableFile
from tickmind.record.parquet.schemas import ACTION_RESULTS, ACTOR_STATE, REPLAY, TableSpec
from tickmind.record.tables.actor_state_writer import Blocks
from tickmind.record.tables.row_groups import OUTCOME_COLUMNS, RowGroups, decode_outcomes, decode_rows

if TYPE_CHECKING:
    from tickmind.protocol.columns import Int32, Int64

Between = Callable[[], None]  # called between two pieces of work
_BITS = (ActorStatus.ASLEEP, ActorStatus.UNCONTROLLED, ActorStatus.INCAPACITATED)
_PLACES = ("tick_id", "results_from", "results", "said")


@dataclass(frozen=True, slots=True, eq=False)
class TickCounts:
    """One tick in numbers: actors by state, actions, failures and utterances."""

    tick_id: int
    actors: int  # that are there; those that are away count nowhere
    asleep: int
    uncontrolled: int
    incapacitated: int
    done: "Int64"  # code of an action -> its count
    failed: int
    said: int
    needs: NeedColumns | None  # recorded in this tick
    away: "Int32"  # rows of actors that are away

    @classmethod
    def of(cls, record: TickRecord) -> "TickCounts":
        """Count a tick that was read whole."""
        results = record.results
        failed = results.reason != 0
        (asleep, uncontrolled, incapacitated), away = _states(record.actor_state)
        return cls(
            tick_id=record.tick_id,
            actors=len(record.actor_state.x) - len(away),
            asleep=asleep,
            uncontrolled=uncontrolled,
            incapacitated=incapacitated,
            done=_done(results.action, failed),
            failed=int(np.count_nonzero(failed)),
            said=len(record.utterances),
            needs=record.needs,
            away=away,
        )


class SealedCounts:
    """Counts from the finished files."""

    def __init__(
        self,
        meta: RunMeta,
        actors: int,
        file: Callable[[TableSpec], TableFile],
        needs_at: Callable[[int], NeedColumns | None],
        state_at: Callable[[int], ActorColumns],
    ) -> None:
        self._first = meta.first_tick_id or 0
        self._last = self._first - 1 if meta.last_tick_id is None else meta.last_tick_id
        self._actors = actors
        self._needs_at = needs_at
        self._state_at = state_at if meta.absences else None  # the states alone do not say who is away
        self._states = file(ACTOR_STATE)
        if meta.block_ticks < 1 or meta.block_actors < 1:
            raise DamagedRunError("meta.json does not state the blocks of actor_state.parquet")
        self._blocks = Blocks(meta.block_ticks, meta.block_actors)
        self._spans = self._blocks.groups(actors)
        blocks = -(-(self._last - self._first + 1) // self._blocks.ticks)
        if self._states.groups != blocks * len(self._spans):
            raise DamagedRunError("actor_state.parquet has other blocks than meta.json states")
        self._places = RowGroups(file(REPLAY), _PLACES, decode_rows)
        self._outcomes = RowGroups(file(ACTION_RESULTS), OUTCOME_COLUMNS, decode_outcomes)

    def of(self, ticks: range, between: Between) -> Iterator[TickCounts]:
        """Iterate over the counts of these existing ticks."""
        block, states = -1, np.zeros((0, len(_BITS)), np.int64)
        for tick_id in ticks:
            if self._state_at is not None:
                (asleep, uncontrolled, incapacitated), away = _states(self._state_at(tick_id))
            else:
                wanted, place = divmod(tick_id - self._first, self._blocks.ticks)
                if wanted != block:
                    block, states = wanted, self._block(wanted, between)
                (asleep, uncontrolled, incapacitated), away = states[place].tolist(), np.zeros(0, np.int32)
            rows, where = self._places.find(tick_id - self._first, 1)
            row = rows[where][0]
            if row["tick_id"] != tick_id:
                raise DamagedRunError(f"tick {tick_id} is not where it should be in the finished files")
            action, failed = self._results(row["results_from"], row["results"])
            yield TickCounts(
                tick_id=tick_id,
                actors=self._actors - len(away),
                asleep=asleep,
                uncontrolled=uncontrolled,
                incapacitated=incapacitated,
                done=_done(action, failed),
                failed=int(np.count_nonzero(failed)),
                said=row["said"],
                needs=self._needs_at(tick_id),
                away=away,
            )
            between()

    def _results(self, start: int, count: int) -> tuple[Column, Column]:
        """Return the actions of a tick, and which of them failed."""
        if not count:
            return np.zeros(0, np.uint8), np.zeros(0, np.bool_)
        (action, failed), where = self._outcomes.find(start, count)
        return action[where], failed[where]

    def _block(self, block: int, between: Between) -> Column:
        """Return tick of a block -> number of actors in each state."""
        ticks = min(self._blocks.ticks, self._last - self._first + 1 - block * self._blocks.ticks)
        counts = np.zeros((ticks, len(_BITS)), dtype=np.int64)
        for number, (start, stop) in enumerate(self._spans):
            table = self._states.group(block * len(self._spans) + number, ("status_bits",))
            if table.num_rows != (stop - start) * ticks:
                raise DamagedRunError("actor_state.parquet has a row group of the wrong size")
            bits = np.asarray(table.column(0).to_numpy()).reshape(stop - start, ticks)
            for place, bit in enumerate(_BITS if bits.any() else ()):
                counts[:, place] += np.count_nonzero(bits & bit, axis=0)
            between()
        return counts


def _states(state: ActorColumns) -> tuple[list[int], Column]:
    """Return how many actors are in each state, and the rows of those that are away."""
    present = state.present
    bits = state.status_bits if present.all() else state.status_bits[present]
    return [int(np.count_nonzero(bits & bit)) for bit in _BITS], np.flatnonzero(~present).astype(np.int32)


def _done(action: Column, failed: Column) -> Column:
    """Count each action."""
    return np.bincount(action[~failed], minlength=len(ACTION_TYPES))
