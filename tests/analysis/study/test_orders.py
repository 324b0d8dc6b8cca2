"""Kendall's τ-b against scipy, the AP correlation against its definition and all orders of the tied."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from gradeval.analysis.study.orders import kendall_tau, levels_of, tau_ap

PAIRS = st.integers(2, 6).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


def levels(values):
    return levels_of(np.array(values, np.float64))


def by_definition(order, truth):
    """2 / (n - 1) · sum of C(i) / (i - 1) - 1; a pair that the truth ties is half right."""
    total = 0.0
    for i in range(1, len(order)):
        right = sum((truth[j] > truth[order[i]]) + (truth[j] == truth[order[i]]) / 2 for j in order[:i])
        total += right / i
    return 2 / (len(order) - 1) * total - 1


def over_orders(estimate, truth):
    """The mean over all orders of what the estimate ties."""
    orders = [
        order
        for order in permutations(range(len(estimate)))
        if all(estimate[a] >= estimate[b] for a, b in pairwise(order))
    ]
    return sum(by_definition(order, truth) for order in orders) / len(orders)


@given(PAIRS)
def test_kendall_is_that_of_scipy(pair):
    x, y = pair
    expected = math.nan if len(set(x)) == 1 or len(set(y)) == 1 else kendalltau(x, y).statistic
    assert kendall_tau(levels(x), levels(y)) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(PAIRS)
def test_tau_ap_is_the_mean_over_orders_of_the_tied(pair):
    estimate, truth = pair
    value = tau_ap(levels(estimate), levels(truth))
    if len(set(truth)) == 1:
        assert math.isnan(value)
    else:
        assert value == pytest.approx(over_orders(estimate, truth), abs=1e-12)


def test_tau_ap_by_hand():
    # 4 systems; the estimate exchanges the two best: C = 0, 2, 3 of 1, 2, 3
    assert tau_ap(levels([3, 4, 2, 1]), levels([4, 3, 2, 1])) == pytest.approx(2 / 3 * (0 + 1 + 1) - 1)
    # it exchanges the two worst: C = 1, 2, 2
    assert tau_ap(levels([4, 3, 1, 2]), levels([4, 3, 2, 1])) == pytest.approx(2 / 3 * (1 + 1 + 2 / 3) - 1)
    assert kendall_tau(levels([3, 4, 2, 1]), levels([4, 3, 2, 1])) == pytest.approx(2 / 3)


def test_the_reverse_is_minus_one_and_itself_is_one():
    order = levels([5, 3, 8, 1, 2])
    for correlation in (kendall_tau, tau_ap):
        assert correlation(order, order) == pytest.approx(1)
        assert correlation(order, 4 - order) == pytest.approx(-1)


def test_rounding_orders_nothing():
    assert levels([0.3, 0.1 + 0.2, 0.4]).tolist() == [0, 0, 1]
    assert levels([0.3, np.nan]).tolist() == [0, 0]
