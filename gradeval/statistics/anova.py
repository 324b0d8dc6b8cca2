"""Several systems at once: two-way analysis of variance, and the randomized Tukey HSD test of all pairs."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Final

import numpy as np

from gradeval.arrays import Floats
from gradeval.records import Record
from gradeval.statistics.intervals import fewest_extreme
from gradeval.statistics.sampling import TOLERANCE, Sampling, permuted_ranges

TOO_FEW: Final = "fewer than 2 queries with a value of every system"
NO_RESIDUAL: Final = "the differences between systems are equal for all queries"
EQUAL_SYSTEMS: Final = "all systems have equal values"
_MOST_TRIED = 1 << 16  # permutations up to which all are tried


class Source(Record):
    """One source of variance. squares, mean_square: in the squared unit of the values. NaN are F and p of the
    residual, of the total and without residual variance, and the mean square of the total.
    """

    squares: float
    df: int
    mean_square: float
    f: float = math.nan
    p: float = math.nan


class TwoWayAnova(Record, eq=False):
    """The analysis of Q queries and S systems.

    means: (S,), of the systems. residual.mean_square is the residual variance. effect_sizes: (S, S),
    [i, j] = (means[i] - means[j]) / sqrt(residual variance), unit free. reason: why there is no F, or ''.
    """

    queries: int
    means: Floats
    system: Source
    query: Source
    residual: Source
    total: Source
    effect_sizes: Floats
    reason: str = ""


def two_way_anova(values: Floats) -> TwoWayAnova:
    """The two-way analysis of variance without replication of values (Q, S), queries by 2 or more systems.

    Sums of squares: system Q sum_s (m_s - m)^2, query S sum_q (m_q - m)^2, residual
    sum (x_qs - m_q - m_s + m)^2, total sum (x_qs - m)^2. F = mean square / residual variance, with S - 1 or
    Q - 1, and (S - 1)(Q - 1), degrees of freedom. Queries where a system has no value (NaN) are left out. Sums
    do not depend on the order of the queries.
    Source: Sakai, "Laboratory Experiments in Information Retrieval", 2018, chapters 3 and 5.
    """
    from scipy.special import fdtrc

    systems = values.shape[1]
    complete = values[~np.isnan(values).any(axis=1)]
    queries = len(complete)
    unknown = np.full((systems, systems), np.nan)
    if queries < 2:
        nothing = Source(math.nan, 0, math.nan)
        return TwoWayAnova(queries, unknown[0], nothing, nothing, nothing, nothing, unknown, TOO_FEW)
    # on a scale where the largest value is about 1, no square of a small value vanishes
    exponent = int(np.frexp(np.abs(complete).max())[1])
    complete = np.ldexp(complete, -exponent)
    of_system, of_query, overall = _means(complete.T), _means(complete), _sum(complete) / complete.size
    residuals = complete - of_query[:, None] - of_system + overall
    df = (systems - 1) * (queries - 1)
    variance = _sum(residuals**2) / df
    reason = NO_RESIDUAL if np.abs(residuals).max() <= TOLERANCE * np.abs(complete).max() else ""

    def unscaled(squares: float) -> float:
        return math.ldexp(squares, 2 * exponent)

    def factor(squares: float, own_df: int) -> Source:
        f = math.nan if reason else squares / own_df / variance
        p = float(fdtrc(own_df, df, f))
        return Source(unscaled(squares), own_df, unscaled(squares / own_df), f, p)

    return TwoWayAnova(
        queries,
        np.ldexp(of_system, exponent),
        factor(queries * _sum((of_system - overall) ** 2), systems - 1),
        factor(systems * _sum((of_query - overall) ** 2), queries - 1),
        Source(unscaled(variance * df), df, unscaled(variance)),
        Source(unscaled(_sum((complete - overall) ** 2)), complete.size - 1, math.nan),
        unknown if reason else (of_system[:, None] - of_system) / math.sqrt(variance),
        reason,
    )


def _means(rows: Floats) -> Floats:
    return np.array([math.fsum(row) / len(row) for row in rows.tolist()])


def _sum(values: Floats) -> float:
    return math.fsum(values.reshape(-1).tolist())


class TukeyHSD(Record, eq=False):
    """The randomized Tukey HSD test of S systems.

    n: queries with a value of every system. differences: (S, S), [i, j] = mean i - mean j. p: (S, S), of each
    pair, corrected for all of them; NaN on the diagonal, and everywhere if `reason` says why there is none
    (else ''). margin: the honestly significant difference: differences -/+ margin contain 0 exactly where
    p >= alpha; infinite where no p can be below alpha, NaN without p. method: how p was found.
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
    Source: Carterette, "Multiple testing in statistical analysis of systems-based information retrieval
    experiments", TOIS 2012; Sakai, "Evaluation with informational and navigational intents", WWW 2012.
    """
    systems = values.shape[1]
    complete = values[~np.isnan(values).any(axis=1)]
    queries = len(complete)
    unknown = np.full((systems, systems), np.nan)
    if queries < 2:
        return TukeyHSD(queries, unknown, unknown, math.nan, TOO_FEW)
    # as multiples of a unit, 2^-49 of the largest value for 7,000 queries: no sum of them reaches 2^62
    exponent = int(np.frexp(np.abs(complete).max())[1]) - (62 - queries.bit_length())
    integers, unit = np.rint(np.ldexp(complete, -exponent)).astype(np.int64), math.ldexp(1.0, exponent)
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
    differences, margin = sums / queries, float(ranges[-needed]) / queries if needed else math.inf
    if ((np.abs(differences) <= margin) != (p >= alpha)).any():  # a tie but for rounding
        margin += slack / queries
    np.fill_diagonal(p, np.nan)
    method = f"{'all ' * is_exact}{count if is_exact else sampling.samples:,} permutations within queries"
    return TukeyHSD(queries, differences, p, margin, method=method)
