"""Effect sizes: how large a difference is, beside whether it is chance."""

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NO_SPREAD: Final = 1e-12  # of a deviation by its values, which is rounding only


def cohens_d(treated: "NDArray[np.float64]", baseline: "NDArray[np.float64]") -> float | None:
    """Return the difference of the means by the pooled standard deviation; None if that is 0 or unknown."""
    free = len(treated) + len(baseline) - 2
    if free < 1 or min(len(treated), len(baseline)) < 1:
        return None
    squares = ((treated - treated.mean()) ** 2).sum() + ((baseline - baseline.mean()) ** 2).sum()
    pooled = math.sqrt(float(squares) / free)
    largest = max(float(np.abs(treated).max()), float(np.abs(baseline).max()))
    return float(treated.mean() - baseline.mean()) / pooled if pooled > _NO_SPREAD * largest else None


def paired_d(differences: "NDArray[np.float64]") -> float | None:
    """Return the mean difference of pairs by the standard deviation of the differences (d_z); None if that is 0."""
    if len(differences) < 2:
        return None
    deviation = float(differences.std(ddof=1))
    largest = float(np.abs(differences).max())
    return float(differences.mean()) / deviation if deviation > _NO_SPREAD * largest else None


def cliffs_delta(treated: "NDArray[np.float64]", baseline: "NDArray[np.float64]") -> float | None:
    """Return how much more often a treated run is above a run of the baseline than below it, from -1 to 1."""
    if not len(treated) or not len(baseline):
        return None
    ordered = np.sort(baseline)
    below = np.searchsorted(ordered, treated, side="left").sum()
    above = (len(baseline) - np.searchsorted(ordered, treated, side="right")).sum()
    return float(below - above) / (len(treated) * len(baseline))
