"""The finished files of a run as a source of ticks."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tickmind.protocol import (
    ActorColumns,
    AgentStatus,
    Insight,
    NeedColumns,
    ObjectDelta,
    ResultColumns,
    RuleEvent,
    ThoughtReport,
    TickRecord,
    Utterance,
)
from tickmind.record.columns import unpack_batches
from tickmind.record.errors import DamagedRunError
from tickmind.record.log.intent_codec import read_bits, read_intents
from tickmind.record.log.log_schema import SCHEMAS
from tickmind.record.log.placement_codec import read_placements
from tickmind.record.meta import RunMeta
from tickmind.record.parquet.file import TableFile
from tickmind.record.parquet.schemas import (
    ACTION_RESULTS,
    ACTOR_STATE,
    ADDED,
    INSIGHTS,
    INVENTORIES,
    NEEDS,
    OBJECT_DELTAS,
    REPLAY,
    RULE_EVENTS,
    TICKS,
    UTTERANCES,
    TableSpec,
    needs_spec,
)
from tickmind.record.tables.actor_state_reader import ActorStateReader
from tickmind.record.tables.counts import Between, SealedCounts, TickCounts
from tickmind.record.tables.inventories import ItemQuantity, read_inventories
from tickmind.record.tables.needs import NeedsFile
from tickmind.record.tables.report_reader import ReportTables
from tickmind.record.tables.row_groups import (
    DELTA_COLUMNS,
    RESULT_COLUMNS,
    UTTERANCE_COLUMNS,
    Results,
    RowGroups,
    decode_deltas,
    decode_rows,
    decode_utterances,
)
from tickmind.record.tables.rule_events import RuleEventsFile


class SealedSource:
    """Reads ticks from the finished files."""

    def __init__(
        self,
        meta: RunMeta,
        actor_ids: Sequence[str],
        open_table: Callable[[TableSpec], TableFile],
        own_needs: Sequence[str] = (),
    ) -> None:
        self._meta = meta
        self._actor_ids = actor_ids
        self._open_table = open_table
        self._files: dict[str, TableFile] = {}  # opened so far
        self._rows = {actor_id: row for row, actor_id in enumerate(actor_ids)}
        self._events: _Events | None = None
        self._actors: ActorStateReader | None = None
        self._needs: NeedsFile | None = None
        self._own_needs = own_needs
        self._rule_events: RuleEventsFile | None = None
        self._counts: SealedCounts | None = None
        self._told = ReportTables(self._file)

    @property
    def first_tick_id(self) -> int | None:
        """The first tick of the run."""
        return self._meta.first_tick_id

    @property
    def last_tick_id(self) -> int | None:
        """The last tick of the run."""
        return self._meta.last_tick_id

    def refresh(self) -> None:
        """Do nothing: no ticks are ever added."""

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()

    def records(self, first: int, last: int) -> Iterator[TickRecord]:
        """Iterate over the ticks from `first` to `last`, as far as they exist."""
        for tick_id in self._clip(first, last):
            yield self._record(tick_id)

    def state_at(self, tick_id: int) -> ActorColumns:
        """Return all actors after a tick."""
        return self._blocks().state_at(tick_id)

    def sim_time_ms(self, tick_id: int) -> int:
        """Return the world's time after a tick, from its own table alone."""
        times = RowGroups(self._file(TICKS), ("tick_id", "sim_time_ms"), decode_rows)
        rows, where = times.find(tick_id - (self._meta.first_tick_id or 0), 1)
        if rows[where][0]["tick_id"] != tick_id:
            raise DamagedRunError(f"tick {tick_id} is missing or misplaced in the finished files")
        return int(rows[where][0]["sim_time_ms"])

    def counts(self, first: int, last: int, between: Between) -> Iterator[TickCounts]:
        """Iterate over the counts of states and actions in these ticks."""
        if self._counts is None:
            self._counts = SealedCounts(self._meta, len(self._actor_ids), self._file, self._needs_at, self.state_at)
        return self._counts.of(self._clip(first, last), between)

    def actor_states(self, row: int, first: int, last: int) -> ActorColumns:
        """Return one actor after each of these ticks."""
        return self._blocks().of_actor(row, self._clip(first, last))

    def object_deltas(self, first: int, last: int) -> Iterator[tuple[int, tuple[ObjectDelta, ...]]]:
        """Iterate over changes of objects in these ticks, from their own table alone."""
        file = self._file(OBJECT_DELTAS)
        for group in range(file.groups):
            first_of_group, last_of_group = file.ticks(group)
            if first_of_group > last or last_of_group < first:
                continue
            table = file.group(group, ("tick_id", *DELTA_COLUMNS))
            ticks = np.asarray(table.column("tick_id").to_numpy())
            start, stop = (int(place) for place in np.searchsorted(ticks, [first, last + 1]))
            deltas = decode_deltas(table.slice(start, stop - start)) if start < stop else ()
            begin = start
            while begin < stop:
                end = int(np.searchsorted(ticks, ticks[begin], side="right"))
                yield int(ticks[begin]), deltas[begin - start : end - start]
                begin = end

    def thoughts(self, first: int, last: int, actors: Collection[str] | None) -> Iterator[ThoughtReport]:
        """Iterate over agents' thoughts in these ticks."""
        return self._told.thoughts(first, last, actors)

    def thoughts_of(self, actor: str, before_tick: int, count: int) -> list[ThoughtReport]:
        """Return the newest thoughts of an actor before a tick."""
        return self._told.newest_thoughts(actor, before_tick, count)

    def statuses(self, first: int, last: int) -> Iterator[AgentStatus]:
        """Iterate over agents' statuses in these ticks."""
        return self._told.statuses(first, last)

    def insights(self, first: int, last: int, actors: Collection[str] | None) -> Iterator[Insight]:
        """Iterate over insights into minds of these ticks."""
        return self._told.insights(first, last, actors) if self._has(INSIGHTS) else iter(())

    def needs(self, first: int, last: int) -> Iterator[tuple[int, NeedColumns]]:
        """Iterate over the needs recorded in these ticks."""
        file = self._needs_file()
        return iter(()) if file is None else file.between(first, last)

    def rule_events(self, first: int, last: int) -> Iterator[tuple[int, tuple[RuleEvent, ...]]]:
        """Iterate over goals reached and what rules of the user's own did in these ticks."""
        file = self._rule_events_file()
        return iter(()) if file is None else file.between(first, last)

    def inventories(self, first: int, last: int) -> Iterator[ItemQuantity]:
        """Iterate over the quantities of items that changed in these ticks, from their own table alone."""
        return read_inventories(self._file(INVENTORIES), first, last) if self._has(INVENTORIES) else iter(())

    def _needs_file(self) -> NeedsFile | None:
        if self._needs is None and self._has(NEEDS):
            self._needs = NeedsFile(self._file(needs_spec(self._own_needs)), self._rows, self._own_needs)
        return self._needs

    def _rule_events_file(self) -> RuleEventsFile | None:
        if self._rule_events is None and self._has(RULE_EVENTS):
            self._rule_events = RuleEventsFile(self._file(RULE_EVENTS), self._rows)
        return self._rule_events

    def _needs_at(self, tick_id: int) -> NeedColumns | None:
        file = self._needs_file()
        return None if file is None else file.at(tick_id)

    def _has(self, spec: TableSpec) -> bool:
        """Whether the run is of a version that wrote this table."""
        return spec.name not in ADDED or spec.name in self._meta.tables

    def _file(self, spec: TableSpec) -> TableFile:
        if spec.name not in self._files:
            file = self._files[spec.name] = self._open_table(spec)
            wanted = self._meta.tables.get(spec.name)
            if wanted is None or wanted.rows != file.rows:
                raise DamagedRunError(f"{spec.file_name} has another number of rows than meta.json states")
        return self._files[spec.name]

    def _blocks(self) -> ActorStateReader:
        if self._actors is None:
            self._actors = ActorStateReader(self._file(ACTOR_STATE), self._meta, self._rows)
        return self._actors

    def _clip(self, first: int, last: int) -> range:
        start, stop = self._meta.first_tick_id, self._meta.last_tick_id
        if start is None or stop is None:
            return range(0)
        return range(max(first, start), min(last, stop) + 1)

    def _record(self, tick_id: int) -> TickRecord:
        if self._events is None:
            self._events = _Events(self._file, self._rows)
        tick, replay = self._events.of(tick_id - (self._meta.first_tick_id or 0))
        if tick["tick_id"] != tick_id or replay["tick_id"] != tick_id:
            raise DamagedRunError(f"tick {tick_id} is missing or misplaced in the finished files")
        events = self._rule_events_file()
        state, bits = self._blocks().state_at(tick_id), replay["controlled"]
        asked = unpack_batches(pa.py_buffer(replay["asked"]), SCHEMAS)
        return TickRecord(
            tick_id=tick_id,
            sim_time_ms=tick["sim_time_ms"],
            world_version=tick["world_version"],
            state_hash=replay["state_hash"],
            actor_ids=self._actor_ids,
            actor_state=state,
            results=self._events.results(replay["results_from"], replay["results"]),
            utterances=self._events.utterances(replay["said_from"], replay["said"]),
            object_deltas=self._events.deltas(replay["deltas_from"], replay["deltas"]),
            intents=read_intents(asked, replay["intents"], replay["askers"], state.facing),
            controlled=None if bits is None else read_bits(bits, len(self._actor_ids)),
            needs=self._needs_at(tick_id),
            rule_events=() if events is None else events.at(tick_id),
            placements=read_placements(asked, self._actor_ids),
        )


class _Events:
    """The tables of events."""

    def __init__(self, file: Callable[[TableSpec], TableFile], rows: dict[str, int]) -> None:
        self._ticks = RowGroups(file(TICKS), TICKS.schema.names, decode_rows)
        self._replay = RowGroups(file(REPLAY), REPLAY.schema.names, decode_rows)
        self._results = RowGroups(file(ACTION_RESULTS), RESULT_COLUMNS, Results.decoder(rows))
        self._utterances = RowGroups(file(UTTERANCES), UTTERANCE_COLUMNS, decode_utterances)
        self._deltas = RowGroups(file(OBJECT_DELTAS), DELTA_COLUMNS, decode_deltas)

    def of(self, place: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the rows of one tick in `ticks` and `replay`."""
        ticks, where = self._ticks.find(place, 1)
        replays, also = self._replay.find(place, 1)
        return ticks[where][0], replays[also][0]

    def results(self, start: int, count: int) -> ResultColumns:
        """Return the results of a tick."""
        if not count:
            return ResultColumns(np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.uint8))
        group, where = self._results.find(start, count)
        return group.cut(where)

    def utterances(self, start: int, count: int) -> tuple[Utterance, ...]:
        """Return the utterances of a tick."""
        if not count:
            return ()
        group, where = self._utterances.find(start, count)
        return group[where]

    def deltas(self, start: int, count: int) -> tuple[ObjectDelta, ...]:
        """Return the changes of objects in a tick."""
        if not count:
            return ()
        group, where = self._deltas.find(start, count)
        return group[where]
