"""Orders of systems, against scipy, the definitions and numbers worked by hand."""

import math
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from gradeval.statistics.agreement import halves, judges, kendall_tau, levels_of, rank_correlation, tau_ap
from gradeval.statistics.sampling import Sampling, over_resamples

PAIRS = st.integers(2, 6).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


def levels(values):
    return levels_of(np.array(values, np.float64))


def over_orders(estimate, truth):
    """The definition, 2 / (n - 1) · sum of C(i) / (i - 1) - 1, its mean over all orders of what is tied.

    A pair that the truth ties is half right.
    """
    values, n = [], len(truth)
    for order in permutations(range(n)):
        if all(estimate[a] >= estimate[b] for a, b in pairwise(order)):
            ranked = [truth[i] for i in order]
            right = [sum((a > b) + (a == b) / 2 for a in ranked[:i]) / i for i, b in enumerate(ranked) if i]
            values.append(2 / (n - 1) * sum(right) - 1)
    return sum(values) / len(values)


@given(PAIRS)
def test_tau_is_that_of_scipy_and_tau_ap_the_mean_over_orders_of_the_tied(pair):
    x, y = pair
    expected = math.nan if len(set(x)) == 1 or len(set(y)) == 1 else kendalltau(x, y).statistic
    assert kendall_tau(levels(x), levels(y)) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    expected = math.nan if len(set(y)) == 1 else over_orders(x, y)
    assert tau_ap(levels(x), levels(y)) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_tau_ap_by_hand():
    # 4 systems; the estimate exchanges the two best: C = 0, 2, 3 of 1, 2, 3
    assert tau_ap(levels([3, 4, 2, 1]), levels([4, 3, 2, 1])) == pytest.approx(2 / 3 * (0 + 1 + 1) - 1)
    # it exchanges the two worst: C = 1, 2, 2
    assert tau_ap(levels([4, 3, 1, 2]), levels([4, 3, 2, 1])) == pytest.approx(2 / 3 * (1 + 1 + 2 / 3) - 1)
    # rounding orders nothing
    assert levels([0.3, 0.1 + 0.2, 0.4]).tolist() == [0, 0, 1]
    assert levels([0.3, np.nan]).tolist() == [0, 0]


def test_halves_and_rank_correlation():
    """4 queries, 2 systems: a half holds 2 queries, and the first system wins in both halves or in one."""
    values = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.6], [0.0, 0.6]])
    tau, low, high, swapped = halves(values, 600, 1)
    # of the 6 halves, the 2 with equal queries swap the order; the 4 mixed ones agree
    assert swapped == pytest.approx(1 / 3, abs=0.06)
    assert tau == pytest.approx(1 / 3, abs=0.12)
    assert (low, high) == (-1, 1)
    undefined = np.array([[1.0, 0.0], [np.nan, 0.5], [1.0, np.nan], [0.9, 0.2]])  # which are left out
    assert halves(undefined, 50, 1)[-1] == 0
    assert math.isnan(halves(undefined[:1], 5, 1)[0])
    x, y = np.array([1.0, 2, 2, 5, 0, 7]), np.array([3.0, 1, 4, 4, 4, 9])
    assert rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic)
    assert math.isnan(rank_correlation(x, np.ones(6)))


def test_two_judges_over_resamples():
    """Each resample by itself, of values with gaps."""
    random = np.random.default_rng(4)
    first = np.round(random.random((12, 4)) + np.arange(4) / 5, 1)
    second = np.round(first + random.normal(0, 0.5, first.shape), 1)
    second[3, 2] = np.nan
    separated = np.array([True, False, True, True, False, True])
    pairs = [
        pair for pair, is_separated in zip(combinations(range(4), 2), separated, strict=True) if is_separated
    ]

    def opposite(a, b):
        return np.mean([(a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in pairs])

    sampling = Sampling(300, 7)
    taus, taus_ap, swaps, changes = [], [], [], 0
    for times in np.concatenate(list(over_resamples(12, sampling, lambda times: times))):
        drawn = np.repeat(np.arange(12), times.astype(int))
        a, b = (np.round(np.nanmean(values[drawn], axis=0), 12) for values in (first, second))
        taus.append(kendalltau(a, b).statistic)
        taus_ap.append((over_orders(b, a) + over_orders(a, b)) / 2)
        swaps.append(opposite(a, b))
        changes += not {*np.flatnonzero(a == a.max())} & {*np.flatnonzero(b == b.max())}
    ends = [end for values in (taus, taus_ap, swaps) for end in np.nanquantile(values, [0.05, 0.95])]
    found = judges(first, second, separated, 0.1, sampling)
    swapped = opposite(first.mean(axis=0), np.nanmean(second, axis=0))
    assert found == pytest.approx([*ends[:4], swapped, *ends[4:], changes / 300])
    assert 0 < found.first_changes < 1
    none = judges(first, second, separated & False, 0.1, sampling)
    assert np.isnan(none[4:7]).all() and none[:4] == found[:4]
    for values in (first[:1], np.full((5, 4), np.nan)):
        alone = judges(values, values, separated, 0.1, sampling)
        assert np.isnan([*alone[:4], *alone[5:]]).all()
