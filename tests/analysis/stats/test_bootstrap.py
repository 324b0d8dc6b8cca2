"""Resamples: those of the documented stream, with exact means."""

from __future__ import annotations

import numpy as np
import pytest

from gradeval.analysis.stats.bootstrap import resampled_means
from gradeval.analysis.stats.sampling import Sampling

from . import reference


@pytest.mark.parametrize("n", [2, 17, 50])
def test_resamples_are_those_of_the_documented_stream(n: int) -> None:
    values = np.random.default_rng(n).integers(-100, 100, (n, 2)) / 64
    means = resampled_means(values, Sampling(200, seed=4))
    assert means.shape == (200, 2)
    for column, own in zip(values.T, means.T, strict=True):
        assert own.tolist() == reference.resampled_means(column.tolist(), 200, 4)


def test_blocks_and_threads_change_nothing() -> None:
    values = np.random.default_rng(3).normal(size=(3000, 2))  # 10 resamples a block
    one = resampled_means(values, Sampling(200))
    assert np.array_equal(resampled_means(values, Sampling(200, jobs=3)), one)
    assert np.array_equal(resampled_means(values, Sampling(25)), one[:25])
    assert np.array_equal(resampled_means(values[:, 1:], Sampling(200)), one[:, 1:])
    assert one[:25, 0].tolist() == reference.resampled_means(values[:, 0].tolist(), 25, 1)


def test_each_query_is_drawn_equally_often() -> None:
    n, samples = 7, 20_000
    drawn = resampled_means(np.eye(n), Sampling(samples)) * n  # how often each query is in each resample
    assert np.allclose(drawn.sum(axis=1), n)
    expected = samples * (1 - 1 / n)  # the variance of the count of all draws
    assert np.abs(drawn.sum(axis=0) - samples).max() < 5 * np.sqrt(expected)
    assert drawn.var(axis=0) == pytest.approx(np.full(n, 1 - 1 / n), rel=0.05)
