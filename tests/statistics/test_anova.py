"""Two-way analysis of variance: Sakai's example, least squares, the paired t-test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statistics_examples import SAKAI

from gradeval.statistics.anova import NO_RESIDUAL, TOO_FEW, two_way_anova

NAN = math.nan


def test_sakais_example() -> None:
    """Sums of squares 0.1083, 1.0293, 0.8317; mean squares 0.0542, 0.0542, 0.0219; F 2.475; p 0.098, 0.009."""
    found = two_way_anova(SAKAI)
    parts = (found.system, found.query, found.residual)
    assert [round(part.squares, 4) for part in parts] == [0.1083, 1.0293, 0.8317]
    assert [part.df for part in (*parts, found.total)] == [2, 19, 38, 59]
    assert [round(part.mean_square, 4) for part in parts] == [0.0542, 0.0542, 0.0219]
    assert round(found.total.squares, 4) == 1.9693
    assert (round(found.system.f, 3), round(found.query.f, 3)) == (2.475, 2.475)
    assert (round(found.system.p, 3), round(found.query.p, 3)) == (0.098, 0.009)
    assert math.isnan(found.residual.f) and math.isnan(found.total.p)


@pytest.mark.parametrize(("queries", "systems"), [(2, 2), (5, 3), (40, 7)])
def test_against_least_squares(queries: int, systems: int) -> None:
    """Each sum of squares is what a model with the factor explains beyond the model without it."""
    values = np.random.default_rng(queries).beta(2, 3, (queries, systems))
    query, system = np.eye(queries).repeat(systems, axis=0), np.tile(np.eye(systems), (queries, 1))

    def rest(*factors: np.ndarray) -> float:
        design = np.column_stack([np.ones(values.size), *factors])
        fitted = design @ np.linalg.lstsq(design, values.ravel(), rcond=None)[0]
        return float(((values.ravel() - fitted) ** 2).sum())

    found = two_way_anova(values)
    full = rest(query, system)
    df = (queries - 1) * (systems - 1)
    assert found.total.squares == pytest.approx(rest())
    assert found.residual.squares == pytest.approx(full)
    for part, without, own_df in (
        (found.system, rest(query), systems - 1),
        (found.query, rest(system), queries - 1),
    ):
        assert part.squares == pytest.approx(without - full)
        f = (without - full) / own_df / (full / df)
        assert (part.f, part.p) == pytest.approx((f, stats.f.sf(f, own_df, df)), rel=1e-8)
    means = values.mean(axis=0)
    assert found.means == pytest.approx(means)
    assert found.effect_sizes == pytest.approx((means[:, None] - means) / math.sqrt(full / df))


@pytest.mark.parametrize("exponent", [-1000, -600, 490])
def test_the_unit_of_the_values_does_not_matter(exponent: int) -> None:
    """Squares of small values vanish, but F, p and effect sizes do not need them."""
    plain, scaled = two_way_anova(SAKAI), two_way_anova(np.ldexp(SAKAI, exponent))
    for part in ("system", "query"):
        assert getattr(scaled, part).f == getattr(plain, part).f
        assert getattr(scaled, part).p == getattr(plain, part).p
        assert getattr(scaled, part).squares == math.ldexp(getattr(plain, part).squares, 2 * exponent)
    np.testing.assert_array_equal(scaled.effect_sizes, plain.effect_sizes)
    np.testing.assert_array_equal(scaled.means, np.ldexp(plain.means, exponent))


def test_of_two_systems_f_is_the_square_of_paired_t() -> None:
    values = np.random.default_rng(1).beta(2, 3, (30, 2))
    t = stats.ttest_rel(values[:, 0], values[:, 1])
    found = two_way_anova(values)
    assert (found.system.f, found.system.p) == pytest.approx((t.statistic**2, t.pvalue))


def test_the_order_of_the_queries_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    values = rng.beta(2, 3, (50, 4))
    one, other = two_way_anova(values), two_way_anova(rng.permutation(values))
    assert str(one) == str(other)


def test_queries_without_all_values_are_left_out() -> None:
    gaps = np.insert(SAKAI, [3, 9], [0.5, NAN, 0.5], axis=0)
    assert str(two_way_anova(gaps)) == str(two_way_anova(SAKAI))


def test_no_f() -> None:
    few = two_way_anova(np.array([[0.5, 0.25, 0.5], [0.5, 0.5, NAN]]))
    assert (few.queries, few.reason) == (1, TOO_FEW)
    assert few.effect_sizes.shape == (3, 3)
    assert np.isnan(few.means).all() and math.isnan(few.system.p)
    parallel = two_way_anova(np.array([[0.1, 0.2], [0.5, 0.6], [0.7, 0.8]]))
    assert parallel.reason == NO_RESIDUAL
    assert math.isnan(parallel.system.f) and np.isnan(parallel.effect_sizes).all()
    assert parallel.means == pytest.approx([13 / 30, 16 / 30])
    assert parallel.system.squares == pytest.approx(0.015)


def test_bad_arguments() -> None:
    for bad in (SAKAI[:, :1], np.array([[math.inf, 1.0], [2.0, 3.0]])):
        with pytest.raises(ValueError, match="at least 2 systems"):
            two_way_anova(bad)
