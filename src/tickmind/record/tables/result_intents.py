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

_ITEM, _OBJECT, _ACTOR, _VERB, _PLAN = 1, 2, 4, 8, 16  # what an intent names: `_PLAN` is the kind of object it builds
_NAMED = bytearray(256)  # code of an action -> what its intents name
for _actions, _bit in (
    (OF_ITEMS, _ITEM),
    ((ActionType.INTERACT, *AT_CONTAINERS), _OBJECT),
    (WITH_ACTORS, _ACTOR),
    ((ActionType.INTERACT,), _VERB),
    ((ActionType.BUILD,), _PLAN),
):
    for _action in _actions:
        _NAMED[ACTION_CODES[_action]] |= _bit
_NO_INTENT = 255  # an action code for a result without an intent
_FIELDS = ("kind", "amount", "target")


class ResultIntents:
    """Makes the columns `verb`, `kind`, `target`, `item` and `amount`: null where the intent has none."""

    def __init__(self, info: WorldInfo) -> None:
        self._kinds = words(map(encoded_text, map(str, ACTION_TYPES)))
        self._verbs = _names(info.verbs)
        self._items = _names([*info.item_kinds, *(kind.name for kind in info.kinds)])
        self._item_kinds, self._kinds_of_objects = len(info.item_kinds), len(info.kinds)
        self._targets = _names(
            [*(actor.entity_id for actor in info.actors), *(thing.object_id for thing in info.objects)]
        )
        self._actors, self._objects = len(info.actors), len(info.objects)

    def chunks(self, records: Sequence[TickRecord]) -> list[Chunk]:
        """Return the columns of a row group with at least one row, in the order of the schema."""
        records = [record for record in records if len(record.results)]
        (action,) = _of_results(records, ("action",))
        named = np.frombuffer(action.tobytes().translate(_NAMED), np.uint8)
        if not named.any():  # e.g. all move: the other columns need not be read
            nothing = absent(len(action))
            return [nothing, self._kind(action), nothing, nothing, nothing]
        kind, amount, target = _of_results(records, _FIELDS)
        has_items = (named & _ITEM).astype(np.bool_)
        is_verb = (named & _VERB).astype(np.bool_) & (kind > 0) & (kind < len(self._verbs))
        return [
            _named("verb", kind, is_verb, self._verbs),
            self._kind(action),
            self._target(target, (named & _OBJECT).astype(np.bool_), (named & _ACTOR).astype(np.bool_)),
            self._item(kind, has_items, (named & _PLAN).astype(np.bool_)),
            _amount(amount, has_items),
        ]

    def _kind(self, action: Column) -> Chunk:
        known = action < len(ACTION_TYPES)
        if not known.all():
            return _named(
                "kind", action.astype(np.int32), known, _names([str(action_type) for action_type in ACTION_TYPES])
            )
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


def _of_results(records: Sequence[TickRecord], fields: Sequence[str]) -> list[Column]:
    """Return fields of the intents behind all results; `_NO_INTENT` and `UNUSED` where there is none."""
    parts = [_of_tick(record.intents, record.results.actor, fields) for record in records]
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def _of_tick(intents: IntentColumns, rows: Column, fields: Sequence[str]) -> list[Column]:
    if rows is intents.actor or np.array_equal(rows, intents.actor):
        return [getattr(intents, name) for name in fields]
    return _joined(intents, rows, fields)


def _joined(intents: IntentColumns, rows: Column, fields: Sequence[str]) -> list[Column]:
    places = np.searchsorted(intents.actor, rows)
    places[places == len(intents)] = 0
    found = intents.actor[places] == rows if len(intents) else np.zeros(len(rows), dtype=np.bool_)
    columns = []
    for name in fields:
        column: Column = getattr(intents, name)
        nothing = column.dtype.type(_NO_INTENT if name == "action" else UNUSED)
        columns.append(np.where(found, column[places], nothing) if len(intents) else np.full(len(rows), nothing))
    return columns


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
