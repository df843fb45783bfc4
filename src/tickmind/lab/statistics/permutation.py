"""Permutation tests of paired runs, and Holm's correction for many of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_EXACT: Final = 16  # pairs of which all signs are tried
DRAWN: Final = 19_999  # signs that are drawn for more pairs
_CHUNK: Final = 2_000_000  # signs that are drawn at once
_SLACK: Final = 1e-9  # relative; sums of the same values in another order differ by rounding


def paired_permutation_p(differences: "NDArray[np.float64]", rng: np.random.Generator) -> float | None:
    """Return the two-sided p-value of paired differences if either sign was as likely; None without any pair.

    All signs are tried for up to `MOST_EXACT` pairs; for more, `DRAWN` are drawn, and the observed ones count as one
    of them, so that the test holds its level.
    """
    count = len(differences)
    if not count:
        return None
    sizes = np.abs(differences)
    observed = abs(float(differences.sum()))
    least = observed - _SLACK * max(float(sizes.sum()), observed)
    if count <= MOST_EXACT:
        numbers = np.arange(2**count, dtype=np.int64)
        sums = np.zeros(2**count)
        for place, size in enumerate(sizes.tolist()):
            sums += np.where(numbers >> place & 1, size, -size)
        return int(np.count_nonzero(np.abs(sums) >= least)) / float(2**count)
    extreme = 1
    at_once = max(1, _CHUNK // count)
    for first in range(0, DRAWN, at_once):
        drawn = rng.integers(0, 2, (min(at_once, DRAWN - first), count), dtype=np.int8)
        extreme += int(np.count_nonzero(np.abs((2 * drawn - 1) @ sizes) >= least))
    return extreme / (DRAWN + 1)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected for their number (Holm 1979); tests without one stay without, and do not count."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        corrected[place] = highest
    return corrected
