"""Events as rows of the finished tables, many ticks at a time."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tickmind.protocol import ACTION_TYPES, REASONS, TickRecord, WorldInfo
from tickmind.record.columns import Column, texts
from tickmind.record.errors import DamagedRunError
from tickmind.record.log.rule_event_codec import effects_json
from tickmind.record.log.tick_codec import LoggedTick
from tickmind.record.parquet.chunks import (
    Chunk,
    absent,
    by_arrow,
    coded,
    encoded_text,
    same,
    ticks_in_turn,
    true,
    words,
)
from tickmind.record.parquet.schemas import (
    ACTION_RESULTS,
    OBJECT_DELTAS,
    REPLAY,
    TICKS,
    UTTERANCES,
    TableSpec,
    needs_spec,
)
from tickmind.record.tables.result_intents import ResultIntents

_ACTIONS = pa.array([str(action_type) for action_type in ACTION_TYPES], pa.string())
_REASONS = pa.array([str(one) for one in REASONS], pa.string())


def _coded(codes: Column, names: pa.Array, missing: Column | None = None) -> pa.DictionaryArray:
    """Return texts from their codes; `missing` says which are null."""
    indices = pa.array(codes.astype(np.int32, copy=False), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, names, safe=False)


def _repeated(text: str, count: int) -> pa.DictionaryArray:
    return _coded(np.zeros(count, dtype=np.int32), pa.array([text], pa.string()))


def _words(values: Sequence[str]) -> pa.DictionaryArray:
    """Return texts with a dictionary."""
    column = texts(values).dictionary_encode()
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), column.dictionary)


def _sparse(values: Mapping[int, str], count: int) -> pa.DictionaryArray:
    """Return texts at some places, null elsewhere."""
    missing = np.ones(count, dtype=np.bool_)
    codes = np.zeros(count, dtype=np.int32)
    places = np.fromiter(values, dtype=np.int64, count=len(values))
    encoded = _words(list(values.values()))
    missing[places] = False
    codes[places] = encoded.indices.to_numpy()
    return _coded(codes, encoded.dictionary, missing)


def _of_ticks(records: Sequence[TickRecord], counts: Sequence[int]) -> Column:
    return np.repeat(np.array([record.tick_id for record in records], dtype=np.int64), counts)


def _joined(columns: Sequence[Column], kind: Any) -> Column:
    return np.concatenate(columns) if columns else np.zeros(0, dtype=kind)


def ticks_table(logged: Sequence[LoggedTick], run_id: str) -> pa.Table:
    """Make the rows of `ticks`."""
    records = [tick.record for tick in logged]
    return _table(
        TICKS,
        _repeated(run_id, len(records)),
        pa.array([record.tick_id for record in records], pa.int64()),
        pa.array([record.sim_time_ms for record in records], pa.int64()),
        _words([record.world_version for record in records]),
        pa.array([tick.reports.left_out for tick in logged], pa.int64()),
    )


class ResultsTable:
    """Makes the rows of `action_results`, encoded: mostly all succeeded, which takes little space."""

    def __init__(self, run_id: str, info: WorldInfo) -> None:
        self._run_id = words([encoded_text(run_id)])
        self._actor_ids = words(encoded_text(actor.entity_id) for actor in info.actors)
        self._intents = ResultIntents(info)
        self._actions = words(map(encoded_text, _ACTIONS.to_pylist()))

    def chunks(self, records: Sequence[TickRecord]) -> list[Chunk]:
        """Return the columns of a row group, none if there are no rows."""
        counts = [len(record.results) for record in records]
        rows = sum(counts)
        if not rows:
            return []
        targets: dict[int, str] = {}
        effects: dict[int, str] = {}
        start = 0
        for record, count in zip(records, counts, strict=True):
            results = record.results
            targets.update((start + place, name) for place, name in sorted(results.target_ids.items()) if name)
            effects.update((start + place, effects_json(one)) for place, one in sorted(results.effects.items()) if one)
            start += count
        repeats = [(record.tick_id, count) for record, count in zip(records, counts, strict=True) if count]
        return [
            same(self._run_id, rows),
            ticks_in_turn([tick_id for tick_id, _ in repeats], [count for _, count in repeats]),
            coded(self._actor_ids, _joined([record.results.actor for record in records], np.int32)),
            self._action(_joined([record.results.action for record in records], np.uint8)),
            _texts("target_id", targets, rows),
            *_reasons(_joined([record.results.reason for record in records], np.uint8)),
            _texts("effects_json", effects, rows),
            *self._intents.chunks(records),
        ]

    def _action(self, action: Column) -> Chunk:
        if action.min() == action.max():
            return same(self._actions, len(action), int(action[0]))
        return coded(self._actions, action)


def _reasons(reason: Column) -> list[Chunk]:
    """Return the columns `ok` and `reason`."""
    if not reason.any():
        return [true(len(reason)), absent(len(reason))]
    well = reason == 0
    return by_arrow(ACTION_RESULTS, ("ok", "reason"), [pa.array(well), _coded(reason, _REASONS, well)])


def _texts(name: str, values: Mapping[int, str], rows: int) -> Chunk:
    """Return a column of texts at some places, null elsewhere."""
    if not values:
        return absent(rows)
    (chunk,) = by_arrow(ACTION_RESULTS, (name,), [_sparse(values, rows)])
    return chunk


def utterances_table(records: Sequence[TickRecord], run_id: str) -> pa.Table:
    """Make the rows of `utterances`."""
    said = [utterance for record in records for utterance in record.utterances]
    return _table(
        UTTERANCES,
        _repeated(run_id, len(said)),
        pa.array(_of_ticks(records, [len(record.utterances) for record in records])),
        _words([utterance.actor_id for utterance in said]),
        _words([utterance.channel for utterance in said]),
        texts([utterance.text for utterance in said]),
        pa.array([utterance.x for utterance in said], pa.int32()),
        pa.array([utterance.y for utterance in said], pa.int32()),
    )


def deltas_table(records: Sequence[TickRecord], run_id: str) -> pa.Table:
    """Make the rows of `object_deltas`."""
    deltas = [delta for record in records for delta in record.object_deltas]
    return _table(
        OBJECT_DELTAS,
        _repeated(run_id, len(deltas)),
        pa.array(_of_ticks(records, [len(record.object_deltas) for record in records])),
        _words([delta.object_id for delta in deltas]),
        _words([delta.field for delta in deltas]),
        _words([json.dumps(delta.new_value, ensure_ascii=False) for delta in deltas]),
    )


def needs_table(records: Sequence[TickRecord], run_id: str, actor_ids: pa.Array, own_needs: Sequence[str]) -> pa.Table:
    """Make the rows of `needs`."""
    ticks = [(record, record.needs) for record in records if record.needs is not None]
    counts = [len(needs.actor) for _, needs in ticks]
    if any((0 if needs.own is None else needs.own.shape[1]) != len(own_needs) for _, needs in ticks):
        raise DamagedRunError("the log has needs that the world does not declare; recover the run")
    own = [[needs.own[:, at] for _, needs in ticks if needs.own is not None] for at in range(len(own_needs))]
    return _table(
        needs_spec(own_needs),
        _repeated(run_id, sum(counts)),
        pa.array(_of_ticks([record for record, _ in ticks], counts)),
        _coded(_joined([needs.actor for _, needs in ticks], np.int32), actor_ids),
        pa.array(_joined([needs.energy for _, needs in ticks], np.int16)),
        pa.array(_joined([needs.hunger for _, needs in ticks], np.int16)),
        *(pa.array(_joined(values, np.int16)) for values in own),
    )


def replay_table(ticks: Sequence[LoggedTick], run_id: str, begin: Sequence[int]) -> pa.Table:
    """Make the rows of `replay`; `begin` is how many rows the three tables of events had before."""
    records = [tick.record for tick in ticks]
    counts = [[len(record.results), len(record.utterances), len(record.object_deltas)] for record in records]
    places: list[pa.Array] = []
    for place, before in enumerate(begin):
        lengths = np.array([count[place] for count in counts], dtype=np.int64)
        places += (pa.array(before + np.cumsum(lengths) - lengths), pa.array(lengths.astype(np.int32)))
    return _table(
        REPLAY,
        _repeated(run_id, len(records)),
        pa.array([record.tick_id for record in records], pa.int64()),
        pa.array([record.state_hash for record in records], pa.binary()),
        pa.array(
            [None if record.controlled is None else np.packbits(record.controlled).tobytes() for record in records],
            pa.binary(),
        ),
        pa.array([len(record.intents) for record in records], pa.int32()),
        pa.array([tick.askers for tick in ticks], pa.binary()),
        pa.array([tick.asked for tick in ticks], pa.binary()),
        *places,
    )


def _table(spec: TableSpec, *columns: pa.Array) -> pa.Table:
    return pa.Table.from_arrays(columns, schema=spec.written_schema)
