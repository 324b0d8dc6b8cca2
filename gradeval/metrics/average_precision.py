"""Average precision, and graded average precision (µAP)."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments
from gradeval.registry.invariants import BINARY_IS_AP, IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE, Condition
from gradeval.registry.metric import metric
from gradeval.registry.params import Cutoff, Rel, choice
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms
from gradeval.tables.tied import TieGroups, hit_precisions, precision_sums

Norm = Annotated[
    str, choice("the divisor: R, or the number of relevant documents that fit, min(R, k)", ("relevant", "min"))
]
_FITS = Condition(
    "cutoff", "without @k or with norm=min", lambda given, _: given["cutoff"] is None or given["norm"] == "min"
)


@metric(
    "AP",
    invariants=[IDEAL_IS_ONE.where(_FITS), SCALE_FREE.unless("rel"), PROMOTION_HELPS],
    aliases=["MAP"],
    example="AP(rel=2)@100",
    needs_relevant=True,
)
def average_precision(
    judgments: Judgments, *, rel: Rel = None, norm: Norm = "relevant", cutoff: Cutoff | None = None
) -> Terms:
    """Average precision.

    Use when relevance is binary, judgments are nearly complete, and the user wants many relevant documents.
    Not when grades matter (muAP), or the user stops at the first answer (RR).

    AP@k = (sum over the relevant documents retrieved in the first k ranks of P at their rank) / R, where R
    is the number of relevant documents in the qrels. Its mean over the queries is the mean average precision,
    MAP. With norm=min it is divided by min(R, k), so that a perfect ranking scores 1 even where R is above
    k: LightGBM's map@k, Kaggle's MAP@k and NTCIREVAL's AP@k.

    Of the ir_measures providers, cwl_eval divides by the number of relevant documents in the first 1,000
    ranks instead of R, and trectools prints nan where R is 0.

    Source: Buckley and Voorhees, "Retrieval System Evaluation", in TREC, MIT Press 2005; as in trec_eval.
    """
    hits = judgments.hits(rel, cutoff)
    most = hits.relevant if norm == "relevant" or cutoff is None else np.minimum(hits.relevant, cutoff)
    expected_total = partial(hit_precisions, judgments, rel, cutoff)
    return Terms(hits.segments, hits.rows, hits.precision, most, expected_total=expected_total)


@metric(
    "µAP",
    invariants=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS, BINARY_IS_AP],
    aliases=["muMAP"],
    needs_relevant=True,
)
def mu_average_precision(judgments: Judgments) -> Terms:
    """Graded average precision: AP at every relevance level, weighted by the differences between the levels.

    Use when relevance has several grades and AP's view of the whole ranking is wanted: one value for all
             thresholds.
    Not when the differences between grades have no meaning, as they are the weights of the thresholds.

    µAP = (sum over i of d_i AP(rel=t_i)) / (sum of d_i), with t_1 < t_2 < … the distinct judged grades
    above 0 of the query, d_i = t_i - t_(i-1) and t_0 = 0. Also written µAP or µMAP.

    In the example, the term of a document is R / (sum of d_i) times the sum over the t_i up to its grade of
    d_i P_i / R_i, with P_i the precision at its rank and R_i the number of relevant documents, both with
    rel=t_i, and R = R_1. The sum of the terms is divided by R.

    Source: Scheel, Lommatzsch, Albayrak, "Performance Measures for Multi-Graded Relevance", 2011, eq. 4.
    """
    # A document s not below r counts in the precision at r in each AP(rel=t) with t up to the lower grade of
    # the two. With W(g) the sum of d_i / R_i over the levels up to g, µAP is then a sum over the documents r
    # of (sum over s of the smaller of W(r) and W(s)) / rank(r): one pass over pairs for all levels together.
    levels, query = judgments.levels, judgments.levels.query
    relevant = judgments.segments.number(judgments.grade > 0)
    reached = judgments.ideal_levels.offsets[1:] - judgments.segments.offsets[query]  # R_i
    grade = np.maximum(judgments.ideal[judgments.ideal_levels.offsets[:-1]], 0.0)
    step = grade - np.append(grade[1:], 0.0) * (levels.place < levels.lengths[query] - 1)
    highest = judgments.highest[query]
    share = np.divide(step, highest, out=np.zeros(len(step)), where=highest > 0)
    # times R, so that W is exactly 1 where there is one level; the table has a query's levels from the highest
    rising = Segments(levels.offsets[-1] - levels.offsets[::-1])
    by_level = np.empty(len(step))
    ascending = levels.offsets[query] + levels.lengths[query] - 1 - levels.place
    by_level[ascending] = rising.running_sum((share * (relevant[query] / reached))[::-1])[::-1]
    rows = np.flatnonzero((judgments.grade > 0) & judgments.is_retrieved)
    retrieved, level = judgments.segments.take(rows), judgments.level[rows]
    weights = by_level[level + levels.offsets[retrieved.query]]
    credit = _credit(retrieved, level, weights)

    def expected_total() -> Floats:
        groups = TieGroups.of(judgments, rows)
        singles, whole = groups.within.sum(weights), groups.within.sum(credit)
        within = groups.within.sum(_credit(groups.within, level, weights))
        return precision_sums(groups, whole - within, singles, within - singles)

    return Terms(retrieved, rows, credit / judgments.rank[rows], relevant, expected_total=expected_total)


def _credit(within: Segments, level: Ints, weight: Floats) -> Floats:
    """The sum over the rows of the segment up to and with each row of the smaller weight of the two, (N,)."""
    credit: Floats = weight.copy()
    for order, groups, upper, before in within.bit_planes(level):
        shared = weight[order]
        lower_sum = groups.running_sum(np.where(upper, 0.0, shared))
        credit[order] += np.where(upper, lower_sum, shared * before)
    return credit
