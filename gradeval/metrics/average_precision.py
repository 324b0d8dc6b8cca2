"""Average precision, and µAP for grades."""

from __future__ import annotations

import numpy as np

from gradeval.judgments import Judgments
from gradeval.metrics.registry import CUTOFF, IDEAL_IS_ONE, PROMOTION_HELPS, REL, metric
from gradeval.segments import Floats


@metric(
    "AP",
    params=[REL, CUTOFF],
    holds=[IDEAL_IS_ONE, PROMOTION_HELPS],
    aliases={"MAP": {}},
    trec={"map": "", "map_cut": "cutoff"},
    example="AP(rel=2)@100",
)
def average_precision(judgments: Judgments, *, rel: float | None = None, cutoff: int | None = None) -> Floats:
    """Average precision.

    AP@k = (sum over the relevant documents retrieved in the first k ranks of P at their rank) / R, where R
    is the number of relevant documents in the qrels.

    Returns float64 (Q,), in [0, 1]; 0 where no document is relevant. Unit free.
    Source: Buckley and Voorhees, "Retrieval System Evaluation", in TREC, MIT Press 2005; as in trec_eval.
    """
    within = judgments.segments
    relevant = judgments.relevant(rel)
    found = relevant & (judgments.rank <= (np.inf if cutoff is None else cutoff)) & judgments.is_retrieved
    precision = np.where(found, within.running_count(found) / judgments.rank, 0.0)
    total = within.number(relevant)
    return within.sum(precision) / np.maximum(total, 1)
