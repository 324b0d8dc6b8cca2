"""Random sampling: sign flips, resamples, permutations within queries; their streams and exact sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from functools import partial
from itertools import combinations, permutations
from math import factorial, sqrt
from typing import Any, Final, TypeVar

import numpy as np

from gradeval.arrays import Floats, Ints, NDArray
from gradeval.arrays.threads import ordered_map
from gradeval.records import Record

Halves = NDArray[np.uint32]
R = TypeVar("R")

TOLERANCE: Final = 1e-12
"""Relative difference below which two statistics are tied: rounding in the values must not decide."""

FEW_PAIRS: Final = 16
"""All sets of signs are tried up to this number of pairs."""

# the second word of a stream's key: each use of randomness has streams of its own
SIGNS, RESAMPLES, PERMUTATIONS = 1, 2, 3

_BLOCK = 1024  # flips that share a random stream
_CHUNK = 1024  # queries whose sign bits become numbers at a time: 8 MB for a block of flips
_COUNTS = 1 << 17  # how often queries are drawn, in a block of resamples: 1 MB
_UNKNOWN = 255  # a count that 16 bits do not decide
_MOST_LISTED = 8  # systems whose permutations are listed: there are 40,320
_MOST_SPLIT = 12  # systems that are split into three groups: there are 34,650 ways
_TABLE = 1 << 10  # rows of a table of several queries: it stays in the cache with the sums that it adds to
_TILE = 1 << 14  # rows of the tables whose draws share a stream
_SPLIT_TILE = 4  # queries whose draws share a stream
_ROWS = 1 << 12  # samples that share a stream
_SPAN = 1 << 18  # samples whose sums are held at once, a multiple of _ROWS
_PERMUTED = 1 << 15  # values permuted in a block of Fisher and Yates, all its samples together: cached too


class Sampling(Record):
    """Random sampling."""

    samples: int = 100_000  # sign flips, bootstrap resamples or permutations, at least 1
    seed: int = 1  # 0 to 2^64 - 1
    jobs: int = 1  # threads, at least 1; their number affects the time and nothing else

    def flips(self, queries: int) -> int:
        """How many sets of signs are tried besides the observed one. A set and its complement give sums of
        equal magnitude, so that 2^(n-1) - 1 stand for all 2^n of n queries. With b of these B sets at least as
        extreme, p = (b + 1) / (B + 1), exact for all sets.
        """
        return 2 ** (queries - 1) - 1 if queries <= FEW_PAIRS else self.samples


class Stream:
    """The random stream of one block, whose words are taken from its beginning on, in any order of blocks. It
    is numpy.random.Philox with the key (seed, purpose) and the counter starting at block * 2^128. Numbers
    smaller than a word are parts of the next words, the low ones first; the rest of the last word is not used.
    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """

    def __init__(self, seed: int, purpose: int, block: int) -> None:
        from numpy.random import Philox

        key = np.array([seed, purpose], np.uint64)
        counter = np.array([0, 0, block, 0], np.uint64)
        self._generator = Philox(key=key, counter=counter)

    def take(self, count: int, dtype: str = "<u8") -> NDArray[Any]:
        """The next numbers of 64 bits, or of a smaller little-endian type, (count,)."""
        words = -(-count * np.dtype(dtype).itemsize // 8)
        return self._generator.random_raw(words).astype("<u8", copy=False).view(dtype)[:count]


def scaled(halves: Halves, size: int) -> Ints:
    """Integers below `size`, half * size / 2^32 rounded down; their probabilities differ by at most 2^-32."""
    numbers = halves.astype(np.uint64)
    numbers *= np.uint64(size)
    numbers >>= np.uint64(32)
    return numbers.view(np.int64)


class FixedPoint(Record, eq=False):
    """A matrix (Q, C) of finite numbers as two integers each: value = (high * 2^bits + low) * 2^exponent. The
    sums of such integers are exact in any order; those of floats differ between BLAS libraries, processors and
    numbers of threads in the digits that decide whether a resampled sum ties with the observed one.
    """

    # (Q, 2 C) integers in float64, the high ones before the low ones; any Q of them add up to at most 2^51
    parts: Floats
    bits: int
    # (C,): numbers are rounded to 2^(-2 bits) of the column's largest, 2^-76 for 7,000 queries
    exponent: NDArray[np.int32]

    @classmethod
    def of(cls, values: Floats) -> FixedPoint:
        """The parts of values (Q, C), which are finite."""
        bits = 51 - len(values).bit_length()
        exponent = np.frexp(np.abs(values).max(axis=0, initial=0.0))[1]
        scaled = np.ldexp(values, bits - exponent)
        high = np.rint(scaled)
        low = np.rint(np.ldexp(scaled - high, bits))
        return cls(np.concatenate([high, low], axis=1), bits, exponent - 2 * bits)

    def value(self, sums: Floats) -> Floats:
        """Sums of parts (R, 2 C) as numbers (R, C), each rounded once."""
        high, low = np.split(sums, 2, axis=1)
        return np.ldexp(np.ldexp(high, self.bits) + low, self.exponent)


def over_flips(columns: Floats, sampling: Sampling, function: Callable[[Floats], R]) -> Iterator[R]:
    """function(sums) for each block of the sampling.flips(Q) flips, in order, on `sampling.jobs` threads.
    columns: (Q, M), integers as small as FixedPoint.parts, so that sums are exact. sums: (rows, M), for each
    flip those over the flipped queries. A random flip begins with a new word of the block's stream, of which
    bit q, from the low one on, is set if query q is flipped; a block has 1,024 flips.
    """
    queries = len(columns)
    count = sampling.flips(len(columns))

    def result(flips: NDArray[np.uint8]) -> R:
        """Of flips (rows, bytes), with a bit for each query."""
        sums = np.zeros((len(flips), columns.shape[1]))
        for start in range(0, queries, _CHUNK):
            packed = flips[:, start // 8 : (start + _CHUNK) // 8]
            size = min(_CHUNK, queries - start)
            bits = np.unpackbits(packed, axis=1, count=size, bitorder="little")
            sums += bits.astype(np.float64) @ columns[start : start + _CHUNK]
        return function(sums)

    if queries <= FEW_PAIRS:  # the numbers from 1 to count as bits: the last query is in none of them
        yield result(np.arange(1, count + 1, dtype="<u4").view(np.uint8).reshape(count, 4))
        return

    def one_block(block: int, rows: int) -> R:
        size = 8 * -(-queries // 64)
        return result(Stream(sampling.seed, SIGNS, block).take(rows * size, "u1").reshape(rows, size))

    yield from _over_blocks(one_block, count, _BLOCK, sampling.jobs)


def _over_blocks(function: Callable[[int, int], R], samples: int, size: int, jobs: int) -> Iterator[R]:
    """function(block, rows) for each block of samples, in order; the last may have fewer than `size`."""

    def one_block(block: int) -> R:
        return function(block, min(size, samples - block * size))

    return ordered_map(one_block, range(-(-samples // size)), jobs)


def over_resamples(queries: int, sampling: Sampling, function: Callable[[Floats], R]) -> Iterator[R]:
    """function(times) for each block of bootstrap resamples, in order, on `sampling.jobs` threads. A resample
    draws n of the n queries with replacement. times: how often it has each, (rows, n). They are first drawn as
    n independent Poisson numbers with the mean max(0, 1 - 3 / sqrt(n)), multinomial given their sum, nearly
    always below n; missing draws follow one by one. A resample with more than n begins with 0. A block has as
    many resamples as have at most 2^17 counts, at least one. Its stream has 16 bits for each count, the high
    bits of a fraction; then 32 more for those that these do not decide; then 32 for each missing draw; each of
    the three begins with a new word.
    """
    block_rows = max(1, _COUNTS // queries)
    thresholds = poisson_thresholds(max(0.0, 1 - 3 / sqrt(queries)))
    first = np.arange(1 << 16, dtype=np.int64) << 32  # of the fractions that begin with each 16 bits
    least, most = (np.searchsorted(thresholds, end, side="right") for end in (first, first + (2**32 - 1)))
    table = np.where(least == most, least, _UNKNOWN).astype(np.uint8)

    def one_block(block: int, rows: int) -> R:
        stream = Stream(sampling.seed, RESAMPLES, block)
        quarters = stream.take(rows * queries, "<u2")
        counts = table.take(quarters, mode="clip")  # which is fast, since no place is out of bounds
        unknown = np.flatnonzero(counts == _UNKNOWN)
        fractions = (quarters[unknown].astype(np.int64) << 32) + stream.take(len(unknown), "<u4")
        counts[unknown] = np.searchsorted(thresholds, fractions, side="right")
        times = counts.reshape(rows, queries).astype(np.float64)
        missing = queries - counts.reshape(rows, queries).sum(axis=1, dtype=np.int64)
        too_many = missing < 0
        times[too_many], missing[too_many] = 0, queries
        drawn = scaled(stream.take(int(missing.sum()), "<u4"), queries)
        drawn += np.repeat(np.arange(rows) * queries, missing)
        np.add.at(times.reshape(-1), drawn, 1.0)
        return function(times)

    yield from _over_blocks(one_block, sampling.samples, block_rows, sampling.jobs)


def resampled_means(differences: Floats, sampling: Sampling, weights: Floats | None = None) -> Floats:
    """The means of bootstrap resamples, (samples, C), of the rows of differences (n, C) without NaN. weights:
    of the rows, (n,), above 0; None: all count alike.
    """
    weights = np.ones(len(differences)) if weights is None else weights
    fixed = FixedPoint.of(np.column_stack([differences * weights[:, None], weights]))

    def means(times: Floats) -> Floats:
        sums = fixed.value(times @ fixed.parts)
        return sums[:, :-1] / sums[:, -1:]

    resampled = over_resamples(len(differences), sampling, means)
    return np.asfortranarray(np.concatenate(list(resampled)))  # a column is used at a time


def poisson_thresholds(mean: float) -> Ints:
    """P(X <= k) * 2^48 for k = 0, 1, ... of a Poisson number X, rounded down, while it is below 2^48. A random
    integer below 2^48 gives X by how many it reaches. Decimals are the same on every machine.
    """
    with localcontext() as context:
        context.prec = 50
        term = (-Decimal(mean)).exp()
        total = Decimal(0)
        thresholds = []
        for k in range(_UNKNOWN):
            total += term
            if (threshold := int(total * 2**48)) >= 2**48 - 1:
                break
            thresholds.append(threshold)
            term *= Decimal(mean) / (k + 1)
    return np.array(thresholds, np.int64)


def permuted_ranges(integers: Ints, sampling: Sampling) -> Floats:
    """The range of the systems' sums for random permutations within the rows of integers (Q, S), (samples,)."""
    # where there are few systems, what a permutation adds to the sums is looked up in tables, in nanoseconds
    systems = integers.shape[1]
    if systems > _MOST_SPLIT:
        return np.concatenate(list(_exchanged(integers, sampling)))
    lookup = (_listed if systems <= _MOST_LISTED else _split)(systems)
    return np.concatenate(list(_looked_up(lookup, integers, sampling)))


class _Lookup(Record):
    """Permutations as tables of what they add to the sums of groups of systems."""

    sizes: tuple[int, ...]  # of the groups, of all systems or all but the last
    tables: Callable[[Ints], list[Ints]]  # of each group, (rows, size), from the values (together, S)
    together: int  # how many queries a table is of
    tile: int  # how many times these share a stream
    draws: int  # for each sample of them
    rows: Callable[[list[Ints], Halves], Iterator[Ints]]  # of each table


def _looked_up(lookup: _Lookup, integers: Ints, sampling: Sampling) -> Iterator[Floats]:
    """The ranges, in spans of samples. The r-th 4,096 samples of tile t have block r * tiles + t of the stream,
    whose 32-bit halves come in the order (group of queries, draw, sample).
    """
    starts = range(0, len(integers), lookup.together)
    tiles = -(-len(starts) // lookup.tile)

    def add(tables_of: Sequence[list[Ints]], block: int, part: tuple[int, list[Ints]]) -> None:
        """Add to a part of a span: its place there, the sums of its groups. block: that of the first part."""
        tile, sums = part
        samples = len(sums[0])
        stream = Stream(sampling.seed, PERMUTATIONS, block + tile * tiles)
        drawn = stream.take(len(tables_of) * lookup.draws * samples, "<u4")
        cells = np.empty(samples * max(lookup.sizes), np.int64)
        for tables, halves in zip(tables_of, drawn.reshape(len(tables_of), -1, samples), strict=True):
            for sum_, table, row in zip(sums, tables, lookup.rows(tables, halves), strict=True):
                moved = cells[: sum_.size].reshape(sum_.shape)
                table.take(row, axis=0, out=moved, mode="clip")  # which is fast, since no row is out of bounds
                np.add(sum_, moved, out=sum_)

    for begin in range(0, sampling.samples, _SPAN):
        end = min(begin + _SPAN, sampling.samples)
        sizes = np.diff([*range(begin, end, _ROWS), end]).tolist()
        parts = [[np.zeros((samples, size), np.int64) for size in lookup.sizes] for samples in sizes]
        for tile in range(tiles):
            some = starts[tile * lookup.tile : (tile + 1) * lookup.tile]
            tables_of = [lookup.tables(integers[start : start + lookup.together]) for start in some]
            adding = partial(add, tables_of, begin // _ROWS * tiles + tile)
            for _ in ordered_map(adding, [*enumerate(parts)], sampling.jobs):
                pass
        for part in parts:
            sums = [column for group in part for column in group.T]
            remainder = [integers.sum() - np.sum(sums, axis=0)] if len(sums) < integers.shape[1] else []
            yield np.ptp([*sums, *remainder], axis=0).astype(np.float64)


def _listed(systems: int) -> _Lookup:
    """By tables of the sums of all permutations, of as many queries together as have at most 2^10 rows. One
    draw gives the row, in lexicographic order. Tables with at most 2^14 rows together share a stream.
    """
    listed = np.array(list(permutations(range(systems))), np.intp)[:, :-1]  # the last has what is left
    together = 1
    while len(listed) ** (together + 1) <= _TABLE:
        together += 1

    def tables(values: Ints) -> list[Ints]:
        table = np.zeros((1, systems - 1), np.int64)
        for row in values:
            table = (table[:, None] + row[listed]).reshape(-1, systems - 1)
        return [table]

    def rows(tables: list[Ints], halves: Halves) -> Iterator[Ints]:
        yield scaled(halves[0], len(tables[0]))

    tile = max(1, _TILE // len(listed) ** together)
    return _Lookup((systems - 1,), tables, together, tile, draws=1, rows=rows)


def _split(systems: int) -> _Lookup:
    """By tables of the values of three groups of systems: a third each, the first ones one more of a rest. One
    draw splits the values, in lexicographic order of the groups; another orders those of each, likewise.
    """
    sizes = [(systems + 2 - g) // 3 for g in range(3)]
    sets = {size: list(combinations(range(systems), size)) for size in sizes}
    members = {
        size: np.array([[*permutations(systems_set)] for systems_set in sets[size]], np.intp).reshape(-1, size)
        for size in sizes
    }
    number = {systems_set: i * factorial(size) for size in sizes for i, systems_set in enumerate(sets[size])}
    everything = frozenset(range(systems))
    triples = [
        (number[a], number[b], number[tuple(sorted(everything - {*a, *b}))])
        for a in sets[sizes[0]]
        for b in combinations(sorted(everything - {*a}), sizes[1])
    ]
    splits = np.array(triples, np.int64).T.copy()
    ordered = np.indices([factorial(size) for size in sizes]).reshape(3, -1)

    def tables(values: Ints) -> list[Ints]:
        of_size = {size: values[0][order] for size, order in members.items()}
        return [of_size[size] for size in sizes]

    def rows(tables: list[Ints], halves: Halves) -> Iterator[Ints]:
        split, order = scaled(halves[0], splits.shape[1]), scaled(halves[1], ordered.shape[1])
        for of_split, of_order in zip(splits, ordered, strict=True):
            row = of_split.take(split, mode="clip")
            row += of_order.take(order, mode="clip")
            yield row

    return _Lookup(tuple(sizes), tables, 1, _SPLIT_TILE, draws=2, rows=rows)


def _exchanged(integers: Ints, sampling: Sampling) -> Iterator[Floats]:
    """The ranges by permutations of Fisher and Yates: for k from S to 2, a random one of the first k values
    moves to place k. The draws are the 32-bit halves of the block's stream, in the order (k, sample, query). A
    block has as many samples as move at most 2^15 values, at least one.
    """
    queries, systems = integers.shape
    block_rows = max(1, _PERMUTED // integers.size)
    columns = np.ascontiguousarray(integers.T)
    total = integers.sum()

    def one_block(block: int, rows: int) -> Floats:
        size = rows * queries
        drawn = Stream(sampling.seed, PERMUTATIONS, block).take((systems - 1) * size, "<u4")
        remaining = np.repeat(columns[:, None], rows, axis=1).reshape(-1)
        sums = np.empty((systems, rows), np.int64)
        cells = np.arange(size)
        moved = np.empty(size, np.int64)
        for step, last in enumerate(range(systems - 1, 0, -1)):
            position = scaled(drawn[step * size : (step + 1) * size], last + 1)
            position *= size
            position += cells
            remaining.take(position, out=moved, mode="clip")  # which is fast, since no place is out of bounds
            moved.reshape(rows, queries).sum(axis=1, out=sums[last])
            if last > 1:  # afterwards nothing is looked at but the sum of what is left
                remaining[position] = remaining[last * size : (last + 1) * size]
        sums[0] = total - sums[1:].sum(axis=0)
        return np.ptp(sums, axis=0).astype(np.float64)  # type: ignore[no-any-return]

    return _over_blocks(one_block, sampling.samples, block_rows, sampling.jobs)
