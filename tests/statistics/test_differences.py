"""Differences and their summary."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statistics_examples import SAKAI, SLEEP, TEN_QUERIES

from gradeval.statistics.differences import (
    ALL_EQUAL,
    TOO_FEW_PAIRS,
    Summary,
    mean_and_sd,
    paired_differences,
    reason_without_p,
    root_sum_of_squares,
    summarize,
)

NAN = math.nan


def test_values_that_agree_but_for_rounding_are_tied() -> None:
    baseline = np.array([0.1 + 0.2, 0.5, 1e-20, 0.5, NAN, 0.0])
    run = np.array([0.3, 0.5 + 1e-11, 2e-20, NAN, 0.5, 0.0])
    assert paired_differences(baseline, run)[[0, 5]].tolist() == [0.0, 0.0]
    assert paired_differences(baseline, run)[1:3].tolist() == [pytest.approx(1e-11, rel=1e-4), 1e-20]
    assert np.isnan(paired_differences(baseline, run)[3:5]).all()
    assert np.array_equal(paired_differences(run, baseline)[:3], -paired_differences(baseline, run)[:3])


def test_summary() -> None:
    assert summarize(np.array([1.0, NAN, -1.0, 3.0, 0.0, 2.0])) == Summary(
        5, 1.0, pytest.approx(math.sqrt(2.5)), pytest.approx(1 / math.sqrt(2.5)), 3, 1, 1
    )


def test_summary_of_published_examples() -> None:
    ten = summarize(TEN_QUERIES)
    assert (ten.mean, round(ten.sd, 1), ten.wins, ten.ties, ten.losses) == (21.4, 29.1, 7, 1, 2)
    sakai = summarize(SAKAI[:, 0] - SAKAI[:, 1])
    assert (round(sakai.mean, 4), round(sakai.sd**2, 4), round(sakai.effect_size, 3)) == (0.0750, 0.0251, 0.473)
    sleep = summarize(SLEEP)
    assert (sleep.mean, round(sleep.sd, 2)) == (pytest.approx(1.58), 1.23)


@pytest.mark.parametrize(
    ("values", "n", "mean", "reason"),
    [
        ([], 0, NAN, TOO_FEW_PAIRS),
        ([NAN, NAN], 0, NAN, TOO_FEW_PAIRS),
        ([0.25, NAN], 1, 0.25, TOO_FEW_PAIRS),
        ([0.0, 0.0], 2, 0.0, ALL_EQUAL),
        ([0.3, 0.1 + 0.2, 0.3], 3, 0.3, ALL_EQUAL),
        ([0.25, 0.5], 2, 0.375, ""),
        ([0.0, 1e-300], 2, 5e-301, ""),
    ],
)
def test_too_little_to_test(values: list[float], n: int, mean: float, reason: str) -> None:
    d = np.array(values)
    assert reason_without_p(d[~np.isnan(d)]) == reason
    found = summarize(d)
    assert (found.n, found.mean) == (n, pytest.approx(mean, nan_ok=True))
    assert math.isnan(found.effect_size) == bool(reason)
    assert found.wins + found.ties + found.losses == n


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.randoms())
def test_moments_do_not_depend_on_the_order(values: list[float], random) -> None:
    d = np.array(values)
    random.shuffle(values)
    assert mean_and_sd(d) == mean_and_sd(np.array(values))
    mean, sd = mean_and_sd(d)
    assert mean == pytest.approx(d.mean(), abs=1e-15)
    assert sd == pytest.approx(d.std(ddof=1), rel=1e-9, abs=1e-15)


def test_tiny_squares_do_not_vanish() -> None:
    assert root_sum_of_squares(np.array([3e-200, 4e-200])) == pytest.approx(5e-200)
    assert root_sum_of_squares(np.array([3e200, 4e200])) == pytest.approx(5e200)
    assert root_sum_of_squares(np.zeros(3)) == 0
