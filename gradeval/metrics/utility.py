"""Utility of a retrieved set, as in TREC's filtering track."""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Floats
from gradeval.registry.invariants import SCALE_FREE
from gradeval.registry.metric import Dotted, metric
from gradeval.registry.params import REL, at_least, negative, numbers, positive
from gradeval.tables.judgments import Judgments


@metric(
    "scaled_utility",
    order=False,
    params=[
        REL,
        positive("a", "what a relevant document that was retrieved is worth", 3.0),
        negative("b", "what a non-relevant document that was retrieved is worth", -2.0),
        positive("s", "the number of non-relevant documents whose utility becomes 0", 100.0),
    ],
    holds=[SCALE_FREE],
    example="scaled_utility(s=50)",
)
def scaled_utility(
    judgments: Judgments, *, rel: float | None = None, a: float = 3.0, b: float = -2.0, s: float = 100.0
) -> Floats:
    """Scaled utility.

    SU = (max(u, U(s)) - U(s)) / (MaxU - U(s)), with u = a (relevant retrieved) + b (others retrieved),
    U(s) = b s, and MaxU = a (relevant documents in the qrels). The defaults are TREC-8's LF1.

    Returns float64 (Q,), in [0, 1]; 0 where nothing was retrieved, as for every metric. Unit free.
    Source: Hull and Robertson, "The TREC-8 filtering track final report", 2000.
    """
    hits = judgments.hits(rel)
    found = hits.count
    utility = a * found + b * (judgments.retrieved - found)
    least = b * s
    scaled = (np.maximum(utility, least) - least) / (a * hits.relevant - least)
    return np.where(judgments.retrieved > 0, scaled, 0.0)


@metric(
    "utility",
    order=False,
    params=[
        REL,
        numbers(
            "weights",
            "the worth of a relevant and of another document retrieved, and of both where they are not",
            (1.0, -1.0, 0.0, 0.0),
            count=4,
        ),
        at_least("size", "the number of documents in the collection, for the last of the weights", 0.0, 0.0),
    ],
    range=(None, None),
    holds=[SCALE_FREE],
    trec={"utility": Dotted("weights", form="list")},
    example="utility(weights=3/-2/0/0)",
)
def set_utility(
    judgments: Judgments,
    *,
    rel: float | None = None,
    weights: tuple[float, ...] = (1.0, -1.0, 0.0, 0.0),
    size: float = 0.0,
) -> Floats:
    """Utility of what was retrieved, and of what was not.

    utility = a (relevant retrieved) + b (others retrieved) + c (relevant not retrieved) + d (others not
    retrieved), with a/b/c/d the weights, and of `size` documents in all.

    Returns float64 (Q,), any number; c (relevant) + d (others) where nothing was retrieved. Unit: worth.
    Source: Buckley, trec_eval.
    """
    a, b, c, d = weights
    hits = judgments.hits(rel)
    found, relevant, retrieved = hits.count, hits.relevant, judgments.retrieved
    others = size + found - retrieved - relevant
    worth: Floats = a * found + b * (retrieved - found) + c * (relevant - found) + d * others
    return worth
