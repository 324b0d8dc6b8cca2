"""Graded metrics from NTCIR: Q-measure, and nDCG without a discount for the first ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.metrics._kernels import NORMALIZED_DCG, graded, normalized_dcg
from gradeval.registry.invariants import GAIN_RISES, IDEAL_IS_ONE
from gradeval.registry.metric import metric
from gradeval.registry.params import AtK, Gain, Top, positive
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms
from gradeval.tables.tied import TieGroups

Beta = Annotated[float, positive("the weight of the gains relative to the number of relevant documents")]
_BASE = "the base of the logarithm, above 1; ranks up to it have no discount"
Base = Annotated[float, positive(_BASE, aliases=("b", "beta"))]


@metric(
    "Q",
    invariants=[IDEAL_IS_ONE.where(GAIN_RISES)],
    aliases=["Q-measure"],
    example="Q(beta=10)@10",
    needs_relevant=True,
)
def q_measure(judgments: Judgments, *, beta: Beta = 1.0, gain: Gain = "linear", cutoff: AtK = None) -> Terms:
    """Q-measure: average precision that also counts the gain of each document.

    Use when AP is wanted for graded relevance: as sensitive to late ranks as AP, with cumulated gain.
    Not when the user looks at the first ranks only (nDCG@k, ERR).

    Q@k = (sum of BR(r) over the ranks r up to k of documents with a gain above 0) / min(k, R), with
    BR(r) = (C(r) + beta G(r)) / (r + beta G*(r)). C(r) is the number of documents with a gain above 0 in the
    first r ranks, G(r) the sum of their gains, G*(r) the sum of the first r gains of the ideal ranking, and R
    the number of documents in the qrels with a gain above 0. gain(grade) = grade (linear), 2^grade - 1 (exp),
    or a mapping. As beta approaches 0, Q approaches AP.

    As in NTCIREVAL. AP@k is divided by R in gradeval, and by min(k, R) in NTCIREVAL.

    Source: Sakai, "Ranking the NTCIR systems based on multigrade relevance", AIRS 2004.
    """
    table, worth = graded(judgments, gain)
    within = table.segments
    ideal_total = within.running_sum(worth.of(table.ideal, within.query))
    rows = np.flatnonzero((table.grade > 0) & table.top(cutoff))
    gaining, rank = within.take(rows), table.rank[rows]
    gains = worth.of(table.grade[rows], gaining.query)

    def divisor(rank: Floats, query: Ints) -> Floats:
        depth = np.minimum(rank, within.lengths[query]).astype(np.int64)
        return np.asarray(rank + beta * ideal_total[within.offsets[:-1][query] + depth - 1])

    def expected_total() -> Floats:
        """With the numerator of each document: its own worth, and that of those above it."""
        groups = TieGroups.of(table, rows, cutoff)
        count = groups.within.lengths.astype(np.float64)
        worths = groups.within.sum(1 + beta * gains)
        places, group = groups.places, groups.places.query
        share = places.place / np.maximum(groups.size[group] - 1, 1)
        numerator = (count * groups.before(worths) + worths)[group] + share * ((count - 1) * worths)[group]
        expected_rank = groups.above[group] + places.place + 1
        ratios = numerator / groups.size[group] / divisor(expected_rank, groups.query[group])
        return groups.queries.sum(places.sum(ratios))

    blended = (gaining.place + 1 + beta * gaining.running_sum(gains)) / divisor(rank, gaining.query)
    relevant = within.number(table.grade > 0)
    most = relevant if cutoff is None else np.minimum(relevant, cutoff)
    return Terms(gaining, rows, blended, most, expected_total=expected_total)


def _check_base(params: Mapping[str, Any]) -> None:
    if params.get("base", 2.0) <= 1:
        raise ValueError("base must be above 1")


@metric("JKnDCG", check=_check_base, example="JKnDCG(base=4)@10", **NORMALIZED_DCG)
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
