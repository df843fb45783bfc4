"""Power of a paired comparison: how often so many seeds find an effect, and how many seeds it takes."""

import math
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from tickmind.base import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SEEDS: Final = 100_000
LEVEL: Final = 0.05
POWER: Final = 0.8
_MOST_TRIED: Final = 12  # seeds
_TRIED: Final = 2000  # times; also the seed of the draws
_POINTS: Final = 2001  # of the numeric integral
_REACH: Final = 9.0  # standard deviations on both sides that it covers


def paired_power(seeds: int, effect: float, deviation: float, *, level: float = LEVEL) -> float:
    """Return how likely a two-sided test of paired runs finds a mean difference of `effect`.

    `deviation` is the standard deviation of the differences. It is the power of the t-test, which that of the
    permutation test follows closely except with few seeds, where few p-values are possible: for those the permutation
    test itself is tried on drawn differences. With so few seeds that no permutation is rare enough, it is 0.
    """
    if seeds < 2 or 2.0 ** (1 - seeds) > level:
        return 0.0
    if deviation == 0:
        return 1.0 if effect else 0.0
    if seeds <= _MOST_TRIED:
        return _tried_power(seeds, abs(effect) / deviation, level)
    shift = abs(effect) / deviation * math.sqrt(seeds)
    bound = _t_bound(seeds - 1, level)
    return _beyond(bound, shift, seeds - 1) + _beyond(bound, -shift, seeds - 1)


def seeds_needed(effect: float, deviation: float, *, power: float = POWER, level: float = LEVEL) -> int:
    """Return the least number of seeds with that power. Raises `ConfigError` if it is beyond `MOST_SEEDS`."""
    if not effect or not math.isfinite(effect):
        raise ConfigError(f"an effect of {effect:g} is never found; give the smallest difference that would matter")
    low, high = 1, 2
    while paired_power(high, effect, deviation, level=level) < power:
        low, high = high, high * 2
        if high > MOST_SEEDS:
            raise ConfigError(
                f"an effect of {effect:g} needs more than {MOST_SEEDS:,} seeds: seeds differ by {deviation:.3g}; "
                "look for a larger effect, or for a measure that varies less"
            )
    while high - low > 1:
        middle = (low + high) // 2
        if paired_power(middle, effect, deviation, level=level) < power:
            low = middle
        else:
            high = middle
    return high


def _tried_power(seeds: int, effect: float, level: float) -> float:
    """Return in which share of drawn differences the permutation test over all signs finds an effect."""
    drawn = np.random.default_rng(_TRIED).normal(effect, 1.0, (_TRIED, _MOST_TRIED))[:, :seeds]
    # Half of all signs: the others are those with each sign turned round, and give the same sums.
    signs = 1.0 - 2.0 * (np.arange(2 ** (seeds - 1))[:, None] >> np.arange(seeds) & 1)
    least = np.abs(drawn.sum(axis=1)) * (1 - 1e-9)
    extreme = np.count_nonzero(np.abs(np.abs(drawn) @ signs.T) >= least[:, None], axis=1)
    return float(np.mean(extreme <= level * len(signs)))


@cache
def _t_bound(free: int, level: float) -> float:
    """Return the value that Student's t exceeds in half of the level's cases."""
    low, high = 0.0, 2.0
    while _beyond(high, 0.0, free) > level / 2:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if _beyond(middle, 0.0, free) > level / 2:
            low = middle
        else:
            high = middle
    return high


def _beyond(bound: float, shift: float, free: int) -> float:
    """Return how likely the noncentral t with that shift is above a bound: the mean over the estimated deviation."""
    roots, weights = _deviations(free)
    upper = (shift - bound * roots) / math.sqrt(2)
    return float(sum(weight * 0.5 * math.erfc(-one) for one, weight in zip(upper.tolist(), weights, strict=True)))


@cache
def _deviations(free: int) -> "tuple[NDArray[np.float64], list[float]]":
    """Return estimated standard deviations of a standard normal, with how likely each is (chi by its root of n)."""
    spread = 1 / math.sqrt(2 * free)
    least = max(1e-9, 1 - _REACH * spread)
    roots = np.linspace(least, 1 + _REACH * spread + 3 / free, _POINTS)
    logs = (free - 1) * np.log(roots) - free * roots**2 / 2
    density = np.exp(logs - logs.max())
    return roots, (density / density.sum()).tolist()
