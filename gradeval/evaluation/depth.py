"""How many documents a run has for a query, where a metric depends on it: in one run, and between runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.strings import Ids
from gradeval.errors import GradevalError
from gradeval.notices import Kind, Notice
from gradeval.registry.spec import Spec
from gradeval.scoring import score
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduced import Reduced

APART = 1.1  # runs differ in depth where one has more than so many times the documents of another
_MOST = 0.5  # of its queries have fewer documents than a cutoff, where a run is noted
_SEEN = 1e-4  # the least change of a value that matters
_GRADES = (1.0, 2.0, 3.0, 4.0)  # of documents that are tried, and the threshold of the metric

Depths = Sequence[tuple[str, int | None]]
"""The name of each run, and the most documents that it has for a query; None where it is unknown."""


def depth_of(reduced: Reduced, counted: Bools, depth: int | None) -> int:
    """The most documents that a run has for a query. counted: the queries, (Q,). depth: that of the options."""
    most = int(reduced.retrieved[counted].max(initial=0))
    return most if depth is None else min(most, depth)


def short_counts(
    qrels: Qrels, reduced: Reduced, specs: Sequence[Spec], counted: Bools, depth: int | None
) -> Ints:
    """For how many queries a run has fewer documents than the cutoff of a metric, (M,).

    Only those that the run has, and where it lacks judged documents: a run that ranks all of these is complete.
    """
    found = np.append(0, np.cumsum(np.isfinite(reduced.rank)))
    is_complete = np.diff(found[qrels.offsets]) == np.diff(qrels.offsets)
    retrieved = reduced.retrieved[counted & (reduced.retrieved > 0) & ~is_complete]
    limit = math.inf if depth is None else depth
    return np.array([(retrieved < min(_cutoff(spec) or 0, limit)).sum() for spec in specs], np.int64)


def _cutoff(spec: Spec) -> int | None:
    """The cutoff of a metric whose value depends on what was not retrieved."""
    return spec.cutoff if _can_mislead(spec) else None


def _can_mislead(spec: Spec) -> bool:
    metric = spec.metric
    return metric.higher_is_better is not None and not (metric.text or metric.is_count)


def short_notices(specs: Sequence[Spec], short: Ints, total: int) -> Iterator[Notice]:
    """Where most queries have fewer documents than the cutoff. short: short_counts(). total: of how many."""
    for spec, count in zip(specs, short.tolist(), strict=True):
        if count > _MOST * total:
            yield Notice(Kind.FEW_DOCUMENTS, "", count, str(spec), total=total, informational=True)


def with_depths(
    notices: Iterable[Notice], runs: Depths, specs: Sequence[Spec], options: Mapping[str, Any]
) -> tuple[Notice, ...]:
    """The notices, with those that runs differ in depth in the place of those of each run for the same metric.

    options: as in Results.
    """
    found = tuple(depth_notices(runs, specs, options))
    metrics = {one.metric for one in found}
    others = (
        one
        for one in notices
        if one.kind is not Kind.DEPTH and not (one.kind is Kind.FEW_DOCUMENTS and one.metric in metrics)
    )
    return (*others, *found)


def depth_notices(runs: Depths, specs: Sequence[Spec], options: Mapping[str, Any]) -> Iterator[Notice]:
    """That runs differ in depth, for each metric that sees what only the deeper ones have."""
    deepest, shallowest = extremes(runs)
    if deepest[1] <= APART * shallowest[1]:
        return
    rule = f"{deepest[0]} {deepest[1]:,} documents per query, {shallowest[0]} {shallowest[1]:,}"
    for spec in specs:
        if _can_mislead(spec) and sees_beyond(spec, shallowest[1], options):
            low, high = float(shallowest[1]), float(deepest[1])
            yield Notice(Kind.DEPTH, "", len(runs), str(spec), rule=rule, low=low, high=high)


def extremes(runs: Depths) -> tuple[tuple[str, int], tuple[str, int]]:
    """The deepest and the shallowest of the runs whose depth is known; without one, of no depth."""
    known = [(name, depth) for name, depth in runs if depth is not None] or [("", 0)]
    return max(known, key=lambda run: run[1]), min(known, key=lambda run: run[1])


def sees_beyond(spec: Spec, depth: int, options: Mapping[str, Any]) -> bool:
    """Whether a document behind this rank can change the value: tried, with a document at the next rank."""
    if spec.cutoff is not None and spec.cutoff <= depth and not _is_condensed(spec, options):
        return False
    level = options.get("rel")
    grades = sorted({*_GRADES, spec.params.get("rel") or level or 1.0})
    try:
        without, with_it = (
            score(_judgments(grades, depth, is_found, level, _is_condensed(spec, options)), [spec])
            for is_found in (False, True)
        )
    except GradevalError:  # not for these grades
        return True
    is_same = (np.isnan(without) & np.isnan(with_it)) | (np.abs(without - with_it) < _SEEN)
    return not is_same.all()


def _is_condensed(spec: Spec, options: Mapping[str, Any]) -> bool:
    """Whether unjudged documents are removed first, so that later ones move into the first ranks."""
    return bool(spec.params.get("judged_only", options.get("judged_only")))


def _judgments(
    grades: Sequence[float], depth: int, is_found: bool, level: float | None, is_condensed: bool
) -> Judgments:
    """For each grade, a query with one document of it behind the depth, and one with a first of it too.

    A document of grade 0 was not retrieved, and the others are unjudged. is_found: whether the one behind the
    depth was retrieved.
    """
    grade: Floats = np.array([of for each in grades for of in (0.0, each, 0.0, each, each, 0.0)])
    queries = 2 * len(grades)
    rank = np.tile([1.0, depth + 1.0 if is_found else np.inf, np.inf], queries)
    ids = Ids.of([b"%d" % n for n in range(len(grade))])
    qrels = Qrels("", ids.take(slice(queries)), 3 * np.arange(queries + 1), ids, grade)
    retrieved = np.full(queries, depth + is_found)
    judgments = Judgments.of(qrels, slice(0, queries), rank, -rank, retrieved, level)
    return judgments.judged_only() if is_condensed else judgments
