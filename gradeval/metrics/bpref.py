"""Metrics for incomplete judgments: bpref, inferred AP, and the number and the share of judged documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.metrics._kernels import SCALE_FREE_HITS, hit_count, retrieved
from gradeval.registry.invariants import IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE, UNJUDGED_IGNORED
from gradeval.registry.metric import metric
from gradeval.registry.params import AtK, Cutoff, Rel
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

_SMOOTHING = 1e-5  # of infAP: defines the precision where no document above was judged


_INVARIANTS = [IDEAL_IS_ONE, SCALE_FREE_HITS, UNJUDGED_IGNORED]
BPREF: dict[str, Any] = {"invariants": _INVARIANTS, "needs_relevant": True}


@metric("bpref", **BPREF)
def binary_preference(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Binary preference: how often relevant documents are ranked above judged non-relevant ones.

    Use when judgments are incomplete, and the run retrieves many unjudged documents.
    Not when judgments are nearly complete: it uses only the order of judged documents.

    bpref = (sum over the relevant documents retrieved of 1 - min(n, R) / min(N, R)) / R, with n the number of
    judged non-relevant documents above it, N the number of all judged non-relevant documents, and R the
    number of relevant documents. A document with a grade below 0 counts as unjudged; the ir_measures provider
    trectools counts it as relevant.

    Source: Buckley and Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004; as in
    trec_eval since version 8.
    """
    hits = judgments.hits(rel)
    relevant, query = hits.relevant, hits.segments.query
    above = np.minimum(judgments.judged_seen[hits.rows] - hits.seen, relevant[query])
    most = np.minimum(judgments.hits(0.0).relevant - relevant, relevant)
    return Terms(hits.segments, hits.rows, 1.0 - above / np.maximum(most, 1)[query], relevant)


@metric("infAP", invariants=[SCALE_FREE_HITS], needs_relevant=True)
def inferred_average_precision(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Inferred average precision, for judgments of a sample of the pool.

    Use when judgments are a random sample of a pool, marked as such in the qrels (grade -1).
    Not when judgments were not sampled uniformly: the estimate of AP is then biased.

    infAP = (sum over the relevant documents retrieved of P) / R, with P the expected precision at rank k:
    P = 1/k + (k-1)/k · d/(k-1) · (r + e)/(r + n + 2e). Of the k-1 documents above rank k, d are in the pool,
    r are judged relevant and n are judged non-relevant; e = 0.00001. A grade below 0 means that the document
    is in the pool but was not judged.

    Source: Yilmaz and Aslam, "Estimating average precision with incomplete and imperfect judgments", CIKM
    2006; as in trec_eval.
    """
    hits = judgments.hits(rel)
    above, better = hits.rank - 1, hits.seen - 1
    worse, pooled = judgments.judged_seen[hits.rows] - hits.seen, judgments.segments.place[hits.rows]
    expected = (better + _SMOOTHING) / (better + worse + 2 * _SMOOTHING)
    precision = 1 / hits.rank + (above / hits.rank) * (pooled / np.maximum(above, 1)) * expected
    return Terms(hits.segments, hits.rows, precision, hits.relevant)


@metric("unj", invariants=[SCALE_FREE], higher_is_better=None, expected=True)
def unjudged(judgments: Judgments, *, cutoff: Cutoff) -> Floats:
    """Share of unjudged documents in the first ranks: other metrics are unreliable where it is high.

    Use when a value is to be trusted only where enough of the first ranks is judged.
    Not when systems are compared by it: a new system with good documents has many unjudged ones.

    unj@k = (unjudged documents in the first k ranks) / k. A document with a grade below 0 counts as unjudged.

    Source: Soboroff, trec_eval.
    """
    return (np.minimum(judgments.retrieved, cutoff) - hit_count(judgments, 0.0, cutoff)) / cutoff


@metric("Judged", invariants=[SCALE_FREE, PROMOTION_HELPS], higher_is_better=None)
def judged(judgments: Judgments, *, cutoff: AtK = None) -> Terms:
    """Share of judged documents among those retrieved.

    Use when any metric is read that takes unjudged documents as not relevant.
    Not when systems are compared by it: a new system with good documents has many unjudged ones.

    Judged@k = (documents in the first k ranks that are in the qrels) / (documents in the first k ranks).

    If fewer than k documents were retrieved, the divisor is their number, as in ir_measures.

    Source: ir_measures, after OpenNIR.
    """
    rows = np.flatnonzero(judgments.top(cutoff))
    within, size = judgments.segments.take(rows), retrieved(judgments, cutoff)
    return Terms(within, rows, 1.0, size, weight_at=np.ones_like, cutoff=cutoff)
