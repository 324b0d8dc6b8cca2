"""Random streams, flips and resamples as documented; the pieces of intervals; the power of the t-test."""

import math
from fractions import Fraction

import numpy as np
import pytest
import statistics_reference as reference
from helpers import each, examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistics_reference import random_signs

from gradeval.statistics import intervals
from gradeval.statistics.intervals import (
    agreeing,
    bca_interval,
    power_of_t_test,
    queries_needed,
    rank_interval,
    sign_flip_intervals,
    smallest_effect_size,
    walsh_order_statistic,
)
from gradeval.statistics.sampling import (
    FixedPoint,
    Sampling,
    Stream,
    over_flips,
    poisson_thresholds,
    resampled_means,
)


def test_the_stream_of_a_seed_is_fixed_and_the_published_one() -> None:
    """The test vector of philox4x64 with 10 rounds and all bits set, of Random123's kat_vectors.

    numpy counts up before it makes the first four words, so its counter is one below.
    """
    words = Stream(seed=1, purpose=1, block=0).take(3)
    assert words.tolist() == [0x133D1B1836B49E25, 0xFBD9FF744933275E, 0xF289B1B94EF9E741]
    ones = np.full(4, 2**64 - 1, np.uint64)
    words = np.random.Philox(key=ones[:2], counter=ones - np.array([1, 0, 0, 0], np.uint64)).random_raw(4)
    assert words.tolist() == [0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0]


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


def sums(columns: np.ndarray, **sampling: int) -> np.ndarray:
    return np.concatenate(list(over_flips(columns, Sampling(**sampling), lambda found: found)))


@each("n", [2, 3, 7, 16])
def test_all_flips_once_each_but_for_complements(n: int) -> None:
    powers = 2.0 ** np.arange(n)[:, None]  # the sum names the flipped queries
    found = sums(powers, samples=5)[:, 0].tolist()
    assert len(found) == Sampling().flips(n) == 2 ** (n - 1) - 1
    assert sorted([0, 2**n - 1, *found, *(2**n - 1 - flip for flip in found)]) == list(range(2**n))


@each(("n", "samples"), [(17, 3), (64, 70), (65, 1025), (1100, 40)])
def test_random_flips_are_those_of_the_documented_stream(n: int, samples: int) -> None:
    columns = np.random.default_rng(n).integers(-(2**40), 2**40, (n, 3)).astype(np.float64)
    is_flipped = np.array(random_signs(n, samples, seed=9)) < 0
    assert sums(columns, samples=samples, seed=9).tolist() == (is_flipped @ columns).tolist()


@each(("n", "restarted"), [(2, 0), (17, 0), (50, 0), (200, 1)])
def test_resamples_are_those_of_the_documented_stream(n: int, restarted: int) -> None:
    values = np.random.default_rng(n).integers(-100, 100, (n, 2)) / 64
    first, second = resampled_means(values, Sampling(100, seed=33)).T
    assert (first.tolist(), restarted) == reference.resampled_means(values[:, 0].tolist(), 100, 33)
    assert second.tolist() == resampled_means(values[:, 1:], Sampling(100, seed=33))[:, 0].tolist()


def test_blocks_and_threads_change_nothing() -> None:
    values = np.random.default_rng(3).normal(size=(3000, 2))  # 43 resamples a block
    one = resampled_means(values, Sampling(200))
    assert len(np.unique(one[:, 0])) == 200  # no block has the stream of another
    assert np.array_equal(resampled_means(values, Sampling(200, jobs=3)), one)
    assert np.array_equal(resampled_means(values, Sampling(86)), one[:86])


@each("mean", [0.0, 0.3, 1 - 3 / np.sqrt(7000)])
def test_thresholds_are_of_the_poisson_distribution(mean: float) -> None:
    found = poisson_thresholds(mean)
    assert found.tolist() == reference.poisson_thresholds(mean)
    assert found / 2**48 == pytest.approx(stats.poisson.cdf(np.arange(len(found)), mean), abs=1e-14)
    assert (len(found) == 0) == (mean == 0)


@examples(times=1)
@given(st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-1, 1)), min_size=1, max_size=12))
def test_walsh_averages_are_selected_without_listing_them(drawn: list[float]) -> None:
    ordered = np.sort(drawn)
    i, j = np.triu_indices(len(ordered))
    expected = np.sort((ordered[i] + ordered[j]) / 2).tolist()
    assert [walsh_order_statistic(ordered, i) for i in range(len(expected))] == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "_LISTED", 4)
        assert [walsh_order_statistic(ordered, i) for i in range(len(expected))] == expected


def test_ranks_of_published_tables() -> None:
    """Sign test of n = 10 at 0.05: the 2nd smallest and largest (level 0.0215); of 20: the 6th (0.0414)."""
    for n, place in ((10, 2), (20, 6), (5, 0)):
        of_s = [min(1, 2 * float(stats.binom.cdf((n - s) // 2, n, 0.5))) for s in range(n + 1)]
        low, high = rank_interval(float, n, of_s.__getitem__, 0.05)
        assert (low, high) == ((place - 1, n - place) if place else (-math.inf, math.inf))


def flip_interval(low: np.ndarray, high: np.ndarray, alpha: float, rows: int) -> tuple[float, float, float]:
    blocks = ((low[i : i + rows, None], high[i : i + rows, None]) for i in range(0, len(low), rows))
    [found] = np.stack(sign_flip_intervals(blocks, 1, len(low), alpha), axis=1).tolist()
    return tuple(found)


def test_flip_interval_counts_from_the_ends() -> None:
    low, high = -np.arange(1.0, 20), np.arange(1.0, 20)  # 19 flips: p is a multiple of 1 / 20
    assert flip_interval(low, high, 0.05, 19) == (1, -math.inf, math.inf)
    assert flip_interval(low, high, 0.0501, 19) == (1, -19, 19)
    assert flip_interval(low, high, 0.1, 19) == (1, -19, 19)
    assert flip_interval(low, high, 0.2, 19) == (1, -17, 17)


@each("alpha", [0.0001, 0.05, 0.5, 0.9])
def test_flip_interval_holds_the_outermost_flips_only(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "_HELD", 64)
    low, high = np.sort(np.random.default_rng(2).normal(size=(2, 5001)).round(2), axis=0)
    k = max(0, math.ceil(alpha * 5002) - 1)
    assert intervals.flips_held(5001, alpha) == min(5001, max(64, 2 * k))
    outer = (np.sort(low)[k - 1], np.sort(high)[-k]) if k else (-math.inf, math.inf)
    assert flip_interval(low, high, alpha, 10) == ((1 + ((low <= 0) & (high >= 0)).sum()) / 5002, *outer)


def test_agreement() -> None:
    for interval, p, estimate, expected in (
        ((1e-18, 2.0), 0.05, 1.0, (0.0, 2.0)),
        ((0.0, 2.0), 0.049, 1.0, (5e-324, 2.0)),
        ((0.0, 0.0), 0.049, 1.0, (5e-324, 5e-324)),
        ((1.0, 2.0), 0.049, 1.0, (1.0, 2.0)),
    ):
        assert agreeing(interval, p, 0.05, estimate) == expected
        low, high = (-end for end in interval)
        assert agreeing((high, low), p, 0.05, -estimate) == (-expected[1], -expected[0])


def test_bca_stays_among_the_resamples() -> None:
    outlier = np.array([0.0] * 49 + [1.0])
    means = np.linspace(0, 0.12, 500)
    for alpha in (1e-12, 1e-6, 0.05):
        low, high = bca_interval(means, outlier, 0.02, alpha)
        assert 0 <= low <= high <= 0.12
    for lopsided in (np.full(9, 0.5), np.full(9, -0.5)):  # all resamples on one side
        low, high = bca_interval(lopsided, outlier, 0.02, 0.05)
        assert low == high == lopsided[0]


@each(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_published_sample_sizes(effect: float, n: int) -> None:
    """Cohen's small, medium and large d_z, two-sided 5 %, 80 %: as G*Power 3 and R's power.t.test have it."""
    assert queries_needed(effect, 0.05) == queries_needed(-effect, 0.05) == n
    assert power_of_t_test(effect, n - 1, 0.05) < 0.8 <= power_of_t_test(effect, n, 0.05)


@each("n", [10, 50, 7000])
@each("alpha", [0.05, 0.001])
def test_power_is_scipys_noncentral_t(n: int, alpha: float) -> None:
    quantile = stats.t.isf(alpha / 2, n - 1)
    for shift in (0.0, 0.5, 2.8, 6.0):
        lower = stats.nct.cdf(-quantile, n - 1, shift)
        expected = stats.nct.sf(quantile, n - 1, shift) + (0 if math.isnan(lower) else lower)
        assert power_of_t_test(shift / math.sqrt(n), n, alpha) == pytest.approx(expected, rel=1e-9)
    assert power_of_t_test(0, n, alpha) == pytest.approx(alpha, rel=1e-9)


@each("n", [2, 5, 249])
def test_the_smallest_effect_needs_these_queries(n: int) -> None:
    effect = smallest_effect_size(n, 0.05)
    assert power_of_t_test(effect, n, 0.05) == pytest.approx(0.8, rel=1e-12)
    assert queries_needed(effect, 0.05) == n
    assert queries_needed(effect * (1 - 1e-9), 0.05) == n + 1
    assert smallest_effect_size(n, 0.01) > effect > smallest_effect_size(n, 0.05, 0.7)


def test_extremes() -> None:
    assert queries_needed(0.0, 0.05) == queries_needed(1e-6, 0.05) == math.inf
    assert queries_needed(1e-4, 0.05) == pytest.approx((1.959964 + 0.841621) ** 2 * 1e8, rel=1e-4)
    assert queries_needed(1e6, 0.05) == 2
    assert math.isnan(queries_needed(math.nan, 0.05))
    assert math.isnan(smallest_effect_size(1, 0.05))
    assert smallest_effect_size(10**6, 0.05) == pytest.approx(0.00280158, rel=1e-5)
