"""The two tables that everything works on: Qrels as they were read, and Judgments with a run's ranks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gradeval.errors import OptionError
from gradeval.formats.problems import LineProblems, Problems, shown
from gradeval.grades import LARGEST, RANGE, SMALLEST
from gradeval.ids import IdIndex, Ids, KeyTable, Words, in_group, repeats
from gradeval.parallel import ordered_map
from gradeval.segments import Bools, Floats, Ints, Segments, distinct, ranges, stable_order

if TYPE_CHECKING:
    from gradeval.formats.letor import Letor

_Made = TypeVar("_Made")

SHARE = 1 << 16  # rows whose columns fit a processor's cache, where metrics are several times faster
RECALLED = 16  # of what metrics share, more than they need at a time


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgments as read: a row for each (query, document, grade), the rows of a query together.

    path: as the user named it. queries: the query ids in order of first appearance, (Q,).
    offsets: query q owns rows offsets[q]:offsets[q+1], (Q+1,). documents: (N,) ids. grade: float64 (N,).
    warnings: what was odd but not wrong, a line each. letor: the lines they are from, in a LETOR file.
    """

    path: str
    queries: Ids
    offsets: Ints
    documents: Ids
    grade: Floats
    warnings: tuple[str, ...] = ()
    letor: Letor | None = None

    @classmethod
    def of(
        cls,
        path: str,
        ids: Ids,
        bounds: Ints,
        documents: Ids,
        grade: Floats,
        line: Callable[[], Ints] | None = None,
        letor: Letor | None = None,
        jobs: int = 1,
    ) -> Qrels:
        """Judgments from rows as read: ids (S,) names the query of rows bounds[s]:bounds[s+1].

        Raises InputError where a grade is out of range, or a document has two different grades for a query;
        the same grade twice is a warning. line: makes the 0-based line of each row, for messages.
        """
        _check_range(path, grade, line)
        starts = np.append(0, ids.changes())[: len(ids)]
        ids, bounds = ids.take(starts), bounds[np.append(starts, len(ids))]
        first, number = ids.distinct()
        rows: Ints | slice = slice(None)
        if len(first) < len(ids):  # queries come back
            order, counts = stable_order(number), np.diff(bounds)
            rows = ranges(bounds[order], counts[order])
            documents, grade = documents.take(rows), grade[rows]
            bounds = np.append(0, np.cumsum(np.bincount(number, counts))).astype(np.int64)
        qrels = cls(path, ids.take(first).compact(), bounds, documents, grade, (), letor)
        parts = list(ordered_map(qrels._keys_and_repeats, qrels.shares(), jobs))
        keys, again, before = (np.concatenate(column) for column in zip(*parts, strict=True))
        if len(again):
            _check_grades(path, again, before, documents, grade, line()[rows] if line else None)
            warnings = (f"{path}: {_times(len(again))} judged again with the same grade",)
            kept = np.ones(len(grade), bool)
            kept[again] = False
            qrels = replace(
                qrels,
                offsets=np.append(0, np.cumsum(kept))[bounds],
                documents=documents.take(kept),
                grade=grade[kept],
                warnings=warnings,
            )
            keys = keys[kept]
        qrels.__dict__["keys"] = keys  # the cached property, already known
        return qrels

    def _keys_and_repeats(self, queries: slice) -> tuple[Words, Ints, Ints]:
        """The keys of these queries' documents; the rows that judge one again, and those of the first time."""
        offsets = self.offsets[queries.start : queries.stop + 1]
        documents = self.documents.take(slice(offsets[0], offsets[-1]))
        query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        keys = documents.keys()
        again, first = repeats(KeyTable(in_group(keys, query)), documents, query)
        return keys, again + offsets[0], first + offsets[0]

    @cached_property
    def query_index(self) -> IdIndex:
        return IdIndex(self.queries)

    @cached_property
    def keys(self) -> Words:
        """A 64-bit key for each document, (N,)."""
        return self.documents.keys()

    @cached_property
    def short_documents(self) -> bool:
        return self.documents.short

    @cached_property
    def grades(self) -> Floats:
        """The different grades, ascending."""
        return distinct(self.grade)

    def shares(self) -> list[slice]:
        """The queries in shares of about SHARE judgments each."""
        steps = np.arange(0, len(self.grade), SHARE)[1:]
        cuts = distinct(np.concatenate([[0], np.searchsorted(self.offsets, steps), [len(self.queries)]]))
        return [slice(a, b) for a, b in itertools.pairwise(cuts.tolist())]

    def less(self, zero_grade: float) -> Qrels:
        """The same judgments with zero_grade subtracted from every grade, both as decimal numbers.

        Raises OptionError where what is left is out of the range of grades.
        """
        if zero_grade == 0:
            return self
        from gradeval.decimals import subtracted  # only who subtracts pays for it

        grade = subtracted(self.grade, float(zero_grade))
        for row in out_of_range(grade)[:1].tolist():
            left = f"{float(self.grade[row])!r} - {zero_grade!r} = {float(grade[row])!r}"
            raise OptionError(f"zero_grade leaves a grade that is out of range: {left}. {_RESCALE}")
        return replace(self, grade=grade)


_RESCALE = f"Grades are {RANGE}; rescale them"


def out_of_range(grade: Floats) -> Ints:
    """The rows whose grades are too large or too close to 0."""
    size = np.abs(grade)
    odd = (size > LARGEST) | (size < SMALLEST)
    if np.count_nonzero(odd) + np.count_nonzero(grade) == len(grade):  # all that is odd is 0
        return np.empty(0, np.int64)
    return np.flatnonzero(odd & (grade != 0))


def _check_range(path: str, grade: Floats, line: Callable[[], Ints] | None) -> None:
    """Raise where a grade is out of range; without lines, as in Python data, the rows are named."""
    rows = out_of_range(grade)
    if len(rows):
        place = rows if line is None else line()[rows]
        problems = Problems(path)
        wrong = grade[rows].tolist()
        problems.add(LineProblems.of(place, lambda i: f"the grade {wrong[i]!r} is out of range", _RESCALE))
        problems.check()


def _check_grades(
    path: str, again: Ints, before: Ints, documents: Ids, grade: Floats, line: Ints | None
) -> None:
    """Raise where a row that comes again has another grade than the one before."""
    other = np.flatnonzero(grade[again] != grade[before])
    again, before = again[other], before[other]

    def what(i: int) -> str:
        row, first = int(again[i]), int(before[i])
        place = f" in line {int(line[first]) + 1}" if line is not None else ""
        return (
            f"document {shown(documents[row])} has grade {grade[row]:g} here and {grade[first]:g} before{place}"
        )

    found = LineProblems.of(again if line is None else line[again], what)
    if line is None:
        found = found._replace(first=tuple(problem._replace(line=None) for problem in found.first))
    problems = Problems(path)
    problems.add(found)
    problems.check()


def _times(count: int) -> str:
    return "1 document is" if count == 1 else f"{count} documents are"


def is_relevant(grade: Floats, level: float | None) -> Bools:
    """Which grades are relevant: those from the level up, or above 0 without one; never those below 0."""
    return grade > 0 if level is None else grade >= max(level, 0.0)


def recalled(made: dict[Any, Any], key: Hashable, make: Callable[[], _Made]) -> _Made:
    """What make() returns, kept in `made` until RECALLED others have been asked for after it.

    So what is kept does not grow with the number of metrics, such as AP at each of thousands of levels.
    """
    value: _Made = made.pop(key) if key in made else make()
    made[key] = value  # the last place is that of what was asked for last
    if len(made) > RECALLED:
        del made[next(iter(made))]
    return value


@dataclass(frozen=True, eq=False)
class Hits:
    """The relevant documents that a run retrieved, in rank order within their queries.

    rows: where they stand in the table of judgments, int64 (H,). segments: how they fall into the Q queries.
    rank: float64 (H,). relevant: how many relevant documents were judged for each query, int64 (Q,).
    """

    rows: Ints
    segments: Segments
    rank: Floats
    relevant: Ints

    @cached_property
    def seen(self) -> Ints:
        """How many relevant documents of the query were retrieved up to and with this one, (H,)."""
        return self.segments.place + 1

    @cached_property
    def precision(self) -> Floats:
        """The precision at each of the ranks, (H,)."""
        return self.seen / self.rank

    def number(self, cutoff: float | Floats | None = None) -> Ints:
        """How many there are for each query, in the first ranks if there is a cutoff, (Q,).

        The cutoff may be a number for each query.
        """
        if cutoff is None:
            return self.segments.lengths
        if isinstance(cutoff, np.ndarray):
            cutoff = cutoff[self.segments.query]
        return self.segments.number(self.rank <= cutoff)


@dataclass(frozen=True, eq=False)
class Judgments:
    """Where a run put the judged documents: a row for each judgment, in rank order within its query.

    These are some of the qrels' queries, as many as are evaluated together.
    segments: how rows fall into the Q queries, in qrels order. grade: float64 (N,).
    rank: float64 (N,), 1-based, inf where the run did not retrieve the document (such rows come last).
    score: float64 (N,), never rising with the rank, -inf where not retrieved.
    document: the row of the qrels this is, int64 (N,).
    retrieved: documents retrieved for each query, judged or not, int64 (Q,).
    relevance_level: the least grade that is relevant, or None for any grade above 0.
    tag: what the run calls itself. qrels: where they are from; None where they are all there is.
    """

    segments: Segments
    grade: Floats
    rank: Floats
    score: Floats
    document: Ints
    retrieved: Ints
    relevance_level: float | None = None
    tag: str = ""
    qrels: Qrels | None = None

    @classmethod
    def of(
        cls,
        qrels: Qrels,
        queries: slice,
        rank: Floats,
        score: Floats,
        retrieved: Ints,
        level: float | None = None,
        tag: str = "",
    ) -> Judgments:
        """These queries of the qrels; rank and score, (N,), and retrieved, (Q,), are those of all."""
        offsets = qrels.offsets[queries.start : queries.stop + 1]
        rows = slice(offsets[0], offsets[-1])
        segments = Segments(offsets - offsets[0])
        rank, score, grade = rank[rows], score[rows], qrels.grade[rows]
        is_found = np.isfinite(rank)
        behind = rank.max(initial=0, where=is_found) + 1 + segments.place
        order = segments.descending(-np.where(is_found, rank, behind))
        return cls(
            segments,
            grade[order],
            rank[order],
            score[order],
            order + offsets[0],
            retrieved[queries],
            level,
            tag,
            qrels,
        )

    @property
    def grades(self) -> Floats:
        """The different grades in the whole qrels, ascending."""
        return distinct(self.grade) if self.qrels is None else self.qrels.grades

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """What make() returns: metrics share it by its key, and it is kept as long as it is in use."""
        return recalled(self._made, key, make)

    @property
    def query(self) -> Ints:
        """The query of each row, int64 (N,)."""
        return self.segments.query

    @cached_property
    def is_retrieved(self) -> Bools:
        return np.isfinite(self.rank)

    @cached_property
    def ideal(self) -> Floats:
        """The grades of each query from the highest to the lowest: the ideal ranking, float64 (N,)."""
        return self.segments.sorted_descending(self.grade)

    @cached_property
    def by_grade(self) -> Ints:
        """The rows of each query in an order that makes its grades fall, int64 (N,)."""
        return self.segments.descending(self.grade)

    @cached_property
    def ideal_levels(self) -> Segments:
        """The rows of the ideal ranking with equal grades, as segments of their own."""
        return self.segments.ties(self.ideal)

    @cached_property
    def levels(self) -> Segments:
        """Which of the ideal levels belong to each query: its lengths are the numbers of distinct grades."""
        return self.segments.over(self.ideal_levels)

    @cached_property
    def ideal_level(self) -> Ints:
        """The level of each row of the ideal ranking, int64 (N,); 0 is the query's lowest grade."""
        return self.levels.offsets[1:][self.query] - 1 - self.ideal_levels.query

    @cached_property
    def level(self) -> Ints:
        """Which of its query's distinct grades each row has, int64 (N,); 0 is the lowest."""
        level = np.empty(len(self.grade), np.int64)
        level[self.by_grade] = self.ideal_level
        return level

    @cached_property
    def highest(self) -> Floats:
        """The largest grade of each query, at least 0, float64 (Q,)."""
        return np.maximum(self.segments.max(self.grade), 0.0)

    @cached_property
    def found(self) -> Judgments:
        """The table without the documents that were not retrieved."""
        rows = np.flatnonzero(self.is_retrieved)
        return replace(
            self,
            segments=self.segments.take(rows),
            grade=self.grade[rows],
            rank=self.rank[rows],
            score=self.score[rows],
            document=self.document[rows],
        )

    @cached_property
    def tied_level(self) -> Ints:
        """The level of each row where documents with tied scores, or not retrieved, are in order of grade.

        The lowest grade comes first, int64 (N,).
        """
        tied = self.segments.ties(self.score)
        return -tied.sorted_descending(-self.level.astype(np.float64)).astype(np.int64)

    def top(self, cutoff: int | None) -> Bools:
        """Which rows were retrieved, in the first ranks if there is a cutoff, (N,)."""
        return self.is_retrieved if cutoff is None else self.rank <= cutoff

    def relevant(self, rel: float | None = None) -> Bools:
        """Which rows are relevant, (N,): grade >= rel, by default >= the relevance level, by default > 0.

        A grade below 0 is never relevant.
        """
        return is_relevant(self.grade, self.relevance_level if rel is None else rel)

    def hits(self, rel: float | None = None) -> Hits:
        """The relevant documents that were retrieved; with rel=0 the judged ones."""
        level = self.relevance_level if rel is None else rel

        def find() -> Hits:
            relevant = self.relevant(level)
            rows = np.flatnonzero(relevant & self.is_retrieved)
            return Hits(rows, self.segments.take(rows), self.rank[rows], self.segments.number(relevant))

        return self.once(("hits", level), find)

    def judged_only(self) -> Judgments:
        """The ranking without its unjudged documents: ranks close up, and only judged ones are retrieved.

        A grade below 0 says that the document was not judged after all, as in trec_eval.
        """
        kept = self.is_retrieved & (self.grade >= 0)
        retrieved = self.segments.number(kept)
        # those kept come first, and all stay in order
        first = self.segments.running_count(kept) - 1
        last = retrieved[self.query] + self.segments.running_count(~kept) - 1
        order = np.empty(len(kept), np.int64)
        order[self.segments.offsets[self.query] + np.where(kept, first, last)] = np.arange(len(kept))
        kept = kept[order]
        return replace(
            self,
            grade=self.grade[order],
            rank=np.where(kept, self.segments.place + 1.0, np.inf),
            score=np.where(kept, self.score[order], -np.inf),
            document=self.document[order],
            retrieved=retrieved,
        )

    def cut(self, depth: int) -> Judgments:
        """The ranking without what stands below the depth."""
        kept = self.rank <= depth
        return replace(
            self,
            rank=np.where(kept, self.rank, np.inf),
            score=np.where(kept, self.score, -np.inf),
            retrieved=np.minimum(self.retrieved, depth),
        )
