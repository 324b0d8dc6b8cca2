"""nDCG averaged over ranks of its own choice, and G, which discounts by what could have been gained."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.numbers import log2
from gradeval.arrays.segments import Segments
from gradeval.metrics._kernels import discount
from gradeval.metrics.dcg import (
    counts,
    graded,
    ideal_dcg_sum,
    normalized_discounted_cumulated_gain,
    share,
)
from gradeval.registry.invariants import IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE, UNJUDGED_IGNORED
from gradeval.registry.metric import Dotted, Sees, metric
from gradeval.registry.params import REL, WORTH, Pairs
from gradeval.tables.judgments import Judgments

TREC_GAIN = Dotted("gain", form="pairs")


@dataclass(frozen=True, eq=False)
class _Gains:
    """What was gained, and what could have been.

    found, rank, gain: the documents retrieved whose gain is not 0, in rank order. best, ideal: the gains
    above 0 of the judged documents, falling; they are the first ranks of the ideal ranking.
    """

    found: Segments
    rank: Floats
    gain: Floats
    best: Segments
    ideal: Floats

    @classmethod
    def of(cls, judgments: Judgments, gain: str | Pairs) -> _Gains:
        def find() -> _Gains:
            table, worth = graded(judgments, gain, None)
            rows = np.flatnonzero(counts(table, worth) & table.is_retrieved)
            found = table.segments.take(rows)
            first = np.flatnonzero(table.ideal > 0)
            best = table.segments.take(first)
            gained = worth(table.grade[rows], found.query)
            return cls(found, table.rank[rows], gained, best, worth(table.ideal[first], best.query))

        return judgments.once(("gains", gain), find)

    @cached_property
    def dcg(self) -> Floats:
        """DCG at the rank of each document found."""
        return self.found.running_sum(self.gain / discount(self.rank))

    @cached_property
    def ideal_dcg(self) -> Floats:
        """DCG at each of the first ranks of the ideal ranking."""
        return self.best.running_sum(self.ideal / discount((self.best.place + 1).astype(np.float64)))

    @cached_property
    def whole_dcg(self) -> Floats:
        """DCG at the last rank, (Q,)."""
        return _last(self.found, self.dcg)

    @cached_property
    def whole_ideal(self) -> Floats:
        """DCG of the whole ideal ranking, (Q,)."""
        return _last(self.best, self.ideal_dcg)

    def ideally(self, running: Floats) -> Floats:
        """A running sum over the ideal ranking, at the rank of each document found."""
        query = self.found.query
        depth = np.minimum(self.rank.astype(np.int64), self.best.lengths[query])
        padded = np.append(running, 0.0)  # for costs only: nothing can be gained
        return np.where(depth > 0, padded[self.best.offsets[query] + depth - 1], 0.0)

    def number_found(self, query: Ints, depth: Ints) -> Ints:
        """How many of the documents found are in the first `depth` ranks of the query."""
        width = int(max(self.rank.max(initial=0), depth.max(initial=0))) + 1
        place = self.found.query * width + self.rank.astype(np.int64)
        return np.searchsorted(place, query * width + depth, "right") - self.found.offsets[query]


def _last(segments: Segments, running: Floats) -> Floats:
    """The last value of each query, 0 where it has none, (Q,)."""
    last = np.append(running, 0.0)[np.maximum(segments.offsets[1:] - 1, 0)]
    return np.where(segments.lengths > 0, last, 0.0)


@metric(
    "ndcg_rel",
    params=[WORTH],
    holds=[IDEAL_IS_ONE, SCALE_FREE],
    trec={"ndcg_rel": TREC_GAIN},
    example="ndcg_rel(gain=1:3/2:9)",
)
def ndcg_at_relevant(judgments: Judgments, *, gain: str | Pairs = "linear") -> Floats:
    """nDCG averaged over the documents that gain something.

    ndcg_rel = (sum of nDCG@r over the ranks r of those retrieved + nDCG at the last rank for each of those
    that were not) / (their number in the qrels).

    Returns float64 (Q,), in [0, 1]; 0 where nothing can be gained. Unit free.
    Source: Buckley, trec_eval, experimental.
    """
    gains = _Gains.of(judgments, gain)
    good = gains.gain > 0
    number = gains.best.lengths
    reached = np.where(good, gains.dcg, 0.0) / np.where(good, gains.ideally(gains.ideal_dcg), 1.0)
    missed = number - gains.found.number(good)
    total = gains.found.sum(reached) + share(missed * gains.whole_dcg, gains.whole_ideal)
    return np.maximum(total, 0.0) / np.maximum(number, 1)


@metric(
    "Rndcg",
    params=[REL, WORTH],
    holds=[IDEAL_IS_ONE, SCALE_FREE],
    trec={"Rndcg": TREC_GAIN},
    example="Rndcg(gain=1:3/2:9)",
)
def ndcg_at_levels(judgments: Judgments, *, rel: float | None = None, gain: str | Pairs = "linear") -> Floats:
    """nDCG averaged over the ranks where the ideal ranking goes from one gain to the next lower one.

    Rndcg = (sum of nDCG@k over the points k) / (number of points); a point is after the last document of each
    gain above 0 in the ideal ranking, and one more at the last rank if that is 2 or more below these.

    Returns float64 (Q,), in [0, 1]; 0 where no document is relevant or nothing can be gained. Unit free.
    Source: Buckley, trec_eval, experimental.
    """
    gains = _Gains.of(judgments, gain)
    levels = gains.best.ties(gains.ideal)
    of = gains.best.over(levels)
    end = levels.offsets[1:]
    number = gains.number_found(of.query, end - gains.best.offsets[of.query])
    before = np.append(0.0, gains.dcg)  # the sums of each query begin anew
    reached = np.where(number > 0, before[gains.found.offsets[of.query] + number], 0.0)
    points = of.lengths
    total = of.sum(reached / gains.ideal_dcg[end - 1])
    further = judgments.retrieved > gains.best.lengths + 1
    total = (total + np.where(further, share(gains.whole_dcg, gains.whole_ideal), 0.0)) / np.maximum(
        points + further, 1
    )
    return np.where((judgments.hits(rel).relevant > 0) & (points > 0), total, 0.0)


@metric(
    "ndcg_p",
    params=[WORTH],
    holds=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS],
    trec={"ndcg_p": TREC_GAIN},
    example="ndcg_p(gain=1:3/2:9)",
)
def trec_eval_9_ndcg(judgments: Judgments, *, gain: str | Pairs = "linear") -> Floats:
    """nDCG with the discount of its first description, as the first releases of trec_eval 9 had it.

    ndcg_p = nDCG(discount=letor). trec_eval 10 still has its source, but no such measure.

    Returns float64 (Q,), in [0, 1]; 0 where the ideal gains nothing. Unit free.
    Source: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    """
    return normalized_discounted_cumulated_gain(judgments, gain=gain, discount="letor")


@metric(
    "ideal_dcg",
    order=False,
    sees=Sees.NOTHING,
    params=[WORTH],
    range=(0, None),
    holds=[UNJUDGED_IGNORED],
    trec={"ideal_dcg": TREC_GAIN},
    example="ideal_dcg(gain=1:3/2:9)",
)
def ideal_discounted_cumulated_gain(judgments: Judgments, *, gain: str | Pairs = "linear") -> Floats:
    """The discounted cumulated gain that the ideal ranking has.

    ideal_dcg = DCG of all judged documents by falling grade; nDCG = DCG / ideal_dcg.

    Returns float64 (Q,), from 0 up; 0 where nothing can be gained. Unit: gain.
    Source: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    """
    return ideal_dcg_sum(*graded(judgments, gain, None), None)


@metric("G", params=[WORTH], trec={"G": TREC_GAIN}, example="G(gain=1:3/2:9)")
def normalized_gain(judgments: Judgments, *, gain: str | Pairs = "linear") -> Floats:
    """Normalized gain: each gain is discounted by how much more could have been gained so far.

    G = (sum over the documents retrieved of gain / log2(2 + most - gained)) / (sum of all gains), with gained
    what there is up to and with its rank, and most what the ideal ranking has gained there, where each rank
    counts for 1 at least. Sums of 2^53 and more are rounded (gain=exp, from grade 53 on), and what is missed
    by less than that is not seen.

    Returns float64 (Q,), in [0, 1]; 0 where nothing can be gained. Unit free.
    Source: Buckley, trec_eval, experimental.
    """
    gains = _Gains.of(judgments, gain)
    beyond = np.maximum(gains.rank - gains.best.lengths[gains.found.query], 0.0)
    most = gains.ideally(gains.best.running_sum(np.maximum(gains.ideal, 1.0))) + beyond
    # no less than 2 but for rounding, since nothing gains more than the ideal ranking
    behind = np.maximum(2 + most - gains.found.running_sum(gains.gain), 2.0)
    whole = bool((behind == np.floor(behind)).all())
    total = gains.found.sum(gains.gain / (log2(behind) if whole else np.log2(behind)))
    return share(total, gains.best.sum(gains.ideal))


@metric(
    "binG",
    params=[REL],
    holds=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS],
    trec={"binG": None},
    example="binG(rel=2)",
)
def binary_gain(judgments: Judgments, *, rel: float | None = None) -> Floats:
    """Binary G: each relevant document is discounted by what stands above it in vain.

    binG = (sum over the relevant documents retrieved of 1 / log2(2 + n)) / R, with n the documents above it
    that are not relevant, and R the number of relevant documents.

    Returns float64 (Q,), in [0, 1]; 0 where no document is relevant. Unit free.
    Source: Buckley, trec_eval, experimental.
    """
    hits = judgments.hits(rel)
    return hits.segments.sum(1 / log2(2 + hits.rank - hits.seen)) / np.maximum(hits.relevant, 1)
