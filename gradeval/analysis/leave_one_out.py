"""How a value changes when a document is removed from the run and the judgments, and the ranks close up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradeval.arrays import Floats
from gradeval.arrays.segments import Segments
from gradeval.evaluation.one_run import prepared
from gradeval.options import Options
from gradeval.registry.spec import Spec
from gradeval.scoring import score
from gradeval.tables.judgments import Judgments

_AT_ONCE = 1 << 20  # judgments of the tables that are scored together


def leave_one_out(
    spec: Spec, judgments: Judgments, options: Options, unjudged: Floats
) -> tuple[Floats, Floats]:
    """The value without each row of a table of one query, (N,), and without each unjudged document, (U,).

    unjudged: the ranks of these. options: what is applied to the table after a document was removed, so that
    documents below the depth move up. The scale of grades stays that of the whole qrels.
    """
    ranks = judgments.rank[judgments.is_retrieved]
    # between two judged documents it does not matter which one is removed
    gap = np.searchsorted(ranks, unjudged)
    gaps, which = np.unique(gap, return_inverse=True)
    # judged documents from here on move up
    above = np.append(ranks, np.inf)[gaps] - 0.5
    removed = np.concatenate([np.arange(len(judgments.rank)), np.full(len(above), -1)])
    rank = np.concatenate([judgments.rank, above])
    is_retrieved = np.concatenate([judgments.is_retrieved, np.ones(len(above), bool)])
    step = max(1, _AT_ONCE // (len(judgments.rank) + 1))
    values = [
        score(prepared(_without(judgments, *(column[a : a + step] for column in columns)), options), [spec])[0]
        for columns in [(removed, rank, is_retrieved)]
        for a in range(0, len(removed), step)
    ]
    found = np.concatenate([np.empty(0), *values])
    return found[: len(judgments.rank)], found[len(judgments.rank) :][which]


def _without(judgments: Judgments, removed: Floats, rank: Floats, is_retrieved: Floats) -> Judgments:
    """A query for each removal. removed: the row, -1 for none; rank: those below it move up, (C,) each."""
    count = len(judgments.rank)
    kept = np.arange(count) != removed[:, None]
    case, row = np.nonzero(kept)
    own = judgments.rank[row]
    return replace(
        judgments,
        segments=Segments(np.append(0, np.cumsum(kept.sum(axis=1)))),
        grade=judgments.grade[row],
        rank=own - (own > rank[case]),
        score=judgments.score[row],
        document=judgments.document[row],
        retrieved=judgments.retrieved[0] - is_retrieved,
    )
