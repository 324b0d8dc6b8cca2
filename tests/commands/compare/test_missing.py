"""Comparisons with missing, undefined, equal, few or very large values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import each
from scipy import stats

from gradeval.commands.compare.options import TESTS
from gradeval.errors import InputError, MetricError
from gradeval.notices import Kind
from gradeval.statistics import tests

from .comparisons import EXACT, NAN, QUERIES, compared, pairs_of, random_runs, table


def test_undefined_values_leave_the_pair_out() -> None:
    values = random_runs(13)
    values.values[0, 0, 2] = values.values[1, 0, 5] = NAN
    found = compared(values)
    assert [one.n for one in found.comparisons] == [QUERIES - 2, QUERIES, QUERIES - 1, QUERIES]
    one = found.find("B", "m0")
    old, new = pairs_of(values, "A", "B", "m0")
    assert one.p == pytest.approx(stats.ttest_rel(new, old).pvalue, **EXACT)
    assert one.mean - one.baseline_mean == pytest.approx(one.difference, **EXACT)
    assert found.sections[0].means[0, 0] == pytest.approx(np.nanmean(values.values[0, 0]))


def test_equal_differences_have_no_p() -> None:
    values = [0.1, 0.2, 0.3, 0.7]
    shifted = [0.2, 0.3, 0.4, 0.8]
    values = table({"A": {"m": values}, "B": {"m": shifted}, "C": {"m": values}})
    for test in tests.TESTS:
        shifted, same = compared(values, test=test).comparisons
        for one, by in ((shifted, 0.1), (same, 0.0)):
            assert math.isnan(one.p) and math.isnan(one.p_corrected) and math.isnan(one.effect_size)
            assert one.reason == "all differences are equal"
            assert (one.low, one.high) == pytest.approx((by, by))
            assert one.verdict == ""
        assert (shifted.won, same.tied) == (4, 4)
        assert [notice.count for notice in compared(values, test=test).notices if notice.kind is Kind.NO_P] == [
            2
        ]
    assert "no p-value for 2 comparisons (all differences are equal)" in compared(values).warnings
    [power] = [one.power for one in compared(values.select(np.arange(4)), power=True).comparisons][:1]
    assert power is not None and math.isnan(power.needed)


def test_comparisons_without_p_are_outside_of_the_family() -> None:
    values = random_runs(14)
    values.values[2] = values.values[0]
    found = compared(values, correction="bonferroni")
    assert [one.p_corrected for one in found.comparisons[:2]] == [
        pytest.approx(min(1, 2 * one.p)) for one in found.comparisons[:2]
    ]


@each("queries", [0, 1])
@each("test", TESTS)
def test_fewer_than_two_pairs(queries: int, test: str) -> None:
    values = random_runs(15, runs=2, queries=2)
    values.values[0, :, queries:] = NAN
    found = compared(values, test=test, all_pairs=True, power=True, worst=1, anova=True)
    for one in found.comparisons:
        assert one.n == queries
        assert math.isnan(one.p_corrected) and math.isnan(one.low) and math.isnan(one.high)
        assert one.reason.startswith("fewer than 2")
        assert one.verdict == ""
    assert found.warnings[0].startswith(f"only {queries} quer")
    found.to_dict(per_query=True)


def test_few_queries_are_a_warning() -> None:
    assert compared(random_runs(16, queries=24)).warnings[0].startswith("only 24 queries to compare on")
    assert compared(random_runs(16, queries=25)).warnings == ()


def test_one_run_is_not_enough() -> None:
    with pytest.raises(InputError, match=r"runs: there is 1 run\. Give two runs or more"):
        compared(random_runs(1, runs=1))


def test_values_too_large_to_add_squares_of() -> None:
    with pytest.raises(MetricError, match="m of B has values beyond 1e\\+150"):
        table({"A": {"m": [1.0, 2.0]}, "B": {"m": [1.0, math.inf]}})
