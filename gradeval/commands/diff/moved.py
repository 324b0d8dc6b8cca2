"""The documents in the first ranks of two runs: how many moved, by grade, and those of a query side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, ranges
from gradeval.arrays.strings import IdIndex, Ids, Texts
from gradeval.commands.diff.rankings import COUNTS, Baseline, ComparedRun
from gradeval.errors import InputError
from gradeval.records import Record
from gradeval.tables.qrels import Qrels

UNJUDGED = "unjudged"
_MOST_GRADES = 20  # by which documents are counted


class MovedDocument(NamedTuple):
    """A document of the first ranks of a run."""

    id: str
    other_rank: int | None  # in the first ranks of the other run, None where it is not in them
    grade: float | None  # None where it is not judged


class ChangedQuery(NamedTuple):
    """The first ranks of a query, side by side."""

    query: str
    rbo: float
    old: tuple[MovedDocument, ...]
    new: tuple[MovedDocument, ...]


def changed_query(baseline: Baseline, run: ComparedRun, q: int, qrels: Qrels) -> ChangedQuery:
    """q: of the baseline's queries. The run has its first ranks."""
    new = run.ranked.of_query(int(run.row[q]))
    old = baseline.ranked.of_query(q)[: run.shown]
    query = baseline.queries[q]
    grades: dict[str, float] = {}
    for at in qrels.positions([query], is_part=True).tolist():
        rows = slice(*qrels.offsets[at : at + 2].tolist())
        grades = dict(zip(Texts(qrels.documents.take(rows)), qrels.grade[rows].tolist(), strict=True))

    def documents(side: Sequence[str], other: Sequence[str]) -> tuple[MovedDocument, ...]:
        rank = {name: position for position, name in enumerate(other, 1)}
        return tuple(MovedDocument(name, rank.get(name), grades.get(name)) for name in side)

    return ChangedQuery(query, float(run.values[0, q]), documents(old, new), documents(new, old))


class GradeLevels(Record, eq=False):
    """The different grades of qrels, and what measures call them."""

    scale: Floats
    names: Sequence[str]  # of the grades, then of unjudged documents

    @classmethod
    def of(cls, qrels: Qrels) -> GradeLevels:
        """Raises InputError for too many."""
        scale = qrels.scale
        if len(scale) > _MOST_GRADES:
            message = f"{len(scale):,} different grades, too many to count the documents that moved by grade"
            raise InputError(qrels.path, message, hint=f"Round them to {_MOST_GRADES} at most")
        return cls(scale, [*(f"grade={grade:.15g}" for grade in scale.tolist()), UNJUDGED])


def moved_by_grade(
    baseline: Baseline, run: ComparedRun, qrels: Qrels, levels: GradeLevels, cutoffs: Sequence[int]
) -> Mapping[str, Floats]:
    """How many documents of each grade are new, lost, up and down in the first k, by measure, (Q,) each, as
    'new(grade=2)@10' and 'lost(unjudged)@10' are. The run has its first ranks.
    """
    queries = len(run.row)
    moved = _Documents.of(baseline, run, qrels)
    level = np.where(np.isnan(moved.grade), len(levels.scale), np.searchsorted(levels.scale, moved.grade))
    cell = moved.query * len(levels.names) + level
    values: dict[str, Floats] = {}
    for k in cutoffs:
        old, new = moved.rank
        in_both = (old <= k) & (new <= k)
        changes = ((old > k) & (new <= k), (old <= k) & (new > k), in_both & (new < old), in_both & (new > old))
        for name, rows in zip(COUNTS, changes, strict=True):
            counts = np.bincount(cell[rows], minlength=queries * len(levels.names)).reshape(queries, -1)
            for grade, of_grade in zip(levels.names, counts.T, strict=True):
                values[f"{name}({grade})@{k}"] = of_grade.astype(np.float64)
    return {name: values[name] for name in sorted(values, key=_order)}


def _order(name: str) -> int:
    """Sorts names by new, lost, up, down; the stable sort keeps cutoffs and grades in order."""
    return COUNTS.index(name.partition("(")[0])


class _Documents(NamedTuple):
    """The documents of the first ranks of either run."""

    query: Ints  # (D,)
    rank: Floats  # in both runs, (2, D), inf where it is not in the first ranks
    grade: Floats  # NaN where it is not judged, (D,)

    @classmethod
    def of(cls, baseline: Baseline, run: ComparedRun, qrels: Qrels) -> _Documents:
        """Each once, whether it is judged, in the old run or in the new one."""
        in_both = np.flatnonzero(run.in_both)
        judged = IdIndex(qrels.queries).find(baseline.qrels.queries)[in_both]
        parts = [
            _rows(Segments(qrels.offsets), in_both[judged >= 0], judged[judged >= 0]),
            _rows(baseline.ranked.segments, in_both, in_both, run.shown),
            _rows(run.ranked.segments, in_both, run.row[in_both], run.shown),
        ]
        ids = [qrels.documents, baseline.qrels.documents, run.ranked.documents]
        documents = Ids.joined(
            [of_part.take(part.row).detached() for of_part, part in zip(ids, parts, strict=True)]
        )
        query = np.concatenate([part.query for part in parts])
        first, number = documents.distinct(query)
        bounds = np.cumsum([0, *(len(part.row) for part in parts)])
        grade = np.full(len(first), np.nan)
        rank = np.full((2, len(first)), np.inf)
        values = [qrels.grade[parts[0].row], parts[1].position + 1, parts[2].position + 1]
        for column, value, start, end in zip((grade, *rank), values, bounds, bounds[1:], strict=False):
            column[number[start:end]] = value
        is_retrieved = np.isfinite(rank).any(axis=0)
        return cls(query[first][is_retrieved], rank[:, is_retrieved], grade[is_retrieved])


class _Rows(NamedTuple):
    """Rows of a table of documents."""

    query: Ints  # of each, as the baseline numbers them
    row: Ints
    position: Ints  # in its query, from 0


def _rows(segments: Segments, query: Ints, index: Ints, count: int | None = None) -> _Rows:
    """The first rows of these queries. index: of each in the segments. count: all by default."""
    lengths = segments.lengths[index] if count is None else np.minimum(segments.lengths[index], count)
    row = ranges(segments.offsets[index], lengths)
    return _Rows(query.repeat(lengths), row, row - segments.offsets[index].repeat(lengths))
