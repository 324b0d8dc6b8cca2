"""Judgments as they were read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gradeval.arrays import Floats, Ints, Words
from gradeval.arrays.hashing import KeyTable, in_group
from gradeval.arrays.segments import Segments, distinct, ranges, stable_order
from gradeval.arrays.strings import IdIndex, Ids, repeats
from gradeval.arrays.threads import ordered_map
from gradeval.errors import OptionError
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import LineProblems, Problems, no_data, shown
from gradeval.grades import LARGEST, RANGE, SMALLEST
from gradeval.notices import Kind, Notice
from gradeval.tables.ideal import Ideal

SHARE = 1 << 16  # rows whose columns fit the processor's cache, where metrics are several times faster


@dataclass(frozen=True, eq=False, repr=False)
class Qrels:
    """Judgments as read: a row for each (query, document, grade), the rows of a query together.

    path: as the user named it. queries: the query ids in order of first appearance, (Q,).
    offsets: query q owns rows offsets[q]:offsets[q+1], (Q+1,). documents: (N,) ids. grade: float64 (N,).
    notices: what is unusual but valid.
    """

    path: str
    queries: Ids
    offsets: Ints
    documents: Ids
    grade: Floats
    notices: tuple[Notice, ...] = ()

    @classmethod
    def of(cls, path: str, blocks: Iterable[Columns], jobs: int = 1) -> Qrels:
        """Judgments as a reader returns them.

        Raises InputError(s) of the reader, and where a grade is out of range, or a document has two different
        grades for a query; the same grade twice is a warning.
        """
        problems = Problems(path, "qrels")
        parts = [part for _, part in problems.until_enough(blocks)]
        problems.check()
        if not any(len(part.value) for part in parts):
            raise no_data(path, problems.lines)
        bounds = np.cumsum(np.concatenate([[0], *(np.diff(part.bounds) for part in parts)]))
        ids = Ids.joined([part.queries for part in parts])
        documents = Ids.joined([part.documents for part in parts])
        grade = np.concatenate([part.value for part in parts])
        lines = [(part.line, part.lines) for part in parts]
        del parts  # to reuse their memory

        def line() -> Ints:
            """The 0-based line of each row, for messages."""
            before = np.cumsum([0, *(count for _, count in lines)])
            return np.concatenate([line + by for (line, _), by in zip(lines, before[:-1], strict=True)])

        check_range(path, grade, line)
        starts = np.append(0, ids.changes())[: len(ids)]
        ids, bounds = ids.take(starts), bounds[np.append(starts, len(ids))]
        first, number = ids.distinct()
        rows: Ints | slice = slice(None)
        if len(first) < len(ids):  # the rows of a query are not together
            order, counts = stable_order(number), np.diff(bounds)
            rows = ranges(bounds[order], counts[order])
            documents, grade = documents.take(rows), grade[rows]
            bounds = np.append(0, np.cumsum(np.bincount(number, counts))).astype(np.int64)
        qrels = cls(path, ids.take(first).compact(), bounds, documents, grade)
        found = list(ordered_map(qrels._keys_and_repeats, qrels.shares(), jobs))
        keys, again, before = (np.concatenate(column) for column in zip(*found, strict=True))
        if len(again):
            _check_grades(path, again, before, documents, grade, line()[rows])
            kept = np.ones(len(grade), bool)
            kept[again] = False
            qrels = replace(
                qrels,
                offsets=np.append(0, np.cumsum(kept))[bounds],
                documents=documents.take(kept),
                grade=grade[kept],
                notices=(Notice(Kind.DUPLICATES, path, len(again)),),
            )
            keys = keys[kept]
        qrels.__dict__["keys"] = keys  # fills the cached property
        return qrels

    def _keys_and_repeats(self, queries: slice) -> tuple[Words, Ints, Ints]:
        """The keys of these queries' documents; the rows of duplicates, and of their first judgments."""
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
    def scale(self) -> Floats:
        """The different grades, ascending."""
        return distinct(self.grade)

    @cached_property
    def ideal(self) -> Ideal:
        """What depends on the grades alone, kept for qrels that are scored as a whole, of one share."""
        return Ideal(Segments(self.offsets), self.grade)

    def shares(self) -> list[slice]:
        """The queries in shares of about SHARE judgments each."""
        steps = np.arange(0, len(self.grade), SHARE)[1:]
        cuts = distinct(np.concatenate([[0], np.searchsorted(self.offsets, steps), [len(self.queries)]]))
        return [slice(a, b) for a, b in itertools.pairwise(cuts.tolist())]

    def shift_grades(self, zero_grade: float) -> Qrels:
        """The same judgments with zero_grade subtracted from every grade, both as decimal numbers.

        Raises OptionError where a result is out of the range of grades.
        """
        if zero_grade == 0:
            return self
        from gradeval.decimals import subtracted  # imported only when needed

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
    if np.count_nonzero(odd) + np.count_nonzero(grade) == len(grade):  # only zeros are outside
        return np.empty(0, np.int64)
    return np.flatnonzero(odd & (grade != 0))


def check_range(path: str, grade: Floats, line: Callable[[], Ints]) -> None:
    """Raise where a grade is out of range."""
    rows = out_of_range(grade)
    if len(rows):
        problems = Problems(path)
        wrong = grade[rows].tolist()
        problems.add(
            LineProblems.of(line()[rows], lambda i: f"the grade {wrong[i]!r} is out of range", _RESCALE)
        )
        problems.check()


def _check_grades(path: str, again: Ints, before: Ints, documents: Ids, grade: Floats, line: Ints) -> None:
    """Raise where a repeated row has another grade than the first."""
    other = np.flatnonzero(grade[again] != grade[before])
    again, before = again[other], before[other]

    def what(i: int) -> str:
        row, first = int(again[i]), int(before[i])
        grades = f"grade {grade[row]:g} here and {grade[first]:g} before in line {int(line[first]) + 1}"
        return f"document {shown(documents[row])} has {grades}"

    problems = Problems(path)
    problems.add(LineProblems.of(line[again], what))
    problems.check()
