"""The finished files of a run as a source of ticks."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tickmind.protocol import (
    ACTION_CODES,
    REASON_CODES,
    ActionType,
    ActorColumns,
    Effect,
    IntentColumns,
    ObjectDelta,
    Reason,
    ResultColumns,
    TickRecord,
    Utterance,
)
from tickmind.record.actor_blocks import ActorBlocks
from tickmind.record.asked import read_bits
from tickmind.record.columns import Column, values_of
from tickmind.record.errors import DamagedRunError
from tickmind.record.meta import RunMeta
from tickmind.record.parquet_file import TableFile
from tickmind.record.report_tables import statuses_of, thoughts_of
from tickmind.record.row_window import RowWindow
from tickmind.record.tables import (
    ACTION_RESULTS,
    ACTOR_STATE,
    AGENT_STATUSES,
    FINISHED,
    INTENTS,
    LLM_CALLS,
    OBJECT_DELTAS,
    REPLAY,
    THOUGHTS,
    TICKS,
    UTTERANCES,
    TableSpec,
)
from tickmind.record.tick_codec import Reports

_COUNTS = ("intents_from", "intents", "results_from", "results", "said_from", "said", "deltas_from", "deltas")


class SealedSource:
    """Gives ticks out of the finished files. Opens each when it is first needed."""

    def __init__(self, meta: RunMeta, actor_ids: Sequence[str], open_table: Callable[[TableSpec], TableFile]) -> None:
        self._meta = meta
        self._actor_ids = actor_ids
        self._rows = {actor_id: row for row, actor_id in enumerate(actor_ids)}
        self._open_table = open_table
        self._files: dict[str, TableFile] = {}
        self._windows: dict[str, RowWindow] = {}
        self._actors: ActorBlocks | None = None

    @property
    def first_tick_id(self) -> int | None:
        """The first tick of the run."""
        return self._meta.first_tick_id

    @property
    def last_tick_id(self) -> int | None:
        """The last tick of the run."""
        return self._meta.last_tick_id

    def refresh(self) -> None:
        """Nothing is ever added."""

    def close(self) -> None:
        """Let go of all files."""
        for file in self._files.values():
            file.close()

    def _file(self, spec: TableSpec) -> TableFile:
        if spec.name not in self._files:
            file = self._open_table(spec)
            self._files[spec.name] = file
            wanted = self._meta.tables.get(spec.name)
            if wanted is None or wanted.rows != file.rows:
                raise DamagedRunError(f"{spec.file_name} has another number of rows than meta.json says")
        return self._files[spec.name]

    def _window(self, spec: TableSpec) -> RowWindow:
        if spec.name not in self._windows:
            names = [name for name in spec.schema.names if name != "run_id"]
            self._windows[spec.name] = RowWindow(self._file(spec), names)
        return self._windows[spec.name]

    def _blocks(self) -> ActorBlocks:
        if self._actors is None:
            self._actors = ActorBlocks(self._file(ACTOR_STATE), self._meta, self._rows)
        return self._actors

    def _clip(self, first: int, last: int) -> range:
        start, stop = self._meta.first_tick_id, self._meta.last_tick_id
        if start is None or stop is None:
            return range(0)
        return range(max(first, start), min(last, stop) + 1)

    # Ticks

    def records(self, first: int, last: int) -> Iterator[TickRecord]:
        """The ticks from `first` to `last`, as many as there are."""
        for tick_id in self._clip(first, last):
            yield self._record(tick_id)

    def state_at(self, tick_id: int) -> ActorColumns:
        """All actors after a tick."""
        return self._blocks().state_at(tick_id)

    def actor_states(self, row: int, first: int, last: int) -> ActorColumns:
        """One actor after each of these ticks."""
        return self._blocks().of_actor(row, self._clip(first, last))

    def _record(self, tick_id: int) -> TickRecord:
        place = tick_id - (self._meta.first_tick_id or 0)
        tick = _row(self._window(TICKS).rows(place, 1))
        replay = _row(self._window(REPLAY).rows(place, 1))
        if tick["tick_id"] != tick_id or replay["tick_id"] != tick_id:
            raise DamagedRunError(f"tick {tick_id} is not where it should be in the finished files")
        counts = [replay[name] for name in _COUNTS]
        intents = self._intents(*counts[0:2])
        return TickRecord(
            tick_id=tick_id,
            sim_time_ms=tick["sim_time_ms"],
            world_version=tick["world_version"],
            state_hash=replay["state_hash"],
            actor_ids=self._actor_ids,
            actor_state=self._blocks().state_at(tick_id),
            results=self._results(*counts[2:4]),
            utterances=self._utterances(*counts[4:6]),
            object_deltas=self._deltas(*counts[6:8]),
            intents=intents,
            controlled=(
                None if replay["controlled"] is None else read_bits(replay["controlled"], len(self._actor_ids))
            ),
        )

    def _intents(self, start: int, count: int) -> IntentColumns:
        table = self._window(INTENTS).rows(start, count)
        texts = {
            place: (channel or "", text or "")
            for place, channel, text in zip(*_filled(table.column("channel"), table.column("text")), strict=True)
        }
        return IntentColumns(
            self._actor_rows(table.column("actor_id")),
            *(_numbers(table, name) for name in ("action", "direction", "kind", "amount", "target")),
            texts=texts,
        )

    def _results(self, start: int, count: int) -> ResultColumns:
        table = self._window(ACTION_RESULTS).rows(start, count)
        targets = dict(zip(*_filled(table.column("target_id")), strict=True))
        effects = {place: _effects(text) for place, text in zip(*_filled(table.column("effects_json")), strict=True)}
        return ResultColumns(
            self._actor_rows(table.column("actor_id")),
            _codes(table.column("action_type"), ACTION_CODES),
            _codes(table.column("reason"), REASON_CODES),
            targets,
            effects,
        )

    def _utterances(self, start: int, count: int) -> tuple[Utterance, ...]:
        if not count:
            return ()
        table = self._window(UTTERANCES).rows(start, count)
        return tuple(
            map(Utterance, *(values_of(table.column(name)) for name in ("actor_id", "channel", "text", "x", "y")))
        )

    def _deltas(self, start: int, count: int) -> tuple[ObjectDelta, ...]:
        if not count:
            return ()
        table = self._window(OBJECT_DELTAS).rows(start, count)
        ids, fields, values = (values_of(table.column(name)) for name in ("object_id", "field", "new_value_json"))
        return tuple(map(ObjectDelta, ids, fields, map(_scalar, values)))

    def object_deltas(self, first: int, last: int) -> Iterator[tuple[int, tuple[ObjectDelta, ...]]]:
        """What changed about objects in these ticks, from their own table alone."""
        file = self._file(OBJECT_DELTAS)
        if file.rows == 0:
            return
        for group in range(file.groups):
            ticks = np.asarray(file.group(group, ["tick_id"]).column("tick_id").to_numpy())
            start, stop = (int(place) for place in np.searchsorted(ticks, [first, last + 1]))
            while start < stop:
                end = int(np.searchsorted(ticks, ticks[start], side="right"))
                yield int(ticks[start]), self._deltas(file.span(group)[0] + start, end - start)
                start = end

    def _actor_rows(self, column: pa.ChunkedArray) -> Column:
        parts = []
        for chunk in column.chunks:
            known = [self._rows.get(name, -1) for name in chunk.dictionary.to_pylist()]
            parts.append(np.array([*known, -1], dtype=np.int32)[chunk.indices.fill_null(len(known)).to_numpy()])
        rows = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)
        if len(rows) and rows.min() < 0:
            raise DamagedRunError("the finished files name an actor that the world does not have")
        return rows

    # Reports

    def reports(self, first: int, last: int) -> Iterator[Reports]:
        """What agents told of themselves in these ticks."""
        thoughts, calls = self._file(THOUGHTS), self._file(LLM_CALLS)
        if thoughts.rows != calls.rows or thoughts.groups != calls.groups:
            raise DamagedRunError("thoughts.parquet and llm_calls.parquet do not belong together")
        for group in range(thoughts.groups):
            rows = _rows(thoughts.group(group, THOUGHTS.schema.names))
            pairs = zip(rows, _rows(calls.group(group, LLM_CALLS.schema.names)), strict=True)
            kept = [(row, call) for row, call in pairs if first <= row["tick_id"] <= last]
            if kept:
                yield Reports(thoughts=tuple(thoughts_of([row for row, _ in kept], [call for _, call in kept])))
        statuses = self._file(AGENT_STATUSES)
        for group in range(statuses.groups):
            kept_rows = [
                row
                for row in _rows(statuses.group(group, AGENT_STATUSES.schema.names))
                if first <= row["tick_id"] <= last
            ]
            if kept_rows:
                yield Reports(statuses=tuple(statuses_of(kept_rows)))


def check_all(source: SealedSource) -> None:
    """Open every table, so that what is missing is known at once."""
    for spec in FINISHED.values():
        source._file(spec)  # noqa: SLF001  # a part of it


def _row(table: pa.Table) -> dict[str, Any]:
    return {name: values_of(table.column(name))[0] for name in table.column_names}


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    columns = [values_of(table.column(name)) for name in table.column_names]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _numbers(table: pa.Table, name: str) -> Column:
    column = table.column(name)
    if column.null_count:
        raise DamagedRunError(f"the finished files have no value where there must be one, in {name}")
    return column.to_numpy()


def _filled(*columns: pa.ChunkedArray) -> list[Any]:
    """The places where the first column has a value, and the values of all columns there."""
    places = np.flatnonzero(columns[0].is_valid().to_numpy())
    return [places.tolist(), *(values_of(column.take(pa.array(places))) for column in columns)]


def _codes(column: pa.ChunkedArray, codes: "dict[ActionType, int] | dict[Reason, int]") -> Column:
    """The codes of names; where there is none, 0."""
    by_name = {str(name): code for name, code in codes.items()}
    parts = []
    for chunk in column.chunks:
        known = [by_name.get(name, -1) for name in chunk.dictionary.to_pylist()]
        if -1 in known:
            raise DamagedRunError("the finished files have an action or a reason that this version does not know")
        parts.append(np.array([*known, 0], dtype=np.uint8)[chunk.indices.fill_null(len(known)).to_numpy()])
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint8)


def _effects(text: str) -> tuple[Effect, ...]:
    try:
        return tuple(Effect(one["name"], one["value"]) for one in json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DamagedRunError("the finished files have effects that are not as we write them") from error


def _scalar(text: str) -> int | str:
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedRunError("the finished files have a value of an object that is no JSON") from error
    if not isinstance(value, int | str):
        raise DamagedRunError("the finished files have a value of an object that is neither a number nor a text")
    return value
