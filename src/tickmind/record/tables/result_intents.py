"""What the intents behind results meant, as columns of `action_results`.

The log has the intents as codes already, so nothing is written for this during a run.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tickmind.protocol import ACTION_CODES, ACTION_TYPES, UNUSED, ActionType, IntentColumns, TickRecord, WorldInfo
from tickmind.protocol.intent import AT_CONTAINERS, OF_ITEMS, WITH_ACTORS
from tickmind.record.columns import Column
from tickmind.record.parquet.chunks import Chunk, absent, by_arrow, coded, encoded_text, same, words
from tickmind.record.parquet.schemas import ACTION_RESULTS

_INTERACT, _BUILD = ACTION_CODES[ActionType.INTERACT], ACTION_CODES[ActionType.BUILD]
_WITH_ITEMS = np.zeros(256, dtype=np.bool_)  # code of an action -> whether its intents name items
_WITH_ITEMS[[ACTION_CODES[one] for one in OF_ITEMS]] = True
_ON_OBJECT = np.zeros(256, dtype=np.bool_)  # code of an action -> whether its intents name an object
_ON_OBJECT[[ACTION_CODES[one] for one in (ActionType.INTERACT, *AT_CONTAINERS)]] = True
_WITH_ACTOR = np.zeros(256, dtype=np.bool_)  # code of an action -> whether its intents name an actor
_WITH_ACTOR[[ACTION_CODES[one] for one in WITH_ACTORS]] = True
_NO_INTENT = 255  # an action code for a result without an intent
_FIELDS = ("action", "kind", "amount", "target")


class ResultIntents:
    """Makes the columns `verb`, `kind`, `target`, `item` and `amount`: null where the intent has none."""

    def __init__(self, info: WorldInfo) -> None:
        self._kinds = words(map(encoded_text, map(str, ACTION_TYPES)))
        self._verbs = _names(info.verbs)
        self._items = _names([*info.item_kinds, *(kind.name for kind in info.kinds)])
        self._item_kinds, self._kinds_of_objects = len(info.item_kinds), len(info.kinds)
        self._targets = _names([*(one.entity_id for one in info.actors), *(one.object_id for one in info.objects)])
        self._actors, self._objects = len(info.actors), len(info.objects)

    def chunks(self, records: Sequence[TickRecord]) -> list[Chunk]:
        """Return the columns of a row group with at least one row, in the order of the schema."""
        parts = [_of_results(record) for record in records if len(record.results)]
        action, kind, amount, target = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        works, has_items = action == _INTERACT, _WITH_ITEMS[action]
        return [
            _named("verb", kind, works & (kind > 0) & (kind < len(self._verbs)), self._verbs),
            self._kind(action),
            self._target(target, _ON_OBJECT[action], _WITH_ACTOR[action]),
            self._item(kind, has_items, action == _BUILD),
            _amount(amount, has_items),
        ]

    def _kind(self, action: Column) -> Chunk:
        known = action < len(ACTION_TYPES)
        if not known.all():
            return _named("kind", action.astype(np.int32), known, _names([str(one) for one in ACTION_TYPES]))
        if action.min() == action.max():
            return same(self._kinds, len(action), int(action[0]), optional=True)
        return coded(self._kinds, action, optional=True)

    def _item(self, kind: Column, has_items: Column, builds: Column) -> Chunk:
        """Return the kinds of items that intents name, and the kinds of objects that are built."""
        there = (has_items & (kind < self._item_kinds)) | (builds & (kind < self._kinds_of_objects))
        return _named("item", np.where(builds, kind + self._item_kinds, kind), there & (kind >= 0), self._items)

    def _target(self, target: Column, on_objects: Column, with_actors: Column) -> Chunk:
        there = (on_objects & (target < self._objects)) | (with_actors & (target < self._actors))
        rows = np.where(on_objects, target + self._actors, target)
        return _named("target", rows, there & (target >= 0), self._targets)


def _names(names: Sequence[str]) -> pa.Array:
    return pa.array(names, pa.string())


def _of_results(record: TickRecord) -> tuple[Column, ...]:
    """Return the fields of the intent behind each result; `_NO_INTENT` and `UNUSED` where there is none."""
    intents, rows = record.intents, record.results.actor
    if rows is intents.actor or np.array_equal(rows, intents.actor):
        return tuple(getattr(intents, name) for name in _FIELDS)
    return _joined(intents, rows)


def _joined(intents: IntentColumns, rows: Column) -> tuple[Column, ...]:
    places = np.searchsorted(intents.actor, rows)
    places[places == len(intents)] = 0
    found = intents.actor[places] == rows if len(intents) else np.zeros(len(rows), dtype=np.bool_)
    columns = []
    for name in _FIELDS:
        column: Column = getattr(intents, name)
        nothing = column.dtype.type(_NO_INTENT if name == "action" else UNUSED)
        columns.append(np.where(found, column[places], nothing) if len(intents) else np.full(len(rows), nothing))
    return tuple(columns)


def _named(field: str, codes: Column, there: Column, names: pa.Array) -> Chunk:
    """Return a column of names, null where `there` is false; only names that occur are written."""
    if not there.any():
        return absent(len(there))
    used, places = np.unique(codes[there], return_inverse=True)
    indices = np.zeros(len(there), dtype=np.int32)
    indices[there] = places
    column = pa.DictionaryArray.from_arrays(pa.array(indices, mask=~there), names.take(pa.array(used)), safe=False)
    (chunk,) = by_arrow(ACTION_RESULTS, (field,), [column])
    return chunk


def _amount(amount: Column, there: Column) -> Chunk:
    if not there.any():
        return absent(len(there))
    (chunk,) = by_arrow(ACTION_RESULTS, ("amount",), [pa.array(amount.astype(np.int32, copy=False), mask=~there)])
    return chunk
