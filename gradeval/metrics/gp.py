"""Generalized precision and recall: a document counts as its grade divided by the largest grade."""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Bools
from gradeval.metrics._kernels import linear_gain
from gradeval.registry.invariants import PROMOTION_HELPS, SCALE_FREE
from gradeval.registry.metric import metric
from gradeval.registry.params import Cutoff
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms


def _shares(judgments: Judgments, which: Bools) -> Terms:
    """The grade of each of these rows, over the largest grade in the qrels.

    Documents that were not retrieved come by descending grade, so that the order of the qrels changes no sum.
    """
    rows = np.flatnonzero(which)
    segments = judgments.segments.take(rows)
    highest = judgments.scale.max(initial=0.0)
    share = linear_gain(judgments.grade[rows]) / (highest if highest > 0 else 1.0)
    missed = ~judgments.is_retrieved[rows]
    if missed.any():
        ranked = 2.0 + len(rows) - np.arange(len(rows))  # above all shares
        order = segments.descending(np.where(missed, share, ranked))
        rows, share = rows[order], share[order]
    return Terms(segments, rows, share, weight_at=np.ones_like)


@metric("gP", invariants=[SCALE_FREE, PROMOTION_HELPS])
def generalized_precision(judgments: Judgments, *, cutoff: Cutoff | None = None) -> Terms:
    """Generalized precision.

    Use when grades are to count in precision in proportion to their size.
    Not when the order within the first k matters (nDCG).

    gP@k = (sum of grade / m over the first k ranks) / k, with m the largest grade in the qrels. Without a
    cutoff, k is the number of documents retrieved. Unjudged documents and grades <= 0 count as 0.

    Returns float64 (Q,), in [0, 1]; 0 where nothing relevant was retrieved. Unitless.
    Source: Kekäläinen and Järvelin, "Using graded relevance assessments in IR evaluation", JASIST 2002.
    """
    number = judgments.retrieved if cutoff is None else cutoff
    return _shares(judgments, judgments.top(cutoff)).replace(normalizer=number, cutoff=cutoff)


@metric("gR", invariants=[SCALE_FREE, PROMOTION_HELPS], needs_relevant=True)
def generalized_recall(judgments: Judgments, *, cutoff: Cutoff | None = None) -> Terms:
    """Generalized recall.

    Use when grades are to count in recall in proportion to their size.
    Not when the order within the first k matters (nDCG).

    gR@k = (sum of grade / m over the first k ranks) / (sum of grade / m over all judged documents of the
    query), with m the largest grade in the qrels. Unjudged documents and grades <= 0 count as 0.

    Returns float64 (Q,), in [0, 1]; 0 where no grade is above 0. Unitless.
    Source: Kekäläinen and Järvelin, "Using graded relevance assessments in IR evaluation", JASIST 2002.
    """
    judged = _shares(judgments, judgments.grade > 0)
    shares = _shares(judgments, judgments.top(cutoff))
    return shares.replace(normalizer=judged.total, ideal=lambda: judged, cutoff=cutoff)
