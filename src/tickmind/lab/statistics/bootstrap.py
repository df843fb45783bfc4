"""Bootstrap intervals of a mean: bias-corrected and accelerated (BCa, Efron 1987)."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES: Final = 9999
CONFIDENCE: Final = 0.95
_CHUNK: Final = 2_000_000  # values that are drawn at once
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class BootstrapInterval:
    """A mean with its interval."""

    mean: float
    low: float
    high: float


def bootstrap_interval(
    values: "NDArray[np.float64]",
    rng: np.random.Generator,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> BootstrapInterval | None:
    """Return the mean of some runs with its BCa interval; None for fewer than two runs, which have no interval.

    Values that are all equal give an interval of no width.
    """
    count = len(values)
    if count < 2:
        return None
    mean = float(values.mean())
    if values.min() == values.max():
        return BootstrapInterval(mean, mean, mean)
    means = _resampled_means(values[:, None], rng, resamples)[:, 0]
    low, high = (float(np.quantile(means, share)) for share in _bca_shares(values, mean, means, confidence))
    return BootstrapInterval(mean, low, high)


def bootstrap_bands(
    curves: "NDArray[np.float64]",
    rng: np.random.Generator,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = 999,
) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Return the pointwise percentile band of the mean of some curves, runs x points."""
    means = _resampled_means(curves, rng, resamples)
    tail = (1 - confidence) / 2
    return np.quantile(means, tail, axis=0), np.quantile(means, 1 - tail, axis=0)


def _resampled_means(values: "NDArray[np.float64]", rng: np.random.Generator, resamples: int) -> "NDArray[np.float64]":
    """Return the means of resampled runs, resamples x points; all points of a run are drawn together."""
    count, points = values.shape
    at_once = max(1, _CHUNK // (count * points))
    parts = []
    for first in range(0, resamples, at_once):
        drawn = rng.integers(0, count, (min(at_once, resamples - first), count))
        parts.append(values[drawn].mean(axis=1))
    return np.concatenate(parts)


def _bca_shares(
    values: "NDArray[np.float64]", mean: float, means: "NDArray[np.float64]", confidence: float
) -> tuple[float, float]:
    """Return which shares of the resampled means are below the ends of the interval."""
    # Means that are equal to the estimate count half.
    below = (np.count_nonzero(means < mean) + np.count_nonzero(means <= mean)) / (2 * len(means))
    bias = _NORMAL.inv_cdf(min(max(below, 0.5 / len(means)), 1 - 0.5 / len(means)))
    left_out = mean - (mean * len(values) - values) / (len(values) - 1)  # how each run pulls the mean
    spread = float((left_out**2).sum())
    acceleration = float((left_out**3).sum()) / (6 * spread**1.5)
    tail = (1 - confidence) / 2
    return _share(bias, acceleration, tail), _share(bias, acceleration, 1 - tail)


def _share(bias: float, acceleration: float, tail: float) -> float:
    point = bias + _NORMAL.inv_cdf(tail)
    divisor = 1 - acceleration * point
    # Past the pole of the formula, which few very skewed runs reach, the end is that of the resampled means.
    return _NORMAL.cdf(bias + point / divisor) if divisor > 0 else _NORMAL.cdf(math.copysign(math.inf, point))
