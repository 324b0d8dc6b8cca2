"""Precision at a recall level: at the number of relevant documents, or at a share of it; generalized precision
and recall, where a document counts as its grade divided by the largest grade.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.metrics._kernels import SCALE_FREE_HITS, one_each
from gradeval.registry.invariants import IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE
from gradeval.registry.metric import metric
from gradeval.registry.params import Cutoff, Rel, at_least, choice, numbers, share
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

RECALLS = tuple(n / 10 for n in range(11))
RECALL = share("the recall level: a share of the relevant documents", after_at=True)
Recall = Annotated[float, RECALL]
Points = Annotated[tuple[float, ...], numbers("the recall levels", example="0/0.1/0.2", of=RECALL)]
Rounding = Annotated[
    str,
    choice(
        "how the number of documents is rounded to an integer: to the nearest, or up if its fraction is at "
        "least 0.1",
        ("nearest", "up"),
    ),
]
Multiple = Annotated[float, at_least(0.0, "the cutoff as a multiple of R", example="0.5", after_at=True)]


@metric("Rprec", invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS, PROMOTION_HELPS], needs_relevant=True)
def r_precision(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Precision at R, the number of relevant documents.

    Use when queries differ in their number of relevant documents, and one cutoff would not fit all.
    Not when the first page is all that counts: R can be far below it.

    Rprec = (relevant documents in the first R ranks) / R, which is also the recall at R.

    The ir_measures provider trectools prints nan where none of them is relevant.

    Source: Buckley and Voorhees, "Retrieval System Evaluation", in TREC, MIT Press 2005; as in trec_eval.
    """
    hits = judgments.hits(rel)
    return one_each(hits, hits.relevant, hits.relevant)


@metric("Rprec_mult", invariants=[SCALE_FREE_HITS, PROMOTION_HELPS], needs_relevant=True)
def r_precision_at_multiple(judgments: Judgments, *, rel: Rel = None, multiple: Multiple) -> Terms:
    """Precision at a multiple of R, the number of relevant documents.

    Use when precision is to be seen before and beyond R, at the same relative depth for each query.
    Not when a cutoff in ranks is meant (P).

    Rprec_mult@m = (relevant documents in the first n ranks) / n, with n = floor(m R + 0.9).

    Source: Buckley, trec_eval.
    """
    hits = judgments.hits(rel)
    cutoff = np.floor(multiple * hits.relevant + 0.9)
    return one_each(hits, cutoff, cutoff)


def interpolated(judgments: Judgments, rel: float | None, recall: float, rounding: str) -> Floats:
    """The highest precision at this recall or a higher one, (Q,); NaN where no document is relevant."""
    hits = judgments.hits(rel)

    def find() -> Floats:
        wanted = recall * hits.relevant
        needed = np.floor(wanted + 0.9 if rounding == "up" else wanted)
        if rounding == "nearest":
            needed += wanted - needed >= 0.5  # as C's lround: halves are rounded up
        reached = hits.seen >= needed[hits.segments.query]
        highest = hits.segments.max(np.where(reached, hits.precision, 0.0))
        return np.where(hits.relevant > 0, highest, np.nan)

    return judgments.once(("interpolated", rel, recall, rounding), find)


@metric("iprec_at_recall", invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS, PROMOTION_HELPS], needs_relevant=True)
def interpolated_precision(
    judgments: Judgments, *, rel: Rel = None, rounding: Rounding = "nearest", recall: Recall
) -> Floats:
    """Interpolated precision at a recall level.

    Use when a precision-recall curve is drawn, or precision at a required recall is asked for.
    Not when one number for a ranking is wanted (AP).

    iprec_at_recall@r = the highest precision at any rank by which at least n relevant documents were
    retrieved, with n = r R, rounded, and R the number of relevant documents; 0 if fewer than n were
    retrieved.

    Source: Buckley and Voorhees, "Retrieval System Evaluation", in TREC, MIT Press 2005; n is rounded to
    the nearest integer as in trec_eval 10. trec_eval 9 and ir_measures' IPrec use floor(r R + 0.9).
    """
    return interpolated(judgments, rel, recall, rounding)


@metric(
    "11pt_avg",
    invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS, PROMOTION_HELPS],
    example="11pt_avg(points=0.2/0.5/0.8)",
    needs_relevant=True,
)
def eleven_point_average(
    judgments: Judgments, *, rel: Rel = None, rounding: Rounding = "nearest", points: Points = RECALLS
) -> Floats:
    """Interpolated precision, averaged over eleven recall levels.

    Use when results are compared with early TREC publications.
    Not when AP is possible: it needs no interpolation.

    11pt_avg = (sum of iprec_at_recall at each of the points) / (number of points).

    Source: Buckley and Voorhees, "Retrieval System Evaluation", in TREC, MIT Press 2005; as in trec_eval.
    """
    total = np.zeros(judgments.segments.count)
    for recall in reversed(points):
        total += interpolated(judgments, rel, recall, rounding)
    return total / len(points)


def _shares(judgments: Judgments, which: Bools) -> Terms:
    """The grade of each of these rows, over the largest grade in the qrels.

    Documents that were not retrieved come by descending grade, so that the order of the qrels changes no sum.
    """
    rows = np.flatnonzero(which)
    segments = judgments.segments.take(rows)
    highest = judgments.scale.max(initial=0.0)
    share = np.maximum(judgments.grade[rows], 0.0) / (highest if highest > 0 else 1.0)
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

    Source: Kekäläinen and Järvelin, "Using graded relevance assessments in IR evaluation", JASIST 2002.
    """
    size = judgments.retrieved if cutoff is None else cutoff
    return _shares(judgments, judgments.top(cutoff)).replace(normalizer=size, cutoff=cutoff)


@metric("gR", invariants=[SCALE_FREE, PROMOTION_HELPS], needs_relevant=True)
def generalized_recall(judgments: Judgments, *, cutoff: Cutoff | None = None) -> Terms:
    """Generalized recall.

    Use when grades are to count in recall in proportion to their size.
    Not when the order within the first k matters (nDCG).

    gR@k = (sum of grade / m over the first k ranks) / (sum of grade / m over all judged documents of the
    query), with m the largest grade in the qrels. Unjudged documents and grades <= 0 count as 0.

    Source: Kekäläinen and Järvelin, "Using graded relevance assessments in IR evaluation", JASIST 2002.
    """
    judged = _shares(judgments, judgments.grade > 0)
    shares = _shares(judgments, judgments.top(cutoff))
    return shares.replace(normalizer=judged.total, ideal=lambda: judged, cutoff=cutoff)
