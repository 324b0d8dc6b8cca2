"""Ranks of the judged documents: the table that every metric is computed from."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.arrays.segments import Segments, distinct, offsets_of, ranges, stable_order
from gradeval.errors import MetricError
from gradeval.records import Record, fields_of
from gradeval.tables.qrels import Ideal, Qrels, Recalling, Subtopics, is_relevant
from gradeval.tables.terms import Terms


class Hits(Record, eq=False):
    """The relevant documents that a run retrieved, in rank order within their Q queries."""

    rows: Ints  # of the table of judgments, (H,)
    segments: Segments
    rank: Floats  # of each, (H,)
    relevant: Ints  # how many relevant documents were judged for each query, (Q,)

    @classmethod
    def of(cls, judgments: Judgments, chosen: Bools, relevant: Ints) -> Hits:
        """Those of the chosen documents, (N,), that were retrieved."""
        [rows] = (chosen & judgments.is_retrieved).nonzero()
        return cls(rows, judgments.segments.take(rows), judgments.rank[rows], relevant)

    @cached_property
    def seen(self) -> Ints:
        """How many relevant documents of the query were retrieved up to and including this one, (H,)."""
        return self.segments.place + 1

    @cached_property
    def precision(self) -> Floats:
        """The precision at each of the ranks, (H,)."""
        return self.seen / self.rank

    @property
    def count(self) -> Ints:
        """How many there are for each query, (Q,)."""
        return self.segments.lengths

    @cached_property
    def first(self) -> Hits:
        """The first of each query."""
        return self.take(self.segments.starts[self.count > 0])

    def top(self, cutoff: float | Floats | Ints | None) -> Hits:
        """Those in the first ranks, if there is a cutoff; it may be a number for each query, (Q,)."""
        if cutoff is None:
            return self
        last = cutoff[self.segments.query] if isinstance(cutoff, np.ndarray) else cutoff
        [rows] = (self.rank <= last).nonzero()
        return self if len(rows) == len(self.rows) else self.take(rows)

    def take(self, rows: Ints) -> Hits:
        """Only these, in ascending order."""
        return Hits(self.rows[rows], self.segments.take(rows), self.rank[rows], self.relevant)


class BySubtopic(Record):
    """The judgments of a table's documents for subtopics."""

    subtopics: Subtopics  # of the whole qrels
    queries: Ints  # which of theirs those of the table are, (Q,)
    row: Ints  # of the table, (T,)
    judgment: Ints  # of the subtopics, (T,)


class Judgments(Record, Recalling, eq=False):
    """Ranks of the judged documents: N rows, one for each judgment, in rank order within its query. The queries
    are a part of those of the qrels.
    """

    segments: Segments  # the Q queries that rows belong to, in qrels order
    grade: Floats  # float64 (N,)
    rank: Floats  # float64 (N,), 1-based, inf where the run did not retrieve the document; such rows come last
    score: Floats  # float64 (N,), not increasing with the rank, -inf where not retrieved
    document: Ints  # the row of the qrels, int64 (N,)
    retrieved: Ints  # documents retrieved for each query, judged or not, int64 (Q,)
    relevance_level: float | None = None  # the lowest grade that counts as relevant; None: any above 0
    tag: str = ""  # the run tag
    # the distinct grades of the whole qrels, ascending, (K,), so that a part of a collection scores as it would
    # within the whole; by default those of this table
    scale: Floats = None  # type: ignore[assignment]  # set below if not given
    no_relevant: float = 0.0  # the value of a metric that needs a relevant document for a query without one
    # for values expected over the orders of tied scores: the rank of the first document with the score of each
    # row, (N,), inf where not retrieved
    first: Floats | None = None
    last: Floats | None = None  # likewise of the last document
    depth: float = np.inf  # the number of ranks that count
    of_qrels: Subtopics | None = None  # the subtopics of the qrels, where they have several

    def __post_init__(self) -> None:
        if self.scale is None:
            self.__dict__["scale"] = distinct(self.grade)

    @classmethod
    def of(
        cls, qrels: Qrels, queries: slice | Ints, rank: Floats, score: Floats, retrieved: Ints, **fields: Any
    ) -> Judgments:
        """These queries of the qrels; rank and score, (N,), and retrieved, (Q,), are those of all. With ranks
        in K orders, (K, N), the table has the queries K times. fields: further ones.
        """
        is_whole = isinstance(queries, slice) and queries.stop - queries.start == len(qrels.queries)
        if isinstance(queries, slice):
            offsets = qrels.offsets[queries.start : queries.stop + 1]
            rank = rank[offsets[0] : offsets[-1]]
        else:
            counts = qrels.ideal.segments.lengths[queries]
            document = ranges(qrels.offsets[queries], counts)
            rank = rank[..., document]
            if rank.ndim > 1:
                document, counts, queries = (np.tile(rows, len(rank)) for rows in (document, counts, queries))
                rank = rank.ravel()
            offsets = offsets_of(counts)
        segments = qrels.ideal.segments if is_whole else Segments(offsets - offsets[0])
        # what was retrieved comes first, by rank; the others stay in order
        not_found = retrieved.max(initial=0) + 1
        order = stable_order(segments.query, np.minimum(rank, not_found).astype(np.int64))
        document = order + offsets[0] if isinstance(queries, slice) else document[order]
        columns = qrels.grade[document], rank[order], score[document], document, retrieved[queries]
        fields = {"scale": qrels.scale, **fields}
        judgments = cls(segments, *columns, of_qrels=qrels.subtopics, **fields)
        if is_whole:
            judgments.__dict__["best"] = qrels.ideal  # fills the cached property
        return judgments

    def __getstate__(self) -> dict[str, Any]:
        """The fields only: cached values are recomputed."""
        return fields_of(self)

    @property
    def query(self) -> Ints:
        """The query of each row, int64 (N,)."""
        return self.segments.query

    @cached_property
    def is_retrieved(self) -> Bools:
        return np.isfinite(self.rank)

    @cached_property
    def best(self) -> Ideal:
        """Values that depend on the grades only."""
        return Ideal(self.segments, self.grade)

    @property
    def ideal(self) -> Floats:
        """The grades of each query from the highest to the lowest: the ideal ranking, float64 (N,)."""
        return self.best.grades

    @cached_property
    def by_grade(self) -> Ints:
        """The rows of each query by descending grade, int64 (N,)."""
        return self.segments.descending(self.grade)

    @property
    def ideal_levels(self) -> Segments:
        """The rows of the ideal ranking with equal grades, as segments of their own."""
        return self.best.levels

    @cached_property
    def levels(self) -> Segments:
        """Which of the ideal levels belong to each query: its lengths are the numbers of distinct grades."""
        return self.segments.over(self.ideal_levels)

    @cached_property
    def ideal_level(self) -> Ints:
        """The level of each row of the ideal ranking, int64 (N,); 0 is the query's lowest grade."""
        return self.levels.ends[self.query] - 1 - self.ideal_levels.query

    @cached_property
    def level(self) -> Ints:
        """Which of its query's distinct grades each row has, int64 (N,); 0 is the lowest."""
        level = np.empty(len(self.grade), np.int64)
        level[self.by_grade] = self.ideal_level
        return level

    @property
    def highest(self) -> Floats:
        """The largest grade of each query, at least 0, float64 (Q,)."""
        return self.best.highest

    @cached_property
    def judged_seen(self) -> Ints:
        """How many of the query's rows up to and with this one have a grade of 0 or more, (N,)."""
        return self.segments.running_count(self.grade >= 0)

    @cached_property
    def found(self) -> Judgments:
        """The table without the documents that were not retrieved."""
        rows = np.flatnonzero(self.is_retrieved)
        columns = ("segments", "grade", "rank", "score", "document")
        return self.replace(**{name: getattr(self, name).take(rows) for name in columns})

    def top(self, cutoff: int | None) -> Bools:
        """Which rows were retrieved, in the first ranks if there is a cutoff, (N,)."""
        return self.is_retrieved if cutoff is None else self.rank <= cutoff

    def relevant(self, rel: float | None = None) -> Bools:
        """Which rows are relevant, (N,): grade >= rel, by default the relevance level or > 0; none below 0."""
        return is_relevant(self.grade, self.relevance_level if rel is None else rel)

    def hits(self, rel: float | None = None, cutoff: int | None = None) -> Hits:
        """The relevant documents retrieved, in the first ranks if there is a cutoff; the judged for rel=0."""
        return self.hits_from(self.relevance_level if rel is None else rel).top(cutoff)

    def hits_from(self, level: float | None) -> Hits:
        """The documents retrieved whose grade is at least the level; of None, above 0."""

        def find() -> Hits:
            return Hits.of(self, is_relevant(self.grade, level), self.best.relevant(level))

        return self.once(("hits", level), find)

    @cached_property
    def by_subtopic(self) -> BySubtopic:
        """The judgments of the documents by subtopic; without subtopics, each query is one."""
        if self.of_qrels is None:
            rows = np.arange(len(self.grade))
            whole = Subtopics(self.segments, rows, self.query, self.grade)
            return BySubtopic(whole, np.arange(self.segments.count), rows, rows)
        subtopics = self.of_qrels
        order = np.argsort(self.document)
        first, after = (
            np.searchsorted(subtopics.row, self.document[order], side) for side in ("left", "right")
        )
        queries = subtopics.segments.query[self.document[self.segments.starts]]
        return BySubtopic(subtopics, queries, np.repeat(order, after - first), ranges(first, after - first))

    def with_ties(self, first: Floats, last: Floats) -> Judgments:
        """The table for expected values. first, last: of each judgment of the qrels."""
        return self.replace(first=first[self.document], last=last[self.document])._sharing(self)

    @cached_property
    def tied(self) -> Judgments:
        """The ranking in which each document has the first rank of its group of tied scores."""
        assert self.first is not None
        rank = np.where(self.first <= self.depth, self.first, np.inf)
        return self.replace(rank=rank)._sharing(self)

    def expected(self, terms: Terms) -> Terms | None:
        """The terms of this ranking, Judgments.tied, expected over the orders of tied scores."""
        assert self.first is not None and self.last is not None
        return terms.expected(self.first, self.last, self.depth)

    @property
    def divided(self) -> Bools:
        """Whether the depth divides the ties of a document, (N,)."""
        assert self.first is not None and self.last is not None
        return (self.first <= self.depth) & (self.last > self.depth)

    def with_divided(self, is_retrieved: bool) -> Judgments:
        """The ranking with all documents whose ties the depth divides, or without any."""
        assert self.first is not None
        rank, score = (self.first, np.finfo(float).min) if is_retrieved else (np.inf, -np.inf)  # the last score
        return self.replace(
            rank=np.where(self.divided, rank, self.rank), score=np.where(self.divided, score, self.score)
        )._sharing(self)

    def _sharing(self, other: Judgments) -> Judgments:
        """This table, which has the grades of the other."""
        self.__dict__["best"] = other.best
        return self

    def check_depth_divides_no_ties(self) -> None:
        """Raise MetricError where documents with the same score are above and below the depth."""
        if self.first is not None and self.divided.any():
            message = "no expected value where --depth divides documents with tied scores"
            raise MetricError(message, hint="Leave out --depth, or give another --ties")

    def judged_only(self) -> Judgments:
        """The condensed list: without unjudged documents and, as in trec_eval, those of a grade below 0."""
        stays = self.is_retrieved & (self.grade >= 0)
        retrieved = self.segments.number(stays)
        order = stable_order(self.query, (~stays).astype(np.int64))  # rows that are kept come first
        stays = stays[order]
        ties = {}
        if self.first is not None:
            self.check_depth_divides_no_ties()
            groups = self.segments.ties(np.where(stays, self.first[order], np.inf))
            start = self.segments.place[groups.starts][groups.query] + 1.0
            end = start + groups.lengths[groups.query] - 1
            ties = {"first": np.where(stays, start, np.inf), "last": np.where(stays, end, np.inf)}
        return self.replace(
            grade=self.grade[order],
            rank=np.where(stays, self.segments.place + 1.0, np.inf),
            score=np.where(stays, self.score[order], -np.inf),
            document=self.document[order],
            retrieved=retrieved,
            **ties,
        )

    def cut(self, depth: int) -> Judgments:
        """The ranking cut at this depth."""
        stays = self.rank <= depth
        return self.replace(
            rank=np.where(stays, self.rank, np.inf),
            score=np.where(stays, self.score, -np.inf),
            retrieved=np.minimum(self.retrieved, depth),
            depth=float(depth),
        )
