"""Metrics with strings as values: the run tag, and the grades of the first ranks."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gradeval.registry.metric import Kind, Strings, metric
from gradeval.registry.params import positive_integer
from gradeval.tables.judgments import Judgments

Length = Annotated[int, positive_integer("the number of ranks shown", example="20", after_at=True)]
_NOT_IN_POOL, _NOT_JUDGED, _ZERO, _HIGHER = b"-.0>"


@metric("runid", kind=Kind.TEXT, constant=True, order_free=True)
def run_id(judgments: Judgments) -> Strings:
    """Run tag.

    Use when output is to carry the tag that the run gives itself.
    Not when runs share a tag: the file name is safer.

    runid = the last field of the last line of the run; the name of the run if it has no tags.

    Returns str (Q,), the same for each query. Unit: name.
    Source: trec_eval.
    """
    return [judgments.tag] * judgments.segments.count


@metric("relstring", kind=Kind.TEXT)
def grades_in_a_row(judgments: Judgments, *, length: Length = 10) -> Strings:
    """Grades of the documents in the first ranks, one character each.

    Use when the first ranks of a query are to be seen at a glance.
    Not when grades have decimals or exceed 9.

    relstring@k = for each rank the integer part of the grade, '>' if it is above 9, '.' if the grade is below
    0, and '-' if the document is not in the qrels.

    Returns str (Q,), at most k characters, one for each document retrieved; no summary. Unit: grades.
    Source: Buckley, trec_eval.
    """
    ends = np.cumsum(np.minimum(judgments.retrieved, length))
    starts = ends - np.minimum(judgments.retrieved, length)
    letters = np.full(ends[-1] if len(ends) else 0, _NOT_IN_POOL, np.uint8)  # those of all queries
    rows = np.flatnonzero(judgments.rank <= length)
    grade = judgments.grade[rows]
    shown = np.where(grade >= 10, _HIGHER, _ZERO + np.clip(grade, 0, 9).astype(np.uint8))
    place = starts[judgments.query[rows]] + judgments.rank[rows].astype(np.int64) - 1
    letters[place] = np.where(grade < 0, _NOT_JUDGED, shown)
    text = letters.tobytes().decode()
    return [text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
