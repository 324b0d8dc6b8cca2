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
