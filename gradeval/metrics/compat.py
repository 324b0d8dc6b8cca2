"""Top-weighted overlap of a ranking with the ideal ranking."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import stable_order
from gradeval.registry.invariants import IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE
from gradeval.registry.metric import metric
from gradeval.registry.params import flag, fraction
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

Persistence = Annotated[
    float, fraction("the probability that the user continues to the next rank", example="0.9")
]
Normalize = Annotated[bool, flag("divide by the RBO of the ideal ranking, so that it scores 1")]
NEGLIGIBLE = 40  # e^-40 of the weight of the first rank does not change a sum


def _agreement(p: float, deepest: int) -> Floats:
    """The sum over the first i ranks of p^(i-1) / i, for i = 0, 1, …, as far as it still grows."""
    size = min(deepest, math.ceil(NEGLIGIBLE / (1 - p)))
    rank = np.arange(1.0, size + 1)
    return np.concatenate([[0.0], np.cumsum(p ** (rank - 1) / rank)])


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

    Returns float64 (Q,), in [0, 1]; 0 where no grade is above 0. Unitless.
    Source: Clarke, Vtyurina, Smucker, "Assessing top-k preferences", TOIS 2021.
    """
    within = judgments.segments
    order = stable_order(judgments.query, judgments.level.max(initial=0) - judgments.level)
    place = np.empty(len(order))
    place[order] = within.place + 1.0
    rows = np.flatnonzero(judgments.grade > 0)
    ideal = within.take(rows)
    depth = np.maximum(judgments.retrieved, ideal.lengths)
    table = _agreement(p, int(depth.max(initial=0)))

    def overlap(rows: Ints, common: Floats) -> Terms:
        """Each document is among the first of both from the rank in `common` to the end."""
        end = np.minimum(depth, len(table) - 1)[ideal.query]
        begin = np.minimum(common[rows] - 1, end).astype(np.int64)
        return Terms(ideal, rows, table[end] - table[begin])

    found = overlap(rows, np.maximum(place, judgments.rank))
    if not normalize:
        return replace(found, normalizer=-np.expm1(np.maximum(depth, 1) * np.log(p)) / (1 - p))
    best = overlap(order[judgments.grade[order] > 0], place)  # added in the order of the ideal ranking
    return replace(found, normalizer=best.total, ideal=lambda: best)
