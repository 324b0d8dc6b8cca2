"""Groups of documents with tied scores, and values expected over all their orders, each equally likely.

Source: McSherry and Najork, "Computing information retrieval performance measures efficiently in the presence
of tied scores", ECIR 2008. The document with the j-th place in a group of n is each of them with probability
1 / n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gradeval.arrays import Floats, Ints, cached_property
from gradeval.arrays.segments import Segments, distinct, ranges
from gradeval.tables.judgments import Judgments

_AT_ONCE = 1 << 20  # numbers of a matrix of groups


@dataclass(eq=False, repr=False)
class TieGroups:
    """Groups of tied scores that hold some of the judged documents, in rank order within Q queries.

    within: how the documents fall into the G groups; also groups of a single document. query: of each group.
    above: the ranks above each group, size: its documents, judged or not, counted: its ranks within the
    cutoff, at least 1, float64 (G,). queries: how the groups fall into the queries.
    """

    within: Segments
    query: Ints
    above: Floats
    size: Floats
    counted: Floats
    queries: Segments

    @classmethod
    def of(cls, judgments: Judgments, rows: Ints, cutoff: float | None = None) -> TieGroups:
        """The groups of these rows of Judgments.tied, which are retrieved within the cutoff and in order."""
        assert judgments.first is not None and judgments.last is not None
        first, query = judgments.first[rows], judgments.query[rows]
        starts = np.flatnonzero((np.diff(first, prepend=0.0) != 0) | (np.diff(query, prepend=-1) != 0))
        above, last = first[starts] - 1, judgments.last[rows[starts]]
        counted = np.minimum(last, min(judgments.depth, np.inf if cutoff is None else cutoff)) - above
        offsets = np.searchsorted(query[starts], np.arange(judgments.segments.count + 1))
        within = Segments(np.append(starts, len(rows)))
        return cls(within, query[starts], above, last - above, counted, Segments(offsets))

    def before(self, values: Floats) -> Floats:
        """The sum of the values of the query's groups above each group, (G,) -> (G,)."""
        return self.queries.running_sum(values) - values

    def take(self, groups: Ints) -> TieGroups:
        """Only these groups, in ascending order; without their documents."""
        nothing = Segments(np.zeros(len(groups) + 1, np.int64))
        above, size, counted = (column[groups] for column in (self.above, self.size, self.counted))
        return TieGroups(nothing, self.query[groups], above, size, counted, self.queries.take(groups))

    @cached_property
    def places(self) -> Segments:
        """The counted ranks of each group, as segments: their place is j - 1."""
        return Segments(np.append(0, np.cumsum(self.counted.astype(np.int64))))

    def sums(self, weight_at: Callable[[Floats], Floats]) -> Floats:
        """The sum of the weights of the counted ranks of each group, (G,)."""
        last = (self.above + self.counted).astype(np.int64)
        weights = weight_at(np.arange(1.0, last.max(initial=0) + 1))
        total = np.append(0.0, np.cumsum(weights))
        single = weights[last - 1] if len(last) else total[:0]
        return np.where(self.counted == 1, single, total[last] - total[self.above.astype(np.int64)])


def precision_sums(groups: TieGroups, above: Floats, own: Floats, pairs: Floats) -> Floats:
    """The expected sum of precisions at the ranks of the relevant documents, added up per query, (Q,).

    Precision may be weighted: a pair of relevant documents adds its weight to the precision at the lower one,
    each document its own. above: the sum over pairs of a document above the group and one within, own: over
    the documents of the group, pairs: over the pairs within it, (G,).
    """
    # the lower one of a pair is in place j with probability 2 (j - 1) / (n (n - 1))
    inverse = groups.sums(lambda rank: 1 / rank)
    lower = 2 * pairs / np.maximum(groups.size - 1, 1)
    value = ((above + own) * inverse + lower * (groups.counted - (groups.above + 1) * inverse)) / groups.size
    return groups.queries.sum(value)


def first_hits(judgments: Judgments, rel: float | None, cutoff: int | None) -> tuple[Segments, Floats, Floats]:
    """Where the first relevant document can be: the ranks of each query, and the probability of each.

    With m relevant documents of n, it is in place j with probability C(n - j, m - 1) / C(n, m).
    """
    hits = judgments.hits(rel, cutoff)
    groups = TieGroups.of(judgments, hits.rows, cutoff)
    chosen = groups.queries.offsets[:-1][groups.queries.lengths > 0]
    relevant = groups.within.lengths[chosen].astype(np.float64)
    groups = groups.take(chosen)
    possible = np.minimum(groups.counted, groups.size - relevant + 1).astype(np.int64)
    places = Segments(np.append(0, np.cumsum(possible)))
    group, place = places.query, places.place
    left = groups.size[group] - place  # documents that may be here
    missed = np.where(place > 0, (left + 1 - relevant[group]) / (left + 1), 1.0)
    probability = places.running_product(missed) * relevant[group] / left
    of_queries = Segments(places.offsets[groups.queries.offsets])
    return of_queries, groups.above[group] + place + 1, probability


def expected_products(groups: TieGroups, factors: Floats) -> tuple[Segments, Floats]:
    """The expected product of the factors of the first j documents of each group, for j from 0 to counted.

    factors: of the documents of the groups, in [0, 1]; of others 1. With the mean of the products of i of the
    m factors, E_i, and the chance that i of the m are among the first j of n, it is the sum over i of
    C(m, i) C(n - m, j - i) / C(n, j) E_i. Returns segments of counted + 1 values, and these.
    """
    places = Segments(np.append(0, np.cumsum(groups.counted.astype(np.int64) + 1)))
    values = np.ones(places.offsets[-1])
    for m in distinct(groups.within.lengths).tolist():
        chosen = np.flatnonzero(groups.within.lengths == m)
        means = np.zeros((len(chosen), m + 1))
        means[:, 0] = 1.0
        for t in range(m):  # the mean over subsets of t + 1 factors: with the last one, or without it
            factor = factors[groups.within.offsets[chosen] + t, None]
            share = np.arange(1, t + 2) / (t + 1)
            means[:, 1 : t + 2] = (1 - share) * means[:, 1 : t + 2] + share * factor * means[:, : t + 1]
        rows = ranges(places.offsets[chosen], places.lengths[chosen])
        for some in np.array_split(rows, len(rows) * (m + 1) // _AT_ONCE + 1):
            size, j = groups.size[places.query[some], None], places.place[some, None]
            chance = _chances(m, size, j)
            values[some] = (chance * means[np.searchsorted(chosen, places.query[some])]).sum(axis=1)
    return places, values


def _chances(m: int, size: Floats, j: Ints) -> Floats:
    """The probability that i of m documents are among the first j of their group: (n, m + 1), for each i."""
    from scipy.special import gammaln

    i = np.arange(m + 1)
    left, missed = j - i, size - j - (m - i)  # of the others, those among the first j, and those below
    log = gammaln(m + 1) - gammaln(i + 1) - gammaln(m - i + 1) + gammaln(size - m + 1)
    log = log - gammaln(np.maximum(left, 0) + 1) - gammaln(np.maximum(missed, 0) + 1)
    log = log - gammaln(size + 1) + gammaln(j + 1) + gammaln(size - j + 1)
    chance: Floats = np.where((left < 0) | (missed < 0), 0.0, np.exp(log))
    return chance
