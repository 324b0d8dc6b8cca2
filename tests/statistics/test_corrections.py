"""Corrections for a family: published examples, definitions, and maxT against a slow one."""

import math
from fractions import Fraction

import numpy as np
import pytest
import statistics_reference as reference
from helpers import each, examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistics_examples import THROMBOLYSIS

from gradeval.statistics.corrections import CORRECTIONS, benjamini_hochberg, bonferroni, holm, maxt
from gradeval.statistics.sampling import Sampling

NAN = math.nan
family = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.5, 1.0]), st.just(NAN)), max_size=12)


def test_benjamini_and_hochbergs_example() -> None:
    """At 0.05 their procedure rejects the four smallest p-values, Bonferroni's (and Holm's) three."""
    assert (benjamini_hochberg(THROMBOLYSIS) <= 0.05).tolist() == [True] * 4 + [False] * 11
    assert (bonferroni(THROMBOLYSIS) <= 0.05).tolist() == [True] * 3 + [False] * 12
    assert (holm(THROMBOLYSIS) <= 0.05).tolist() == [True] * 3 + [False] * 12


@given(family)
def test_corrections_by_their_definitions(drawn: list[float]) -> None:
    p = np.array(drawn, np.float64)
    known = p[~np.isnan(p)]
    m = len(known)
    by_holm = [max(((known >= q).sum() * q for q in known if q <= own), default=NAN) for own in known]
    for correction, expected in (
        (bonferroni, np.minimum(known * m, 1)),
        (holm, np.minimum(by_holm, 1)),
        (benjamini_hochberg, stats.false_discovery_control(known) if m else known),
        (CORRECTIONS["none"], known),
    ):
        corrected = correction(p)
        assert np.array_equal(np.isnan(corrected), np.isnan(p))
        assert corrected[~np.isnan(p)] == pytest.approx(expected, rel=1e-12)
        assert corrected is not p


@each("correct", list(CORRECTIONS.values()))
def test_a_table_keeps_its_shape(correct) -> None:
    p = np.array([[0.01, NAN, 0.2], [0.03, 0.5, NAN]])
    np.testing.assert_array_equal(correct(p), correct(p.ravel()).reshape(2, 3))
    np.testing.assert_array_equal(correct(p)[:, ::-1], correct(p[:, ::-1]))
    np.testing.assert_array_equal(correct(np.full(3, NAN)), np.full(3, NAN))
    assert correct(np.empty(0)).tolist() == []


# maxT


def columns_of(d: np.ndarray, unit: int) -> list[dict[int, Fraction]]:
    """The columns as exact multiples of 1 / unit, by row, without NaN."""
    return [
        {row: Fraction(round(v * unit), unit) for row, v in enumerate(column) if not math.isnan(v)}
        for column in d.T.tolist()
    ]


@examples(times=1)
@given(st.lists(st.lists(st.integers(-5, 5), min_size=3, max_size=3), min_size=4, max_size=6), st.booleans())
def test_maxt_of_all_flips_against_a_slow_one(rows: list[list[int]], gaps: bool) -> None:
    tenths = np.array(rows, np.float64)
    if gaps:
        tenths[0, 0] = tenths[1, 1] = NAN
    if any(np.ptp(column[~np.isnan(column)]) == 0 for column in tenths.T):
        return
    d = (7 + tenths) / 10 - 7 / 10  # with the rounding of a subtraction
    expected = reference.maxt(columns_of(tenths / 10, 10), reference.all_signs(len(d)), observed_too=True)
    assert maxt(d, Sampling()).tolist() == expected


def test_maxt_of_random_flips_against_a_slow_one() -> None:
    eighths = np.random.default_rng(1).integers(-6, 9, (19, 4)) / 8
    eighths[2:5, 1] = NAN
    flips = reference.random_signs(19, 150, seed=5)
    expected = reference.maxt(columns_of(eighths, 8), flips, observed_too=False)
    assert maxt(eighths, Sampling(150, seed=5)).tolist() == expected


def test_maxt_leaves_out_what_has_no_p() -> None:
    rng = np.random.default_rng(5)
    d = rng.normal(0.3, 1, (30, 5))
    d[:, 1] = 0.25
    d[1:, 3] = NAN
    corrected = maxt(d, Sampling(999))
    assert np.isnan(corrected[[1, 3]]).all()
    assert corrected[[0, 2, 4]].tolist() == maxt(d[:, [0, 2, 4]], Sampling(999)).tolist()
    assert maxt(d[:, [1, 3]], Sampling(999)).tolist() == pytest.approx([NAN, NAN], nan_ok=True)
    assert maxt(np.empty((4, 0)), Sampling()).tolist() == []


def test_threads_and_the_order_of_comparisons_do_not_matter_to_maxt() -> None:
    d = np.random.default_rng(6).normal(0.2, 1, (50, 8))
    one = maxt(d, Sampling(3000))
    assert np.array_equal(maxt(d, Sampling(3000, jobs=3)), one)
    assert np.array_equal(maxt(d[:, ::-1], Sampling(3000)), one[::-1])
    assert np.array_equal(maxt(-d, Sampling(3000)), one)
    few = d[:12]
    order = np.random.default_rng(7).permutation(12)
    assert np.array_equal(maxt(few[order], Sampling()), maxt(few, Sampling()))
