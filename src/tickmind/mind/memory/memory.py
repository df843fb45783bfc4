"""`Memory`: what a mind remembers, within a budget."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from tickmind.base import Limit
from tickmind.mind.memory.entries import IMPORTANCE, EntryKind, MemoryEntry
from tickmind.mind.memory.held import HeldNumbers
from tickmind.mind.memory.retrieval import EntryIndex, Recalled, Weights
from tickmind.mind.memory.vectors import Embed
from tickmind.mind.memory.words import words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_ENTRIES = Limit("number of entries in a character's memory", 600)
MAX_ENTRY_CHARS = Limit("length of an entry in memory", 120, "characters")
MAX_EVIDENCE = Limit("number of entries that an insight rests on", 4)
MAX_SUBJECTS = Limit("number of subjects of an entry in memory", 8)
# Of all that is pinned there are at most 80 + 50 * (1 + 4) + 100 entries, so that there is always some room.
MAX_PINNED_PROMISES = Limit("number of promises that are always remembered", 80)
MAX_PINNED_INSIGHTS = Limit("number of insights that are always remembered", 50)
MAX_PINNED_SUBJECTS = Limit("number of subjects of which the best entry is always remembered", 100)
_ENTRIES, _ENTRY_CHARS, _SUBJECTS = (int(one.maximum) for one in (MAX_ENTRIES, MAX_ENTRY_CHARS, MAX_SUBJECTS))
DAY_TICKS = 600  # where a world does not say how long its days are
_INTERESTING = 1.5  # what an entry's importance is multiplied by if it has a word of interest
_WEIGHTS = Weights()
_RepeatKey: TypeAlias = tuple[EntryKind, str, str, tuple[str, ...]]


def entry_text(text: str) -> str:
    """Return a text as an entry has it: in one line, and cut if it is too long."""
    flat = " ".join(text.split())
    if flat == text:
        flat = text  # one object for one text, wherever it is kept
    return flat if len(flat) <= _ENTRY_CHARS else f"{flat[: _ENTRY_CHARS - 1].rstrip()}…"


class Memory:
    """Typed entries, recalled by words, subjects, importance and recency, and by meaning with `embed`.

    An entry that comes again within an hour counts up instead of piling up. Over the budget, entries of the same kind
    and subjects are merged first; only then are the least worthy forgotten. Promises, insights with their evidence and
    the best entry about each subject are pinned. What a mind is interested in, it finds more important.

    It has no clock and no chance: the same notes give the same memory.

        >>> memory = Memory()
        >>> _ = memory.note(10, "Bram promised me two fish.", kind=EntryKind.PROMISED, about="bram")
        >>> _ = memory.note(20, "The mill stood still.", place="mill")
        >>> [entry.text for entry in memory.recall(30, "Who promised fish?", most=1)]
        ['Bram promised me two fish.']
    """

    def __init__(
        self,
        *,
        day_ticks: int = DAY_TICKS,
        interests: Iterable[str] = (),
        embed: Embed | None = None,
    ) -> None:
        self.changes = 0
        """How often something was noted, so that readers can detect a change."""
        self.losses = 0
        """How often entries were merged away or forgotten, so that readers can detect a change."""
        self._entries: dict[int, MemoryEntry] = {}  # number -> entry, the one experienced last is last
        self._newest: dict[str, int] = {}  # text -> number of the newest entry
        self._newest_by_key: dict[_RepeatKey, int] = {}  # of those whose text another entry has, too
        self._subjects: dict[tuple[str, ...], tuple[str, ...]] = {}  # subjects -> the one object that entries share
        self._last_number = 0
        self._day_ticks = max(1, day_ticks)
        self._hour_ticks = max(1, day_ticks // 24)
        wanted = "|".join(sorted(re.escape(word) for word in words_of(" ".join(interests))))
        self._interesting = re.compile(rf"\b(?:{wanted})\b", re.IGNORECASE).search if wanted else None
        self._index = EntryIndex(self._day_ticks, embed)
        self._changed: dict[int, None] = {}  # numbers that the index has not seen
        self._some_gone = False  # since the index has seen all

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[MemoryEntry]:
        return iter(self._entries.values())

    def entry(self, number: int) -> MemoryEntry | None:
        """Return an entry by its number; None if it is forgotten."""
        return self._entries.get(number)

    def note(
        self,
        tick: int,
        text: str,
        *,
        kind: EntryKind = EntryKind.SAW,
        importance: float | None = None,
        about: str | tuple[str, ...] = (),
        place: str = "",
        told_by: str = "",
        evidence: tuple[int, ...] = (),
    ) -> MemoryEntry:
        """Remember something. The same again within an hour counts up, and keeps the greater importance.

        Evidence is for an insight: entries that are remembered, and no insights themselves.
        """
        self.changes += 1
        flat = entry_text(text)
        weight = IMPORTANCE[kind] if importance is None else importance
        if self._interesting is not None and self._interesting(flat):
            weight *= _INTERESTING
        weight = 0.0 if not weight > 0.0 else min(1.0, weight)
        subjects = ((about,) if about else ()) if isinstance(about, str) else about[:_SUBJECTS]
        subjects = self._subjects.setdefault(subjects, subjects)
        key: _RepeatKey | None = None
        number = self._newest.get(flat)
        before = None if number is None else self._entries[number]
        if before is not None and (before.kind is not kind or before.told_by != told_by or before.about != subjects):
            key = kind, flat, told_by, subjects
            number = self._newest_by_key.get(key)
            before = None if number is None else self._entries[number]
        if before is not None and tick - before.tick <= self._hour_ticks:
            number = before.number
            del self._entries[number]
            made = before._replace(
                tick=max(tick, before.tick),
                importance=max(weight, before.importance),
                place=place or before.place,
                times=before.times + 1,
            )
        else:
            self._last_number = number = self._last_number + 1
            if evidence:
                evidence = self._grounds(evidence)
            fields = (number, kind, tick, flat, weight, subjects, place, told_by, evidence, 1, tick)
            made = tuple.__new__(MemoryEntry, fields)  # in half the time of the constructor
            if key is None:
                self._newest[flat] = number
            else:
                self._newest_by_key[key] = number
        self._entries[number] = made
        self._changed[number] = None
        if len(self._entries) > _ENTRIES:
            self._make_room(tick)
        return made

    def recall(
        self,
        tick: int,
        words: str | Iterable[str] = "",
        *,
        about: str | Iterable[str] = (),
        most: int = 5,
        weights: Weights = _WEIGHTS,
    ) -> list[MemoryEntry]:
        """Return the entries that fit best, the best first."""
        return [recalled.entry for recalled in self.scored(tick, words, about=about, most=most, weights=weights)]

    def scored(
        self,
        tick: int,
        words: str | Iterable[str] = "",
        *,
        about: str | Iterable[str] = (),
        most: int = 5,
        weights: Weights = _WEIGHTS,
    ) -> list[Recalled]:
        """Return the entries that fit best, with the parts of their scores."""
        if self._some_gone or self._changed:
            if self._some_gone:
                self._index = self._index.of(self._entries.values())
            else:
                self._index.follow(self._entries[number] for number in self._changed)
            self._changed, self._some_gone = {}, False
        question = words if isinstance(words, str) else " ".join(words)
        subjects = ((about,) if about else ()) if isinstance(about, str) else tuple(about)
        return self._index.best(tick, question, subjects, most, weights)

    def learn_meanings(self, rows: "Mapping[str, NDArray[np.float32]]") -> None:
        """Take over what texts of entries mean, as embeddings that come later say."""
        self._index.learn(rows)

    def held(self) -> "HeldNumbers":
        """Return which of the numbers that it has given belong to entries that it still has."""
        return HeldNumbers(self._last_number, frozenset(self._entries))

    def latest(self, most: int = 5) -> list[MemoryEntry]:
        """Return the entries that were experienced last, oldest first."""
        return list(islice(reversed(self._entries.values()), most))[::-1]

    def pinned(self) -> set[int]:
        """Return the numbers of the entries that are not forgotten."""
        promises = islice(self._newest_of(EntryKind.PROMISED), int(MAX_PINNED_PROMISES.maximum))
        insights = list(islice(self._newest_of(EntryKind.INSIGHT), int(MAX_PINNED_INSIGHTS.maximum)))
        best: dict[str, MemoryEntry] = {}  # subject -> its best entry
        most = MAX_PINNED_SUBJECTS.maximum
        for entry in reversed(self._entries.values()):
            for subject in entry.about if entry.kind is not EntryKind.INSIGHT else ():
                known = best.get(subject)
                if len(best) < most if known is None else entry.importance > known.importance:
                    best[subject] = entry
        kept = {entry.number for entry in (*promises, *insights, *best.values())}
        return kept.union(*(entry.evidence for entry in insights))

    def _newest_of(self, kind: EntryKind) -> Iterator[MemoryEntry]:
        return (entry for entry in reversed(self._entries.values()) if entry.kind is kind)

    def _grounds(self, evidence: Iterable[int]) -> tuple[int, ...]:
        """Return the entries that a new one follows from; of an insight among them, those that it follows from."""
        known = (self._entries[number] for number in evidence if number in self._entries)
        numbers = (number for entry in known for number in entry.evidence or (entry.number,))
        return tuple(islice(dict.fromkeys(numbers), int(MAX_EVIDENCE.maximum)))

    def forget(self, number: int) -> bool:
        """Forget an entry, and return whether it was there. What was concluded from it stays."""
        if number not in self._entries:
            return False
        self._drop((number,))
        self.changes += 1
        return True

    def tidy(self, tick: int) -> None:
        """Merge entries of earlier days that are of the same kind, subjects, place and speaker; called at night.

        Of what others told only the same words are merged.
        """
        self._merge(tick - self._day_ticks)

    def _make_room(self, tick: int) -> None:
        """Merge, and then forget a tenth at once if there are still too many, so that this happens rarely."""
        self._merge(tick)
        self._subjects = {}
        most = _ENTRIES * 9 // 10
        pinned = self.pinned()
        loose = [entry for entry in self._entries.values() if entry.number not in pinned]
        loose.sort(key=lambda entry: (self._worth(entry, tick), entry.number))
        self._drop(entry.number for entry in loose[: max(0, len(self._entries) - most)])
        self._newest, self._newest_by_key = (
            dict(self._newest),
            dict(self._newest_by_key),
        )  # without room for the dropped

    def _worth(self, entry: MemoryEntry, tick: int) -> float:
        recency: float = 0.5 ** (max(0, tick - entry.tick) / self._day_ticks)
        return entry.importance + 0.3 * recency + 0.05 * math.log2(entry.times)

    def _merge(self, until_tick: int) -> None:
        older = islice(self._newest_of(EntryKind.INSIGHT), int(MAX_PINNED_INSIGHTS.maximum), None)
        self._drop([entry.number for entry in older])
        pinned = self.pinned()
        groups: dict[tuple[object, ...], list[MemoryEntry]] = {}
        for entry in self._entries.values():
            if entry.number not in pinned and entry.tick <= until_tick:
                told = entry.text if entry.kind is EntryKind.HEARD else ""  # of which each is something else
                groups.setdefault((entry.kind, entry.about, entry.place, entry.told_by, told), []).append(entry)
        for group in groups.values():
            if len(group) < 2:
                continue
            best = max(group, key=lambda entry: (entry.importance, entry.tick, entry.number))
            self._entries[best.number] = best._replace(
                tick=max(entry.tick for entry in group),
                times=sum(entry.times for entry in group),
                first_tick=min(entry.first_tick for entry in group),
            )
            self._drop(entry.number for entry in group if entry is not best)
        self._entries = dict(sorted(self._entries.items(), key=lambda kept: kept[1].tick))

    def _drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.losses += 1
            entry = self._entries.pop(number)
            if self._newest.get(entry.text) == number:
                del self._newest[entry.text]
            key = entry.kind, entry.text, entry.told_by, entry.about
            if self._newest_by_key.get(key) == number:
                del self._newest_by_key[key]
            self._changed.pop(number, None)
            self._some_gone = True

    def restore(self, entries: Iterable[MemoryEntry]) -> None:
        """Take over the entries of a memory that was kept; this one must be empty."""
        for entry in entries:
            self._entries[entry.number] = entry
            known = self._newest.get(entry.text)
            same = None if known is None else self._entries[known]
            is_alike = same is None or (same.kind, same.told_by, same.about) == (entry.kind, entry.told_by, entry.about)
            if is_alike:
                self._newest[entry.text] = entry.number
            else:
                self._newest_by_key[entry.kind, entry.text, entry.told_by, entry.about] = entry.number
            self._last_number = max(self._last_number, entry.number)
        self._changed, self._some_gone = {}, True
        self.changes += 1
        self.losses += 1  # of what it had before, others may know
