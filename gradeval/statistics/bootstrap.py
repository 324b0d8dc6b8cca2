"""Random resamples of the queries with replacement, and the exact sums of their differences."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Floats, Ints
from gradeval.arrays.threads import ordered_map
from gradeval.statistics.fixed_point import FixedPoint
from gradeval.statistics.sampling import RESAMPLES, Sampling, Stream, scaled

_COUNTS = 1 << 17  # how often queries are drawn, in a block of resamples: 1 MB
_UNKNOWN = 255  # a count that 16 bits do not decide


def resampled_means(differences: Floats, sampling: Sampling) -> Floats:
    """The means of bootstrap resamples, (samples, C), of differences (n, C) without NaN, in their unit.

    A resample draws n of the n rows with replacement, the same rows for every column. What counts is how often
    it has each row: n numbers with a multinomial distribution. They are first drawn as n independent Poisson
    numbers with the mean max(0, 1 - 3 / sqrt(n)), whose sum is nearly always less than n, and given their sum
    they are multinomial; the draws that are missing are then made one by one. The few resamples with more than
    n begin again with 0 for each row.

    A block has the largest number of resamples with at most 2^17 counts, and at least one. Its stream has 16
    bits for each count, the high bits of a fraction; then 32 more for those that these do not decide; then 32
    for each missing draw, half * n / 2^32 rounded down; each of the three begins with a new word.
    """
    queries = len(differences)
    fixed = FixedPoint.of(differences)
    block_rows = max(1, _COUNTS // queries)
    thresholds = poisson_thresholds(max(0.0, 1 - 3 / sqrt(queries)))
    table = _counts_of_quarters(thresholds)

    def one_block(block: int) -> Floats:
        rows = min(block_rows, sampling.samples - block * block_rows)
        stream = Stream(sampling.seed, RESAMPLES, block)
        quarters = stream.quarters(rows * queries)
        counts = table.take(quarters, mode="clip")  # which is fast, since no place is out of bounds
        unknown = np.flatnonzero(counts == _UNKNOWN)
        fractions = (quarters[unknown].astype(np.int64) << 32) + stream.halves(len(unknown))
        counts[unknown] = np.searchsorted(thresholds, fractions, side="right")
        times = counts.reshape(rows, queries).astype(np.float64)
        missing = queries - counts.reshape(rows, queries).sum(axis=1, dtype=np.int64)
        too_many = missing < 0
        times[too_many], missing[too_many] = 0, queries
        drawn = scaled(stream.halves(int(missing.sum())), queries)
        drawn += np.repeat(np.arange(rows) * queries, missing)
        np.add.at(times.reshape(-1), drawn, 1.0)
        return fixed.value(times @ fixed.parts)

    blocks = range(-(-sampling.samples // block_rows))
    return np.concatenate(list(ordered_map(one_block, blocks, sampling.jobs))) / queries


def poisson_thresholds(mean: float) -> Ints:
    """P(X <= k) * 2^48 for k = 0, 1, ... of a Poisson number X, rounded down, while it is below 2^48.

    A random integer below 2^48 is a Poisson number by the count of thresholds that it reaches; probabilities
    are right to 2^-48. They are computed in decimals, so that they are the same on every machine.
    """
    with localcontext() as context:
        context.prec = 50
        term, total = (-Decimal(mean)).exp(), Decimal(0)
        found: list[int] = []
        for k in range(_UNKNOWN):
            total += term
            if (threshold := int(total * 2**48)) >= 2**48 - 1:
                break
            found.append(threshold)
            term *= Decimal(mean) / (k + 1)
    return np.array(found, np.int64)


def _counts_of_quarters(thresholds: Ints) -> NDArray[np.uint8]:
    """The count for each of the values of the high 16 bits, or _UNKNOWN, (2^16,)."""
    first = np.arange(1 << 16, dtype=np.int64) << 32
    least, most = (np.searchsorted(thresholds, ends, side="right") for ends in (first, first + (2**32 - 1)))
    return np.where(least == most, least, _UNKNOWN).astype(np.uint8)
