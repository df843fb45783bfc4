"""`EntryIndex`: which entries of a memory fit a question best.

An entry's score is a weighted sum of parts from 0 to 1: shared words (BM25, as a share of the most that is possible),
shared subjects, importance, recency, and likeness of meaning where there are embeddings.
"""

import math
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tickmind.mind.memory.entries import MemoryEntry
from tickmind.mind.memory.vectors import Embed, VectorTable
from tickmind.mind.memory.words import indexed_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_K1, _B = 1.2, 0.75  # of BM25
_MORE_ROOM = 64  # entries
_number_of = attrgetter("number")
_WHOLLY_LIKE = 1.001  # the largest likeness, and room for its rounding
_NO_WORD = -1  # the number of a word that no entry has
_EXACT = 2.0**32  # of a rarity


def _exact(number: float) -> float:
    """Return a number with so few bits that sums of such numbers are exact, thus the same in any order."""
    return round(number * _EXACT) / _EXACT


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each part of a score counts."""

    words: float = 1.0
    subjects: float = 0.5
    importance: float = 0.4
    recency: float = 0.3
    meaning: float = 0.5


class Recalled(NamedTuple):
    """An entry that fits a question, and the weighted parts of its score."""

    entry: MemoryEntry
    words: float
    subjects: float
    importance: float
    recency: float
    meaning: float

    @property
    def score(self) -> float:
        """The sum of all parts."""
        return self.words + self.subjects + self.importance + self.recency + self.meaning


class EntryIndex:
    """Words and subjects of entries. Entries are read into it when it is asked, not when they are noted."""

    def __init__(self, half_life_ticks: int, embed: Embed | None = None) -> None:
        self._half_life_ticks = half_life_ticks
        self._embed = embed
        self._entries: list[MemoryEntry] = []  # by place, in the order of their numbers
        self._word_numbers: dict[str, int] = {}  # word -> its number
        self._words = array("H")  # numbers of the words of all entries, by place
        self._about: dict[str, array[int]] = {}  # subject -> places
        self._ticks: NDArray[np.float64] = np.zeros(0)  # by place, with room for more
        self._importance: NDArray[np.float64] = np.zeros(0)
        self._lengths: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)  # in words
        self._vectors = None if embed is None else VectorTable(embed)  # what entries mean, by place

    def of(self, entries: Iterable[MemoryEntry]) -> "EntryIndex":
        """Return an index of other entries, which takes over what is known of those in both."""
        ordered = sorted(entries, key=_number_of)  # so those that are known come first
        places: list[int] = []
        for entry in ordered:
            place = self._place(entry)
            if place is None or (self._entries[place].text, self._entries[place].about) != (entry.text, entry.about):
                break
            places.append(place)
        made = self._part(places, ordered[: len(places)])
        made.follow(ordered[len(places) :])
        return made

    def _part(self, places: list[int], entries: list[MemoryEntry]) -> "EntryIndex":
        """Return an index of the entries at some places, as they are now, without reading their words again."""
        made = EntryIndex(self._half_life_ticks, self._embed)
        if not places:
            return made
        made._entries = entries
        made._ticks = np.array([entry.tick for entry in entries], dtype=np.float64)
        made._importance = np.array([entry.importance for entry in entries], dtype=np.float64)
        made._lengths = self._lengths[places]
        is_kept = np.zeros(len(self._entries), dtype=np.bool_)
        is_kept[places] = True
        words = np.frombuffer(self._words, dtype=np.uint16)[np.repeat(is_kept, self._lengths[: len(is_kept)])]
        used = np.unique(words)
        numbers = np.full(len(self._word_numbers), _NO_WORD)  # number of a word here -> its number there
        numbers[used] = np.arange(len(used))
        made._words = array("H", numbers[words].astype(np.uint16).tobytes())
        known = zip(self._word_numbers, numbers.tolist(), strict=True)  # words stand in the order of their numbers
        made._word_numbers = {word: number for word, number in known if number != _NO_WORD}
        placed = np.cumsum(is_kept) - 1  # place here -> place there
        for subject, about in self._about.items():
            at = np.frombuffer(about, dtype=np.uint16)
            if len(kept := placed[at[is_kept[at]]]):
                made._about[subject] = array("H", kept.astype(np.uint16).tobytes())
        if self._vectors is not None:
            made._vectors = self._vectors.picked([place for place in places if place < len(self._vectors)])
        return made

    def _place(self, entry: MemoryEntry) -> int | None:
        """Return the place of an entry with the same number; None if there is none."""
        place = bisect_left(self._entries, entry.number, key=_number_of)
        is_known = place < len(self._entries) and self._entries[place].number == entry.number
        return place if is_known else None

    def follow(self, entries: Iterable[MemoryEntry]) -> None:
        """Take over entries that are new, or were experienced again."""
        for entry in sorted(entries, key=_number_of):
            place = self._place(entry)
            if place is None:
                place = self._add(entry)
            self._entries[place] = entry
            self._ticks[place] = entry.tick
            self._importance[place] = entry.importance
        if self._vectors is not None:
            self._vectors.add([entry.text for entry in self._entries[len(self._vectors) :]])

    def learn(self, rows: "Mapping[str, NDArray[np.float32]]") -> None:
        """Take over what texts mean."""
        for place in range(0 if self._vectors is None else len(self._vectors)):
            row = rows.get(self._entries[place].text)
            if row is not None and self._vectors is not None:
                self._vectors.put(place, row)

    def _add(self, entry: MemoryEntry) -> int:
        place = len(self._entries)
        self._entries.append(entry)
        if place == len(self._ticks):
            room = np.zeros(_MORE_ROOM)
            self._ticks, self._importance = (np.concatenate((one, room)) for one in (self._ticks, self._importance))
            self._lengths = np.concatenate((self._lengths, np.zeros(_MORE_ROOM, dtype=np.uint8)))
        words, numbers = indexed_words(entry.text), self._word_numbers
        self._words.extend([numbers.setdefault(word, len(numbers)) for word in words])
        self._lengths[place] = len(words)
        for subject in dict.fromkeys(entry.about):
            self._about.setdefault(subject, array("H")).append(place)
        return place

    def best(self, tick: int, question: str, about: Collection[str], most: int, by: Weights) -> list[Recalled]:
        """Return the entries that fit best, the best first; of equals the newest."""
        entries, count = self._entries, len(self._entries)
        if not count or most < 1:
            return []
        recency = by.recency * np.exp2(np.minimum(0.0, self._ticks[:count] - tick) / self._half_life_ticks)
        importance = by.importance * self._importance[:count]
        words = self._shared_words(question, by.words)
        subjects = np.zeros(count)
        for subject in about:
            if subject in self._about:
                subjects[np.frombuffer(self._about[subject], dtype=np.uint16)] = by.subjects
        scores = recency + importance + words + subjects
        meaning = self._likeness(question, by.meaning, scores, most)
        scores = scores + meaning
        least = np.partition(scores, count - most)[count - most] if most < count else -1.0
        found = np.flatnonzero(scores >= least).tolist()
        found.sort(key=lambda place: (scores[place], entries[place].tick, entries[place].number), reverse=True)
        parts = (words, subjects, importance, recency, meaning)
        return [Recalled(entries[place], *(float(part[place]) for part in parts)) for place in found[:most]]

    def _shared_words(self, question: str, weight: float) -> "NDArray[np.float64]":
        """Return the BM25 of all entries; one of mean length with all words of the question has the whole weight.

        A word counts once in an entry: entries are short. One that no entry has is the rarest.
        """
        count = len(self._entries)
        asked = [self._word_numbers.get(word, _NO_WORD) for word in indexed_words(question)]
        known = [number for number in asked if number != _NO_WORD]
        if not known:
            return np.zeros(count)
        marks = np.zeros(len(self._word_numbers), dtype=np.uint16)  # which of the known words each is, from 1 on
        marks[known] = np.arange(1, len(known) + 1)
        marked = marks.take(np.frombuffer(self._words, dtype=np.uint16), mode="clip")  # all numbers are in range
        found = np.flatnonzero(marked)
        places, which = np.searchsorted(self._lengths[:count].cumsum(), found, side="right"), marked[found]
        shared = np.bincount(which, minlength=len(known) + 1).tolist()  # by mark, and 0 for words that no entry has
        rarity = [_exact(math.log1p((count - each + 0.5) / (each + 0.5))) for each in shared]
        whole = sum(rarity) + rarity[0] * (len(asked) - len(known) - 1)
        parts = np.bincount(places, weights=np.array(rarity)[which], minlength=count)
        mean = len(self._words) / count
        scale = weight / whole * (1 + _K1)
        return scale * parts / (1 + _K1 * (1 - _B) + _K1 * _B / mean * self._lengths[:count])

    def _likeness(
        self, question: str, weight: float, others: "NDArray[np.float64]", most: int
    ) -> "NDArray[np.float64]":
        """Return the likeness of the entries that it may bring among the best; 0 for the rest.

        An entry that is below the best by the other parts, even if it were wholly like the question, is not compared.
        """
        meaning = np.zeros(len(others))
        if self._vectors is None or not question.strip():
            return meaning
        places: NDArray[np.intp] | slice = slice(None)
        if most < len(others) and weight > 0:
            least = np.partition(others, len(others) - most)[len(others) - most]
            places = np.flatnonzero(others >= least - weight * _WHOLLY_LIKE)
        meaning[places] = weight * self._vectors.likeness(self._vectors.asked(question), places)
        return meaning
