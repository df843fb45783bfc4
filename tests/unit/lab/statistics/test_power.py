"""Power: beside the noncentral t of scipy, and beside how often planted effects are found."""

import numpy as np
import pytest
from scipy import stats

from tickmind.base import ConfigError
from tickmind.lab.statistics import paired_permutation_p, paired_power, seeds_needed


@pytest.mark.parametrize(
    ("seeds", "effect", "level"), [(13, 1.0, 0.05), (20, 0.5, 0.05), (60, 0.3, 0.01), (200, 0.1, 0.05)]
)
def test_power_is_that_of_the_noncentral_t(seeds, effect, level):
    free, shift = seeds - 1, effect * seeds**0.5
    bound = stats.t.ppf(1 - level / 2, free)
    expected = stats.nct.sf(bound, free, shift) + stats.nct.cdf(-bound, free, shift)
    assert paired_power(seeds, effect, 1.0, level=level) == pytest.approx(expected, abs=0.002)


def test_without_an_effect_the_power_is_the_level():
    assert paired_power(30, 0.0, 1.0) == pytest.approx(0.05, abs=0.001)


def test_a_planted_effect_is_found_as_often_as_foretold():
    rng = np.random.default_rng(31)
    seeds = seeds_needed(1.0, 1.0)
    found = [paired_permutation_p(rng.normal(1, 1, seeds), rng) for _ in range(600)]
    share = sum(p is not None and p <= 0.05 for p in found) / len(found)
    assert share == pytest.approx(paired_power(seeds, 1.0, 1.0), abs=0.05)


@pytest.mark.parametrize(("seeds", "effect", "level"), [(6, 1.43, 0.05), (8, 1.53, 0.0125), (12, 0.9, 0.05)])
def test_with_few_seeds_the_power_is_that_of_the_permutation_test(seeds, effect, level):
    rng = np.random.default_rng(7)
    found = [paired_permutation_p(rng.normal(effect, 1, seeds), rng) for _ in range(600)]
    share = sum(p is not None and p <= level for p in found) / len(found)
    assert paired_power(seeds, effect, 1.0, level=level) == pytest.approx(share, abs=0.06)


def test_the_least_number_of_seeds_is_found():
    seeds = seeds_needed(0.5, 1.0)
    assert paired_power(seeds, 0.5, 1.0) >= 0.8 > paired_power(seeds - 1, 0.5, 1.0)
    assert seeds_needed(0.5, 1.0, level=0.01) > seeds


def test_so_few_seeds_that_no_test_can_reject_have_no_power():
    assert paired_power(5, 100.0, 1.0) == 0.0
    assert seeds_needed(100.0, 1.0) == 6
    assert seeds_needed(1.0, 0.0) == 6


def test_an_effect_of_nothing_and_one_that_is_too_small_are_refused():
    with pytest.raises(ConfigError, match="never found"):
        seeds_needed(0.0, 1.0)
    with pytest.raises(ConfigError, match="never found"):
        seeds_needed(float("nan"), 1.0)
    with pytest.raises(ConfigError, match=r"more than 100,000 seeds"):
        seeds_needed(1e-6, 1.0)
