"""Counts of queries and documents, shares of judged documents, and metrics with strings as values."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.metrics._kernels import SCALE_FREE_HITS, hit_count, one_each, retrieved
from gradeval.registry.invariants import PROMOTION_HELPS, SCALE_FREE, UNJUDGED_IGNORED
from gradeval.registry.metric import Kind, Strings, metric
from gradeval.registry.params import AtK, Cutoff, Rel, positive_integer
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Terms

Length = Annotated[int, positive_integer("the number of ranks shown", example="20", after_at=True)]
_NOT_IN_POOL, _NOT_JUDGED, _ZERO, _HIGHER = b"-.0>"
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
    unjudged = np.subtract(judgments.retrieved, judged.lengths, dtype=float)
    return Terms(judged, rows, 1.0, base=-unjudged, unjudged=1.0)


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
def relevant_retrieved_count(judgments: Judgments, *, rel: Rel = None, cutoff: AtK = None) -> Terms:
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


@metric("unj", family="incomplete judgments", invariants=[SCALE_FREE], higher_is_better=None, expected=True)
def unjudged(judgments: Judgments, *, cutoff: Cutoff) -> Floats:
    """Share of unjudged documents in the first ranks: other metrics are unreliable where it is high.

    Use when a value is to be trusted only where enough of the first ranks is judged.
    Not when systems are compared by it: a new system with good documents has many unjudged ones.

    unj@k = (unjudged documents in the first k ranks) / k. A document with a grade below 0 counts as unjudged.

    Source: Soboroff, trec_eval.
    """
    return (np.minimum(judgments.retrieved, cutoff) - hit_count(judgments, 0.0, cutoff)) / cutoff


@metric(
    "Judged", family="incomplete judgments", invariants=[SCALE_FREE, PROMOTION_HELPS], higher_is_better=None
)
def judged(judgments: Judgments, *, cutoff: AtK = None) -> Terms:
    """Share of judged documents among those retrieved.

    Use when any metric is read that takes unjudged documents as not relevant.
    Not when systems are compared by it: a new system with good documents has many unjudged ones.

    Judged@k = (documents in the first k ranks that are in the qrels) / (documents in the first k ranks).

    If fewer than k documents were retrieved, the divisor is their number, as in ir_measures.

    Source: ir_measures, after OpenNIR.
    """
    rows = np.flatnonzero(judgments.top(cutoff))
    within = judgments.segments.take(rows)
    size = retrieved(judgments, cutoff)
    return Terms(within, rows, 1.0, size, weight_at=np.ones_like, cutoff=cutoff)


@metric("runid", family="text", kind=Kind.TEXT, constant=True, order_free=True)
def run_id(judgments: Judgments) -> Strings:
    """Run tag.

    Use when output is to carry the tag that the run gives itself.
    Not when runs share a tag: the file name is safer.

    runid = the last field of the last line of the run; the name of the run if it has no tags.

    Returns str (Q,), the same for each query. Unit: name.
    Source: trec_eval.
    """
    return [judgments.tag] * judgments.segments.count


@metric("relstring", family="text", kind=Kind.TEXT)
def grades_in_a_row(judgments: Judgments, *, length: Length = 10) -> Strings:
    """Grades of the documents in the first ranks, one character each.

    Use when the first ranks of a query are to be seen at a glance.
    Not when grades have decimals or exceed 9.

    relstring@k = for each rank the integer part of the grade, '>' if it is above 9, '.' if the grade is below
    0, and '-' if the document is not in the qrels.

    Returns str (Q,), at most k characters, one for each document retrieved; no summary. Unit: grades.
    Source: Buckley, trec_eval.
    """
    shown = np.minimum(judgments.retrieved, length)
    end = np.cumsum(shown)
    starts = end - shown
    letters = np.full(end[-1] if len(end) else 0, _NOT_IN_POOL, np.uint8)  # those of all queries
    rows = np.flatnonzero(judgments.rank <= length)
    grade = judgments.grade[rows]
    letter = np.where(grade >= 10, _HIGHER, _ZERO + np.clip(grade, 0, 9).astype(np.uint8))
    position = starts[judgments.query[rows]] + judgments.rank[rows].astype(np.int64) - 1
    letters[position] = np.where(grade < 0, _NOT_JUDGED, letter)
    text = letters.tobytes().decode()
    return [text[a:b] for a, b in zip(starts.tolist(), end.tolist(), strict=True)]
