"""Precision, recall and F of ranks and sets, precision at recall levels, generalized by grades, and utility."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import ratio
from gradeval.metrics._kernels import (
    CAPPED_RECALL_BOUNDS,
    F_BOUNDS,
    LINEAR_BOUNDS,
    MONOTONE_BOUNDS,
    R_PRECISION_BOUNDS,
    RECALL_BOUNDS,
    SCALE_FREE_HITS,
    SUCCESS_BOUNDS,
    hit_count,
    one_each,
    retrieved,
)
from gradeval.registry.invariants import IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE, UNJUDGED_IGNORED
from gradeval.registry.metric import metric
from gradeval.registry.params import AtK, Cutoff, Rel, at_least, choice, negative, numbers, positive, share
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms
from gradeval.tables.tied import TieGroups, chance_of_hit, first_hits

Weight = Annotated[
    float, positive("the weight of recall relative to precision: the square of van Rijsbergen's beta")
]
Need = Annotated[
    str, choice("how many relevant documents must be in the first k ranks: one, or all of them", ("one", "all"))
]
RECALLS = tuple(n / 10 for n in range(11))
RECALL = share("the recall level: a share of the relevant documents", after_at=True)
Recall = Annotated[float, RECALL]
Points = Annotated[tuple[float, ...], numbers("the recall levels", example="0/0.1/0.2", item=RECALL)]

Rounding = Annotated[
    str,
    choice(
        "how the number of documents is rounded to an integer: to the nearest, or up if its fraction is at "
        "least 0.1",
        ("nearest", "up"),
    ),
]
Multiple = Annotated[float, at_least(0.0, "the cutoff as a multiple of R", example="0.5", after_at=True)]
Gained = Annotated[float, positive("the utility of a relevant document retrieved")]
Lost = Annotated[float, negative("the utility of a non-relevant document retrieved")]
Tolerated = Annotated[float, positive("the number of non-relevant documents whose utility is scaled to 0")]
Weights = Annotated[
    tuple[float, ...],
    numbers(
        "the utility of a relevant and of a non-relevant document retrieved, and of each not retrieved",
        example="1/-1/0/0",
        count=4,
    ),
]
Size = Annotated[float, at_least(0.0, "the number of documents in the collection, for the last weight")]
_OF_HITS = [IDEAL_IS_ONE, SCALE_FREE_HITS, PROMOTION_HELPS]
_RANKED: dict[str, Any] = {"invariants": _OF_HITS, "needs_relevant": True}
_UTILITY: dict[str, Any] = {"invariants": [SCALE_FREE_HITS], "order_free": True}


def f_value(judgments: Judgments, rel: float | None, x: float, cutoff: int | None, size: Ints | int) -> Floats:
    """(x + 1) P R / (x P + R) of sets of this size, 0 where both are 0, NaN where R is. It is linear in the
    number of hits, so that it is the expected one if they are.
    """
    count = hit_count(judgments, rel, cutoff)
    precision = ratio(count, size)
    recall = ratio(count, judgments.hits(rel).relevant, np.nan)
    return ratio((x + 1) * precision * recall, x * precision + recall)


@metric("P", invariants=[SCALE_FREE_HITS, PROMOTION_HELPS], example="P(rel=2)@10", bounds=LINEAR_BOUNDS)
def precision(judgments: Judgments, *, rel: Rel = None, cutoff: Cutoff) -> Terms:
    """Precision.

    Use when the user sees the first k results at once, and order among them does not matter.
    Not when queries have fewer than k relevant documents: then even the ideal ranking is below 1
             (relative_P).

    P@k = (relevant documents in the first k ranks) / k, also if fewer than k documents were retrieved.

    The ir_measures provider cwl_eval considers at most 1,000 ranks.

    Source: van Rijsbergen, "Information Retrieval", 1979, chapter 7; as in trec_eval.
    """
    return one_each(judgments.hits(rel), cutoff, cutoff)


@metric(
    "R",
    invariants=[SCALE_FREE_HITS, PROMOTION_HELPS],
    example="R(rel=2)@100",
    needs_relevant=True,
    bounds=RECALL_BOUNDS,
)
def recall(judgments: Judgments, *, rel: Rel = None, cutoff: Cutoff) -> Terms:
    """Recall.

    Use when a later stage, such as a reranker or a reader, takes the first k documents: has it what it
             needs?
    Not when the order within the first k matters, or the judgments are a small part of what is relevant.

    R@k = (relevant documents in the first k ranks) / (relevant documents in the qrels).

    Source: van Rijsbergen, "Information Retrieval", 1979, chapter 7; as in trec_eval.
    """
    hits = judgments.hits(rel)
    return one_each(hits, hits.relevant, cutoff)


@metric(
    "F",
    invariants=[SCALE_FREE_HITS, PROMOTION_HELPS],
    needs_relevant=True,
    expected=True,
    bounds=F_BOUNDS,
)
def f_measure(judgments: Judgments, *, rel: Rel = None, x: Weight = 1.0, cutoff: Cutoff) -> Floats:
    """F-measure of precision and recall.

    Use when precision and recall at a cutoff are to be one number.
    Not when the two must be told apart, or rank matters.

    F@k = (x + 1) P R / (x P + R), with P = P@k and R = R@k; with x = 1 it is their harmonic mean.

    Source: van Rijsbergen, "Information Retrieval", 1979, chapter 7; x as in trec_eval's set_F.
    """
    return f_value(judgments, rel, x, cutoff, cutoff)


@metric("set_P", invariants=[SCALE_FREE_HITS], example="set_P(rel=2)")
def set_precision(judgments: Judgments, *, rel: Rel = None, cutoff: AtK = None) -> Terms:
    """Precision of the retrieved set.

    Use when the system returns a set, as in filtering or Boolean search.
    Not when the system ranks and returns as many documents as it likes.

    set_P = (relevant documents retrieved) / (documents retrieved). With a cutoff, the set is that of the
    first k documents, which are fewer where fewer were retrieved (P@k is divided by k).

    Source: van Rijsbergen, "Information Retrieval", 1979, chapter 7; as in trec_eval.
    """
    return one_each(judgments.hits(rel), retrieved(judgments, cutoff), cutoff)


@metric(
    "set_recall",
    invariants=[IDEAL_IS_ONE.unless("cutoff"), SCALE_FREE_HITS, UNJUDGED_IGNORED.unless("cutoff")],
    aliases=["set_R"],
    example="set_recall",
    needs_relevant=True,
)
def set_recall(judgments: Judgments, *, rel: Rel = None, cutoff: AtK = None) -> Terms:
    """Recall of the retrieved set.

    Use when the system returns a set, or the whole candidate list of a first stage is evaluated.
    Not when runs return different numbers of documents: a longer run is never worse.

    set_recall = (relevant documents retrieved) / (relevant documents in the qrels). With a cutoff it is R@k.

    Source: van Rijsbergen, "Information Retrieval", 1979, chapter 7; as in trec_eval.
    """
    hits = judgments.hits(rel)
    return one_each(hits, hits.relevant, cutoff)


@metric("set_F", invariants=[SCALE_FREE_HITS], example="set_F(x=0.5)", needs_relevant=True, expected=True)
def set_f_measure(judgments: Judgments, *, rel: Rel = None, x: Weight = 1.0, cutoff: AtK = None) -> Floats:
    """F-measure of the retrieved set.

    Use when a returned set is to have both precision and recall, as one number.
    Not when the result is a ranking of arbitrary length.

    set_F = (x + 1) P R / (x P + R), with P = set_P and R = set_recall; with x = 1 it is their harmonic mean.
    With a cutoff, set_F@k is that of set_P@k and set_recall@k.

    Source: van Rijsbergen, "Information Retrieval", 1979, chapter 7; as in trec_eval.
    """
    return f_value(judgments, rel, x, cutoff, retrieved(judgments, cutoff))


@metric("set_map", invariants=[SCALE_FREE_HITS], needs_relevant=True, order_free=True)
def set_average_precision(judgments: Judgments, *, rel: Rel = None) -> Floats:
    """Precision times recall of the retrieved set.

    Use when a returned set is evaluated as trec_eval does it, with precision times recall.
    Not when the value is to be read by others: set_F is the common choice.

    set_map = (relevant documents retrieved)^2 / (documents retrieved · relevant documents in the qrels).

    Source: Buckley, trec_eval.
    """
    hits = judgments.hits(rel)
    return ratio(hits.count * hits.count, np.maximum(judgments.retrieved, 1) * hits.relevant, np.nan)


@metric("set_relative_P", invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS], needs_relevant=True)
def set_relative_precision(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Precision of the retrieved set, relative to the highest possible.

    Use when sets are small, and precision must not suffer from queries with few relevant documents.
    Not when sets of different sizes are compared: returning less can raise it.

    set_relative_P = (relevant documents retrieved) / min(documents retrieved, relevant documents).

    For SetP(relative=True) the ir_measures provider ranx computes set_P.

    Source: Buckley, trec_eval.
    """
    hits = judgments.hits(rel)
    return one_each(hits, np.minimum(judgments.retrieved, hits.relevant))


@metric("relative_P", bounds=CAPPED_RECALL_BOUNDS, **_RANKED)
def relative_precision(judgments: Judgments, *, rel: Rel = None, cutoff: Cutoff) -> Terms:
    """Precision, relative to the highest possible.

    Use when P@k is wanted, but some queries have fewer than k relevant documents.
    Not when values are compared with published P@k.

    relative_P@k = (relevant documents in the first k ranks) / min(k, relevant documents in the qrels).

    Source: Buckley, trec_eval.
    """
    hits = judgments.hits(rel)
    return one_each(hits, np.minimum(cutoff, hits.relevant), cutoff)


@metric(
    "Success",
    invariants=[IDEAL_IS_ONE.where(need="one"), SCALE_FREE_HITS, PROMOTION_HELPS],
    example="Success@5",
    bounds=SUCCESS_BOUNDS,
)
def success(judgments: Judgments, *, rel: Rel = None, need: Need = "one", cutoff: Cutoff) -> Terms:
    """Success: whether a relevant document is retrieved.

    Use when one relevant result on the first page is enough, as in known-item search or question answering.
    Not when small differences matter: each query is 0 or 1, so that many queries are needed.

    Success@k = 1 if a relevant document is in the first k ranks, otherwise 0. With need=all, 1 if all
    relevant documents are, and there is one: for questions that need several passages together.

    Source: Tomlinson, in the TREC Robust and CLEF evaluations, 2003; as in trec_eval.
    """
    hits = judgments.hits(rel)
    if need == "one":
        terms = one_each(hits.first.top(cutoff))
        return terms.replace(expected_total=lambda: chance_of_hit(judgments, rel, cutoff))
    last = hits.segments.ends - 1
    is_whole = (hits.count == hits.relevant) & (hits.relevant > 0)

    def chance_of_all() -> Floats:
        # with m relevant documents in a group of n, all are in its first c ranks with C(n-m, c-m) / C(n, c)
        groups = TieGroups.of(judgments, hits.rows, cutoff)
        group, position = groups.within.query, groups.within.place
        fits = np.maximum(groups.counted[group] - position, 0.0) / (groups.size[group] - position)
        probability = np.zeros(len(last))
        probability[is_whole] = hits.segments.running_product(fits)[last[is_whole]]
        return probability

    return one_each(hits.take(last[is_whole]).top(cutoff)).replace(expected_total=chance_of_all)


@metric("RR", invariants=_OF_HITS, aliases=["MRR"], bounds=MONOTONE_BOUNDS)
def reciprocal_rank(judgments: Judgments, *, rel: Rel = None, cutoff: AtK = None) -> Terms:
    """Reciprocal rank.

    Use when the user wants one result: known items, questions, autocompletion.
    Not when several results are wanted. It sees only the first one, so that it changes much between queries.

    RR@k = 1 / (rank of the first relevant document), 0 if there is none in the first k ranks. Its mean over
    the queries is the mean reciprocal rank, MRR.

    ir_measures uses pytrec_eval for RR and msmarco for RR@k, which can differ where scores are tied; its
    provider cwl_eval considers at most 1,000 ranks.

    Source: Kantor and Voorhees, "The TREC-5 confusion track", Information Retrieval 2000; as in trec_eval.
    """
    first = judgments.hits(rel).first.top(cutoff)

    def expected_total() -> Floats:
        queries, rank, probability = first_hits(judgments, rel, cutoff)
        return queries.sum(probability / rank)

    return Terms(first.segments, first.rows, 1 / first.rank, expected_total=expected_total)


@metric("Rprec", bounds=R_PRECISION_BOUNDS, **_RANKED)
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

    def find() -> Floats:
        hits = judgments.hits(rel)
        wanted = recall * hits.relevant
        needed = np.floor(wanted + 0.9 if rounding == "up" else wanted)
        if rounding == "nearest":
            needed += wanted - needed >= 0.5  # as C's lround: halves are rounded up
        highest = hits.segments.max(np.where(hits.seen >= needed[hits.segments.query], hits.precision, 0.0))
        return np.where(hits.relevant > 0, highest, np.nan)

    return judgments.once(("interpolated", rel, recall, rounding), find)


@metric("iprec_at_recall", **_RANKED)
def iprec(judgments: Judgments, *, rel: Rel = None, rounding: Rounding = "nearest", recall: Recall) -> Floats:
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


@metric("11pt_avg", example="11pt_avg(points=0.2/0.5/0.8)", **_RANKED)
def eleven_point_average(
    judgments: Judgments, *, rel: Rel = None, rounding: Rounding = "nearest", points: Points = RECALLS
) -> Floats:
    """Interpolated precision, averaged over eleven recall levels.

    Use when results are compared with early TREC publications.
    Not when AP is possible: it needs no interpolation.

    11pt_avg = (sum of iprec_at_recall at each of the points) / (number of points).

    Source: Buckley and Voorhees, "Retrieval System Evaluation", in TREC, MIT Press 2005; as in trec_eval.
    """
    total = sum(interpolated(judgments, rel, recall, rounding) for recall in reversed(points))
    return np.asarray(total / len(points))


def _shares(judgments: Judgments, which: Bools) -> Terms:
    """The grade of each of these rows, over the largest grade in the qrels. Documents that were not retrieved
    come by descending grade, so that the order of the qrels changes no sum.
    """
    rows = np.flatnonzero(which)
    segments = judgments.segments.take(rows)
    highest = judgments.scale.max(initial=0.0)
    share = np.maximum(judgments.grade[rows], 0.0) / (highest if highest > 0 else 1.0)
    missed = ~judgments.is_retrieved[rows]
    if missed.any():
        above = 2.0 + len(rows) - np.arange(len(rows))  # above all shares
        order = segments.descending(np.where(missed, share, above))
        rows, share = rows[order], share[order]
    return Terms(segments, rows, share, weight_at=np.ones_like)


@metric("gP", invariants=[SCALE_FREE, PROMOTION_HELPS], bounds=LINEAR_BOUNDS)
def generalized_precision(judgments: Judgments, *, cutoff: AtK = None) -> Terms:
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
def generalized_recall(judgments: Judgments, *, cutoff: AtK = None) -> Terms:
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


@metric("scaled_utility", family="utility", example="scaled_utility(s=50)", **_UTILITY)
def scaled_utility(
    judgments: Judgments, *, rel: Rel = None, a: Gained = 3.0, b: Lost = -2.0, s: Tolerated = 100.0
) -> Floats:
    """Scaled utility.

    Use when a filtering system decides which documents to deliver, with a cost for each wrong one.
    Not when the result is a ranking without a decision where to stop.

    SU = (max(u, U(s)) - U(s)) / (MaxU - U(s)), with u = a (relevant retrieved) + b (non-relevant retrieved),
    U(s) = b s, and MaxU = a (relevant documents in the qrels). The defaults are TREC-8's LF1.

    Source: Hull and Robertson, "The TREC-8 filtering track final report", 1999.
    """
    hits = judgments.hits(rel)
    least = b * s
    utility = a * hits.count + b * (judgments.retrieved - hits.count)
    scaled = (np.maximum(utility, least) - least) / (a * hits.relevant - least)
    return np.where(judgments.retrieved > 0, scaled, 0.0)


@metric("utility", family="utility", range=(None, None), example="utility(weights=3/-2/0/0)", **_UTILITY)
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
    relevant = judgments.relevant(rel)
    is_retrieved = judgments.is_retrieved
    value = np.where(relevant, np.where(is_retrieved, a, c), np.where(is_retrieved, b, 0.0))
    rows = np.flatnonzero(relevant | is_retrieved)
    segments = judgments.segments.take(rows)
    unjudged = judgments.retrieved - judgments.segments.sum(is_retrieved)
    nonrelevant = size - unjudged - segments.lengths
    return Terms(segments, rows, value[rows], base=-(b * unjudged + d * nonrelevant), unjudged=b)
