"""What depends on the judgments only, and so is the same for every run: the ideal rankings."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, Words, cached_property
from gradeval.arrays.segments import Segments, ranges, stable_order
from gradeval.arrays.strings import Ids
from gradeval.records import Record

_Made = TypeVar("_Made")
RECALLED = 16  # cached results that metrics share, more than they need at a time
_SAME = 12  # decimals: gains that differ by less are equal, as sums in another order may


def is_relevant(grade: Floats, level: float | None) -> Bools:
    """Which grades are relevant: from the threshold on, or above 0 without one; never those below 0."""
    return grade > 0 if level is None else grade >= max(level, 0.0)


class Recalling:
    """A table with results that metrics share."""

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """The result of make(), cached by its key until RECALLED others were requested after it.

        So the cache does not grow with the number of metrics, such as AP at each of thousands of levels.
        Threads may share it: each step on the dict is atomic, and a result that another thread took out is
        made again.
        """
        made = self._made
        value: _Made | None = made.pop(key, None)
        if value is None:
            value = make()
        made[key] = value  # the most recently used is last
        if len(made) > RECALLED:
            for oldest in list(made)[:1]:
                made.pop(oldest, None)
        return value


class Ideal(Record, Recalling, eq=False):
    """The grades of some queries, and their ideal ranking.

    segments: the Q queries that rows belong to. grade: float64 (N,), in any order within a query.
    """

    segments: Segments
    grade: Floats

    @cached_property
    def grades(self) -> Floats:
        """The grades of each query from the highest to the lowest: the ideal ranking, float64 (N,)."""
        return self.segments.sorted_descending(self.grade)

    @cached_property
    def levels(self) -> Segments:
        """The rows of the ideal ranking with equal grades, as segments of their own."""
        return self.segments.ties(self.grades)

    @cached_property
    def highest(self) -> Floats:
        """The largest grade of each query, at least 0, float64 (Q,)."""
        return np.maximum(self.segments.max(self.grade), 0.0)

    def relevant(self, level: float | None) -> Ints:
        """How many documents of each query are relevant, int64 (Q,)."""
        return self.once(("relevant", level), lambda: self.segments.number(is_relevant(self.grade, level)))


class Subtopics(Record, Recalling, eq=False):
    """Judgments of documents for the subtopics of their queries: S of them, those of a document together.

    segments: the queries that the documents belong to, as rows of the qrels. row: the document's, ascending,
    int64 (S,). topic: a number for each subtopic of each query, int64 (S,). grade: float64 (S,). documents: the
    ids of the rows of the qrels; None has them in order.
    """

    segments: Segments
    row: Ints
    topic: Ints
    grade: Floats
    documents: Ids | None = None

    @classmethod
    def of(cls, segments: Segments, row: Ints, key: Words, grade: Floats, documents: Ids) -> Subtopics:
        """The judgments in any order. key: of the subtopic's name, (S,)."""
        order = stable_order(row)
        row, key, grade = row[order], key[order], grade[order]
        query = segments.query[row]
        by_topic = np.lexsort((key, query))
        is_new = np.ones(len(row), bool)
        is_new[1:] = (np.diff(query[by_topic]) != 0) | (key[by_topic][1:] != key[by_topic][:-1])
        topic = np.empty(len(row), np.int64)
        topic[by_topic] = np.cumsum(is_new) - 1
        return cls(segments, row, topic, grade, documents)

    @cached_property
    def query(self) -> Ints:
        """The query of each judgment, (S,)."""
        return self.segments.query[self.row]

    def ideal(self, alpha: float, level: float | None, depth: int | None) -> tuple[Segments, Ints, Floats]:
        """The greedy ideal ranking of each query, cut at the depth: rows of the qrels, and their gains.

        Each rank has the document with the largest gain, the sum over its subtopics of (1 - alpha)^(documents
        above it that are relevant to the subtopic); of several, that with the highest id.
        """
        return self.once((alpha, level, depth), lambda: self._greedy(alpha, level, depth))

    def _greedy(self, alpha: float, level: float | None, depth: int | None) -> tuple[Segments, Ints, Floats]:
        place = np.arange(len(self.segments.query))
        if self.documents is not None:
            place[self.documents.descending(self.segments.query)] = np.arange(len(place))
        relevant = np.flatnonzero(is_relevant(self.grade, level))
        relevant = relevant[np.argsort(place[self.row[relevant]], kind="stable")]
        row, topic = self.row[relevant], self.topic[relevant]
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        document, each = row[starts], Segments(np.append(starts, len(row)))
        query = self.segments.query[document]
        weight = np.ones(int(topic.max(initial=-1)) + 1)  # of each subtopic, for the next rank
        left, ranked, gains = np.arange(len(document)), [row[:0]], [weight[:0]]
        while len(left) and (depth is None or len(ranked) <= depth):
            gain = each.sum(weight[topic])[left]
            rounded = np.round(gain, _SAME)
            first = np.flatnonzero(np.diff(query[left], prepend=-1))
            best = np.repeat(np.maximum.reduceat(rounded, first), np.diff(first, append=len(left)))
            equal = np.flatnonzero(rounded == best)
            chosen = equal[np.diff(query[left[equal]], prepend=-1) != 0]
            ranked.append(left[chosen])
            gains.append(gain[chosen])
            weight[topic[ranges(each.offsets[left[chosen]], each.lengths[left[chosen]])]] *= 1 - alpha
            left = np.delete(left, chosen)
        chosen = np.concatenate(ranked)
        order = stable_order(query[chosen])
        offsets = np.append(0, np.cumsum(np.bincount(query[chosen], minlength=self.segments.count)))
        return Segments(offsets), document[chosen[order]], np.concatenate(gains)[order]
