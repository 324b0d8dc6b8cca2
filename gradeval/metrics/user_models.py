"""User models: rank-biased precision, cascades (ERR, nERR, iRBU), and the C/W/L family of rates of gain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import log
from typing import Annotated, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, log2
from gradeval.metrics._kernels import (
    LINEAR_BOUNDS,
    MONOTONE_BOUNDS,
    before_rows,
    exp2_share,
    graded,
    highest_grade,
    with_rows,
)
from gradeval.registry import params
from gradeval.registry.invariants import GAIN_RISES, IDEAL_IS_ONE, PROMOTION_HELPS, Condition
from gradeval.registry.metric import metric
from gradeval.registry.params import REL, WORTH, AtK, Cutoff, Gain, Pairs, fraction, mapped
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import DiscountedTerms, Terms
from gradeval.tables.tied import TieGroups, expected_stops

Persistence = Annotated[
    float, fraction("the probability that the user continues to the next rank", example="0.8")
]
_TABLED, _AT_ONCE = 1 << 16, 1 << 18
_IDEAL, _HELPS = IDEAL_IS_ONE.where(GAIN_RISES), PROMOTION_HELPS.where(GAIN_RISES)


def reach_probability(rank: Floats, p: float) -> Floats:
    """p^(rank - 1), multiplied one by one as a loop would."""
    highest = rank.max(initial=1.0)
    if highest > _TABLED:
        return np.power(p, rank - 1)
    steps = np.full(int(highest), p)
    steps[0] = 1.0
    probabilities: Floats = np.cumprod(steps)
    return probabilities[rank.astype(np.int64) - 1]


def _gain(text: str) -> str | Pairs:
    try:
        return text.lower() if text.lower() == "binary" else WORTH.parse(text)
    except params.OutOfRange:
        raise
    except ValueError as error:
        raise ValueError(f"binary, {error}") from None


Gains = Annotated[
    str | Pairs,
    WORTH.replace(
        parse=_gain,
        about=f"{WORTH.about}; binary: 1 for relevant documents (see --rel), 0 for others",
        allowed=f"binary, {WORTH.allowed}",
    ),
]
Level = Annotated[
    float | None,
    REL.replace(about="as gain=binary, with this relevance threshold", without="determined by gain="),
]


def _check_rbp(chosen: Mapping[str, Any]) -> None:
    if "rel" in chosen and "gain" in chosen:
        raise ValueError("rel and gain are mutually exclusive")


_BINARY = Condition(
    "gain",
    "with rel= or gain=binary",
    lambda given, _: given["rel"] is not None or given["gain"] == "binary",
)


@metric(
    "rbp",
    invariants=[_HELPS],
    check=_check_rbp,
    example="rbp(p=0.8)",
    bounds=LINEAR_BOUNDS.where(_BINARY),
)
def rank_biased_precision(
    judgments: Judgments, *, p: Persistence = 0.9, rel: Level = None, gain: Gains = "linear", cutoff: AtK = None
) -> Terms:
    """Rank-biased precision.

    Use when a user model is wanted whose persistence p can be stated, and values must not depend on R.
    Not when the ideal ranking is to score 1, or judgments are so shallow that rbp_resid is large.

    rbp@k = (1 - p) · (sum over the documents in the first k ranks of gain · p^(rank - 1)), with gain(grade) =
    grade (linear), 2^grade - 1 (exp), a mapping, or 1 for relevant documents (binary). Gains outside [0, 1]
    are scaled to (gain - lowest) / (largest - lowest), of 0, the gains of the query's judged documents and
    those of the mapping. trec_eval intends the same, but does not initialize the variables for the lowest and
    the largest gain, so that its values are undefined. As in trec_eval, the relevance threshold (--rel)
    affects gain=binary only.

    In ir_measures the default of RBP is p = 0.8. Its provider cwl_eval, which requires rel, divides by
    1 - p^1000 and considers 1,000 ranks. Its provider trectools, which must be selected by name, and ranx
    (rbp.95) use the grade as the gain without scaling; trectools assigns documents with tied scores the mean
    of their weights.

    Source: Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 2008.
    """
    weight = partial(reach_probability, p=p)
    if rel is not None or gain == "binary":
        hits = judgments.hits(rel, cutoff)
        value = reach_probability(hits.rank, p)
        return Terms(hits.segments, hits.rows, value, scale=1 - p, weight_at=weight, cutoff=cutoff)
    table, worth = graded(judgments, gain)
    within = table.segments
    gained = worth.of(table.grade, within.query)
    listed = [] if isinstance(gain, str) else [worth_of_grade for _, worth_of_grade in gain]
    lowest = np.minimum(within.min(gained), min([0.0, *listed]))
    largest = np.maximum(within.max(gained), max([0.0, *listed]))
    stretched = (lowest < 0) | (largest > 1)
    lowest, largest = np.where(stretched, lowest, 0.0), np.where(stretched, largest, 1.0)
    rows = np.flatnonzero(table.top(cutoff) & (judgments.grade >= 0))
    retrieved = within.take(rows)
    shares = (gained[rows] - lowest[retrieved.query]) / (largest - lowest)[retrieved.query]
    value = shares * weight(table.rank[rows])
    return Terms(retrieved, rows, value, scale=1 - p, weight_at=weight, cutoff=cutoff)


@metric("rbp_resid", higher_is_better=None)
def rank_biased_residual(judgments: Judgments, *, p: Persistence = 0.9) -> Floats:
    """Residual of rank-biased precision: its largest possible increase if all documents were judged.

    Use when rbp is reported: it says how far unjudged documents could raise it.
    Not when systems are compared by it: it measures the judgments, not the ranking.

    rbp_resid = p^n + (1 - p) · (sum over the unjudged of the n documents retrieved of p^(rank - 1)): the
    contribution of these and of the ranks below n with full gain; 0 where all retrieved documents are judged.

    Source: Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 2008;
    0 for completely judged rankings as in trec_eval.
    """
    judged = judgments.hits(0.0)
    within, retrieved = judged.segments, judgments.retrieved
    before = within.number(judged.rank == judged.seen)  # ranks above the first document that is not judged
    # further below it nothing is left of p^(rank - 1) when it is added, rank by rank
    width = min(int(retrieved.max(initial=0)), int(54 * log(2) / -log(p)) + 2)
    total = np.zeros(within.count)
    if not width:
        return total
    probability = reach_probability(np.arange(1, before.max() + width + 1).astype(np.float64), p)
    from_unjudged = np.lib.stride_tricks.sliding_window_view(probability, width)
    position = judged.rank.astype(np.int64) - 1 - before[within.query]
    step = max(_AT_ONCE // width, 1)
    for first in range(0, within.count, step):
        queries = slice(first, first + step)
        block = from_unjudged[before[queries]]
        end = retrieved[queries] - before[queries]
        short = np.flatnonzero(end < width)
        block[short] *= np.arange(width) < end[short, None]
        rows = slice(within.offsets[first], within.offsets[min(first + step, within.count)])
        inside = (position[rows] >= 0) & (position[rows] < width)
        block[within.query[rows][inside] - first, position[rows][inside]] = 0.0
        total[queries] = np.cumsum(block, axis=1, out=block)[:, -1]
    below = reach_probability((retrieved + 1).astype(np.float64), p)
    return np.where(retrieved > judged.count, below + (1 - p) * total, 0.0)


MaxGrade = Annotated[
    float | None,
    params.positive(
        "the largest grade of the scale",
        without="4 as in gdeval, or the largest grade in the qrels if that is higher",
    ),
]
Decay = Annotated[float, fraction("the factor by which utility decreases with each rank")]
_NEGLIGIBLE = 200.0  # 1 - 2^-200 is 1


def satisfaction(
    judgments: Judgments, gain: str | Pairs, max_grade: float | None, is_relative: bool = False
) -> Floats:
    """The probability that a document satisfies the user: gain / (largest gain + 1), below 1, (N,).
    is_relative: only the ratios within a query matter where probabilities are too small to change 1 - p.
    """

    def find() -> Floats:
        grade = judgments.grade
        largest = highest_grade(judgments, max_grade)
        if not isinstance(gain, str):
            gains = mapped(grade, gain)
            most = max(float(mapped(judgments.scale, gain).max(initial=0.0)), *(worth for _, worth in gain))
            return gains / (max(most, max_grade or 0.0) + 1)
        largest = max(4.0, largest) if max_grade is None else max_grade
        if gain == "linear":
            return np.maximum(grade, 0.0) / (largest + 1)
        probability = exp2_share(grade, largest)
        highest = judgments.highest[judgments.query]
        if is_relative and (is_far := largest - highest > _NEGLIGIBLE).any():
            # or they could all be 0, for a larger grade of another query
            probability = np.where(is_far, exp2_share(grade, highest) * 2.0**-_NEGLIGIBLE, probability)
        return probability

    return judgments.once(("satisfaction", gain, max_grade, is_relative), find)


def cascade(within: Segments, rows: Ints, probability: Floats, worth: Floats) -> Terms:
    """The worth of each row times the probability that the user stops there."""
    reaching = within.running_product(1 - probability)
    return Terms(within, rows, worth * probability * before_rows(within, reaching, 1.0))


def of_run(
    judgments: Judgments, probability: Floats, cutoff: int | None, worth: Callable[[Floats], Floats]
) -> Terms:
    """The cascade over the first k ranks; worth: rank -> the worth of stopping there."""
    rows = np.flatnonzero((probability > 0) & judgments.top(cutoff))
    terms = cascade(judgments.segments.take(rows), rows, probability[rows], worth(judgments.rank[rows]))

    def expected_total() -> Floats:
        groups = TieGroups.of(judgments, rows, cutoff)
        whole = groups.within.running_product(1 - probability[rows])[groups.within.ends - 1]
        reached = before_rows(groups.queries, groups.queries.running_product(whole), 1.0)
        places = groups.places
        value = expected_stops(groups, probability[rows]) * worth(groups.above[places.query] + places.place + 1)
        return groups.queries.sum(reached * places.sum(value))

    return terms.replace(expected_total=expected_total)


@metric("ERR", invariants=[_HELPS], example="ERR@20", bounds=MONOTONE_BOUNDS)
def err(judgments: Judgments, *, gain: Gain = "exp", max_grade: MaxGrade = None, cutoff: AtK = None) -> Terms:
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


@metric("nERR", invariants=[_IDEAL, _HELPS], example="nERR(gain=linear)@10", needs_relevant=True)
def nerr(judgments: Judgments, *, gain: Gain = "exp", max_grade: MaxGrade = None, cutoff: AtK = None) -> Terms:
    """Normalized expected reciprocal rank.

    Use when as ERR, where queries without highly relevant documents must be able to reach 1.
    Not when values are compared with gdeval's ERR, which is not normalized.

    nERR@k = ERR@k / ideal ERR@k, with ERR as in 'ERR'. The ideal ranking contains all judged documents of
    the query by descending grade. NTCIREVAL's nERR is nERR(gain=linear,max_grade=…) with its gains as grades.

    Source: Sakai and Song, "Evaluating diversified search results using per-intent graded relevance", SIGIR
    2011.
    """
    probability = satisfaction(judgments, gain, max_grade, is_relative=True)
    within = judgments.segments
    descending = judgments.segments.sorted_descending(probability)
    places = np.flatnonzero((descending > 0) & (within.place < (np.inf if cutoff is None else cutoff)))
    best = cascade(within.take(places), places, descending[places], 1 / (within.place[places] + 1))
    return of_run(judgments, probability, cutoff, np.reciprocal).replace(
        normalizer=best.total, ideal=lambda: with_rows(best, within, probability)
    )


@metric("iRBU", invariants=[_HELPS], example="iRBU(p=0.95)@10")
def irbu(
    judgments: Judgments, *, p: Decay = 0.99, gain: Gain = "exp", max_grade: MaxGrade = None, cutoff: AtK = None
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
    return of_run(judgments, satisfaction(judgments, gain, max_grade), cutoff, lambda rank: p**rank)


MinRel = Annotated[
    float, params.number("the grade with gain 0; lower grades have gain 0, and grades below 0 count as grade 0")
]
MaxRel = Annotated[float, params.number("the grade with gain 1; higher grades have gain 1", example="3")]
Target = Annotated[float, params.positive("the total gain that the user wants")]
Ranks = Annotated[
    int,
    params.positive_integer("the number of ranks considered, however many were retrieved; 1000 as in cwl_eval"),
]
Patient = Annotated[float, fraction("the probability that the user continues after a document with gain 0")]
Gaining = tuple[Segments, Ints, Floats, Floats]
Sums = Callable[[Floats], Floats]


def _check(chosen: Mapping[str, Any]) -> None:
    lowest = chosen.get("min_rel", 0.0)
    if chosen["max_rel"] <= max(lowest, 0.0):
        raise ValueError(f"max_rel must be above {'min_rel' if lowest > 0 else 0}")


def _check_sdcg(chosen: Mapping[str, Any]) -> None:
    _check(chosen)
    if chosen["cutoff"] > 10**6:  # it adds up as many discounts
        raise ValueError("SDCG takes a cutoff up to 1000000")


def _gaining(judgments: Judgments, lowest: float, most: float, depth: int) -> Gaining:
    """The documents in the first ranks with a gain above 0: their queries, rows, ranks and gains."""
    gain = np.clip((np.maximum(judgments.grade, 0.0) - lowest) / (most - lowest), 0.0, 1.0)
    rows = np.flatnonzero((gain > 0) & judgments.top(depth))
    return judgments.segments.take(rows), rows, judgments.rank[rows], gain[rows]


def _next_rank(gaining: Segments, rank: Floats, last: float) -> Floats:
    """The rank of the query's next row, `last` where there is none, (N,)."""
    following = np.append(rank[1:], last)
    following[gaining.ends[gaining.lengths > 0] - 1] = last
    return following


def _inverse_squares(after: Floats, upto: Floats) -> Floats:
    """The sum of 1 / x^2 over x = after, after + 1, … up to but without `upto`."""
    from scipy.special import zeta

    return np.asarray(zeta(2.0, after) - zeta(2.0, upto))


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
    [inspected] = start**2 * _inverse_squares(start, start + n)

    def weight(rank: Floats) -> Floats:
        return (2 * T / (2 * T + rank - 1)) ** 2

    return Terms(gaining, rows, gain * weight(rank), inspected, weight_at=weight, cutoff=n)


@metric("BPM", check=_check, example="BPM(T=2,max_rel=3)@10")
def bpm(
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


@metric("SDCG", invariants=[PROMOTION_HELPS], check=_check_sdcg, bounds=LINEAR_BOUNDS)
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
    """Gain per document inspected, where a document with gain g ends the search with probability g. discount:
    rank -> the probability that it is inspected if none above it has a gain; discounts: its sum up to the rank.
    """
    gaining, rows, rank, gain = documents
    reaching = gaining.running_product(1 - gain)
    value = gain * discount(rank) * before_rows(gaining, reaching, 1.0)
    between = discounts(_next_rank(gaining, rank, depth)) - discounts(rank)
    return Terms(
        gaining, rows, value, discounts(gaining.min(rank, empty=depth)) + gaining.sum(reaching * between)
    )


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
    return _nearly_err(_gaining(judgments, min_rel, max_rel, cutoff), cutoff, np.ones_like, lambda rank: rank)


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
    judgments: Judgments, *, p: Patient = 0.9, min_rel: MinRel = 0.0, max_rel: MaxRel, n: Ranks = 1000
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
    start = 2 * T
    documents = _gaining(judgments, min_rel, max_rel, n)
    return _nearly_err(
        documents,
        n,
        lambda rank: (start / (start + rank - 1)) ** 2,
        lambda rank: start**2 * _inverse_squares(np.array([start]), start + rank),
    )
