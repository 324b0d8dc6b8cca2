"""Where another order of equal scores could change a value: what the notice of tied scores is made from."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import Segments
from gradeval.options import Options
from gradeval.registry.invariants import UNJUDGED_IGNORED
from gradeval.registry.metric import Sees
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import is_relevant, recalled
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import Ties

_CUTOFFS = ("cutoff", "length")  # what a metric calls the last rank it looks at


class _View(NamedTuple):
    """What a metric makes of tied documents.

    sees: what it looks at. has_level, level: whether it asks if they are relevant, and from which grade on they
    are. judged_only: unjudged documents are taken out first. ignores: they change nothing. order: the order in
    the first ranks matters. cutoff: the last of these. stops: see registry.Metric.
    """

    sees: Sees
    has_level: bool
    level: float | None
    judged_only: bool
    ignores: bool
    order: bool
    cutoff: float
    stops: str

    @classmethod
    def of(cls, spec: Spec, options: Options) -> _View:
        metric, params = spec.metric, spec.params
        listed = isinstance(params.get("gain"), tuple)  # which may give grade 0 a gain, or take some away
        cutoff = next((params[name] for name in _CUTOFFS if params.get(name) is not None), np.inf)
        level = params.get("rel")
        return cls(
            Sees.JUDGMENT if listed else metric.sees,
            "rel" in metric.by_name,
            options.rel if level is None else level,
            options.judged_only or params.get("judged_only", False),
            UNJUDGED_IGNORED in metric.holds,
            metric.order,
            cutoff,
            metric.stops,
        )


class _Groups:
    """The documents with equal scores, those of a query and a score together.

    members: which of the judged ones, by their place, belong to each of the G groups. query, first, last: of
    each group, (G,). grade: of each judged document, (n,).
    """

    def __init__(self, ties: Ties, qrels: Qrels, rank: Floats) -> None:
        query = np.searchsorted(qrels.offsets, ties.row, "right") - 1
        order = np.lexsort((ties.first, query))
        query, row, first, last = query[order], *(column[order] for column in ties)
        new = np.ones(len(order) + 1, bool)
        new[1:-1] = (query[1:] != query[:-1]) | (first[1:] != first[:-1])
        offsets = np.flatnonzero(new)
        self.members = Segments(offsets)
        self.query, self.first, self.last = (column[offsets[:-1]] for column in (query, first, last))
        self.grade = qrels.grade[row]
        self.kept = self.grade >= 0  # those that are judged; a grade below 0 says that it is not
        self.qrels, self.rank = qrels, rank
        self._uneven: dict[_View, Bools] = {}
        self._first: dict[float | None, Floats] = {}

    @cached_property
    def judged(self) -> Segments:
        """How all judgments fall into queries."""
        return Segments(self.qrels.offsets)

    @cached_property
    def size(self) -> Ints:
        return self.last - self.first + 1

    @cached_property
    def above(self) -> Ints:
        """How many judged documents stand above each group, (G,)."""
        rows = np.flatnonzero(np.isfinite(self.rank) & (self.qrels.grade >= 0))
        query = np.searchsorted(self.qrels.offsets, rows, "right") - 1
        width = int(max(self.rank[rows].max(initial=0), self.first.max())) + 1
        places = np.sort(query * width + self.rank[rows].astype(np.int64))
        start = self.query * width
        return np.searchsorted(places, start + self.first) - np.searchsorted(places, start)

    def relevant(self, level: float | None) -> Ints:
        """How many documents are relevant to each group's query, (G,)."""
        return self.judged.number(is_relevant(self.qrels.grade, level))[self.query]

    def first_relevant(self, level: float | None) -> Floats:
        """The rank of the first relevant document of each group's query, inf without one, (G,)."""

        def find() -> Floats:
            rank = np.where(is_relevant(self.qrels.grade, level), self.rank, np.inf)
            return self.judged.min(rank, empty=np.inf)[self.query]

        return recalled(self._first, level, find)

    def uneven(self, view: _View) -> Bools:
        """Whether the metric can tell documents of the group apart, (G,)."""
        key = view._replace(order=True, cutoff=0, stops="")  # which have no say here
        return recalled(self._uneven, key, lambda: self._tell_apart(view))

    def _tell_apart(self, view: _View) -> Bools:
        if view.sees == Sees.JUDGMENT:
            return self._differ(self.grade, -np.inf, view)
        differ = np.zeros(len(self.first), bool)
        if view.sees in (Sees.JUDGED, Sees.POOL):
            differ |= self._differ(self.kept.astype(np.float64), -np.inf, view)
        if view.sees == Sees.GAIN:
            differ |= self._differ(np.maximum(self.grade, 0.0), 0.0, view)
        if view.has_level:
            differ |= self._differ(is_relevant(self.grade, view.level).astype(np.float64), 0.0, view)
        return differ

    def _differ(self, value: Floats, unjudged: float, view: _View) -> Bools:
        """Whether one of the documents that the metric looks at has another value than the others, (G,)."""
        low, high = value, value
        if view.judged_only:
            low, high = np.where(self.kept, value, np.inf), np.where(self.kept, value, -np.inf)
        lowest, highest = self.members.min(low), self.members.max(high)
        if not (view.judged_only or view.ignores):
            others = self.size > self.members.lengths
            lowest[others] = np.minimum(lowest[others], unjudged)
            highest[others] = np.maximum(highest[others], unjudged)
        return lowest < highest

    def matter(self, view: _View, depth: float) -> Bools:
        """Whether another order could change what the metric finds in the first `depth` ranks, (G,)."""
        if view.sees == Sees.NOTHING:
            return np.zeros(len(self.first), bool)
        uneven = self.uneven(view)
        which_stay, first, last = uneven, self.first, self.last
        if view.judged_only or view.ignores:
            number = self.members.number(self.kept) if view.judged_only else self.members.lengths
            which_stay = uneven | ((number > 0) & (number < self.size))
            if view.judged_only:
                first, last = self.above + 1, self.above + number
        cutoff = self.relevant(view.level) if view.stops == "R" else view.cutoff
        seen = first <= cutoff
        is_cut = (self.first <= depth) & (depth < self.last)
        inside = (self.first <= depth) & (seen if view.order else seen & (cutoff < last))
        matter = np.where(is_cut, which_stay & seen, uneven & inside)
        return matter & (self.first <= self.first_relevant(view.level)) if view.stops == "first" else matter


def unsure(ties: Ties, qrels: Qrels, rank: Floats, specs: Iterable[Spec], options: Options) -> Bools:
    """The queries in which another order of equal scores could change the value of a metric, (Q,).

    rank: of each judgment, (N,).
    """
    found = np.zeros(len(qrels.queries), bool)
    if len(ties.row):
        groups = _Groups(ties, qrels, rank)
        deepest: dict[_View, float] = {}
        for view in (_View.of(spec, options) for spec in specs):
            key = view._replace(cutoff=np.inf) if view.order else view  # what is in order is so above, too
            deepest[key] = max(view.cutoff, deepest.get(key, 0))
        for view, cutoff in deepest.items():
            found[groups.query[groups.matter(view._replace(cutoff=cutoff), options.depth or np.inf)]] = True
    return found
