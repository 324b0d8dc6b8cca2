"""Sums of parts add up to those of the whole, in any division."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradeval.spark.kernel import Moments

numbers = st.floats(-1e6, 1e6) | st.just(math.nan)


@given(st.lists(numbers, max_size=30), st.lists(st.integers(0, 30), max_size=6))
def test_parts_are_the_whole(values, cuts):
    column = np.array([values, values[::-1]])
    parts = np.split(column, sorted(min(cut, len(values)) for cut in cuts), axis=1)
    whole, joined = Moments.of(column), Moments.joined([Moments.of(part) for part in parts])
    assert joined.size.tolist() == whole.size.tolist()
    assert joined.total == pytest.approx(whole.total, rel=1e-12, abs=1e-6)
    assert joined.squares == pytest.approx(whole.squares, rel=1e-9, abs=1e-3)


def test_by_hand():
    moments = Moments.of(np.array([[1.0, 2.0, math.nan, 6.0]]))
    assert (moments.size, moments.total, moments.squares) == ([3], [9], [14])
    assert moments.mean == [3]
    assert moments.sd == [math.sqrt(7)]


def test_deviations_that_are_small_beside_the_mean():
    """Where sums of squares would cancel."""
    values = 1e9 + np.array([[0.0, 1.0, 2.0, 3.0]])
    parts = [Moments.of(values[:, :1]), Moments.of(values[:, 1:])]
    assert Moments.joined(parts).squares == pytest.approx([5.0], rel=1e-9)


def test_nothing():
    nothing = Moments.of(np.empty((2, 0)))
    assert nothing.size.tolist() == [0, 0]
    assert np.isnan(nothing.mean).all()
    assert np.isnan(nothing.sd).all()
    one = Moments.of(np.array([[1.0], [2.0]]))
    assert Moments.joined([nothing, one, nothing]).total.tolist() == [1, 2]
    assert np.isnan(one.sd).all()
