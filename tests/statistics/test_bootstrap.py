"""Resamples: those of the documented stream, with exact means."""

from __future__ import annotations

import numpy as np
import pytest
import statistics_reference as reference
from scipy.stats import binom, poisson

from gradeval.statistics.bootstrap import poisson_thresholds, resampled_means
from gradeval.statistics.sampling import Sampling


@pytest.mark.parametrize(("n", "restarted"), [(2, 0), (9, 0), (17, 0), (50, 0), (200, 1)])
def test_resamples_are_those_of_the_documented_stream(n: int, restarted: int) -> None:
    values = np.random.default_rng(n).integers(-100, 100, (n, 2)) / 64
    means = resampled_means(values, Sampling(100, seed=33))
    assert means.shape == (100, 2)
    for column, own in zip(values.T, means.T, strict=True):
        assert (own.tolist(), restarted) == reference.resampled_means(column.tolist(), 100, 33)


def test_blocks_and_threads_change_nothing() -> None:
    values = np.random.default_rng(3).normal(size=(3000, 2))  # 43 resamples a block
    one = resampled_means(values, Sampling(200))
    assert np.array_equal(resampled_means(values, Sampling(200, jobs=3)), one)
    assert np.array_equal(resampled_means(values, Sampling(86)), one[:86])
    assert np.array_equal(resampled_means(values[:, 1:], Sampling(200)), one[:, 1:])
    means, _ = reference.resampled_means(values[:, 0].tolist(), 25, 1)
    assert resampled_means(values, Sampling(25))[:, 0].tolist() == means


@pytest.mark.parametrize("n", [7, 40])
def test_each_query_is_drawn_equally_often(n: int) -> None:
    """The counts have the variance and covariance of a multinomial distribution, and each is binomial."""
    samples = 20_000
    drawn = resampled_means(np.eye(n), Sampling(samples)) * n  # how often each query is in each resample
    assert np.allclose(drawn.sum(axis=1), n)
    expected = samples * (1 - 1 / n)  # the variance of the count of all draws
    assert np.abs(drawn.sum(axis=0) - samples).max() < 5 * np.sqrt(expected)
    covariance = np.cov(drawn.T)
    assert covariance == pytest.approx(np.eye(n) - 1 / n, abs=0.06)
    for count in range(5):
        share = float(binom.pmf(count, n, 1 / n))
        error = 4 * np.sqrt(share * (1 - share) / samples / n)
        assert (np.rint(drawn) == count).mean() == pytest.approx(share, abs=error)


@pytest.mark.parametrize("mean", [0.0, 0.3, 1 - 3 / np.sqrt(7000)])
def test_thresholds_are_of_the_poisson_distribution(mean: float) -> None:
    found = poisson_thresholds(mean)
    assert found.tolist() == reference.poisson_thresholds(mean)
    assert found / 2**48 == pytest.approx(poisson.cdf(np.arange(len(found)), mean), abs=1e-14)
    assert (len(found) == 0) == (mean == 0)
