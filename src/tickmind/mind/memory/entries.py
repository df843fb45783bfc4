"""`MemoryEntry`: one thing that a mind remembers, with its kind, its subjects and its source."""

from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple


class EntryKind(StrEnum):
    """What kind of experience an entry is."""

    SAW = "saw"
    DID = "did"
    HEARD = "heard"
    GAVE = "gave"
    GOT = "got"
    PROMISED = "promised"
    FAILED = "failed"
    INSIGHT = "insight"


IMPORTANCE = MappingProxyType(
    {
        EntryKind.SAW: 0.2,
        EntryKind.DID: 0.2,
        EntryKind.HEARD: 0.4,
        EntryKind.GAVE: 0.5,
        EntryKind.GOT: 0.5,
        EntryKind.FAILED: 0.4,
        EntryKind.PROMISED: 0.9,
        EntryKind.INSIGHT: 0.8,
    }
)  # of an entry that says no other


class Source(StrEnum):
    """Where the knowledge in an entry comes from."""

    SEEN = "seen"
    TOLD = "told"
    INFERRED = "inferred"


class MemoryEntry(NamedTuple):
    """One remembered experience. Entries never change: a repeated one is replaced by one that counts more."""

    number: int  # ascending from 1, never given twice
    kind: EntryKind
    tick: int  # of the last time
    text: str
    importance: float  # 0 to 1
    about: tuple[str, ...] = ()  # ids of people and things
    place: str = ""
    told_by: str = ""  # id of the speaker from whom it was heard
    evidence: tuple[int, ...] = ()  # numbers of the entries that it follows from
    times: int = 1  # that it was experienced
    first_tick: int = 0

    @property
    def source(self) -> Source:
        """Where the knowledge comes from."""
        if self.evidence:
            return Source.INFERRED
        return Source.TOLD if self.told_by else Source.SEEN
