"""Differences of decimal numbers, against fractions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gradeval.arrays.numbers import subtracted
from gradeval.errors import is_grade

few_digits = st.builds(lambda n, places: n / 10**places, st.integers(-(10**6), 10**6), st.integers(0, 9))
numbers = st.one_of(
    st.integers(-5, 9).map(float),
    few_digits,
    st.floats(-10, 10),
    st.floats(-1e150, 1e150),
    st.sampled_from([1e15, 1e16, 999999999999999.0, 2.0**53, 1e22, 1e23, 0.1, 1e-7, 123456789.123456, -0.0]),
).filter(is_grade)


def exact(value: float, number: float) -> float:
    difference = Fraction(Decimal(repr(value))) - Fraction(Decimal(repr(number)))
    return float(difference)  # rounded once, to the nearest


@settings(max_examples=300, deadline=None)
@given(st.lists(numbers, max_size=8), numbers)
@example([1.2, 1.1, 0.3, 2.675], 1.0)
@example([0.3, 1.1, 5.0, 0.1 + 0.2], 0.1)
@example([1e150, 1e-150, 1.7e-150], 1e-150)
@example([0.1, 12.0, 10**15 - 1.0], 1e150)
def test_each_is_the_float_nearest_to_the_decimal_difference(values, number):
    found = subtracted(np.array(values, np.float64), number).tolist()
    assert found == [exact(value, number) for value in values]


def test_floats_are_read_as_they_are_written():
    assert subtracted(np.array([1.2, 3.3, 0.7]), 1.0).tolist() == [0.2, 2.3, -0.3]
    assert subtracted(np.array([4.35, 4.3]), 4.3).tolist() == [0.05, 0.0]
    assert 1.2 - 1 != 0.2


@pytest.mark.parametrize("number", [1.0, 0.25, 0.1, 1e-20, 1e20])
def test_many_different_grades(number):
    """Those of up to six decimals at once, the others one by one, each only once."""
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.random(300), rng.integers(0, 9, 300), rng.random(300).round(4)])
    values = rng.permutation(np.concatenate([values, values]))
    assert subtracted(values, number).tolist() == [exact(value, number) for value in values.tolist()]
