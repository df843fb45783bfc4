"""What a mind remembers: typed entries with sources, retrieval, and a budget."""

from tickmind.mind.memory.entries import EntryKind, MemoryEntry, Source
from tickmind.mind.memory.held import HeldNumbers
from tickmind.mind.memory.memory import Memory
from tickmind.mind.memory.retrieval import Recalled, Weights

__all__ = ["EntryKind", "HeldNumbers", "Memory", "MemoryEntry", "Recalled", "Source", "Weights"]
