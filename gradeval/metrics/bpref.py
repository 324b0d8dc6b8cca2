"""For collections where not all was judged: bpref, inferred AP, and how much of a ranking is not judged."""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.registry.invariants import IDEAL_IS_ONE, SCALE_FREE, UNJUDGED_IGNORED
from gradeval.registry.metric import metric
from gradeval.registry.params import Cutoff, Rel
from gradeval.tables.judgments import Hits, Judgments
from gradeval.tables.terms import Terms

_LITTLE = 1e-5  # of infAP, so that what no judged document is above has a precision too


def _worse_above(judgments: Judgments, hits: Hits) -> Ints:
    """How many documents that were judged not relevant stand above each hit, (H,)."""
    return judgments.judged_seen[hits.rows] - hits.seen


@metric("bpref", invariants=[IDEAL_IS_ONE, SCALE_FREE, UNJUDGED_IGNORED], needs_relevant=True)
def binary_preference(judgments: Judgments, *, rel: Rel | None = None) -> Terms:
    """Binary preference: are relevant documents above those that were judged not relevant?

    bpref = (sum over the relevant documents retrieved of 1 - min(n, R) / min(N, R)) / R, with n the
    documents judged not relevant above it, N all of them, and R the relevant ones. A grade below 0 is no
    judgment; in ir_measures' trectools it is one of a relevant document.

    Returns float64 (Q,), in [0, 1]; 0 where no document is relevant. Unit free.
    Source: Buckley and Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004; as in
    trec_eval from version 8 on.
    """
    hits = judgments.hits(rel)
    relevant = hits.relevant
    query = hits.segments.query
    above = np.minimum(_worse_above(judgments, hits), relevant[query])
    most = np.minimum(judgments.hits(0.0).relevant - relevant, relevant)
    return Terms(hits.segments, hits.rows, 1.0 - above / np.maximum(most, 1)[query], relevant)


@metric("infAP", invariants=[SCALE_FREE], needs_relevant=True)
def inferred_average_precision(judgments: Judgments, *, rel: Rel | None = None) -> Terms:
    """Inferred average precision, where only a sample of the pool was judged.

    infAP = (sum over the relevant documents retrieved of P) / R, with P the precision expected at rank k:
    P = 1/k + (k-1)/k · d/(k-1) · (r + e)/(r + n + 2e). Of the k-1 documents above it d were in the pool, r
    judged relevant and n not; e = 0.00001. A grade below 0 says: in the pool, but not judged.

    Returns float64 (Q,), in [0, 1]; 0 where no document is relevant. Unit free.
    Source: Yilmaz and Aslam, "Estimating average precision with incomplete and imperfect judgments", CIKM
    2006; as in trec_eval.
    """
    hits = judgments.hits(rel)
    above = hits.rank - 1
    among = np.maximum(above, 1)
    better, worse = hits.seen - 1, _worse_above(judgments, hits)
    pooled = judgments.segments.place[hits.rows]
    expected = (better + _LITTLE) / (better + worse + 2 * _LITTLE)
    precision = 1 / (above + 1) + (above / (above + 1)) * (pooled / among) * expected
    return Terms(hits.segments, hits.rows, precision, hits.relevant)


@metric("unj", invariants=[SCALE_FREE], higher_is_better=None)
def unjudged(judgments: Judgments, *, cutoff: Cutoff) -> Floats:
    """Unjudged documents in the first ranks: the other metrics say little where they are many.

    unj@k = (documents in the first k ranks that were not judged) / k. A grade below 0 is no judgment.

    Returns float64 (Q,), in [0, 1]; 0 where nothing was retrieved. Unit free.
    Source: Soboroff, trec_eval.
    """
    return (np.minimum(judgments.retrieved, cutoff) - judgments.hits(0.0, cutoff).count) / cutoff
