"""The randomized Tukey HSD test: all pairs of systems at once, on one metric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from typing import Final

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.statistics.anova import TOO_FEW
from gradeval.statistics.intervals import check_alpha, least_accepted
from gradeval.statistics.permutations import permuted_ranges
from gradeval.statistics.sampling import TOLERANCE, Sampling

EQUAL_SYSTEMS: Final = "all systems have equal values"
_MOST_TRIED = 1 << 16  # permutations up to which all are tried


@dataclass(frozen=True)
class TukeyHSD:
    """The randomized Tukey HSD test of S systems.

    n: queries with a value of every system. differences: (S, S), [i, j] = mean i - mean j, in the unit of the
    values. p: (S, S), symmetric, of each pair, corrected for all of them; NaN on the diagonal, and everywhere
    if `reason` says why there is none (else ''). margin: the honestly significant difference, in the unit of
    the values. The simultaneous intervals differences -/+ margin contain 0 exactly where p >= alpha; margin
    is infinite where no p can be below alpha with so few samples, and NaN without p. method: how p was found.
    """

    n: int
    differences: Floats
    p: Floats
    margin: float
    reason: str = ""
    method: str = ""


def randomized_tukey_hsd(values: Floats, alpha: float, sampling: Sampling) -> TukeyHSD:
    """The randomized Tukey HSD test of the systems in the columns of values (Q, S), paired by query.

    Under the null hypothesis that all systems are equal, each query's values could have come from the systems
    in any order. For each of B random permutations within all queries, the range is the largest difference
    between two systems' means. p = (b + 1) / (B + 1), b the permutations whose range reaches the pair's
    difference, to 1e-12 of the largest possible range. Up to 65,536 permutations, as of 2 systems and 16
    queries, are all tried, and p is exact. Queries where a system has no value (NaN) are left out. With 2
    systems it is Fisher's randomization test. permutations.permuted_ranges draws the permutations.

    Raises OptionError for an alpha out of range, ValueError for infinite values or fewer than 2 systems.
    Source: Carterette, "Multiple testing in statistical analysis of systems-based information retrieval
    experiments", TOIS 2012; Sakai, "Evaluation with informational and navigational intents", WWW 2012.
    """
    check_alpha(alpha)
    systems = values.shape[1]
    if systems < 2 or np.isinf(values).any():
        raise ValueError("there must be at least 2 systems, with finite or NaN values")
    complete = values[~np.isnan(values).any(axis=1)]
    queries = len(complete)
    unknown = np.full((systems, systems), np.nan)
    if queries < 2:
        return TukeyHSD(queries, unknown, unknown, math.nan, TOO_FEW)
    integers, unit = _integers(complete)
    totals = integers.sum(axis=0)
    sums = (totals[:, None] - totals) * unit
    spread = np.ptp(complete, axis=1)
    if (spread <= TOLERANCE * np.abs(complete).max(axis=1)).all():
        return TukeyHSD(queries, sums / queries, unknown, math.nan, EQUAL_SYSTEMS)
    count = math.factorial(systems) ** min(queries, _MOST_TRIED.bit_length())
    is_exact = count <= _MOST_TRIED
    ranges = np.sort(_other_ranges(integers) if is_exact else permuted_ranges(integers, sampling)) * unit
    slack = TOLERANCE * math.fsum(spread.tolist())
    extreme = len(ranges) - np.searchsorted(ranges + slack, np.abs(sums))
    p = (extreme + 1) / (len(ranges) + 1)
    needed = least_accepted(lambda b: (b + 1) / (len(ranges) + 1) >= alpha, len(ranges))
    differences, margin = sums / queries, float(ranges[-needed]) / queries if needed else math.inf
    if ((np.abs(differences) <= margin) != (p >= alpha)).any():  # a tie but for rounding
        margin += slack / queries
    np.fill_diagonal(p, np.nan)
    method = f"{'all ' * is_exact}{count if is_exact else sampling.samples:,} permutations within queries"
    return TukeyHSD(queries, differences, p, margin, method=method)


def _other_ranges(integers: Ints) -> Floats:
    """The range of the systems' sums for all permutations of integers (Q, S) but the first, (S!^Q - 1,)."""
    sums = np.zeros((1, integers.shape[1]), np.int64)
    for row in integers:
        rows = np.array([*permutations(row.tolist())])  # the first is the row itself
        sums = (sums[:, None] + rows).reshape(-1, integers.shape[1])
    spread: Ints = np.ptp(sums[1:], axis=1)
    return spread.astype(np.float64)


def _integers(values: Floats) -> tuple[Ints, float]:
    """Values (Q, S) as multiples of a unit, (Q, S), and the unit; the sum of any Q of them stays below 2^62.

    The unit is 2^-49 of the largest value for 7,000 queries.
    """
    exponent = int(np.frexp(np.abs(values).max())[1]) - (62 - len(values).bit_length())
    return np.rint(np.ldexp(values, -exponent)).astype(np.int64), math.ldexp(1.0, exponent)
