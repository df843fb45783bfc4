"""How soon what is written has to be on disk."""

import math
from dataclasses import dataclass
from typing import ClassVar

from tickmind.base import ConfigError


@dataclass(frozen=True, slots=True)
class SyncPolicy:
    """`EVERY_TICK` loses no published tick, whatever happens. Others are quicker on a slow disk.

    `SyncPolicy(500)` waits for the disk once in 500 ms, so that a crash of the machine may lose as much; a crash of
    the process alone loses nothing under any policy. `NEVER` leaves it to the operating system.
    """

    interval_ms: float = 0.0

    EVERY_TICK: ClassVar["SyncPolicy"]
    NEVER: ClassVar["SyncPolicy"]

    @classmethod
    def parse(cls, text: str) -> "SyncPolicy":
        """Read `every-tick`, `never`, or a number of milliseconds."""
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
        """Whether nobody waits for the disk."""
        return self.interval_ms == math.inf


SyncPolicy.EVERY_TICK = SyncPolicy(0.0)
SyncPolicy.NEVER = SyncPolicy(math.inf)
