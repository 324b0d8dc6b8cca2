"""rankDCG: the quality of the order of the judged documents."""

from __future__ import annotations

import numpy as np

from gradeval.metrics._kernels import with_rows
from gradeval.registry.invariants import (
    IDEAL_IS_ONE,
    PROMOTION_HELPS,
    REVERSE_IS_ZERO,
    SCALE_FREE,
    UNJUDGED_IGNORED,
)
from gradeval.registry.metric import metric
from gradeval.tables.judgments import Judgments
from gradeval.tables.levels import LevelGroup
from gradeval.tables.terms import Details, DiscountedTerms, Terms


@metric(
    "rankDCG",
    invariants=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS, REVERSE_IS_ZERO, UNJUDGED_IGNORED],
    undefined=True,
    order_free=True,
)
def rank_dcg(judgments: Judgments) -> Terms:
    """Rank discounted cumulated gain.

    Use when the order of all judged documents is the question, as in ordering by popularity or influence.
    Not when documents are to be found among many unjudged ones: unjudged documents have no effect.

    rankDCG = (DCG' - min) / (max - min), with DCG' = sum over the positions i of the judged documents of
    level(i) / discount(i), max the DCG' of the ideal ranking and min that of its reverse. The K distinct
    grades are the levels 1..K, in ascending order; discount(i) = K + 1 - the level at position i of the ideal
    ranking, so that documents of equal grade share a discount. Only judged documents have a position, by
    score; among ties the lowest grade is first, and documents not retrieved are tied below all others.

    Returns NaN where all judged grades are equal.
    Source: Katerenchuk and Rosenberg, "RankDCG: Rank-ordering evaluation measure", LREC 2016, section 4.
    """
    within = judgments.segments
    distinct = judgments.levels.lengths
    ideal = (judgments.ideal_level + 1).astype(np.float64)
    discount = distinct[within.query] + 1 - ideal
    reverse = ideal[(within.starts + within.ends - 1)[within.query] - np.arange(len(ideal))]
    rows = within.ties(judgments.score).descending(-judgments.level.astype(np.float64))
    ranked = (judgments.level[rows] + 1).astype(np.float64)
    rank = (within.place + 1).astype(np.float64)
    best = DiscountedTerms.of(within, np.arange(len(rank)), rank, ideal, discount)
    worst = within.sum(reverse / discount)

    def details() -> Details:
        levels = zip(judgments.ideal_levels.offsets, judgments.ideal_levels.ends, strict=False)
        groups = [
            LevelGroup(int(ideal[a]), float(judgments.ideal[a]), int(a) + 1, int(b), float(discount[a]))
            for a, b in levels
        ]
        return Details(groups=groups)

    return DiscountedTerms.of(within, rows, rank, ranked, discount).replace(
        normalizer=np.where(distinct > 1, best.total - worst, np.nan),
        base=worst,
        ideal=lambda: with_rows(best, within, judgments.grade),
        details=details,
    )
