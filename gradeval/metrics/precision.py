"""Set-based metrics: precision, recall and F, at a cutoff or for all documents retrieved."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import quotient, ratio
from gradeval.metrics._kernels import SCALE_FREE_HITS, hit_count, one_each, retrieved
from gradeval.registry.invariants import IDEAL_IS_ONE, PROMOTION_HELPS, UNJUDGED_IGNORED
from gradeval.registry.metric import metric
from gradeval.registry.params import Cutoff, Rel, choice, positive
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms
from gradeval.tables.tied import TieGroups, chance_of_hit, first_hits

Weight = Annotated[
    float, positive("the weight of recall relative to precision: the square of van Rijsbergen's beta")
]
Need = Annotated[
    str, choice("how many relevant documents must be in the first k ranks: one, or all of them", ("one", "all"))
]


def f_value(judgments: Judgments, rel: float | None, x: float, cutoff: int | None, size: Ints | int) -> Floats:
    """(x + 1) P R / (x P + R) of sets of this size, 0 where both are 0, NaN where R is.

    It is linear in the number of hits, so that it is the expected one if they are.
    """
    count = hit_count(judgments, rel, cutoff)
    precision, recall = ratio(count, size), quotient(count, judgments.hits(rel).relevant)
    below = x * precision + recall
    return (x + 1) * precision * recall / np.where(below == 0, 1.0, below)


@metric("P", invariants=[SCALE_FREE_HITS, PROMOTION_HELPS], example="P(rel=2)@10")
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


@metric("R", invariants=[SCALE_FREE_HITS, PROMOTION_HELPS], example="R(rel=2)@100", needs_relevant=True)
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


@metric("F", invariants=[SCALE_FREE_HITS, PROMOTION_HELPS], needs_relevant=True, expected=True)
def f_measure(judgments: Judgments, *, rel: Rel = None, x: Weight = 1.0, cutoff: Cutoff) -> Floats:
    """F-measure of precision and recall.

    Use when precision and recall at a cutoff are to be one number.
    Not when the two must be told apart, or rank matters.

    F@k = (x + 1) P R / (x P + R), with P = P@k and R = R@k; with x = 1 it is their harmonic mean.

    Source: van Rijsbergen, "Information Retrieval", 1979, chapter 7; x as in trec_eval's set_F.
    """
    return f_value(judgments, rel, x, cutoff, cutoff)


@metric("set_P", invariants=[SCALE_FREE_HITS], example="set_P(rel=2)")
def set_precision(judgments: Judgments, *, rel: Rel = None, cutoff: Cutoff | None = None) -> Terms:
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
def set_recall(judgments: Judgments, *, rel: Rel = None, cutoff: Cutoff | None = None) -> Terms:
    """Recall of the retrieved set.

    Use when the system returns a set, or the whole candidate list of a first stage is evaluated.
    Not when runs return different numbers of documents: a longer run is never worse.

    set_recall = (relevant documents retrieved) / (relevant documents in the qrels). With a cutoff it is R@k.

    Source: van Rijsbergen, "Information Retrieval", 1979, chapter 7; as in trec_eval.
    """
    hits = judgments.hits(rel)
    return one_each(hits, hits.relevant, cutoff)


@metric("set_F", invariants=[SCALE_FREE_HITS], example="set_F(x=0.5)", needs_relevant=True, expected=True)
def set_f_measure(
    judgments: Judgments, *, rel: Rel = None, x: Weight = 1.0, cutoff: Cutoff | None = None
) -> Floats:
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
    return quotient(hits.count * hits.count, np.maximum(judgments.retrieved, 1) * hits.relevant)


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


@metric("relative_P", invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS, PROMOTION_HELPS], needs_relevant=True)
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
    last, is_whole = hits.segments.offsets[1:] - 1, (hits.count == hits.relevant) & (hits.relevant > 0)

    def chance_of_all() -> Floats:
        # with m relevant documents in a group of n, all are in its first c ranks with C(n-m, c-m) / C(n, c)
        groups = TieGroups.of(judgments, hits.rows, cutoff)
        group, place = groups.within.query, groups.within.place
        fits = np.maximum(groups.counted[group] - place, 0.0) / (groups.size[group] - place)
        probability = np.zeros(len(last))
        probability[is_whole] = hits.segments.running_product(fits)[last[is_whole]]
        return probability

    return one_each(hits.take(last[is_whole]).top(cutoff)).replace(expected_total=chance_of_all)


@metric("RR", invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS, PROMOTION_HELPS], aliases=["MRR"])
def reciprocal_rank(judgments: Judgments, *, rel: Rel = None, cutoff: Cutoff | None = None) -> Terms:
    """Reciprocal rank.

    Use when the user wants one result: known items, questions, autocompletion.
    Not when several results are wanted. It sees only the first one, so that it changes much between queries.

    RR@k = 1 / (rank of the first relevant document), 0 if there is none in the first k ranks. Its mean over
    the queries is the mean reciprocal rank, MRR.

    ir_measures uses pytrec_eval for RR and msmarco for RR@k, which can differ where scores are tied; its
    provider cwl_eval considers at most 1,000 ranks.

    Source: Kantor and Voorhees, "The TREC-5 confusion track", 1997; as in trec_eval.
    """
    first = judgments.hits(rel).first.top(cutoff)

    def expected_total() -> Floats:
        queries, rank, probability = first_hits(judgments, rel, cutoff)
        return queries.sum(probability / rank)

    return Terms(first.segments, first.rows, 1 / first.rank, expected_total=expected_total)
