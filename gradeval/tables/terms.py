"""A value as a sum over documents: the term of each, and the normalizer of the sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.arrays.segments import Segments, ratio
from gradeval.records import Record

if TYPE_CHECKING:
    from gradeval.tables.levels import Level, LevelGroup


class RelevanceFunction(Record, eq=False):
    """φ of a metric whose gains are 2^φ - 1."""

    of: Callable[[Floats, Ints], Floats]  # (grade, query) of some rows -> their φ
    # query -> its control points, (name, grade, φ) by ascending grade, none where φ is 0 at every grade
    points: Callable[[int], tuple[tuple[str, float, float], ...]]
    # Q3 + 1.5 (Q3 - Q1) of the grades of each query, or what the metric has in its place, (Q,); None where φ is
    # not computed from the grades of a query, but is the same for every query
    whisker: Floats | None = None


class Details(Record, eq=False):
    """What a metric has to show besides its terms."""

    symbol: str = ""  # of the column of `scaled`
    # what gains are made from in place of the grade, of each row of the table that the metric was given, (N,)
    scaled: Floats | None = None
    levels: Sequence[Level] = ()  # of a table of one query, from the lowest grade
    phi: RelevanceFunction | None = None  # of all queries
    groups: Sequence[LevelGroup] = ()  # of a table of one query, from the highest grade


class Terms(Record, eq=False):
    """The value of each query as scale · (sum of its terms - base) / normalizer. Terms are added one by one in
    order. Rows whose term is 0 may be omitted.
    """

    segments: Segments  # the Q queries that the T terms belong to
    # the document of each term as a row of the table that the metric was given, int64 (T,); -1 is a document
    # that only the ideal ranking has
    row: Ints
    value: Floats | float  # what each adds, float64 (T,), or one number for all
    # (Q,), or one number for all; the value is 0 where it is 0, and NaN where it is NaN
    normalizer: Floats | Ints | float = 1.0
    base: Floats | float = 0.0  # the sum whose value is 0, (Q,), or one number for all
    scale: float = 1.0
    # where the normalizer is the sum - base of the ideal ranking, what makes its terms
    ideal: Callable[[], Terms] | None = None
    # which queries have a document that is relevant to the metric, (Q,); by default those whose normalizer is
    # not 0
    has_relevant: Bools | None = None
    # what each document adds that was retrieved and is not judged, and so has no row; the base has it with the
    # opposite sign
    unjudged: float = 0.0
    # where a term is a number of its document times a weight of its rank, the weights of any ranks
    weight_at: Callable[[Floats], Floats] | None = None
    # the last rank whose document has a term, (Q,), or one number for all; None where all have
    cutoff: float | Floats | Ints | None = None
    # where terms depend on more than their document and its rank, what makes the total expected over orders of
    # tied scores, (Q,), of Judgments.tied
    expected_total: Callable[[], Floats] | None = None
    details: Callable[[], Details] = Details  # what makes what explain shows besides the terms

    @cached_property
    def total(self) -> Floats:
        """The sum of each query's terms, (Q,)."""
        if isinstance(self.value, np.ndarray):
            return self.segments.sum(self.value)
        return self.value * self.segments.lengths.astype(np.float64)

    @cached_property
    def is_empty(self) -> Bools:
        """Which queries have no document that is relevant to the metric, (Q,)."""
        if self.has_relevant is not None:
            return ~self.has_relevant
        if isinstance(self.normalizer, np.ndarray):
            return np.equal(self.normalizer, 0)
        return np.full(self.segments.count, self.normalizer == 0)

    def values(self) -> Floats:
        """The value of each query, (Q,)."""
        return ratio(self.scale * (self.total - self.base), self.normalizer)

    def expected(self, first: Floats, last: Floats, depth: float) -> Terms | None:
        """The terms in expectation over the orders of tied documents; None where these are not known. The terms
        are those of a ranking in which each document has the first rank of its group. first, last: the ranks of
        the group of each row of its table, (N,). depth: of the ranking.
        """
        if self.expected_total is not None:
            terms = self.replace()
            terms.__dict__["total"] = self.expected_total()  # fills the cached property
            return terms
        if self.weight_at is None:
            return None
        first, last = first[self.row], last[self.row]
        rows = np.flatnonzero(last > first)
        if not len(rows):
            return self
        first, last = first[rows], last[rows]
        limit = np.inf if self.cutoff is None else self.cutoff
        limit = limit[self.segments.query[rows]] if isinstance(limit, np.ndarray) else limit
        counted = np.minimum(last, np.minimum(limit, depth)).astype(np.int64)
        above = first.astype(np.int64) - 1
        weights = self.weight_at(np.arange(1.0, counted.max() + 1))
        total = np.append(0.0, np.cumsum(weights))
        mean = (total[counted] - total[above]) / (last - above)
        value = np.full(len(self.row), self.value)
        value[rows] *= ratio(mean, weights[above])
        return self.replace(value=value)


class DiscountedTerms(Terms, eq=False, kw_only=True):
    """The terms of a DCG, in rank order within queries."""

    value: Floats  # gain / discount, float64 (T,)
    rank: Floats  # 1-based, in the ranking whose terms these are, float64 (T,)
    gain: Floats  # float64 (T,)
    discount: Floats  # float64 (T,)
    # the discount of any ranks, None where it depends on more than the rank
    discount_at: Callable[[Floats], Floats] | None = None

    @classmethod
    def of(
        cls, segments: Segments, row: Ints, rank: Floats, gain: Floats, discount: Floats, **fields: Any
    ) -> DiscountedTerms:
        """The terms of a sum, by default without a normalizer. fields: further ones."""
        return cls(segments, row, value=gain / discount, rank=rank, gain=gain, discount=discount, **fields)

    def top(self, cutoff: int | None) -> DiscountedTerms:
        """The terms of the first ranks."""
        if cutoff is None:
            return self
        first = np.flatnonzero(self.rank <= cutoff)
        if len(first) == len(self.rank):
            return self.replace(cutoff=cutoff)
        columns = ("segments", "row", "value", "rank", "gain", "discount")
        return self.replace(cutoff=cutoff, **{name: getattr(self, name).take(first) for name in columns})
