"""Variants of nDCG: at ranks by query, with the original discount, or discounted by the gain missed (G)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.arrays.segments import Segments, log2, ratio
from gradeval.metrics._kernels import (
    NORMALIZED_BOUNDS,
    NORMALIZED_DCG,
    SCALE_FREE_HITS,
    dcg,
    graded,
    ideal_dcg,
    normalized_dcg,
)
from gradeval.registry.invariants import GAIN_RISES, IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE, UNJUDGED_IGNORED
from gradeval.registry.metric import metric
from gradeval.registry.params import AtK, Gain, Pairs, Rel, Top, Worth, positive
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import DiscountedTerms, Terms

Base = Annotated[
    float,
    positive("the base of the logarithm, above 1; ranks up to it have no discount", aliases=("b", "beta")),
]
_IDEAL = IDEAL_IS_ONE.where(GAIN_RISES)
_LINEAR = SCALE_FREE.where(gain="linear")


def _dcgs(judgments: Judgments, gain: str | Pairs) -> tuple[DiscountedTerms, DiscountedTerms]:
    """The DCG of the documents retrieved whose gain is not 0, and that of the ideal ranking."""
    table, worth = graded(judgments, gain)
    return dcg(table, worth, None), ideal_dcg(table, worth)


def _ideally(run: DiscountedTerms, best: Segments, running: Floats) -> Floats:
    """A running sum over the ideal ranking, at the rank of each document found."""
    query = run.segments.query
    depth = np.minimum(run.rank.astype(np.int64), best.lengths[query])
    padded = np.append(running, 0.0)  # only indexed where no judged document has a gain
    return np.where(depth > 0, padded[best.offsets[query] + depth - 1], 0.0)


@metric("ndcg_rel", invariants=[_IDEAL, _LINEAR], needs_relevant=True)
def ndcg_at_relevant(judgments: Judgments, *, gain: Worth = "linear") -> Floats:
    """nDCG averaged over the documents with a gain above 0.

    Use when nDCG is to be averaged over the places of the documents found, as AP averages precision.
    Not when results are to be compared with other tools: it is experimental and rarely reported.

    ndcg_rel = (sum of nDCG@r over the ranks r of those retrieved + nDCG at the last rank for each of those
    not retrieved) / (their number in the qrels).

    Source: Buckley, trec_eval, experimental.
    """
    run, ideal = _dcgs(judgments, gain)
    number = ideal.segments.lengths
    good = run.gain > 0
    best = _ideally(run, ideal.segments, ideal.segments.running_sum(ideal.value))
    reached = np.where(good, run.segments.running_sum(run.value), 0.0) / np.where(good, best, 1.0)
    missed = number - run.segments.number(good)
    total = run.segments.sum(reached) + ratio(missed * run.total, ideal.total)
    return ratio(np.maximum(total, 0.0), number, np.nan)


@metric("Rndcg", invariants=[_IDEAL, _LINEAR.unless("rel")], example="Rndcg(gain=1:3/2:9)", needs_relevant=True)
def ndcg_at_levels(judgments: Judgments, *, rel: Rel = None, gain: Worth = "linear") -> Floats:
    """nDCG averaged over the ranks at which the gain of the ideal ranking decreases.

    Use when nDCG is to be seen at the depth where each grade of the ideal ranking ends.
    Not when results are to be compared with other tools: it is experimental and rarely reported.

    Rndcg = (sum of nDCG@k over the points k) / (number of points). The points are the last ranks of each gain
    above 0 in the ideal ranking, and the last rank of the run if that is 2 or more below these.

    Source: Buckley, trec_eval, experimental.
    """
    run, ideal = _dcgs(judgments, gain)
    within, best = run.segments, ideal.segments
    levels = best.ties(ideal.gain)
    levels_of_query = best.over(levels)
    end = levels.ends
    rank = run.rank.astype(np.int64)
    depth = end - best.offsets[levels_of_query.query]
    width = int(max(rank.max(initial=0), depth.max(initial=0))) + 1
    # how many of the documents found are in the first ranks of the query, up to each of the points
    through = np.searchsorted(within.query * width + rank, levels_of_query.query * width + depth, "right")
    before = np.append(0.0, within.running_sum(run.value))  # the sums restart at each query
    reached = np.where(through > within.offsets[levels_of_query.query], before[through], 0.0)
    total = levels_of_query.sum(reached / best.running_sum(ideal.value)[end - 1])
    further = judgments.retrieved > best.lengths + 1
    at_end = np.where(further, ratio(run.total, ideal.total), 0.0)
    has_points = judgments.hits(rel).relevant * levels_of_query.lengths > 0
    return ratio(total + at_end, np.where(has_points, levels_of_query.lengths + further, 0), np.nan)


@metric("ndcg_p", bounds=NORMALIZED_BOUNDS, **NORMALIZED_DCG)
def trec_eval_9_ndcg(judgments: Judgments, *, gain: Worth = "linear") -> Terms:
    """nDCG with the discount of its original definition, as in the first releases of trec_eval 9.

    Use when values of the first releases of trec_eval 9 are to be reproduced.
    Not when a new evaluation is made: ranks 1 and 2 count alike (nDCG).

    ndcg_p = nDCG(discount=letor). trec_eval 10 contains its source, but does not offer the measure.

    Source: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    """
    return normalized_dcg(*graded(judgments, gain), None, "letor")


@metric("ideal_dcg", range=(0, None), invariants=[UNJUDGED_IGNORED], order_free=True)
def ideal_discounted_cumulated_gain(judgments: Judgments, *, gain: Worth = "linear") -> Floats:
    """Discounted cumulated gain of the ideal ranking.

    Use when the normalizer of nDCG is to be inspected: how much there is to find for each query.
    Not when systems are compared: it does not depend on the run.

    ideal_dcg = DCG of all judged documents by descending grade; nDCG = DCG / ideal_dcg.

    Source: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    """
    return ideal_dcg(*graded(judgments, gain)).total


@metric("G", needs_relevant=True)
def normalized_gain(judgments: Judgments, *, gain: Worth = "linear") -> Terms:
    """Normalized gain: each gain is discounted by the gain missed so far.

    Use when a rank is to be discounted by what was missed above it, not by its number.
    Not when results are to be compared with other tools: it is experimental and rarely reported.

    G = (sum over the documents retrieved of gain / log2(2 + most - gained)) / (sum of all gains), with
    gained the cumulated gain up to and including its rank, and most that of the ideal ranking at this
    rank, where each rank counts as at least 1. Sums of 2^53 and more are rounded (gain=exp with grades of
    53 and above), so that small differences are lost.

    Source: Buckley, trec_eval, experimental.
    """
    run, best = _dcgs(judgments, gain)
    beyond = np.maximum(run.rank - best.segments.lengths[run.segments.query], 0.0)
    most = _ideally(run, best.segments, best.segments.running_sum(np.maximum(best.gain, 1.0))) + beyond
    # no less than 2 but for rounding, since nothing gains more than the ideal ranking
    missed = np.maximum(2 + most - run.segments.running_sum(run.gain), 2.0)
    discount = log2(missed) if (missed == np.floor(missed)).all() else np.log2(missed)
    total = best.segments.sum(best.gain)
    return DiscountedTerms.of(run.segments, run.row, run.rank, run.gain, discount, normalizer=total)


@metric("binG", invariants=[IDEAL_IS_ONE, SCALE_FREE_HITS, PROMOTION_HELPS], needs_relevant=True)
def binary_gain(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Binary G: each relevant document is discounted by the number of non-relevant documents above it.

    Use when only non-relevant documents above a relevant one are to cost something.
    Not when results are to be compared with other tools: it is experimental and rarely reported.

    binG = (sum over the relevant documents retrieved of 1 / log2(2 + n)) / R, with n the number of
    non-relevant documents above it, and R the number of relevant documents.

    Source: Buckley, trec_eval, experimental.
    """
    hits = judgments.hits(rel)
    return Terms(hits.segments, hits.rows, 1 / log2(2 + hits.rank - hits.seen), hits.relevant)


def _check_base(params: Mapping[str, Any]) -> None:
    if params.get("base", 2.0) <= 1:
        raise ValueError("base must be above 1")


@metric(
    "JKnDCG",
    family="NTCIR",
    check=_check_base,
    example="JKnDCG(base=4)@10",
    bounds=NORMALIZED_BOUNDS.unless("top"),
    **NORMALIZED_DCG,
)
def jk_ndcg(
    judgments: Judgments, *, base: Base = 2.0, gain: Gain = "linear", top: Top = None, cutoff: AtK = None
) -> Terms:
    """Normalized discounted cumulated gain as first defined, without a discount for the first ranks.

    Use when values with the original discount are to be reproduced, or a patient user is modelled (base).
    Not when the first ranks must differ: up to the base they count alike (nDCG).

    JKnDCG@k = DCG@k / ideal DCG@k, with DCG@k = sum over the first k ranks i of gain(grade) / max(1, log i),
    and gain as in 'DCG'. A larger base of the logarithm models a more patient user. NTCIREVAL calls it nDCG,
    and calls 'nDCG' MSnDCG. With base=2 it is nDCG(discount=letor).

    Source: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    """
    return normalized_dcg(*graded(judgments, gain, top), cutoff, base)
