"""The sync policy: how soon written data must be on disk."""

import math
from dataclasses import dataclass
from typing import ClassVar

from tickmind.base import ConfigError


@dataclass(frozen=True, slots=True)
class SyncPolicy:
    """When to sync. `EVERY_TICK` never loses a published tick. Others are faster on a slow disk.

    `SyncPolicy(500)` syncs once in 500 ms, so that a crash of the machine may lose that much; a crash of the process
    alone loses nothing under any policy. `NEVER` leaves it to the operating system.
    """

    interval_ms: float = 0.0

    EVERY_TICK: ClassVar["SyncPolicy"]
    NEVER: ClassVar["SyncPolicy"]

    @classmethod
    def parse(cls, text: str) -> "SyncPolicy":
        """Parse `every-tick`, `never`, or a number of milliseconds; raises `ConfigError`."""
        if text == "every-tick":
            return cls.EVERY_TICK
        if text == "never":
            return cls.NEVER
        try:
            interval_ms = float(text)
        except ValueError:
            interval_ms = -1.0
        if not 0 <= interval_ms < math.inf:
            raise ConfigError(f"sync can't be {text[:40]!r}: use every-tick, never, or a number of milliseconds")
        return cls(interval_ms)

    @property
    def never(self) -> bool:
        """Whether the log never waits for the disk."""
        return self.interval_ms == math.inf


SyncPolicy.EVERY_TICK = SyncPolicy(0.0)
SyncPolicy.NEVER = SyncPolicy(math.inf)
