"""Codec of insights into minds. Values of Blackboards are parsed as JSON here, so that viewers can trust them."""

import math

import orjson

from tickmind.protocol import BoardEntry, Insight, MemoryNote, NodeStatus, Reason, TreeLine
from tickmind.wire.codec.values import count, encoder, name, number, text, tick
from tickmind.wire.errors import MessageError
from tickmind.wire.messages.limits import (
    MAX_BOARD_ENTRIES,
    MAX_EVIDENCE,
    MAX_KEY_CHARS,
    MAX_LINE_CHARS,
    MAX_MEMORIES,
    MAX_MEMORY_CHARS,
    MAX_TREE_LINES,
    MAX_VALUE_CHARS,
)
from tickmind.wire.v1 import telemetry_pb2 as pb

MOST_LINES = int(MAX_TREE_LINES.maximum)


@encoder
def encode_insight(insight: Insight) -> pb.Insight:
    """Encode an insight."""
    return pb.Insight(
        entity_id=insight.entity_id,
        tick_id=insight.tick_id,
        whole=insight.whole,
        tree=[pb.TreeLine(depth=line.depth, text=line.text) for line in insight.tree],
        node_statuses=insight.node_statuses,
        board=[pb.BoardEntry(key=entry.key, value_json=entry.value_json) for entry in insight.board],
        gone_keys=insight.gone_keys,
        memories=[
            pb.MemoryNote(
                tick_id=note.tick_id,
                text=note.text,
                about=note.about,
                importance=note.importance,
                kind=note.kind,
                told_by=note.told_by,
                times=note.times,
                number=note.number,
                evidence=note.evidence,
            )
            for note in insight.memories
        ],
    )


def decode_insight(message: pb.Insight) -> Insight:
    """Decode an insight."""
    count(message.tree, "tree", MAX_TREE_LINES)
    count(message.board, "board", MAX_BOARD_ENTRIES)
    count(message.gone_keys, "gone_keys", MAX_BOARD_ENTRIES)
    count(message.memories, "memories", MAX_MEMORIES)
    if message.tree and not message.whole:
        raise MessageError("tree", "in a whole insight only")
    board = tuple(_decode_entry(entry) for entry in message.board)
    if len({entry.key for entry in board}) != len(board):
        raise MessageError("board.key", "all different")
    return Insight(
        entity_id=name(message.entity_id, "entity_id"),
        tick_id=tick(message.tick_id),
        whole=message.whole,
        tree=tuple(_decode_line(line) for line in message.tree),
        node_statuses=_decode_statuses(message.node_statuses) if message.HasField("node_statuses") else None,
        board=board,
        gone_keys=tuple(text(key, "gone_keys", MAX_KEY_CHARS) for key in message.gone_keys),
        memories=tuple(_decode_memory(note) for note in message.memories),
    )


def _decode_line(message: pb.TreeLine) -> TreeLine:
    return TreeLine(number(message.depth, "tree.depth", 0, MOST_LINES), text(message.text, "tree.text", MAX_LINE_CHARS))


def _decode_statuses(codes: bytes) -> bytes:
    if len(codes) > MOST_LINES or any(code > NodeStatus.RUNNING for code in codes):
        raise MessageError("node_statuses", f"at most {MOST_LINES} numbers from 0 to {int(NodeStatus.RUNNING)}")
    return codes


def _decode_entry(message: pb.BoardEntry) -> BoardEntry:
    key = text(message.key, "board.key", MAX_KEY_CHARS)
    if not MAX_VALUE_CHARS.allows(len(message.value_json)):
        raise MessageError("board.value_json", "shorter", reason=Reason.TEXT_TOO_LONG)
    try:
        value = orjson.dumps(orjson.loads(message.value_json)).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        raise MessageError("board.value_json", "JSON, and not too deep") from None
    return BoardEntry(key, value)


def _decode_memory(message: pb.MemoryNote) -> MemoryNote:
    if not (math.isfinite(message.importance) and 0 <= message.importance <= 1):
        raise MessageError("memories.importance", "from 0 to 1")
    count(message.evidence, "memories.evidence", MAX_EVIDENCE)
    return MemoryNote(
        tick(message.tick_id, "memories.tick_id"),
        text(message.text, "memories.text", MAX_MEMORY_CHARS),
        text(message.about, "memories.about", MAX_KEY_CHARS),
        message.importance,
        text(message.kind, "memories.kind", MAX_KEY_CHARS),
        text(message.told_by, "memories.told_by", MAX_KEY_CHARS),
        max(1, tick(message.times, "memories.times")),
        tick(message.number, "memories.number"),
        tuple(tick(number, "memories.evidence") for number in message.evidence),
    )
