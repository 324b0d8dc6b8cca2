"""Precision where a query has given back what it has: at its number of relevant documents, or at a recall."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gradeval.arrays import Floats
from gradeval.metrics._kernels import one_each
from gradeval.registry.invariants import IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE
from gradeval.registry.metric import metric
from gradeval.registry.params import Rel, at_least, choice, numbers, share
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

RECALLS = tuple(n / 10 for n in range(11))
RECALL = share("the share of the relevant documents that is to be found", after_at=True)
Recall = Annotated[float, RECALL]
Points = Annotated[tuple[float, ...], numbers("the levels of recall", example="0/0.1/0.2", of=RECALL)]
Rounding = Annotated[
    str,
    choice(
        "how the number of documents becomes whole: to the nearest, or up if it is 0.1 more than whole or "
        "above",
        ("nearest", "up"),
    ),
]
Multiple = Annotated[float, at_least(0.0, "how many times R ranks count", example="0.5", after_at=True)]


@metric("Rprec", invariants=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS], needs_relevant=True)
def r_precision(judgments: Judgments, *, rel: Rel | None = None) -> Terms:
    """Precision at R, the number of relevant documents.

    Rprec = (relevant documents in the first R ranks) / R; it is recall there too. ir_measures' trectools
    prints nan where none is there.

    Returns float64 (Q,), in [0, 1]; 0 where no document is relevant. Unit free.
    Source: Buckley and Voorhees, "Retrieval System Evaluation", in TREC, MIT Press 2005; as in trec_eval.
    """
    hits = judgments.hits(rel)
    return one_each(hits.top(hits.relevant), hits.relevant)


@metric("Rprec_mult", invariants=[SCALE_FREE, PROMOTION_HELPS], needs_relevant=True)
def r_precision_at_multiple(judgments: Judgments, *, rel: Rel | None = None, multiple: Multiple) -> Terms:
    """Precision at a multiple of R, the number of relevant documents.

    Rprec_mult@m = (relevant documents in the first n ranks) / n, with n = the whole number in m R + 0.9.

    Returns float64 (Q,), in [0, 1]; 0 where no document is relevant, or n is 0. Unit free.
    Source: Buckley, trec_eval.
    """
    hits = judgments.hits(rel)
    cutoff = np.floor(multiple * hits.relevant + 0.9)
    return one_each(hits.top(cutoff), cutoff)


def interpolated(judgments: Judgments, rel: float | None, recall: float, rounding: str) -> Floats:
    """The highest precision at this recall or a higher one, (Q,); NaN where no document is relevant."""
    hits = judgments.hits(rel)

    def find() -> Floats:
        wanted = recall * hits.relevant
        needed = np.floor(wanted + 0.9 if rounding == "up" else wanted)
        if rounding == "nearest":
            needed += wanted - needed >= 0.5  # as C's lround: half a document is one
        reached = hits.seen >= needed[hits.segments.query]
        highest = hits.segments.max(np.where(reached, hits.precision, 0.0))
        return np.where(hits.relevant > 0, highest, np.nan)

    return judgments.once(("interpolated", rel, recall, rounding), find)


@metric("iprec_at_recall", invariants=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS], needs_relevant=True)
def interpolated_precision(
    judgments: Judgments, *, rel: Rel | None = None, rounding: Rounding = "nearest", recall: Recall
) -> Floats:
    """Interpolated precision at a level of recall.

    iprec_at_recall@r = the largest P at a rank by which n or more relevant documents were retrieved, with
    n = r R, made whole, and R the number of relevant documents; 0 where fewer than n were retrieved.

    Returns float64 (Q,), in [0, 1]; 0 where no document is relevant. Unit free.
    Source: Buckley and Voorhees, "Retrieval System Evaluation", in TREC, MIT Press 2005; n is rounded to
    the nearest in trec_eval 10, and up in trec_eval 9, which took the whole number in r R + 0.9, as
    ir_measures' IPrec still does.
    """
    return interpolated(judgments, rel, recall, rounding)


@metric(
    "11pt_avg",
    invariants=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS],
    example="11pt_avg(points=0.2/0.5/0.8)",
    needs_relevant=True,
)
def eleven_point_average(
    judgments: Judgments, *, rel: Rel | None = None, rounding: Rounding = "nearest", points: Points = RECALLS
) -> Floats:
    """Interpolated precision, averaged over eleven levels of recall.

    11pt_avg = (sum of iprec_at_recall at each of the points) / (number of points).

    Returns float64 (Q,), in [0, 1]; 0 where no document is relevant. Unit free.
    Source: Buckley and Voorhees, "Retrieval System Evaluation", in TREC, MIT Press 2005; as in trec_eval.
    """
    total = np.zeros(judgments.segments.count)
    for recall in reversed(points):
        total += interpolated(judgments, rel, recall, rounding)
    return total / len(points)
