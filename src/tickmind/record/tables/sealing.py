"""Sealing: makes the finished files of a run from its log."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

import pyarrow as pa

from tickmind.protocol import AgentStatus, Insight, ThoughtReport, TickReports, WorldInfo
from tickmind.record.log.tick_codec import LoggedTick
from tickmind.record.meta import TableMeta
from tickmind.record.parquet.chunk_file import ChunkFile
from tickmind.record.parquet.chunks import Chunk
from tickmind.record.parquet.file import open_writer
from tickmind.record.parquet.schemas import (
    ACTION_RESULTS,
    ACTOR_STATE,
    AGENT_STATUSES,
    FINISHED,
    GIFTS,
    INSIGHTS,
    INVENTORIES,
    LLM_CALLS,
    NEEDS,
    OBJECT_DELTAS,
    REPLAY,
    RULE_EVENTS,
    THOUGHTS,
    TICKS,
    UTTERANCES,
    TableSpec,
    needs_spec,
)
from tickmind.record.parquet.targets import FileTarget, python_file
from tickmind.record.tables.actor_state_writer import LARGE, ActorStateWriter, Blocks
from tickmind.record.tables.events import (
    ResultsTable,
    deltas_table,
    needs_table,
    replay_table,
    ticks_table,
    utterances_table,
)
from tickmind.record.tables.gifts import gifts_table
from tickmind.record.tables.inventories import InventoryLedger, inventories_table
from tickmind.record.tables.reports import insight_table, status_table, thought_tables
from tickmind.record.tables.rule_events import rule_events_table

_FLUSH_ROWS = 1 << 19  # of the table that grows fastest
_FLUSH_ROWS_OF_LARGE = 1 << 20  # as each row group names all actors
_FLUSH_TICKS = 1 << 12  # each pending tick takes some 10 KB as Python objects
_FLUSH_CHARS = 8_000_000
_FLUSH_STATUSES = 1 << 16
_FLUSH_TOLD = 1 << 14  # thoughts or insights: few enough to be searched for one actor
_EVERY_TICKS = 64
_LARGEST = (ACTOR_STATE, ACTION_RESULTS)  # tables that are worth our own encoders

Progress: TypeAlias = Callable[[int, int], None]
"""Called from time to time with the ticks done and the total."""


def no_progress(_done: int, _all: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """The result of sealing."""

    tables: dict[str, TableMeta]
    blocks: Blocks
    absences: bool  # whether actors were away in some tick


class SealingThread:
    """A thread that runs one piece of work after another, at most one ahead of its caller."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sealing")
        self._last: Future[None] | None = None

    def run(self, work: Callable[[], None]) -> None:
        """Run it when the work before is done; errors of that are raised here."""
        self.wait()
        self._last = self._pool.submit(work)

    def wait(self) -> None:
        """Wait for the current work."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class _Tables:
    """The open writers of all tables, and their row counts."""

    def __init__(self, target: FileTarget, stack: ExitStack, own_needs: Sequence[str]) -> None:
        self.rows = dict.fromkeys(FINISHED, 0)
        self._writers = {}
        self._files = {}
        for name, spec in {**FINISHED, NEEDS.name: needs_spec(own_needs)}.items():
            stream: BinaryIO = stack.enter_context(target.open(spec.file_name))
            if spec in _LARGEST:
                self._files[name] = stack.enter_context(ChunkFile(stream, spec))
            else:
                self._writers[name] = stack.enter_context(open_writer(python_file(stream), spec))

    def file(self, spec: TableSpec) -> ChunkFile:
        """Return the file of one of the largest tables."""
        return self._files[spec.name]

    def write(self, spec: TableSpec, table: pa.Table) -> None:
        """Add a row group."""
        if table.num_rows:
            self._writers[spec.name].write_table(table, row_group_size=table.num_rows)
            self.rows[spec.name] += table.num_rows

    def add(self, spec: TableSpec, chunks: Sequence[Chunk]) -> int:
        """Add a row group to one of the largest tables; return its number of rows."""
        rows = chunks[0].rows if chunks else 0
        if rows:
            self._files[spec.name].add(chunks)
            self.rows[spec.name] += rows
        return rows


class Sealer:
    """Collects ticks and reports, and writes them in row groups; actors and events at the same time."""

    def __init__(self, target: FileTarget, run_id: str, info: WorldInfo, stack: ExitStack) -> None:
        self._run_id = run_id
        self._ids = pa.array([actor.entity_id for actor in info.actors], pa.string())
        self._own_needs = info.own_needs
        self._tables = _Tables(target, stack, info.own_needs)
        self._actor_lane, self._event_lane = SealingThread(), SealingThread()
        for lane in (self._actor_lane, self._event_lane):
            stack.callback(lane.close)
        self._actors = ActorStateWriter(
            self._tables.file(ACTOR_STATE),
            run_id,
            [actor.entity_id for actor in info.actors],
            info.width * info.height,
            run=self._actor_lane.run,
        )
        self._results = ResultsTable(run_id, info)
        self._ledger = InventoryLedger(info)
        self._flush_rows = _FLUSH_ROWS if len(info.actors) < LARGE else _FLUSH_ROWS_OF_LARGE
        self._logged: list[LoggedTick] = []
        self._pending_rows = self._pending_needs = 0
        self._begin = [0, 0, 0]  # rows of results, utterances and deltas so far
        self._thoughts: list[ThoughtReport] = []
        self._statuses: list[AgentStatus] = []
        self._insights: list[Insight] = []
        self._chars = 0

    @property
    def blocks(self) -> Blocks:
        """The block sizes of `actor_state`."""
        return self._actors.blocks

    @property
    def absences(self) -> bool:
        """Whether actors were away in some tick."""
        return self._actors.absences

    def add(self, tick: LoggedTick) -> None:
        """Add a tick, with the reports until it was over."""
        record = tick.record
        self._actors.add(record.tick_id, record.actor_state)
        self._logged.append(tick)
        self._pending_rows += len(record.results) + len(record.utterances) + len(record.object_deltas)
        self._pending_rows += sum(max(1, len(event.actor_ids)) for event in record.rule_events)
        self._pending_needs += 0 if record.needs is None else len(record.needs.actor)
        if max(self._pending_rows, self._pending_needs) >= self._flush_rows or len(self._logged) >= _FLUSH_TICKS:
            self._flush_events()
        if tick.reports:
            self.add_reports(tick.reports)

    def add_reports(self, reports: TickReports) -> None:
        """Add reports of agents."""
        self._thoughts += reports.thoughts
        self._statuses += reports.statuses
        self._insights += reports.insights
        self._chars += sum(thought.chars for thought in reports.thoughts) + sum(
            insight.chars for insight in reports.insights
        )
        many = max(len(self._thoughts), len(self._insights)) >= _FLUSH_TOLD or len(self._statuses) >= _FLUSH_STATUSES
        if self._chars >= _FLUSH_CHARS or many:
            self._flush_reports()

    def finish(self) -> dict[str, int]:
        """Write the rest; return the number of rows of each table."""
        self._actors.flush()
        self._flush_events()
        self._flush_reports()
        self._actor_lane.wait()
        self._event_lane.wait()
        return {**self._tables.rows, ACTOR_STATE.name: self._actors.rows}

    def _flush_events(self) -> None:
        logged, self._logged = self._logged, []
        self._pending_rows = self._pending_needs = 0
        if logged:
            self._event_lane.run(lambda: self._write_events(logged))

    def _write_events(self, logged: Sequence[LoggedTick]) -> None:
        tables, run_id = self._tables, self._run_id
        records = [tick.record for tick in logged]
        tables.write(REPLAY, replay_table(logged, run_id, self._begin))
        tables.write(TICKS, ticks_table(logged, run_id))
        tables.write(NEEDS, needs_table(records, run_id, self._ids, self._own_needs))
        tables.write(GIFTS, gifts_table(records, run_id))
        tables.write(RULE_EVENTS, rule_events_table(records, run_id))
        changes = [change for record in records for change in self._ledger.add(record)]
        tables.write(INVENTORIES, inventories_table(changes, run_id))
        said, deltas = utterances_table(records, run_id), deltas_table(records, run_id)
        tables.write(UTTERANCES, said)
        tables.write(OBJECT_DELTAS, deltas)
        added = (tables.add(ACTION_RESULTS, self._results.chunks(records)), said.num_rows, deltas.num_rows)
        self._begin = [before + rows for before, rows in zip(self._begin, added, strict=True)]

    def _flush_reports(self) -> None:
        thoughts, statuses, insights = self._thoughts, self._statuses, self._insights
        self._thoughts, self._statuses, self._insights, self._chars = [], [], [], 0
        first = self._tables.rows[THOUGHTS.name]
        texts, calls = thought_tables(thoughts, self._run_id, first)
        self._tables.write(THOUGHTS, texts)
        self._tables.write(LLM_CALLS, calls)
        self._tables.write(AGENT_STATUSES, status_table(statuses, self._run_id))
        self._tables.write(INSIGHTS, insight_table(insights, self._run_id))


def seal(
    target: FileTarget,
    run_id: str,
    info: WorldInfo,
    logged: Iterable[LoggedTick],
    loose: Iterable[TickReports],
    *,
    ticks: int,
    progress: Progress = no_progress,
) -> Sealed:
    """Write all tables to the target; they are valid once it commits them."""
    with ExitStack() as stack:
        sealer = Sealer(target, run_id, info, stack)
        for done, tick in enumerate(logged):
            if done % _EVERY_TICKS == 0:
                progress(done, ticks)
            sealer.add(tick)
        for reports in loose:
            sealer.add_reports(reports)
        rows = sealer.finish()
    progress(ticks, ticks)
    tables = {name: TableMeta(rows[name], target.size(spec.file_name)) for name, spec in FINISHED.items()}
    return Sealed(tables, sealer.blocks, sealer.absences)
