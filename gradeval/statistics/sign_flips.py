"""Random signs for the queries, and exact sums of the differences that they flip.

Where two systems are equally good, a query's difference could as well have had the other sign (Fisher 1935).
Flipping a set of signs or its complement gives sums of equal magnitude, so of the 2^n sets of n queries only
2^(n-1) - 1 need be tried beside the observed one (no sign flipped). With b of these B sets at least as
extreme as it, p = (b + 1) / (B + 1), which for all sets is the exact share of the 2^n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Floats
from gradeval.arrays.threads import ordered_map
from gradeval.statistics.sampling import SIGNS, Sampling, Stream

EXHAUSTIVE = 16  # all sets of signs are tried up to this number of queries
_BLOCK = 1024  # flips that share a random stream
_CHUNK = 1024  # queries whose signs are unpacked at a time, so that a block takes 8 MB

R = TypeVar("R")


def flip_count(queries: int, sampling: Sampling) -> int:
    """How many sets of signs are tried besides the observed one."""
    return 2 ** (queries - 1) - 1 if queries <= EXHAUSTIVE else sampling.samples


def over_flips(columns: Floats, sampling: Sampling, function: Callable[[Floats], R]) -> Iterator[R]:
    """function(sums) for each block of flips, in order, on `sampling.jobs` threads.

    columns: (Q, M), integers, such as FixedPoint.parts. sums: (rows, M), for each flip the sums of the
    columns over the flipped queries; exact, for integers as small as FixedPoint's. The rows of all blocks
    are the flip_count(Q, sampling) flips: all of them up to 16 queries, else random ones.

    The bits of a random flip are those of its words in the block's stream, the low bit first: bit q is set
    if query q is flipped. A flip starts with a new word; a block has 1,024 flips.
    """
    count = flip_count(len(columns), sampling)
    if len(columns) <= EXHAUSTIVE:
        yield function(_sums(_all_flips(count), columns))
        return

    def one_block(block: int) -> R:
        rows = min(_BLOCK, count - block * _BLOCK)
        return function(_sums(_random_flips(len(columns), rows, block, sampling.seed), columns))

    yield from ordered_map(one_block, range(-(-count // _BLOCK)), sampling.jobs)


def _all_flips(count: int) -> NDArray[np.uint8]:
    """The sets of flipped queries from 1 to count as bits, (count, 4); the last query is in none of them."""
    return np.arange(1, count + 1, dtype="<u4").view(np.uint8).reshape(count, 4)


def _random_flips(queries: int, rows: int, block: int, seed: int) -> NDArray[np.uint8]:
    """Random sets of flipped queries as bits, (rows, bytes)."""
    words = -(-queries // 64)
    return Stream(seed, SIGNS, block).bytes(8 * rows * words).reshape(rows, 8 * words)


def _sums(flips: NDArray[np.uint8], columns: Floats) -> Floats:
    """The sums of the columns (Q, M) over the queries that are set in the flips (rows, bytes), (rows, M)."""
    queries = len(columns)
    sums = np.zeros((len(flips), columns.shape[1]))
    for start in range(0, queries, _CHUNK):
        packed = flips[:, start // 8 : (start + _CHUNK) // 8]
        count = min(_CHUNK, queries - start)
        bits = np.unpackbits(packed, axis=1, count=count, bitorder="little")
        sums += bits.astype(np.float64) @ columns[start : start + _CHUNK]
    return sums
