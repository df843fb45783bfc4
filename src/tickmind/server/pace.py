"""The pace of ticks. The grid of starts never drifts; only an overrun moves it, and is reported."""

from dataclasses import dataclass, replace

from tickmind.base import ConfigError
from tickmind.protocol import WorldInfo
from tickmind.wire.messages.limits import MAX_DURATION_MS

MAX_TPS = 1000.0
MAX_SPEED = 10_000.0


@dataclass(frozen=True, slots=True)
class TickPace:
    """How long a tick takes, and how much of it is for intents. `lockstep` waits for intents instead of the clock.

    In lockstep a tick is resolved as soon as every controlled actor has an intent, and all of `awaited` that are in
    the world are controlled; without `awaited`, at least `controllers` of them, less those that are away. A controller
    that dies delays it until its lease expires.
    """

    tick_s: float = 1.0
    deadline_s: float = 0.5
    lockstep: bool = False
    controllers: int = 1
    awaited: frozenset[str] | None = None  # ids of the actors that have agents, if that is known

    def __post_init__(self) -> None:
        if not 0 < self.deadline_s <= self.tick_s:
            raise ConfigError(f"the deadline must lie within the tick of {self.tick_s} s, not at {self.deadline_s} s")
        if self.controllers < 1:
            raise ConfigError(f"lockstep needs at least 1 controller, not {self.controllers}")

    @classmethod
    def of(
        cls,
        tick_ms: float,
        deadline_ms: float,
        *,
        tps: float | None = None,
        speed: float = 1.0,
        lockstep: bool = False,
        controllers: int = 1,
    ) -> "TickPace":
        """Return the pace of a world with these rules; `tps` and `speed` scale both times."""
        if tps is not None and not 0 < tps <= MAX_TPS:
            raise ConfigError(f"ticks per second must be more than 0 and at most {MAX_TPS:g}, not {tps:g}")
        if not 0 < speed <= MAX_SPEED:
            raise ConfigError(f"the speed must be more than 0 and at most {MAX_SPEED:g}, not {speed:g}")
        tick_s = (1 / tps if tps is not None else tick_ms / 1000) / speed
        return cls(tick_s, tick_s * min(deadline_ms / tick_ms, 1.0), lockstep, controllers)

    @property
    def tick_ms(self) -> int:
        """The time of a tick in whole milliseconds, at least 1."""
        return max(1, round(self.tick_s * 1000))

    @property
    def deadline_ms(self) -> int:
        """The time for intents in whole milliseconds, at least 1; in lockstep the longest possible value."""
        return int(MAX_DURATION_MS.maximum) if self.lockstep else max(1, round(self.deadline_s * 1000))

    def state_in(self, info: WorldInfo) -> WorldInfo:
        """Return a world's description with the times of this pace; in lockstep the rules' own times stay."""
        if self.lockstep:
            return info
        return replace(info, tick_duration_ms=self.tick_ms, intent_deadline_ms=self.deadline_ms)


@dataclass(frozen=True, slots=True)
class Overrun:
    """A tick was not done when the next one was due; all later ticks are delayed by that much."""

    late_s: float


class TickSchedule:
    """Plans the starts of ticks on a grid. No tick is skipped or cut short: an overrun shifts the grid."""

    __slots__ = ("_anchor_s", "_number", "_period_s")

    def __init__(self, period_s: float, now_s: float) -> None:
        self._period_s = period_s
        self._anchor_s = now_s
        self._number = 0  # ticks since the anchor

    @property
    def start_s(self) -> float:
        """When the current or next tick begins."""
        return self._anchor_s + self._number * self._period_s

    @property
    def next_s(self) -> float:
        """When the tick after that begins."""
        return self._anchor_s + (self._number + 1) * self._period_s

    def finish(self, now_s: float) -> Overrun | None:
        """End a tick. If the next one is due already, it begins now, and the grid shifts."""
        self._number += 1
        late_s = now_s - self.start_s
        if late_s <= 0:
            return None
        self._anchor_s, self._number = now_s, 0
        return Overrun(late_s)
