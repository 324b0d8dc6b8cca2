"""What the judgment of a document can change: of a mean, or of the difference of two runs and its sign."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.arrays.segments import Segments, offsets_of
from gradeval.errors import MetricError
from gradeval.evaluation.score import Judge, score
from gradeval.options import NO_RELEVANT, Options
from gradeval.records import Record
from gradeval.registry.metric import NO_BOUNDS, Kind
from gradeval.registry.spec import Metrics, Spec, parse
from gradeval.statistics.bounds import OfDocuments, OpenValues
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import Qrels, grade_of_bounds
from gradeval.tables.reduction import Reduced
from gradeval.tables.unjudged import Unjudged

_ZERO = 1e-12  # a sum of bounds that is not above it may be 0
_AHEAD = 64  # judgments whose gains are found at a time
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
        return np.inf if last is None else last

    @cached_property
    def top(self) -> float:
        """The largest grade that a judge may give."""
        return grade_of_bounds(self.qrels.scale, self.options)

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
        """The largest change of a query's value by a document with these ranks, (R, C) -> (C,). A judgment of 0
        is one, by metrics that use documents judged not relevant.
        """
        grades = self.qrels.grade[self._rows(query)]
        tried = np.unique([0.0, *grades[(grades > 0) & (grades < self.top)], self.top])
        grade = np.tile(tried, rank.shape[1])
        values = np.array(
            [self._values(query, run, of_run.repeat(len(tried)), grade) for run, of_run in enumerate(rank)]
        )
        change = np.nan_to_num(values - self._values_now[:, query, None])
        if len(change) == 2:
            change = change[1:] - change[:1]
        largest: Floats = np.abs(change).max(axis=0).reshape(-1, len(tried)).max(axis=1)
        return largest

    @cached_property
    def _values_now(self) -> Floats:
        """Of each run and query, (R, Q), without more judgments."""
        queries = slice(0, len(self.qrels.queries))
        judged = (Judge(self.qrels, reduced, self.options)(queries) for reduced in self.reduced)
        return np.array([score(judgments, [self.spec])[0] for judgments in judged])

    def _rows(self, query: int) -> slice:
        return slice(*self.qrels.offsets[query : query + 2].tolist())

    def _values(self, query: int, run: int, rank: Floats, grade: Floats) -> Floats:
        """The values of a query in C cases: in each one document more is judged, with this rank and grade."""
        rows = self._rows(query)
        cases = len(rank)
        count = rows.stop - rows.start + 1
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
        differences = self._differences()
        by_query = self.by_query()
        sign = -1.0 if differences.sum() < 0 else 1.0
        difference = self._open_difference(sign, by_query)
        low = sign * float(differences.sum())
        open_queries: list[_OpenQuery] = []
        for query, rows in by_query:
            open_query = _OpenQuery(query, rows, difference)
            low += open_query.low - sign * differences[query]
            open_queries.append(open_query)
        order, gains, forecast = _greedy(open_queries, low)
        mean = float(differences.sum()) / self.queries
        is_fixed = not (differences.any() or difference.coefficient.any())
        return Decision(np.array(order, np.int64), np.array(gains) / self.queries, forecast, mean, is_fixed)

    def _open_difference(self, sign: float, by_query: Sequence[tuple[int, Ints]]) -> OfDocuments:
        """The second run's values less those of the first, with the sign turned if it is -1, as functions of
        the documents of each query. Raises MetricError where its bounds are not exact.
        """
        first, second = (0, 1) if sign > 0 else (1, 0)
        if self.spec.bounds != NO_BOUNDS:
            difference = self._open_values(second, by_query).minus(self._open_values(first, by_query))
            if isinstance(difference, OfDocuments):
                return difference
        raise MetricError(
            f"{self.spec}: the order decide takes metrics whose differences have exact bounds, such as nDCG@k, "
            "DCG@k, P@k and R@k; the order effect takes any metric"
        )

    def _open_values(self, run: int, by_query: Sequence[tuple[int, Ints]]) -> OpenValues:
        """The values of a run, as functions of the documents of each query."""
        count = len(self.qrels.queries)
        judgments = Judge(self.qrels, self.reduced[run], self.options)(slice(0, count))
        rows = np.concatenate([np.empty(0, np.int64), *(of_query for _, of_query in by_query)])
        lengths = np.bincount(self.query[rows], minlength=count)
        rank = np.where(self.rank[run, rows] <= self.last_rank, self.rank[run, rows], np.inf)
        nothing = np.zeros(count, np.int64)
        unjudged = Unjudged(Segments(offsets_of(lengths)), rank, below=nothing, top=self.top)
        return self.spec.metric.open_values(judgments, unjudged, **self.spec.params)

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
    is_fixed: bool  # whether the difference of each query is 0, whatever the judgments


class _OpenQuery:
    """A query of which some documents are not judged.

    Of two documents the one with the lower weight raises the lowest difference more when it is judged 0: in any
    world without it, the other can take its grade. So documents are judged in the order of their weights.
    """

    def __init__(self, query: int, rows: Ints, difference: OfDocuments) -> None:
        """rows: of the documents, by id."""
        self.query = query
        self._difference = difference
        documents = difference.segments.offsets[query : query + 2]
        coefficients = difference.coefficient[slice(*documents.tolist())]
        weight = difference.weight(coefficients).round(_SAME)
        # of the documents that are not judged, in the order in which they will be
        self.place = weight.argsort(kind="stable")  # by id
        self.rows, self.coefficients, self.weight = (
            values[self.place] for values in (rows, coefficients, weight)
        )
        # the lowest difference now, and with all judged 0
        self.low, self._closed = self._lowest([self.coefficients, coefficients[:0]]).tolist()
        self._next = np.empty(0)  # the lowest differences with one more judged 0, two more, …

    def _lowest(self, coefficients: Sequence[Floats]) -> Floats:
        """The lowest difference with each of several sets of documents."""
        segments = Segments(offsets_of([len(of_set) for of_set in coefficients]))
        return -self._difference.cases(self.query, segments, np.concatenate(coefficients)).limit(-1.0)

    def gains(self) -> tuple[Ints, Floats]:
        """The rows, by id, and how far each alone raises the lowest difference when it is judged 0."""
        _, first, class_of = np.unique(self.weight, return_index=True, return_inverse=True)
        gains = np.zeros(len(first))
        for begin in range(0, len(first), _AHEAD):
            part = first[begin : begin + _AHEAD]
            lowest = self._lowest([np.delete(self.coefficients, at) for at in part])
            gains[begin : begin + _AHEAD] = (lowest - self.low).round(_SAME)
            if gains[begin + len(part) - 1] <= 0:
                break  # the others raise it less
        by_id = self.place.argsort()
        return self.rows[by_id], gains[class_of][by_id]

    def best(self) -> float:
        """The largest gain. Its document is the first, by id if several have it."""
        if not len(self._next):
            self._next = self._lowest(
                [self.coefficients[count + 1 :] for count in range(min(_AHEAD, len(self.rows)))]
            )
        gain = float(round(self._next[0] - self.low, _SAME))
        if gain > 0:
            return gain
        by_id = self.place.argsort()
        if round(self._closed - self.low, _SAME) <= 0:  # no document has a gain, whatever is judged 0
            self._next = np.full(len(self.rows), self.low)
        else:
            by_id = np.append(by_id[0], np.delete(np.arange(len(by_id)), by_id[0]))
            self._next = np.array([self.low])
        self._take(by_id)
        return 0.0

    def judge(self) -> int:
        """The first document has the grade 0 from now on; its row."""
        row = int(self.rows[0])
        self.low = float(self._next[0])
        self._next = self._next[1:]
        self._take(slice(1, None))
        return row

    def _take(self, documents: Ints | slice) -> None:
        for name in ("rows", "coefficients", "weight", "place"):
            setattr(self, name, getattr(self, name)[documents])


def _greedy(queries: Sequence[_OpenQuery], low: float) -> tuple[list[int], list[float], int | None]:
    """The rows by their gains, each when those before it are judged 0, until these lift `low`, a sum, above 0;
    then the others by their gains there. The gains; and how many lift it, None where all do not.
    """
    order: list[int] = []
    gains: list[float] = []
    waiting = [(-query.best(), number) for number, query in enumerate(queries)]
    heapify(waiting)
    while waiting and low <= _ZERO:
        gain, number = heappop(waiting)
        query = queries[number]
        low -= query.low
        order.append(query.judge())
        gains.append(-gain)
        low += query.low
        if len(query.rows):
            heappush(waiting, (-query.best(), number))
    forecast = len(order) if low > _ZERO else None
    remaining = [query for query in queries if len(query.rows)]
    if remaining:
        rows, of_rows = map(np.concatenate, zip(*(query.gains() for query in remaining), strict=True))
        by_gain = np.argsort(-of_rows, kind="stable")
        order += rows[by_gain].tolist()
        gains += of_rows[by_gain].tolist()
    return order, gains, forecast
