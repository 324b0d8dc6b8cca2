"""Corrections for a family, analysis of variance, and the randomized Tukey HSD test."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import statistics_reference as reference
from helpers import each, examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statistics_reference import SAKAI, THROMBOLYSIS

from gradeval.statistics.multiple import (
    CORRECTIONS,
    EQUAL_SYSTEMS,
    NO_RESIDUAL,
    TOO_FEW,
    benjamini_hochberg,
    bonferroni,
    holm,
    maxt,
    randomized_tukey_hsd,
    two_way_anova,
)
from gradeval.statistics.sampling import Sampling, permuted_ranges

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
        table = np.array([p, p[::-1]])  # keeps its shape
        np.testing.assert_array_equal(correction(table), correction(table.ravel()).reshape(2, -1))


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
    expected = reference.maxt(columns_of(eighths, 8), reference.random_signs(19, 150, 5), observed_too=False)
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
    assert np.array_equal(maxt(d[11::-1], Sampling()), maxt(d[:12], Sampling()))


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


@each(("queries", "systems"), [(2, 2), (5, 3), (40, 7)])
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


@each("exponent", [-1000, -600, 490])
def test_the_unit_of_the_values_does_not_matter(exponent: int) -> None:
    """Squares of small values vanish, but F, p and effect sizes do not need them."""
    plain, scaled = two_way_anova(SAKAI), two_way_anova(np.ldexp(SAKAI, exponent))
    for part in ("system", "query"):
        assert getattr(scaled, part).f == getattr(plain, part).f
        assert getattr(scaled, part).p == getattr(plain, part).p
        assert getattr(scaled, part).squares == math.ldexp(getattr(plain, part).squares, 2 * exponent)
    np.testing.assert_array_equal(scaled.effect_sizes, plain.effect_sizes)
    np.testing.assert_array_equal(scaled.means, np.ldexp(plain.means, exponent))


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


def test_against_slow_permutations_of_the_documented_stream() -> None:
    """The ties of values with one decimal survive rounding."""
    exact = [[Fraction(round(10 * value), 10) for value in row] for row in SAKAI.tolist()]
    ranges = reference.random_ranges(exact, 200, 77)
    found = randomized_tukey_hsd(SAKAI, 0.05, Sampling(200, 77))
    sums = [sum(column) for column in zip(*exact, strict=True)]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        difference = sums[i] - sums[j]
        b = sum(spread >= abs(difference) for spread in ranges)
        assert found.p[i, j] == found.p[j, i] == (b + 1) / 201
        assert found.differences[i, j] == -found.differences[j, i] == pytest.approx(float(difference) / 20)
    assert np.isnan(np.diag(found.p)).all()
    assert (found.n, found.reason) == (20, "")


@each(("queries", "systems"), [(23, 2), (9, 4), (140, 5), (4, 7), (5, 9), (6, 10), (3, 13)])
def test_any_number_of_systems_against_slow_permutations(queries: int, systems: int) -> None:
    values = np.random.default_rng(systems).integers(0, 9, (queries, systems))
    samples = 2000 if systems == 2 else 20
    ranges = reference.random_ranges(values.tolist(), samples, 3)
    assert permuted_ranges(values, Sampling(samples, 3)).tolist() == ranges
    assert permuted_ranges(values, Sampling(samples, 3, jobs=3)).tolist() == ranges


@each(("queries", "systems"), [(2, 2), (16, 2), (4, 3), (6, 3), (3, 4)])
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


@given(st.integers(0, 2**32), st.integers(2, 8), st.integers(2, 4), st.floats(0.001, 0.999))
def test_0_is_in_the_interval_exactly_where_p_is_at_least_alpha(
    seed: int, queries: int, systems: int, alpha: float
) -> None:
    rows = np.random.default_rng(seed).integers(0, 6, (queries, systems)) / 10
    for level in (alpha, 0.05, 0.01, 1 / 100):
        found = randomized_tukey_hsd(rows, level, Sampling(99))
        pair = ~np.eye(systems, dtype=bool)
        if found.reason:
            assert np.isnan(found.p).all() and math.isnan(found.margin)
            continue
        low, high = found.differences - found.margin, found.differences + found.margin
        assert np.array_equal(((low <= 0) & (high >= 0))[pair], (found.p >= level)[pair])


def test_no_p() -> None:
    few = randomized_tukey_hsd(np.array([[0.1, 0.2], [0.1, NAN]]), 0.05, Sampling(9))
    assert (few.n, few.reason) == (1, TOO_FEW)
    same = randomized_tukey_hsd(np.array([[0.1 + 0.2, 0.3], [0.5, 0.5]]), 0.05, Sampling(9))
    assert (same.n, same.reason) == (2, EQUAL_SYSTEMS)
    for found in (few, same):
        assert np.isnan(found.p).all() and math.isnan(found.margin)
    assert randomized_tukey_hsd(SAKAI, 0.05, Sampling(9)).margin == math.inf  # no p can be below 0.1
    values = np.array([[0.1, 0.1 + k / 50] for k in range(20)])
    margin = randomized_tukey_hsd(values, 0.05, Sampling(1000)).margin  # the tolerance of ties lengthens no end
    assert margin * 20 == pytest.approx(round(margin * 1000) / 50, rel=1e-14)
