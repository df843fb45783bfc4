"""What agents tell of themselves as tables, and back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import pyarrow as pa

from tickmind.protocol import AgentState, AgentStatus, Insight, Thought, ThoughtReport
from tickmind.record.columns import batch, unpack_batches
from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import MAX_PENDING_REPORTS
from tickmind.record.log.insight_codec import insight_row, read_insight
from tickmind.record.log.log_schema import SCHEMAS, LogTable

_THOUGHT = tuple(one.name for one in fields(Thought) if one.name not in ("entity_id", "directives"))
_STATUS = tuple(one.name for one in fields(AgentStatus))


def thought_row(report: ThoughtReport) -> dict[str, Any]:
    """A thought as a row of the log's table."""
    thought = report.thought
    return {
        "entity_id": report.entity_id,
        "tick_id": report.tick_id,
        "own_entity_id": thought.entity_id,
        "directives_json": report.directives_json,
        **{name: getattr(thought, name) for name in _THOUGHT},
    }


def read_thought(row: Mapping[str, Any]) -> ThoughtReport:
    """The thought in such a row."""
    try:
        directives = json.loads(row["directives_json"])
    except (ValueError, RecursionError) as error:
        raise DamagedRunError("a thought has directives that are no JSON") from error
    thought = Thought(
        entity_id=row["own_entity_id"],
        directives=directives if isinstance(directives, dict) else {},
        **{name: row[name] for name in _THOUGHT},
    )
    return ThoughtReport(row["entity_id"], row["tick_id"], thought)


def status_row(status: AgentStatus) -> dict[str, Any]:
    """A status as a row of the log's table."""
    return {name: getattr(status, name) for name in _STATUS}


def read_status(row: Mapping[str, Any]) -> AgentStatus:
    """The status in such a row."""
    try:
        return AgentStatus(**{**{name: row[name] for name in _STATUS}, "state": AgentState(row["state"])})
    except ValueError as error:
        raise DamagedRunError("a status names a state that this version does not know") from error


def pack_reports(
    thoughts: Sequence[ThoughtReport], statuses: Sequence[AgentStatus], insights: Sequence[Insight]
) -> list[tuple[int, pa.RecordBatch]]:
    """The tables of some reports."""
    found = []
    for table, rows in (
        (LogTable.THOUGHTS, [thought_row(report) for report in thoughts]),
        (LogTable.STATUSES, [status_row(status) for status in statuses]),
        (LogTable.INSIGHTS, [insight_row(insight) for insight in insights]),
    ):
        if rows:
            schema = SCHEMAS[table]
            found.append((int(table), batch(schema, *([row[name] for row in rows] for name in schema.names))))
    return found


def thoughts_in(content: pa.Buffer) -> tuple[ThoughtReport, ...]:
    """The thoughts in the content of a frame; nothing else of it is looked at."""
    return read_thoughts(unpack_batches(content, SCHEMAS, only=(LogTable.THOUGHTS,)))


def statuses_in(content: pa.Buffer) -> tuple[AgentStatus, ...]:
    """The statuses in the content of a frame, and nothing else."""
    return read_statuses(unpack_batches(content, SCHEMAS, only=(LogTable.STATUSES,)))


def insights_in(content: pa.Buffer) -> tuple[Insight, ...]:
    """The insights in the content of a frame, and nothing else."""
    return read_insights(unpack_batches(content, SCHEMAS, only=(LogTable.INSIGHTS,)))


def read_thoughts(found: Mapping[int, pa.RecordBatch]) -> tuple[ThoughtReport, ...]:
    """The thoughts in the tables of a frame."""
    return tuple(map(read_thought, _rows(found, LogTable.THOUGHTS)))


def read_statuses(found: Mapping[int, pa.RecordBatch]) -> tuple[AgentStatus, ...]:
    """The statuses in the tables of a frame."""
    return tuple(map(read_status, _rows(found, LogTable.STATUSES)))


def read_insights(found: Mapping[int, pa.RecordBatch]) -> tuple[Insight, ...]:
    """The insights in the tables of a frame."""
    return tuple(map(read_insight, _rows(found, LogTable.INSIGHTS)))


def _rows(found: Mapping[int, pa.RecordBatch], table: LogTable) -> list[dict[str, Any]]:
    """The rows of a table of reports, of which there are never more than we take in a tick."""
    some = found.get(table)
    if some is None:
        return []
    if not MAX_PENDING_REPORTS.allows(some.num_rows):
        raise DamagedRunError(f"the log has {some.num_rows:,} reports in one tick, which no tick has")
    rows: list[dict[str, Any]] = some.to_pylist()
    return rows
