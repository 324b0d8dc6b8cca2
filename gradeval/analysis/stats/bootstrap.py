"""Random resamples of the queries with replacement, and the exact sums of their differences."""

from __future__ import annotations

import numpy as np

from gradeval.analysis.stats.fixed_point import FixedPoint
from gradeval.analysis.stats.sampling import RESAMPLES, Sampling, random_fractions
from gradeval.arrays import Floats
from gradeval.arrays.threads import ordered_map

_DRAWN = 1 << 15  # queries drawn in a block, all its resamples together: the block stays in the cache


def resampled_means(differences: Floats, sampling: Sampling) -> Floats:
    """The means of bootstrap resamples, (samples, C), of differences (n, C) without NaN, in their unit.

    A resample draws n of the n rows with replacement, the same rows for every column. The draws of a
    resample are consecutive 32-bit halves of the block's stream, the low one first: half * n / 2^32, rounded
    down. A block has the largest number of resamples that draws at most 2^15 rows, and at least one.
    """
    queries = len(differences)
    fixed = FixedPoint.of(differences)
    block_rows = max(1, _DRAWN // queries)

    def one_block(block: int) -> Floats:
        rows = min(block_rows, sampling.samples - block * block_rows)
        drawn = random_fractions(sampling.seed, RESAMPLES, block, rows * queries).reshape(rows, queries)
        drawn *= np.uint64(queries)
        drawn >>= np.uint64(32)
        drawn += (np.arange(rows, dtype=np.uint64) * np.uint64(queries))[:, None]
        times = np.bincount(drawn.view(np.int64).reshape(-1), minlength=rows * queries)
        return fixed.value(times.reshape(rows, queries).astype(np.float64) @ fixed.parts)

    blocks = range(-(-sampling.samples // block_rows))
    return np.concatenate(list(ordered_map(one_block, blocks, sampling.jobs))) / queries
