"""Agreement of scores with grades: Kendall, Spearman, Pearson, shares of pairs in the right order, and RBO."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, stable_order
from gradeval.metrics._kernels import SCALE_FREE_HITS, retrieved
from gradeval.registry.invariants import (
    IDEAL_IS_ONE,
    PROMOTION_HELPS,
    REVERSAL_NEGATES,
    REVERSE_IS_ZERO,
    SCALE_FREE,
    UNJUDGED_IGNORED,
)
from gradeval.registry.metric import metric
from gradeval.registry.params import AtK, Rel, flag, fraction
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

Persistence = Annotated[
    float, fraction("the probability that the user continues to the next rank", example="0.9")
]
Normalize = Annotated[bool, flag("divide by the RBO of the ideal ranking, so that it scores 1")]
NEGLIGIBLE = 40  # e^-40 of the weight of the first rank does not change a sum
_CORRELATION: dict[str, Any] = {
    "range": (-1, 1),
    "invariants": [SCALE_FREE, REVERSAL_NEGATES, UNJUDGED_IGNORED],
    "undefined": True,
    "order_free": True,
}


def _normalizer(judgments: Judgments, spread: Floats) -> Floats:
    """The spread, (Q,), NaN where it is 0; 0 where nothing was retrieved although the grades differ."""
    lost = (judgments.retrieved == 0) & (judgments.levels.lengths > 1)
    return np.where(lost, 0.0, np.where(spread > 0, spread, np.nan))


def _correlation(judgments: Judgments, within: Segments, order: Ints, parts: Floats, spread: Floats) -> Terms:
    """(sum of the parts) / spread; order: which of the documents retrieved each part is of."""
    rows = np.flatnonzero(judgments.is_retrieved)[order]
    # rounding may leave the spread below the sum, which would put the value beyond -1 or 1
    spread = np.maximum(spread, np.abs(within.sum(parts)))
    return Terms(within, rows, parts, _normalizer(judgments, spread))


@metric("τ", aliases=["kendall"], **_CORRELATION)
def kendall(judgments: Judgments) -> Terms:
    """Kendall's τ-b between score and grade, over the judged documents retrieved.

    Use when the system predicts an order or a score for all items, and every pair of items counts alike.
    Not when errors at the top matter more than others: it weighs all ranks alike (nDCG, rankDCG).

    τ-b = (concordant - discordant pairs) / sqrt((pairs not tied in score) (pairs not tied in grade)).

    In the example, each pair adds to the terms of both of its documents: 0.5 if it is concordant, -0.5 if it
    is discordant.

    Returns NaN where all grades or all scores are equal, 0 where nothing was retrieved.
    Source: Kendall, "The treatment of ties in ranking problems", Biometrika 1945.
    """
    table = judgments.found
    within = table.segments
    ties = table.segments.ties(table.score)
    # best first among tied scores, so that a lower grade before a higher one is a discordant pair
    order = ties.descending(table.level.astype(np.float64))
    level = table.level[order]
    lower, equal = within.lower_before(level)
    step = table.levels.ends[within.query] - 1 - level
    higher = table.ideal_levels.offsets[step] - within.offsets[within.query]
    higher_behind = higher - (within.place - lower - equal)
    # the pairs of each document by what differs: score, grade, one of them at least
    size = within.lengths[within.query]
    both = ties.ties(level)
    by_score = size - ties.lengths[ties.query]
    by_grade = size - table.ideal_levels.lengths[step]
    by_either = size - both.lengths[both.query]
    surplus = by_score + by_grade - by_either - 2 * (lower + higher_behind)
    apart = np.sqrt(within.sum(by_score) / 2) * np.sqrt(within.sum(by_grade) / 2)
    return _correlation(judgments, within, order, surplus / 2, apart)  # half of each pair for either document


def _mean_rank(within: Segments, ties: Segments) -> Floats:
    """The 0-based rank of each row within its query, the mean rank where rows are tied, (N,)."""
    return ((ties.starts + ties.ends - 1) / 2)[ties.query] - within.starts[within.query]


def _products(judgments: Judgments, x: Floats, y: Floats) -> Terms:
    """Pearson's r of two columns of the documents that were retrieved, NaN where x or y is constant."""
    within = judgments.found.segments

    def centred(values: Floats) -> Floats:
        off = values - (within.sum(values) / np.maximum(within.lengths, 1))[within.query]
        widest = within.max(np.abs(off))
        widest[within.max(values) == within.min(values)] = np.nan
        return off / widest[within.query]

    x, y = centred(x), centred(y)
    spread = np.sqrt(within.sum(x * x)) * np.sqrt(within.sum(y * y))
    return _correlation(judgments, within, np.arange(len(x)), x * y, spread)


@metric("ρ", aliases=["spearman"], **_CORRELATION)
def spearman(judgments: Judgments) -> Terms:
    """Spearman's ρ between score and grade, over the judged documents retrieved.

    Use when the system predicts an order for all items, and large differences in rank should weigh more.
    Not when errors at the top matter more than others, or grades have many ties.

    ρ = Pearson's r between the ranks by score and the ranks by grade; tied documents have their mean rank.

    In the example, the term of a document is the product of the deviations of its two ranks from their means,
    both in units of the largest deviation, and the divisor is sqrt((sum of squared deviations of the one)
    (sum of those of the other)).

    Returns NaN where all grades or all scores are equal, 0 where nothing was retrieved.
    Source: Spearman, "The proof and measurement of association between two things", 1904.
    """
    table = judgments.found
    by_score = _mean_rank(table.segments, table.segments.ties(table.score))
    by_grade = np.empty_like(by_score)
    by_grade[table.by_grade] = _mean_rank(table.segments, table.ideal_levels)
    return _products(judgments, by_score, by_grade)


@metric("pearson", **_CORRELATION)
def pearson(judgments: Judgments) -> Terms:
    """Pearson's r between score and grade, over the judged documents retrieved.

    Use when scores are predictions of the grades, and their linear relation counts.
    Not when only the order counts (tau, rho): it changes when scores are rescaled nonlinearly.

    r = covariance(score, grade) / (standard deviation of score * standard deviation of grade).

    In the example, scores are 10 - rank. The term of a document is the product of the deviations of its score
    and its grade from their means, both in units of the largest deviation, and the divisor is
    sqrt((sum of squared deviations of the scores) (sum of those of the grades)).

    Returns NaN where all grades or all scores are equal, 0 where nothing was retrieved.
    Source: Pearson, "Note on regression and inheritance in the case of two parents", 1895.
    """
    table = judgments.found
    # scores may be of any size: in units of a power of two, which rounds nothing, their sums are numbers
    unit = np.frexp(table.segments.max(np.abs(table.score)))[1]
    return _products(judgments, np.ldexp(table.score, -unit[table.query]), table.grade)


@metric(
    "AUC",
    invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS, PROMOTION_HELPS, REVERSE_IS_ZERO, UNJUDGED_IGNORED],
    undefined=True,
    order_free=True,
)
def area_under_curve(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Area under the ROC curve: the probability that a relevant document is ranked above a non-relevant one.

    Use when all judged documents are ranked by a classifier, and all pairs count alike.
    Not when the top of the ranking is what users see: with few relevant documents it can be high all the
             same.

    AUC = (pairs of a relevant and a judged non-relevant document in which the relevant one has the higher
    score, plus half of those with equal scores) / (all such pairs). Documents that were not retrieved are
    tied below all others.

    In the example, half of what a pair adds is in the term of the relevant document, and half in that of the
    non-relevant one.

    Returns NaN where all or none of the judged documents are relevant, 0 where nothing was retrieved.
    Source: Hanley and McNeil, "The meaning and use of the area under a ROC curve", Radiology 1982.
    """
    within = judgments.segments
    relevant = judgments.relevant(rel)
    ties = within.ties(judgments.score)
    good = ties.number(relevant)
    bad = ties.number(~relevant)
    groups = within.over(ties)
    good_so_far, bad_so_far = (groups.running_sum(counted.astype(np.float64)) for counted in (good, bad))
    all_good, all_bad = groups.sum(good), groups.sum(bad)
    # half of each pair for the relevant document, half for the other
    below = (all_bad[groups.query] - bad_so_far + bad / 2) / 2
    above = (good_so_far - good / 2) / 2
    won = np.where(relevant, below[ties.query], above[ties.query])
    return Terms(within, np.arange(len(won)), won, _normalizer(judgments, all_good * all_bad))


@metric("Accuracy", invariants=[SCALE_FREE_HITS], undefined=True, example="Accuracy(rel=2)@100")
def accuracy(judgments: Judgments, *, rel: Rel = None, cutoff: AtK = None) -> Terms:
    """Probability that a relevant document is ranked above a non-relevant one, among those retrieved.

    Use when the documents retrieved are reranked, and each pair of them counts alike.
    Not when the top matters most, or runs retrieve different documents.

    Accuracy@k = (pairs of a relevant and a non-relevant document with the relevant one ranked higher) / (all
    such pairs), both in the first k ranks. Unjudged documents count as non-relevant.

    In the example, a pair is in the term of its relevant document.

    ir_measures excludes queries without a value from the mean too, but counts them as 0 if other measures are
    requested in the same call, and fails if all retrieved documents are relevant.

    Returns NaN where none or all of the retrieved documents are relevant, 0 where nothing was retrieved.
    Source: ir_measures.
    """
    rows = np.flatnonzero(judgments.relevant(rel) & judgments.top(cutoff))
    relevant = judgments.segments.take(rows)
    size = retrieved(judgments, cutoff)
    nonrelevant = size - relevant.lengths
    above = judgments.rank[rows] - relevant.place - 1
    pairs = relevant.lengths * nonrelevant
    normalizer = np.where(pairs > 0, pairs, np.where(size > 0, np.nan, 0.0))
    return Terms(relevant, rows, nonrelevant[relevant.query] - above, normalizer)


@metric(
    "Compat",
    invariants=[IDEAL_IS_ONE.where(normalize=True), SCALE_FREE, PROMOTION_HELPS],
    aliases=["Compatibility"],
    needs_relevant=True,
)
def compatibility(judgments: Judgments, *, p: Persistence = 0.95, normalize: Normalize = True) -> Terms:
    """Compatibility: rank-biased overlap (RBO) with the most similar ideal ranking.

    Use when judgments are an order of preferred documents, of which the first ones matter most.
    Not when grades express amounts of gain: only their order counts.

    Compat = RBO(ranking) / RBO(ideal), with RBO(x) = (sum over the ranks i up to n of p^(i-1) |documents that
    the first i of x and the first i of the ideal ranking have in common| / i) / (sum of p^(i-1)).
    normalize=false omits the division by RBO(ideal). The ideal ranking contains the documents with grades
    above 0 by descending grade; documents of equal grade are in the order of the ranking, those not retrieved
    last. In both RBOs n is the larger of the number of documents retrieved and the length of the ideal
    ranking; the first i of a shorter ranking are all its documents.

    In the example, the term of a document is the sum of p^(i-1) / i over the ranks i from the larger of its
    ranks in the ranking and in the ideal ranking up to n. The sum of p^(i-1), which divides both RBOs,
    cancels.

    The authors' code, which ir_measures runs, uses the same n. It treats ideal documents that were not
    retrieved as if their score were 0, and so places them before those of equal grade with negative scores.

    Source: Clarke, Vtyurina, Smucker, "Assessing top-k preferences", TOIS 2021.
    """
    within = judgments.segments
    order = stable_order(judgments.query, judgments.level.max(initial=0) - judgments.level)
    ideal_rank = np.empty(len(order))
    ideal_rank[order] = within.place + 1.0
    rows = np.flatnonzero(judgments.grade > 0)
    ideal = within.take(rows)
    depth = np.maximum(judgments.retrieved, ideal.lengths)
    # the sum over the first i ranks of p^(i-1) / i, for i = 0, 1, …, as far as it still grows
    rank = np.arange(1.0, min(int(depth.max(initial=0)), math.ceil(NEGLIGIBLE / (1 - p))) + 1)
    table = np.append(0.0, np.cumsum(p ** (rank - 1) / rank))

    def overlap(rows: Ints, common: Floats) -> Terms:
        """Each document is among the first of both from the rank in `common` to the end."""
        end = np.minimum(depth, len(table) - 1)[ideal.query]
        begin = np.minimum(common[rows] - 1, end).astype(np.int64)
        return Terms(ideal, rows, table[end] - table[begin])

    terms = overlap(rows, np.maximum(ideal_rank, judgments.rank))
    if not normalize:
        return terms.replace(normalizer=-np.expm1(np.maximum(depth, 1) * np.log(p)) / (1 - p))
    best = overlap(order[judgments.grade[order] > 0], ideal_rank)  # added in the order of the ideal ranking
    return terms.replace(normalizer=best.total, ideal=lambda: best)
