"""Two-way analysis of variance without replication: system by query."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from gradeval.arrays import Floats
from gradeval.statistics.sampling import TOLERANCE

TOO_FEW: Final = "fewer than 2 queries with a value of every system"
NO_RESIDUAL: Final = "the differences between systems are equal for all queries"


@dataclass(frozen=True)
class Source:
    """One source of variance: its sum of squares, degrees of freedom, mean square, F and p.

    squares and mean_square are in the squared unit of the values. F and p are NaN for the residual and the
    total, and where there is no residual variance; so is the mean square of the total.
    """

    squares: float
    df: int
    mean_square: float
    f: float = math.nan
    p: float = math.nan


@dataclass(frozen=True)
class TwoWayAnova:
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
    """The two-way analysis of variance without replication of values (Q, S), queries by systems.

    Model: value = mean + system effect + query effect + normal error. Sums of squares: system
    Q sum_s (m_s - m)^2, query S sum_q (m_q - m)^2, residual sum (x_qs - m_q - m_s + m)^2, total
    sum (x_qs - m)^2. F = mean square / residual variance, with S - 1 or Q - 1, and (S - 1)(Q - 1), degrees of
    freedom. Effect sizes are differences of means over the residual standard deviation, as for Tukey's HSD.
    Queries where a system has no value (NaN) are left out. Sums do not depend on the order of the queries.

    Raises ValueError for fewer than 2 systems or infinite values.
    Source: Sakai, "Laboratory Experiments in Information Retrieval", 2018, chapters 3 and 5.
    """
    from scipy.special import fdtrc

    systems = values.shape[1]
    if systems < 2 or np.isinf(values).any():
        raise ValueError("there must be at least 2 systems, with finite or NaN values")
    complete = values[~np.isnan(values).any(axis=1)]
    queries = len(complete)
    if queries < 2:
        nothing, unknown = Source(math.nan, 0, math.nan), np.full((systems, systems), np.nan)
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
        mean_square = squares / own_df
        if reason:
            return Source(unscaled(squares), own_df, unscaled(mean_square))
        f = mean_square / variance
        return Source(unscaled(squares), own_df, unscaled(mean_square), f, float(fdtrc(own_df, df, f)))

    return TwoWayAnova(
        queries,
        np.ldexp(of_system, exponent),
        factor(queries * _sum((of_system - overall) ** 2), systems - 1),
        factor(systems * _sum((of_query - overall) ** 2), queries - 1),
        Source(unscaled(variance * df), df, unscaled(variance)),
        Source(unscaled(_sum((complete - overall) ** 2)), complete.size - 1, math.nan),
        np.full((systems, systems), np.nan)
        if reason
        else (of_system[:, None] - of_system) / math.sqrt(variance),
        reason,
    )


def _means(rows: Floats) -> Floats:
    """The mean of each row, with correctly rounded sums."""
    return np.array([math.fsum(row) / len(row) for row in rows.tolist()])


def _sum(values: Floats) -> float:
    return math.fsum(values.reshape(-1).tolist())
