"""Reflection: what follows from several memories, by rules or in the words of a model."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from tickmind.base import Limit
from tickmind.mind.memory import EntryKind, Memory, MemoryEntry
from tickmind.mind.memory.memory import MAX_EVIDENCE, entry_text
from tickmind.mind.promises import AS_PROMISED
from tickmind.mind.talk.line_checker import is_for_code
from tickmind.strategy.prompts import one_line

MAX_REFLECTED = Limit("number of memories in one question for insights", 12)
MAX_INSIGHTS = Limit("number of insights that a model's reply gives in one night", 3)
MAX_RULED = Limit("number of insights by rule of one night", 12)
LEAST_EVIDENCE = 2  # entries that an insight rests on
REFLECT_TASK = (
    "These are your memories, each with its number. Write what follows from several of them: at most three lines, each "
    "with the numbers, a colon and one short sentence, such as `2 5: Bram is always at the mill.` Write nothing else."
)
_LINE = re.compile(r"^\W*(?:ids?\W*)?((?:\d{1,3}(?!\d)[\s,;&)\]]*(?:and\s+)?)+):\s*(\S.*)$", re.IGNORECASE)
_LEAST_WORDS = 3


class NewInsight(NamedTuple):
    """A sentence that follows from entries of a memory."""

    text: str
    evidence: tuple[int, ...]  # numbers of these entries
    about: tuple[str, ...] = ()


class Reflection:
    """Some memories of a day, numbered for a model, and what its reply makes of them."""

    def __init__(self, entries: Sequence[MemoryEntry]) -> None:
        self.entries = tuple(entries[: int(MAX_REFLECTED.maximum)])

    @classmethod
    def of_day(cls, memory: Memory, since_tick: int) -> "Reflection":
        """Choose the most important entries since a tick, in the order in which they were experienced."""
        fresh = [entry for entry in memory if entry.tick >= since_tick and entry.kind is not EntryKind.INSIGHT]
        best = sorted(fresh, key=lambda entry: (-entry.importance, -entry.tick, entry.number))
        chosen = best[: int(MAX_REFLECTED.maximum)]
        return cls(sorted(chosen, key=lambda entry: (entry.tick, entry.number)))

    def numbered(self) -> Iterator[tuple[int, str]]:
        """Iterate over the entries for a prompt, each with the number that a reply names."""
        return ((place, entry.text) for place, entry in enumerate(self.entries, 1))

    def read(self, reply: str) -> list[NewInsight]:
        """Return the insights in a model's reply.

        A line that names fewer than two of the entries is left out, and one that would do something when it is said.
        """
        found: dict[str, NewInsight] = {}
        for line in reply.splitlines():
            match = _LINE.match(line)
            if match is None:
                continue
            places = dict.fromkeys(int(number) for number in re.findall(r"\d+", match[1]))
            grounds = [self.entries[place - 1] for place in places if 1 <= place <= len(self.entries)]
            text = entry_text(one_line(match[2]))
            if len(grounds) >= LEAST_EVIDENCE and len(text.split()) >= _LEAST_WORDS and not is_for_code(text):
                found.setdefault(text, _insight(text, grounds))
        return list(found.values())[: int(MAX_INSIGHTS.maximum)]


def insights_by_rule(memory: Memory, called: Callable[[str], str], things: Collection[str] = ()) -> list[NewInsight]:
    """Return what follows from a memory without a model: where people are most, where things are, who keeps promises.

    `called` returns how one speaks of a person; `things` are subjects that are none. What is known already is left out.
    """
    known = {entry.text for entry in memory if entry.kind is EntryKind.INSIGHT}
    fresh = (one for one in _by_rule(memory, called, things) if one.text not in known)
    best = sorted(fresh, key=lambda one: (-len(one.evidence), -max(one.evidence)))
    return best[: int(MAX_RULED.maximum)]


def _by_rule(
    memory: Iterable[MemoryEntry], called: Callable[[str], str], things: Collection[str]
) -> Iterator[NewInsight]:
    groups: defaultdict[tuple[str, str, str], list[MemoryEntry]] = defaultdict(list)
    for entry in memory:
        if entry.told_by or not entry.about:
            continue  # it is known from another, who may be wrong
        match entry.kind:
            case EntryKind.SAW if entry.place:
                groups["got" if entry.about[0] in things else "seen", entry.about[0], entry.place].append(entry)
            case EntryKind.GOT if entry.text.endswith(AS_PROMISED):
                groups["kept", entry.about[0], ""].append(entry)
            case EntryKind.GOT if entry.place:
                groups["got", entry.about[0], entry.place].append(entry)
            case EntryKind.FAILED if entry.text.endswith(AS_PROMISED):
                groups["broken", entry.about[0], ""].append(entry)
            case _:
                pass
    most: defaultdict[str, int] = defaultdict(int)  # person -> how often it was seen where it was seen most
    for (what, subject, _), entries in groups.items():
        if what == "seen":
            most[subject] = max(most[subject], _times(entries))
    for (what, subject, place), entries in groups.items():
        if len(entries) < LEAST_EVIDENCE or (what == "seen" and _times(entries) < most[subject]):
            continue
        name = called(subject)
        text = {
            "seen": f"One often sees {name} at {place}.",
            "got": f"One often finds {subject} at {place}.",
            "kept": f"{name} keeps promises.",
            "broken": f"{name} does not keep promises.",
        }[what]
        yield _insight(entry_text(text), entries)


def _times(entries: Iterable[MemoryEntry]) -> int:
    return sum(entry.times for entry in entries)


def note_insights(memory: Memory, tick: int, insights: Iterable[NewInsight]) -> list[MemoryEntry]:
    """Remember insights whose evidence is still there; return their entries."""
    return [
        memory.note(tick, insight.text, kind=EntryKind.INSIGHT, about=insight.about, evidence=insight.evidence)
        for insight in insights
        if sum(memory.entry(number) is not None for number in insight.evidence) >= LEAST_EVIDENCE
    ]


def _insight(text: str, grounds: Sequence[MemoryEntry]) -> NewInsight:
    newest = sorted(grounds, key=lambda entry: entry.number)[-int(MAX_EVIDENCE.maximum) :]
    shared = set(newest[0].about).intersection(*(entry.about for entry in newest))
    about = tuple(subject for subject in newest[0].about if subject in shared)
    return NewInsight(text, tuple(entry.number for entry in newest), about)
