"""The power of the paired t-test: published sample sizes, scipy's noncentral t, the two questions undone."""

import math

import pytest
from helpers import each
from scipy import stats

from gradeval.statistics.power import power_of_t_test, queries_needed, smallest_effect_size


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


@each("n", [2, 5, 50, 249, 7000])
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
