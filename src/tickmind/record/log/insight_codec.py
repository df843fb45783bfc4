"""What agents showed of minds as rows of tables, and back."""

from collections.abc import Mapping
from typing import Any

import orjson

from tickmind.protocol import BoardEntry, Insight, MemoryNote, TreeLine
from tickmind.record.errors import DamagedRunError


def insight_row(insight: Insight) -> dict[str, Any]:
    """An insight as a row; what it has nothing of is null."""
    return {
        "entity_id": insight.entity_id,
        "tick_id": insight.tick_id,
        "whole": insight.whole,
        "tree_json": _json([[line.depth, line.text] for line in insight.tree]),
        "node_statuses": insight.node_statuses,
        "board_json": _board(insight),
        "gone_keys_json": _json(insight.gone_keys),
        "memories_json": _json([[one.tick_id, one.text, one.about, one.importance] for one in insight.memories]),
    }


def _json(value: list[list[Any]] | tuple[str, ...]) -> str | None:
    return orjson.dumps(value).decode() if value else None


def _board(insight: Insight) -> str | None:
    """One object; the values are JSON already."""
    if not insight.board:
        return None
    parts = (f"{orjson.dumps(entry.key).decode()}:{entry.value_json}" for entry in insight.board)
    return f"{{{','.join(parts)}}}"


def read_insight(row: Mapping[str, Any]) -> Insight:
    """The insight in such a row."""
    try:
        board = orjson.loads(row["board_json"] or "{}")
        return Insight(
            entity_id=row["entity_id"],
            tick_id=row["tick_id"],
            whole=row["whole"],
            tree=tuple(TreeLine(int(depth), str(text)) for depth, text in orjson.loads(row["tree_json"] or "[]")),
            node_statuses=row["node_statuses"],
            board=tuple(BoardEntry(key, orjson.dumps(value).decode()) for key, value in board.items()),
            gone_keys=tuple(map(str, orjson.loads(row["gone_keys_json"] or "[]"))),
            memories=tuple(
                MemoryNote(int(tick_id), str(text), str(about), float(importance))
                for tick_id, text, about, importance in orjson.loads(row["memories_json"] or "[]")
            ),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise DamagedRunError("an insight is not as we write it") from error
