"""Differences of decimal numbers, against fractions; integers as text."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
from helpers import each, examples
from hypothesis import example, given
from hypothesis import strategies as st

from gradeval.arrays.numbers import integer_ids, subtracted
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


@examples(times=2)
@given(st.lists(numbers, max_size=8), numbers)
@example([1.2, 1.1, 0.3, 2.675], 1.0)
@example([0.3, 1.1, 5.0, 0.1 + 0.2], 0.1)
@example([1e150, 1e-150, 1.7e-150], 1e-150)
@example([0.1, 12.0, 10**15 - 1.0], 1e150)
def test_each_is_the_float_nearest_to_the_decimal_difference(values, number):
    found = subtracted(np.array(values, np.float64), number).tolist()
    assert found == [exact(value, number) for value in values]


@each("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
def test_integers_are_written_as_str_writes_them(kind):
    info = np.iinfo(kind)
    powers = [10**n + by for n in range(20) for by in (-1, 0, 1)]
    numbers = [n for n in (*powers, *(-n for n in powers), info.min, info.max) if info.min <= n <= info.max]
    stretches = [n for n in numbers for _ in range(3)]
    for values in (numbers, stretches, numbers[:1], [7], [7, 7, 7], []):
        ids = integer_ids(np.array(values, kind))
        assert ids.tolist() == [str(n).encode() for n in values]
