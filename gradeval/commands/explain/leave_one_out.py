"""How a value changes when a document is removed from the run and the judgments, and the ranks close up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradeval.arrays import Floats
from gradeval.arrays.segments import Segments
from gradeval.evaluation.outcome import prepared
from gradeval.evaluation.score import score
from gradeval.options import Options
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments

_AT_ONCE = 1 << 20  # judgments of the tables that are scored together
_AT_MOST = 10**8  # judgments of all these tables: about 5 seconds


def leave_one_out(
    spec: Spec, judgments: Judgments, options: Options, unjudged: Floats
) -> tuple[dict[int, float], dict[int, float]]:
    """The value without each row of a table of one query, and without each unjudged document, by its index.

    unjudged: the ranks of these. options: what is applied to the table after a document was removed, so that
    documents below the depth move up. The scale of grades stays that of the whole qrels. Where that takes more
    than _AT_MOST judgments, only documents of the first ranks and the highest grades that were not retrieved
    are removed.
    """
    ranks = judgments.rank[judgments.is_retrieved]
    # between two judged documents it does not matter which one is removed
    gap = np.searchsorted(ranks, unjudged)
    gaps, first, which = np.unique(gap, return_index=True, return_inverse=True)
    # judged documents from here on move up
    above = np.append(ranks, np.inf)[gaps] - 0.5
    removed = np.concatenate([np.arange(len(judgments.rank)), np.full(len(above), -1)])
    rank = np.concatenate([judgments.rank, above])
    is_retrieved = np.concatenate([judgments.is_retrieved, np.ones(len(above), bool)])
    tried = np.arange(len(removed))
    most = max(2, _AT_MOST // max(1, len(judgments.rank)))
    if len(tried) > most:
        found_at = np.concatenate([judgments.rank, unjudged[first]])
        missed = np.flatnonzero(~judgments.is_retrieved)
        missed = missed[np.argsort(-judgments.grade[missed], kind="stable")][: most // 2]
        tried = np.append(np.argsort(found_at, kind="stable")[: most - len(missed)], missed)
        tried = np.unique(tried)
    step = max(1, _AT_ONCE // (len(judgments.rank) + 1))
    values: dict[int, float] = {}
    for some in (tried[a : a + step] for a in range(0, len(tried), step)):
        table = prepared(_without(judgments, removed[some], rank[some], is_retrieved[some]), options)
        values.update(zip(some.tolist(), score(table, [spec])[0].tolist(), strict=True))
    count = len(judgments.rank)
    judged = {row: value for row, value in values.items() if row < count}
    return judged, {u: values[count + g] for u, g in enumerate(which.tolist()) if count + g in values}


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
