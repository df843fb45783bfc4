"""For tests of whatever keeps a record: a disk that crashes, tears and fills up when told to."""

from tickmind.record.testing.memory_disk import CrashedError, MemoryDisk

__all__ = ["CrashedError", "MemoryDisk"]
