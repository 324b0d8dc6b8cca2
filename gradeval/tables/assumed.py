"""Judgments that are assumed: every document that a run retrieves and nobody judged has one grade.

Its documents are not known by their ids: they have the ranks that no judged document has.
"""

from __future__ import annotations

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, distinct, offsets_of, ranges, stable_order
from gradeval.arrays.strings import Ids
from gradeval.records import Record
from gradeval.tables.qrels import Qrels, Subtopics
from gradeval.tables.ranking import NO_SCORES, NO_TIES, Ties
from gradeval.tables.reduction import Reduced

_NO_ID = Ids.of([b""])


def with_ties(qrels: Qrels, reduced: Reduced) -> Ints:
    """The queries that have a judged document with a tied score: the order of others changes nothing."""
    return distinct(np.searchsorted(qrels.offsets, reduced.ties.row, "right") - 1)


def part_of(qrels: Qrels, reduced: Reduced, queries: slice) -> tuple[Qrels, Reduced]:
    """Some queries of the judgments, and the run reduced to them, without its ties."""
    first, last = qrels.offsets[[queries.start, queries.stop]].tolist()
    rows = slice(first, last)
    part = qrels.replace(
        queries=qrels.queries.take(queries),
        offsets=qrels.offsets[queries.start : queries.stop + 1] - first,
        documents=qrels.documents.take(rows),
        grade=qrels.grade[rows],
    )
    if qrels.subtopics is not None:
        some = slice(*np.searchsorted(qrels.subtopics.row, [first, last]).tolist())
        topic = qrels.subtopics.topic[some]
        row, topic = qrels.subtopics.row[some] - first, topic - topic.min()
        grade = qrels.subtopics.grade[some]
        part = part.replace(subtopics=Subtopics(Segments(part.offsets), row, topic, grade, part.documents))
    part.__dict__["scale"] = qrels.scale  # that of all queries: the gains of a part depend on it
    of_run = reduced.replace(
        rank=reduced.rank[rows],
        score=reduced.score[rows],
        retrieved=reduced.retrieved[queries],
        scores=reduced.scores_of(np.arange(queries.start, queries.stop)),
        ties=NO_TIES,
    )
    return part, of_run


def completed(
    qrels: Qrels, reduced: Reduced, depth: int | None, queries: Ints | None = None
) -> tuple[Qrels, Reduced]:
    """The judgments with those that are assumed, if any are, and the run reduced to them. Of a query the judged
    documents come first, then the others by rank. depth: below it nothing is retrieved. queries: those whose
    judgments are completed, ascending, by default all.
    """
    if qrels.assumed is None:
        return qrels, reduced
    queries = np.arange(len(qrels.queries)) if queries is None else queries
    documents = RetrievedDocuments.of(qrels, reduced, queries)
    query, above, score = documents.to_judge(depth)
    order = stable_order(np.append(Segments(qrels.offsets).query, query))
    rank = np.append(reduced.rank, above + 1.0)[order]
    offsets = qrels.offsets + offsets_of(np.bincount(query, minlength=len(qrels.queries)))
    names = Ids.joined([qrels.documents.compact(), _NO_ID.light() if qrels.documents.short else _NO_ID])
    of_all = qrels.replace(
        offsets=offsets,
        documents=names.take(np.minimum(order, len(qrels.grade))),
        grade=np.append(qrels.grade, np.full(len(query), qrels.assumed))[order],
        assumed=None,
    )
    if qrels.subtopics is not None:
        of_all = of_all.replace(subtopics=_of_subtopics(of_all, order, qrels.subtopics, qrels.assumed))
    of_all.__dict__["scale"] = qrels.scale  # that of the qrels, whatever this run retrieves
    ties = documents.ties(rank, Segments(offsets).query)
    of_run = reduced.replace(
        rank=rank, score=np.append(reduced.score, score)[order], ties=ties, scores=NO_SCORES
    )
    return of_all, of_run


class RetrievedDocuments(Record, eq=False):
    """The n documents that a run retrieves for some queries, by rank."""

    queries: Ints  # those of the qrels, ascending, (S,)
    segments: Segments  # how the documents fall into them
    scores: Floats  # (n,)
    unjudged: Ints  # which of them are not judged

    @classmethod
    def of(cls, qrels: Qrels, reduced: Reduced, queries: Ints) -> RetrievedDocuments:
        segments = Segments(offsets_of(reduced.retrieved[queries]))
        lengths = np.diff(qrels.offsets)[queries]
        rank = reduced.rank[ranges(qrels.offsets[queries], lengths)]
        is_retrieved = np.isfinite(rank)
        query = np.arange(len(queries)).repeat(lengths)[is_retrieved]
        unjudged = segments.other_rows(query, rank[is_retrieved].astype(np.int64))
        return cls(queries, segments, reduced.scores_of(queries), unjudged)

    def to_judge(self, depth: int | None) -> tuple[Ints, Ints, Floats]:
        """The query, how many documents are above it, and the score of each document without a judgment."""
        rows = self.unjudged
        if depth is not None:
            rows = rows[self.segments.place[rows] < depth]
        return self.queries[self.segments.query[rows]], self.segments.place[rows], self.scores[rows]

    def ties(self, rank: Floats, query: Ints) -> Ties:
        """The documents with tied scores. rank, query: of each judgment."""
        groups = self.segments.ties(self.scores)
        count = int(np.append(query, self.queries).max(initial=-1)) + 1
        first = np.full(count, -1)
        first[self.queries] = self.segments.starts
        row = np.flatnonzero(np.isfinite(rank) & (first[query] >= 0))
        group = groups.query[first[query[row]] + rank[row].astype(np.int64) - 1]
        is_tied = groups.lengths[group] > 1
        row, group = row[is_tied], group[is_tied]
        start = self.segments.place[groups.offsets[group]] + 1
        return Ties(row, start, start + groups.lengths[group] - 1)


def _of_subtopics(qrels: Qrels, order: Ints, judged: Subtopics, grade: float) -> Subtopics:
    """The judgments by subtopic: other documents have this grade for each subtopic of their query. order: the
    rows of the judged documents, then the others, as rows of the qrels.
    """
    segments = Segments(qrels.offsets)
    row_of = np.empty(len(order), np.int64)
    row_of[order] = np.arange(len(order))
    query_of_topic = np.empty(int(judged.topic.max(initial=-1)) + 1, np.int64)
    query_of_topic[judged.topic] = judged.query
    first = np.searchsorted(query_of_topic, np.arange(segments.count + 1))  # topics are numbered by query
    unjudged = row_of[len(judged.segments.query) :]
    query = segments.query[unjudged]
    number = np.diff(first)[query]
    row = np.append(row_of[judged.row], unjudged.repeat(number))
    topic = np.append(judged.topic, ranges(first[query], number))
    grades = np.append(judged.grade, np.full(len(row) - len(judged.row), grade))
    by_row = stable_order(row)
    return Subtopics(segments, row[by_row], topic[by_row], grades[by_row], qrels.documents)
