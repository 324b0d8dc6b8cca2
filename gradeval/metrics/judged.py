"""Diagnostics for other metrics: the share of judged documents, and the order of those retrieved."""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Floats
from gradeval.registry.invariants import PROMOTION_HELPS, SCALE_FREE
from gradeval.registry.metric import metric
from gradeval.registry.params import Cutoff, Rel
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms


@metric(
    "Judged",
    invariants=[SCALE_FREE, PROMOTION_HELPS],
    higher_is_better=None,
)
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
    return Terms(judgments.segments.take(rows), rows, 1.0, retrieved)


@metric("Accuracy", invariants=[SCALE_FREE.unless("rel")], undefined=True, example="Accuracy(rel=2)@100")
def accuracy(judgments: Judgments, *, rel: Rel | None = None, cutoff: Cutoff | None = None) -> Floats:
    """Probability that a relevant document is ranked above a non-relevant one, among those retrieved.

    Use when the documents retrieved are reranked, and each pair of them counts alike.
    Not when the top matters most, or runs retrieve different documents.

    Accuracy@k = (pairs of a relevant and a non-relevant document with the relevant one ranked higher) / (all
    such pairs), both in the first k ranks. Unjudged documents count as non-relevant.

    ir_measures excludes queries without a value from the mean too, but counts them as 0 if other measures are
    requested in the same call, and fails if all retrieved documents are relevant.

    Returns float64 (Q,), in [0, 1]; NaN where none or all of the retrieved documents are relevant, 0 where
    nothing was retrieved. Unitless.
    Source: ir_measures.
    """
    rows = np.flatnonzero(judgments.relevant(rel) & judgments.top(cutoff))
    found = judgments.segments.take(rows)
    retrieved = judgments.retrieved if cutoff is None else np.minimum(judgments.retrieved, cutoff)
    pairs = found.lengths * (retrieved - found.lengths)
    wrong = found.sum(judgments.rank[rows] - found.place - 1)
    value = 1 - np.divide(wrong, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    return np.where(retrieved > 0, value, 0.0)
