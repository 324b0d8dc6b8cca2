"""The bounds of metrics over the judgments that are missing: the functions that _kernels.py declares.

Each takes the metric, the judgments of a run, its unjudged documents, and all parameters. It returns the values
of the queries as a function of the missing grades (statistics/bounds).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import Segments, distinct, ranges, ratio
from gradeval.errors import MetricError
from gradeval.records import Record
from gradeval.statistics.bounds import (
    Between,
    Levels,
    Linear,
    Normalized,
    OpenValues,
    OuterBetween,
    Share,
    batches,
    precision_limits,
    r_precision_limits,
)
from gradeval.tables.judgments import Hits, Judgments
from gradeval.tables.qrels import is_relevant
from gradeval.tables.terms import DiscountedTerms, Terms
from gradeval.tables.unjudged import Unjudged

if TYPE_CHECKING:
    from gradeval.registry.metric import Metric

Params = Mapping[str, Any]


def linear(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params) -> OpenValues:
    """The bounds of a metric whose terms are gain(grade) * weight(rank) / normalizer, where the normalizer does
    not depend on the missing grades.
    """
    terms = metric.terms(judgments, **params)
    alone, _ = _gains_of_grades(metric, judgments, unjudged, params)
    assert terms is not None
    weight = terms.scale * _weights(terms, unjudged)
    normalizer = np.broadcast_to(terms.normalizer, unjudged.segments.count)[unjudged.segments.query]
    gains = float(alone.min()), float(alone.max())
    value = terms.values()
    if metric.needs_relevant:
        value = np.where(terms.is_empty, judgments.no_relevant, value)
    return Linear(unjudged.segments, value, ratio(weight, normalizer), gains)


def _weights(terms: Terms, unjudged: Unjudged) -> Floats:
    """What the gain of each unjudged document is multiplied with, 0 where it is not in the first ranks."""
    assert terms.weight_at is not None
    last = np.inf if terms.cutoff is None else terms.cutoff
    counts = np.isfinite(unjudged.rank) & (unjudged.rank <= last)
    return np.where(counts, terms.weight_at(np.where(counts, unjudged.rank, 1.0)), 0.0)


def monotone(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params) -> OpenValues:
    """The bounds of a metric that never falls when the gain of a document rises: its values where all unjudged
    documents have the grade of the lowest value alone, and that of the highest.
    """
    alone, grades = _gains_of_grades(metric, judgments, unjudged, params)
    value = metric(judgments, **params)

    def judged_alike(g: int) -> Floats:
        if alone[g] == 0:  # as without a judgment
            return value
        return metric(unjudged.judged(judgments, float(grades[g])), **params)

    return Between(judged_alike(int(alone.argmin())), judged_alike(int(alone.argmax())))


def _check_order(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params, top: float) -> None:
    """Raise MetricError where a gain map gives a grade above the top grade a smaller gain than the largest that
    unjudged documents can have. top: that gain.
    """
    higher = judgments.scale[judgments.scale > unjudged.top]
    if len(higher) and isinstance(params.get("gain"), tuple):
        gains, grades = _gains_of_grades(metric, judgments, unjudged.replace(top=float(higher[-1])), params)
        for grade in grades[(grades > unjudged.top) & (gains < top)][:1].tolist():
            raise MetricError(f"no bounds: the gain of grade {grade:g}, above the top grade, is below others")


def _gains_of_grades(
    metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params
) -> tuple[Floats, Floats]:
    """The gain of an unjudged document for each grade that it may have, and these grades. They are those that a
    metric can distinguish. Without terms the gain is the value of a ranking of this document alone.
    """
    gain = params.get("gain")
    mapped = [grade for grade, _ in gain] if isinstance(gain, tuple) else []
    grades = distinct(np.concatenate([judgments.scale, mapped, [0.0, unjudged.top]]))
    grades = grades[(grades >= 0) & (grades <= unjudged.top)]
    count = len(grades)
    table = Judgments(
        Segments(np.arange(count + 1)),
        grades,
        np.ones(count),
        np.zeros(count),
        document=np.arange(count),
        retrieved=np.ones(count, np.int64),
        relevance_level=judgments.relevance_level,
        scale=judgments.scale,
    )
    terms = metric.terms(table, **params)
    if terms is None or terms.weight_at is None:
        return metric(table, **params), grades
    return terms.total / terms.weight_at(np.ones(1)), grades


# --- metrics that count relevant documents


class _Counts(Record, eq=False):
    """The relevant documents of each query, and those that may be, (Q,) each."""

    hits: Ints  # relevant, in the first ranks
    relevant: Ints  # relevant, retrieved or not
    within: Ints  # those that may be, in the first ranks
    below: Ints  # likewise, below these

    @classmethod
    def of(cls, judgments: Judgments, unjudged: Unjudged, params: Params) -> _Counts:
        rel, cutoff = params["rel"], params["cutoff"]
        hits, relevant = judgments.hits(rel, cutoff).count, judgments.hits(rel).relevant
        within = unjudged.within(cutoff)
        below = unjudged.number - within
        may_be, are = _relevance(judgments, unjudged, rel)
        nothing = np.zeros_like(within)
        if are:
            return cls(hits + within, relevant + within + below, nothing, nothing)
        return cls(hits, relevant, within, below) if may_be else cls(hits, relevant, nothing, nothing)

    def limits(self, value: Callable[[Ints, Ints], Floats], empty: float) -> OpenValues:
        """Of a value that rises with the relevant documents in the first ranks, and falls with those below.
        value: (hits, relevant) -> the value of each query; relevant is above 0.
        """
        smallest, largest = self.relevant + self.below, self.relevant + self.within
        first = np.ones_like(self.hits)  # where nothing is relevant and none below can be, the first that is
        hits, relevant = (np.where(smallest > 0, number, first) for number in (self.hits, smallest))
        lowest = np.where(smallest + self.within > 0, value(hits, relevant), np.nan)
        highest = np.where(largest > 0, value(self.hits + self.within, np.maximum(largest, 1)), np.nan)
        return Between(*_or_empty(lowest, highest, self.relevant, empty))


def _relevance(judgments: Judgments, unjudged: Unjudged, rel: float | None) -> tuple[bool, bool]:
    """Whether a judge may find a document relevant, and whether any judgment makes it relevant (rel=0)."""
    level = judgments.relevance_level if rel is None else rel
    may_be, are = is_relevant(np.array([unjudged.top, 0.0]), level).tolist()
    return may_be, are


def _or_empty(lowest: Floats, highest: Floats, relevant: Ints, empty: float) -> tuple[Floats, Floats]:
    """The limits, with the value of a query without relevant documents where a world has none (NaN: all do)."""
    value = np.where(relevant == 0, empty, np.nan)
    return np.fmin(lowest, value), np.fmax(highest, value)


def recall(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params) -> OpenValues:
    """The bounds of R@k: (hits + x) / (relevant + x + y), where x of the unjudged documents in the first k
    ranks are relevant, and y of those below.
    """
    counts = _Counts.of(judgments, unjudged, params)
    if not (counts.within.any() or counts.below.any()):  # the grades of the unjudged change nothing
        value = ratio(counts.hits, counts.relevant, judgments.no_relevant)
        return Linear(unjudged.segments, value, np.zeros(len(unjudged.rank)))
    return Share(
        unjudged.segments,
        counts.hits.astype(np.float64),
        (unjudged.rank <= params["cutoff"]).astype(np.float64),
        unjudged.below,
        counts.relevant,
        empty=judgments.no_relevant,
    )


def capped_recall(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params) -> OpenValues:
    """The bounds of relative_P@k = hits / min(relevant, k)."""
    counts = _Counts.of(judgments, unjudged, params)
    return counts.limits(
        lambda hits, relevant: hits / np.minimum(relevant, params["cutoff"]), judgments.no_relevant
    )


def f_measure(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params) -> OpenValues:
    """The bounds of F@k = (x + 1) hits / (x relevant + k), x the square of beta."""
    counts = _Counts.of(judgments, unjudged, params)
    x = params["x"]
    cutoff = params["cutoff"]
    return counts.limits(lambda hits, relevant: (x + 1) * hits / (x * relevant + cutoff), judgments.no_relevant)


def success(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params) -> OpenValues:
    """The bounds of Success@k: whether one relevant document is in the first k ranks, or all are (need)."""
    if params["need"] == "one":
        return monotone(metric, judgments, unjudged, params)
    counts = _Counts.of(judgments, unjudged, params)
    is_whole = counts.hits == counts.relevant
    lowest = is_whole & (counts.relevant > 0) & (counts.below == 0)
    highest = is_whole & (counts.relevant + counts.within > 0)
    return Between(lowest.astype(np.float64), highest.astype(np.float64))


Extremes = tuple[Floats, Floats]
"""The lowest and the highest value of some queries, (n,) each, NaN where nothing can be relevant."""
LimitsFunction = Callable[[Bools, Bools, Ints, Ints], Extremes]
"""A function with the arguments and results of precision_limits()."""


class _Ranks(Record, eq=False):
    """Where the relevant documents stand, and those that may be relevant."""

    hits: Hits  # the relevant ones
    unjudged: Unjudged
    retrieved: Ints  # the first ranks of each query, (Q,)
    may_be: bool  # whether unjudged documents may be relevant
    are: bool  # whether any judgment makes them relevant

    @classmethod
    def of(cls, judgments: Judgments, unjudged: Unjudged, rel: float | None, cutoff: int | None) -> _Ranks:
        first = judgments.retrieved if cutoff is None else np.minimum(judgments.retrieved, cutoff)
        may_be, are = _relevance(judgments, unjudged, rel)
        return cls(judgments.hits(rel), unjudged, first, may_be, are)

    def limits(self, queries: Ints, function: LimitsFunction) -> Extremes:
        """The limits of these queries by a function of their ranks."""
        low, high = np.full((2, len(queries)), np.nan)
        for part in batches(self.retrieved[queries]):
            rows = queries[part]
            width = max(int(self.retrieved[rows].max()), 1)
            relevant = _matrix(self.hits.segments, self.hits.rank, rows, width)
            judged = self.hits.relevant[rows]
            is_open = np.zeros_like(relevant)
            below = np.zeros_like(judged)
            if self.may_be:
                is_open = _matrix(self.unjudged.segments, self.unjudged.rank, rows, width)
                below = self.unjudged.number[rows] - is_open.sum(axis=1)
            if self.are:
                relevant = relevant | is_open
                is_open = np.zeros_like(relevant)
                judged = judged + self.unjudged.number[rows]
                below = np.zeros_like(below)
            low[part], high[part] = function(relevant, is_open, judged, below)
        return low, high


def _matrix(segments: Segments, rank: Floats, queries: Ints, width: int) -> Bools:
    """Which of the first ranks of these queries have one of the documents, (n, width)."""
    counts = segments.lengths[queries]
    rows = ranges(segments.starts[queries], counts)
    query = np.repeat(np.arange(len(queries)), counts)
    inside = np.flatnonzero(rank[rows] <= width)
    matrix = np.zeros((len(queries), width), bool)
    matrix[query[inside], rank[rows[inside]].astype(np.int64) - 1] = True
    return matrix


def average_precision(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params) -> OpenValues:
    """The bounds of AP@k, by the ranks that relevant and unjudged documents have."""
    cutoff = params["cutoff"]
    most = np.inf if params["norm"] == "relevant" or cutoff is None else cutoff
    ranks = _Ranks.of(judgments, unjudged, params["rel"], cutoff)
    return _of_ranks(judgments, ranks, partial(precision_limits, most=most))


def r_precision(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params) -> OpenValues:
    """The bounds of Rprec, by the ranks that relevant and unjudged documents have."""
    return _of_ranks(judgments, _Ranks.of(judgments, unjudged, params["rel"], None), r_precision_limits)


def _of_ranks(judgments: Judgments, ranks: _Ranks, function: LimitsFunction) -> OpenValues:
    every = np.arange(judgments.segments.count)
    relevant = ranks.hits.relevant + (ranks.unjudged.number if ranks.are else 0)
    return Between(*_or_empty(*ranks.limits(every, function), relevant, judgments.no_relevant))


def mu_ap(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params) -> OpenValues:
    """The outer bounds of µAP: the weighted limits of AP at each of the query's levels. Where its largest grade
    is below the top grade, unjudged documents may add levels.
    """
    largest, top = judgments.highest, unjudged.top
    levels = judgments.levels
    grade = np.maximum(judgments.ideal[judgments.ideal_levels.starts], 0.0)
    step = grade - np.append(grade[1:], 0.0) * (levels.place < levels.lengths[levels.query] - 1)
    low, high = np.zeros((2, judgments.segments.count))
    for level in range(int(levels.lengths.max(initial=0))):
        at = levels.starts[levels.lengths > level] + level
        at = at[grade[at] > 0]
        queries = levels.query[at]
        threshold = np.full(judgments.segments.count, np.inf)
        threshold[queries] = grade[at]
        # of the thresholds down to the next lower level, unjudged documents reach those up to the top
        reached = np.clip(top - (grade[at] - step[at]), 0.0, step[at])
        for may_be, part in (True, reached), (False, step[at] - reached):
            some = np.flatnonzero(part > 0)
            ranks = _at_level(judgments, unjudged, threshold, may_be)
            weight = part[some] / largest[queries[some]]
            for total, limit in zip((low, high), ranks.limits(queries[some], precision_limits), strict=True):
                total[queries[some]] += weight * limit
    return OuterBetween(*_with_higher(judgments, unjudged, low, high))


def _at_level(judgments: Judgments, unjudged: Unjudged, threshold: Floats, may_be: bool) -> _Ranks:
    """The ranks of what reaches the threshold of its query, (Q,)."""
    reaches = judgments.grade >= threshold[judgments.query]
    hits = Hits.of(judgments, reaches, judgments.segments.number(reaches))
    return _Ranks(hits, unjudged, judgments.retrieved, may_be, False)


def _with_higher(judgments: Judgments, unjudged: Unjudged, low: Floats, high: Floats) -> Extremes:
    """The limits widened by the worlds in which unjudged documents have grades above the largest judged one."""
    largest, top = judgments.highest, unjudged.top
    can_rise = np.flatnonzero((largest < top) & (unjudged.number > 0))
    nothing = _at_level(judgments, unjudged, np.full(judgments.segments.count, np.inf), True)
    lowest, highest = nothing.limits(can_rise, precision_limits)
    share = largest[can_rise] / top
    value = np.where(largest > 0, np.nan, judgments.no_relevant)
    low, high = (np.where(largest > 0, limit, value) for limit in (low, high))
    with_lowest = share * np.where(share > 0, low[can_rise], 0.0) + (1 - share) * lowest
    with_highest = share * np.where(share > 0, high[can_rise], 0.0) + (1 - share) * highest
    low[can_rise] = np.fmin(low[can_rise], with_lowest)
    high[can_rise] = np.fmax(high[can_rise], with_highest)
    return low, high


# --- nDCG


def normalized(metric: Metric, judgments: Judgments, unjudged: Unjudged, params: Params) -> OpenValues:
    """The bounds of DCG / ideal DCG, where a document's gain depends on its grade alone."""
    if params.get("ideal") == "max":
        return linear(metric, judgments, unjudged, params)
    terms = metric.terms(judgments, **params)
    assert isinstance(terms, DiscountedTerms) and terms.weight_at is not None and terms.ideal is not None
    best = terms.ideal()
    assert isinstance(best, DiscountedTerms)
    alone, _ = _gains_of_grades(metric, judgments, unjudged, params)
    top = float(alone.max())
    _check_order(metric, judgments, unjudged, params, top)
    most = (best.segments.lengths + unjudged.number).max(initial=0)
    room = int(most if terms.cutoff is None else np.minimum(terms.cutoff, most))
    value = Normalized(
        unjudged.segments,
        terms.total,
        _weights(terms, unjudged),
        unjudged.below,
        Levels.of(best.segments, best.gain, top),
        ideal=np.append(0.0, np.cumsum(terms.weight_at(np.arange(1.0, room + 1)))),
        empty=np.where(terms.is_empty, judgments.no_relevant, 0.0),
    )
    # of a pair the ideal ranking of what each retrieved is its own
    return Between(*value.limits()) if params.get("ideal") == "local" else value
