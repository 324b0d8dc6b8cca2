"""The share of judged documents, which tells how far other metrics can be trusted."""

from __future__ import annotations

import numpy as np

from gradeval.registry.invariants import PROMOTION_HELPS, SCALE_FREE
from gradeval.registry.metric import metric
from gradeval.registry.params import Cutoff
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms


@metric("Judged", invariants=[SCALE_FREE, PROMOTION_HELPS], higher_is_better=None)
def judged(judgments: Judgments, *, cutoff: Cutoff | None = None) -> Terms:
    """Share of judged documents among those retrieved.

    Use when any metric is read that takes unjudged documents as not relevant.
    Not when systems are compared by it: a new system with good documents has many unjudged ones.

    Judged@k = (documents in the first k ranks that are in the qrels) / (documents in the first k ranks).

    If fewer than k documents were retrieved, the divisor is their number, as in ir_measures.

    Returns float64 (Q,), in [0, 1]; 0 where nothing was retrieved. Unitless.
    Source: ir_measures, after OpenNIR.
    """
    retrieved = judgments.retrieved if cutoff is None else np.minimum(judgments.retrieved, cutoff)
    rows = np.flatnonzero(judgments.top(cutoff))
    within = judgments.segments.take(rows)
    return Terms(within, rows, 1.0, retrieved, weight_at=np.ones_like, cutoff=cutoff)
