"""Random permutations of the systems' values within each query, and the exact sums of the systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import permutations

import numpy as np

from gradeval.analysis.stats.sampling import PERMUTATIONS, Sampling, Stream, scaled
from gradeval.arrays import Floats, Ints
from gradeval.arrays.threads import ordered_map

MOST_LISTED = 8  # systems whose permutations are listed: there are 40,320
_TABLE = 1 << 10  # rows of a table of several queries: it stays in the cache with the sums that it adds to
_TILE = 1 << 14  # rows of the tables whose draws share a stream
_ROWS = 1 << 12  # samples that share a stream
_SPAN = 1 << 18  # samples whose sums are held at once, a multiple of _ROWS
_PERMUTED = 1 << 15  # values permuted in a block of Fisher and Yates, all its samples together: cached too


def permuted_ranges(integers: Ints, sampling: Sampling) -> Floats:
    """The range of the systems' sums for each random permutation of integers (Q, S), (samples,).

    The values of each query are permuted by themselves, and all their permutations are equally likely. For up
    to 8 systems they are looked up in tables, otherwise made by the method of Fisher and Yates.
    """
    is_listed = integers.shape[1] <= MOST_LISTED
    return np.concatenate(list((_listed if is_listed else _made)(integers, sampling)))


def _range(sums: Ints) -> Floats:
    """Of sums (S, samples), (samples,)."""
    spread: Ints = np.ptp(sums, axis=0)
    return spread.astype(np.float64)


def _listed(integers: Ints, sampling: Sampling) -> Iterator[Floats]:
    """The ranges by tables of the sums of all permutations, a table for one query or a few.

    A table has the queries that follow each other as long as it has at most 2^10 rows, and at least one query.
    Its rows are in lexicographic order, that of the last query changing first; a permutation names the value
    that each system gets. A tile has the tables that follow each other as long as they have at most 2^14 rows,
    and at least one. The stream of 4,096 samples in a tile, whose block is the number of the former times the
    number of tiles plus that of the tile, has one 32-bit half for each table and sample, in this order.
    """
    queries, systems = integers.shape
    listed = np.array(list(permutations(range(systems))), np.intp)[:, :-1]  # the last has what is left
    together = 1
    while len(listed) ** (together + 1) <= _TABLE:
        together += 1
    starts = range(0, queries, together)
    each = max(1, _TILE // len(listed) ** together)
    tiles = -(-len(starts) // each)
    total = integers.sum()

    def table(start: int) -> Ints:
        sums = np.zeros((1, systems - 1), np.int64)
        for values in integers[start : start + together]:
            sums = (sums[:, None] + values[listed]).reshape(-1, systems - 1)
        return sums

    def add(tables: Sequence[Ints], tile: int, sums: Ints, begin: int, first: int) -> None:
        """Add the tables' draws for the samples begin + first on to their sums, of which those are a part."""
        own = sums[first : first + _ROWS]
        stream = Stream(sampling.seed, PERMUTATIONS, (begin + first) // _ROWS * tiles + tile)
        drawn = stream.halves(len(tables) * len(own)).reshape(len(tables), -1)
        moved = np.empty_like(own)
        for one, halves in zip(tables, drawn, strict=True):
            one.take(scaled(halves, len(one)), axis=0, out=moved, mode="clip")  # fast: all are in it
            own += moved

    for begin in range(0, sampling.samples, _SPAN):
        sums = np.zeros((min(_SPAN, sampling.samples - begin), systems - 1), np.int64)
        for tile in range(tiles):
            tables = [table(start) for start in starts[tile * each : (tile + 1) * each]]
            adding = partial(add, tables, tile, sums, begin)
            for _ in ordered_map(adding, range(0, len(sums), _ROWS), sampling.jobs):
                pass
        yield _range(np.concatenate([sums.T, total - sums.sum(axis=1)[None]]))


def _made(integers: Ints, sampling: Sampling) -> Iterator[Floats]:
    """The ranges by permutations of Fisher and Yates, in blocks.

    For k from S down to 2, a random one of the first k values moves to place k. The draws are the 32-bit halves
    of the block's stream, in the order (k, sample, query). A block has the largest number of samples that moves
    at most 2^15 values, and at least one.
    """
    queries, systems = integers.shape
    block_rows = max(1, _PERMUTED // integers.size)
    columns = np.ascontiguousarray(integers.T)
    totals = integers.sum()

    def one_block(block: int) -> Floats:
        rows = min(block_rows, sampling.samples - block * block_rows)
        size = rows * queries
        drawn = Stream(sampling.seed, PERMUTATIONS, block).halves((systems - 1) * size)
        left = np.repeat(columns[:, None], rows, axis=1).reshape(-1)
        sums = np.empty((systems, rows), np.int64)
        cells = np.arange(size)
        moved = np.empty(size, np.int64)
        for step, last in enumerate(range(systems - 1, 0, -1)):
            place = scaled(drawn[step * size : (step + 1) * size], last + 1)
            place *= size
            place += cells
            left.take(place, out=moved, mode="clip")  # which is fast, since no place is out of bounds
            moved.reshape(rows, queries).sum(axis=1, out=sums[last])
            if last > 1:  # afterwards nothing is looked at but the sum of what is left
                left[place] = left[last * size : (last + 1) * size]
        sums[0] = totals - sums[1:].sum(axis=0)
        return _range(sums)

    return ordered_map(one_block, range(-(-sampling.samples // block_rows)), sampling.jobs)
