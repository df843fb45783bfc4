"""Doubles for tests of records: a disk that crashes, tears and fills up on demand, and random ticks."""

from tickmind.record.testing.memory_disk import CrashedError, MemoryDisk
from tickmind.record.testing.random_run import RandomRun, differences

__all__ = ["CrashedError", "MemoryDisk", "RandomRun", "differences"]
