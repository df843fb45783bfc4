"""A reader of agents' reports in the finished tables. Row groups without the requested ticks are not read."""

import heapq
from collections.abc import Callable, Collection, Iterator
from itertools import accumulate

import numpy as np
import pyarrow as pa

from tickmind.protocol import AgentStatus, Insight, ThoughtReport
from tickmind.record.columns import Column
from tickmind.record.errors import DamagedRunError
from tickmind.record.parquet.file import TableFile
from tickmind.record.parquet.schemas import AGENT_STATUSES, INSIGHTS, LLM_CALLS, THOUGHTS, TableSpec
from tickmind.record.tables.reports import insights_of, statuses_of, thoughts_of
from tickmind.record.tables.row_groups import decode_rows

_FIRST = -(2**62)
_KEYS = ("tick_id", "actor_id")


class NewestThoughts:
    """Collects the newest thoughts of one actor before a tick, from the last recorded to the first."""

    def __init__(self, actor: str, before_tick: int, count: int) -> None:
        self._actor = actor
        self._before_tick = before_tick
        self._count = count
        self._found: list[ThoughtReport] = []

    def add(self, reports: Collection[ThoughtReport]) -> None:
        """Add matching thoughts; these were recorded before all others so far, and are in recorded order."""
        kept = [report for report in reports if report.entity_id == self._actor and report.tick_id < self._before_tick]
        self._found += reversed(kept)

    def has_all_after(self, tick_id: int) -> bool:
        """Whether thoughts up to this tick would add nothing."""
        if len(self._found) < self._count:
            return False
        newest = heapq.nlargest(self._count, (report.tick_id for report in self._found))
        return not newest or newest[-1] >= tick_id

    @property
    def newest(self) -> list[ThoughtReport]:
        """Return the newest thoughts, newest first; of one tick the last recorded."""
        return sorted(self._found, key=lambda report: -report.tick_id)[: self._count]


class ReportTables:
    """Thoughts, statuses and insights of a finished run. Rows are in recorded order."""

    def __init__(self, file: Callable[[TableSpec], TableFile]) -> None:
        self._file = file

    def thoughts(self, first: int, last: int, actors: Collection[str] | None) -> Iterator[ThoughtReport]:
        """Iterate over the deliberations of these ticks."""
        thoughts, calls = self._thought_files()
        for group in _groups(thoughts, first, last):
            yield from self._thoughts_in(thoughts, calls, group, first, last, actors)

    def newest_thoughts(self, actor: str, before_tick: int, count: int) -> list[ThoughtReport]:
        """Return the newest thoughts of an actor before a tick, searching backwards until there are enough."""
        thoughts, calls = self._thought_files()
        newest = NewestThoughts(actor, before_tick, count)
        latest = list(accumulate((thoughts.ticks(group)[1] for group in range(thoughts.groups)), max))
        for group in reversed(list(_groups(thoughts, _FIRST, before_tick - 1))):
            if newest.has_all_after(latest[group]):
                break
            newest.add(self._thoughts_in(thoughts, calls, group, _FIRST, before_tick - 1, (actor,)))
        return newest.newest

    def statuses(self, first: int, last: int) -> Iterator[AgentStatus]:
        """Iterate over agents' statuses in these ticks."""
        file = self._file(AGENT_STATUSES)
        for group in _groups(file, first, last):
            rows = _rows(file, group, first, last, None)
            if len(rows):
                yield from statuses_of(decode_rows(_take(file, AGENT_STATUSES, group, rows)))

    def insights(self, first: int, last: int, actors: Collection[str] | None) -> Iterator[Insight]:
        """Iterate over insights into minds of these ticks."""
        file = self._file(INSIGHTS)
        for group in _groups(file, first, last):
            rows = _rows(file, group, first, last, actors)
            if len(rows):
                yield from insights_of(decode_rows(_take(file, INSIGHTS, group, rows)))

    def _thought_files(self) -> tuple[TableFile, TableFile]:
        thoughts, calls = self._file(THOUGHTS), self._file(LLM_CALLS)
        spans = [[file.span(group) for group in range(file.groups)] for file in (thoughts, calls)]
        if spans[0] != spans[1]:
            raise DamagedRunError("thoughts.parquet and llm_calls.parquet do not belong together")
        return thoughts, calls

    @staticmethod
    def _thoughts_in(
        thoughts: TableFile, calls: TableFile, group: int, first: int, last: int, actors: Collection[str] | None
    ) -> list[ThoughtReport]:
        rows = _rows(thoughts, group, first, last, actors)
        if not len(rows):
            return []
        texts, figures = _take(thoughts, THOUGHTS, group, rows), _take(calls, LLM_CALLS, group, rows)
        return thoughts_of(decode_rows(texts), decode_rows(figures))


def _groups(file: TableFile, first: int, last: int) -> Iterator[int]:
    """Iterate over the row groups that may have some of these ticks."""
    for group in range(file.groups):
        begin, end = file.ticks(group)
        if begin <= last and end >= first:
            yield group


def _rows(file: TableFile, group: int, first: int, last: int, actors: Collection[str] | None) -> Column:
    """Return the rows of a row group that are of these ticks and actors."""
    table = file.group(group, _KEYS)
    ticks = np.asarray(table.column("tick_id").to_numpy())
    kept = (ticks >= first) & (ticks <= last)
    if actors is not None:
        kept &= np.concatenate([_are_of(chunk, actors) for chunk in table.column("actor_id").chunks])
    return np.flatnonzero(kept)


def _are_of(names: pa.DictionaryArray, actors: Collection[str]) -> Column:
    """Return which names are of these actors, without making a text for each."""
    wanted = [code for code, name in enumerate(names.dictionary.to_pylist()) if name in actors]
    return np.isin(names.indices.fill_null(-1).to_numpy(zero_copy_only=False), wanted)


def _take(file: TableFile, spec: TableSpec, group: int, rows: Column) -> pa.Table:
    return file.group(group, spec.schema.names).take(pa.array(rows))
