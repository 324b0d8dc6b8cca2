"""rankDCG on the tables of Katerenchuk and Rosenberg 2016."""

import pytest
from helpers import each, scored, value

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
