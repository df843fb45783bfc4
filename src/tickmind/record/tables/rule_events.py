"""The finished table of goals reached and of what rules of the user's own did."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from tickmind.protocol import RuleEvent, TickRecord
from tickmind.record.columns import texts
from tickmind.record.errors import DamagedRunError
from tickmind.record.log.rule_event_codec import effects_json, read_effects
from tickmind.record.parquet.file import TableFile
from tickmind.record.parquet.schemas import RULE_EVENTS
from tickmind.record.tables.row_groups import decode_rows

_COLUMNS = RULE_EVENTS.schema.names[1:]


def rule_events_table(records: Sequence[TickRecord], run_id: str) -> pa.Table:
    """Make the rows of `rule_events`: one for each actor of an event, or one for an event of the world."""
    rows = [row for record in records for row in _rows(record)]
    columns = zip(*rows, strict=True) if rows else ([] for _ in _COLUMNS)
    arrays = [pa.array([run_id] * len(rows), pa.string())]
    for column, kind in zip(columns, RULE_EVENTS.schema.types[1:], strict=True):
        arrays.append(texts(list(column)) if kind == pa.string() else pa.array(column, kind))
    return pa.Table.from_arrays(arrays, schema=RULE_EVENTS.schema).cast(RULE_EVENTS.written_schema)


def _rows(record: TickRecord) -> Iterator[tuple[Any, ...]]:
    for number, event in enumerate(record.rule_events):
        effects = effects_json(event.effects) if event.effects else None
        rest = (event.score, event.ends, event.own, event.text, effects)
        for actor_id in event.actor_ids or (None,):
            yield record.tick_id, number, event.name, actor_id, *rest


class RuleEventsFile:
    """Reads recorded events of rules. A tick is never in two row groups, and the current row group is cached."""

    def __init__(self, file: TableFile, actor_rows: Mapping[str, int]) -> None:
        self._file = file
        self._actor_rows = actor_rows
        self._spans = [file.ticks(group) for group in range(file.groups)]
        self._kept: tuple[int, dict[int, tuple[RuleEvent, ...]]] = -1, {}  # row group, and its ticks with their events

    def at(self, tick_id: int) -> tuple[RuleEvent, ...]:
        """Return the events of a tick."""
        return next((events for _, events in self.between(tick_id, tick_id)), ())

    def between(self, first: int, last: int) -> Iterator[tuple[int, tuple[RuleEvent, ...]]]:
        """Iterate over ticks with events, each with these."""
        for number, (begin, end) in enumerate(self._spans):
            if begin <= last and end >= first:
                yield from (entry for entry in self._group(number).items() if first <= entry[0] <= last)

    def _group(self, number: int) -> dict[int, tuple[RuleEvent, ...]]:
        if self._kept[0] != number:
            rows = decode_rows(self._file.group(number, _COLUMNS))
            ticks = [row["tick_id"] for row in rows]
            if ticks != sorted(ticks):
                raise DamagedRunError("rule_events.parquet is not in the order of ticks")
            events = {
                tick_id: tuple(self._event(list(same)) for _, same in groupby(of_tick, key=itemgetter("event")))
                for tick_id, of_tick in groupby(rows, key=itemgetter("tick_id"))
            }
            self._kept = number, events
        return self._kept[1]

    def _event(self, rows: Sequence[Mapping[str, Any]]) -> RuleEvent:
        first = rows[0]
        actors = tuple(row["actor_id"] for row in rows if row["actor_id"] is not None)
        if any(actor not in self._actor_rows for actor in actors) or (len(actors) != len(rows) and len(rows) > 1):
            raise DamagedRunError("rule_events.parquet names an actor that is not known")
        effects = read_effects(first["effects_json"]) if first["effects_json"] else ()
        return RuleEvent(first["name"], actors, first["score"], first["ends"], first["own"], first["text"], effects)
