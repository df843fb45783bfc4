"""Components of variance: how much runs differ by their seed, and how much with the same seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class VarianceParts:
    """The variance between seeds and that between repeats of a seed, whose models replied otherwise."""

    seeds: float
    replies: float | None  # None: no seed was repeated


def variance_parts(by_seed: Mapping[int, Sequence[float]]) -> VarianceParts | None:
    """Return the components of a one-way layout with random effects; None for fewer than two seeds.

    Without repeats all of the variance is that between seeds. The estimate is that of the analysis of variance, with
    its correction for seeds of unequal numbers of repeats; it is 0 where it would be negative.
    """
    groups = [np.asarray(values, dtype=np.float64) for values in by_seed.values() if len(values)]
    if len(groups) < 2:
        return None
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    means = np.array([group.mean() for group in groups])
    total = float(sizes.sum())
    free = total - len(groups)
    if not free:
        return VarianceParts(float(means.var(ddof=1)), None)
    within = float(sum(((group - group.mean()) ** 2).sum() for group in groups)) / free
    grand = float((sizes * means).sum()) / total
    between = float((sizes * (means - grand) ** 2).sum()) / (len(groups) - 1)
    typical = (total - float((sizes**2).sum()) / total) / (len(groups) - 1)
    return VarianceParts(max(0.0, (between - within) / typical), within)
