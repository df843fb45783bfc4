"""Effect sizes and components of variance, by known values."""

import numpy as np
import pytest

from tickmind.lab.statistics import VarianceParts, cliffs_delta, cohens_d, paired_d, variance_parts


def test_cohens_d_is_the_difference_by_the_pooled_deviation():
    assert cohens_d(np.array([2.0, 4, 6]), np.array([1.0, 3, 5])) == pytest.approx(0.5)
    assert cohens_d(np.array([1.0, 1]), np.array([2.0, 2])) is None
    assert cohens_d(np.array([1.0]), np.array([2.0])) is None


def test_the_effect_of_pairs_goes_by_the_deviation_of_their_differences():
    assert paired_d(np.array([1.0, 2, 3])) == pytest.approx(2.0)
    assert paired_d(np.array([1.0])) is None
    assert paired_d(np.array([0.1 + 0.2, 0.3])) is None, "rounding is no deviation"


def test_cliffs_delta_counts_who_is_above_whom():
    assert cliffs_delta(np.array([3.0, 4]), np.array([1.0, 2])) == 1.0
    assert cliffs_delta(np.array([1.0, 2]), np.array([1.0, 2])) == 0.0
    assert cliffs_delta(np.array([1.0, 2, 3]), np.array([2.0])) == 0.0
    assert cliffs_delta(np.array([]), np.array([2.0])) is None


def test_variance_is_that_between_seeds_where_none_is_repeated():
    assert variance_parts({1: [1.0], 2: [3.0]}) == VarianceParts(2.0, None)
    assert variance_parts({1: [1.0, 2.0]}) is None


def test_planted_components_of_variance_are_found():
    rng = np.random.default_rng(4)
    by_seed = {seed: (centre + rng.normal(0, 1, 6)).tolist() for seed, centre in enumerate(rng.normal(0, 2, 400))}
    parts = variance_parts(by_seed)
    assert parts is not None
    assert parts.seeds == pytest.approx(4, rel=0.15)
    assert parts.replies == pytest.approx(1, rel=0.1)


def test_a_component_is_never_negative():
    assert variance_parts({1: [0.0, 2.0], 2: [2.0, 0.0]}) == VarianceParts(0.0, 2.0)
