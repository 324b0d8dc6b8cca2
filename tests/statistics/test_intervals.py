"""The pieces of intervals: order statistics of Walsh averages, ranks, BCa's ends."""

import math

import numpy as np
import pytest
from helpers import each, examples
from hypothesis import given
from hypothesis import strategies as st

from gradeval.statistics import intervals
from gradeval.statistics.intervals import (
    agreeing,
    bca_interval,
    rank_interval,
    sign_flip_intervals,
    walsh_order_statistic,
)


def walsh(values: np.ndarray) -> np.ndarray:
    """All of them, sorted."""
    i, j = np.triu_indices(len(values))
    return np.sort((values[i] + values[j]) / 2)


@examples(times=1)
@given(st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-1, 1)), min_size=1, max_size=12))
def test_walsh_averages_are_selected_without_listing_them(drawn: list[float]) -> None:
    ordered = np.sort(drawn)
    expected = walsh(ordered).tolist()
    assert [walsh_order_statistic(ordered, i) for i in range(len(expected))] == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "_LISTED", 4)
        assert [walsh_order_statistic(ordered, i) for i in range(len(expected))] == expected


def test_ranks_of_published_tables() -> None:
    """Sign test of n = 10 at 0.05: the 2nd smallest and largest (level 0.0215); of 20: the 6th (0.0414)."""
    from scipy.special import bdtr

    for n, place in ((10, 2), (20, 6), (5, 0)):
        low, high = rank_interval(float, n, lambda s, n=n: min(1, 2 * float(bdtr((n - s) // 2, n, 0.5))), 0.05)
        assert (low, high) == ((place - 1, n - place) if place else (-math.inf, math.inf))


def flip_interval(low: np.ndarray, high: np.ndarray, alpha: float, rows: int) -> tuple[float, float, float]:
    """Of one comparison, whose flips come in blocks."""
    blocks = ((low[i : i + rows, None], high[i : i + rows, None]) for i in range(0, len(low), rows))
    [found] = np.stack(sign_flip_intervals(blocks, 1, len(low), alpha), axis=1).tolist()
    return tuple(found)


def test_flip_interval_counts_from_the_ends() -> None:
    low, high = -np.arange(1.0, 20), np.arange(1.0, 20)  # 19 flips: p is a multiple of 1 / 20
    assert flip_interval(low, high, 0.05, 19) == (1, -math.inf, math.inf)
    assert flip_interval(low, high, 0.0501, 19) == (1, -19, 19)
    assert flip_interval(low, high, 0.1, 19) == (1, -19, 19)
    assert flip_interval(low, high, 0.2, 19) == (1, -17, 17)


@each("alpha", [0.0001, 0.05, 0.5, 0.9])
def test_flip_interval_holds_the_outermost_flips_only(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "_HELD", 64)
    low, high = np.sort(np.random.default_rng(2).normal(size=(2, 5001)).round(2), axis=0)
    k = max(0, math.ceil(alpha * 5002) - 1)
    assert intervals.flips_held(5001, alpha) == min(5001, max(64, 2 * k))
    outer = (np.sort(low)[k - 1], np.sort(high)[-k]) if k else (-math.inf, math.inf)
    assert flip_interval(low, high, alpha, 10) == ((1 + ((low <= 0) & (high >= 0)).sum()) / 5002, *outer)


def test_agreement() -> None:
    assert agreeing((1e-18, 2.0), 0.05, 0.05, 1.0) == (0.0, 2.0)
    assert agreeing((-2.0, -1e-18), 0.05, 0.05, -1.0) == (-2.0, 0.0)
    assert agreeing((0.0, 2.0), 0.049, 0.05, 1.0) == (5e-324, 2.0)
    assert agreeing((-2.0, 1e-18), 0.049, 0.05, -1.0) == (-2.0, -5e-324)
    assert agreeing((0.0, 0.0), 0.049, 0.05, 1.0) == (5e-324, 5e-324)
    assert agreeing((0.0, 0.0), 0.049, 0.05, -1.0) == (-5e-324, -5e-324)
    assert agreeing((1.0, 2.0), 0.049, 0.05, 1.0) == (1.0, 2.0)


def test_bca_stays_among_the_resamples() -> None:
    outlier = np.array([0.0] * 49 + [1.0])
    means = np.linspace(0, 0.12, 500)
    for alpha in (1e-12, 1e-6, 0.05):
        low, high = bca_interval(means, outlier, 0.02, alpha)
        assert 0 <= low <= high <= 0.12
    for lopsided in (np.full(9, 0.5), np.full(9, -0.5)):  # all resamples on one side
        low, high = bca_interval(lopsided, outlier, 0.02, 0.05)
        assert low == high == lopsided[0]
