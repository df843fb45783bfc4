"""What a mind remembers: typed entries with sources, retrieval, and a budget."""

from tickmind.mind.memory.entries import EntryKind, MemoryEntry, Source
from tickmind.mind.memory.memory import Memory
from tickmind.mind.memory.retrieval import Recalled, Weights

__all__ = ["EntryKind", "Memory", "MemoryEntry", "Recalled", "Source", "Weights"]
