"""Novelty and diversity: how many subtopics of a query the ranking covers, and how soon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import Segments, distinct, log2, offsets_of, ranges
from gradeval.metrics._kernels import SCALE_FREE_HITS
from gradeval.registry.invariants import IDEAL_IS_ONE
from gradeval.registry.metric import metric
from gradeval.registry.params import AtK, Cutoff, Rel, below_one, choice, fraction
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import is_relevant
from gradeval.tables.terms import DiscountedTerms, Terms
from gradeval.tables.tied import chance_of_hit, hit_precisions

Alpha = Annotated[
    float, below_one("the redundancy: a subtopic adds 1 - alpha times as much for each document above on it")
]
Beta = Annotated[float, fraction("the probability that the user continues to the next rank")]
Of = Annotated[
    str,
    choice("the subtopics to cover: those with a relevant document, or all in the qrels", ("relevant", "all")),
]
Weight = Callable[[Floats], Floats]
_OF_SUBTOPICS: dict[str, Any] = {
    "invariants": [SCALE_FREE_HITS],
    "needs_relevant": True,
    "of_subtopics": True,
}
_NORMALIZED = _OF_SUBTOPICS | {"invariants": [IDEAL_IS_ONE, SCALE_FREE_HITS]}


class _Covered(NamedTuple):
    """The relevant judgments of a table by subtopic, in rank order within it."""

    row: Ints  # of the table, (T,)
    within: Segments  # how they fall into the subtopics
    number: Ints  # of each query's subtopics with a relevant document, (Q,)
    every: Ints  # of all its subtopics, (Q,)


def _covered(judgments: Judgments, rel: float | None) -> _Covered:
    level = judgments.relevance_level if rel is None else rel

    def find() -> _Covered:
        by_subtopic = judgments.by_subtopic
        subtopics, row, judged = by_subtopic.subtopics, by_subtopic.row, by_subtopic.judgment
        topic = subtopics.topic[judged]
        count = judgments.segments.count
        query_of = np.zeros(int(topic.max(initial=-1)) + 1, np.int64)
        query_of[topic] = judgments.query[row]
        every = np.bincount(query_of[distinct(topic)], minlength=count)
        relevant = is_relevant(subtopics.grade[judged], level)
        row, topic = row[relevant], topic[relevant]
        order = np.lexsort((row, topic))
        row, topic = row[order], topic[order]
        starts = np.flatnonzero(np.diff(topic, prepend=-1))
        number = np.bincount(query_of[topic[starts]], minlength=count)
        return _Covered(row, Segments(np.append(starts, len(row))), number, every)

    return judgments.once(("covered", level), find)


def _sum_over_subtopics(
    judgments: Judgments, covered: _Covered, values: Callable[[Judgments], Floats]
) -> Floats:
    """The sum over the subtopics of values(), for which each is a query with its relevant documents, (Q,)."""
    assert judgments.first is not None and judgments.last is not None
    row = covered.row
    query = np.repeat(np.arange(len(covered.number)), covered.number)
    columns = np.ones(len(row)), judgments.rank[row], judgments.score[row], np.arange(len(row))
    tied_ranks: dict[str, Any] = {"first": judgments.first[row], "last": judgments.last[row]}
    ranking = Judgments(
        covered.within, *columns, judgments.retrieved[query], depth=judgments.depth, **tied_ranks
    )
    return np.bincount(query, values(ranking), len(covered.number)).astype(np.float64)


def _terms(judgments: Judgments, covered: _Covered, value: Floats | Bools, cutoff: int | None) -> Terms:
    """The value of each relevant judgment, (T,), added up by document, in the first ranks."""
    top = judgments.top(cutoff)[covered.row]
    added: Floats = np.bincount(covered.row[top], value[top], len(judgments.grade)).astype(np.float64)
    rows = np.flatnonzero(added)
    return Terms(judgments.segments.take(rows), rows, added[rows], has_relevant=covered.number > 0)


def _gains(judgments: Judgments, alpha: float, rel: float | None, cutoff: int | None, weight: Weight) -> Terms:
    """The sum over the ranks of gain · weight, with the gain of a document reduced by those above it."""
    covered = _covered(judgments, rel)
    gains = _terms(judgments, covered, np.power(1 - alpha, covered.within.place.astype(np.float64)), cutoff)
    rank = judgments.rank[gains.row]
    terms = DiscountedTerms.of(gains.segments, gains.row, rank, np.asarray(gains.value), 1 / weight(rank))
    return terms.replace(has_relevant=gains.has_relevant)


def _per_largest(
    judgments: Judgments, alpha: float, rel: float | None, cutoff: int | None, weight: Weight
) -> Terms:
    """The sum relative to that if every document down to the cutoff were relevant to all subtopics."""
    depth = judgments.retrieved if cutoff is None else np.full(judgments.segments.count, cutoff)
    ranks = np.arange(1.0, int(depth.max(initial=0)) + 1)
    total = np.append(0.0, np.cumsum((1 - alpha) ** (ranks - 1) * weight(ranks)))
    terms = _gains(judgments, alpha, rel, cutoff, weight)
    return terms.replace(normalizer=_covered(judgments, rel).number * total[depth])


def _normalized(
    judgments: Judgments, alpha: float, rel: float | None, cutoff: int | None, weight: Weight
) -> Terms:
    """The sum relative to that of the greedy ideal ranking, which is computed once for the qrels."""
    level = judgments.relevance_level if rel is None else rel
    subtopics, queries = judgments.by_subtopic.subtopics, judgments.by_subtopic.queries
    within, document, gain = subtopics.ideal(alpha, level, cutoff)
    rank = (within.place + 1).astype(np.float64)
    discount = 1 / weight(rank)

    def ideal() -> Terms:
        counts = within.lengths[queries]
        chosen = ranges(within.starts[queries], counts)
        documents = judgments.document if judgments.of_qrels else np.arange(len(judgments.document))
        order = np.argsort(documents)
        row = order[np.searchsorted(documents[order], document[chosen])]
        segments = Segments(offsets_of(counts))
        return DiscountedTerms.of(segments, row, rank[chosen], gain[chosen], discount[chosen])

    terms = _gains(judgments, alpha, rel, cutoff, weight)
    return terms.replace(normalizer=within.sum(gain / discount)[queries], ideal=ideal)


def _by_log(rank: Floats) -> Floats:
    return 1 / log2(rank + 1)


def _check_cutoff(params: Mapping[str, Any]) -> None:
    if params.get("cutoff", 0) > 10**6:  # the divisors of alpha_DCG and ERR_IA add up as many ranks
        raise ValueError("the cutoff is at most 1000000")


@metric("α_DCG", check=_check_cutoff, example="alpha_DCG@20", **_OF_SUBTOPICS)
def alpha_dcg(judgments: Judgments, *, alpha: Alpha = 0.5, rel: Rel = None, cutoff: AtK = None) -> Terms:
    """Discounted cumulated gain that rewards novelty.

    Use when queries have subtopics (intents, nuggets), and a ranking should cover them early.
    Not when queries differ in how much there is to find: the ideal ranking scores below 1 (alpha_nDCG).

    alpha_DCG@k = (sum over the first k ranks r of g(r) / log2(r + 1)) / (sum over these r of
    S (1 - alpha)^(r - 1) / log2(r + 1)), with g(r) = the sum over the subtopics of the document at rank r of
    (1 - alpha)^n, n = the documents above rank r that are relevant to the subtopic. S is the number of
    subtopics with a relevant document; without a cutoff, k is the number of documents retrieved.

    The divisor is that of ndeval and pyndeval, which compute k up to 20 only, and do not divide at k = 1.

    Source: Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008; ndeval
    4.5.
    """
    return _per_largest(judgments, alpha, rel, cutoff, _by_log)


@metric("α_nDCG", aliases=["alpha-nDCG", "nDCG_alpha"], example="alpha_nDCG@20", **_NORMALIZED)
def alpha_ndcg(judgments: Judgments, *, alpha: Alpha = 0.5, rel: Rel = None, cutoff: AtK = None) -> Terms:
    """Normalized discounted cumulated gain that rewards novelty.

    Use when queries have subtopics, and redundant documents should be worth less; the usual diversity metric.
    Not when relevance has grades that matter: a document is relevant to a subtopic or not.

    alpha_nDCG@k = (sum over the first k ranks r of g(r) / log2(r + 1)) / (the same sum for the greedy ideal
    ranking), with g as in 'alpha_DCG'. At each rank, the greedy ideal ranking has the judged document with
    the largest gain; of several, that with the last id in byte order. It is close to the best ranking, which
    is hard to find. Without a cutoff, both sums run over the whole rankings.

    ndeval computes k = 5, 10 and 20; pyndeval, which ir_measures uses, k up to 20. It breaks ties by id
    ascending, and of a query whose lines are not together, it scores the last ones only. FreshStack's
    alpha_nDCG is that of ndeval.

    Source: Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008.
    """
    return _normalized(judgments, alpha, rel, cutoff, _by_log)


@metric("ERR_IA", check=_check_cutoff, example="ERR_IA@20", **_OF_SUBTOPICS)
def err_ia(judgments: Judgments, *, alpha: Alpha = 0.5, rel: Rel = None, cutoff: AtK = None) -> Terms:
    """Intent-aware expected reciprocal rank.

    Use when each user has one of the subtopics in mind, and stops at documents on it.
    Not when queries differ in how much there is to find (nERR_IA).

    ERR_IA@k = (sum over the first k ranks r of g(r) / r) / (sum over these r of S (1 - alpha)^(r - 1) / r),
    with g and S as in 'alpha_DCG': alpha is the probability that the user stops at a document on the
    subtopic.

    The divisor is that of ndeval and pyndeval, which compute k up to 20 only, and do not divide at k = 1.

    Source: Chapelle, Metzler, Zhang, Grinspan, "Expected reciprocal rank for graded relevance", CIKM 2009;
    ndeval 4.5.
    """
    return _per_largest(judgments, alpha, rel, cutoff, np.reciprocal)


@metric("nERR_IA", example="nERR_IA@20", **_NORMALIZED)
def nerr_ia(judgments: Judgments, *, alpha: Alpha = 0.5, rel: Rel = None, cutoff: AtK = None) -> Terms:
    """Normalized intent-aware expected reciprocal rank.

    Use when as ERR_IA, where queries with few relevant documents must be able to reach 1.
    Not when values are compared with published ERR_IA.

    nERR_IA@k = (sum over the first k ranks r of g(r) / r) / (the same sum for the greedy ideal ranking),
    with g as in 'alpha_DCG', and the ideal ranking as in 'alpha_nDCG'.

    Source: Clarke, Craswell, Soboroff, Ashkan, "A comparative analysis of cascade measures for novelty and
    diversity", WSDM 2011; ndeval 4.5.
    """
    return _normalized(judgments, alpha, rel, cutoff, np.reciprocal)


@metric("NRBP", example="NRBP", **_OF_SUBTOPICS)
def nrbp(judgments: Judgments, *, alpha: Alpha = 0.5, beta: Beta = 0.5, rel: Rel = None) -> Terms:
    """Novelty- and rank-biased precision.

    Use when a user with a stated persistence looks for one of the subtopics.
    Not when queries differ in how much there is to find (nNRBP).

    NRBP = (1 - (1 - alpha) beta) / S · (sum over the ranks r of beta^(r - 1) g(r)), with g and S as in
    'alpha_DCG'.

    Source: Clarke, Kolla, Vechtomova, "An effectiveness measure for ambiguous and underspecified queries",
    ICTIR 2009; ndeval 4.5.
    """
    terms = _gains(judgments, alpha, rel, None, lambda rank: beta ** (rank - 1))
    return terms.replace(normalizer=_covered(judgments, rel).number, scale=1 - (1 - alpha) * beta)


@metric("nNRBP", example="nNRBP", **_NORMALIZED)
def normalized_nrbp(judgments: Judgments, *, alpha: Alpha = 0.5, beta: Beta = 0.5, rel: Rel = None) -> Terms:
    """Normalized novelty- and rank-biased precision.

    Use when as NRBP, where queries with few relevant documents must be able to reach 1.
    Not when values are compared with published NRBP.

    nNRBP = (sum over the ranks r of beta^(r - 1) g(r)) / (the same sum for the greedy ideal ranking), with g
    as in 'alpha_DCG', and the ideal ranking as in 'alpha_nDCG'. For ndeval it is nan where nothing is
    relevant.

    Source: Clarke, Kolla, Vechtomova, "An effectiveness measure for ambiguous and underspecified queries",
    ICTIR 2009; ndeval 4.5.
    """
    return _normalized(judgments, alpha, rel, None, lambda rank: beta ** (rank - 1))


@metric(
    "AP_IA",
    aliases=["MAP_IA"],
    example="AP_IA@100",
    **_OF_SUBTOPICS | {"invariants": [IDEAL_IS_ONE.unless("cutoff"), SCALE_FREE_HITS]},
)
def ap_ia(judgments: Judgments, *, rel: Rel = None, cutoff: AtK = None) -> Terms:
    """Intent-aware average precision.

    Use when queries have subtopics, and the whole ranking counts for each of them.
    Not when redundancy must cost: a ranking can be good on one subtopic alone (alpha_nDCG).

    AP_IA@k = (sum over the subtopics of AP@k with the documents that are relevant to the subtopic) / (number
    of subtopics with a relevant document). A judgment that is repeated counts once; in ndeval it lowers the
    value.

    Source: Agrawal, Gollapudi, Halverson, Ieong, "Diversifying search results", WSDM 2009; ndeval 4.5.
    """
    covered = _covered(judgments, rel)
    within = covered.within
    precision = (within.place + 1) / judgments.rank[covered.row]
    terms = _terms(judgments, covered, precision / within.lengths[within.query], cutoff)

    def expected(of_topic: Judgments) -> Floats:
        return hit_precisions(of_topic, None, cutoff) / of_topic.segments.lengths

    expected_total = partial(_sum_over_subtopics, judgments, covered, expected)
    return terms.replace(normalizer=covered.number, expected_total=expected_total)


@metric("P_IA", example="P_IA@10", **_OF_SUBTOPICS)
def p_ia(judgments: Judgments, *, rel: Rel = None, cutoff: Cutoff) -> Terms:
    """Intent-aware precision.

    Use when the user sees the first k results at once, and has one of the subtopics in mind.
    Not when redundancy must cost (alpha_nDCG), or coverage alone counts (StRecall).

    P_IA@k = (sum over the first k ranks of the number of subtopics that the document is relevant to) / (k S),
    with S the number of subtopics with a relevant document: the mean of P@k over the subtopics.

    Source: Agrawal, Gollapudi, Halverson, Ieong, "Diversifying search results", WSDM 2009; ndeval 4.5.
    """
    covered = _covered(judgments, rel)
    terms = _terms(judgments, covered, np.ones(len(covered.row)), cutoff)
    return terms.replace(normalizer=cutoff * covered.number, weight_at=np.ones_like, cutoff=cutoff)


@metric("StRecall", aliases=["strec", "S_recall", "subtopic_recall"], example="StRecall@10", **_OF_SUBTOPICS)
def subtopic_recall(judgments: Judgments, *, rel: Rel = None, of: Of = "relevant", cutoff: AtK = None) -> Terms:
    """Subtopic recall.

    Use when a reader, or a model that writes an answer, needs a document on each subtopic among the first k.
    Not when it matters how early they come (alpha_nDCG).

    StRecall@k = (subtopics with a relevant document in the first k ranks) / (subtopics with a relevant
    document in the qrels). With of=all it is divided by all subtopics in the qrels: FreshStack's coverage@k.

    Source: Zhai, Cohen, Lafferty, "Beyond independent relevance", SIGIR 2003; ndeval 4.5.
    """
    covered = _covered(judgments, rel)
    terms = _terms(judgments, covered, covered.within.place == 0, cutoff)
    expected = partial(chance_of_hit, rel=None, cutoff=cutoff)
    expected_total = partial(_sum_over_subtopics, judgments, covered, expected)
    number = covered.every if of == "all" else covered.number
    return terms.replace(normalizer=number, expected_total=expected_total)
