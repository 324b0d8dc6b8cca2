"""The cumulated gain family: CG, DCG, nDCG, NDCNG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from gradeval.arrays.segments import Segments, ratio
from gradeval.metrics._kernels import (
    LINEAR_BOUNDS,
    NORMALIZED_BOUNDS,
    Gain,
    dcg,
    exp2_gain,
    graded,
    highest_grade,
    normalized_dcg,
)
from gradeval.metrics._kernels import discount as divisor
from gradeval.registry.invariants import GAIN_RISES, IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE
from gradeval.registry.metric import metric
from gradeval.registry.params import AtK, Top, Worth, choice, mapped, positive
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Details, DiscountedTerms, Terms

Discount = Annotated[
    str,
    choice(
        "the divisor of the gain at rank i: log2(i + 1) (log2), max(1, log2(i)) (letor), i (zipf), or 1 (none)",
        ("log2", "letor", "zipf", "none"),
    ),
]
Ideal = Annotated[
    str,
    choice(
        "the ideal ranking: the judged documents by grade (global), only documents of the largest grade (max), "
        "or the retrieved documents by grade (local)",
        ("global", "max", "local"),
    ),
]
MaxGrade = Annotated[
    float | None,
    positive("the largest grade of the scale, for ideal=max", without="the largest grade in the qrels"),
]


_CUMULATED: dict[str, Any] = {
    "range": (0, None),
    "invariants": [PROMOTION_HELPS.where(GAIN_RISES)],
    "bounds": LINEAR_BOUNDS.unless("top"),
}


@metric("CG", example="CG(gain=exp)@10", **_CUMULATED)
def cg(judgments: Judgments, *, gain: Worth = "linear", top: Top = None, cutoff: AtK = None) -> Terms:
    """Cumulated gain.

    Use when all results are seen at once, as in a grid, and the total gain counts.
    Not when the order of the results matters (DCG), or queries are compared with each other (nDCG).

    CG@k = sum of gain(grade) over the first k ranks, with gain as in 'DCG'.

    Source: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    """
    return dcg(*graded(judgments, gain, top), cutoff, "none")


@metric("DCG", example="DCG(gain=exp)@10", **_CUMULATED)
def discounted_cumulated_gain(
    judgments: Judgments,
    *,
    gain: Worth = "linear",
    top: Top = None,
    discount: Discount = "log2",
    cutoff: AtK = None,
) -> Terms:
    """Discounted cumulated gain.

    Use when gain is to be measured in its own unit, and early ranks count more than late ones.
    Not when queries with different numbers of relevant documents are averaged: those with many dominate
             (nDCG).

    DCG@k = sum over the first k ranks i of gain(grade) / d(i), with gain(grade) = grade (linear),
    2^grade - 1 (exp), or a mapping, and d(i) = log2(i + 1) (log2), max(1, log2(i)) (letor), i (zipf), or 1
    (none). Unjudged documents and grades <= 0 have gain 0, unless the mapping assigns grade 0 a gain. For
    grades of 54 and above, 2^grade - 1 is rounded to 2^grade.

    Source: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002; exp:
    Burges et al., "Learning to rank using gradient descent", ICML 2005; letor: Qin et al., "LETOR", 2010.
    """
    return dcg(*graded(judgments, gain, top), cutoff, discount)


def _check_ideal(params: Mapping[str, Any]) -> None:
    if params.get("ideal") == "max":
        if "cutoff" not in params:
            raise ValueError("ideal=max requires a cutoff")
        if params["cutoff"] > 10**6:  # it sums as many gains
            raise ValueError("ideal=max takes a cutoff up to 1000000")
    elif "max_grade" in params:
        raise ValueError("max_grade requires ideal=max")
    if "max_grade" in params and "top" in params:
        raise ValueError("max_grade and top are mutually exclusive: top defines its own grades")


@metric(
    "nDCG",
    invariants=[
        IDEAL_IS_ONE.where(GAIN_RISES, ideal=("global", "local")),
        SCALE_FREE.where(gain="linear").unless("max_grade"),
        PROMOTION_HELPS.where(GAIN_RISES, ideal=("global", "max")),
    ],
    check=_check_ideal,
    example="nDCG(gain=exp)@10",
    needs_relevant=True,
    sees_all=lambda params: params.get("ideal") == "local",
    bounds=NORMALIZED_BOUNDS.unless("top"),
)
def normalized_discounted_cumulated_gain(
    judgments: Judgments,
    *,
    gain: Worth = "linear",
    top: Top = None,
    discount: Discount = "log2",
    ideal: Ideal = "global",
    max_grade: MaxGrade = None,
    cutoff: AtK = None,
) -> Terms:
    """Normalized discounted cumulated gain.

    Use when relevance is graded, early ranks matter most, and queries differ in how much there is to find.
    Not when the best that exists may be bad: a query whose only documents are poor can still score 1. It
             says nothing about what is missing beyond the cutoff (R), or unjudged (Judged).

    nDCG@k = DCG@k / ideal DCG@k, with DCG as in 'DCG'. The ideal ranking contains all judged documents of
    the query by descending grade (global), k documents of the largest grade in the qrels or of max_grade
    (max), or all retrieved documents by descending grade (local). Scheel et al. call nDCG(gain=exp) NDCG;
    trec_eval's ndcg is nDCG, and LETOR's Eval-Score-3.0 computes nDCG(gain=exp,discount=letor).

    For nDCG(dcg='exp-log2')@k ir_measures uses gdeval, which rounds to 5 decimals, rejects grades above
    4, and requires numeric query ids; without a cutoff it uses ranx. The provider trectools prints nan
    where no document has a gain.

    Source: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    """
    table, worth = graded(judgments, gain, top)
    if ideal != "max":
        return normalized_dcg(table, worth, cutoff, discount, local=ideal == "local")
    highest = highest_grade(judgments, max_grade)
    best = highest if max_grade is None else max_grade
    if top:
        best = float(len(top))
    grade = np.array([best])
    if not isinstance(gain, str):  # another grade may have a larger gain
        grades = np.arange(best) if top else judgments.scale
        grade = np.maximum(mapped(grade, gain), mapped(grades, gain).max(initial=0.0))
    [gained] = worth.of(grade, np.zeros(1, np.int64))
    ranks = np.arange(1.0, (cutoff or 0) + 1)
    divisors = divisor(ranks, discount)

    def perfect() -> Terms:
        within = Segments(np.arange(table.segments.count + 1) * len(ranks))
        rank, discounts = np.tile(ranks, within.count), np.tile(divisors, within.count)
        return DiscountedTerms.of(within, np.full(len(rank), -1), rank, np.full(len(rank), gained), discounts)

    return dcg(table, worth, cutoff, discount, normalizer=np.cumsum(gained / divisors)[-1], ideal=perfect)


@metric("NDCNG", invariants=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS], needs_relevant=True)
def ndcng(judgments: Judgments, *, cutoff: AtK = None) -> Terms:
    """Normalized discounted cumulative normalized gain.

    Use when scales differ between queries or assessors, so that only the ratio to the query's largest grade
             counts.
    Not when a grade means the same for every query: 1 of 1 and 4 of 4 count alike (nDCG(gain=exp)).

    NDCNG@k = DCG@k / ideal DCG@k, with gain 2^(grade/m) - 1, m the largest judged grade of the query,
    and discount log2(rank + 1). Unjudged documents and grades <= 0 have gain 0.

    nDCGphi (variant=paper) is equal to it for a query whose median judged grade is 0, where grades below 0
    count as 0, or that has one distinct grade above 0.

    Source: Scheel, Lommatzsch, Albayrak, "Performance Measures for Multi-Graded Relevance", 2011, eq. 5.
    """
    gain = Gain("NDCNG", lambda grade, query: exp2_gain(grade / judgments.highest[query]))

    def details() -> Details:
        shares = ratio(np.maximum(judgments.grade, 0.0), judgments.highest[judgments.query])
        return Details(symbol="grade/m", scaled=shares)

    return normalized_dcg(judgments, gain, cutoff).replace(details=details)
