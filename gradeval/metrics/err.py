"""Cascade models, of a user who stops at the first satisfying document: ERR, nERR, iRBU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments
from gradeval.metrics._kernels import before_rows, exp2_share, highest_grade, with_rows
from gradeval.registry.invariants import GAIN_RISES, IDEAL_IS_ONE, PROMOTION_HELPS
from gradeval.registry.metric import metric
from gradeval.registry.params import Cutoff, Gain, Pairs, fraction, mapped, positive
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms
from gradeval.tables.tied import TieGroups, expected_stops

MaxGrade = Annotated[
    float | None,
    positive(
        "the largest grade of the scale",
        without="4 as in gdeval, or the largest grade in the qrels if that is higher",
    ),
]
Patience = Annotated[float, fraction("the factor by which utility decreases with each rank")]
GDEVAL_LARGEST = 4.0
_NEGLIGIBLE = 200.0  # 1 - 2^-200 is 1


def satisfaction(
    judgments: Judgments, gain: str | Pairs, max_grade: float | None, is_relative: bool = False
) -> Floats:
    """The probability that a document satisfies the user: gain / (largest gain + 1), below 1, (N,).

    is_relative: only the ratios within a query matter where probabilities are too small to change 1 - p.
    """

    def find() -> Floats:
        grade = judgments.grade
        highest = highest_grade(judgments, max_grade)
        if not isinstance(gain, str):
            gains = mapped(grade, gain)
            most = max(float(mapped(judgments.scale, gain).max(initial=0.0)), *(worth for _, worth in gain))
            return gains / (max(most, max_grade or 0.0) + 1)
        largest = max(GDEVAL_LARGEST, highest) if max_grade is None else max_grade
        if gain == "linear":
            return np.maximum(grade, 0.0) / (largest + 1)
        probability = exp2_share(grade, largest)
        if is_relative:
            of_query = judgments.highest[judgments.query]
            is_far = largest - of_query > _NEGLIGIBLE
            if is_far.any():  # or they could all be 0, for a larger grade of another query
                probability = np.where(is_far, exp2_share(grade, of_query) * 2.0**-_NEGLIGIBLE, probability)
        return probability

    return judgments.once(("satisfaction", gain, max_grade, is_relative), find)


def cascade(within: Segments, rows: Ints, probability: Floats, worth: Floats) -> Terms:
    """The worth of each row times the probability that the user stops there."""
    left = within.running_product(1 - probability)
    return Terms(within, rows, worth * probability * before_rows(within, left, 1.0))


def of_run(
    judgments: Judgments, probability: Floats, cutoff: int | None, worth: Callable[[Floats], Floats]
) -> Terms:
    """The cascade over the first k ranks; worth: rank -> the worth of stopping there."""
    rows = np.flatnonzero((probability > 0) & judgments.top(cutoff))
    terms = cascade(judgments.segments.take(rows), rows, probability[rows], worth(judgments.rank[rows]))

    def expected_total() -> Floats:
        groups = TieGroups.of(judgments, rows, cutoff)
        left = 1 - probability[rows]
        whole = groups.within.running_product(left)[groups.within.offsets[1:] - 1]
        reached = before_rows(groups.queries, groups.queries.running_product(whole), 1.0)
        places = groups.places
        rank = groups.above[places.query] + places.place + 1
        value = expected_stops(groups, probability[rows]) * worth(rank)
        return groups.queries.sum(reached * places.sum(value))

    return terms.replace(expected_total=expected_total)


@metric("ERR", invariants=[PROMOTION_HELPS.where(GAIN_RISES)], example="ERR@20")
def expected_reciprocal_rank(
    judgments: Judgments, *, gain: Gain = "exp", max_grade: MaxGrade = None, cutoff: Cutoff | None = None
) -> Terms:
    """Expected reciprocal rank.

    Use when the user stops at the first satisfying document, so that what is above a document changes its
             worth.
    Not when several good documents are wanted: after a very relevant one, the others add almost nothing.

    ERR@k = sum over the first k ranks r of (1/r) s(r) (1 - s(1)) … (1 - s(r-1)), where s, the
    probability that the document at a rank satisfies the user, is gain(grade) / (gain(m) + 1): with gain=exp,
    (2^grade - 1) / 2^m. m is max_grade; by default 4, or the largest grade in the qrels if that is higher.
    For unjudged documents and grades <= 0, s is 0.

    gdeval, which ir_measures uses, takes 4 as the largest grade, rejects higher grades, rounds to 5
    decimals, and requires numeric query ids. In NTCIREVAL the user defines the gains (gain=linear,
    max_grade=). In both, the value of a perfect ranking is below 1.

    Source: Chapelle, Metzler, Zhang, Grinspan, "Expected reciprocal rank for graded relevance", CIKM 2009.
    """
    return of_run(judgments, satisfaction(judgments, gain, max_grade), cutoff, np.reciprocal)


@metric(
    "nERR",
    invariants=[IDEAL_IS_ONE.where(GAIN_RISES), PROMOTION_HELPS.where(GAIN_RISES)],
    example="nERR(gain=linear)@10",
    needs_relevant=True,
)
def normalized_expected_reciprocal_rank(
    judgments: Judgments, *, gain: Gain = "exp", max_grade: MaxGrade = None, cutoff: Cutoff | None = None
) -> Terms:
    """Normalized expected reciprocal rank.

    Use when as ERR, where queries without highly relevant documents must be able to reach 1.
    Not when values are compared with gdeval's ERR, which is not normalized.

    nERR@k = ERR@k / ideal ERR@k, with ERR as in 'ERR'. The ideal ranking contains all judged documents of
    the query by descending grade. NTCIREVAL's nERR is nERR(gain=linear,max_grade=…) with its gains as grades.

    Source: Sakai and Song, "Evaluating diversified search results using per-intent graded relevance", SIGIR
    2011.
    """
    probability = satisfaction(judgments, gain, max_grade, is_relative=True)
    within, descending = judgments.segments, judgments.segments.sorted_descending(probability)
    places = np.flatnonzero((descending > 0) & (within.place < (np.inf if cutoff is None else cutoff)))
    best = cascade(within.take(places), places, descending[places], 1 / (within.place[places] + 1))
    return of_run(judgments, probability, cutoff, np.reciprocal).replace(
        normalizer=best.total, ideal=lambda: with_rows(best, within, probability)
    )


@metric("iRBU", invariants=[PROMOTION_HELPS.where(GAIN_RISES)], example="iRBU(p=0.95)@10")
def intentwise_rank_biased_utility(
    judgments: Judgments,
    *,
    p: Patience = 0.99,
    gain: Gain = "exp",
    max_grade: MaxGrade = None,
    cutoff: Cutoff | None = None,
) -> Terms:
    """Intentwise rank-biased utility.

    Use when the user stops when satisfied, as in ERR, but is patient: utility falls slowly with rank.
    Not when early ranks must weigh much more than later ones (ERR).

    iRBU@k = sum over the first k ranks r of p^r s(r) (1 - s(1)) … (1 - s(r-1)), with s as in 'ERR': the
    probability that the user is satisfied, discounted by rank. NTCIREVAL's iRBU is
    iRBU(gain=linear,max_grade=…) with its gains as grades.

    Source: Sakai and Zeng, "Retrieval evaluation measures that agree with users' SERP preferences", TOIS
    2021; from Amigó, Spina, Carrillo-de-Albornoz, "An axiomatic analysis of diversity evaluation metrics",
    SIGIR 2018.
    """
    probability = satisfaction(judgments, gain, max_grade)
    return of_run(judgments, probability, cutoff, lambda rank: p**rank)
