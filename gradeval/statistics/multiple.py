"""Several comparisons at once: p-values corrected for the size of their family (NaN are no p-values: they stay,
outside of it), two-way analysis of variance, and the randomized Tukey HSD test of all pairs of systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from typing import Final

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.records import Record
from gradeval.statistics.intervals import fewest_extreme
from gradeval.statistics.sampling import FEW_PAIRS, TOLERANCE, FixedPoint, Sampling, over_flips, permuted_ranges
from gradeval.statistics.tests import reason_without_p
from gradeval.statistics.weighted import Sample, relative, root_sum_of_squares


def bonferroni(p: Floats) -> Floats:
    """m p, at most 1, for m p-values: bounds the chance of any false rejection. Source: Dunn, JASA 1961."""
    return _in_order(p, lambda ordered, m: ordered * m)


def holm(p: Floats) -> Floats:
    """Holm's step-down p-values: bounds the chance of any false rejection, never above Bonferroni's. max over j
    <= i of (m - j + 1) p_(j), at most 1, for the i-th smallest of m. p: any shape, kept.
    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    return _in_order(p, lambda ordered, m: np.maximum.accumulate(ordered * np.arange(m, 0, -1)))


def benjamini_hochberg(p: Floats) -> Floats:
    """Benjamini and Hochberg's p-values: bounds the expected share of false rejections. min over j >= i of m
    p_(j) / j for the i-th smallest of m. p: any shape, kept.
    Source: Benjamini and Hochberg, "Controlling the false discovery rate", JRSS B 1995.
    """
    return _in_order(p, lambda d, m: np.minimum.accumulate((d * (m / np.arange(1, m + 1)))[::-1])[::-1])


def _in_order(p: Floats, adjust: Callable[[Floats, int], Floats]) -> Floats:
    """adjust(ascending p-values, their number) put back in place, at most 1; NaN stay."""
    flat = p.reshape(-1)
    order = np.argsort(flat, kind="stable")[: np.count_nonzero(~np.isnan(flat))]  # NaN sort last
    adjusted = np.full(flat.shape, np.nan)
    adjusted[order] = np.minimum(adjust(flat[order], len(order)), 1.0)
    return adjusted.reshape(p.shape)


CORRECTIONS: Final[dict[str, Callable[[Floats], Floats]]] = {
    "holm": holm,
    "bonferroni": bonferroni,
    "bh": benjamini_hochberg,
    "none": np.copy,
}
"""The corrections that need the p-values alone. 'maxt' needs the differences: see maxt."""


def maxt(differences: Floats, sampling: Sampling, weights: Floats | None = None) -> Floats:
    """The step-down maxT p-values, (C,), of the comparisons in the columns of differences (Q, C). A sign flip,
    one of those of tests.randomization_tests, flips a query's differences in all columns, which keeps their
    dependence. With the comparisons in descending order of |t|, the adjusted p of the i-th is (b + 1) / (B +
    1), b the number of flips in which the largest |t*| of the i-th and those after it reaches its |t|, to
    1e-12; and no less than those before it. NaN are pairs that are left out, and the p of a comparison with
    fewer than 2 pairs or with equal differences, which is outside of the family. weights: of the queries, (Q,):
    t is that of the differences, each times its weight; those of weight 0 are left out.
    Source: Westfall and Young, "Resampling-Based Multiple Testing", 1993, algorithm 4.1.
    """
    weights = np.ones(len(differences)) if weights is None else relative(weights)
    adjusted = np.full(differences.shape[1], np.nan)
    samples = [Sample.of(column, weights) for column in differences.T]
    family = [c for c, sample in enumerate(samples) if not reason_without_p(sample.values, sample.effective_n)]
    if not family:
        return adjusted
    valid = ~np.isnan(differences[:, family]) & (weights > 0)[:, None]
    rows = np.flatnonzero(valid.any(axis=1))
    if len(rows) > FEW_PAIRS:  # random signs belong to the rows: all stay in their places
        rows = np.arange(len(valid))
    weighted = differences[:, family] * weights[:, None]
    values = np.where(valid, weighted, 0.0)[rows]
    pairs = valid.sum(axis=0)
    fixed = FixedPoint.of(values)
    total = fixed.parts.sum(axis=0)
    scale = np.sqrt(pairs) * np.array([root_sum_of_squares(column) for column in values.T])

    def studentized(sums: Floats) -> Floats:
        """|t| of flips by the sums (R, 2 C) of what they flip, as t^2 / (t^2 + N - 1), (R, C): sum d^2 is the
        same for all flips, and this needs no division by 0. N: the largest number of pairs, for all.
        """
        square = np.minimum(np.abs(fixed.value(total - 2 * sums)) / scale, 1.0) ** 2
        return np.asarray(np.sqrt(square / (square + (1 - square) * ((pairs.max() - 1) / (pairs - 1)))))

    observed = studentized(np.zeros((1, len(total))))[0]
    order = np.argsort(-observed, kind="stable")
    reached = observed[order] - TOLERANCE

    def exceeding(sums: Floats) -> Ints:
        """How many of the flips reach each |t| with one of the comparisons from it on, (C,)."""
        largest = np.maximum.accumulate(studentized(sums)[:, order[::-1]], axis=1)[:, ::-1]
        return np.asarray((largest >= reached).sum(axis=0))

    extreme = sum(over_flips(fixed.parts, sampling, exceeding), np.zeros(len(family), np.int64))
    p = (extreme + 1) / (sampling.flips(len(values)) + 1)
    adjusted[np.array(family)[order]] = np.maximum.accumulate(p)
    return adjusted


TOO_FEW: Final = "fewer than 2 queries with a value of every system"
NO_RESIDUAL: Final = "the differences between systems are equal for all queries"
EQUAL_SYSTEMS: Final = "all systems have equal values"
_MOST_TRIED = 1 << 16  # permutations up to which all are tried


class VarianceSource(Record):
    """One source of variance."""

    squares: float  # the sum of squares, in the squared unit of the values, as is mean_square
    df: int
    mean_square: float  # NaN of the total
    f: float = math.nan  # NaN of the residual, of the total and without residual variance, as is p
    p: float = math.nan

    def scaled(self, exponent: int) -> VarianceSource:
        """Of values whose squares are 2^exponent times as large."""
        squares, mean_square = (math.ldexp(number, exponent) for number in (self.squares, self.mean_square))
        return self.replace(squares=squares, mean_square=mean_square)


class TwoWayAnova(Record, eq=False):
    """The analysis of Q queries and S systems."""

    queries: int
    means: Floats  # of the systems, (S,)
    system: VarianceSource
    query: VarianceSource
    residual: VarianceSource  # its mean square is the residual variance
    total: VarianceSource
    effect_sizes: Floats  # (S, S), [i, j] = (means[i] - means[j]) / sqrt(residual variance), unit free
    reason: str = ""  # why there is no F
    interaction: VarianceSource | None = None  # of systems and queries, with replicates only


def two_way_anova(values: Floats) -> TwoWayAnova:
    """The two-way analysis of variance without replication of values (Q, S), queries by 2 or more systems. Sums
    of squares: system Q sum_s (m_s - m)^2, query S sum_q (m_q - m)^2, residual sum (x_qs - m_q - m_s + m)^2,
    total sum (x_qs - m)^2. F = mean square / residual variance, with S - 1 or Q - 1, and (S - 1)(Q - 1),
    degrees of freedom. Queries where a system has no value (NaN) are left out. Sums do not depend on the order
    of the queries.
    Source: Sakai, "Laboratory Experiments in Information Retrieval", 2018, chapters 3 and 5.
    """
    systems = values.shape[1]
    complete = values[~np.isnan(values).any(axis=1)]
    queries = len(complete)
    unknown = np.full((systems, systems), np.nan)
    if queries < 2:
        nothing = VarianceSource(math.nan, 0, math.nan)
        return TwoWayAnova(
            queries, unknown[0], nothing, nothing, nothing, total=nothing, effect_sizes=unknown, reason=TOO_FEW
        )
    # on a scale where the largest value is about 1, no square of a small value vanishes
    exponent = int(np.frexp(np.abs(complete).max())[1])
    complete = np.ldexp(complete, -exponent)
    of_system = _means(complete.T)
    of_query = _means(complete)
    overall = _sum(complete) / complete.size
    residuals = complete - of_query[:, None] - of_system + overall
    df = (systems - 1) * (queries - 1)
    variance = _sum(residuals**2) / df
    reason = NO_RESIDUAL if np.abs(residuals).max() <= TOLERANCE * np.abs(complete).max() else ""
    divisor = math.nan if reason else variance
    scale = 2 * exponent
    sources = (
        _factor(queries * _sum((of_system - overall) ** 2), systems - 1, divisor, df).scaled(scale),
        _factor(systems * _sum((of_query - overall) ** 2), queries - 1, divisor, df).scaled(scale),
        VarianceSource(variance * df, df, variance).scaled(scale),
        VarianceSource(_sum((complete - overall) ** 2), complete.size - 1, math.nan).scaled(scale),
    )
    effects = (of_system[:, None] - of_system) / math.sqrt(divisor)
    return TwoWayAnova(queries, np.ldexp(of_system, exponent), *sources, effects, reason)


def _factor(squares: float, df: int, variance: float, residual_df: int) -> VarianceSource:
    """A source with F. variance: the residual one, NaN where there is no F."""
    from scipy.special import fdtrc

    f = squares / df / variance
    return VarianceSource(squares, df, squares / df, f, float(fdtrc(df, residual_df, f)))


def replicated_anova(systems: Sequence[Floats]) -> TwoWayAnova:
    """The two-way analysis of variance with replication: for each system the values of its runs, (R, Q), with
    the same R > 1 for all. Sums of squares: system Q R sum_s (m_s - m)^2, query S R sum_q (m_q - m)^2,
    interaction R sum (m_qs - m_q - m_s + m)^2, residual sum (x_qsr - m_qs)^2. F = mean square / residual
    variance, with S - 1, Q - 1 or (S - 1)(Q - 1), and Q S (R - 1), degrees of freedom. Queries where a run has
    no value (NaN) are left out.
    Source: Voorhees, Samarov, Soboroff, "Using Replicates in Information Retrieval Evaluation", TOIS 2017.
    """
    counts = {len(of_system) for of_system in systems}
    if len(counts) > 1 or counts == {1}:
        nothing = two_way_anova(np.empty((0, len(systems))))
        return nothing.replace(reason="systems have different numbers of runs")
    [runs] = counts
    values = np.array(systems).transpose(2, 0, 1)  # (Q, S, R)
    values = values[~np.isnan(values).any(axis=(1, 2))]
    of_cells = values.mean(axis=2)
    plain = two_way_anova(of_cells)
    if plain.reason == TOO_FEW:
        return plain
    queries, count = of_cells.shape
    df = queries * count * (runs - 1)
    within = _sum((values - of_cells[..., None]) ** 2)
    is_exact = np.abs(values - of_cells[..., None]).max() <= TOLERANCE * np.abs(values).max()
    variance = math.nan if is_exact else within / df
    total = _sum((values - _sum(values) / values.size) ** 2)
    system, query, interaction = (
        _factor(runs * source.squares, source.df, variance, df)
        for source in (plain.system, plain.query, plain.residual)
    )
    return plain.replace(
        system=system,
        query=query,
        interaction=interaction,
        residual=VarianceSource(within, df, within / df),
        total=VarianceSource(total, values.size - 1, math.nan),
        effect_sizes=(plain.means[:, None] - plain.means) / math.sqrt(variance),
        reason=NO_RESIDUAL if is_exact else "",
    )


def _means(rows: Floats) -> Floats:
    return np.array([math.fsum(row) / len(row) for row in rows.tolist()])


def _sum(values: Floats) -> float:
    return math.fsum(values.reshape(-1).tolist())


class TukeyHSD(Record, eq=False):
    """The randomized Tukey HSD test of S systems. n: queries with a value of every system. differences: (S, S),
    [i, j] = mean i - mean j. p: (S, S), of each pair, corrected for all; NaN on the diagonal, and everywhere if
    `reason` says why there is none. margin: the honestly significant difference: differences -/+ margin contain
    0 exactly where p >= alpha; infinite where no p can be below alpha, NaN without p. method: how p was found.
    """

    n: int
    differences: Floats
    p: Floats
    margin: float
    reason: str = ""
    method: str = ""


def randomized_tukey_hsd(values: Floats, alpha: float, sampling: Sampling) -> TukeyHSD:
    """The randomized Tukey HSD test of the 2 or more systems in the columns of values (Q, S), paired by query.
    Of each of B random permutations of the values within all queries, the range is the largest difference
    between two systems' means. p = (b + 1) / (B + 1), b the permutations whose range reaches the pair's
    difference, to 1e-12 of the largest possible range; exact where there are up to 65,536 permutations, which
    are all tried. Queries where a system has no value (NaN) are left out.
    Source: Carterette, "Multiple testing in statistical analysis of systems-based IR", TOIS 2012.
    """
    systems = values.shape[1]
    complete = values[~np.isnan(values).any(axis=1)]
    queries = len(complete)
    unknown = np.full((systems, systems), np.nan)
    if queries < 2:
        return TukeyHSD(queries, unknown, unknown, math.nan, TOO_FEW)
    # as multiples of a unit, 2^-49 of the largest value for 7,000 queries: no sum of them reaches 2^62
    exponent = int(np.frexp(np.abs(complete).max())[1]) - (62 - queries.bit_length())
    integers = np.rint(np.ldexp(complete, -exponent)).astype(np.int64)
    unit = math.ldexp(1.0, exponent)
    totals = integers.sum(axis=0)
    sums = (totals[:, None] - totals) * unit
    spread = np.ptp(complete, axis=1)
    if (spread <= TOLERANCE * np.abs(complete).max(axis=1)).all():
        return TukeyHSD(queries, sums / queries, unknown, math.nan, EQUAL_SYSTEMS)
    count = math.factorial(systems) ** min(queries, _MOST_TRIED.bit_length())
    is_exact = count <= _MOST_TRIED
    if is_exact:
        permuted = np.zeros((1, systems), np.int64)
        for row in integers:
            rows = np.array([*permutations(row.tolist())])  # the first is the row itself
            permuted = (permuted[:, None] + rows).reshape(-1, systems)
        ranges = np.ptp(permuted[1:], axis=1).astype(np.float64)  # without that of the values as they are
    else:
        ranges = permuted_ranges(integers, sampling)
    ranges = np.sort(ranges) * unit
    slack = TOLERANCE * math.fsum(spread.tolist())
    extreme = len(ranges) - np.searchsorted(ranges + slack, np.abs(sums))
    p = (extreme + 1) / (len(ranges) + 1)
    needed = fewest_extreme(len(ranges), alpha)
    differences = sums / queries
    margin = float(ranges[-needed]) / queries if needed else math.inf
    if ((np.abs(differences) <= margin) != (p >= alpha)).any():  # a tie but for rounding
        margin += slack / queries
    np.fill_diagonal(p, np.nan)
    method = f"{'all ' * is_exact}{count if is_exact else sampling.samples:,} permutations within queries"
    return TukeyHSD(queries, differences, p, margin, method=method)


def alike_sets(count: int, different: Iterable[tuple[int, int]]) -> list[frozenset[int]]:
    """The largest sets of which no two members are a pair that differs, of the positions below `count`: a
    letter for each set is a compact letter display (Piepho 2004, by insertion and absorption). Ordered by their
    members.
    """
    sets = [frozenset(range(count))]
    for pair in different:
        parts = [
            of_pair - {position} if of_pair.issuperset(pair) else of_pair
            for of_pair in sets
            for position in pair
        ]
        distinct = list(dict.fromkeys(parts))
        sets = [part for part in distinct if not any(part < other for other in distinct)]
    return sorted(sets, key=sorted)
