"""Codec of insights as rows of tables."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

import orjson

from tickmind.protocol import BoardEntry, Insight, MemoryNote, TreeLine
from tickmind.record.errors import DamagedRunError

_NOTE_VALUES = 4  # tick, text, subject and importance, which every note has
_NOTHING_MORE = list(astuple(MemoryNote(0, "")))[_NOTE_VALUES:]


def insight_row(insight: Insight) -> dict[str, Any]:
    """Return an insight as a row; missing parts are null."""
    return {
        "entity_id": insight.entity_id,
        "tick_id": insight.tick_id,
        "whole": insight.whole,
        "tree_json": _json([[line.depth, line.text] for line in insight.tree]),
        "node_statuses": insight.node_statuses,
        "board_json": _board(insight),
        "gone_keys_json": _json(insight.gone_keys),
        "memories_json": _json([_note_values(note) for note in insight.memories]),
    }


def _note_values(note: MemoryNote) -> list[Any]:
    """Return what a note has; what comes after the importance is left out if it has nothing of that."""
    values = list(astuple(note))
    return values if values[_NOTE_VALUES:] != _NOTHING_MORE else values[:_NOTE_VALUES]


def _read_note(
    tick_id: int,
    text: str,
    about: str,
    importance: float,
    kind: str = "",
    told_by: str = "",
    times: int = 1,
    number: int = 0,
    evidence: Sequence[int] = (),
) -> MemoryNote:
    rest = str(kind), str(told_by), int(times), int(number), tuple(map(int, evidence))
    return MemoryNote(int(tick_id), str(text), str(about), float(importance), *rest)


def _json(value: list[list[Any]] | tuple[str, ...]) -> str | None:
    return orjson.dumps(value).decode() if value else None


def _board(insight: Insight) -> str | None:
    """Return one JSON object; the values are JSON already."""
    if not insight.board:
        return None
    parts = (f"{orjson.dumps(entry.key).decode()}:{entry.value_json}" for entry in insight.board)
    return f"{{{','.join(parts)}}}"


def read_insight(row: Mapping[str, Any]) -> Insight:
    """Return the insight in such a row."""
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
            memories=tuple(_read_note(*values) for values in orjson.loads(row["memories_json"] or "[]")),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise DamagedRunError("an insight in the log is malformed; recover the run") from error
