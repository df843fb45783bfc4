"""Questions: what a mind remembers that answers one, and whether anything new would do."""

import re
from collections.abc import Callable, Collection

from tickmind.mind.memory import EntryKind, Memory, MemoryEntry
from tickmind.mind.memory.words import VERBS, words_of

KNOWS_ENOUGH = 0.5  # share of a question's words in an entry that answers it; rare words count more
_MOST_LOOKED_AT = 12  # entries
_ASKS_FOR_ONE_THING = re.compile(r"\b(?:who|whom|whose|where|when|which|did)\b", re.IGNORECASE)
_BY_YOU = re.compile(r"\bdid you\b", re.IGNORECASE)
_TO_YOU = re.compile(r"\b(?:gave|give|brought|bring|sold|sell|promised|promise) you\b", re.IGNORECASE)
_WHO_SAID = re.compile(r"\bwho (?:said|told)\b", re.IGNORECASE)
_BY_ME, _TO_ME = re.compile(r"I\b"), re.compile(r".*\bme\b")
_ASKED_IN_PASSING = re.compile(  # as the phrasebook does
    r"\bwho have you met\b|\bwhen did you last speak\b|\bwho else comes to\b", re.IGNORECASE
)
_WHAT = re.compile(r"\bwhat\b", re.IGNORECASE)
_TIMES = frozenset(("today", "yesterday", "lately", "last", "now", "ever"))


def is_open(question: str, words: Collection[str]) -> bool:
    """Return whether anything new answers a question: "What did you do today?", but not "Who gave you bread?".

    `words` are those of the question that carry its meaning.
    """
    if not _ASKS_FOR_ONE_THING.search(question) or _ASKED_IN_PASSING.search(question):
        return True
    return _WHAT.search(question) is not None and _TIMES.issuperset(words)


def search_text(question: str, words: Collection[str]) -> str:
    """Return the words by which the memory is searched for an answer."""
    things = frozenset(words) - VERBS
    return " ".join(sorted(things if _WHO_SAID.search(question) else words))  # no entry says that it was told


def remembered_answer(
    memory: Memory,
    tick: int,
    question: str,
    words: Collection[str],
    about: Collection[str],
    may_tell: Callable[[MemoryEntry], bool],
) -> MemoryEntry | None:
    """Return the entry that answers a question about some people or things, and may be told.

    To an open question about a person anything about that person is an answer.
    """
    anything = is_open(question, words)
    things = frozenset(words) - VERBS
    for found in memory.scored(tick, search_text(question, words), about=about, most=_MOST_LOOKED_AT):
        entry = found.entry
        if not may_tell(entry):
            continue
        if anything and (found.words >= KNOWS_ENOUGH or (found.subjects and about)):
            return entry
        is_about = 2 * len(things & words_of(entry.text)) > len(things) or not things
        if found.words >= KNOWS_ENOUGH and is_about and _same_doer(question, entry):
            return entry
    return None


def _same_doer(question: str, entry: MemoryEntry) -> bool:
    """Return whether an entry says what the asked one did, had from another or was told, if that is the question."""
    if _WHO_SAID.search(question):
        return entry.kind is EntryKind.HEARD
    if _BY_YOU.search(question):
        return _BY_ME.match(entry.text) is not None
    return not _TO_YOU.search(question) or _TO_ME.match(entry.text) is not None
