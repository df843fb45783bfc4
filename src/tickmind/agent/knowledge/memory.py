"""`Memory`: facts and events that a character remembers, recalled by recency, importance and relevance."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tickmind.base import Limit

MAX_NOTES = Limit("number of notes in a character's memory", 400)
MAX_NOTE_CHARS = Limit("length of a note in memory", 500, "characters")
HALF_LIFE_TICKS = 300  # after so many ticks a note's recency has halved
_WORD = re.compile(r"\w+")
_SMALL = frozenset(
    _WORD.findall(
        "a an and are at by do does for from has have he her his how i in is it me my of on or our she so that the "
        "their them there they this to was we were what when where who why with you your"
    )
)


@dataclass(frozen=True, slots=True)
class Note:
    """One remembered fact or event."""

    tick: int
    text: str
    importance: float  # 0 to 1
    about: str = ""  # id of the entity or object that it is about


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of each quality in a recall."""

    recency: float = 1.0
    importance: float = 1.0
    words: float = 2.0


class Memory:
    """A bounded store of notes. Over the limit, the oldest and least important are forgotten."""

    def __init__(self, *, max_notes: Limit = MAX_NOTES, half_life_ticks: int = HALF_LIFE_TICKS) -> None:
        self._notes: dict[str, Note] = {}  # text -> note, oldest first
        self.changes = 0
        """How often something was noted, so that readers can detect a change."""
        self._max_notes = max_notes
        self._half_life_ticks = half_life_ticks

    def __len__(self) -> int:
        return len(self._notes)

    def __iter__(self) -> Iterator[Note]:
        return iter(self._notes.values())

    def note(self, tick: int, text: str, *, importance: float = 0.3, about: str = "") -> Note:
        """Remember something; the same text again renews it and keeps the greater importance."""
        self.changes += 1
        flat = " ".join(text.split())[: int(MAX_NOTE_CHARS.maximum)]
        old = self._notes.pop(flat, None)
        weight = min(1.0, max(0.0, importance))
        if old is not None:
            made = Note(tick, flat, max(weight, old.importance), about or old.about)
        else:
            made = Note(tick, flat, weight, about)
        self._notes[flat] = made
        if not self._max_notes.allows(len(self._notes)):
            self._forget(tick)
        return made

    def recall(
        self,
        tick: int,
        words: str | Iterable[str] = "",
        *,
        about: str = "",
        most: int = 5,
        weights: Weights | None = None,
    ) -> list[Note]:
        """Return the notes that fit best: by shared words, subject, age and importance."""
        query = words_of(words if isinstance(words, str) else " ".join(words))
        by = weights or Weights()

        def score(note: Note) -> float:
            shared = len(words_of(note.text) & query) / len(query) if query else 0.0
            if about and note.about == about:
                shared = max(shared, 0.5) + 0.5
            return by.recency * self._recency(note, tick) + by.importance * note.importance + by.words * shared

        return sorted(self._notes.values(), key=lambda note: (-score(note), -note.tick, note.text))[:most]

    def latest(self, most: int = 5) -> list[Note]:
        """Return the newest notes, oldest first."""
        return list(self._notes.values())[-most:]

    def _recency(self, note: Note, tick: int) -> float:
        return float(0.5 ** (max(0, tick - note.tick) / self._half_life_ticks))

    def _forget(self, tick: int) -> None:
        """Forget a tenth at once, so that this happens rarely."""
        by_worth = sorted(self._notes.values(), key=lambda note: note.importance + self._recency(note, tick))
        for note in by_worth[: max(1, len(by_worth) // 10)]:
            del self._notes[note.text]


def words_of(text: str) -> frozenset[str]:
    """Return the meaningful words of a text, in lower case."""
    return frozenset(_WORD.findall(text.lower())) - _SMALL
