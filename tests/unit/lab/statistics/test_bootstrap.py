"""Bootstrap intervals beside those of scipy."""

import numpy as np
import pytest
from scipy import stats

from tickmind.lab.statistics import bootstrap_bands, bootstrap_interval

SAMPLES = {
    "normal": np.random.default_rng(1).normal(3, 2, 20),
    "skewed": np.random.default_rng(2).exponential(1, 15),
    "few": np.random.default_rng(6).gamma(2, 1, 8),
    "shares": np.random.default_rng(3).integers(0, 4, 30) / 12,
}


@pytest.mark.parametrize("values", SAMPLES.values(), ids=SAMPLES)
def test_an_interval_is_that_of_scipy(values):
    ours = bootstrap_interval(values, np.random.default_rng(4), resamples=40_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=40_000, method="BCa", rng=np.random.default_rng(5)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours is not None
    assert ours.mean == pytest.approx(values.mean())
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.04 * width)


def test_an_interval_repeats_with_its_seed():
    first, again = (bootstrap_interval(SAMPLES["few"], np.random.default_rng(7)) for _ in range(2))
    assert first == again
    assert first != bootstrap_interval(SAMPLES["few"], np.random.default_rng(8))


def test_equal_values_have_an_interval_without_width_and_one_value_has_none():
    same = bootstrap_interval(np.full(4, 2.5), np.random.default_rng(1))
    assert same is not None
    assert (same.low, same.mean, same.high) == (2.5, 2.5, 2.5)
    assert bootstrap_interval(np.array([1.0]), np.random.default_rng(1)) is None
    assert bootstrap_interval(np.array([]), np.random.default_rng(1)) is None


def test_an_interval_holds_the_mean_in_about_as_many_cases_as_it_says():
    rng = np.random.default_rng(11)
    found = [bootstrap_interval(rng.normal(0, 1, 20), rng, resamples=400) for _ in range(300)]
    share = sum(one is not None and one.low <= 0 <= one.high for one in found) / len(found)
    assert 0.89 <= share <= 0.98


def test_a_band_lies_around_the_mean_curve_and_is_wider_where_runs_differ():
    rng = np.random.default_rng(12)
    curves = rng.normal(0, 1, (20, 30)) * np.linspace(0.1, 3, 30)
    low, high = bootstrap_bands(curves, rng)
    assert np.all((low <= curves.mean(axis=0)) & (curves.mean(axis=0) <= high))
    assert (high - low)[-5:].mean() > 4 * (high - low)[:5].mean()
