"""Histograms of durations in logarithmic buckets: constant memory, exact enough for percentiles."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

_STEPS = 44
BOUNDS_S: tuple[float, ...] = tuple(0.00025 * 2 ** (step / 2) for step in range(_STEPS))  # 0.25 ms to 12 minutes

_bucket_of = partial(bisect_left, BOUNDS_S)


@dataclass(frozen=True, slots=True)
class HistogramSnapshot:
    """Counts per bucket (the last bucket is everything above the last bound), with total count and sum."""

    counts: tuple[int, ...] = (0,) * (_STEPS + 1)
    count: int = 0
    sum_s: float = 0.0
    max_s: float = 0.0

    @property
    def mean_s(self) -> float:
        """Return the average; 0 if empty."""
        return self.sum_s / self.count if self.count else 0.0

    def percentile_s(self, percent: float) -> float:
        """Return the duration that this percentage stays within, up to a bucket (a factor of 1.42); 0 if empty."""
        wanted = self.count * percent / 100
        seen = 0
        for bound_s, number in zip(BOUNDS_S, self.counts, strict=False):
            seen += number
            if number and seen >= wanted:
                return min(bound_s, self.max_s)
        return self.max_s

    def since(self, earlier: "HistogramSnapshot") -> "HistogramSnapshot":
        """Return what came after an earlier snapshot; the maximum stays that of the whole time."""
        counts = tuple(now - then for now, then in zip(self.counts, earlier.counts, strict=True))
        return HistogramSnapshot(counts, self.count - earlier.count, self.sum_s - earlier.sum_s, self.max_s)


@dataclass(frozen=True, slots=True)
class BucketedDurations:
    """Durations sorted into buckets once, to be added to several histograms."""

    counts: tuple[tuple[int, int], ...]  # (bucket, how many)
    count: int
    sum_s: float
    max_s: float

    @classmethod
    def of(cls, durations_s: Sequence[float]) -> "BucketedDurations":
        """Sort durations (at least one) into buckets; each costs a binary search among 44 bounds."""
        counts = tuple(Counter(map(_bucket_of, durations_s)).items())
        return cls(counts, len(durations_s), sum(durations_s), max(durations_s))


class Histogram:
    """Counts durations in buckets."""

    __slots__ = ("_count", "_counts", "_max_s", "_sum_s")

    def __init__(self) -> None:
        self._counts = [0] * (_STEPS + 1)
        self._count = 0
        self._sum_s = 0.0
        self._max_s = 0.0

    def add(self, durations: BucketedDurations) -> None:
        """Count them."""
        counts = self._counts
        for bucket, number in durations.counts:
            counts[bucket] += number
        self._count += durations.count
        self._sum_s += durations.sum_s
        self._max_s = max(self._max_s, durations.max_s)

    def merge(self, other: HistogramSnapshot) -> None:
        """Add the counts of another histogram."""
        self._counts = [mine + its for mine, its in zip(self._counts, other.counts, strict=True)]
        self._count += other.count
        self._sum_s += other.sum_s
        self._max_s = max(self._max_s, other.max_s)

    def snapshot(self) -> HistogramSnapshot:
        """Return the counts so far."""
        return HistogramSnapshot(tuple(self._counts), self._count, self._sum_s, self._max_s)
