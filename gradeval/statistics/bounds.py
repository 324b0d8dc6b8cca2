"""The lowest and highest value of queries over the judgments that are missing.

A world gives each unjudged retrieved document a grade from 0 to `top`. `OpenValues` are the values of Q queries
as a function of the grades of U documents. `limits()` is their lowest and highest value over all worlds, and
`minus()` the difference of two systems in one world: exact where both have one exact form, else with outer
bounds.

- `Linear`: P, CG, DCG, rank-biased precision, SDCG, gP.
- `Share`: R@k.
- `Normalized`: nDCG.
- `Between`: any metric, by the limits of each query; a difference of two has outer bounds.

Source: Dinkelbach, "On nonlinear fractional programming", 1967, for the highest nDCG.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, NDArray
from gradeval.arrays.segments import Segments, distinct, ratio
from gradeval.records import Record

_Number = TypeVar("_Number", np.float64, np.int64, np.bool_)
_STEPS = 100  # Dinkelbach's method needs 2 to 4
_AT_ONCE = 1 << 17  # numbers of a matrix


class OpenValues(Record, eq=False):
    """The values of Q queries as a function of the grades of unjudged documents."""

    is_exact = True  # whether each query has a world with the lowest value, and one with the highest

    @abstractmethod
    def limit(self, sign: float) -> Floats:
        """The highest value of each query, (Q,); with the sign -1 the lowest, negated."""

    def limits(self) -> tuple[Floats, Floats]:
        """The lowest and the highest value of each query, (Q,) each."""
        return 0.0 - self.limit(-1.0), self.limit(1.0)

    def minus(self, other: OpenValues) -> OpenValues:
        """The difference of two systems; both are functions of the same documents, in the same order."""
        (low, high), (other_low, other_high) = self.limits(), other.limits()
        return OuterBetween(low - other_high, high - other_low)


class Between(OpenValues, eq=False):
    """Values of which only the limits are known."""

    lowest: Floats  # (Q,)
    highest: Floats  # (Q,)

    def limit(self, sign: float) -> Floats:
        return self.highest if sign > 0 else -self.lowest


class OuterBetween(Between, eq=False):
    """Values between these, which need not be reached."""

    is_exact = False


class OfDocuments(OpenValues, eq=False):
    """Values that depend on a coefficient of each document."""

    of_queries = frozenset(("base",))  # fields with a number for each query
    subtracted = frozenset(("base", "coefficient"))  # fields of a difference that are differences

    segments: Segments  # the queries of the documents, (U,)
    base: Floats  # of the judged documents, (Q,)
    coefficient: Floats  # of each document, (U,)

    def cases(self, query: int, segments: Segments, coefficient: Floats) -> OfDocuments:
        """The value of a query as that of several, each with these documents in place of its own."""
        numbers = {name: np.repeat(getattr(self, name)[query], segments.count) for name in self.of_queries}
        return self.replace(segments=segments, coefficient=coefficient, **numbers)

    def weight(self, coefficient: Floats) -> Floats:
        """The lower the weight of a document, the more a judgment of 0 raises the lowest value."""
        return coefficient

    def minus(self, other: OpenValues) -> OpenValues:
        if not isinstance(other, type(self)):
            return super().minus(other)
        return self.replace(**{name: getattr(self, name) - getattr(other, name) for name in self.subtracted})


class Linear(OfDocuments, eq=False):
    """base + the sum of the coefficients times x, each x from the lowest gain to the highest."""

    gains: tuple[float, float] = (0.0, 1.0)

    def weight(self, coefficient: Floats) -> Floats:
        low, high = (coefficient * gain for gain in self.gains)
        return np.minimum(low, high)

    def limit(self, sign: float) -> Floats:
        low, high = (sign * self.coefficient * gain for gain in self.gains)
        return sign * self.base + self.segments.sum(np.maximum(low, high))


class Share(OfDocuments, eq=False):
    """(base + the sum of the coefficients of the relevant documents) / (relevant + their number)."""

    of_queries = OfDocuments.of_queries | {"below", "relevant"}
    subtracted = OfDocuments.subtracted | {"empty"}

    below: Ints  # how many more documents there are, with the coefficient 0, (Q,)
    relevant: Ints  # documents of the qrels, (Q,)
    empty: float = 0.0  # the value where nothing is relevant

    def limit(self, sign: float) -> Floats:
        base = sign * self.base
        falling = self.segments.sorted_descending(sign * self.coefficient)
        query = self.segments.query
        number = self.relevant[query] + self.segments.place + 1
        total = base[query] + self.segments.running_sum(falling)
        # those below stand between the last coefficient of 0 or more and the first below 0
        number += np.where(falling < 0, self.below[query], 0)
        best = self.segments.max(total / number, -np.inf)
        at_least_0 = falling >= 0
        count = self.relevant + self.segments.number(at_least_0) + self.below
        of_all = base + self.segments.sum(np.where(at_least_0, falling, 0.0))
        best = np.maximum(best, ratio(of_all, count, sign * self.empty))
        return np.maximum(best, ratio(base, self.relevant, sign * self.empty))


class Levels(Record, eq=False):
    """The different gains above 0 of each query's judged documents, and the top gain."""

    segments: Segments  # the queries of the L levels
    step: Floats  # how far each is above the next lower one, (L,)
    count: Ints  # how many judged documents reach it, (L,)
    is_open: Bools  # whether it is not above the top gain, (L,)

    @classmethod
    def of(cls, judged: Segments, gain: Floats, top: float) -> Levels:
        """judged: the queries of the judged documents. gain: of each."""
        [rows] = (gain > 0).nonzero()
        queries = np.arange(judged.count)[: judged.count if top > 0 else 0]
        query = np.concatenate([judged.query[rows], queries])
        value = np.concatenate([gain[rows], np.full(len(queries), top)])
        order = np.lexsort((-value, query))
        query, value = query[order], value[order]
        within = Segments(np.searchsorted(query, np.arange(judged.count + 1)))
        levels = within.ties(value)
        level = value[levels.starts]
        segments = within.over(levels)
        lower = np.append(level[1:], 0.0)
        lower[segments.ends[segments.lengths > 0] - 1] = 0.0
        reached = within.running_count(order < len(rows))[levels.ends - 1]
        return cls(segments, level - lower, reached, level <= top)

    def repeated(self, query: int, count: int) -> Levels:
        """The levels of a query, `count` times."""
        rows = slice(*self.segments.offsets[query : query + 2].tolist())
        return Levels(
            Segments(np.arange(count + 1) * (rows.stop - rows.start)),
            np.tile(self.step[rows], count),
            np.tile(self.count[rows], count),
            np.tile(self.is_open[rows], count),
        )


class Normalized(OfDocuments, eq=False):
    """(base + the sum of the coefficients times x) / (the ideal sum of the judged gains and x), each x from 0
    to the top gain.
    """

    of_queries = OfDocuments.of_queries | {"below", "empty"}
    subtracted = OfDocuments.subtracted | {"empty"}

    below: Ints  # how many more documents there are, with the coefficient 0, (Q,)
    levels: Levels  # of gains
    ideal: Floats  # the ideal sum of n documents of gain 1, for n = 0, 1, …; of more documents it is the last
    empty: Floats  # the value of each query where nothing is relevant, (Q,)

    def cases(self, query: int, segments: Segments, coefficient: Floats) -> OfDocuments:
        cases = super().cases(query, segments, coefficient)
        return cases.replace(levels=self.levels.repeated(query, segments.count))

    def limit(self, sign: float) -> Floats:
        highest = np.empty(len(self.base))
        below = np.minimum(self.below, len(self.ideal) - 1)
        coefficient = sign * self.coefficient
        levels = max(int(self.levels.segments.lengths.max(initial=0)), 1)
        for queries in batches(self.segments.lengths + below + 1, levels):
            documents = self.segments.lengths[queries]
            zeros = below[queries]
            free = _matrix(self.segments, coefficient, queries, -np.inf, int((documents + zeros).max()))
            column = np.arange(free.shape[1])
            free[(column >= documents[:, None]) & (column < (documents + zeros)[:, None])] = 0.0
            sums = np.zeros((len(queries), len(column) + 1))
            np.cumsum(np.sort(free, axis=1)[:, ::-1], axis=1, out=sums[:, 1:])
            highest[queries] = self._highest_of(queries, sign * self.base[queries], sums)
        is_bare = self.levels.segments.max(self.levels.count.astype(np.float64)) == 0
        return np.where(is_bare, np.maximum(highest, sign * self.empty), highest)

    def _highest_of(self, queries: Ints, base: Floats, sums: Floats) -> Floats:
        """The highest ratio of some queries; -inf where no world has a relevant document. sums: of the largest
        coefficients, by their number, (n, U + 1), -inf for more than there are.
        """
        levels = self.levels
        step = _matrix(levels.segments, levels.step, queries, 0.0)
        judged = _matrix(levels.segments, levels.count, queries, 0)
        is_open = _matrix(levels.segments, levels.is_open, queries, False)[:, :, None]
        number = np.where(is_open, np.arange(sums.shape[1]), 0)
        # by query, level, and how many unjudged documents have at least its gain
        ideals = self.ideal[np.minimum(judged[:, :, None] + number, len(self.ideal) - 1)]
        gains = np.where(is_open | np.isinf(sums[:, None]), sums[:, None], 0.0)

        # at first the same number at all levels; below 0 grades between 0 and the top are never best
        opened = np.where(is_open[:, :, 0], step, 0.0).sum(axis=1)
        same = base[:, None] + opened[:, None] * np.where(np.isinf(sums), 0.0, sums)
        same = np.where(np.isinf(sums), -np.inf, same)
        highest: Floats = ratio(same, np.einsum("ql,qlu->qu", step, ideals), -np.inf).max(axis=1)
        rows = np.flatnonzero(highest >= 0)
        for _ in range(_STEPS):
            if not len(rows):
                break
            worth = gains[rows] - highest[rows, None, None] * ideals[rows]
            number = (worth.shape[2] - 1 - worth[:, :, ::-1].argmax(axis=2))[:, :, None]
            gained = np.take_along_axis(gains[rows], number, axis=2)[:, :, 0]
            best = np.take_along_axis(ideals[rows], number, axis=2)[:, :, 0]
            total = base[rows] + (step[rows] * gained).sum(axis=1)
            better = ratio(total, (step[rows] * best).sum(axis=1), -np.inf)
            [rises] = (better > highest[rows]).nonzero()
            rows = rows[rises]
            highest[rows] = better[rises]
        return highest


def precision_limits(
    relevant: Bools, is_open: Bools, judged: Ints, below: Ints, most: float = np.inf
) -> tuple[Floats, Floats]:
    """The lowest and the highest average precision of Q rankings of W ranks, NaN where nothing is relevant.

    relevant, is_open: which ranks have a relevant document, and an unjudged one, (Q, W). judged: how many
    relevant documents the qrels have, (Q,). below: how many more unjudged documents there are, which count in
    the divisor alone, (Q,). most: the largest divisor.

    For each number of relevant ones among the unjudged, the highest value is that of the first ones, the lowest
    that of the last ones; below before these.
    """
    inverse = 1 / np.arange(1.0, relevant.shape[1] + 1)
    above = np.cumsum(relevant, axis=1)
    opened = np.cumsum(is_open, axis=1)
    weights = np.where(relevant, inverse, 0.0)
    start = (weights * above).sum(axis=1)[:, None]
    under = weights.sum(axis=1)[:, None] - np.cumsum(weights, axis=1)  # what one more document above adds
    size = judged[:, None]

    def precision(total: Floats, count: Ints) -> Floats:
        return ratio(total, np.minimum(count, most), np.nan)

    added = np.where(is_open, (above + opened) * inverse + under, 0.0)
    highest = np.fmax.reduce(precision(start + np.cumsum(added, axis=1), size + opened), axis=1, initial=np.nan)
    free = np.where(is_open, inverse, 0.0)
    under += free.sum(axis=1)[:, None] - np.cumsum(free, axis=1)
    added = np.where(is_open, (above + 1) * inverse + under, 0.0)
    total = start + added.sum(axis=1)[:, None] - np.cumsum(added, axis=1) + added
    count = size + below[:, None] + opened[:, -1:] - opened + is_open
    lowest = np.fmin.reduce(precision(total, count), axis=1, initial=np.nan)
    lowest = np.fmin(lowest, precision(start, size + below[:, None])[:, 0])
    return lowest, np.fmax(highest, precision(start, size)[:, 0])


def r_precision_limits(relevant: Bools, is_open: Bools, judged: Ints, below: Ints) -> tuple[Floats, Floats]:
    """The lowest and the highest precision at R, the number of relevant documents; as precision_limits()."""
    rows, width = relevant.shape
    above, opened = np.zeros((2, rows, width + 1), np.int64)
    np.cumsum(relevant, axis=1, out=above[:, 1:])
    np.cumsum(is_open, axis=1, out=opened[:, 1:])
    more = np.arange(int((opened[:, -1] + below).max(initial=0)) + 1)
    size = judged[:, None] + more
    cutoff = np.minimum(size, width)
    hits, free = (np.take_along_axis(counts, cutoff, axis=1) for counts in (above, opened))
    first = np.minimum(free, more)
    last = np.maximum(free - opened[:, -1:] + np.maximum(more - below[:, None], 0), 0)
    number = np.where(more <= (opened[:, -1] + below)[:, None], size, 0)

    def precision(hits: Ints) -> Floats:
        return ratio(hits, number, np.nan)

    return np.fmin.reduce(precision(hits + last), axis=1), np.fmax.reduce(precision(hits + first), axis=1)


def batches(lengths: Ints, depth: int = 1) -> Iterator[Ints]:
    """Queries of similar length, as many as fit a matrix with so many layers."""
    size = np.frexp(lengths)[1]
    for exponent in distinct(size):
        queries = np.flatnonzero(size == exponent)
        step = max(1, _AT_ONCE // (max(int(lengths[queries].max()), 1) * depth))
        yield from (queries[first : first + step] for first in range(0, len(queries), step))


def _matrix(
    segments: Segments, values: NDArray[_Number], queries: Ints, fill: float, width: int | None = None
) -> NDArray[_Number]:
    """The values of some queries as rows, filled up to the longest, or to this width."""
    lengths = segments.lengths[queries][:, None]
    column = np.arange(int(lengths.max(initial=0)) if width is None else width)
    rows = np.where(column < lengths, segments.starts[queries][:, None] + column, len(values))
    return np.append(values, np.array([fill], values.dtype))[rows]
