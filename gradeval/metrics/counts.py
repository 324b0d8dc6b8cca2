"""Counts of queries and documents; their summary is the sum over all queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.metrics._kernels import SCALE_FREE_HITS, one_each
from gradeval.registry.invariants import PROMOTION_HELPS, SCALE_FREE, UNJUDGED_IGNORED
from gradeval.registry.metric import Kind, metric
from gradeval.registry.params import Cutoff, Rel
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

COUNT: dict[str, Any] = {"range": (0, None), "kind": Kind.COUNT, "higher_is_better": None}


@metric("num_q", invariants=[SCALE_FREE, UNJUDGED_IGNORED], constant=True, order_free=True, **COUNT)
def query_count(judgments: Judgments) -> Floats:
    """Number of queries.

    Use when the number of queries behind a mean is to be reported.
    Not when systems are compared.

    num_q = 1 for each query.

    Source: trec_eval.
    """
    return np.ones(judgments.segments.count)


@metric("num_ret", invariants=[SCALE_FREE], order_free=True, **COUNT)
def retrieved_count(judgments: Judgments) -> Terms:
    """Number of documents retrieved.

    Use when the depth of a run is to be checked.
    Not when systems are compared.

    num_ret = documents in the run for the query, judged and unjudged.

    In the example, the number of documents that are not judged is subtracted with the opposite sign.

    Source: trec_eval.
    """
    rows = np.flatnonzero(judgments.is_retrieved)
    judged = judgments.segments.take(rows)
    return Terms(
        judged, rows, 1.0, base=np.subtract(judged.lengths, judgments.retrieved, dtype=float), unjudged=1.0
    )


@metric("num_rel", invariants=[SCALE_FREE_HITS, UNJUDGED_IGNORED], order_free=True, **COUNT)
def relevant_judged_count(judgments: Judgments, *, rel: Rel = None) -> Floats:
    """Number of relevant documents.

    Use when the number of relevant documents behind a value is to be reported.
    Not when systems are compared.

    num_rel = documents in the qrels that are relevant to the query.

    Source: trec_eval.
    """
    return judgments.hits(rel).relevant.astype(np.float64)


@metric("num_rel_ret", invariants=[SCALE_FREE_HITS, PROMOTION_HELPS], example="num_rel_ret(rel=2)", **COUNT)
def relevant_retrieved_count(judgments: Judgments, *, rel: Rel = None, cutoff: Cutoff | None = None) -> Terms:
    """Number of relevant documents retrieved.

    Use when the relevant documents found are to be counted over all queries.
    Not when queries must count alike: those with many relevant documents dominate (R).

    num_rel_ret@k = documents in the first k ranks that are relevant to the query; without a cutoff, in the
    whole run. The summary is the sum over the queries. ranx calls it hits, and prints their mean; the share
    of queries with a hit is Success.

    Source: trec_eval.
    """
    return one_each(judgments.hits(rel), cutoff=cutoff)


@metric("num_nonrel_judged_ret", invariants=[SCALE_FREE_HITS, UNJUDGED_IGNORED], **COUNT)
def nonrelevant_retrieved_count(judgments: Judgments, *, rel: Rel = None) -> Terms:
    """Number of judged non-relevant documents retrieved.

    Use when the number of judged mistakes in a run is to be counted.
    Not when runs have different depths or judged shares.

    num_nonrel_judged_ret = documents in the run that are not relevant to the query and have a grade >= 0.

    Source: trec_eval.
    """
    judged = judgments.hits(0.0)
    return one_each(judged.take(np.flatnonzero(~judgments.relevant(rel)[judged.rows])))
