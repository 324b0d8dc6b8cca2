"""Rank-biased precision: a user who continues to the next rank with a fixed probability."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import log
from typing import Annotated, Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.metrics._kernels import graded
from gradeval.registry.invariants import GAIN_RISES, PROMOTION_HELPS
from gradeval.registry.metric import metric
from gradeval.registry.params import REL, WORTH, Cutoff, OutOfRange, Pairs, fraction
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

Persistence = Annotated[
    float, fraction("the probability that the user continues to the next rank", example="0.8")
]
_TABLED = 1 << 16
_AT_ONCE = 1 << 18


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
    except OutOfRange:
        raise
    except ValueError as error:
        raise ValueError(f"binary, {error}") from None


BinaryWorth = Annotated[
    str | Pairs,
    WORTH.replace(
        parse=_gain,
        about=f"{WORTH.about}; binary: 1 for relevant documents (see --rel), 0 for others",
        allowed=f"binary, {WORTH.allowed}",
    ),
]
Level = Annotated[
    float, REL.replace(about="as gain=binary, with this relevance threshold", without="determined by gain=")
]


def _check(params: Mapping[str, Any]) -> None:
    if "rel" in params and "gain" in params:
        raise ValueError("rel and gain are mutually exclusive")


@metric("rbp", invariants=[PROMOTION_HELPS.where(GAIN_RISES)], check=_check, example="rbp(p=0.8)")
def rank_biased_precision(
    judgments: Judgments,
    *,
    p: Persistence = 0.9,
    rel: Level | None = None,
    gain: BinaryWorth = "linear",
    cutoff: Cutoff | None = None,
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
    place = judged.rank.astype(np.int64) - 1 - before[within.query]
    step = max(_AT_ONCE // width, 1)
    for first in range(0, within.count, step):
        queries = slice(first, first + step)
        block = from_unjudged[before[queries]]
        end = retrieved[queries] - before[queries]
        short = np.flatnonzero(end < width)
        block[short] *= np.arange(width) < end[short, None]
        rows = slice(within.offsets[first], within.offsets[min(first + step, within.count)])
        inside = (place[rows] >= 0) & (place[rows] < width)
        block[within.query[rows][inside] - first, place[rows][inside]] = 0.0
        total[queries] = np.cumsum(block, axis=1, out=block)[:, -1]
    below = reach_probability((retrieved + 1).astype(np.float64), p)
    return np.where(retrieved > judged.count, below + (1 - p) * total, 0.0)
