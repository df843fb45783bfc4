"""`InsightCollector`: reports the trees, Blackboards and memories of minds when they have changed.

Any of them may be inspected later, live or in the record. So all are reported, but cheaply: a
process inspects at most so many in a tick, the least recently inspected first, reports what is new since the
last time, and everything once in a while.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from tickmind.ai import Status
from tickmind.base import Limit, redact, text_sum
from tickmind.mind.memory import EntryKind, MemoryEntry
from tickmind.protocol import BoardEntry, Insight, MemoryNote, NodeStatus, TreeLine
from tickmind.wire.messages.limits import (
    MAX_BOARD_ENTRIES,
    MAX_KEY_CHARS,
    MAX_LINE_CHARS,
    MAX_MEMORIES,
    MAX_MEMORY_CHARS,
    MAX_TREE_LINES,
    MAX_VALUE_CHARS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LOOKS = Limit("number of minds that a process inspects in one tick", 64)
WHOLE_TICKS = 32  # between two full reports, for later readers
CODES = {Status.SUCCESS: NodeStatus.SUCCESS, Status.FAILURE: NodeStatus.FAILURE, Status.RUNNING: NodeStatus.RUNNING}


@dataclass(frozen=True, slots=True)
class MindState:
    """A mind as it is now, in its own types."""

    tree: Sequence[tuple[int, str]] = ()  # depth and words of each node
    statuses: Mapping[int, Status] = field(default_factory=dict)  # node -> what it returned in this tick
    board: Mapping[Any, Any] = field(default_factory=dict)
    memories: Sequence[MemoryEntry] = ()  # the newest last


class InsightCollector:
    """Collect what is new about the minds of a process. One thread inspects, another takes the results."""

    def __init__(self, *, max_looks: Limit = MAX_LOOKS) -> None:
        self._max_looks = max_looks
        self._portraits: dict[str, _Portrait] = {}  # entity id -> what was reported; the least recently inspected first
        self._found: list[Insight] = []
        self._outline: tuple[Sequence[tuple[int, str]], tuple[TreeLine, ...]] = ((), ())  # the last tree, as shown

    def choose(self, entity_ids: Iterable[str]) -> list[str]:
        """Return whose minds to inspect in this tick; none while too many results are not taken."""
        if not self._max_looks.allows(len(self._found)):
            return []
        present = dict.fromkeys(entity_ids)
        for name in present:
            if name not in self._portraits:
                self._portraits[name] = _Portrait(name)
        waiting = [name for name in self._portraits if name in present]
        return waiting[: int(self._max_looks.maximum)]

    def look(self, tick_id: int, entity_id: str, mind: MindState) -> None:
        """Inspect one mind."""
        portrait = self._portraits.pop(entity_id, None) or _Portrait(entity_id)
        self._portraits[entity_id] = portrait
        insight = portrait.compare(tick_id, mind, self._lines)
        if insight is not None:
            self._found.append(insight)

    def _lines(self, tree: Sequence[tuple[int, str]]) -> tuple[TreeLine, ...]:
        """Return a tree as it is shown; characters of one kind share theirs."""
        if self._outline[0] is not tree:
            shown = tree[: int(MAX_TREE_LINES.maximum)]
            self._outline = tree, tuple(TreeLine(depth, _cut(text, MAX_LINE_CHARS)) for depth, text in shown)
        return self._outline[1]

    def take(self) -> list[Insight]:
        """Return the insights since the last call."""
        insights, self._found = self._found, []
        return insights


class _Portrait:
    """The last report on one mind."""

    def __init__(self, entity_id: str) -> None:
        self._entity_id = entity_id
        self._whole_tick: int | None = None
        self._tree: Sequence[tuple[int, str]] = ()
        self._statuses = b""
        self._board: dict[str, bytes] = {}  # key -> value as JSON, before anything was left out
        self._memories: tuple[MemoryEntry, ...] = ()

    def compare(
        self, tick_id: int, mind: MindState, lines: Callable[[Sequence[tuple[int, str]]], tuple[TreeLine, ...]]
    ) -> Insight | None:
        """Return what is new; None if nothing is."""
        statuses = _codes(mind)
        board = {str(key): _json(value) for key, value in _first(mind.board.items(), MAX_BOARD_ENTRIES)}
        memories = tuple(mind.memories[-int(MAX_MEMORIES.maximum) :])
        last = self._whole_tick
        whole = last is None or tick_id - last >= WHOLE_TICKS or mind.tree != self._tree
        known = {} if whole else self._board
        fresh = {key: value for key, value in board.items() if known.get(key) != value}
        gone = [key for key in known if key not in board]
        entries = memories if whole else _new_entries(memories, self._memories)
        same_statuses = not whole and statuses == self._statuses
        self._statuses, self._board, self._memories = statuses, board, memories
        if same_statuses and not fresh and not gone and not entries:
            return None
        if whole:
            ahead = text_sum(self._entity_id) % WHOLE_TICKS if last is None else 0
            self._whole_tick, self._tree = tick_id - ahead, mind.tree  # later each in a tick of its own
        return Insight(
            entity_id=self._entity_id,
            tick_id=tick_id,
            whole=whole,
            tree=lines(mind.tree) if whole else (),
            node_statuses=None if same_statuses else statuses,
            board=_entries(fresh),
            gone_keys=tuple(_cut(key, MAX_KEY_CHARS) for key in gone),
            memories=tuple(map(_shown_entry, entries)),
        )


def _new_entries(now: tuple[MemoryEntry, ...], before: tuple[MemoryEntry, ...]) -> tuple[MemoryEntry, ...]:
    if now == before:  # which is quick, because they are the same objects
        return ()
    known = set(before)
    return tuple(entry for entry in now if entry not in known)


def _codes(mind: MindState) -> bytes:
    codes = bytearray(min(len(mind.tree), int(MAX_TREE_LINES.maximum)))
    for node, status in mind.statuses.items():
        if node < len(codes):
            codes[node] = CODES[status]
    return bytes(codes)


def _first(items: Iterable[tuple[Any, Any]], limit: Limit) -> list[tuple[Any, Any]]:
    return [item for item, _ in zip(list(items), range(int(limit.maximum)), strict=False)]


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError):
        return orjson.dumps(f"<{type(value).__name__}>")


def _entries(board: Mapping[str, bytes]) -> tuple[BoardEntry, ...]:
    """Return entries as they may be shown; of keys that are equal when cut, the first counts."""
    entries: dict[str, BoardEntry] = {}
    for key, value in board.items():
        name, text = _cut(key, MAX_KEY_CHARS), redact(value.decode())
        if not MAX_VALUE_CHARS.allows(len(text)) or not _is_json(text):
            text = orjson.dumps(f"{text[: int(MAX_VALUE_CHARS.maximum) // 2]}…").decode()
            text = text if MAX_VALUE_CHARS.allows(len(text)) else '"…"'
        entries.setdefault(name, BoardEntry(name, text))
    return tuple(entries.values())


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _shown_entry(entry: MemoryEntry) -> MemoryNote:
    about = _cut(entry.about[0], MAX_KEY_CHARS) if entry.about else ""
    return MemoryNote(
        max(0, entry.tick),
        _cut(entry.text, MAX_MEMORY_CHARS),
        about,
        entry.importance,
        entry.kind.value,
        _cut(entry.told_by, MAX_KEY_CHARS),
        entry.times,
        entry.number,
        entry.evidence,
    )


def _cut(text: str, limit: Limit) -> str:
    """Return a text without secrets, in Unicode and within the limit."""
    clean = redact(str(text)).encode("utf-8", "replace").decode()
    return clean if limit.allows(len(clean)) else f"{clean[: int(limit.maximum) - 1]}…"


_sheet: ContextVar[list[MindState] | None] = ContextVar("tickmind_mind", default=None)


@contextmanager
def showing() -> "Iterator[list[MindState]]":
    """Collect the calls of `show_mind`."""
    sheet: list[MindState] = []
    token = _sheet.set(sheet)
    try:
        yield sheet
    finally:
        _sheet.reset(token)


def show_mind(
    *,
    board: Mapping[str, Any] | None = None,
    memories: Sequence[str | MemoryEntry] = (),
    tree: Sequence[tuple[int, str, Status | None]] = (),
) -> None:
    """Show the mind of a plain agent to people: call it in `act` with what it knows, remembers and has tried.

    `board` is shown as the Blackboard, `tree` as nodes with their depth, words and outcome. Characters show theirs by
    themselves. Outside of a running agent it does nothing.
    """
    sheet = _sheet.get()
    if sheet is None:
        return
    entries = [
        memory if isinstance(memory, MemoryEntry) else MemoryEntry(0, EntryKind.SAW, 0, str(memory), 0.0)
        for memory in memories
    ]
    statuses = {node: status for node, (_, _, status) in enumerate(tree) if status is not None}
    sheet[:] = [MindState([(depth, text) for depth, text, _ in tree], statuses, dict(board or {}), entries)]
