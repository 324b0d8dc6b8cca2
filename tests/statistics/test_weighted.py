"""Weighted differences: the tests against fractions and slow enumerations; equal weights are none."""

import math
from fractions import Fraction

import numpy as np
import pytest
import statistics_reference as reference
from helpers import each, examples
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from gradeval.compare_options import WEIGHTED_TESTS
from gradeval.statistics.multiple import maxt
from gradeval.statistics.sampling import Sampling, resampled_means
from gradeval.statistics.tests import (
    FEW_EFFECTIVE,
    NO_P,
    TESTS,
    TOO_FEW_PAIRS,
    PairedOutcome,
    interval_of_mean,
    paired_tests,
    summarize,
)
from gradeval.statistics.weighted import Sample

NAN = math.nan
FEW = Sampling(samples=499)
WITH_P = ("t", "randomization")
tenths = st.integers(-6, 6).map(lambda k: k / 8)  # exact
weights_of_queries = st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0, 7.0])
pairs = st.lists(st.tuples(tenths, weights_of_queries), min_size=2, max_size=9)


def outcome(
    test: str, d: object, weights: object, alpha: float = 0.05, sampling: Sampling = FEW
) -> PairedOutcome:
    differences = np.array(d, np.float64)[:, None]
    [tested] = paired_tests(test, differences, alpha, sampling, np.array(weights, np.float64))
    return tested


@examples(times=1)
@given(pairs)
def test_t_against_fractions(drawn: list[tuple[float, float]]) -> None:
    d, weights = map(list, zip(*drawn, strict=True))
    sample = Sample.of(np.array(d), np.array(weights))
    tested = outcome("t", d, weights)
    if tested.reason:
        few = tested.reason == FEW_EFFECTIVE
        assert float(reference.weighted_t(d, weights)[2]) < 1 if few else len(set(d)) == 1
        return
    mean, t_squared, df, variance = reference.weighted_t(d, weights)
    assert tested.estimate == pytest.approx(float(mean), abs=1e-15)
    p = 2 * stats.t.sf(math.sqrt(t_squared), float(df))
    assert tested.p == pytest.approx(p, rel=1e-9)
    half = stats.t.ppf(0.975, float(df)) * math.sqrt(variance)
    assert (tested.low, tested.high) == pytest.approx((mean - half, mean + half), rel=1e-6, abs=1e-12)
    assert sample.standard_error == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert sample.effective_n == pytest.approx(float(df) + 1, rel=1e-12)
    assert sample.mean / sample.sd * math.sqrt(sample.effective_n) == pytest.approx(
        math.copysign(math.sqrt(t_squared), mean), abs=1e-9
    )
    assert interval_of_mean(np.array(d), sample.mean, "t", 95.0, weights=np.array(weights)) == pytest.approx(
        (tested.low, tested.high), rel=1e-12
    )


@examples(times=1)
@given(pairs)
def test_all_flips_of_weighted_differences(drawn: list[tuple[float, float]]) -> None:
    d, weights = map(list, zip(*drawn, strict=True))
    tested = outcome("randomization", d, weights)
    if not tested.reason:
        products = [Fraction(x) * Fraction(w) for x, w in drawn]
        signs = reference.all_signs(len(d))
        assert tested.p == reference.sign_flip_p(products, signs, observed_too=True)


def test_random_flips_and_resamples_against_slow_ones() -> None:
    rng = np.random.default_rng(5)
    d, weights = rng.integers(-8, 10, 20) / 8, rng.integers(1, 9, 20) / 8
    sampling = Sampling(300, seed=7)
    products = [Fraction(x) * Fraction(w) for x, w in zip(d.tolist(), weights.tolist(), strict=True)]
    expected = reference.sign_flip_p(products, reference.random_signs(20, 300, 7), observed_too=False)
    assert outcome("randomization", d, weights, sampling=sampling).p == expected
    resampled, _ = reference.resampled_means(d.tolist(), 300, 7, weights.tolist())
    assert resampled_means(d[:, None], sampling, weights)[:, 0] == pytest.approx(resampled, rel=1e-14)
    expected = reference.bca_ends(resampled, d.tolist(), weights.tolist(), 0.1)
    tested = outcome("bootstrap", d, weights, 0.1, sampling)
    assert (tested.low, tested.high) == pytest.approx(expected, rel=1e-9)
    # maxT flips the products too, and of one comparison is the randomization test
    columns = np.column_stack([d, rng.integers(-8, 10, 20) / 8])
    as_fractions = [
        {row: Fraction(x) * Fraction(weights[row]) for row, x in enumerate(column)} for column in columns.T
    ]
    expected = reference.maxt(as_fractions, reference.random_signs(20, 300, 7), observed_too=False)
    assert maxt(columns, sampling, weights).tolist() == expected
    [alone] = maxt(columns[:, :1], sampling, weights)
    assert alone == outcome("randomization", d, weights, sampling=sampling).p


@each("test", WEIGHTED_TESTS)
@each("weight", [1.0, 0.3, 1e-150, 1e150])
def test_equal_weights_are_none(test: str, weight: float) -> None:
    """To the last digit, with few queries and many; those of weight 0 are left out as if without a value."""
    for n in (6, 30):
        d = np.random.default_rng(n).normal(0.2, 1, (n, 3))
        d[1, 1] = NAN
        without, weights = d.copy(), np.full(n, weight)
        without[2], weights[2] = NAN, 0.0
        expected = paired_tests(test, without, 0.05, FEW)
        assert repr(paired_tests(test, d, 0.05, FEW, weights)) == repr(expected)
        summaries = [summarize(column, weights) for column in d.T]
        assert summaries == [summarize(column) for column in without.T]
        assert maxt(d, FEW, weights).tolist() == maxt(without, FEW).tolist()
        mean = summaries[0].mean
        for method in ("t", "bootstrap") if (n, test, weight) == (6, "bootstrap", 0.3) else ("t",):
            intervals = (
                interval_of_mean(column[:, 0], mean, method, 95.0, weights=own)
                for column, own in ((d, weights), (without, None))
            )
            assert len(set(intervals)) == 1


@each("test", WEIGHTED_TESTS)
def test_the_unit_of_weights_and_other_comparisons_do_not_matter(test: str) -> None:
    rng = np.random.default_rng(9)
    d, weights = rng.normal(0.1, 1, (40, 4)), rng.lognormal(0, 1, 40)
    d[5, 2] = NAN
    together = paired_tests(test, d, 0.05, FEW, weights)
    for column, tested in enumerate(together):
        [alone] = paired_tests(test, d[:, [column]], 0.05, FEW, 8.0 * weights)
        assert repr(alone) == repr(tested)


@each("test", WITH_P)
@each("n", [8, 30])
def test_the_interval_is_what_the_test_does_not_reject(test: str, n: int) -> None:
    rng = np.random.default_rng(n)
    d, weights = rng.normal(0.3, 1, n), rng.integers(1, 9, n) / 4
    for alpha in (0.05, 0.2):
        tested = outcome(test, d, weights, alpha)
        width = tested.high - tested.low
        for shift in np.linspace(tested.low + 1e-6 * width, tested.high - 1e-6 * width, 7):
            assert outcome(test, d - shift, weights, alpha).p >= alpha
        for end, sign in ((tested.low, -1), (tested.high, 1)):
            for step in (1e-6, 0.1, 1):
                assert outcome(test, d - (end + sign * step * width), weights, alpha).p < alpha


@examples(times=1)
@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(1e-150, 1e150)), min_size=2, max_size=18),
    st.sampled_from(WEIGHTED_TESTS),
    st.floats(0.001, 0.999),
)
@example([(0.0, 4e23), (1e-150, 1e-150)], "t", 0.5)
@example([(1e-300, 1.0), (0.0, 1e-10)], "t", 0.05)
@example([(0.0, 4e23), (1e-150, 1e-150)], "bootstrap", 0.5)
def test_0_is_in_the_interval_exactly_where_p_is_at_least_alpha(
    drawn: list[tuple[float, float]], test: str, alpha: float
) -> None:
    """For any weights, also where one query has them all."""
    d, weights = map(list, zip(*drawn, strict=True))
    tested = outcome(test, d, weights, alpha)
    summarize(np.array(d), np.array(weights))
    if test == "bootstrap" or tested.reason:
        assert math.isnan(tested.p) and not tested.low > tested.high
        return
    assert 0 < tested.p <= 1
    assert tested.low <= tested.high and (tested.low <= 0 <= tested.high) == (tested.p >= alpha)


def test_weights_of_0_and_one_heavy_query() -> None:
    for test in WEIGHTED_TESTS:
        assert outcome(test, [1.0, 2.0, 3.0], [0, 5, 0]).reason == TOO_FEW_PAIRS
        assert outcome(test, [1.0, 2.0, 3.0], [0, 0, 0]).reason == TOO_FEW_PAIRS
        heavy = outcome(test, [1.0, 2.0, 4.0], [1e20, 1, 1])
        assert heavy.reason == FEW_EFFECTIVE and math.isnan(heavy.p) and math.isnan(heavy.low)
        assert outcome(test, [1.0, 2.0, 4.0], [1, 1, 1e-9]).reason in ("", NO_P)  # just above 2
    columns = np.array([[1.0, 1.0], [2.0, np.nan], [4.0, 2.0], [9.0, 5.0]])
    assert np.isnan(maxt(columns, FEW, np.array([1.0, 1e9, 1, 1]))).tolist() == [True, False]
    assert outcome("t", [0.1, 0.3, 0.2, 0.1], [1, 2, 3, 4]).method == "t with 2.3 degrees of freedom"
    assert set(WEIGHTED_TESTS) < set(TESTS)
