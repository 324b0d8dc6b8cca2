"""The cumulated gain family: CG, DCG, nDCG, NDCNG, nDCGφ."""

from __future__ import annotations

import numpy as np

from gradeval.judgments import Judgments
from gradeval.metrics.registry import CUTOFF, IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE, metric
from gradeval.relevance import exp2_gain, log2_discount
from gradeval.segments import Floats


def normalized_dcg(judgments: Judgments, gain: Floats, cutoff: int | None) -> Floats:
    """DCG / ideal DCG with discount 1 / log2(rank + 1), 0 where the ideal is 0."""
    within = judgments.segments
    counted = np.inf if cutoff is None else cutoff
    value = within.sum(np.where(judgments.rank <= counted, gain * log2_discount(judgments.rank), 0.0))
    place = within.place + 1.0
    ideal = within.sum(np.where(place <= counted, judgments.ideal(gain) * log2_discount(place), 0.0))
    return value / np.where(ideal > 0, ideal, 1.0)


@metric(
    "NDCNG", params=[CUTOFF], holds=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS], example="NDCNG@10"
)
def ndcng(judgments: Judgments, *, cutoff: int | None = None) -> Floats:
    """Normalized discounted cumulative normalized gain.

    NDCNG@k = DCG@k / ideal DCG@k, with gain 2^(grade/m) - 1, m the largest grade judged for the query,
    and discount 1 / log2(rank + 1). Unjudged documents and grades <= 0 gain nothing.

    Returns float64 (Q,), in [0, 1]; 0 where no grade is above 0. Unit free.
    Source: Scheel, Lommatzsch, Albayrak, "Performance Measures for Multi-Graded Relevance", 2011, eq. 5.
    """
    highest = judgments.segments.max(judgments.grade)
    highest[highest <= 0] = 1.0
    return normalized_dcg(judgments, exp2_gain(judgments.grade / highest[judgments.query]), cutoff)
