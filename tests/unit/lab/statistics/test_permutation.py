"""Permutation tests: exact values, scipy's, and how often they reject what is chance."""

import itertools

import numpy as np
import pytest
from scipy import stats

from tickmind.lab.statistics import holm, paired_permutation_p


def test_five_runs_that_are_all_better_have_the_least_p_that_five_can_have():
    assert paired_permutation_p(np.array([1.0, 2.0, 0.5, 3.0, 1.5]), np.random.default_rng(1)) == 2 / 32


def test_no_difference_at_all_has_a_p_of_one():
    assert paired_permutation_p(np.zeros(6), np.random.default_rng(1)) == 1.0
    assert paired_permutation_p(np.array([]), np.random.default_rng(1)) is None


@pytest.mark.parametrize("seed", range(5))
def test_an_exact_test_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(0.5, 1, 9), rng.normal(0, 1, 9)
    p = stats.permutation_test(
        (ours, theirs),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    ).pvalue
    assert paired_permutation_p(ours - theirs, rng) == pytest.approx(p)


def test_a_drawn_test_is_close_to_an_exact_one():
    differences = np.random.default_rng(2).normal(0.45, 1, 17)
    signs = np.array(list(itertools.product((-1, 1), repeat=17)))
    exact = np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9)
    assert paired_permutation_p(differences, np.random.default_rng(3)) == pytest.approx(exact, abs=0.01)


def test_holm_corrects_as_in_its_paper():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, None, 0.8]) == [1.0, None, 1.0]
    assert holm([]) == []


def test_equal_conditions_are_told_apart_in_five_percent_of_sweeps():
    rng = np.random.default_rng(21)
    found = [paired_permutation_p(rng.normal(0, 1, 10) - rng.normal(0, 1, 10), rng) for _ in range(400)]
    assert 0.03 <= sum(p is not None and p <= 0.05 for p in found) / len(found) <= 0.07


def test_many_comparisons_of_equal_conditions_find_one_in_five_percent_of_sweeps():
    rng = np.random.default_rng(22)
    sweeps = []
    for _ in range(200):
        found = holm([paired_permutation_p(rng.normal(0, 1, 10), rng) for _ in range(4)])
        sweeps.append(any(p is not None and p <= 0.05 for p in found))
    assert sum(sweeps) / len(sweeps) <= 0.07
