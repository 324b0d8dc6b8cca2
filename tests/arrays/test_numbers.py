"""Differences of decimal numbers, against fractions; integers as text; logarithms, ratios and curves."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from helpers import each, examples
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.interpolate import PchipInterpolator

from gradeval.arrays.segments import log2, monotone_curve, pchip_slopes, quantile, ratio, subtracted
from gradeval.arrays.strings import integer_ids
from gradeval.errors import is_grade

numbers = st.one_of(
    st.integers(-5, 9).map(float),
    st.builds(lambda n, places: n / 10**places, st.integers(-(10**6), 10**6), st.integers(0, 9)),
    st.floats(-10, 10),
    st.floats(-1e150, 1e150),
    st.sampled_from([1e15, 1e16, 999999999999999.0, 2.0**53, 1e22, 1e23, 0.1, 1e-7, 123456789.123456, -0.0]),
).filter(is_grade)


@examples(times=2)
@given(st.lists(numbers, max_size=8), numbers)
@example([1.2, 1.1, 0.3, 2.675], 1.0)
@example([0.3, 1.1, 5.0, 0.1 + 0.2], 0.1)
@example([1e150, 1e-150, 1.7e-150], 1e-150)
@example([0.1, 12.0, 10**15 - 1.0], 1e150)
def test_each_is_the_float_nearest_to_the_decimal_difference(values, number):
    found = subtracted(np.array(values, np.float64), number).tolist()
    whole = Fraction(Decimal(repr(number)))
    assert found == [float(Fraction(Decimal(repr(value))) - whole) for value in values]  # rounded once


@each("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_integers_are_written_as_str_writes_them(kind):
    info = np.iinfo(kind)
    powers = [10**n + by for n in range(20) for by in (-1, 0, 1)]
    numbers = [n for n in (*powers, *(-n for n in powers), info.min, info.max) if info.min <= n <= info.max]
    stretches = [n for n in numbers for _ in range(3)]
    for values in (numbers, stretches, [7], [7, 7, 7], []):
        ids = integer_ids(np.array(values, kind))
        assert ids.tolist() == [str(n).encode() for n in values]


def column(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float64)


def test_log2_is_that_of_c_to_the_bit():
    assert log2(np.arange(1.0, 65536)).tolist() == [math.log2(number) for number in range(1, 65536)]
    assert (log2(column(2.0**20, 8)).tolist(), log2(column()).tolist()) == ([20, 3], [])


def test_ratio():
    nan = math.nan
    assert repr(ratio(column(1, -2, 3, 0), column(2, 0, nan, 4)).tolist()) == repr([0.5, 0.0, nan, 0.0])
    assert ratio(column(1, 0), np.array([4, 0])).tolist() == [0.25, 0]
    assert ratio(column(1, 3), 2).tolist() == [0.5, 1.5]
    assert ratio(column(1, 3), 0.0).tolist() == [0, 0]


@st.composite
def curves(draw):
    count = draw(st.integers(2, 7))
    x = sorted(draw(st.sets(st.floats(-1e3, 1e3).map(lambda n: round(n, 3)), min_size=count, max_size=count)))
    y = sorted(draw(st.lists(st.floats(0, 1).map(lambda n: round(n, 3)), min_size=count, max_size=count)))
    return x, y


@examples(times=1)
@given(curves(), st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_curve_is_scipys_pchip(curve, parts):
    x, y = curve
    expected = PchipInterpolator(x, y)
    slopes = expected.derivative()(x)
    assert pchip_slopes(np.array([x]), np.array([y]))[0] == pytest.approx(slopes, rel=1e-9, abs=1e-12)
    at = np.array([x[0] + part * (x[-1] - x[0]) for part in parts] + x)
    found = monotone_curve(np.array([x]), np.array([y]), np.zeros(len(at), np.int64), at)
    assert found == pytest.approx(expected(np.clip(at, x[0], x[-1])), abs=1e-12)
    assert found[len(parts) :].tolist() == y  # exactly, at the points


@each("unit", [2.0**-500, 2.0**490])
def test_curve_has_no_unit(unit):
    """Widths are squared and divided by heights, without over- or underflow."""
    x, y = np.array([[1.0, 1 + 2.0**-40, 3, 8]]), np.array([[0.0, 1e-14, 0.5, 1]])
    at, curve = np.linspace(1, 8, 9), np.zeros(9, np.int64)
    assert monotone_curve(x * unit, y, curve, at * unit).tolist() == monotone_curve(x, y, curve, at).tolist()


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=9), min_size=1, max_size=4), st.floats(0, 1))
def test_quantile_is_numpys(queries, part):
    flat = np.array([float(n) for query in queries for n in sorted(query, reverse=True)])
    count = np.array([len(query) for query in queries])
    found = quantile(flat, np.cumsum(count) - count, count, (count - 1) * part)
    assert found == pytest.approx([np.quantile(query, part) for query in queries], abs=1e-9)
