"""AP and µAP on the tables of Scheel et al. 2011."""

import pytest
from helpers import each, ranked, value

TABLE = ranked([1, 0, 3, 3, 2, 0, 1, 4])


@each(
    ("rel", "expected"),
    [
        (5, 0),
        (4, 1 / 8),
        (3, (1 / 3 + 2 / 4 + 3 / 8) / 3),
        (2, (1 / 3 + 2 / 4 + 3 / 5 + 4 / 8) / 4),
        (1, (1 / 1 + 2 / 3 + 3 / 4 + 4 / 5 + 5 / 7 + 6 / 8) / 6),
    ],
)
def test_table_1(rel, expected):
    assert value(f"AP(rel={rel})", TABLE) == pytest.approx(expected, abs=1e-15)
    assert value("AP", TABLE, level=rel) == value(f"AP(rel={rel})", TABLE)


def test_table_1_mu():
    assert value("muAP", TABLE) == pytest.approx(0.447817, abs=5e-7)


def test_a_very_wide_range():
    grades = [3.0, 1e9, 1.0, 5e6, 2.0]
    top, second = value("AP(rel=1000000000)", ranked(grades)), value("AP(rel=5000000)", ranked(grades))
    third = value("AP(rel=3)", ranked(grades))
    expected = ((1e9 - 5e6) * top + (5e6 - 3) * second + third) / 1e9
    assert value("muAP", ranked(grades)) == pytest.approx(expected, abs=1e-8)
