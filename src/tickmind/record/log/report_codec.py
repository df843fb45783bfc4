"""Codec of agents' reports as tables."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import pyarrow as pa

from tickmind.protocol import AgentState, AgentStatus, Insight, Thought, ThoughtReport, TickReports
from tickmind.record.columns import batch, unpack_batches
from tickmind.record.errors import DamagedRunError
from tickmind.record.limits import MAX_PENDING_REPORTS
from tickmind.record.log.insight_codec import insight_row, read_insight
from tickmind.record.log.log_schema import SCHEMAS, LogTable

_THOUGHT_TABLES = (LogTable.THOUGHTS, LogTable.LATE_THOUGHTS, LogTable.THOUGHT_KINDS, LogTable.CACHED_TOKENS)
_THOUGHT = tuple(field.name for field in fields(Thought) if field.name not in ("entity_id", "directives"))
_STATUS = tuple(field.name for field in fields(AgentStatus))
_NO_DETAILS: Mapping[str, Any] = {"turns": "", "dropped_reports": 0, "program": ""}


def thought_row(report: ThoughtReport) -> dict[str, Any]:
    """Return a thought as a row of the log's table."""
    thought = report.thought
    return {
        "entity_id": report.entity_id,
        "tick_id": report.tick_id,
        "own_entity_id": thought.entity_id,
        "directives_json": report.directives_json,
        **{name: getattr(thought, name) for name in _THOUGHT},
    }


def read_thought(row: Mapping[str, Any]) -> ThoughtReport:
    """Return the thought in such a row."""
    try:
        directives = json.loads(row["directives_json"])
    except (ValueError, RecursionError) as error:
        raise DamagedRunError("a thought in the log has directives that are no JSON; recover the run") from error
    thought = Thought(
        entity_id=row["own_entity_id"],
        directives=directives if isinstance(directives, dict) else {},
        **{name: row[name] for name in _THOUGHT},
    )
    return ThoughtReport(row["entity_id"], row["tick_id"], thought)


def status_row(status: AgentStatus) -> dict[str, Any]:
    """Return a status as a row; the log has its details in a table of their own."""
    return {name: getattr(status, name) for name in _STATUS}


def read_status(row: Mapping[str, Any]) -> AgentStatus:
    """Return the status in such a row."""
    try:
        return AgentStatus(**{**{name: row[name] for name in _STATUS}, "state": AgentState(row["state"])})
    except ValueError as error:
        raise DamagedRunError("a status has an unknown state; read the run with the version that wrote it") from error


def pack_reports(reports: TickReports) -> list[tuple[int, pa.RecordBatch]]:
    """Return the tables of some reports."""
    thoughts, statuses, insights = reports.thoughts, reports.statuses, reports.insights
    batches = []
    for table, rows in (
        (LogTable.THOUGHTS, [thought_row(report) for report in thoughts]),
        (LogTable.LATE_THOUGHTS, [{"place": at} for at, report in enumerate(thoughts) if report.thought.late]),
        (LogTable.THOUGHT_KINDS, _kinds(thoughts)),
        (LogTable.CACHED_TOKENS, _cached(thoughts)),
        (LogTable.STATUSES, [status_row(status) for status in statuses]),
        (LogTable.STATUS_DETAILS, _details(statuses)),
        (LogTable.INSIGHTS, [insight_row(insight) for insight in insights]),
        (LogTable.LEFT_OUT, [{"count": reports.left_out}] if reports.left_out else []),
    ):
        if rows:
            schema = SCHEMAS[table]
            batches.append((int(table), batch(schema, *([row[name] for row in rows] for name in schema.names))))
    return batches


def _kinds(thoughts: Sequence[ThoughtReport]) -> list[dict[str, Any]]:
    """Return the rows of those thoughts that were not about a plan."""
    kinds = enumerate(report.thought.kind for report in thoughts)
    return [{"place": place, "kind": kind} for place, kind in kinds if kind]


def _cached(thoughts: Sequence[ThoughtReport]) -> list[dict[str, Any]]:
    """Return the rows of those thoughts whose endpoint counts what it had read before."""
    counts = enumerate(report.thought.cached_tokens for report in thoughts)
    return [{"place": place, "tokens": tokens} for place, tokens in counts if tokens is not None]


def _details(statuses: Sequence[AgentStatus]) -> list[dict[str, Any]]:
    """Return the rows of those statuses that have details."""
    rows = ({name: getattr(status, name) for name in _NO_DETAILS} for status in statuses)
    return [{"place": place, **row} for place, row in enumerate(rows) if row != _NO_DETAILS]


def thoughts_in(content: pa.Buffer) -> tuple[ThoughtReport, ...]:
    """Return the thoughts in the content of a frame; only these are decoded."""
    return read_thoughts(unpack_batches(content, SCHEMAS, only=_THOUGHT_TABLES))


def statuses_in(content: pa.Buffer) -> tuple[AgentStatus, ...]:
    """Return the statuses in the content of a frame; only these are decoded."""
    return read_statuses(unpack_batches(content, SCHEMAS, only=(LogTable.STATUSES, LogTable.STATUS_DETAILS)))


def insights_in(content: pa.Buffer) -> tuple[Insight, ...]:
    """Return the insights in the content of a frame; only these are decoded."""
    return read_insights(unpack_batches(content, SCHEMAS, only=(LogTable.INSIGHTS,)))


def read_thoughts(batches: Mapping[int, pa.RecordBatch]) -> tuple[ThoughtReport, ...]:
    """Return the thoughts in the tables of a frame."""
    late = {row["place"] for row in _rows(batches, LogTable.LATE_THOUGHTS)}
    kinds = {row["place"]: row["kind"] for row in _rows(batches, LogTable.THOUGHT_KINDS)}
    cached = {row["place"]: row["tokens"] for row in _rows(batches, LogTable.CACHED_TOKENS)}
    return tuple(
        read_thought({**row, "late": place in late, "kind": kinds.get(place) or "", "cached_tokens": cached.get(place)})
        for place, row in enumerate(_rows(batches, LogTable.THOUGHTS))
    )


def read_statuses(batches: Mapping[int, pa.RecordBatch]) -> tuple[AgentStatus, ...]:
    """Return the statuses in the tables of a frame."""
    details = {row["place"]: row for row in _rows(batches, LogTable.STATUS_DETAILS)}
    rows = enumerate(_rows(batches, LogTable.STATUSES))
    return tuple(read_status({**row, **details.get(place, _NO_DETAILS)}) for place, row in rows)


def read_left_out(batches: Mapping[int, pa.RecordBatch]) -> int:
    """Return how many reports could not be kept."""
    return sum(row["count"] for row in _rows(batches, LogTable.LEFT_OUT))


def read_insights(batches: Mapping[int, pa.RecordBatch]) -> tuple[Insight, ...]:
    """Return the insights in the tables of a frame."""
    return tuple(map(read_insight, _rows(batches, LogTable.INSIGHTS)))


def _rows(batches: Mapping[int, pa.RecordBatch], table: LogTable) -> list[dict[str, Any]]:
    """Return the rows of a table of reports, within the limit of a tick."""
    some = batches.get(table)
    if some is None:
        return []
    if not MAX_PENDING_REPORTS.allows(some.num_rows):
        raise DamagedRunError(f"the log has {some.num_rows:,} reports in one tick, more than possible; recover the run")
    rows: list[dict[str, Any]] = some.to_pylist()
    return rows
