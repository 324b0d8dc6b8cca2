"""Agreement of scores with grades: Kendall, Spearman, Pearson, and the area under the ROC curve."""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments
from gradeval.registry.invariants import (
    IDEAL_IS_ONE,
    PROMOTION_HELPS,
    REVERSAL_NEGATES,
    REVERSE_IS_ZERO,
    SCALE_FREE,
    UNJUDGED_IGNORED,
)
from gradeval.registry.metric import Sees, metric
from gradeval.registry.params import REL
from gradeval.tables.judgments import Judgments


def _missing_is_zero(judgments: Judgments, values: Floats) -> Floats:
    """The values, with 0 where nothing was retrieved although the grades could have been ordered."""
    lost = (judgments.retrieved == 0) & (judgments.levels.lengths > 1)
    return np.where(lost, 0.0, values)


def _clipped(values: Floats) -> Floats:
    """The values without what rounding put beyond -1 or 1."""
    return np.minimum(np.maximum(values, -1.0), 1.0)


def _pairs(size: Ints) -> Ints:
    return size * (size - 1) // 2


@metric(
    "tau",
    order=False,
    sees=Sees.JUDGMENT,
    display="τ",
    range=(-1, 1),
    holds=[SCALE_FREE, REVERSAL_NEGATES, UNJUDGED_IGNORED],
    aliases=["kendall"],
    undefined=True,
)
def kendall(judgments: Judgments) -> Floats:
    """Kendall's τ-b between score and grade, over the documents that are judged and retrieved.

    τ-b = (concordant - discordant pairs) / sqrt((pairs not tied in score) (pairs not tied in grade)).

    Returns float64 (Q,), in [-1, 1]; NaN where all grades or all scores are equal, 0 where nothing was
    retrieved. Unit free.
    Source: Kendall, "The treatment of ties in ranking problems", Biometrika 1945.
    """
    found = judgments.found
    within, ties = found.segments, found.segments.ties(found.score)
    # best first among tied scores, so that a lower grade before a higher one is a discordant pair
    level = ties.sorted_descending(found.level.astype(np.float64)).astype(np.int64)
    discordant = np.zeros(within.count)
    for _, groups, upper, before in within.bit_planes(level):
        discordant += within.sum(np.where(upper, groups.place - before, 0))
    both = ties.ties(level)
    pairs = _pairs(within.lengths)
    in_score, in_grade, in_both = (
        within.over(tied).sum(_pairs(tied.lengths)) for tied in (ties, found.ideal_levels, both)
    )
    surplus = pairs - in_score - in_grade + in_both - 2 * discordant
    apart = np.sqrt(pairs - in_score) * np.sqrt(pairs - in_grade)
    tau = np.divide(surplus, apart, out=np.full(len(apart), np.nan), where=apart > 0)
    return _missing_is_zero(judgments, _clipped(tau))


def _middle(within: Segments, ties: Segments) -> Floats:
    """The place of each row within its query, the mean place where rows are tied, (N,)."""
    start, end = ties.offsets[:-1], ties.offsets[1:]
    return ((start + end - 1) / 2)[ties.query] - within.offsets[:-1][within.query]


def _correlation(within: Segments, x: Floats, y: Floats) -> Floats:
    """Pearson's r within queries, NaN where x or y is constant, (Q,)."""

    def centred(values: Floats) -> Floats:
        mean = within.sum(values) / np.maximum(within.lengths, 1)
        off = values - mean[within.query]
        widest = within.max(np.abs(off))
        widest[within.max(values) == within.min(values)] = np.nan
        return off / widest[within.query]

    x, y = centred(x), centred(y)
    spread = np.sqrt(within.sum(x * x)) * np.sqrt(within.sum(y * y))
    r = np.divide(within.sum(x * y), spread, out=np.full(len(spread), np.nan), where=spread > 0)
    return _clipped(r)


@metric(
    "rho",
    order=False,
    sees=Sees.JUDGMENT,
    display="ρ",
    range=(-1, 1),
    holds=[SCALE_FREE, REVERSAL_NEGATES, UNJUDGED_IGNORED],
    aliases=["spearman"],
    undefined=True,
)
def spearman(judgments: Judgments) -> Floats:
    """Spearman's ρ between score and grade, over the documents that are judged and retrieved.

    ρ = Pearson's r between the places by score and the places by grade, tied documents at their mean place.

    Returns float64 (Q,), in [-1, 1]; NaN where all grades or all scores are equal, 0 where nothing was
    retrieved. Unit free.
    Source: Spearman, "The proof and measurement of association between two things", 1904.
    """
    found = judgments.found
    within = found.segments
    by_score = _middle(within, within.ties(found.score))
    by_grade = np.empty_like(by_score)
    by_grade[found.by_grade] = _middle(within, found.ideal_levels)
    return _missing_is_zero(judgments, _correlation(within, by_score, by_grade))


@metric(
    "pearson",
    order=False,
    sees=Sees.JUDGMENT,
    range=(-1, 1),
    holds=[SCALE_FREE, REVERSAL_NEGATES, UNJUDGED_IGNORED],
    undefined=True,
)
def pearson(judgments: Judgments) -> Floats:
    """Pearson's r between score and grade, over the documents that are judged and retrieved.

    r = covariance(score, grade) / (standard deviation of score * standard deviation of grade).

    Returns float64 (Q,), in [-1, 1]; NaN where all grades or all scores are equal, 0 where nothing was
    retrieved. Unit free.
    Source: Pearson, "Note on regression and inheritance in the case of two parents", 1895.
    """
    found = judgments.found
    # scores may be of any size: in units of a power of two, which rounds nothing, their sums are numbers
    unit = np.frexp(found.segments.max(np.abs(found.score)))[1]
    score = np.ldexp(found.score, -unit[found.query])
    return _missing_is_zero(judgments, _correlation(found.segments, score, found.grade))


@metric(
    "AUC",
    order=False,
    sees=Sees.POOL,
    params=[REL],
    holds=[IDEAL_IS_ONE, SCALE_FREE, PROMOTION_HELPS, REVERSE_IS_ZERO, UNJUDGED_IGNORED],
    undefined=True,
    example="AUC(rel=2)",
)
def area_under_curve(judgments: Judgments, *, rel: float | None = None) -> Floats:
    """Area under the ROC curve: the chance that a relevant document is ranked above a non-relevant one.

    AUC = (pairs of a relevant and a non-relevant judged document with the relevant one's score higher, and
    half of those with equal scores) / (all such pairs); documents not retrieved are tied below all others.

    Returns float64 (Q,), in [0, 1]; NaN where all or none of the judged documents are relevant, 0 where
    nothing was retrieved. Unit free.
    Source: Hanley and McNeil, "The meaning and use of the area under a ROC curve", Radiology 1982.
    """
    within = judgments.segments
    relevant = judgments.relevant(rel)
    ties = within.ties(judgments.score)
    good, bad = ties.number(relevant), ties.number(~relevant)
    groups = within.over(ties)
    not_below = groups.running_sum(bad.astype(np.float64))
    all_good, all_bad = groups.sum(good), groups.sum(bad)
    above = groups.sum(good * (all_bad[groups.query] - not_below + bad / 2))
    pairs = all_good * all_bad
    area = np.divide(above, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    return _missing_is_zero(judgments, area)
