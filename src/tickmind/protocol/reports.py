"""The reports of agents about themselves, for the record and the viewer."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import groupby

from tickmind.protocol.thought import Thought

_STRETCH = re.compile(r"([alpm])([1-9][0-9]{0,8})|([bq])([1-9][0-9]{0,2})")
MAX_TIMELESS = 999  # turns in a stretch that takes no tick
_TURNS = re.compile(rf"(?:{_STRETCH.pattern})*")


class AgentState(StrEnum):
    """The state of an agent."""

    STARTING = "starting"
    RUNNING = "running"
    DELIBERATING = "deliberating"  # still answering observations
    DEGRADED = "degraded"  # running without something that it should have
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """The state of an agent in numbers, which count from its start."""

    entity_id: str
    tick_id: int
    state: AgentState
    detail: str = ""
    observations: int = 0
    intents: int = 0
    refused: int = 0
    thoughts: int = 0
    failed_thoughts: int = 0
    dropped_reports: int = 0  # that its process could not send, so far
    program: str = ""  # of its process, with versions; in the first status after a start
    turns: str = ""  # what it did in each tick since the last report, up to and with `tick_id`; see `TurnCode`


@dataclass(frozen=True, slots=True)
class ThoughtReport:
    """A thought, its entity in the world, and the tick of the world in which it was reported."""

    entity_id: str
    tick_id: int
    thought: Thought

    @property
    def chars(self) -> int:
        """The length of its texts together, the directives as JSON."""
        thought = self.thought
        texts = (thought.system_prompt, thought.user_message, thought.reply, thought.thinking, thought.error)
        names = (thought.client, thought.model, thought.provider, thought.error_type)
        return sum(map(len, texts)) + sum(map(len, names)) + len(self.directives_json)

    @property
    def directives_json(self) -> str:
        """The directives as a JSON object; values that JSON can't hold are strings."""
        directives = self.thought.directives
        return json.dumps(dict(directives), default=str, ensure_ascii=False) if directives else "{}"


class NodeStatus(IntEnum):
    """The outcome of a node of a behaviour tree in a tick."""

    IDLE = 0  # it did not run
    SUCCESS = 1
    FAILURE = 2
    RUNNING = 3  # still running


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One node of a behaviour tree, in a few words."""

    depth: int
    text: str


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """A key of a Blackboard and its value; a long value is a string with its beginning."""

    key: str
    value_json: str


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """One note of a character's memory, with its source.

    It was told by a speaker, or follows from other notes, its evidence; else the character experienced it.
    """

    tick_id: int
    text: str
    about: str = ""
    importance: float = 0.0  # 0 to 1
    kind: str = ""  # such as "heard"
    told_by: str = ""  # id of the speaker
    times: int = 1  # that it was experienced
    number: int = 0  # in that memory; 0 if not known
    evidence: tuple[int, ...] = ()  # numbers of other notes


@dataclass(frozen=True, slots=True)
class Insight:
    """An agent's report on a mind at a tick: its tree and the nodes that ran, its Blackboard and its memories.

    A whole insight stands by itself. Any other holds what is new since the one before it.
    """

    entity_id: str
    tick_id: int
    whole: bool = True
    tree: tuple[TreeLine, ...] = ()  # only in a whole insight; each node before those below it
    node_statuses: bytes | None = None  # a `NodeStatus` for each node of the tree; None if nothing changed
    board: tuple[BoardEntry, ...] = ()
    gone_keys: tuple[str, ...] = ()
    memories: tuple[MemoryNote, ...] = ()  # the newest last

    @property
    def chars(self) -> int:
        """The length of its texts together."""
        texts = sum(len(line.text) for line in self.tree) + sum(map(len, self.gone_keys))
        entries = sum(len(entry.key) + len(entry.value_json) for entry in self.board)
        notes = sum(len(note.text) + len(note.about) + len(note.told_by) for note in self.memories)
        return texts + entries + notes + len(self.node_statuses or b"")


@dataclass(frozen=True, slots=True)
class TickReports:
    """The reports of agents until a tick was over."""

    thoughts: tuple[ThoughtReport, ...] = ()
    statuses: tuple[AgentStatus, ...] = ()
    insights: tuple[Insight, ...] = ()
    left_out: int = 0  # reports that could not be kept

    def __bool__(self) -> bool:
        return bool(self.thoughts or self.statuses or self.insights or self.left_out)


NO_REPORTS = TickReports()


class TurnCode(StrEnum):
    """What a mind did in a tick, as its process reports it.

    A text such as `b1a40q1l1a9` has a letter and a number for each stretch of ticks; the last two letters take no tick.
    The record has the intent of a mind that acted, unless it reached the world too late; that of a late one is not its
    own. Questions are counted from the process's beginning: one without a thought was refused, or is under way.
    """

    ACTED = "a"  # it perceived and acted
    LATE = "l"  # it acted, but not before the deadline
    PERCEIVED = "p"  # it perceived, and was not asked to act any more
    MISSED = "m"
    BEGAN = "b"  # its process
    ASKED = "q"  # a model, after the turn before


TIMELESS = frozenset((TurnCode.BEGAN, TurnCode.ASKED))  # codes that take no tick


def encode_turns(codes: "list[TurnCode]") -> str:
    """Return the text of some turns."""
    stretches = ((code, len(list(several))) for code, several in groupby(codes))
    return "".join(f"{code}{min(count, MAX_TIMELESS) if code in TIMELESS else count}" for code, count in stretches)


def are_turns(text: str) -> bool:
    """Return whether a text is one of turns."""
    return _TURNS.fullmatch(text) is not None


def decode_turns(text: str, last_tick: int, ticks: range) -> Iterator[tuple[int, TurnCode]]:
    """Yield each tick with its code, of these ticks only; the last turn in the text is that of `last_tick`.

    A beginning stands at the tick that follows, a question at the tick before.
    """
    found = _STRETCH.findall(text)
    stretches = [(TurnCode(timed or timeless), int(length or times)) for timed, length, timeless, times in found]
    tick_id = last_tick - sum(count for code, count in stretches if code not in TIMELESS) + 1
    for code, count in stretches:
        if code in TIMELESS:
            at = tick_id - (code is TurnCode.ASKED)
            yield from [(at, code)] * (count if at in ticks else 0)
            continue
        for tick in range(max(tick_id, ticks.start), min(tick_id + count, ticks.stop)):
            yield tick, code
        tick_id += count
