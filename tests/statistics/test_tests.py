"""Differences; the paired tests against published examples, scipy and slow enumerations; p and interval."""

import math
from fractions import Fraction

import numpy as np
import pytest
import statistics_reference as reference
from helpers import each, examples
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from statistics_reference import DEPRESSION, MAIZE, SLEEP, TEN_QUERIES

from gradeval.statistics.sampling import Sampling, resampled_means
from gradeval.statistics.tests import (
    ALL_EQUAL,
    NO_P,
    TESTS,
    TOO_FEW_PAIRS,
    PairedOutcome,
    PairedSummary,
    interval_of_mean,
    paired_differences,
    paired_tests,
    summarize,
)
from gradeval.statistics.weighted import root_sum_of_squares

NAN = math.nan
WITH_P = [name for name in TESTS if name != "bootstrap"]
FEW = Sampling(samples=499)


def outcome(test: str, d, alpha: float = 0.05, sampling: Sampling = FEW) -> PairedOutcome:
    [found] = paired_tests(test, np.array(d, np.float64)[:, None], alpha, sampling)
    return found


def test_published_examples() -> None:
    """Darwin's maize: 863 of 32,768 sums are at least 314, 28 of them equal to it: 5.267 % both ways; t 4.97 %.

    Student's sleep: t = 4.0621 with 9 degrees of freedom, p = 0.002833, interval 0.7001 to 2.4599, as in R.
    Depression: T+ = 40 of 45; the estimate is 0.46, the interval 0.010 to 0.786 (section 3.1 and its sequels).
    Ten queries, one-sided: t = 2.33, p = 0.02; sign test of 7 of 10, p = 0.17, the tie counted as no win.
    """
    assert outcome("randomization", MAIZE).p == 2 * 863 / 32768
    assert outcome("randomization", MAIZE / 10 + 0.1 - 0.1).p == 2 * 863 / 32768  # ties survive rounding
    assert round(outcome("t", MAIZE).p, 4) == 0.0497
    found = outcome("t", SLEEP)
    assert (round(found.p, 6), round(found.low, 4), round(found.high, 4)) == (0.002833, 0.7001, 2.4599)
    found = outcome("wilcoxon", DEPRESSION)
    assert found.p == 2 * 10 / 512
    assert (round(found.estimate, 2), round(found.low, 3), round(found.high, 3)) == (0.46, 0.01, 0.786)
    assert round(outcome("t", TEN_QUERIES).p / 2, 2) == 0.02
    assert round(outcome("sign", np.where(TEN_QUERIES == 0, -1, TEN_QUERIES)).p / 2, 2) == 0.17
    assert outcome("sign", TEN_QUERIES).p == pytest.approx(2 * (36 + 9 + 1) / 512)


@each("n", [2, 3, 10, 50, 1000])
@each("alpha", [0.5, 0.05, 1e-6])
def test_t_is_scipys(n: int, alpha: float) -> None:
    baseline, run = np.random.default_rng(n).beta(2, 3, (2, n))
    expected = stats.ttest_rel(run, baseline)
    found = outcome("t", run - baseline, alpha)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-12)
    interval = expected.confidence_interval(1 - alpha)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-8)


@each("n", [2, 6, 10, 13, 14, 50, 51])
@each("kind", ["plain", "tied", "zeros", "both"])
def test_wilcoxon_is_scipys(n: int, kind: str) -> None:
    """With the permutation test for few and tied differences, which older versions of it do not choose."""
    d = np.arange(1, n + 1) * np.random.default_rng(n).choice([-1, 1], n) / 64
    if kind in ("tied", "both"):
        d = np.sign(d) * np.ceil(np.abs(d) * 16) / 16
    if kind in ("zeros", "both"):
        d[0] = 0.0
    is_exact = n <= (50 if kind == "plain" else 13)
    method = "exact" if kind == "plain" else stats.PermutationMethod(n_resamples=2**13)
    found = outcome("wilcoxon", d)
    if n != 13:  # where it takes too long
        expected = stats.wilcoxon(d, method=method if is_exact else "approx", correction=False).pvalue
        assert found.p == pytest.approx(expected, rel=1e-11)
    assert found.method == ("exact" if is_exact else "normal approximation")
    rounded = (d * 64 + 7) / 10 - 0.7  # rounding neither makes nor breaks a tie
    assert outcome("wilcoxon", rounded).p == outcome("wilcoxon", d * 64).p


def test_a_median_of_0_that_is_rejected_has_the_direction_of_the_test() -> None:
    """28 queries won, 12 lost, all by 1: most Walsh averages are 0 or 1, and the test rejects 0."""
    d = np.repeat([1.0, 0.0, -1.0], [28, 20, 12])
    for sign in (1, -1):
        found = outcome("wilcoxon", sign * d)
        assert found.p == pytest.approx(stats.wilcoxon(d, method="approx").pvalue) and found.p < 0.05
        assert found.low <= found.estimate <= found.high
        assert 0 < sign * found.estimate < 1e-300


@each(("wins", "losses", "ties"), [(1, 1, 0), (5, 0, 2), (8, 3, 0), (30, 20, 7), (620, 541, 3)])
def test_sign_is_scipys_binomial_test(wins: int, losses: int, ties: int) -> None:
    d = np.concatenate([np.arange(1, wins + 1), -np.arange(1, losses + 1), np.zeros(ties)])
    assert outcome("sign", d).p == pytest.approx(stats.binomtest(wins, wins + losses).pvalue, rel=1e-12)


@each("alpha", [0.5, 0.05, 0.002])
def test_bca_is_scipys_for_the_same_resamples(alpha: float) -> None:
    d = np.random.default_rng(7).exponential(size=30) - 0.6
    sampling = Sampling(2000, seed=3)
    resamples = resampled_means(d[:, None], sampling)[:, 0]
    same = stats._resampling.BootstrapResult(None, resamples, 0)
    expected = stats.bootstrap((d,), np.mean, confidence_level=1 - alpha, n_resamples=0, bootstrap_result=same)
    found = outcome("bootstrap", d, alpha, sampling)
    assert math.isnan(found.p)
    assert found.reason == NO_P
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval), rel=1e-9)


@examples(times=0.8)
@given(st.lists(st.integers(-6, 6), min_size=2, max_size=7))
def test_rounding_neither_makes_nor_breaks_a_tie(tenths: list[int]) -> None:
    """Differences of tenths, with the rounding of a subtraction, against fractions."""
    if len(set(tenths)) == 1:
        return
    d = np.array([(7 + k) / 10 - 7 / 10 for k in tenths])
    exact = [Fraction(k, 10) for k in tenths]
    expected = reference.sign_flip_p(exact, reference.all_signs(len(exact)), observed_too=True)
    assert outcome("randomization", d).p == expected


@each("seed", [1, 2**63])
def test_random_flips_against_slow_ones(seed: int) -> None:
    d = np.random.default_rng(5).integers(-8, 10, 20) / 10
    exact = [Fraction(round(10 * v), 10) for v in d.tolist()]
    expected = reference.sign_flip_p(exact, reference.random_signs(20, 300, seed), observed_too=False)
    assert outcome("randomization", d, sampling=Sampling(300, seed)).p == expected


@each("test", WITH_P)
@each("n", [6, 13, 30, 60])
def test_the_interval_is_what_the_test_does_not_reject(test: str, n: int) -> None:
    """Shifted by values on both sides of each end, and in between: p >= alpha exactly inside."""
    d = np.random.default_rng(n).normal(0.3, 1, n)
    if n == 30:  # random flips belong to the queries, also to those without a difference
        d[::4] = NAN
    for alpha in (0.05, 0.1, 0.2):
        found = outcome(test, d, alpha)
        width = found.high - found.low
        for shift in np.linspace(found.low + 1e-6 * width, found.high - 1e-6 * width, 9):
            assert outcome(test, d - shift, alpha).p >= alpha
        for end, sign in ((found.low, -1), (found.high, 1)):
            for step in (1e-6, 0.1, 1):
                assert outcome(test, d - (end + sign * step * width), alpha).p < alpha
        assert found.low <= found.estimate <= found.high


values = st.one_of(
    st.integers(-4, 4).map(lambda k: k / 10), st.floats(-1, 1), st.floats(-1, 1).map(lambda x: x / 1e9)
)


@given(st.lists(values, min_size=2, max_size=24), st.sampled_from(WITH_P), st.floats(0.001, 0.999))
@example([0.5] * 5 + [-0.5], "wilcoxon", 0.05)
@example([0.0] * 20 + [0.1] * 6, "sign", 0.05)
@example([1.0] * 60 + [-1.0] * 40, "wilcoxon", 0.05)
@example([1.0, -1.0], "randomization", 0.05)
@example([5e-324, 0.0], "t", 0.5)
@example([5e-324] * 9 + [1e-323] * 9, "randomization", 0.5)
def test_0_is_in_the_interval_exactly_where_p_is_at_least_alpha(
    d: list[float], test: str, alpha: float
) -> None:
    found = outcome(test, d, alpha)
    if found.reason:
        assert math.isnan(found.p)
        return
    assert 0 < found.p <= 1
    for level in (alpha, found.p, np.nextafter(found.p, 1), 0.05):
        if level < 1:
            same = outcome(test, d, level)
            assert same.p == found.p
            assert same.low <= same.high
            assert (same.low <= 0 <= same.high) == (same.p >= level), level


@given(st.lists(values, min_size=2, max_size=16), st.sampled_from(WITH_P), st.randoms())
def test_the_order_of_the_queries_does_not_matter(d: list[float], test: str, random) -> None:
    shuffled = list(d)
    random.shuffle(shuffled)
    assert str(outcome(test, d)) == str(outcome(test, shuffled))  # to the last digit


@each("test", list(TESTS))
def test_threads_and_other_comparisons_do_not_matter(test: str) -> None:
    rng = np.random.default_rng(9)
    d = rng.normal(0.1, 1, (60, 22))
    d[rng.random(d.shape) < 0.05] = NAN
    d[20:, 7] = d[10:, 8] = d[:, 9] = NAN
    d[:, 10] = 0.25
    alone = [paired_tests(test, d[:, [column]], 0.05, FEW)[0] for column in range(22)]
    together = paired_tests(test, d, 0.05, Sampling(499, jobs=3))
    assert [str(one) for one in together] == [str(one) for one in alone]
    assert [one.reason for one in together[9:11]] == [TOO_FEW_PAIRS, ALL_EQUAL]


@each("test", list(TESTS))
def test_no_p(test: str) -> None:
    assert outcome(test, []).reason == outcome(test, [NAN]).reason == TOO_FEW_PAIRS
    one = outcome(test, [0.25, NAN])
    assert (one.reason, one.estimate) == (TOO_FEW_PAIRS, 0.25)
    assert math.isnan(one.p) and math.isnan(one.low) and math.isnan(one.high)
    same = outcome(test, [0.3, 0.1 + 0.2, NAN, 0.3])
    assert (same.reason, same.low, same.high) == (ALL_EQUAL, same.estimate, same.estimate)
    assert math.isnan(same.p)
    none = outcome(test, [0.0, 0.0])
    assert (none.reason, none.low, none.high) == (ALL_EQUAL, 0, 0)
    assert paired_tests(test, np.empty((4, 0)), 0.05, FEW) == []


def test_t_intervals_of_means_end_at_the_bounds() -> None:
    values = np.array([0.9, 1.0, 1.0, 0.6])
    low, high = interval_of_mean(values, 0.875, "t", 95.0)
    assert high > 1 > low
    assert interval_of_mean(values, 0.875, "t", 95.0, bounds=(0, 1)) == (low, 1)
    assert interval_of_mean(values, 0.875, "t", 95.0, bounds=(0, 0.8)) == (low, 0.875)  # wrong bounds
    assert np.isnan(interval_of_mean(values[:1], 0.9, "t", 95.0, bounds=(0, 1))).all()


def test_differences_and_their_summary() -> None:
    baseline = np.array([0.1 + 0.2, 0.5, 1e-20, 0.5, NAN, 0.0])
    run = np.array([0.3, 0.5 + 1e-11, 2e-20, NAN, 0.5, 0.0])
    assert paired_differences(baseline, run)[[0, 5]].tolist() == [0.0, 0.0]
    assert paired_differences(baseline, run)[1:3].tolist() == [pytest.approx(1e-11, rel=1e-4), 1e-20]
    assert np.isnan(paired_differences(baseline, run)[3:5]).all()
    assert np.array_equal(paired_differences(run, baseline)[:3], -paired_differences(baseline, run)[:3])
    assert summarize(np.array([1.0, NAN, -1.0, 3.0, 0.0, 2.0])) == PairedSummary(
        5, 5.0, 1.0, pytest.approx(math.sqrt(2.5)), pytest.approx(1 / math.sqrt(2.5)), 3, 1, 1
    )
    assert root_sum_of_squares(np.array([3e-200, 4e-200])) == pytest.approx(5e-200)
    assert root_sum_of_squares(np.array([3e200, 4e200])) == pytest.approx(5e200)
    assert root_sum_of_squares(np.zeros(3)) == 0
