"""From run lines to ranks: sorts within queries, breaks ties, and finds the judged documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments, distinct, ranges, stable_order
from gradeval.arrays.strings import Ids, KeyTable, repeats, salts
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import LineProblems, first_in, shown
from gradeval.options import BEST, Options
from gradeval.records import Record
from gradeval.tables.qrels import Qrels

REVERSED = "reversed"  # the order of ties that is trec_eval's where documents are named 1, 2, … in file order


class RunLines(Record):
    """Run lines as read, grouped by query. query: the index of each query, (S,); below Q it is a query of the
    qrels, from Q on it is not judged. bounds: query s owns rows bounds[s]:bounds[s+1], (S+1,). documents,
    score, line: of each row, (n,). rank: as in Columns.
    """

    query: Ints
    bounds: Ints
    documents: Ids
    score: Floats
    line: Ints
    rank: Floats | None = None

    @classmethod
    def of(cls, columns: Columns, qrels: Qrels) -> RunLines:
        """A run that is in memory whole."""
        query = query_indices(qrels, columns.queries)
        lengths = np.diff(columns.bounds)
        if len(distinct(query)) == len(query) and lengths.all():  # each query's lines are together
            return cls(query, columns.bounds, columns.documents, columns.value, columns.line, columns.rank)
        query_of_line = np.repeat(query, lengths)
        return cls.grouped(query_of_line, columns.documents, columns.value, columns.line, columns.rank)

    @classmethod
    def grouped(cls, query: Ints, *columns: Any) -> RunLines:
        """Group the lines by query, (n,), with their other fields; lines of one query stay in order."""
        order: Ints | slice = slice(None)
        if (query[1:] < query[:-1]).any():
            order = stable_order(query)
            query = query[order]
        starts = np.flatnonzero(np.concatenate([[True], query[1:] != query[:-1]])[: len(query)])
        bounds = np.append(starts, len(query))
        return cls(query[starts], bounds, *columns).take(order, query[starts], bounds)

    def take(self, rows: Ints | slice, query: Ints, bounds: Ints) -> RunLines:
        """Some of the rows, of these queries."""
        rank = None if self.rank is None else self.rank[rows]
        return RunLines(query, bounds, self.documents.take(rows), self.score[rows], self.line[rows], rank)

    @classmethod
    def joined(cls, parts: list[RunLines], begins: list[int]) -> RunLines:
        """Parts of queries, in order, joined. begins: the first part of each query."""
        score = np.concatenate([part.score for part in parts])
        documents = Ids.joined([part.documents for part in parts])
        line = np.concatenate([part.line for part in parts])
        ranks = [part.rank for part in parts if part.rank is not None]
        rank = np.concatenate(ranks) if ranks else None
        query = np.array([parts[begin].query[0] for begin in begins])
        bounds = np.append(0, np.cumsum([len(part.line) for part in parts]))[[*begins, -1]]
        return cls(query, bounds, documents, score, line, rank)

    def part(self, first: int, last: int) -> RunLines:
        """Queries first:last."""
        bounds = self.bounds[first : last + 1]
        return self.take(slice(int(bounds[0]), int(bounds[-1])), self.query[first:last], bounds - bounds[0])

    def compact(self) -> RunLines:
        """The same lines, which keep no other memory alive."""
        rank = None if self.rank is None else self.rank.copy()
        return self.replace(
            documents=self.documents.compact(), score=self.score.copy(), line=self.line.copy(), rank=rank
        )


class Ties(Record):
    """The judged documents with tied scores: rows of the qrels, and the ranks of all with the score, (n,)."""

    row: Ints
    first: Ints
    last: Ints

    def ends(self, rank: Floats) -> tuple[Floats, Floats]:
        """The ranks of the first and the last document with the score of each judgment; these are its ranks."""
        first, last = rank.copy(), rank.copy()
        first[self.row], last[self.row] = self.first, self.last
        return first, last


_NOTHING_TIED = (np.empty(0, np.int64),) * 3
NO_TIES = Ties(*_NOTHING_TIED)


class IdenticalIds(Record):
    """The judged queries that retrieved a document with their own id. rank: its best one among tied scores."""

    query: Ints
    rank: Ints


NO_IDENTICAL_IDS = IdenticalIds(*[np.empty(0, np.int64)] * 2)


class Repeats(Record, eq=False):
    """The duplicate documents of queries: the line of each, that of its first occurrence, and its id, (n,)."""

    line: Ints
    first: Ints
    documents: Ids

    @classmethod
    def of(cls, lines: RunLines, again: Ints, first: Ints) -> Repeats:
        """again, first: the duplicate rows, and the rows of their first occurrences."""
        return cls(lines.line[again], lines.line[first], lines.documents.take(again))

    def problems(self, first_line: int = 0) -> LineProblems:
        """first_line: the number of lines before those."""

        def message(i: int) -> str:
            return f"duplicate document {shown(self.documents[i])} for its query"

        return LineProblems.of(
            first_line + self.line, message, lambda i: first_in(first_line + int(self.first[i]))
        )


class Ranked(Record):
    """The judged documents of a run for some queries. query, retrieved: the index of each query and the count
    of its documents, (S,). row, rank, score: the judgments (rows of the qrels) that were retrieved, (n,).
    identical: of the judged queries. collapsed: how many lines were. details: what a subclass of Total adds.
    """

    query: Ints
    retrieved: Ints
    row: Ints
    rank: Ints
    score: Floats
    ties: Ties
    identical: IdenticalIds
    repeats: Repeats
    collapsed: int = 0
    details: Any = None


_BY_KEY = np.uint64(1 << 62)  # marks an index made from half a key


def query_indices(qrels: Qrels, ids: Ids, by_key: bool = False) -> Ints:
    """The index of each query, (n,): in the qrels, or from Q on for queries that are not judged. Those are
    numbered in order of first appearance, or by_key, so that all blocks of a run agree.
    """
    index = qrels.query_index.find(ids)
    unknown = np.flatnonzero(index < 0)
    if len(unknown):
        unknown_ids = ids.take(unknown)
        made = (
            (unknown_ids.keys() >> np.uint64(2)) | _BY_KEY
            if by_key
            else len(qrels.queries) + unknown_ids.distinct()[1]
        )
        index[unknown] = made.view(np.int64)
    return index


def find(lines: RunLines, qrels: Qrels, ties: str = "trec") -> Ranked:
    """Rank the documents of whole queries, and find the judged ones among them. Documents are ranked by score
    descending. Equal scores are ordered by document id descending as bytes (ties='trec', trec_eval's rule;
    'expected', where the order decides nothing), in file order ('input', or REVERSED), or by grade, the highest
    ('best') or the lowest ('worst') first, unjudged documents as grade 0, then as 'trec'.
    """
    lengths = np.diff(lines.bounds)
    judged = np.flatnonzero(lines.query < len(qrels.queries))
    query = lines.query[judged]
    counts = qrels.offsets[query + 1] - qrels.offsets[query]
    row = ranges(qrels.offsets[query], counts)
    segment = np.repeat(judged, counts)
    hit, at, table, repeats = _pair_up(lines, qrels, row, segment)
    identical = _identical_ids(lines, qrels, table, query, judged)
    row, segment = row[hit], segment[hit]
    position, hits, top, bottom = _positions(lines, at, qrels.grade[row], ties)
    above = lines.bounds[segment] - 1
    tied = Ties(row[hits], top - above[hits], bottom - above[hits])
    return Ranked(lines.query, lengths, row, position - above, lines.score[at], tied, identical, repeats)


def _identical_ids(lines: RunLines, qrels: Qrels, table: KeyTable, query: Ints, segment: Ints) -> IdenticalIds:
    """query, segment: the judged queries, in the qrels and in the lines. table: of the keys of documents."""
    if qrels.numbered:  # ids that are positions say nothing
        return NO_IDENTICAL_IDS
    at = table.find(qrels.query_index.table.keys[query] + salts(len(lines.query))[segment])
    hit = np.flatnonzero(at >= 0)
    hit = hit[lines.documents.same(at[hit], qrels.queries, query[hit])]
    if not len(hit):
        return NO_IDENTICAL_IDS
    first = lines.bounds[segment[hit]]
    counts = lines.bounds[segment[hit] + 1] - first
    is_above = lines.score[ranges(first, counts)] > np.repeat(lines.score[at[hit]], counts)
    starts = np.cumsum(counts) - counts
    return IdenticalIds(query[hit], 1 + np.add.reduceat(is_above, starts, dtype=np.int64))


def _pair_up(lines: RunLines, qrels: Qrels, row: Ints, segment: Ints) -> tuple[Ints, Ints, KeyTable, Repeats]:
    """Which of the wanted judgments (`row` of the qrels, of query `segment`) have a line, and their lines; a
    table of the keys of all documents; and the duplicates. Equal keys are confirmed on the bytes.
    """
    lengths = np.diff(lines.bounds)
    salt = salts(len(lines.query))
    keys = lines.documents.keys()
    table = KeyTable(keys + np.repeat(salt, lengths))
    again, first = table.again, table.first
    if len(again):
        again, first = repeats(table, lines.documents, _query_of(lines))
    at = table.find(qrels.keys[row] + salt[segment])
    hit = np.flatnonzero(at >= 0)
    at = at[hit]
    if lines.documents.short and qrels.short_documents:
        same = keys[at] == qrels.keys[row[hit]]
    else:
        same = qrels.documents.same(row[hit], lines.documents, at)
    if len(again) < len(table.again) or not same.all():  # different documents have one key: not seen so far
        query_documents = zip(_query_of(lines).tolist(), lines.documents.tolist(), strict=True)
        line_of = {pair: line for line, pair in enumerate(query_documents)}
        pairs = zip(segment.tolist(), qrels.documents.take(row).tolist(), strict=True)
        at = np.array([line_of.get(pair, -1) for pair in pairs], np.int64)
        hit = np.flatnonzero(at >= 0)
        at = at[hit]
    return hit, at, table, Repeats.of(lines, again, first)


def _query_of(lines: RunLines) -> Ints:
    """Which of the queries each line belongs to, (n,)."""
    return np.repeat(np.arange(len(lines.query)), np.diff(lines.bounds))


def _positions(lines: RunLines, hits: Ints, grade: Floats, ties: str) -> tuple[Ints, Ints, Ints, Ints]:
    """Where each hit is in sorted lines; which are tied, and the first and the last place of their scores."""
    score, bounds = lines.score, lines.bounds
    before_start = bounds[1:-1] - 1
    is_below = score[1:] < score[:-1]
    is_below[before_start] = True
    not_below = np.flatnonzero(~is_below) + 1
    if not len(not_below):
        return hits, *_NOTHING_TIED
    rises = not_below[score[not_below] > score[not_below - 1]]
    position_of = line_at = np.arange(len(score))  # of each line, and the line at each position
    if len(rises):
        line_at = line_at.copy()
        unsorted = distinct(np.searchsorted(bounds, rises, "right") - 1)
        lengths = bounds[unsorted + 1] - bounds[unsorted]
        rows = ranges(bounds[unsorted], lengths)
        repeated = len(not_below) - len(rises)
        line_at[rows] = in_order = rows[_descending(score[rows], lengths, len(rises), repeated)]
        position_of[in_order] = rows
        score = score[line_at]
        is_tied = score[1:] == score[:-1]
        is_tied[before_start] = False
        not_below = np.flatnonzero(is_tied) + 1
    hit_position = position_of[hits]
    if not len(not_below):
        return hit_position, *_NOTHING_TIED

    tied = np.zeros(len(score) + 1, bool)  # with the line before it
    tied[not_below] = True
    is_end = np.ones(len(not_below) + 1, bool)  # of a group, between these lines
    is_end[1:-1] = not_below[1:] > not_below[:-1] + 1
    first_in_group = not_below[is_end[:-1]] - 1
    last_in_group = not_below[is_end[1:]]
    tied_hits = np.flatnonzero(tied[hit_position] | tied[hit_position + 1])
    group = np.searchsorted(last_in_group, hit_position[tied_hits])
    first, last = first_in_group[group], last_in_group[group]
    if ties == REVERSED:
        hit_position[tied_hits] = first + last - hit_position[tied_hits]
        return hit_position, tied_hits, first, last
    if ties != "input":
        # groups with a judged document; in others the order does not matter
        matters = distinct(group)
        lengths = last_in_group[matters] - first_in_group[matters] + 1
        positions = ranges(first_in_group[matters], lengths)
        group = np.repeat(matters, lengths)
        members = line_at[positions]
        order = lines.documents.take(members).descending(group)
        if ties in ("best", "worst"):
            grades = np.zeros(len(score))
            grades[hit_position] = grade
            by = grades[positions] if ties == "worst" else -grades[positions]
            order = order[np.lexsort((by[order], group[order]))]
        position_of[members[order]] = positions
    return position_of[hits], tied_hits, first, last


def _descending(score: Floats, lengths: Ints, rises: int, repeated: int) -> Ints:
    """The rows of queries by score, stable. rises, repeated: how many score above, and as, the row before."""
    if (len(score) > 16 * rises or len(score) < 50 * repeated) and len(score) > 100 * len(lengths):
        # few sorted pieces or many equal scores, for which a stable sort takes a fifth to a half of the time
        bounds = np.cumsum(lengths).tolist()
        pieces = np.split(-score, bounds[:-1])
        orders = (np.argsort(piece, kind="stable") for piece in pieces)
        return np.concatenate([end - len(order) + order for end, order in zip(bounds, orders, strict=True)])
    return Segments(np.append(0, np.cumsum(lengths))).ranked(score)[0]


class Collapse(Record):
    """Which lines of a query are of one document, True where any are. delimiter: before the id of a passage,
    b"" where ids are those of documents. duplicates: whether a line may repeat the id of another one.
    """

    delimiter: bytes = b""
    duplicates: bool = False

    @classmethod
    def of(cls, options: Options) -> Collapse:
        return cls(options.delimiter, options.duplicates == BEST)

    def __bool__(self) -> bool:
        return bool(self.delimiter) or self.duplicates

    def joined(self, other: Collapse) -> Collapse:
        """The options of a run where it is evaluated, and the other ones where it was read before."""
        return Collapse(self.delimiter or other.delimiter, self.duplicates or other.duplicates)

    @property
    def what(self) -> str:
        """What messages call a line that is collapsed."""
        return "passage" if self.delimiter else "duplicate"

    def best(self, ids: Ids, score: Floats, query: Ints) -> tuple[Ids, Ints]:
        """The documents of these lines, and the first line of each with its best score, ascending."""
        documents = ids.before_last(self.delimiter) if self.delimiter else ids
        again, first = _again(documents, query)
        rows = np.arange(len(score))
        of_document = rows.copy()  # the first line of each line's document
        of_document[again] = first
        best = score.copy()
        np.maximum.at(best, first, score[again])
        has_best = np.flatnonzero(score == best[of_document])[::-1]
        line_of = np.empty_like(rows)
        line_of[of_document[has_best]] = has_best  # numpy leaves what is written last
        best_rows = np.sort(line_of[of_document == rows])
        return documents.take(best_rows), best_rows

    def lines(self, lines: RunLines) -> tuple[RunLines, Repeats]:
        """The lines of whole queries collapsed, and the duplicates among them that are errors."""
        query = _query_of(lines)
        again = first = np.empty(0, np.int64)
        if not self.duplicates:
            again, first = _again(lines.documents, query)
        documents, rows = self.best(lines.documents, lines.score, query)
        collapsed = lines.take(rows, lines.query, np.searchsorted(rows, lines.bounds))
        return collapsed.replace(documents=documents), Repeats.of(lines, again, first)

    def columns(self, columns: Columns) -> Columns:
        """A run in memory collapsed. Duplicates are no errors here."""
        query = np.repeat(columns.queries.distinct()[1], np.diff(columns.bounds))
        documents, rows = self.best(columns.documents, columns.value, query)
        is_best = np.zeros(len(query), bool)
        is_best[rows] = True
        return columns.take(is_best).replace(documents=documents)


EACH = Collapse()  # each line is a document


def _again(ids: Ids, query: Ints) -> tuple[Ints, Ints]:
    """The lines whose id is a duplicate in its query, and the first line of each of these ids."""
    table = KeyTable(ids.keys() + salts(int(query.max(initial=-1)) + 1)[query])
    return repeats(table, ids, query)
