"""Utility of a retrieved set, as in TREC's filtering track."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gradeval.arrays import Floats
from gradeval.metrics._kernels import SCALE_FREE_HITS
from gradeval.registry.metric import metric
from gradeval.registry.params import Rel, at_least, negative, numbers, positive
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

Gained = Annotated[float, positive("the utility of a relevant document retrieved")]
Lost = Annotated[float, negative("the utility of a non-relevant document retrieved")]
Tolerated = Annotated[float, positive("the number of non-relevant documents whose utility is scaled to 0")]
_WEIGHTS = "the utility of a relevant and of a non-relevant document retrieved, and of each not retrieved"
Weights = Annotated[tuple[float, ...], numbers(_WEIGHTS, example="1/-1/0/0", count=4)]
Size = Annotated[float, at_least(0.0, "the number of documents in the collection, for the last weight")]


@metric("scaled_utility", invariants=[SCALE_FREE_HITS], example="scaled_utility(s=50)", order_free=True)
def scaled_utility(
    judgments: Judgments, *, rel: Rel = None, a: Gained = 3.0, b: Lost = -2.0, s: Tolerated = 100.0
) -> Floats:
    """Scaled utility.

    Use when a filtering system decides which documents to deliver, with a cost for each wrong one.
    Not when the result is a ranking without a decision where to stop.

    SU = (max(u, U(s)) - U(s)) / (MaxU - U(s)), with u = a (relevant retrieved) + b (non-relevant retrieved),
    U(s) = b s, and MaxU = a (relevant documents in the qrels). The defaults are TREC-8's LF1.

    Source: Hull and Robertson, "The TREC-8 filtering track final report", 2000.
    """
    hits, least = judgments.hits(rel), b * s
    utility = a * hits.count + b * (judgments.retrieved - hits.count)
    scaled = (np.maximum(utility, least) - least) / (a * hits.relevant - least)
    return np.where(judgments.retrieved > 0, scaled, 0.0)


@metric(
    "utility",
    range=(None, None),
    invariants=[SCALE_FREE_HITS],
    example="utility(weights=3/-2/0/0)",
    order_free=True,
)
def set_utility(
    judgments: Judgments, *, rel: Rel = None, weights: Weights = (1.0, -1.0, 0.0, 0.0), size: Size = 0.0
) -> Terms:
    """Utility of the documents retrieved and of those not retrieved.

    Use when gains and costs of delivered and missed documents are known.
    Not when queries are averaged that differ in size: it is not normalized (scaled_utility).

    utility = a (relevant retrieved) + b (non-relevant retrieved) + c (relevant not retrieved)
    + d (non-relevant not retrieved), with a/b/c/d the weights, in a collection of `size` documents.

    In the example, what documents add that are not judged, or neither relevant nor retrieved, is subtracted
    with the opposite sign.

    Source: Buckley, trec_eval.
    """
    a, b, c, d = weights
    relevant, is_retrieved = judgments.relevant(rel), judgments.is_retrieved
    value = np.where(relevant, np.where(is_retrieved, a, c), np.where(is_retrieved, b, 0.0))
    rows = np.flatnonzero(relevant | is_retrieved)
    segments = judgments.segments.take(rows)
    unjudged = judgments.retrieved - judgments.segments.sum(is_retrieved)
    others = size - unjudged - segments.lengths
    return Terms(segments, rows, value[rows], base=-(b * unjudged + d * others), unjudged=b)
