"""What the judgment of a document can change: of a mean, or of the difference of two runs and its sign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from heapq import heapify, heappop, heappush

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.arrays.segments import Segments
from gradeval.errors import MetricError
from gradeval.evaluation.score import score
from gradeval.options import NO_RELEVANT, Options
from gradeval.records import Record
from gradeval.registry.metric import Kind
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.statistics.bounds import linear_bounds, normalized_bounds, recall_bounds
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import Qrels, is_relevant, top_grade
from gradeval.tables.reduction import Reduced

_ZERO = 1e-12  # a sum of bounds that is not above it may be 0
_SAME = 12  # decimals: what is computed in another order may end in another last digit


def metric_of(metrics: Metrics) -> Spec:
    """The one metric of a pool. Raises MetricError."""
    specs = parse(metrics)
    if len(specs) != 1:
        raise MetricError("a pool takes one metric")
    metric = specs[0].metric
    if metric.kind is not Kind.MEAN or not metric.per_query or metric.higher_is_better is None:
        raise MetricError(f"{specs[0]}: a pool needs a metric of rankings whose mean over queries is taken")
    return specs[0]


class OpenJudgments(Record, eq=False):
    """What is judged, what is not, and where R runs have it. U documents are not judged."""

    qrels: Qrels
    reduced: Sequence[Reduced]  # of each run
    query: Ints  # of each unjudged document, (U,)
    rank: Floats  # of each in each run, (R, U), inf where it is not in the first ranks
    by_id: Ints  # the position of each by its id, (U,)
    is_averaged: Bools  # which queries of the qrels are, (Q,)
    spec: Spec
    options: Options

    @cached_property
    def queries(self) -> int:
        """How many are averaged."""
        return int(self.is_averaged.sum())

    @property
    def last_rank(self) -> float:
        """Below it no document counts in the ranking."""
        last = self.spec.metric.last_rank(self.spec.params)
        return min(np.inf if last is None else last, self.options.depth or np.inf)

    @cached_property
    def top(self) -> float:
        """The largest grade that a judge may give."""
        return top_grade(self.qrels.scale, self.options)

    @cached_property
    def judged_rank(self) -> Floats:
        """The ranks of the judged documents in each run, (R, N)."""
        rank = np.array([reduced.rank for reduced in self.reduced])
        return np.where(rank <= (self.options.depth or np.inf), rank, np.inf)

    def by_query(self) -> list[tuple[int, Ints]]:
        """Each of the judged queries that are chosen, with its unjudged documents, by id."""
        judged = np.flatnonzero(self.query < len(self.qrels.queries))
        rows = judged[self.is_averaged[self.query[judged]]]
        rows = rows[np.lexsort((self.by_id[rows], self.query[rows]))]
        starts = np.flatnonzero(np.diff(self.query[rows], prepend=-1))
        return [(int(self.query[part[0]]), part) for part in np.split(rows, starts[1:]) if len(part)]

    # --- effects

    def effects(self) -> Floats:
        """The largest change that each document alone can make, (U,): of a mean, or of two runs' difference."""
        effects = np.zeros(len(self.query))
        for query, rows in self.by_query():
            rank = np.where(self.rank[:, rows] <= self.last_rank, self.rank[:, rows], np.inf)
            different, class_of = np.unique(rank, axis=1, return_inverse=True)
            effects[rows] = self._changes(query, different)[class_of.reshape(-1)]
        rounded: Floats = (effects / self.queries).round(_SAME)
        return rounded

    def _changes(self, query: int, rank: Floats) -> Floats:
        """The largest change of a query's value by a document with these ranks, (R, C) -> (C,)."""
        grades = self.qrels.grade[self._rows(query)]
        tried = np.unique(np.append(grades[(grades > 0) & (grades < self.top)], self.top))
        grade = np.append(0.0, np.tile(tried, rank.shape[1]))
        values = np.array(
            [
                self._values(query, run, np.append(np.inf, of_run.repeat(len(tried))), grade)
                for run, of_run in enumerate(rank)
            ]
        )
        change = np.nan_to_num(values[:, 1:] - values[:, :1])
        if len(change) == 2:
            change = change[1:] - change[:1]
        largest: Floats = np.abs(change).max(axis=0).reshape(-1, len(tried)).max(axis=1)
        return largest

    def _rows(self, query: int) -> slice:
        return slice(*self.qrels.offsets[query : query + 2].tolist())

    def _values(self, query: int, run: int, rank: Floats, grade: Floats) -> Floats:
        """The values of a query in C cases: in each one document more is judged, with this rank and grade."""
        rows = self._rows(query)
        cases, count = len(rank), rows.stop - rows.start + 1
        ranks = np.column_stack([np.tile(self.judged_rank[run, rows], (cases, 1)), rank])
        grades = np.column_stack([np.tile(self.qrels.grade[rows], (cases, 1)), grade])
        order = ranks.argsort(axis=1, kind="stable")
        ranks = np.take_along_axis(ranks, order, axis=1).ravel()
        retrieved = min(self.reduced[run].retrieved[query], self.options.depth or np.inf)
        judgments = Judgments(
            Segments(np.arange(cases + 1) * count),
            np.take_along_axis(grades, order, axis=1).ravel(),
            ranks,
            -ranks,
            document=np.arange(cases * count),
            retrieved=np.full(cases, retrieved, np.int64),
            relevance_level=self.options.rel,
            scale=np.unique(np.append(self.qrels.scale, self.top)),
            no_relevant=NO_RELEVANT[self.options.no_relevant_rule],
        )
        values: Floats = score(judgments, [self.spec])[0]
        return values

    # --- the sign of a difference

    def decided(self) -> Decision:
        """The documents in the order in which judgments of 0 decide the sign of the second run's mean less that
        of the first soonest. Raises MetricError.
        """
        kernel = _kernel(self.spec, self.top, self.options)
        open_queries: list[_OpenQuery] = []
        differences = self._differences()
        sign = -1.0 if differences.sum() < 0 else 1.0
        low = sign * float(differences.sum())
        for query, rows in self.by_query():
            grades = self.qrels.grade[self._rows(query)]
            weights = kernel.weights(self.judged_rank[:, self._rows(query)])
            base = sign * float((weights[1] - weights[0]) @ kernel.gains(grades))
            of_unjudged = kernel.weights(self.rank[:, rows])
            lowest = partial(kernel.lowest, base, np.maximum(grades, 0.0))
            one = _OpenQuery(query, rows, sign * (of_unjudged[1] - of_unjudged[0]), lowest)
            low += one.low - sign * differences[query]
            open_queries.append(one)
        order, gains, forecast = _greedy(open_queries, low)
        mean = float(differences.sum()) / self.queries
        return Decision(np.array(order, np.int64), np.array(gains) / self.queries, forecast, mean)

    def _differences(self) -> Floats:
        """Of each query, (Q,), 0 where it is not chosen or has no value."""
        none = np.array([np.inf]), np.zeros(1)
        differences = np.zeros(len(self.qrels.queries))
        for query in range(len(differences)):
            if self.is_averaged[query]:
                first, second = (self._values(query, run, *none)[0] for run in (0, 1))
                differences[query] = np.nan_to_num(second - first)
        return differences


class Decision(Record, eq=False):
    """The documents by what they do for the sign of a difference."""

    order: Ints
    gain: Floats  # of each, in the unit of the mean
    forecast: int | None  # how many decide the sign if all turn out 0; None where these do not
    difference: float


class _Kernel(Record):
    """The lowest difference of two runs by a metric, of one query."""

    weights: Callable[[Floats], Floats]  # of ranks
    gains: Callable[[Floats], Floats]  # of grades
    lowest: Callable[[float, Floats, Floats], float]  # (base, grades, coefficients) -> the lowest difference


def _kernel(spec: Spec, top: float, options: Options) -> _Kernel:
    """Raises MetricError for a metric without exact bounds of differences."""
    params = {name: value for name, value in spec.params.items() if name not in ("cutoff", "rel")}
    of_ideal = spec.cutoff or np.inf  # a depth cuts the runs alone
    cutoff = min(of_ideal, options.depth or np.inf)
    level = spec.params.get("rel", options.rel)
    name = "" if params else spec.metric.name

    def discounts(rank: Floats) -> Floats:
        return np.where(rank <= cutoff, 1 / np.log2(rank + 1), 0.0)

    def within(rank: Floats) -> Floats:
        return (rank <= cutoff).astype(np.float64)

    def relevant(grade: Floats) -> Floats:
        return is_relevant(grade, level).astype(np.float64)

    gained = float(is_relevant(np.array([top]), level)[0])
    if name in ("nDCG", "DCG"):
        positive = partial(np.maximum, 0.0)
        if name == "DCG":
            return _Kernel(discounts, positive, lambda base, grades, c: linear_bounds(base, c, top)[0])
        return _Kernel(
            discounts,
            positive,
            lambda base, grades, c: normalized_bounds(base, c, grades, top, cutoff=of_ideal)[0],
        )
    if name == "P" and spec.cutoff:
        count = spec.cutoff
        return _Kernel(
            lambda rank: within(rank) / count,
            relevant,
            lambda base, grades, c: linear_bounds(base, c, gained)[0],
        )
    if name == "R":
        return _Kernel(
            within,
            relevant,
            lambda base, grades, c: recall_bounds(
                base, c[: len(c) * int(gained)], _count(relevant(grades)), 0.0
            )[0],
        )
    raise MetricError(
        f"{spec}: the order decide takes nDCG@k, DCG@k, P@k and R@k; order=effect takes any metric"
    )


def _count(relevant: Floats) -> int:
    return int(relevant.sum())


class _OpenQuery:
    """A query of which some documents are not judged."""

    def __init__(self, query: int, rows: Ints, coefficients: Floats, lowest: Callable[[Floats], float]) -> None:
        """rows: of the documents, by id."""
        self.query, self.rows, self.coefficients, self._lowest = query, rows, coefficients, lowest
        self.low = lowest(coefficients)

    def gains(self) -> Floats:
        """How far each document raises the lowest difference when it is judged 0. Those with one coefficient
        have one gain. Where the lowest difference is below 0, one that can only raise it has no part in it.
        """
        coefficients, class_of = np.unique(self.coefficients, return_inverse=True)
        gains = np.zeros(len(coefficients))
        for number, coefficient in enumerate(coefficients.tolist()):
            if coefficient < 0 or self.low > 0:
                at = int(np.argmax(class_of == number))
                gains[number] = self._lowest(np.delete(self.coefficients, at)) - self.low
        of_documents: Floats = gains.round(_SAME)[class_of]
        return of_documents

    def best(self) -> tuple[float, int]:
        """The largest gain, and the position of the first document that has it."""
        gains = self.gains()
        at = int(gains.argmax())
        return float(gains[at]), at

    def judge(self, position: int) -> int:
        """Its document at this position has the grade 0 from now on."""
        row = int(self.rows[position])
        self.rows = np.delete(self.rows, position)
        self.coefficients = np.delete(self.coefficients, position)
        self.low = self._lowest(self.coefficients)
        return row


def _greedy(queries: Sequence[_OpenQuery], low: float) -> tuple[list[int], list[float], int | None]:
    """The rows by their gains, each when those before it are judged 0, until these lift `low`, a sum, above 0;
    then the others by their gains there. The gains; and how many lift it, None where all do not.
    """
    order: list[int] = []
    gains: list[float] = []
    waiting = [(-gain, number, at) for number, (gain, at) in enumerate(query.best() for query in queries)]
    heapify(waiting)
    while waiting and low <= _ZERO:
        gain, number, at = heappop(waiting)
        query = queries[number]
        low -= query.low
        order.append(query.judge(at))
        gains.append(-gain)
        low += query.low
        if len(query.rows):
            best, at = query.best()
            heappush(waiting, (-best, number, at))
    forecast = len(order) if low > _ZERO else None
    remaining = [query for query in queries if len(query.rows)]
    if remaining:
        rows = np.concatenate([query.rows for query in remaining])
        of_rows = np.concatenate([query.gains() for query in remaining])
        by_gain = np.argsort(-of_rows, kind="stable")
        order += rows[by_gain].tolist()
        gains += of_rows[by_gain].tolist()
    return order, gains, forecast
