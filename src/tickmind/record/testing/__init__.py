"""For tests of whatever keeps a record: a disk that crashes, tears and fills up when told to, and ticks to keep."""

from tickmind.record.testing.memory_disk import CrashedError, MemoryDisk
from tickmind.record.testing.random_run import RandomRun, differences

__all__ = ["CrashedError", "MemoryDisk", "RandomRun", "differences"]
