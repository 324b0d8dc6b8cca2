"""The randomized Tukey HSD test against slow permutations and the test of two systems."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import statistics_reference as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from statistics_examples import SAKAI

from gradeval.errors import OptionError
from gradeval.statistics.anova import TOO_FEW
from gradeval.statistics.permutations import permuted_ranges
from gradeval.statistics.sampling import Sampling
from gradeval.statistics.tests import paired_tests
from gradeval.statistics.tukey_hsd import EQUAL_SYSTEMS, randomized_tukey_hsd

NAN = math.nan


def fractions(values: np.ndarray, unit: int) -> list[list[Fraction]]:
    return [[Fraction(round(v * unit), unit) for v in row] for row in values.tolist()]


@pytest.mark.parametrize("seed", [1, 77])
def test_against_slow_permutations_of_the_documented_stream(seed: int) -> None:
    """The ties of values with one decimal survive rounding."""
    exact = fractions(SAKAI, 10)
    ranges = reference.random_ranges(exact, 200, seed)
    found = randomized_tukey_hsd(SAKAI, 0.05, Sampling(200, seed))
    sums = [sum(column) for column in zip(*exact, strict=True)]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        b = sum(spread >= abs(sums[i] - sums[j]) for spread in ranges)
        assert found.p[i, j] == found.p[j, i] == (b + 1) / 201
        assert (
            found.differences[i, j] == -found.differences[j, i] == pytest.approx(float(sums[i] - sums[j]) / 20)
        )
    assert np.isnan(np.diag(found.p)).all()
    assert (found.n, found.reason) == (20, "")


@pytest.mark.parametrize(("queries", "systems"), [(23, 2), (9, 4), (140, 5), (4, 7), (5, 9), (6, 10), (3, 13)])
def test_any_number_of_systems_against_slow_permutations(queries: int, systems: int) -> None:
    values = np.random.default_rng(systems).integers(0, 9, (queries, systems))
    samples = 5000 if systems == 2 else 40
    ranges = reference.random_ranges(values.tolist(), samples, 3)
    assert permuted_ranges(values, Sampling(samples, 3)).tolist() == ranges
    assert permuted_ranges(values, Sampling(samples, 3, jobs=3)).tolist() == ranges


@pytest.mark.parametrize(("queries", "systems"), [(2, 2), (16, 2), (4, 3), (6, 3), (3, 4)])
def test_few_permutations_are_all_tried(queries: int, systems: int) -> None:
    values = np.random.default_rng(queries).integers(0, 9, (queries, systems))
    sums = np.zeros((1, systems), np.int64)
    for row in values:
        sums = np.concatenate([sums + order for order in permutations(row.tolist())])
    spreads = np.ptp(sums, axis=1)
    found = randomized_tukey_hsd(values / 8, 0.05, Sampling(100))
    totals = values.sum(axis=0)
    for i, j in permutations(range(systems), 2):
        assert found.p[i, j] == (spreads >= abs(totals[i] - totals[j])).mean()
    assert found.method == f"all {len(spreads):,} permutations within queries"


def test_approaches_all_permutations() -> None:
    values = np.random.default_rng(1).integers(0, 9, (7, 3))
    sums = np.zeros((1, 3), np.int64)
    for row in values:
        sums = np.concatenate([sums + order for order in permutations(row.tolist())])
    found = randomized_tukey_hsd(values / 8, 0.05, Sampling(20_000))
    assert found.method == "20,000 permutations within queries"
    totals = values.sum(axis=0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        exact = (np.ptp(sums, axis=1) >= abs(totals[i] - totals[j])).mean()
        assert found.p[i, j] == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))


def test_two_systems_are_fishers_randomization_test() -> None:
    values = np.random.default_rng(2).beta(2, 3, (12, 2))
    [exact] = paired_tests("randomization", values[:, [0]] - values[:, [1]], 0.05, Sampling())
    found = randomized_tukey_hsd(values, 0.05, Sampling(20_000)).p[0, 1]
    assert found == exact.p


def test_ends_are_not_lengthened_by_the_tolerance_of_ties() -> None:
    values = np.array([[0.1, 0.1 + k / 50] for k in range(20)])
    found = randomized_tukey_hsd(values, 0.05, Sampling(1000))
    assert found.margin * 20 == pytest.approx(round(found.margin * 1000) / 50, rel=1e-14)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(2, 4).flatmap(
        lambda systems: st.lists(
            st.lists(st.integers(0, 5).map(lambda k: k / 10), min_size=systems, max_size=systems),
            min_size=2,
            max_size=8,
        )
    ),
    st.floats(0.001, 0.999),
)
def test_0_is_in_the_interval_exactly_where_p_is_at_least_alpha(rows: list[list[float]], alpha: float) -> None:
    for level in (alpha, 0.05, 0.01, 1 / 100):
        found = randomized_tukey_hsd(np.array(rows), level, Sampling(99))
        pair = ~np.eye(len(rows[0]), dtype=bool)
        if found.reason:
            assert np.isnan(found.p).all() and math.isnan(found.margin)
            continue
        low, high = found.differences - found.margin, found.differences + found.margin
        assert np.array_equal(((low <= 0) & (high >= 0))[pair], (found.p >= level)[pair])


def test_threads_change_nothing() -> None:
    values = np.random.default_rng(3).beta(2, 3, (300, 5))
    one = randomized_tukey_hsd(values, 0.05, Sampling(1000))
    other = randomized_tukey_hsd(values, 0.05, Sampling(1000, jobs=3))
    assert np.array_equal(one.p, other.p, equal_nan=True)
    assert one.margin == other.margin
    scaled = randomized_tukey_hsd(values * 2**20, 0.05, Sampling(1000))
    assert np.array_equal(one.p, scaled.p, equal_nan=True)
    assert scaled.margin == one.margin * 2**20


def test_queries_without_all_values_are_left_out() -> None:
    values = np.random.default_rng(4).beta(2, 3, (20, 3))
    gaps = np.insert(values, [0, 7], [0.5, NAN, 0.5], axis=0)
    one, other = (randomized_tukey_hsd(table, 0.05, Sampling(99)) for table in (values, gaps))
    assert np.array_equal(one.p, other.p, equal_nan=True)
    assert (one.n, other.n) == (20, 20)


def test_no_p() -> None:
    few = randomized_tukey_hsd(np.array([[0.1, 0.2], [0.1, NAN]]), 0.05, Sampling(9))
    assert (few.n, few.reason) == (1, TOO_FEW)
    same = randomized_tukey_hsd(np.array([[0.1 + 0.2, 0.3], [0.5, 0.5]]), 0.05, Sampling(9))
    assert (same.n, same.reason) == (2, EQUAL_SYSTEMS)
    for found in (few, same):
        assert np.isnan(found.p).all() and math.isnan(found.margin)
    assert randomized_tukey_hsd(SAKAI, 0.05, Sampling(9)).margin == math.inf  # no p can be below 0.1


def test_bad_arguments() -> None:
    with pytest.raises(OptionError, match="alpha must lie between"):
        randomized_tukey_hsd(SAKAI, 1.5, Sampling(9))
    for bad in (SAKAI[:, :1], np.array([[math.inf, 1.0], [2.0, 3.0]])):
        with pytest.raises(ValueError, match="at least 2 systems"):
            randomized_tukey_hsd(bad, 0.05, Sampling(9))
