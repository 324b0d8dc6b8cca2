"""Average precision, graded average precision (µAP), and scales that give difficult queries more weight."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, natural_log
from gradeval.metrics._kernels import SCALE_FREE_HITS
from gradeval.metrics.bpref import BPREF, binary_preference
from gradeval.registry.invariants import BINARY_IS_AP, IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE, Condition
from gradeval.registry.metric import Kind, metric
from gradeval.registry.params import AtK, Rel, choice
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms
from gradeval.tables.tied import TieGroups, hit_precisions, precision_sums

_DIVISOR = "the divisor: R, or the number of relevant documents that fit, min(R, k)"
Norm = Annotated[str, choice(_DIVISOR, ("relevant", "min"))]
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
    judgments: Judgments, *, rel: Rel = None, norm: Norm = "relevant", cutoff: AtK = None
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


@metric(
    "gm_map",
    invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS, PROMOTION_HELPS, BINARY_IS_AP.unless("rel")],
    aliases=["GMAP"],
    kind=Kind.GEOMETRIC,
    needs_relevant=True,
)
def geometric_average_precision(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Geometric mean of average precision: difficult queries have more weight than in the mean.

    Use when improving the worst queries matters more than improving good ones.
    Not when single values are read: it is dominated by queries near 0, and by the limit 0.00001.

    gm_map = exp((sum over the queries of ln max(AP, 0.00001)) / queries).

    Source: Robertson, "On GMAP: and other transformations", CIKM 2006; as in trec_eval.
    """
    # its mean over the orders would be that of a logarithm
    return average_precision(judgments, rel=rel).replace(expected_total=None)


@metric("gm_bpref", kind=Kind.GEOMETRIC, **BPREF)
def geometric_binary_preference(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Geometric mean of bpref.

    Use when as gm_map, for incomplete judgments.
    Not when single values are read: it is dominated by queries near 0.

    gm_bpref = exp((sum over the queries of ln max(bpref, 0.00001)) / queries).

    Source: Buckley, trec_eval.
    """
    return binary_preference(judgments, rel=rel)


@metric("yaap", range=(None, None), invariants=[SCALE_FREE_HITS, PROMOTION_HELPS])
def yet_another_average_precision(judgments: Judgments, *, rel: Rel = None) -> Floats:
    """Yet another average precision: AP as log odds.

    Use when AP is to be compared by tests or models that assume unbounded values.
    Not when the value is to be read by itself: log odds have no simple meaning.

    yaap = ln((1 + S) / (1 + R - S)), with S the sum of P at the ranks of the relevant documents retrieved,
    and R the number of relevant documents.

    Source: Robertson, "On smoothing average precision", ECIR 2012.
    """
    hits = judgments.hits(rel)
    total = hits.segments.sum(hits.precision)
    return natural_log((1 + total) / (1 + hits.relevant - total))
