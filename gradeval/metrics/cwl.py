"""The C/W/L family: the expected rate of gain of a user who follows a probabilistic browsing model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, log2
from gradeval.metrics._kernels import before_rows
from gradeval.registry.invariants import PROMOTION_HELPS
from gradeval.registry.metric import metric
from gradeval.registry.params import Cutoff, fraction, number, positive, positive_integer
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import DiscountedTerms, Terms

MinRel = Annotated[
    float, number("the grade with gain 0; lower grades have gain 0, and grades below 0 count as grade 0")
]
MaxRel = Annotated[float, number("the grade with gain 1; higher grades have gain 1", example="3")]
Target = Annotated[float, positive("the total gain that the user wants")]
Ranks = Annotated[
    int, positive_integer("the number of ranks considered, however many were retrieved; 1000 as in cwl_eval")
]
Persistence = Annotated[float, fraction("the probability that the user continues after a document with gain 0")]
Gaining = tuple[Segments, Ints, Floats, Floats]
Sums = Callable[[Floats], Floats]
MAX_CUTOFF = 10**6  # SDCG adds up as many discounts


def _check(params: Mapping[str, Any]) -> None:
    lowest = params.get("min_rel", 0.0)
    if params["max_rel"] <= max(lowest, 0.0):
        raise ValueError(f"max_rel must be above {'min_rel' if lowest > 0 else 0}")


def _check_sdcg(params: Mapping[str, Any]) -> None:
    _check(params)
    if params["cutoff"] > MAX_CUTOFF:
        raise ValueError(f"SDCG takes a cutoff up to {MAX_CUTOFF}")


def _gaining(judgments: Judgments, lowest: float, most: float, depth: int) -> Gaining:
    """The documents in the first ranks with a gain above 0: their queries, rows, ranks and gains."""
    gain = np.clip((np.maximum(judgments.grade, 0.0) - lowest) / (most - lowest), 0.0, 1.0)
    rows = np.flatnonzero((gain > 0) & judgments.top(depth))
    return judgments.segments.take(rows), rows, judgments.rank[rows], gain[rows]


def _next_rank(gaining: Segments, rank: Floats, last: float) -> Floats:
    """The rank of the query's next row, `last` where there is none, (N,)."""
    following = np.append(rank[1:], last)
    following[gaining.offsets[1:][gaining.lengths > 0] - 1] = last
    return following


def _inverse_squares(after: Floats, upto: Floats) -> Floats:
    """The sum of 1 / x^2 over x = after, after + 1, … up to but without `upto`."""
    from scipy.special import zeta

    total: Floats = zeta(2.0, after) - zeta(2.0, upto)
    return total


@metric("INST", check=_check, example="INST(T=2,max_rel=3)")
def inst(
    judgments: Judgments, *, T: Target = 1.0, min_rel: MinRel = 0.0, max_rel: MaxRel, n: Ranks = 1000
) -> Terms:
    """INST: a user with a target gain, who is less likely to continue the closer the target is.

    Use when the number of relevant documents that the user wants, T, is known and differs by task.
    Not when the largest grade of the scale is unknown: max_rel is the grade with gain 1.

    INST = (sum over the ranks i up to n of g(i) W(i)) / (sum of W(i)), with W(1) = 1, W(i+1) = C(i) W(i) and
    C(i) = ((i + 2T - G(i) - 1) / (i + 2T - G(i)))^2, where G(i) = g(1) + … + g(i). The gain g is
    (grade - min_rel) / (max_rel - min_rel), clipped to [0, 1]; unjudged documents have gain 0.

    Source: Bailey, Moffat, Scholer, Thomas, "User variability and IR system evaluation", SIGIR 2015; Moffat,
    Bailey, Scholer, Thomas, "INST: An adaptive metric for information retrieval evaluation", ADCS 2015.
    """
    gaining, rows, rank, gain = _gaining(judgments, min_rel, max_rel, n)
    # between two documents with a gain, G is constant, and the products and sums have closed forms
    ahead = 2 * T - gaining.running_sum(gain)
    ahead_before = before_rows(gaining, ahead, 2 * T)
    rank_before = before_rows(gaining, rank, 1.0)
    step = ((rank_before + ahead_before - 1) / (rank - 1 + ahead_before)) ** 2
    weight = gaining.running_product(step)
    following = weight * (rank + ahead - 1) ** 2
    following *= _inverse_squares(rank + ahead, _next_rank(gaining, rank, n) + ahead)
    start = np.array([2 * T])
    inspected = start**2 * _inverse_squares(start, gaining.min(rank, empty=n) + start) + gaining.sum(following)
    return Terms(gaining, rows, gain * weight, inspected)


@metric("INSQ", invariants=[PROMOTION_HELPS], check=_check, example="INSQ(T=2,max_rel=3)")
def insq(
    judgments: Judgments, *, T: Target = 1.0, min_rel: MinRel = 0.0, max_rel: MaxRel, n: Ranks = 1000
) -> Terms:
    """INSQ: a user who is more likely to continue the larger the target gain and the deeper the rank.

    Use when as INST, for a user who does not adapt to what was found.
    Not when the user would stop earlier after good results (INST).

    INSQ = (sum over the ranks i up to n of g(i) W(i)) / (sum of W(i)), with W(i) = (2T / (2T + i - 1))^2
    and g as in 'INST'.

    Source: Moffat, Scholer, Thomas, "Models and metrics: IR evaluation as a user process", ADCS 2012.
    """
    gaining, rows, rank, gain = _gaining(judgments, min_rel, max_rel, n)
    start = np.array([2 * T])
    inspected = start**2 * _inverse_squares(start, start + n)

    def weight(rank: Floats) -> Floats:
        return (2 * T / (2 * T + rank - 1)) ** 2

    return Terms(gaining, rows, gain * weight(rank), inspected[0], weight_at=weight, cutoff=n)


@metric("BPM", check=_check, example="BPM(T=2,max_rel=3)@10")
def bejeweled_player_model(
    judgments: Judgments, *, T: Target = 1.0, min_rel: MinRel = 0.0, max_rel: MaxRel, cutoff: Cutoff
) -> Terms:
    """Bejeweled player model: a user who stops when the target gain is reached, or at the cutoff.

    Use when the user has a goal T and limited patience k, and leaves when either is reached.
    Not when documents after the goal is reached should still count.

    BPM@k = (g(1) + … + g(i)) / i, with i the first rank where g(1) + … + g(i) >= T, at most k, and g as in
    'INST'. This is the static model. The ir_measures provider cwl_eval considers at most 1,000 ranks.

    Source: Zhang et al., "Evaluating web search with a Bejeweled player model", SIGIR 2017.
    """
    gaining, rows, rank, gain = _gaining(judgments, min_rel, max_rel, cutoff)
    enough = gaining.running_sum(gain) >= T
    last = gaining.min(np.where(enough, rank, float(cutoff)), empty=float(cutoff))
    return Terms(gaining, rows, np.where(rank <= last[gaining.query], gain, 0.0), last)


@metric("SDCG", invariants=[PROMOTION_HELPS], check=_check_sdcg)
def scaled_dcg(judgments: Judgments, *, min_rel: MinRel = 0.0, max_rel: MaxRel, cutoff: Cutoff) -> Terms:
    """Scaled discounted cumulated gain: DCG divided by that of k documents of full gain.

    Use when DCG is to be read as gain per document inspected, in [0, 1] without the ideal ranking.
    Not when queries differ in how much there is to find: the ideal ranking scores below 1 (nDCG).

    SDCG@k = (sum over the first k ranks i of g(i) / log2(i + 1)) / (sum of 1 / log2(i + 1)), with g as in
    'INST'. With min_rel=0 and no grade above max_rel it is nDCG(ideal=max,max_grade=…). The ir_measures
    provider cwl_eval considers at most 1,000 ranks.

    Source: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002, as scaled
    by Moffat, Bailey, Scholer, Thomas, "Incorporating user expectations and behavior", TOIS 2017.
    """
    gaining, rows, rank, gain = _gaining(judgments, min_rel, max_rel, cutoff)
    perfect = np.cumsum(1 / log2(np.arange(2.0, cutoff + 2)))[-1]
    terms = DiscountedTerms.of(gaining, rows, rank, gain, log2(rank + 1))
    return terms.replace(normalizer=perfect, weight_at=lambda rank: 1 / log2(rank + 1), cutoff=cutoff)


def _nearly_err(documents: Gaining, depth: int, discount: Sums, discounts: Sums) -> Terms:
    """Gain per document inspected, where a document with gain g ends the search with probability g.

    discount: rank -> the probability that it is inspected if no document above it has a gain; discounts: the
    sum of discount up to the rank.
    """
    gaining, rows, rank, gain = documents
    left = gaining.running_product(1 - gain)
    value = gain * discount(rank) * before_rows(gaining, left, 1.0)
    between = discounts(_next_rank(gaining, rank, depth)) - discounts(rank)
    return Terms(gaining, rows, value, discounts(gaining.min(rank, empty=depth)) + gaining.sum(left * between))


@metric("NERR8", check=_check)
def nearly_err_8(judgments: Judgments, *, min_rel: MinRel = 0.0, max_rel: MaxRel, cutoff: Cutoff) -> Terms:
    """Nearly ERR, equation 8: a user who stops when satisfied, or at the cutoff.

    Use when ERR's user is meant, but the value is to be a rate of gain, comparable with INST or rbp.
    Not when values are compared with published ERR.

    NERR8@k = (sum over the first k ranks i of g(i) W(i)) / (sum of W(i)), with W(1) = 1,
    W(i+1) = (1 - g(i)) W(i) and g as in 'INST'. The ir_measures provider cwl_eval considers at most 1,000
    ranks.

    Source: Azzopardi, Mackenzie, Moffat, "ERR is not C/W/L", ICTIR 2021, eq. 8.
    """
    documents = _gaining(judgments, min_rel, max_rel, cutoff)
    return _nearly_err(documents, cutoff, np.ones_like, lambda rank: rank)


@metric("NERR9", check=_check)
def nearly_err_9(judgments: Judgments, *, min_rel: MinRel = 0.0, max_rel: MaxRel, cutoff: Cutoff) -> Terms:
    """Nearly ERR, equation 9: a user who stops when satisfied, with decreasing patience, or at the cutoff.

    Use when as NERR8, with ERR's decrease of patience by rank.
    Not when values are compared with published ERR.

    NERR9@k = (sum over the first k ranks i of g(i) W(i)) / (sum of W(i)), with W(1) = 1,
    W(i+1) = (1 - g(i)) W(i) i / (i + 1) and g as in 'INST'. The ir_measures provider cwl_eval considers at
    most 1,000 ranks.

    Source: Azzopardi, Mackenzie, Moffat, "ERR is not C/W/L", ICTIR 2021, eq. 9.
    """
    from scipy.special import digamma

    documents = _gaining(judgments, min_rel, max_rel, cutoff)
    return _nearly_err(documents, cutoff, np.reciprocal, lambda rank: digamma(rank + 1) + np.euler_gamma)


@metric("NERR10", check=_check, example="NERR10(p=0.8,max_rel=3)")
def nearly_err_10(
    judgments: Judgments, *, p: Persistence = 0.9, min_rel: MinRel = 0.0, max_rel: MaxRel, n: Ranks = 1000
) -> Terms:
    """Nearly ERR, equation 10: a user who stops when satisfied, or at any rank with constant probability.

    Use when as NERR8, with rbp's constant persistence p.
    Not when values are compared with published ERR.

    NERR10 = (sum over the ranks i up to n of g(i) W(i)) / (sum of W(i)), with W(1) = 1,
    W(i+1) = p (1 - g(i)) W(i) and g as in 'INST'.

    Source: Azzopardi, Mackenzie, Moffat, "ERR is not C/W/L", ICTIR 2021, eq. 10.
    """
    documents = _gaining(judgments, min_rel, max_rel, n)
    return _nearly_err(
        documents, n, lambda rank: p ** (rank - 1), lambda rank: -np.expm1(rank * np.log(p)) / (1 - p)
    )


@metric("NERR11", check=_check, example="NERR11(T=2,max_rel=3)")
def nearly_err_11(
    judgments: Judgments, *, T: Target = 1.0, min_rel: MinRel = 0.0, max_rel: MaxRel, n: Ranks = 1000
) -> Terms:
    """Nearly ERR, equation 11: a user who stops when satisfied, or as in INSQ.

    Use when as NERR8, with INSQ's user who wants T documents.
    Not when values are compared with published ERR.

    NERR11 = (sum over the ranks i up to n of g(i) W(i)) / (sum of W(i)), with W(1) = 1,
    W(i+1) = (1 - g(i)) W(i) ((i + 2T - 1) / (i + 2T))^2 and g as in 'INST'.

    Source: Azzopardi, Mackenzie, Moffat, "ERR is not C/W/L", ICTIR 2021, eq. 11.
    """
    start, documents = 2 * T, _gaining(judgments, min_rel, max_rel, n)
    return _nearly_err(
        documents,
        n,
        lambda rank: (start / (start + rank - 1)) ** 2,
        lambda rank: start**2 * _inverse_squares(np.array([start]), start + rank),
    )
