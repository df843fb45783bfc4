"""Agents' reports as rows of the finished tables, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tickmind.protocol import AgentStatus, Insight, ThoughtReport
from tickmind.record.columns import texts
from tickmind.record.log.insight_codec import insight_row, read_insight
from tickmind.record.log.report_codec import read_status, read_thought, status_row, thought_row
from tickmind.record.parquet.schemas import AGENT_STATUSES, INSIGHTS, LLM_CALLS, THOUGHTS, TableSpec


def thought_tables(reports: Sequence[ThoughtReport], run_id: str, first: int) -> tuple[pa.Table, pa.Table]:
    """Make the rows of `thoughts` and `llm_calls`; the n-th of one belongs to the n-th of the other."""
    rows = [
        {**thought_row(report), "run_id": run_id, "actor_id": report.entity_id, "thought": first + place}
        for place, report in enumerate(reports)
    ]
    return _table(THOUGHTS, rows), _table(LLM_CALLS, rows)


def status_table(statuses: Sequence[AgentStatus], run_id: str) -> pa.Table:
    """Make the rows of `agent_statuses`."""
    rows = [{**status_row(status), "run_id": run_id, "actor_id": status.entity_id} for status in statuses]
    return _table(AGENT_STATUSES, rows)


def insight_table(insights: Sequence[Insight], run_id: str) -> pa.Table:
    """Make the rows of `insights`."""
    rows = [{**insight_row(insight), "run_id": run_id, "actor_id": insight.entity_id} for insight in insights]
    return _table(INSIGHTS, rows)


def _table(spec: TableSpec, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    columns = []
    for one in spec.written_schema:
        values = [row[one.name] for row in rows]
        if one.type == pa.string() or pa.types.is_dictionary(one.type):
            column: pa.Array = texts(values)
            columns.append(column.cast(one.type) if pa.types.is_dictionary(one.type) else column)
        else:
            columns.append(pa.array(values, one.type))
    return pa.Table.from_arrays(columns, schema=spec.written_schema)


def thoughts_of(rows: Sequence[Mapping[str, Any]], calls: Sequence[Mapping[str, Any]]) -> list[ThoughtReport]:
    """Return the thoughts in rows of both tables."""
    return [
        read_thought(
            {**call, **row, "entity_id": row["actor_id"], "late": bool(call["late"]), "kind": call["kind"] or ""}
        )
        for row, call in zip(rows, calls, strict=True)
    ]


def statuses_of(rows: Sequence[Mapping[str, Any]]) -> list[AgentStatus]:
    """Return the statuses in rows of their table."""
    return [read_status({**row, "entity_id": row["actor_id"], **_details(row)}) for row in rows]


def _details(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a status of an earlier version lacks."""
    return {
        "turns": row["turns"] or "",
        "dropped_reports": row["dropped_reports"] or 0,
        "program": row["program"] or "",
    }


def insights_of(rows: Sequence[Mapping[str, Any]]) -> list[Insight]:
    """Return the insights in rows of their table."""
    return [read_insight({**row, "entity_id": row["actor_id"]}) for row in rows]
