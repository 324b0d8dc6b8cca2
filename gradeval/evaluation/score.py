"""Judgments and metrics → values: all evaluation ends here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.arrays.segments import natural_log, offsets_of
from gradeval.arrays.threads import map_all
from gradeval.errors import MetricError, NoExpectedValueError
from gradeval.options import EXPECTED, NO_RELEVANT, Options
from gradeval.records import Record
from gradeval.registry.metric import GEOMETRIC_MIN, REGISTRY, Kind, load
from gradeval.registry.spec import Spec, parse
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import Ideal, Qrels, shares_of, with_top_grade
from gradeval.tables.reduction import Reduced


def score(judgments: Judgments, specs: Sequence[Spec]) -> Floats:
    """The value of each metric for each query: float64 (M, Q), NaN where undefined, and for texts. judgments:
    with depth and judged_only applied; a part of a collection scores as within the whole, whose scale it has.
    Raises MetricError if a metric cannot be computed from these grades, or a plugin fails.
    """
    return scored(judgments, specs).values


def summarize(specs: Sequence[Spec], values: Floats, counted: Bools, weights: Floats | None = None) -> Floats:
    """The summary values, (M,), of values (M, Q) of counted queries. weights: (Q,), in means and not sums."""
    values = summands(specs, values)
    defined = counted & ~np.isnan(values)
    with np.errstate(over="ignore", invalid="ignore"):
        # added one by one in query order, as a loop would: np.sum adds in pairs and can end elsewhere
        total = np.cumsum(np.where(defined, values, 0.0), axis=1)[:, -1:].sum(axis=1)
        mean: Floats = total / defined.sum(axis=1)
    if weights is not None:
        mean = weighted_means(np.where(defined, values, np.nan), weights)
    return summaries(specs, total, mean)


def weighted_means(values: Floats, weights: Floats) -> Floats:
    """The means over the last axis of values (..., Q) that are not NaN, by the weights of the queries (Q,); NaN
    where no such query has a weight above 0. Equal weights give the digits of summarize() without weights.
    """
    shares = np.where(np.isnan(values), 0.0, weights)
    with np.errstate(invalid="ignore"):
        shares /= shares.max(axis=-1, initial=0.0, keepdims=True)
        total = np.nancumsum(values * shares, axis=-1)
        size = np.cumsum(shares, axis=-1)
        means: Floats = total[..., -1:].sum(axis=-1) / size[..., -1:].sum(axis=-1)
    return means


def summarize_expected(
    specs: Sequence[Spec], expected: Floats, values: Floats, counted: Bools, weights: Floats | None
) -> Floats:
    """As summarize(), NaN where a query that has a value has no expected one."""
    means = summarize(specs, expected, counted, weights)
    means[(counted & np.isnan(expected) & ~np.isnan(values)).any(axis=1)] = np.nan
    return means


def summands(specs: Sequence[Spec], values: Floats) -> Floats:
    """The numbers that are added up for the summary values, (M, Q): the logarithms for a geometric mean."""
    geometric = [m for m, spec in enumerate(specs) if spec.metric.kind is Kind.GEOMETRIC]
    if geometric:
        values = values.copy("K")  # in memory as before, so that sums are added in the same order
    for m in geometric:
        values[m] = natural_log(np.maximum(values[m], GEOMETRIC_MIN))
    return values


def summaries(specs: Sequence[Spec], total: Floats, mean: Floats) -> Floats:
    """The summary value of each metric, (M,), from the total and the mean of its summands."""
    values = np.where([spec.metric.is_summed for spec in specs], total, mean)
    for m, spec in enumerate(specs):
        if spec.metric.kind is Kind.GEOMETRIC:
            values[m] = math.exp(values[m])
    return values


class Scored(Record):
    """The values of some queries. values: those of score(). texts: position of a text metric -> the text of
    each query. empty: which queries have nothing relevant to a metric that needs it, (M, Q).
    """

    values: Floats
    texts: dict[int, list[str]]
    empty: Bools

    @classmethod
    def joined(cls, parts: Sequence[Scored]) -> Scored:
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.values for part in parts], axis=1),
            {m: [*chain(*(part.texts[m] for part in parts))] for m in parts[0].texts},
            np.concatenate([part.empty for part in parts], axis=1),
        )


@contextmanager
def naming(spec: Spec) -> Iterator[None]:
    """Name the metric in what is raised: grades have a range, so only parameters can be too large."""
    try:
        yield
    except NoExpectedValueError:  # names the metric already
        raise
    except MetricError as error:
        raise MetricError(f"{spec}: {error}") from None
    except FloatingPointError:
        raise MetricError(f"{spec}: a value is too large for a floating-point number") from None


@np.errstate(over="raise", divide="ignore", invalid="ignore")
def scored(judgments: Judgments, specs: Sequence[Spec]) -> Scored:
    shape = len(specs), judgments.segments.count
    values, empty = np.empty(shape), np.zeros(shape, bool)
    texts: dict[int, list[str]] = {}
    for m, spec in enumerate(specs):
        metric = spec.metric
        with naming(spec):
            row, is_empty = metric.values(judgments, **spec.params)
            finite = np.isfinite(row if is_empty is None else row[~is_empty])
            if not finite.all() and (np.isinf(row).any() or not (metric.undefined or metric.text)):
                raise FloatingPointError
            values[m] = row
            if is_empty is not None:
                values[m, is_empty] = judgments.no_relevant
                empty[m] = is_empty
            if metric.text:
                texts[m] = metric.texts(judgments, **spec.params)
    return Scored(values, texts, empty)


class Judge:
    """Makes the judgments of queries, with the options applied, from the ranks of the run or other ones.

    Where unjudged documents have a grade, the tables of all queries are as large as the run, so that they are
    made for some queries at a time. qrels, reduced: with those of the queries that ties can change.
    """

    def __init__(self, qrels: Qrels, reduced: Reduced, options: Options, tag: str = "") -> None:
        self._given = qrels, reduced
        self.options = options
        self.is_expected = options.ties == EXPECTED  # whether values are those expected over the orders of ties
        self._tag = tag
        no_relevant = NO_RELEVANT[options.no_relevant_rule]
        self._fields: dict[str, Any] = {"relevance_level": options.rel, "tag": tag, "no_relevant": no_relevant}
        self._fields["scale"] = with_top_grade(qrels.scale, options)
        self._ideals: dict[Any, Ideal] = {}  # shared by the judgments of the same queries in as many orders

    @cached_property
    def _completed(self) -> tuple[Qrels, Reduced]:
        qrels, reduced = self._given
        if qrels.assumed is None:
            return self._given
        from gradeval.tables.assumed import completed, with_ties  # imported only when needed

        return completed(qrels, reduced, self.options.depth, with_ties(qrels, reduced))

    @property
    def qrels(self) -> Qrels:
        return self._completed[0]

    @property
    def reduced(self) -> Reduced:
        return self._completed[1]

    @cached_property
    def _ties(self) -> tuple[Floats, Floats] | None:
        return self.reduced.ties.ends(self.reduced.rank) if self.is_expected else None

    def by(self, *, is_expected: bool) -> Judge:
        """The same for the values of one order of ties, or for those expected over all."""
        judge = Judge(self.qrels, self.reduced, self.options)
        judge.is_expected = is_expected
        judge._fields, judge._ideals = self._fields, self._ideals
        return judge

    def __call__(self, queries: slice | Ints, rank: Floats | None = None) -> Judgments:
        ranks = self.reduced.rank if rank is None else rank
        columns = ranks, self.reduced.score, self.reduced.retrieved
        judgments = Judgments.of(self.qrels, queries, *columns, **self._fields)
        judgments = judgments if self._ties is None else judgments.with_ties(*self._ties)
        judgments = prepared(judgments, self.options)
        if rank is not None and isinstance(queries, np.ndarray):
            key = rank.shape, queries.tobytes()
            judgments.__dict__["best"] = self._ideals.setdefault(key, judgments.best)
        return judgments

    def scored(self, specs: Sequence[Spec], jobs: int) -> Scored:
        """The values of all queries."""
        qrels, reduced = self._given
        if qrels.assumed is None:
            return Scored.joined(map_all(lambda queries, _: scored(self(queries), specs), qrels.shares, jobs))
        from gradeval.tables.assumed import completed, part_of  # imported only when needed

        def of_share(queries: slice, jobs: int) -> Scored:
            part = completed(*part_of(qrels, reduced, queries), self.options.depth)
            judge = Judge(*part, self.options, self._tag)
            judge._fields = self._fields
            return scored(judge(slice(0, len(part[0].queries))), specs)

        shares = shares_of(qrels.offsets + offsets_of(reduced.retrieved))
        return Scored.joined(map_all(of_share, shares, jobs))


def prepared(judgments: Judgments, options: Options) -> Judgments:
    """The table with the depth and the other options applied to it."""
    if options.depth is not None:  # trec_eval's order: ranks below the depth are removed before -J
        judgments = judgments.cut(options.depth)
    return judgments.judged_only() if options.judged_only else judgments


def check_expected(specs: Sequence[Spec], hint: str = "") -> None:
    """Raise MetricError where a metric has no expected value over the orders of tied scores. hint: what else
    the caller can do.
    """
    without = [str(spec) for spec in specs if not has_expected(spec)]
    if without:
        load()
        having = [m.name for m in REGISTRY.values() if m.is_ours and has_expected(parse(m.usage)[0])]
        raise MetricError(
            f"no expected value over the orders of tied scores: {', '.join(without)}",
            hint=f"{hint}these have one: {', '.join(having)}",
        )


@lru_cache(1 << 10)
def has_expected(spec: Spec) -> bool:
    """Whether the metric has an expected value over the orders of tied scores."""
    return spec.metric.has_expected(spec.params)
