"""Codec of goals reached and of what rules of the user's own did, as a table of a tick's frame."""

import json
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from tickmind.protocol import Effect, RuleEvent
from tickmind.record.columns import batch
from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import most_events
from tickmind.record.log.log_schema import SCHEMAS, LogTable

_ROWS = np.dtype("<i4")


def effects_json(effects: Iterable[Effect]) -> str:
    """Return effects as JSON: a list of names and values, in their order."""
    return json.dumps([{"name": effect.name, "value": effect.value} for effect in effects], ensure_ascii=False)


def read_effects(text: str) -> tuple[Effect, ...]:
    """Read effects from JSON; raises `DamagedRunError` for anything else."""
    try:
        return tuple(Effect(one["name"], one["value"]) for one in json.loads(text))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedRunError("the run has malformed effects") from error


def pack_rule_events(events: Sequence[RuleEvent], actor_ids: Sequence[str]) -> list[tuple[int, pa.RecordBatch]]:
    """Return the table of a tick's events, none if there are no events."""
    if not events:
        return []
    most_events(len(actor_ids)).check(len(events))
    rows = {actor_id: row for row, actor_id in enumerate(actor_ids)}
    columns = (
        [event.name for event in events],
        [np.array([rows[name] for name in event.actor_ids], dtype=_ROWS).tobytes() for event in events],
        [event.score for event in events],
        [event.ends for event in events],
        [event.own for event in events],
        [event.text for event in events],
        [effects_json(event.effects) if event.effects else "" for event in events],
    )
    return [(LogTable.RULE_EVENTS, batch(SCHEMAS[LogTable.RULE_EVENTS], *columns))]


def read_rule_events(batches: dict[int, pa.RecordBatch], actor_ids: Sequence[str]) -> tuple[RuleEvent, ...]:
    """Decode the events of a tick."""
    some = batches.get(LogTable.RULE_EVENTS)
    if some is None:
        return ()
    if not most_events(len(actor_ids)).allows(some.num_rows) or any(column.null_count for column in some.columns):
        raise DamagedRunError("the log has events of rules that no tick has; recover the run")
    return tuple(
        RuleEvent(
            row["name"],
            _names(row["actors"], actor_ids),
            row["score"],
            row["ends"],
            row["own"],
            row["text"],
            read_effects(row["effects_json"]) if row["effects_json"] else (),
        )
        for row in some.to_pylist()
    )


def _names(data: bytes, actor_ids: Sequence[str]) -> tuple[str, ...]:
    if len(data) % _ROWS.itemsize:
        raise DamagedRunError("the log has an event of a rule with half an actor; recover the run")
    rows = np.frombuffer(data, dtype=_ROWS)
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(actor_ids):
        raise DamagedRunError("the log has an event of a rule with an unknown actor; recover the run")
    return tuple(actor_ids[row] for row in rows.tolist())
