"""Average precision and what follows from it: µAP, Q-measure, bpref and infAP, geometric means, log odds."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, distinct, natural_log
from gradeval.metrics._kernels import AP_BOUNDS, MU_AP_BOUNDS, SCALE_FREE_HITS, graded
from gradeval.registry.invariants import (
    BINARY_IS_AP,
    GAIN_RISES,
    IDEAL_IS_ONE,
    PROMOTION_HELPS,
    SCALE_FREE,
    UNJUDGED_IGNORED,
    Condition,
)
from gradeval.registry.metric import Kind, metric
from gradeval.registry.params import AtK, Gain, Rel, choice, positive
from gradeval.tables.judgments import Judgments
from gradeval.tables.levels import Level
from gradeval.tables.terms import Details, Terms
from gradeval.tables.tied import TieGroups, hit_precisions, precision_sums

Norm = Annotated[
    str, choice("the divisor: R, or the number of relevant documents that fit, min(R, k)", ("relevant", "min"))
]
_FITS = Condition(
    "cutoff", "without @k or with norm=min", lambda given, _: given["cutoff"] is None or given["norm"] == "min"
)
Beta = Annotated[float, positive("the weight of the gains relative to the number of relevant documents")]
_SMOOTHING = 1e-5  # of infAP: defines the precision where no document above was judged
_BPREF: dict[str, Any] = {
    "invariants": [IDEAL_IS_ONE, SCALE_FREE_HITS, UNJUDGED_IGNORED],
    "needs_relevant": True,
}


@metric(
    "AP",
    invariants=[IDEAL_IS_ONE.where(_FITS), SCALE_FREE.unless("rel"), PROMOTION_HELPS],
    aliases=["MAP"],
    example="AP(rel=2)@100",
    needs_relevant=True,
    bounds=AP_BOUNDS,
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
    bounds=MU_AP_BOUNDS,
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
    levels = judgments.levels
    query = judgments.levels.query
    relevant = judgments.segments.number(judgments.grade > 0)
    reached = judgments.ideal_levels.ends - judgments.segments.offsets[query]  # R_i
    grade = np.maximum(judgments.ideal[judgments.ideal_levels.starts], 0.0)
    step = grade - np.append(grade[1:], 0.0) * (levels.place < levels.lengths[query] - 1)
    highest = judgments.highest[query]
    share = np.divide(step, highest, out=np.zeros(len(step)), where=highest > 0)
    # times R, so that W is exactly 1 where there is one level; the table has a query's levels from the highest
    rising = Segments(levels.offsets[-1] - levels.offsets[::-1])
    by_level = np.empty(len(step))
    ascending = levels.offsets[query] + levels.lengths[query] - 1 - levels.place
    by_level[ascending] = rising.running_sum((share * (relevant[query] / reached))[::-1])[::-1]
    rows = np.flatnonzero((judgments.grade > 0) & judgments.is_retrieved)
    retrieved = judgments.segments.take(rows)
    level = judgments.level[rows]
    weights = by_level[level + levels.offsets[retrieved.query]]
    credit = _credit(retrieved, level, weights)

    def expected_total() -> Floats:
        groups = TieGroups.of(judgments, rows)
        singles, whole = groups.within.sum(weights), groups.within.sum(credit)
        within = groups.within.sum(_credit(groups.within, level, weights))
        return precision_sums(groups, whole - within, singles, within - singles)

    return Terms(
        retrieved,
        rows,
        credit / judgments.rank[rows],
        relevant,
        expected_total=expected_total,
        details=lambda: Details(levels=_levels(judgments)),
    )


def _levels(judgments: Judgments) -> list[Level]:
    """The thresholds of a table of one query, the lowest first."""
    grades = distinct(judgments.grade[judgments.grade > 0]).tolist()
    return [
        Level(
            grade,
            int(np.count_nonzero(judgments.grade >= grade)),
            float(average_precision(judgments, rel=grade).values()[0]),
            (grade - before) / grades[-1],
        )
        for before, grade in zip([0.0, *grades], grades, strict=False)
    ]


def _credit(within: Segments, level: Ints, weight: Floats) -> Floats:
    """The sum over the rows of the segment up to and with each row of the smaller weight of the two, (N,)."""
    credit: Floats = weight.copy()
    for order, groups, upper, before in within.bit_planes(level):
        shared = weight[order]
        lower_sum = groups.running_sum(np.where(upper, 0.0, shared))
        credit[order] += np.where(upper, lower_sum, shared * before)
    return credit


@metric(
    "Q",
    family="NTCIR",
    invariants=[IDEAL_IS_ONE.where(GAIN_RISES)],
    aliases=["Q-measure"],
    example="Q(beta=10)@10",
    needs_relevant=True,
)
def q_measure(judgments: Judgments, *, beta: Beta = 1.0, gain: Gain = "linear", cutoff: AtK = None) -> Terms:
    """Q-measure: average precision that also counts the gain of each document.

    Use when AP is wanted for graded relevance: as sensitive to late ranks as AP, with cumulated gain.
    Not when the user looks at the first ranks only (nDCG@k, ERR).

    Q@k = (sum of BR(r) over the ranks r up to k of documents with a gain above 0) / min(k, R), with
    BR(r) = (C(r) + beta G(r)) / (r + beta G*(r)). C(r) is the number of documents with a gain above 0 in the
    first r ranks, G(r) the sum of their gains, G*(r) the sum of the first r gains of the ideal ranking, and R
    the number of documents in the qrels with a gain above 0. gain(grade) = grade (linear), 2^grade - 1 (exp),
    or a mapping. As beta approaches 0, Q approaches AP.

    As in NTCIREVAL. AP@k is divided by R in gradeval, and by min(k, R) in NTCIREVAL.

    Source: Sakai, "Ranking the NTCIR systems based on multigrade relevance", AIRS 2004.
    """
    table, worth = graded(judgments, gain)
    within = table.segments
    ideal_total = within.running_sum(worth.of(table.ideal, within.query))
    rows = np.flatnonzero((table.grade > 0) & table.top(cutoff))
    gaining = within.take(rows)
    rank = table.rank[rows]
    gains = worth.of(table.grade[rows], gaining.query)

    def divisor(rank: Floats, query: Ints) -> Floats:
        depth = np.minimum(rank, within.lengths[query]).astype(np.int64)
        return np.asarray(rank + beta * ideal_total[within.starts[query] + depth - 1])

    def expected_total() -> Floats:
        """With the numerator of each document: its own worth, and that of those above it."""
        groups = TieGroups.of(table, rows, cutoff)
        count = groups.within.lengths.astype(np.float64)
        worths = groups.within.sum(1 + beta * gains)
        places = groups.places
        group = groups.places.query
        share = places.place / np.maximum(groups.size[group] - 1, 1)
        numerator = (count * groups.before(worths) + worths)[group] + share * ((count - 1) * worths)[group]
        expected_rank = groups.above[group] + places.place + 1
        ratios = numerator / groups.size[group] / divisor(expected_rank, groups.query[group])
        return groups.queries.sum(places.sum(ratios))

    blended = (gaining.place + 1 + beta * gaining.running_sum(gains)) / divisor(rank, gaining.query)
    relevant = within.number(table.grade > 0)
    most = relevant if cutoff is None else np.minimum(relevant, cutoff)
    return Terms(gaining, rows, blended, most, expected_total=expected_total)


@metric("bpref", family="incomplete judgments", **_BPREF)
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
    relevant = hits.relevant
    query = hits.segments.query
    above = np.minimum(judgments.judged_seen[hits.rows] - hits.seen, relevant[query])
    most = np.minimum(judgments.hits(0.0).relevant - relevant, relevant)
    return Terms(hits.segments, hits.rows, 1.0 - above / np.maximum(most, 1)[query], relevant)


@metric("infAP", family="incomplete judgments", invariants=[SCALE_FREE_HITS], needs_relevant=True)
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
    worse = judgments.judged_seen[hits.rows] - hits.seen
    pooled = judgments.segments.place[hits.rows]
    expected = (better + _SMOOTHING) / (better + worse + 2 * _SMOOTHING)
    precision = 1 / hits.rank + (above / hits.rank) * (pooled / np.maximum(above, 1)) * expected
    return Terms(hits.segments, hits.rows, precision, hits.relevant)


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


@metric("gm_bpref", kind=Kind.GEOMETRIC, **_BPREF)
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
