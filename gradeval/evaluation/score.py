"""Judgments and metrics → values: all evaluation ends here; and how the order of tied scores changes them.

A document's rank among others of equal score is an accident of the tie rule. From the first and last rank of
each group of equal scores other orders are made without reading the run again: the best and the worst grades
first, and a few shuffles for metrics that none of these may take to their extremes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import Segments, distinct, natural_log, stable_order
from gradeval.arrays.strings import mix
from gradeval.arrays.threads import map_all, ordered_map
from gradeval.errors import MetricError, NoExpectedValueError
from gradeval.options import EXPECTED, NO_RELEVANT, Options
from gradeval.records import Record
from gradeval.registry.invariants import PROMOTION_HELPS
from gradeval.registry.metric import GEOMETRIC_MIN, REGISTRY, Kind, load
from gradeval.registry.spec import Spec, parse
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import Ideal, Qrels, shares_of
from gradeval.tables.ranking import Ties
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
        total, size = np.nancumsum(values * shares, axis=-1), np.cumsum(shares, axis=-1)
        means: Floats = total[..., -1:].sum(axis=-1) / size[..., -1:].sum(axis=-1)
    return means


def summarize_expected(
    specs: Sequence[Spec], expected: Floats, values: Floats, counted: Bools, weights: Floats | None = None
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


@np.errstate(over="raise", divide="ignore", invalid="ignore")
def scored(judgments: Judgments, specs: Sequence[Spec]) -> Scored:
    shape = len(specs), judgments.segments.count
    values, empty = np.empty(shape), np.zeros(shape, bool)
    texts: dict[int, list[str]] = {}
    for m, spec in enumerate(specs):
        metric = spec.metric
        try:  # the metric is named in what is raised: grades have a range, so only parameters can be too large
            row, is_empty = metric.values(judgments, **spec.params)
            finite = np.isfinite(row if is_empty is None else row[~is_empty])
            if not finite.all() and (np.isinf(row).any() or not (metric.undefined or metric.text)):
                raise FloatingPointError
            values[m] = row
            if is_empty is not None:
                values[m, is_empty], empty[m] = judgments.no_relevant, is_empty
            if metric.text:
                texts[m] = metric.texts(judgments, **spec.params)
        except NoExpectedValueError:  # names the metric already
            raise
        except MetricError as error:
            raise MetricError(f"{spec}: {error}") from None
        except FloatingPointError:
            raise MetricError(f"{spec}: a value is too large for a floating-point number") from None
    return Scored(values, texts, empty)


SHUFFLES = 8
TRIALS = 256  # for the notice: with so many tied queries one shuffle each is enough, of 32 queries all eight
_AT_ONCE = 1 << 20  # ranks of the orders that are tried together
_SLOTS = 4  # a shuffle places each judged document of a large group in one of this many times as many slots
_SAME = 1e-9  # relative: sums in another order may end in another last digit


class Judge:
    """Makes the judgments of queries, with the options applied, from the ranks of the run or other ones."""

    def __init__(self, qrels: Qrels, reduced: Reduced, options: Options, tag: str = "") -> None:
        self.qrels, self.reduced, self.options = qrels, reduced, options
        no_relevant = NO_RELEVANT[options.no_relevant_rule]
        self._fields: dict[str, Any] = {"relevance_level": options.rel, "tag": tag, "no_relevant": no_relevant}
        self._ideals: dict[Any, Ideal] = {}  # shared by the judgments of the same queries in as many orders
        self._ties = reduced.ties.ends(reduced.rank) if options.ties == EXPECTED else None

    def by(self, ties: str | None) -> Judge:
        """The same with another order of ties."""
        judge = Judge(self.qrels, self.reduced, self.options.replace(ties=ties))
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
        return Scored.joined(map_all(lambda queries, _: scored(self(queries), specs), self.qrels.shares, jobs))


def prepared(judgments: Judgments, options: Options) -> Judgments:
    """The table with the depth and the other options applied to it."""
    if options.depth is not None:  # trec_eval's order: ranks below the depth are removed before -J
        judgments = judgments.cut(options.depth)
    return judgments.judged_only() if options.judged_only else judgments


class Spread(Record, eq=False):
    """The lowest and highest value of each metric over the orders tried. queries: those of the qrels with ties
    that can matter, (A,). ends: the lowest and the highest value of all queries, (M, Q): equal where no order
    changes them, also not in the last digit. changes: where they differ, or the words of a text do, (M, A).
    undefined: where the value of the run is defined, and that of another order is not, (M, A). whole: whether
    no other order goes beyond the ends, (M,). expected: finds the values expected over the orders, (M, Q); NaN
    for metrics without a closed form.
    """

    queries: Ints
    ends: tuple[Floats, Floats]
    changes: Bools
    undefined: Bools
    whole: Bools
    expected: Callable[[], Floats]


class _Groups:
    """The judged documents that share their score with others, those of a query and a score together. row: of
    the qrels, (n,). within: how they fall into G groups. size: documents in each group, judged or not, (G,).
    first: the rank of the group's first document, (G,). query: of each group, (G,).
    """

    def __init__(self, ties: Ties, qrels: Qrels, queries: Bools) -> None:
        query = np.searchsorted(qrels.offsets, ties.row, "right") - 1
        chosen = np.flatnonzero(queries[query])
        order = chosen[stable_order(query[chosen], ties.first[chosen])]
        query, self.row = query[order], ties.row[order]
        first, last = ties.first[order], ties.last[order]
        new = np.ones(len(order) + 1, bool)
        new[1:-1] = (query[1:] != query[:-1]) | (first[1:] != first[:-1])
        offsets = np.flatnonzero(new)
        self.within = Segments(offsets)
        self.query, self.first = query[offsets[:-1]], first[offsets[:-1]]
        self.size = last[offsets[:-1]] - self.first + 1
        self.grade = qrels.grade[self.row]

    def ends(self) -> Iterator[Floats]:
        """The ranks of the judged documents, (n,): the best grades first and unjudged documents last, and the
        reverse; then the same with unjudged documents between grades above 0 and the others.
        """
        group = self.within.query
        first = self.first[group].astype(np.float64)
        unjudged = (self.size - self.within.lengths)[group]
        falling = np.empty(len(group))
        falling[self.within.descending(self.grade)] = self.within.place
        rising = self.within.lengths[group] - 1 - falling
        relevant = self.grade > 0
        yield first + falling
        yield first + rising + unjudged
        yield first + falling + np.where(relevant, 0, unjudged)
        yield first + rising + np.where(relevant, unjudged, 0)

    def shuffles(self, count: int) -> Iterator[Floats]:
        """The ranks of the judged documents, (n,), in pseudo-random orders."""
        group = self.within.query
        slots = np.minimum(self.size, _SLOTS * self.within.lengths)
        places = Segments(np.append(0, np.cumsum(slots)))
        for seed in range(count):
            # the slots of a group in the order of pseudo-random keys: its judged documents take the first
            keys = mix(np.arange(len(places.query), dtype=np.uint64) + np.uint64(seed << 40))
            order = stable_order(places.query, (keys >> np.uint64(40)).astype(np.int64))
            slot = places.place[order][places.offsets[group] + self.within.place]
            yield self.first[group] + slot * self.size[group] // slots[group]


def spread(
    judge: Judge, queries: Bools, specs: Sequence[Spec], of_run: Scored, jobs: int, trials: int | None = None
) -> Spread:
    """The values of these queries, (Q,) as a mask, under other orders of tied scores. of_run: what the order of
    the run makes of all queries. trials: about how many of the tied queries, evenly spaced, are tried in the
    orders after the first two; by default all. With them a notice is missed only where none of these orders
    changes any query of the sample, and its range is "at least".
    """
    qrels, reduced = judge.qrels, judge.reduced
    if judge.options.ties == EXPECTED:  # the orders of ties, one by one
        judge = judge.by(None)
    groups = _Groups(reduced.ties, qrels, queries)
    # the order matters in groups whose documents differ: in their grades, or in being judged
    grades_differ = groups.within.min(groups.grade) < groups.within.max(groups.grade)
    tied = distinct(groups.query[grades_differ | (groups.size > groups.within.lengths)])
    low = of_run.values[:, tied]
    high, has_value = low.copy(), ~np.isnan(low)
    changes, undefined = np.zeros(low.shape, bool), np.zeros(low.shape, bool)
    whole = np.array([rises(spec, qrels.scale, judge.options.depth) for spec in specs], np.bool_)
    expected = partial(_expected, judge, specs, of_run, tied, jobs)
    if not len(tied):
        return Spread(tied, (of_run.values, of_run.values), changes, undefined, whole, expected)

    def attempt(chosen: list[int], orders: list[Floats], some: slice) -> list[int]:
        """Score some of the tied queries; which metrics go beyond what was known of them."""
        at, beyond = (chosen, some), np.zeros(len(chosen), bool)
        for first in range(0, len(orders), together):
            few = orders[first : first + together]
            rank = np.tile(reduced.rank, (len(few), 1))
            rank[:, groups.row] = few
            other = scored(judge(tied[some], rank), [specs[m] for m in chosen])
            for values in np.split(other.values, len(few), axis=1):
                becomes_undefined = np.isnan(values) != np.isnan(low[at])
                beyond |= ((values < low[at]) | (values > high[at]) | becomes_undefined).any(axis=1)
                changes[at] |= becomes_undefined
                undefined[at] |= has_value[at] & np.isnan(values)
                low[at], high[at] = np.fmin(low[at], values), np.fmax(high[at], values)
            for place, texts in other.texts.items():
                before = [of_run.texts[chosen[place]][q] for q in tied[some]]
                for words in np.array(texts, object).reshape(len(few), -1):
                    changes[chosen[place], some] |= words != np.array(before, object)
        return [m for m, goes in zip(chosen, beyond, strict=True) if goes]

    # subtopics are numbered for the whole qrels: a table with them has each query once
    together = max(1, _AT_ONCE // len(reduced.rank)) if qrels.subtopics is None else 1
    shares = _shares_of(qrels, tied)
    first, second, *further = groups.ends()
    list(ordered_map(partial(attempt, [*range(len(specs))], [first, second]), shares, jobs))
    # a metric that a better document never harms has its lowest and highest value in the first two orders
    if others := np.flatnonzero(~whole).tolist():
        trials = trials or SHUFFLES * len(tied)
        sample = slice(None, None, -(-len(tied) // trials))
        for order in further:  # all queries are tried if the sample shows more
            if chosen := attempt(others, [order], sample):
                list(ordered_map(partial(attempt, chosen, [order]), shares, jobs))
        sampled = np.zeros(len(queries), bool)
        sampled[tied[sample]] = True
        groups = _Groups(reduced.ties, qrels, sampled)
        attempt(others, [*groups.shuffles(min(SHUFFLES, -(-trials // len(tied))))], sample)
    changes |= high - low > _SAME * np.maximum(np.abs(high), np.abs(low))
    lowest, highest = of_run.values.copy(), of_run.values.copy()
    for ends, extreme in ((lowest, low), (highest, high)):
        ends[:, tied] = np.where(changes, extreme, of_run.values[:, tied])
    return Spread(tied, (lowest, highest), changes, undefined, whole, expected)


def _expected(judge: Judge, specs: Sequence[Spec], of_run: Scored, tied: Ints, jobs: int) -> Floats:
    """Spread.expected. tied: its queries."""
    judge = judge.by(EXPECTED)
    values: Floats = of_run.values.copy()
    without = {m for m, spec in enumerate(specs) if not has_expected(spec)}

    def fill(some: slice) -> None:
        try:
            judged = judge(tied[some], judge.reduced.rank)
        except MetricError:  # the depth divides tied documents, and they are removed by -J
            without.update(range(len(specs)))
        for m in {*range(len(specs))} - without:
            try:
                values[m, tied[some]] = scored(judged, [specs[m]]).values[0]
            except MetricError:
                without.add(m)

    list(ordered_map(fill, _shares_of(judge.qrels, tied), jobs))
    values[[*without]] = np.nan
    return values


def _shares_of(qrels: Qrels, queries: Ints) -> list[slice]:
    return shares_of(np.append(0, np.cumsum(qrels.offsets[queries + 1] - qrels.offsets[queries])))


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
    """Whether the metric has a value for a ranking of two tied documents."""
    two = np.array([0, 2])
    rank, score = np.array([1.0, 2.0]), np.zeros(2)
    ranking = Judgments(Segments(two), np.array([1.0, 0.0]), rank, score, two // 2, two[1:])
    try:
        with np.errstate(all="ignore"):
            spec.metric.values(ranking.with_ties(np.ones(2), np.full(2, 2.0)), **spec.params)
    except NoExpectedValueError:
        return False
    except MetricError:  # of these grades
        pass
    return spec.metric.order_free or not spec.metric.text


def rises(spec: Spec, scale: Floats, depth: int | None = None) -> bool:
    """Whether moving a better graded document up never lowers the value, also into the first ranks. A metric of
    pairs, which has no cutoff, can lose by that: the document that leaves them leaves its pairs.
    """
    stays_true = depth is None or "cutoff" in spec.metric.by_name
    return stays_true and spec.metric.holds(PROMOTION_HELPS, spec.params, scale)
