"""Figures of a world server."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tickmind.protocol import Reason


class DurationHistogram:
    """Counts durations in equal steps, for quantiles within one step."""

    __slots__ = ("_bins", "_step_s", "most_s", "total_s")

    def __init__(self, step_s: float = 0.0005, longest_s: float = 2.0) -> None:
        self._step_s = step_s
        # a list, because incrementing its items is much cheaper than an array's; the last item counts all above
        self._bins = [0] * (round(longest_s / step_s) + 1)
        self.most_s = 0.0
        self.total_s = 0.0

    def __len__(self) -> int:
        return sum(self._bins)

    def add(self, duration_s: float, count: int = 1) -> None:
        """Count a duration, `count` times."""
        place = min(int(max(duration_s, 0.0) / self._step_s), len(self._bins) - 1)
        self._bins[place] += count
        self.total_s += duration_s * count
        self.most_s = max(self.most_s, duration_s)

    def quantile(self, part: float) -> float:
        """Return the duration that this part of all did not exceed; 0 if there is none."""
        seen = np.cumsum(self._bins)
        if not seen[-1]:
            return 0.0
        place = int(np.searchsorted(seen, part * seen[-1]))
        return min((place + 1) * self._step_s, self.most_s) if place < len(self._bins) - 1 else self.most_s

    def buckets(self, bounds_s: tuple[float, ...]) -> list[int]:
        """Return how many lie up to each bound, and how many above all, each counted once."""
        edges = [0, *(round(bound / self._step_s) for bound in bounds_s), len(self._bins)]
        assert edges[-2] < edges[-1], "bounds lie within the counted range"
        return [sum(self._bins[low:high]) for low, high in pairwise(edges)]


@dataclass(slots=True)
class TickTally:
    """Counters of a running server."""

    ticks: int = 0
    overruns: int = 0
    late_s: float = 0.0  # total delay by overruns
    late_most_s: float = 0.0
    accepted: int = 0
    refused: Counter[Reason] = field(default_factory=Counter)
    calls_refused: int = 0
    jitter: DurationHistogram = field(default_factory=lambda: DurationHistogram(0.0001, 1.0))  # how late ticks began
    answers: DurationHistogram = field(default_factory=DurationHistogram)  # from the start of a tick to its intents
    steps: DurationHistogram = field(default_factory=DurationHistogram)
    keeps: DurationHistogram = field(default_factory=DurationHistogram)
    prepares: DurationHistogram = field(default_factory=DurationHistogram)


@dataclass(frozen=True, slots=True)
class ServerStatistics:
    """The figures of a world server. Durations that end in `_ms` are in milliseconds."""

    tick_id: int
    ticks: int
    overruns: int
    overrun_ms: float
    overrun_most_ms: float
    jitter_p50_ms: float
    jitter_p99_ms: float
    jitter_most_ms: float
    answers_p50_ms: float
    answers_p99_ms: float
    step_p50_ms: float
    keep_p50_ms: float
    prepare_p50_ms: float
    actors: int
    controlled: int
    leases: int
    accepted: int
    refused: Mapping[Reason, int]
    streams: Mapping[str, int]
    streams_cut: int
    unread_bytes: int
    calls_refused: int  # plain ones, because too many waited

    @property
    def late_intents(self) -> int:
        """Intents that came after their tick was over."""
        return self.refused.get(Reason.LATE_TICK, 0)
