"""The notices of an evaluation: missing queries, ties, undefined values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradeval.arrays import Bools
from gradeval.arrays.strings import Texts
from gradeval.notices import MAX_QUERIES, Kind, Notice
from gradeval.options import DEFAULT_TIES, Options
from gradeval.registry.spec import Spec
from gradeval.scoring import Scored, summarize
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduced import Reduced
from gradeval.ties import Spread, rises


def query_notices(qrels: Qrels, reduced: Reduced, wanted: Bools, options: Options) -> Iterator[Notice]:
    missing = wanted & (reduced.retrieved == 0)
    if missing.any():
        yield Notice(Kind.MISSING, "", int(missing.sum()), queries=_ids(qrels, missing), rule=options.queries)
    if reduced.unjudged:
        yield Notice(Kind.UNJUDGED, "", reduced.unjudged)
    if not np.isfinite(reduced.rank).any():
        yield Notice(Kind.NOTHING_JUDGED, "", 0)


def tie_notices(
    qrels: Qrels, specs: Sequence[Spec], found: Scored, counted: Bools, ties: Spread
) -> Iterator[Notice]:
    if not ties.changes.any():
        return
    low, high = ties.ends(found.values)
    ends = [summarize(specs, values, counted).tolist() for values in (found.values, low, high)]
    for m, (spec, value, low_end, high_end) in enumerate(zip(specs, *ends, strict=True)):
        changed = np.zeros(len(counted), bool)
        changed[ties.queries[ties.changes[m]]] = True
        if changed.any():
            numbers = {} if spec.metric.text else {"value": value, "low": low_end, "high": high_end}
            at_most = rises(spec, qrels.scale)
            ids = _ids(qrels, changed)
            yield Notice(
                Kind.TIES, "", int(changed.sum()), str(spec), ids, DEFAULT_TIES, **numbers, at_most=at_most
            )


def undefined_notices(qrels: Qrels, specs: Sequence[Spec], found: Scored, counted: Bools) -> Iterator[Notice]:
    for spec, row in zip(specs, found.values, strict=True):
        undefined = counted & np.isnan(row)
        if undefined.any() and not spec.metric.text:
            yield Notice(Kind.UNDEFINED, "", int(undefined.sum()), str(spec), _ids(qrels, undefined))


def _ids(qrels: Qrels, queries: Bools) -> tuple[str, ...]:
    """The ids of the first of these queries."""
    return tuple(Texts(qrels.queries.take(np.flatnonzero(queries)[:MAX_QUERIES])))
