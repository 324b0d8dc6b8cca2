"""The bounds of the difference of two runs over the judgments of the documents that either retrieves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import Segments, offsets_of, stable_order
from gradeval.arrays.threads import map_all
from gradeval.evaluation.plan import EvaluationSetting
from gradeval.evaluation.score import Judge, naming
from gradeval.options import Options
from gradeval.records import Record
from gradeval.registry.metric import NO_BOUNDS
from gradeval.registry.spec import Spec
from gradeval.tables.qrels import grade_of_bounds, shares_of
from gradeval.tables.ranking import Wanted
from gradeval.tables.reduction import Reduced
from gradeval.tables.retrieved import UnjudgedIds, UnjudgedOfRuns
from gradeval.tables.unjudged import Unjudged

_BY_QUERY = "limits", "documents", "first", "has_more"  # the fields of DifferenceBounds whose last axis is Q
_AT_ONCE = 1 << 17  # about how many documents of runs are joined at a time
Pair = tuple[int, int]
"""(baseline, run), as positions in the runs."""


def wanted_of(specs: Sequence[Spec], options: Options) -> Wanted:
    """Which unjudged documents of runs the bounds of differences by these metrics need: those in the first
    ranks, or all. An ideal ranking of k ranks has room for k of the documents below. Of 2k documents below, at
    most k are in the first k ranks of the other run, so that k remain: no run needs to keep more.
    """
    last = [(last_rank(spec), _counted_below(spec)) for spec in specs if spec.bounds != NO_BOUNDS]
    if any(count == "all" for _, count in last) or math.inf in dict(last):
        return Wanted(last=options.depth or np.inf)
    more = max((rank for rank, count in last if count == "cutoff"), default=0.0)
    return Wanted(max(dict(last), default=0.0), 2 * int(more), options.depth or np.inf)


def last_rank(spec: Spec) -> float:
    """The last rank that the metric depends on, inf for all."""
    last = spec.metric.last_rank(spec.params)
    return math.inf if last is None else float(last)


def _counted_below(spec: Spec) -> str:
    """How many documents below the last rank count, as Bounding.below."""
    return "none" if spec.metric.bounds is None else spec.metric.bounds.below


class DifferenceBounds(Record, eq=False):
    """The bounds of the difference of two runs by M metrics, for each of Q queries."""

    limits: Floats  # the lowest and the highest difference, (2, M, Q), NaN where they are not known
    is_exact: Bools  # whether worlds have these, (M,)
    documents: Ints  # the unjudged documents that count, (M, Q)
    first: Ints  # those of them in the first ranks of a run, (M, Q)
    has_more: Bools  # whether the runs may have more of them, (M, Q)

    @classmethod
    def joined(cls, parts: Sequence[DifferenceBounds]) -> DifferenceBounds:
        """Of all queries, from those of some."""
        columns = {name: [getattr(part, name) for part in parts] for name in _BY_QUERY}
        return parts[0].replace(**{name: np.concatenate(column, axis=-1) for name, column in columns.items()})

    def taken(self, queries: Ints) -> DifferenceBounds:
        """Of some of the queries, in this order."""
        return self.replace(**{name: getattr(self, name)[..., queries] for name in _BY_QUERY})


def difference_bounds(
    setting: EvaluationSetting, runs: Sequence[Reduced | None], specs: Sequence[Spec], pairs: Sequence[Pair]
) -> list[DifferenceBounds | None]:
    """The bounds of each pair of runs, of all queries of the qrels. runs: with the unjudged documents that are
    wanted_of(); None for one whose ids are not known, and then for its pairs.
    """
    with_ids = {r: (run, run.documents) for r, run in enumerate(runs) if run and run.documents}
    position = dict(zip(with_ids, range(len(with_ids)), strict=True))
    wanted = {pair: (position[pair[0]], position[pair[1]]) for pair in pairs if {*pair} <= with_ids.keys()}
    if not wanted:
        return [None] * len(pairs)
    counts = np.diff(setting.qrels.offsets)
    for _, documents in with_ids.values():
        counts = counts + documents.counts(len(counts))
    shares = shares_of(offsets_of(counts), _AT_ONCE)

    def of_share(queries: slice, _: int) -> list[DifferenceBounds]:
        share = _Share(setting, [*with_ids.values()], queries)
        return [share.difference(pair, specs) for pair in wanted.values()]

    parts = zip(*map_all(of_share, shares, setting.plan.options.jobs or 1), strict=True)
    bounds = dict(zip(wanted, map(DifferenceBounds.joined, parts), strict=True))
    return [bounds.get(pair) for pair in pairs]


class _Share:
    """The judgments and unjudged documents of all runs, for some of the queries."""

    def __init__(
        self, setting: EvaluationSetting, runs: Sequence[tuple[Reduced, UnjudgedIds]], queries: slice
    ) -> None:
        options, qrels = setting.plan.options, setting.qrels
        self._options = options
        self._top = grade_of_bounds(qrels.scale, options)
        self._judgments = [Judge(qrels, run, options)(queries) for run, _ in runs]
        kept = [documents.of_queries(queries.start, queries.stop) for _, documents in runs]
        joined = UnjudgedOfRuns.of(kept)
        order = stable_order(joined.query)
        self._count = queries.stop - queries.start
        self._query = joined.query[order] - queries.start
        self._rank = joined.ranks(len(runs))[:, order]
        in_runs = [np.bincount(query - queries.start, minlength=self._count) for query, *_ in kept]
        self._has_more = [
            judgments.retrieved - judgments.segments.number(judgments.is_retrieved) > count
            for judgments, count in zip(self._judgments, in_runs, strict=True)
        ]

    @np.errstate(over="raise", divide="ignore", invalid="ignore")
    def difference(self, pair: Pair, specs: Sequence[Spec]) -> DifferenceBounds:
        rank = self._rank[[*pair]]
        limits = np.full((2, len(specs), self._count), np.nan)
        documents, first = np.zeros((2, len(specs), self._count), np.int64)
        has_more = np.zeros((len(specs), self._count), bool)
        is_exact = np.ones(len(specs), bool)
        for m, spec in enumerate(specs):
            if spec.bounds == NO_BOUNDS:
                continue
            baseline, run = self._unjudged(rank, last_rank(spec))
            with naming(spec):
                values = [
                    spec.metric.open_values(self._judgments[r], unjudged, **spec.params)
                    for r, unjudged in zip(pair, (baseline, run), strict=True)
                ]
                difference = values[1].minus(values[0])
                limits[:, m], is_exact[m] = difference.limits(), difference.is_exact
            first[m] = run.segments.lengths
            counts_below = _counted_below(spec) != "none"
            documents[m] = run.number if counts_below else first[m]
            has_more[m] = counts_below & (self._has_more[pair[0]] | self._has_more[pair[1]])
        return DifferenceBounds(limits, is_exact, documents, first, has_more)

    def _unjudged(self, rank: Floats, last: float) -> list[Unjudged]:
        """The unjudged documents of both runs, by their ranks in each. rank: of the documents, (2, D)."""
        within = np.where(rank <= last, rank, np.inf)
        is_first = np.isfinite(within).any(axis=0)
        is_below = np.isfinite(rank).any(axis=0) & ~is_first
        below = np.bincount(self._query[is_below], minlength=self._count)
        rows = np.flatnonzero(is_first)
        bounds = np.searchsorted(self._query[rows], np.arange(self._count + 1))
        return [Unjudged(Segments(bounds), of_run[rows], below, self._top) for of_run in within]
