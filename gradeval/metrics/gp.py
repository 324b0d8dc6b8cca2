"""Generalized precision and recall: a document counts with its share of the largest grade."""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.metrics._kernels import linear_gain
from gradeval.registry.invariants import PROMOTION_HELPS, SCALE_FREE
from gradeval.registry.metric import metric
from gradeval.registry.params import CUTOFF
from gradeval.tables.judgments import Judgments


def _share_sum(judgments: Judgments, rows: Bools) -> Floats:
    """The sum over these rows of the grade, over the largest grade in the qrels, (Q,)."""
    highest = judgments.grades.max(initial=0.0)
    share = linear_gain(judgments.grade[rows]) / (highest if highest > 0 else 1.0)
    return judgments.segments.take(np.flatnonzero(rows)).sum(share)


@metric("gP", order=False, params=[CUTOFF], holds=[SCALE_FREE, PROMOTION_HELPS], example="gP@10")
def generalized_precision(judgments: Judgments, *, cutoff: int | None = None) -> Floats:
    """Generalized precision.

    gP@k = (sum of grade / m over the first k ranks) / k, with m the largest grade in the whole qrels; without
    a cutoff, over all that was retrieved and its number. Unjudged documents and grades <= 0 add nothing.

    Returns float64 (Q,), in [0, 1]; 0 where nothing relevant was retrieved. Unit free.
    Source: Kekäläinen and Järvelin, "Using graded relevance assessments in IR evaluation", JASIST 2002.
    """
    number = np.maximum(judgments.retrieved, 1) if cutoff is None else cutoff
    return _share_sum(judgments, judgments.top(cutoff)) / number


@metric("gR", order=False, params=[CUTOFF], holds=[SCALE_FREE, PROMOTION_HELPS], example="gR@10")
def generalized_recall(judgments: Judgments, *, cutoff: int | None = None) -> Floats:
    """Generalized recall.

    gR@k = (sum of grade / m over the first k ranks) / (sum of grade / m over all judged documents of the
    query), with m the largest grade in the whole qrels. Unjudged documents and grades <= 0 add nothing.

    Returns float64 (Q,), in [0, 1]; 0 where no grade is above 0. Unit free.
    Source: Kekäläinen and Järvelin, "Using graded relevance assessments in IR evaluation", JASIST 2002.
    """
    judged = _share_sum(judgments, judgments.grade > 0)
    return _share_sum(judgments, judgments.top(cutoff)) / np.where(judged > 0, judged, 1.0)
