"""Random permutations of the systems' values within each query, and the exact sums of the systems.

The values of each query are permuted by themselves, and all their permutations are equally likely. What one
adds to the sums is looked up in tables where there are few systems, which takes a few nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Floats, Ints
from gradeval.arrays.threads import ordered_map
from gradeval.statistics.sampling import PERMUTATIONS, Sampling, Stream, scaled

MOST_LISTED = 8  # systems whose permutations are listed: there are 40,320
MOST_SPLIT = 12  # systems that are split into three groups: there are 34,650 ways
_TABLE = 1 << 10  # rows of a table of several queries: it stays in the cache with the sums that it adds to
_TILE = 1 << 14  # rows of the tables whose draws share a stream
_SPLIT_TILE = 4  # queries whose draws share a stream
_ROWS = 1 << 12  # samples that share a stream
_SPAN = 1 << 18  # samples whose sums are held at once, a multiple of _ROWS
_PERMUTED = 1 << 15  # values permuted in a block of Fisher and Yates, all its samples together: cached too

Halves = NDArray[np.uint32]
Add = Callable[[Sequence[Ints], Halves, Ints], None]
"""Adds what halves (draws, rows) draw to the sums of groups of systems, (rows, size); it may use the cells."""


def permuted_ranges(integers: Ints, sampling: Sampling) -> Floats:
    """The range of the systems' sums for each random permutation of integers (Q, S), (samples,).

    For up to 8 systems see _listed, for up to 12 _split, and for more _exchanged.
    """
    systems = integers.shape[1]
    if systems > MOST_SPLIT:
        return np.concatenate(list(_exchanged(integers, sampling)))
    lookup = (_listed if systems <= MOST_LISTED else _split)(systems)
    return np.concatenate(list(_looked_up(lookup, integers, sampling)))


def _range(sums: Ints) -> Floats:
    """Of sums (S, samples), (samples,)."""
    spread: Ints = np.ptp(sums, axis=0)
    return spread.astype(np.float64)


@dataclass(frozen=True)
class _Lookup:
    """A way to look permutations up.

    adder: makes what adds the sums of some queries, from their values (q, S). together: how many queries that
    are, but for the last. tile: how many times that share a stream. draws: for each sample of them. groups: the
    sizes of groups of systems whose sums are added, of all systems or all but the last.
    """

    adder: Callable[[Ints], Add]
    together: int
    tile: int
    draws: int
    groups: tuple[int, ...]

    def sums(self, cells: Ints) -> list[Ints]:
        """The cells of some samples as the sums of each group, (rows, size)."""
        parts = np.split(cells.reshape(sum(self.groups), -1), np.cumsum(self.groups)[:-1])
        return [part.reshape(-1, size) for part, size in zip(parts, self.groups, strict=True)]


def _looked_up(lookup: _Lookup, integers: Ints, sampling: Sampling) -> Iterator[Floats]:
    """The ranges, in spans of samples.

    The block of the stream of 4,096 samples and a tile is the number of the former times the number of tiles
    plus that of the tile. Its 32-bit halves come in the order (group of queries, draw, sample).
    """
    queries, systems = integers.shape
    starts = range(0, queries, lookup.together)
    tiles = -(-len(starts) // lookup.tile)
    total = integers.sum()

    def add(adders: Sequence[Add], block: int, part: tuple[int, Ints]) -> None:
        """Add to a part of a span, its place there and its cells. block: that of the first part."""
        place, own = part
        sums = lookup.sums(own)
        rows = len(sums[0])
        stream = Stream(sampling.seed, PERMUTATIONS, block + place * tiles)
        drawn = stream.halves(len(adders) * lookup.draws * rows)
        cells = np.empty(own.size, np.int64)
        for adder, halves in zip(adders, drawn.reshape(len(adders), lookup.draws, rows), strict=True):
            adder(sums, halves, cells)

    for begin in range(0, sampling.samples, _SPAN):
        ends = [
            *range(begin, min(begin + _SPAN, sampling.samples), _ROWS),
            min(begin + _SPAN, sampling.samples),
        ]
        parts = [np.zeros(rows * sum(lookup.groups), np.int64) for rows in np.diff(ends).tolist()]
        for tile in range(tiles):
            own = starts[tile * lookup.tile : (tile + 1) * lookup.tile]
            adders = [lookup.adder(integers[start : start + lookup.together]) for start in own]
            adding = partial(add, adders, begin // _ROWS * tiles + tile)
            for _ in ordered_map(adding, [*enumerate(parts)], sampling.jobs):
                pass
        for part in parts:
            sums = [column for group in lookup.sums(part) for column in group.T]
            rest = [total - np.sum(sums, axis=0)] if len(sums) < systems else []
            yield _range(np.array([*sums, *rest]))


def _listed(systems: int) -> _Lookup:
    """By tables of the sums of all permutations, of as many queries together as have at most 2^10 rows.

    One draw gives the row. Rows are in lexicographic order, that of the last query changing first; a
    permutation names the value that each system gets. Tables with at most 2^14 rows share a stream.
    """
    listed = np.array(list(permutations(range(systems))), np.intp)[:, :-1]  # the last has what is left
    together = 1
    while len(listed) ** (together + 1) <= _TABLE:
        together += 1

    def adder(values: Ints) -> Add:
        table = np.zeros((1, systems - 1), np.int64)
        for row in values:
            table = (table[:, None] + row[listed]).reshape(-1, systems - 1)

        def add(sums: Sequence[Ints], halves: Halves, cells: Ints) -> None:
            moved = cells.reshape(sums[0].shape)
            table.take(scaled(halves[0], len(table)), axis=0, out=moved, mode="clip")  # fast: all are in it
            np.add(sums[0], moved, out=sums[0])

        return add

    return _Lookup(adder, together, max(1, _TILE // len(listed) ** together), 1, (systems - 1,))


def _split(systems: int) -> _Lookup:
    """By tables of the values of three groups of systems: the first, the second and the third of them.

    Groups have a third of the systems each, the first ones one more where that leaves a rest. One draw splits
    the values: the set of the first group changes last and that of the second after the third, in
    lexicographic order. Another draw orders the values of the groups, likewise.
    """
    sizes = [(systems + 2 - g) // 3 for g in range(3)]
    sets = {size: list(combinations(range(systems), size)) for size in sizes}
    orders = {size: list(permutations(range(size))) for size in sizes}
    members = {
        size: np.array([[of[k] for k in order] for of in sets[size] for order in orders[size]], np.intp)
        for size in sizes
    }
    number = {size: {of: i * factorial(size) for i, of in enumerate(sets[size])} for size in sizes}
    everything = frozenset(range(systems))
    splits = np.array(
        [
            (number[sizes[0]][a], number[sizes[1]][b], number[sizes[2]][tuple(sorted(everything - {*a, *b}))])
            for a in sets[sizes[0]]
            for b in combinations(sorted(everything - {*a}), sizes[1])
        ],
        np.int64,
    ).T.copy()
    ordered = np.indices([factorial(size) for size in sizes]).reshape(3, -1)

    def adder(values: Ints) -> Add:
        tables = {size: values[0][members[size]] for size in sizes}

        def add(sums: Sequence[Ints], halves: Halves, cells: Ints) -> None:
            split = scaled(halves[0], splits.shape[1])
            order = scaled(halves[1], ordered.shape[1])
            for g, size in enumerate(sizes):
                row = splits[g].take(split, mode="clip")
                row += ordered[g].take(order, mode="clip")
                moved = cells[: len(row) * size].reshape(-1, size)
                tables[size].take(row, axis=0, out=moved, mode="clip")
                np.add(sums[g], moved, out=sums[g])

        return add

    return _Lookup(adder, 1, _SPLIT_TILE, 2, tuple(sizes))


def _exchanged(integers: Ints, sampling: Sampling) -> Iterator[Floats]:
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
