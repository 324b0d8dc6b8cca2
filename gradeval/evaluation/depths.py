"""How many documents runs have of a query, and the metrics that see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import Segments, offsets_of
from gradeval.errors import GradevalError
from gradeval.evaluation.results import Quantiles
from gradeval.evaluation.score import score
from gradeval.notices import Notice, NoticeKind, Notices
from gradeval.records import Record
from gradeval.registry.metric import Metric
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import Qrels
from gradeval.tables.reduction import Reduced

APART = 1.1  # runs differ in depth where one has more than so many times the documents of another
_MOST = 0.5  # of its queries have fewer documents than a cutoff, where a run is noted
_SEEN = 1e-4  # the least change of a value that matters
_GRADES = (1.0, 2.0, 3.0, 4.0)  # of documents that are tried, and the threshold of the metric

# of the documents per query: that a tenth of the queries is shallow is no accident
QUANTILES = ("first deciles", "lower quartiles", "medians", "upper quartiles", "last deciles")
_SHARES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
Depths = Sequence[tuple[str, Quantiles | None]]
"""The name of each run, and quantiles() of the documents that it has per query; None where they are unknown."""


def quantiles(depths: Ints, counts: Ints | None = None) -> Quantiles | None:
    """Those of QUANTILES, by nearest rank; None of nothing. counts: of queries with each depth, if not 1."""
    if not len(depths):
        return None
    order = depths.argsort()
    before = np.arange(1, len(depths) + 1) if counts is None else counts[order].cumsum()
    places = before.searchsorted(before[-1] * _SHARES)
    return tuple(depths[order[places]].tolist())


def depths_of(reduced: Reduced, counted: Bools, depth: int | None) -> Ints:
    """How many documents a run has of each of its queries. counted: (Q,). depth: that of the options."""
    retrieved = reduced.retrieved[counted & (reduced.retrieved > 0)]
    return retrieved if depth is None else np.minimum(retrieved, depth)


def is_graded(metric: Metric) -> bool:
    """Whether its value says how good a ranking is."""
    return metric.higher_is_better is not None and not (metric.text or metric.is_count)


def short_of_cutoffs(
    specs: Sequence[Spec], qrels: Qrels, reduced: Reduced, in_run: Bools, depth: int | None
) -> Ints:
    """How many queries of a run have fewer documents than the cutoff of each metric, (M,). in_run: those that
    it has, (Q,). depth: that of the options. A query of which all judged documents are ranked is complete.
    """
    retrieved_above = offsets_of(np.isfinite(reduced.rank))
    is_complete = np.diff(retrieved_above[qrels.offsets]) == np.diff(qrels.offsets)
    retrieved = reduced.retrieved[in_run & ~is_complete]
    cutoffs = [(spec.cutoff or 0) if is_graded(spec.metric) else 0 for spec in specs]
    if depth is not None:
        cutoffs = [min(cutoff, depth) for cutoff in cutoffs]
    return np.array([(retrieved < cutoff).sum() for cutoff in cutoffs], np.int64)


def cutoff_notices(specs: Sequence[Spec], short: Ints, total: int) -> Iterator[Notice]:
    """Where most queries have fewer documents than the cutoff. short: the number, (M,). total: of how many."""
    for spec, count in zip(specs, short.tolist(), strict=True):
        if count > _MOST * total:
            yield Notice(NoticeKind.FEW_DOCUMENTS, "", count, str(spec), total=total)


def with_depths(
    notices: Iterable[Notice], runs: Depths, specs: Sequence[Spec], options: Mapping[str, Any]
) -> Notices:
    """The notices, with DEPTH instead of FEW_DOCUMENTS for metrics that see what deeper runs have."""
    notices_without = Notices(notices).without(NoticeKind.DEPTH)
    difference = apart(runs)
    if difference is None:
        return notices_without
    valued = [spec for spec in specs if not (spec.metric.text or spec.metric.is_count)]
    seeing = [str(spec) for spec in valued if sees_beyond(spec, difference.fewest, options)]
    low, high = float(difference.fewest), float(difference.most)
    rule = difference.sentence
    return Notices(
        (
            *(
                other
                for other in notices_without
                if not (other.kind is NoticeKind.FEW_DOCUMENTS and other.metric in seeing)
            ),
            *(
                Notice(NoticeKind.DEPTH, "", len(runs), metric, rule=rule, low=low, high=high)
                for metric in seeing
            ),
        )
    )


class Apart(Record):
    """Two runs that differ in depth."""

    deepest: str  # the name of the run
    most: int  # documents that it has of a query, in the quantile
    shallowest: str
    fewest: int
    quantile: str  # '' for runs whose queries have as many documents each

    @property
    def sentence(self) -> str:
        of_queries = f" ({self.quantile})" if self.quantile else ""
        return (
            f"{self.deepest} {self.most:,} documents per query, {self.shallowest} {self.fewest:,}{of_queries}"
        )


def apart(runs: Depths) -> Apart | None:
    """The deepest and the shallowest run in the first quantile in which runs differ; None without a difference.
    One deep query is thus no depth, and a few shallow ones, as of rare terms, are no difference.
    """
    known_depths = [(name, depths) for name, depths in runs if depths is not None]
    for k, quantile in enumerate(QUANTILES if known_depths else ()):
        deepest, most = max(known_depths, key=lambda run: run[1][k])
        shallowest, fewest = min(known_depths, key=lambda run: run[1][k])
        if most[k] > APART * fewest[k]:
            is_same = most[0] == most[-1] and fewest[0] == fewest[-1]
            return Apart(deepest, most[k], shallowest, fewest[k], "" if is_same else quantile)
    return None


def sees_beyond(spec: Spec, depth: int, options: Mapping[str, Any]) -> bool:
    """Whether a document behind this rank can change the value: tried, with a document at the next rank."""
    is_condensed = bool(spec.params.get("judged_only", options.get("judged_only")))  # later ones move up
    if spec.cutoff is not None and spec.cutoff <= depth and not is_condensed:
        return False
    level = options.get("rel")
    grades = sorted({*_GRADES, spec.params.get("rel") or level or 1.0})
    # for each grade, a query with one document of it behind the depth, and one with a first of it too; a
    # document of grade 0 was not retrieved, and the others are unjudged
    grade: Floats = np.array(
        [grade_of_row for tried in grades for grade_of_row in (0.0, tried, 0.0, tried, tried, 0.0)]
    )
    queries = 2 * len(grades)

    def values(is_retrieved: bool) -> Floats:
        rank = np.tile([1.0, depth + 1.0 if is_retrieved else np.inf, np.inf], queries)
        judgments = Judgments(
            Segments(3 * np.arange(queries + 1)),
            grade,
            rank,
            -rank,
            document=np.arange(len(grade)),
            retrieved=np.full(queries, depth + is_retrieved),
            relevance_level=level,
        )
        return score(judgments.judged_only() if is_condensed else judgments, [spec])

    try:
        without, with_it = values(False), values(True)
    except GradevalError:  # not for these grades
        return True
    is_same = (np.isnan(without) & np.isnan(with_it)) | (np.abs(without - with_it) < _SEEN)
    return not is_same.all()
