"""The randomized Tukey HSD test: all pairs of systems at once, on one metric."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from gradeval.analysis.stats.anova import TOO_FEW
from gradeval.analysis.stats.intervals import check_alpha, least_accepted
from gradeval.analysis.stats.sampling import PERMUTATIONS, TOLERANCE, Sampling, random_fractions
from gradeval.arrays import Floats, Ints
from gradeval.arrays.threads import ordered_map

EQUAL_SYSTEMS: Final = "all systems have equal values"

_PERMUTED = 1 << 15  # values permuted in a block, all its permutations together: the block stays in the cache


@dataclass(frozen=True)
class TukeyHSD:
    """The randomized Tukey HSD test of S systems.

    n: queries with a value of every system. differences: (S, S), [i, j] = mean i - mean j, in the unit of the
    values. p: (S, S), symmetric, of each pair, corrected for all of them; NaN on the diagonal, and everywhere
    if `reason` says why there is none (else ''). margin: the honestly significant difference, in the unit of
    the values. The simultaneous intervals differences -/+ margin contain 0 exactly where p >= alpha; margin
    is infinite where no p can be below alpha with so few samples, and NaN without p.
    """

    n: int
    differences: Floats
    p: Floats
    margin: float
    reason: str = ""


def randomized_tukey_hsd(values: Floats, alpha: float, sampling: Sampling) -> TukeyHSD:
    """The randomized Tukey HSD test of the systems in the columns of values (Q, S), paired by query.

    Under the null hypothesis that all systems are equal, each query's values could have come from the systems
    in any order. For each of B random permutations within all queries, the range is the largest difference
    between two systems' means. p = (b + 1) / (B + 1), b the permutations whose range reaches the pair's
    difference, to 1e-12 of the largest possible range. Queries where a system has no value (NaN) are left out.
    With 2 systems it is Fisher's randomization test.

    Permutations are those of Fisher and Yates: for k from S down to 2, a random one of the first k values
    moves to place k. The draws are the 32-bit halves of the block's stream, in the order (k, permutation,
    query). A block has the largest number of permutations that moves at most 2^15 values, and at least one.

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
    ranges = np.sort(np.concatenate(list(_ranges(integers, sampling)))) * unit
    ranges += TOLERANCE * math.fsum(spread.tolist())
    extreme = sampling.samples - np.searchsorted(ranges, np.abs(sums))
    p = (extreme + 1) / (sampling.samples + 1)
    np.fill_diagonal(p, np.nan)
    needed = least_accepted(lambda b: (b + 1) / (sampling.samples + 1) >= alpha, sampling.samples)
    margin = float(ranges[-needed]) / queries if needed else math.inf
    return TukeyHSD(queries, sums / queries, p, margin)


def _integers(values: Floats) -> tuple[Ints, float]:
    """Values (Q, S) as multiples of a unit, (Q, S), and the unit; the sum of any Q of them stays below 2^62.

    The unit is 2^-49 of the largest value for 7,000 queries.
    """
    exponent = int(np.frexp(np.abs(values).max())[1]) - (62 - len(values).bit_length())
    return np.rint(np.ldexp(values, -exponent)).astype(np.int64), math.ldexp(1.0, exponent)


def _ranges(integers: Ints, sampling: Sampling) -> Iterator[Floats]:
    """The ranges of the systems' sums of random permutations of integers (Q, S), in blocks."""
    queries, systems = integers.shape
    block_rows = max(1, _PERMUTED // integers.size)
    columns = np.ascontiguousarray(integers.T)

    totals = integers.sum(axis=0).sum()

    def one_block(block: int) -> Floats:
        rows = min(block_rows, sampling.samples - block * block_rows)
        size = rows * queries
        drawn = random_fractions(sampling.seed, PERMUTATIONS, block, (systems - 1) * size)
        left = np.repeat(columns[:, None], rows, axis=1).reshape(-1)
        sums = np.empty((systems, rows), np.int64)
        cells = np.arange(size, dtype=np.uint64)
        moved = np.empty(size, np.int64)
        for step, last in enumerate(range(systems - 1, 0, -1)):
            chosen = drawn[step * size : (step + 1) * size]  # is turned into places without a copy
            chosen *= np.uint64(last + 1)
            chosen >>= np.uint64(32)
            chosen *= np.uint64(size)
            chosen += cells
            place = chosen.view(np.int64)
            left.take(place, out=moved, mode="clip")  # which is fast, since no place is out of bounds
            moved.reshape(rows, queries).sum(axis=1, out=sums[last])
            if last > 1:  # afterwards nothing is looked at but the sum of what is left
                left[place] = left[last * size : (last + 1) * size]
        sums[0] = totals - sums[1:].sum(axis=0)
        spread: Ints = np.ptp(sums, axis=0)
        return spread.astype(np.float64)

    return ordered_map(one_block, range(-(-sampling.samples // block_rows)), sampling.jobs)
