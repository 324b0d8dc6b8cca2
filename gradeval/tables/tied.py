"""Groups of documents with tied scores, and values expected over all their orders, each equally likely.

Source: McSherry and Najork, "Computing information retrieval performance measures efficiently in the presence
of tied scores", ECIR 2008. At each place in a group of n, each of its documents has probability 1 / n.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gradeval.arrays import Floats, Ints, cached_property
from gradeval.arrays.segments import Segments, distinct, offsets_of, ranges
from gradeval.records import Record
from gradeval.tables.judgments import Judgments

_AT_ONCE = 1 << 20  # numbers of a matrix of groups
_NEGLIGIBLE = -70.0  # the logarithm of a probability


class TieGroups(Record, eq=False):
    """G groups of tied scores that hold some of the judged documents, in rank order within Q queries."""

    within: Segments  # how the documents fall into the groups; also groups of a single document
    query: Ints  # of each group, (G,)
    above: Floats  # the ranks above each group, (G,)
    size: Floats  # the documents of each, judged or not, (G,)
    counted: Floats  # its ranks within the cutoff, at least 1, (G,)
    queries: Segments  # how the groups fall into the queries

    @classmethod
    def of(cls, judgments: Judgments, rows: Ints, cutoff: float | None = None) -> TieGroups:
        """The groups of these rows of Judgments.tied, which are retrieved within the cutoff and in order."""
        assert judgments.first is not None and judgments.last is not None
        first, query = judgments.first[rows], judgments.query[rows]
        within = Segments.of_equal(first, query)
        starts = within.starts
        above = first[starts] - 1
        last = judgments.last[rows[starts]]
        counted = np.minimum(last, _limit(judgments, cutoff)) - above
        offsets = np.searchsorted(query[starts], np.arange(judgments.segments.count + 1))
        return cls(within, query[starts], above, last - above, counted, queries=Segments(offsets))

    def before(self, values: Floats) -> Floats:
        """The sum of the values of the query's groups above each group, (G,) -> (G,)."""
        return self.queries.running_sum(values) - values

    @cached_property
    def places(self) -> Segments:
        """The counted ranks of each group, as segments: their place is j - 1."""
        return Segments(offsets_of(self.counted))

    def sums(self, weight_at: Callable[[Floats], Floats]) -> Floats:
        """The sum of the weights of the counted ranks of each group, (G,)."""
        last = (self.above + self.counted).astype(np.int64)
        weights = weight_at(np.arange(1.0, last.max(initial=0) + 1))
        total = np.append(0.0, np.cumsum(weights))
        single = weights[last - 1] if len(last) else total[:0]
        return np.where(self.counted == 1, single, total[last] - total[self.above.astype(np.int64)])


def _limit(judgments: Judgments, cutoff: float | None) -> float:
    """The last rank that counts."""
    return judgments.depth if cutoff is None else min(judgments.depth, cutoff)


def precision_sums(groups: TieGroups, above: Floats, own: Floats, pairs: Floats) -> Floats:
    """The expected sum of precisions at the ranks of the relevant documents, added up per query, (Q,).
    Precision may be weighted: a pair of relevant documents adds its weight to the precision at the lower one,
    each document its own. above: the sum over pairs of a document above the group and one within, own: over the
    documents of the group, pairs: over the pairs within it, (G,).
    """
    # the lower one of a pair is in place j with probability 2 (j - 1) / (n (n - 1))
    inverse = groups.sums(lambda rank: 1 / rank)
    lower = 2 * pairs / np.maximum(groups.size - 1, 1)
    value = ((above + own) * inverse + lower * (groups.counted - (groups.above + 1) * inverse)) / groups.size
    return groups.queries.sum(value)


def hit_precisions(judgments: Judgments, rel: float | None, cutoff: int | None) -> Floats:
    """The expected sum of the precisions at the ranks of the hits of each query of Judgments.tied, (Q,)."""
    groups = TieGroups.of(judgments, judgments.hits(rel, cutoff).rows, cutoff)
    count = groups.within.lengths.astype(np.float64)
    return precision_sums(groups, count * groups.before(count), count, count * (count - 1) / 2)


def first_hits(judgments: Judgments, rel: float | None, cutoff: int | None) -> tuple[Segments, Floats, Floats]:
    """Where the first relevant document can be: the ranks of each query, and the probability of each. With m
    relevant documents of n, it is in place j with probability C(n - j, m - 1) / C(n, m).
    """
    assert judgments.last is not None
    hits = judgments.hits(rel, cutoff)
    first = hits.first
    has_hits = hits.count > 0
    relevant = hits.segments.sum(hits.rank == first.rank.repeat(hits.count[has_hits]))[has_hits]
    above = first.rank - 1
    last = judgments.last[first.rows]
    size = last - above
    possible = np.minimum(np.minimum(last, _limit(judgments, cutoff)) - above, size - relevant + 1)
    places = Segments(offsets_of(possible))
    group, position = places.query, places.place
    remaining = size[group] - position  # documents that may be here
    missed = np.where(position > 0, (remaining + 1 - relevant[group]) / (remaining + 1), 1.0)
    probability = places.running_product(missed) * relevant[group] / remaining
    of_queries = Segments(places.offsets[first.segments.offsets])
    return of_queries, above[group] + position + 1, probability


def chance_of_hit(judgments: Judgments, rel: float | None, cutoff: int | None) -> Floats:
    """The probability that a relevant document is in the first ranks, (Q,)."""
    queries, _, probability = first_hits(judgments, rel, cutoff)
    return np.minimum(queries.sum(probability), 1.0)


def expected_stops(groups: TieGroups, probability: Floats) -> Floats:
    """The probability of stopping at each of groups.places, of a user who enters the group. probability: of
    stopping at each document of the groups, in (0, 1]; at others it is 0. With D_i, the mean over i + 1 of the
    m documents of the probability to pass the first i of them and to stop at the last, and the chance that i of
    the m are among the first j - 1 of n, it is at place j the sum over i of C(m, i) C(n - m, j - 1 - i) / C(n,
    j - 1) · (m - i) / (n - j + 1) · D_i.
    """
    places = groups.places
    stops = np.zeros(places.offsets[-1])
    for m in distinct(groups.within.lengths).tolist():
        chosen = np.flatnonzero(groups.within.lengths == m)
        means = _mean_stops(probability, groups.within.offsets[chosen], m)
        rows = ranges(places.offsets[chosen], places.lengths[chosen])
        group = np.searchsorted(chosen, places.query[rows])
        before = places.place[rows]
        size = groups.size[chosen].astype(np.int64)
        # how many of the m are among those drawn differs from its mode by no more, but for 1e-20
        fewest = min(m, int(size.max()) - m)
        width = min(fewest, math.ceil(math.sqrt(24 * fewest)))
        for some in np.array_split(np.arange(len(rows)), len(rows) * (2 * width + 1) // _AT_ONCE + 1):
            n = size[group[some], None]
            drawn = before[some, None]
            passed, chance = _chances(n, m, drawn, width)
            mean = means[group[some, None], np.clip(passed, 0, means.shape[1] - 1)]
            stops[rows[some]] = (chance * (m - passed) / (n - drawn) * mean).sum(axis=1)
    return stops


def _chances(n: Ints, m: int, drawn: Ints, width: int) -> tuple[Ints, Floats]:
    """How many of m documents can be among those drawn of n, (k, 2 width + 1): as many below as above the most
    likely number; and the probability of each number.
    """
    steps = np.arange(1, width + 1)
    mode = (drawn + 1) * (m + 1) // (n + 2)
    rejected = n - m - drawn
    above = mode + steps
    below = mode - steps
    # by the ratios of neighbours, which are exact for groups of any size; 0 beyond what is possible
    rising = np.cumprod((m - above + 1) * (drawn - above + 1) / (above * (rejected + above)), axis=1)
    falling = np.cumprod((below + 1) * (rejected + below + 1) / ((m - below) * (drawn - below)), axis=1)
    chance = np.concatenate([falling[:, ::-1], np.ones(mode.shape), rising], axis=1)
    chance /= chance.sum(axis=1, keepdims=True)
    return np.concatenate([below[:, ::-1], mode, above], axis=1), chance


def _mean_stops(probability: Floats, first: Ints, m: int) -> Floats:
    """D_i of expected_stops() until negligible, a row for each group, whose m documents begin at `first`."""
    least = min(float(probability[first + t].min()) for t in range(m))
    count = m if least < -_NEGLIGIBLE / m else min(m, int(_NEGLIGIBLE / math.log1p(-least)) + 1)
    passed, stopped = np.zeros((len(first), count)), np.zeros((len(first), count))
    passed[:, 0] = 1.0  # the mean over i of the documents so far of the probability to pass them
    for t in range(m):
        stop = probability[first + t, None]
        i = np.arange(min(t + 1, count))
        # the document is not among the i + 1, is passed, or is the last
        mean = (t - i) * stopped[:, i] + stop * passed[:, i]
        mean[:, 1:] += i[1:] * (1 - stop) * stopped[:, i[:-1]]
        stopped[:, i] = mean / (t + 1)
        i = np.arange(1, min(t + 2, count))
        passed[:, i] = ((t + 1 - i) * passed[:, i] + i * (1 - stop) * passed[:, i - 1]) / (t + 1)
    return stopped
