"""Row groups of the finished tables of events, decoded for replaying ticks.

A tick never spans two row groups. The current row group is cached, because the next tick is mostly in it too.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from tickmind.protocol import (
    ACTION_CODES,
    REASON_CODES,
    Effect,
    ObjectDelta,
    ResultColumns,
    Utterance,
)
from tickmind.record.columns import Column, values_of
from tickmind.record.errors import DamagedRunError
from tickmind.record.log.rule_event_codec import read_effects
from tickmind.record.parquet.file import TableFile

Decoded = TypeVar("Decoded")
_ACTION_OF_NAME = {str(name): code for name, code in ACTION_CODES.items()}
_REASON_OF_NAME = {str(name): code for name, code in REASON_CODES.items()}


class RowGroups(Generic[Decoded]):
    """Some columns of a table; `decode` converts a row group."""

    def __init__(self, file: TableFile, columns: Sequence[str], decode: Callable[[pa.Table], Decoded]) -> None:
        self._file = file
        self._columns = list(columns)
        self._decode = decode
        self._starts = [file.span(group)[0] for group in range(file.groups)]
        self._kept: tuple[int, Decoded] | None = None

    def find(self, start: int, count: int) -> tuple[Decoded, slice]:
        """Return the row group with these rows, and their slice in it."""
        group = bisect_right(self._starts, start) - 1
        if count < 1 or group < 0 or start + count > self._file.span(group)[1]:
            raise DamagedRunError("the finished files lack rows that they refer to")
        first = self._file.span(group)[0]
        if self._kept is None or self._kept[0] != group:
            self._kept = (group, self._decode(self._file.group(group, self._columns)))
        return self._kept[1], slice(start - first, start - first + count)


def decode_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows as dictionaries."""
    columns = [values_of(table.column(name)) for name in table.column_names]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Results of many ticks."""

    actor: Column
    action: Column
    reason: Column
    target_places: Column
    targets: list[str]
    effect_places: Column
    effects: list[tuple[Effect, ...]]

    @staticmethod
    def decoder(rows: Mapping[str, int]) -> "Callable[[pa.Table], Results]":
        """Return a decoder of tables; `rows` are the rows of the actors."""

        def decode(table: pa.Table) -> Results:
            return Results(
                _codes(table.column("actor_id"), rows, np.int32),
                _codes(table.column("action_type"), _ACTION_OF_NAME, np.uint8),
                _codes(table.column("reason"), _REASON_OF_NAME, np.uint8, missing=0),
                *_filled(table.column("target_id"), str),
                *_filled(table.column("effects_json"), read_effects),
            )

        return decode

    def cut(self, where: slice) -> ResultColumns:
        """Return the results of one tick."""
        return ResultColumns(
            self.actor[where],
            self.action[where],
            self.reason[where],
            _between(self.target_places, self.targets, where),
            _between(self.effect_places, self.effects, where),
        )


RESULT_COLUMNS = ("actor_id", "action_type", "reason", "target_id", "effects_json")
UTTERANCE_COLUMNS = ("actor_id", "channel", "text", "x", "y")
DELTA_COLUMNS = ("object_id", "field", "new_value_json")
OUTCOME_COLUMNS = ("action_type", "reason")


def decode_outcomes(table: pa.Table) -> tuple[Column, Column]:
    """Return the codes of actions, and which of them failed."""
    reasons = _codes(table.column("reason"), _REASON_OF_NAME, np.uint8, missing=0)
    return _codes(table.column("action_type"), _ACTION_OF_NAME, np.uint8), reasons != 0


def decode_utterances(table: pa.Table) -> tuple[Utterance, ...]:
    """Return the utterances of many ticks."""
    return tuple(map(Utterance, *(values_of(table.column(name)) for name in UTTERANCE_COLUMNS)))


def decode_deltas(table: pa.Table) -> tuple[ObjectDelta, ...]:
    """Return the changes of objects in many ticks."""
    ids, fields, values = (values_of(table.column(name)) for name in DELTA_COLUMNS)
    known = {text: _scalar(text) for text in set(values)}
    return tuple(map(ObjectDelta, ids, fields, (known[text] for text in values)))


def _codes(column: pa.ChunkedArray, codes: Mapping[str, int], kind: type, missing: int | None = None) -> Column:
    """Return the codes of names; nulls become `missing`."""
    parts: list[Column] = [np.zeros(0, dtype=kind)]
    for chunk in column.chunks:
        known = [codes.get(name, -1) for name in chunk.dictionary.to_pylist()]
        if -1 in known or (missing is None and chunk.null_count):
            raise DamagedRunError("the finished files name an unknown actor, action or reason")
        table: Column = np.array([*known, missing or 0], dtype=kind)
        parts.append(table[chunk.indices.fill_null(len(known)).to_numpy()])
    return np.concatenate(parts)


def _filled(column: pa.ChunkedArray, read: Callable[[str], Any]) -> tuple[Column, list[Any]]:
    """Return the places where a column has a text, and the decoded values."""
    places = np.flatnonzero(column.is_valid().to_numpy())
    texts = values_of(column.take(pa.array(places)))
    known = {text: read(text) for text in set(texts)}
    return places, [known[text] for text in texts]


def _between(places: Column, values: Sequence[Any], where: slice) -> dict[int, Any]:
    start, stop = np.searchsorted(places, (where.start, where.stop))
    return dict(zip((places[start:stop] - where.start).tolist(), values[start:stop], strict=True))


def _scalar(text: str) -> int | str:
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedRunError("the finished files have a value of an object that is no JSON") from error
    if not isinstance(value, int | str):
        raise DamagedRunError("the finished files have a value of an object that is neither a number nor a text")
    return value
