"""rankDCG: how well a ranking orders documents that are all of interest."""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Floats
from gradeval.registry.invariants import (
    IDEAL_IS_ONE,
    PROMOTION_HELPS,
    REVERSE_IS_ZERO,
    SCALE_FREE,
    UNJUDGED_IGNORED,
)
from gradeval.registry.metric import Sees, metric
from gradeval.tables.judgments import Judgments


@metric(
    "rankDCG",
    order=False,
    sees=Sees.JUDGMENT,
    holds=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS, REVERSE_IS_ZERO, UNJUDGED_IGNORED],
    undefined=True,
)
def rank_dcg(judgments: Judgments) -> Floats:
    """Rank discounted cumulated gain.

    rankDCG = (DCG' - min) / (max - min), with DCG' = sum over the places i of the judged documents of
    level(i) / discount(i), max the DCG' of the ideal ranking and min that of its reverse. The K distinct
    grades are the levels 1..K, the highest being K; discount(i) = K + 1 - the level at place i of the ideal
    ranking, so that documents of one grade share a discount. Only judged documents take up a place, by score;
    of tied ones the lowest grade comes first, and those that were not retrieved are tied below all others.

    Returns float64 (Q,), in [0, 1]; NaN where all judged grades are equal. Unit free.
    Source: Katerenchuk and Rosenberg, "RankDCG: Rank-ordering evaluation measure", LREC 2016, section 4.
    """
    within = judgments.segments
    distinct = judgments.levels.lengths
    ideal = judgments.ideal_level + 1.0
    discount = distinct[within.query] + 1 - ideal
    reverse = ideal[(within.offsets[:-1] + within.offsets[1:] - 1)[within.query] - np.arange(len(ideal))]
    ranked = judgments.tied_level + 1.0
    value, best, worst = (within.sum(level / discount) for level in (ranked, ideal, reverse))
    result: Floats = np.full(within.count, np.nan)
    np.divide(value - worst, best - worst, out=result, where=distinct > 1)
    return result
