"""rankDCG on the tables of Katerenchuk and Rosenberg 2016."""

from __future__ import annotations

import math

import pytest
from helpers import each, ranked, scored, value, values

GRADES = [9, 4, 4, 2, 2, 2, 1, 1, 1, 1]
ROWS = [
    ([9, 4, 4, 2, 2, 2, 1, 1, 1, 1], 1, 1),
    ([9, 4, 4, 2, 2, 1, 2, 1, 1, 1], 0.975, 0.8),
    ([4, 4, 2, 9, 2, 2, 1, 1, 1, 1], 0.65, 0.742857),
    ([1, 4, 4, 2, 2, 2, 9, 1, 1, 1], 0.325, 0.285714),
    ([1, 4, 4, 2, 2, 2, 1, 1, 1, 9], 0.325, 0.285714),
    (GRADES[::-1], 0, -0.8),
]


@each(("row", "expected", "tau"), ROWS)
def test_table_1(row, expected, tau):
    assert value("rankDCG", scored(GRADES, row)) == pytest.approx(expected, abs=1e-12)
    assert value("tau", scored(GRADES, row)) == pytest.approx(tau, abs=5e-7)


def test_three_documents_by_hand():
    """Levels 3 2 1, discounts 1 2 3; the order is 1 3 2: 7/2 - 1/6 ... worked out it is 1/8."""
    order = 1 / 1 + 3 / 2 + 2 / 3
    best, worst = 3 / 1 + 2 / 2 + 1 / 3, 1 / 1 + 2 / 2 + 3 / 3
    assert value("rankDCG", scored([9, 3, 1], [5, 1, 7])) == pytest.approx((order - worst) / (best - worst))
    assert value("rankDCG", scored([9, 3, 1], [5, 1, 7])) == pytest.approx(0.125)


def test_all_scores_tied_is_the_worst():
    assert value("rankDCG", scored(GRADES, [5.0] * 10)) == pytest.approx(0, abs=1e-15)


def test_ties_go_worst_first():
    assert value("rankDCG", scored([3, 2, 1], [7, 7, 1])) == value("rankDCG", scored([3, 2, 1], [6, 7, 1]))


def test_documents_the_run_lacks_are_tied_at_the_bottom():
    missing = value("rankDCG", ranked([4, 1], missed=[3, 2]))
    assert missing == value("rankDCG", scored([4, 1, 2, 3], [9, 8, 7, 6]))


def test_unjudged_documents_take_up_no_place():
    assert value("rankDCG", ranked([None, 2, None, 3, 1])) == value("rankDCG", ranked([2, 3, 1]))


def test_negative_grades_are_ordered_as_they_are():
    assert value("rankDCG", ranked([1, 0, -1, -2])) == 1
    assert value("rankDCG", ranked([1, 0, -2, -1])) < 1


def test_undefined_and_empty():
    found = values("rankDCG", ranked([2, 2, 2]), ({}, {}), ({"a": 1.0}, {"a": 1.0}), ({"a": 1.0, "b": 0.0}, {}))
    assert [math.isnan(one) for one in found] == [True, True, True, False]
    assert found[-1] == 0
    assert values("rankDCG") == []
