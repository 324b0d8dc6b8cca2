"""Sums on a grid are exact, whatever the order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradeval.statistics.fixed_point import FixedPoint

# what metric values differ by: nothing below 2^-20 of the largest but 0, so that every bit is on the grid
differences = st.one_of(st.just(0.0), st.floats(2**-20, 1), st.floats(-1, -(2**-20)))


@given(st.lists(st.tuples(differences, st.booleans()), min_size=1, max_size=40))
def test_the_sum_of_any_part_is_correctly_rounded(drawn: list[tuple[float, bool]]) -> None:
    values, chosen = (np.array(part) for part in zip(*drawn, strict=True))
    fixed = FixedPoint.of(values[:, None])
    sums = chosen[None].astype(np.float64) @ fixed.parts
    assert fixed.value(sums)[0, 0] == math.fsum(values[chosen])
    assert fixed.value(fixed.parts.sum(axis=0)[None] - sums)[0, 0] == math.fsum(values[~chosen])


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20))
def test_parts_are_integers_that_cannot_overflow(drawn: list[float]) -> None:
    values = np.array(drawn)[:, None]
    fixed = FixedPoint.of(values)
    assert np.array_equal(fixed.parts, np.rint(fixed.parts))
    assert np.abs(fixed.parts).max() * len(values) <= 2**51
    unit = Fraction(2) ** int(fixed.exponent[0])
    for value, (high, low) in zip(drawn, fixed.parts.astype(int).tolist(), strict=True):
        assert abs((high * 2**fixed.bits + low) * unit - Fraction(value)) <= unit / 2


def test_no_order_changes_a_sum() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(7000, 3)) * 10.0 ** rng.integers(-6, 1, (7000, 3))
    signs = rng.integers(0, 2, (20, 7000)).astype(np.float64)
    order = rng.permutation(7000)
    fixed, shuffled = FixedPoint.of(values), FixedPoint.of(values[order])
    sums = fixed.value(signs @ fixed.parts)
    assert np.array_equal(sums, shuffled.value(signs[:, order] @ shuffled.parts))
    assert np.array_equal(
        sums, fixed.value(sum(signs[:, q : q + 7] @ fixed.parts[q : q + 7] for q in range(0, 7000, 7)))
    )
    for row, column in ((0, 0), (7, 1), (19, 2)):
        assert sums[row, column] == math.fsum(values[signs[row] == 1, column])


def test_columns_have_units_of_their_own() -> None:
    values = np.array([[1e-300, 1e200, 0.0], [3e-300, 2e200, 0.0]])
    fixed = FixedPoint.of(values)
    assert fixed.value(fixed.parts.sum(axis=0)[None]).tolist() == [[4e-300, 3e200, 0.0]]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_must_be_finite(bad: float) -> None:
    with pytest.raises(ValueError, match="values must be finite"):
        FixedPoint.of(np.array([[1.0], [bad]]))
