"""How the order of tied scores changes values.

A document's rank among others of equal score is an accident of the tie rule. From the first and last rank of
each group of equal scores other orders are made without reading the run again: the best and the worst grades
first, and a few shuffles for metrics that none of these may take to their extremes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import Segments, distinct, offsets_of, stable_order
from gradeval.arrays.strings import mix
from gradeval.arrays.threads import ordered_map
from gradeval.errors import MetricError
from gradeval.evaluation.score import Judge, Scored, has_expected, scored
from gradeval.records import Record
from gradeval.registry.invariants import PROMOTION_HELPS
from gradeval.registry.spec import Spec
from gradeval.tables.qrels import Qrels, shares_of
from gradeval.tables.ranking import Ties

SHUFFLES = 8
TRIALS = 256  # for the notice: with so many tied queries one shuffle each is enough, of 32 queries all eight
_AT_ONCE = 1 << 20  # ranks of the orders that are tried together
_SLOTS = 4  # a shuffle places each judged document of a large group in one of this many times as many slots
_SAME = 1e-9  # relative: sums in another order may end in another last digit


class Spread(Record, eq=False):
    """The values of each metric over the orders that were tried."""

    queries: Ints  # those of the qrels with ties that can matter, (A,)
    # the lowest and the highest value of all queries, (M, Q): equal where no order changes them, also not in
    # the last digit
    extremes: tuple[Floats, Floats]
    changes: Bools  # where they differ, or the words of a text do, (M, A)
    undefined: Bools  # where the value of the run is defined, and that of another order is not, (M, A)
    whole: Bools  # whether no other order goes beyond the extremes, (M,)
    # finds the values expected over the orders, (M, Q); NaN for metrics without a closed form
    expected: Callable[[], Floats]


def spread(
    judge: Judge,
    queries: Bools,
    specs: Sequence[Spec],
    of_run: Scored,
    jobs: int,
    *,
    trials: int | None = None,
) -> Spread:
    """The values of these queries, (Q,) as a mask, under other orders of tied scores. of_run: what the order of
    the run makes of all queries. trials: about how many of the tied queries, evenly spaced, are tried in the
    orders after the first two; by default all. With them a notice is missed only where none of these orders
    changes any query of the sample, and its range is "at least".
    """
    if judge.is_expected:  # the orders of ties, one by one
        judge = judge.by(is_expected=False)
    orders = _Orders(judge, queries, specs, of_run, jobs)
    if len(orders.tied):
        orders.try_first_two()
        orders.try_others(trials or SHUFFLES * len(orders.tied))
    return orders.spread()


class _Orders:
    """Other orders of the ties of a run, and the values that were seen so far."""

    def __init__(self, judge: Judge, queries: Bools, specs: Sequence[Spec], of_run: Scored, jobs: int) -> None:
        self._judge = judge
        self._specs = specs
        self._of_run = of_run
        self._jobs = jobs
        qrels, reduced = judge.qrels, judge.reduced
        self._query_count = len(queries)
        self._groups = _Groups(reduced.ties, qrels, queries)
        self.tied = self._groups.tied
        self._low = of_run.values[:, self.tied]
        self._high = self._low.copy()
        self._has_value = ~np.isnan(self._low)
        self._changes = np.zeros(self._low.shape, bool)
        self._undefined = np.zeros(self._low.shape, bool)
        self._whole = np.array([rises(spec, qrels.scale, judge.options.depth) for spec in specs], np.bool_)
        # subtopics are numbered for the whole qrels: a table with them has each query once
        self._together = max(1, _AT_ONCE // max(1, len(reduced.rank))) if qrels.subtopics is None else 1

    def try_first_two(self) -> None:
        """A metric that a better document never harms has its lowest and its highest value in these."""
        first, second, *_ = self._groups.extremes()
        self._try_of_all_queries([*range(len(self._specs))], [first, second])

    def try_others(self, trials: int) -> None:
        """The orders in which other metrics may go further. trials: about how many queries are tried first."""
        uncertain = np.flatnonzero(~self._whole).tolist()
        if not uncertain:
            return
        sample = slice(None, None, -(-len(self.tied) // trials))
        _, _, *further = self._groups.extremes()
        for order in further:  # all queries are tried if the sample shows more
            if changing := self._try(uncertain, [order], sample):
                self._try_of_all_queries(changing, [order])
        sampled = np.zeros(self._query_count, bool)
        sampled[self.tied[sample]] = True
        groups = _Groups(self._judge.reduced.ties, self._judge.qrels, sampled)
        shuffles = groups.shuffles(min(SHUFFLES, -(-trials // len(self.tied))))
        self._try(uncertain, [*shuffles], sample, groups.row)

    def spread(self) -> Spread:
        values = self._of_run.values
        expected = partial(_expected, self._judge, self._specs, self._of_run, self.tied, jobs=self._jobs)
        if not len(self.tied):
            extremes = values, values
        else:
            low, high = self._low, self._high
            self._changes |= high - low > _SAME * np.maximum(np.abs(high), np.abs(low))
            extremes = self._where_changed(low), self._where_changed(high)
        return Spread(self.tied, extremes, self._changes, self._undefined, self._whole, expected=expected)

    def _where_changed(self, extreme: Floats) -> Floats:
        """The values of all queries, (M, Q), with the extreme ones where an order changes them."""
        values: Floats = self._of_run.values.copy()
        values[:, self.tied] = np.where(self._changes, extreme, values[:, self.tied])
        return values

    def _try_of_all_queries(self, metrics: list[int], orders: list[Floats]) -> None:
        shares = _shares_of(self._judge.qrels, self.tied)
        list(ordered_map(lambda share: self._try(metrics, orders, share), shares, self._jobs))

    def _try(
        self, metrics: list[int], orders: list[Floats], some: slice, rows: Ints | None = None
    ) -> list[int]:
        """Score some of the tied queries in these orders, and keep the extreme values; which metrics go
        beyond what was known of them. rows: whose ranks the orders are, if not those of all groups.
        """
        at = metrics, some  # threads try different queries, so that they write to different cells
        beyond = np.zeros(len(metrics), bool)
        low = self._low
        high = self._high
        for first in range(0, len(orders), self._together):
            together = orders[first : first + self._together]
            rank = np.tile(self._judge.reduced.rank, (len(together), 1))
            rank[:, self._groups.row if rows is None else rows] = together
            tried = scored(self._judge(self.tied[some], rank), [self._specs[m] for m in metrics])
            for values in np.split(tried.values, len(together), axis=1):
                becomes_undefined = np.isnan(values) != np.isnan(low[at])
                beyond |= ((values < low[at]) | (values > high[at]) | becomes_undefined).any(axis=1)
                self._changes[at] |= becomes_undefined
                self._undefined[at] |= self._has_value[at] & np.isnan(values)
                low[at] = np.fmin(low[at], values)
                high[at] = np.fmax(high[at], values)
            for position, texts in tried.texts.items():
                self._compare_texts(metrics[position], np.array(texts, object).reshape(len(together), -1), some)
        return [m for m, goes in zip(metrics, beyond, strict=True) if goes]

    def _compare_texts(self, m: int, texts: np.ndarray[Any, Any], some: slice) -> None:
        """Note where the words of a text metric are others than in the run. texts: by order and query."""
        of_run = np.array([self._of_run.texts[m][q] for q in self.tied[some]], object)
        self._changes[m, some] |= (texts != of_run).any(axis=0)


class _Groups:
    """The judged documents that share their score with others, those of a query and a score together."""

    def __init__(self, ties: Ties, qrels: Qrels, queries: Bools) -> None:
        query = np.searchsorted(qrels.offsets, ties.row, "right") - 1
        chosen = np.flatnonzero(queries[query])
        order = chosen[stable_order(query[chosen], ties.first[chosen])]
        query = query[order]
        self.row = ties.row[order]  # of the qrels, (n,)
        first, last = ties.first[order], ties.last[order]
        new = np.ones(len(order) + 1, bool)
        new[1:-1] = (query[1:] != query[:-1]) | (first[1:] != first[:-1])
        offsets = np.flatnonzero(new)
        self.within = Segments(offsets)  # how they fall into G groups
        self.query = query[offsets[:-1]]  # of each group, (G,)
        self.first = first[offsets[:-1]]  # the rank of the group's first document, (G,)
        self.size = last[offsets[:-1]] - self.first + 1  # documents in each group, judged or not, (G,)
        self.grade = qrels.grade[self.row]

    @property
    def tied(self) -> Ints:
        """The queries in which the order matters: documents of a group differ in grade, or in being judged."""
        grades_differ = self.within.min(self.grade) < self.within.max(self.grade)
        return distinct(self.query[grades_differ | (self.size > self.within.lengths)])

    def extremes(self) -> Iterator[Floats]:
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
        places = Segments(offsets_of(slots))
        for seed in range(count):
            # the slots of a group in the order of pseudo-random keys: its judged documents take the first
            keys = mix(np.arange(len(places.query), dtype=np.uint64) + np.uint64(seed << 40))
            order = stable_order(places.query, (keys >> np.uint64(40)).astype(np.int64))
            slot = places.place[order][places.offsets[group] + self.within.place]
            yield self.first[group] + slot * self.size[group] // slots[group]


def _expected(judge: Judge, specs: Sequence[Spec], of_run: Scored, tied: Ints, *, jobs: int) -> Floats:
    """Spread.expected. tied: its queries."""
    judge = judge.by(is_expected=True)
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
    return shares_of(offsets_of(qrels.offsets[queries + 1] - qrels.offsets[queries]))


def rises(spec: Spec, scale: Floats, depth: int | None = None) -> bool:
    """Whether moving a better graded document up never lowers the value, also into the first ranks. A metric of
    pairs, which has no cutoff, can lose by that: the document that leaves them leaves its pairs.
    """
    stays_true = depth is None or "cutoff" in spec.metric.by_name
    return stays_true and spec.metric.holds(PROMOTION_HELPS, spec.params, scale)
