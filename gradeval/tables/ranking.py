"""From run lines to ranks: sorts within queries, breaks ties, and finds the judged documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints, cached_property
from gradeval.arrays.segments import Segments, distinct, offsets_of, ranges, stable_order
from gradeval.arrays.strings import Ids, KeyTable, repeats, salts
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import COLLAPSES, LineProblems, first_in, shown
from gradeval.options import BEST, Options
from gradeval.records import Record
from gradeval.tables.qrels import Qrels

REVERSED = "reversed"  # the order of ties that is trec_eval's where documents are named 1, 2, … in file order


class RunLines(Record):
    """Run lines as read, grouped by query: S queries, n rows."""

    query: Ints  # the index of each query, (S,); below Q one of the qrels, from Q on one that is not judged
    bounds: Ints  # query s owns rows bounds[s]:bounds[s+1], (S+1,)
    documents: Ids  # of each row, (n,)
    score: Floats  # likewise
    line: Ints  # likewise
    rank: Floats | None = None  # as in Columns

    @classmethod
    def of(cls, columns: Columns, qrels: Qrels) -> RunLines:
        """A run that is in memory whole."""
        query = query_indices(qrels, columns.queries)
        lengths = columns.lengths
        if len(distinct(query)) == len(query) and lengths.all():  # each query's lines are together
            rank = columns.rank
            return cls(query, columns.bounds, columns.documents, columns.value, line=columns.line, rank=rank)
        query_of_line = np.repeat(query, lengths)
        return cls.grouped(query_of_line, columns.documents, columns.value, columns.line, columns.rank)

    @classmethod
    def grouped(cls, query: Ints, *columns: Any) -> RunLines:
        """Group the lines by query, (n,), with their other fields; lines of one query stay in order."""
        order: Ints | slice = slice(None)
        if (query[1:] < query[:-1]).any():
            order = stable_order(query)
            query = query[order]
        groups = Segments.of_equal(query)
        query = query[groups.starts]
        return cls(query, groups.offsets, *columns).take(order, query, groups.offsets)

    def take(self, rows: Ints | slice, query: Ints, bounds: Ints) -> RunLines:
        """Some of the rows, of these queries."""
        rank = None if self.rank is None else self.rank[rows]
        return RunLines(query, bounds, self.documents.take(rows), self.score[rows], self.line[rows], rank=rank)

    @classmethod
    def joined(cls, parts: list[RunLines], begins: list[int]) -> RunLines:
        """Parts of queries, in order, joined. begins: the first part of each query."""
        score = np.concatenate([part.score for part in parts])
        documents = Ids.joined([part.documents for part in parts])
        line = np.concatenate([part.line for part in parts])
        ranks = [part.rank for part in parts if part.rank is not None]
        rank = np.concatenate(ranks) if ranks else None
        query = np.array([parts[begin].query[0] for begin in begins])
        bounds = offsets_of([len(part.line) for part in parts])[[*begins, -1]]
        return cls(query, bounds, documents, score, line, rank=rank)

    def part(self, first: int, last: int) -> RunLines:
        """Queries first:last."""
        bounds = self.bounds[first : last + 1]
        return self.take(slice(int(bounds[0]), int(bounds[-1])), self.query[first:last], bounds - bounds[0])

    @property
    def lengths(self) -> Ints:
        """How many rows each query has, (S,)."""
        return np.diff(self.bounds)

    @cached_property
    def by_score(self) -> _Sorted | None:
        """The lines by score within their queries; None where they are in order, without ties."""
        return _sorted(self)

    def compact(self) -> RunLines:
        """The same lines, which keep no other memory alive."""
        rank = None if self.rank is None else self.rank.copy()
        return self.replace(
            documents=self.documents.compact(), score=self.score.copy(), line=self.line.copy(), rank=rank
        )


class Ties(Record):
    """The judged documents with tied scores."""

    row: Ints  # of the qrels, (n,)
    first: Ints  # the rank of the first document with the score, (n,)
    last: Ints  # likewise of the last

    def ends(self, rank: Floats) -> tuple[Floats, Floats]:
        """The ranks of the first and the last document with the score of each judgment; these are its ranks."""
        first = rank.copy()
        first[self.row] = self.first
        last = rank.copy()
        last[self.row] = self.last
        return first, last


NO_TIES = Ties(*[np.empty(0, np.int64)] * 3)


class IdenticalIds(Record):
    """The judged queries that retrieved a document with their own id."""

    query: Ints
    rank: Ints  # the best one of that document among tied scores


NO_IDENTICAL_IDS = IdenticalIds(*[np.empty(0, np.int64)] * 2)


class Repeats(Record, eq=False):
    """The duplicate documents of queries: the line of each, that of its first occurrence, and its id, (n,)."""

    line: Ints
    first: Ints
    documents: Ids
    query: Ints  # the index of the query of each
    queries: Ids  # the ids of the queries that are known; indices from their number on are of others

    @classmethod
    def of(cls, lines: RunLines, again: Ints, first: Ints, queries: Ids) -> Repeats:
        """again, first: the duplicate rows, and the rows of their first occurrences."""
        query = lines.query[np.searchsorted(lines.bounds, again, "right") - 1]
        return cls(lines.line[again], lines.line[first], lines.documents.take(again), query, queries)

    def problems(self, first_line: int = 0) -> LineProblems:
        """first_line: the number of lines before those."""

        in_one_line = self.line == self.first  # as all of a JSON file of one line, which does not name them

        def message(i: int) -> str:
            query = "its query"
            if in_one_line[i]:
                is_known = self.query[i] < len(self.queries)
                query = f"query {shown(self.queries[int(self.query[i])])}" if is_known else "an unjudged query"
            return f"duplicate document {shown(self.documents[i])} for {query}"

        def hint(i: int) -> str:
            return COLLAPSES if in_one_line[i] else first_in(first_line + int(self.first[i]))

        return LineProblems.of(first_line + self.line, message, hint)


NO_SCORES = np.empty(0)


class Ranked(Record):
    """The judged documents of a run for some queries: n of S queries."""

    query: Ints  # the index of each query, (S,)
    retrieved: Ints  # how many documents each query retrieved, (S,)
    row: Ints  # the judgments (rows of the qrels) that were retrieved, (n,)
    segment: Ints  # which of the S queries each of these is of, (n,)
    rank: Ints  # of each of these, (n,)
    score: Floats  # likewise
    line: Ints  # which of the lines each is, (n,)
    ties: Ties
    identical: IdenticalIds  # of the judged queries
    repeats: Repeats
    collapsed: int = 0  # how many lines were
    details: Any = None  # what a subclass of Total adds
    # where unjudged documents have a grade: of all documents of the judged queries, descending in each
    scores: Floats = NO_SCORES


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
    ('best') or the lowest ('worst') first, unjudged documents as grade 0 or as is assumed, then as 'trec'.
    """
    judged = np.flatnonzero(lines.query < len(qrels.queries))
    query = lines.query[judged]
    counts = qrels.ideal.segments.lengths[query]
    row = ranges(qrels.offsets[query], counts)
    segment = np.repeat(judged, counts)
    pairs = _pair_up(lines, qrels, row, segment)
    identical = _identical_ids(lines, qrels, pairs.table, query, judged)
    row, segment = row[pairs.hit], segment[pairs.hit]
    position, tied = _positions(lines, pairs.at, qrels.grade[row], ties, qrels.assumed or 0.0)
    above = lines.bounds[segment] - 1
    above_tied = above[tied.row]
    scores = NO_SCORES
    if qrels.assumed is not None:
        descending = Segments(lines.bounds).sorted_descending(lines.score)
        scores = descending[ranges(lines.bounds[judged], lines.lengths[judged])]
    return Ranked(
        lines.query,
        lines.lengths,
        row,
        segment,
        rank=position - above,
        score=lines.score[pairs.at],
        line=pairs.at,
        ties=Ties(row[tied.row], tied.first - above_tied, tied.last - above_tied),
        identical=identical,
        repeats=pairs.repeats,
        scores=scores,
    )


class _Pairs(Record, eq=False):
    """The judgments that have a line."""

    hit: Ints  # which of the wanted judgments these are
    at: Ints  # their lines
    table: KeyTable  # of the keys of all documents
    repeats: Repeats  # the duplicates


def _identical_ids(lines: RunLines, qrels: Qrels, table: KeyTable, query: Ints, segment: Ints) -> IdenticalIds:
    """Where judged queries retrieve documents with their own ids. query, segment: these queries, in the qrels
    and in the lines. table: of the keys of documents, each with the salt of its query.
    """
    if qrels.numbered:  # ids that are positions say nothing
        return NO_IDENTICAL_IDS
    at = table.find(qrels.query_index.table.keys[query] + salts(len(lines.query))[segment])
    hit = np.flatnonzero(at >= 0)
    # the same key is not yet the same id
    hit = hit[lines.documents.same(at[hit], qrels.queries, query[hit])]
    if not len(hit):
        return NO_IDENTICAL_IDS
    first = lines.bounds[segment[hit]]
    counts = lines.bounds[segment[hit] + 1] - first
    is_above = lines.score[ranges(first, counts)] > np.repeat(lines.score[at[hit]], counts)
    return IdenticalIds(query[hit], 1 + Segments(offsets_of(counts)).number(is_above))


def _pair_up(lines: RunLines, qrels: Qrels, row: Ints, segment: Ints) -> _Pairs:
    """The lines of the wanted judgments: `row` of the qrels, of query `segment`. Equal keys are confirmed on
    the bytes.
    """
    salt = salts(len(lines.query))
    keys = lines.documents.keys()
    table = KeyTable(keys + np.repeat(salt, lines.lengths))
    again, first = table.again, table.first
    if len(again):
        again, first = repeats(table, lines.documents, _query_of(lines))
    wanted = qrels.keys_of(row)
    at = table.find(wanted + salt[segment])
    hit = np.flatnonzero(at >= 0)
    at = at[hit]
    if lines.documents.short and qrels.short_documents:
        same = keys[at] == wanted[hit]
    else:
        same = qrels.documents.same(row[hit], lines.documents, at)
    if len(again) < len(table.again) or not same.all():  # different documents have one key: not seen so far
        at = _lines_by_id(lines, qrels, row, segment)
        hit = np.flatnonzero(at >= 0)
        at = at[hit]
    return _Pairs(hit, at, table, Repeats.of(lines, again, first, qrels.queries))


def _lines_by_id(lines: RunLines, qrels: Qrels, row: Ints, segment: Ints) -> Ints:
    """The line of each of the wanted judgments, -1 without one, as _pair_up() has them."""
    query_documents = zip(_query_of(lines).tolist(), lines.documents.tolist(), strict=True)
    line_of = {pair: line for line, pair in enumerate(query_documents)}
    pairs = zip(segment.tolist(), qrels.documents.take(row).tolist(), strict=True)
    return np.array([line_of.get(pair, -1) for pair in pairs], np.int64)


def _query_of(lines: RunLines) -> Ints:
    """Which of the queries each line belongs to, (n,)."""
    return np.repeat(np.arange(len(lines.query)), lines.lengths)


def _positions(
    lines: RunLines, hits: Ints, grade: Floats, ties: str, unjudged: float = 0.0
) -> tuple[Ints, Ties]:
    """Where each hit is in sorted lines; and which hits are tied, with the positions of their scores. unjudged:
    the grade of the other lines.
    """
    by_score = lines.by_score
    if by_score is None:
        return hits, NO_TIES
    position = by_score.position[hits]
    if not len(by_score.repeated):
        return position, NO_TIES
    tied = _tied(by_score, position)
    if ties == REVERSED:
        position[tied.row] = tied.first + tied.last - position[tied.row]
    elif ties != "input":
        grades = None
        if ties in ("best", "worst"):
            grades = np.full(len(lines.score), unjudged)
            grades[position] = grade
            grades = grades if ties == "best" else -grades
        _order_ties(by_score, tied, lines.documents, grades)
        position = by_score.position[hits]
    return position, tied


class Wanted(Record):
    """Which of the unjudged documents of a run are kept."""

    first: float = np.inf  # those in so many first ranks of a query
    more: int = 0  # and so many behind these
    last: float = np.inf  # up to this rank
    of_all_queries: bool = False  # also of queries that the qrels lack


class UnjudgedLines(Record, eq=False):
    """The lines of unjudged documents by rank, (n,)."""

    line: Ints
    query: Ints  # which of the queries of the lines each is of
    rank: Ints


def unjudged_lines(lines: RunLines, ranked: Ranked, wanted: Wanted, judged: int, ties: str) -> UnjudgedLines:
    """The unjudged documents of whole queries. ranked: what find() has found in the lines. judged: the number
    of queries of the qrels. Where grades decide the order of ties, all of these have grade 0: so they are
    always in one order, and take the ranks that judged ones leave.
    """
    query = _query_of(lines)
    is_judged = np.zeros(len(query), bool)
    is_judged[ranked.line] = True
    by_score = lines.by_score
    line = np.arange(len(query)) if by_score is None else by_score.line
    line = line[~is_judged[line]]
    position = Segments(lines.bounds).other_rows(query[ranked.line], ranked.rank)
    query = query[position]
    rank = position - lines.bounds[query] + 1
    is_wanted = rank <= min(wanted.first, wanted.last)
    if wanted.more:
        segments = Segments(np.searchsorted(query, np.arange(len(lines.query) + 1)))
        last = segments.number(is_wanted) + wanted.more
        is_wanted = (segments.place < last[query]) & (rank <= wanted.last)
    if not wanted.of_all_queries:
        is_wanted &= lines.query[query] < judged
    if by_score is not None and len(by_score.repeated) and ties != "input":
        line = _in_order_of_ties(lines, UnjudgedLines(line, query, rank), is_wanted, ties)
    [rows] = is_wanted.nonzero()
    return UnjudgedLines(line[rows], query[rows], rank[rows])


def _in_order_of_ties(lines: RunLines, unjudged: UnjudgedLines, is_wanted: Bools, ties: str) -> Ints:
    """The lines with those of one score in order, where any of these is wanted."""
    line: Ints = unjudged.line.copy()
    groups = Segments.of_equal(lines.score[line], unjudged.query)
    group = groups.query
    is_open = (groups.number(is_wanted) > 0) & (groups.lengths > 1)
    [rows] = is_open[group].nonzero()
    if ties == REVERSED:
        rows = rows[::-1]
        order = stable_order(group[rows])
    else:
        order = lines.documents.take(line[rows]).descending(group[rows])
    line[np.sort(rows)] = line[rows][order]
    return line


class _Order(Record, eq=False):
    """All lines by rank within their queries."""

    line: Ints  # at each position, (n,)
    is_tied: Bools  # whether it has the score of the one at the position before, (n,)


def ranked_lines(lines: RunLines, ties: str) -> _Order:
    """The lines of whole queries by rank. ties: as in find(), but those that need grades."""
    is_tied = np.zeros(len(lines.score), bool)
    if lines.by_score is None:
        return _Order(np.arange(len(is_tied)), is_tied)
    is_tied[lines.by_score.repeated] = True
    line = lines.by_score.line.copy()
    tied = line[is_tied | np.append(is_tied[1:], False)]
    position, _ = _positions(lines, tied, np.zeros(len(tied)), ties)
    line[position] = tied
    return _Order(line, is_tied)


class _Sorted(Record, eq=False):
    """Lines by score within their queries, equal ones as they stand."""

    line: Ints  # at each position, (n,)
    position: Ints  # of each line, (n,)
    repeated: Ints  # the positions whose score is that of the position before, ascending


def _sorted(lines: RunLines) -> _Sorted | None:
    """None where the scores of each query fall from line to line. Only queries where one rises are sorted."""
    score, bounds = lines.score, lines.bounds
    before_start = bounds[1:-1] - 1
    is_below = score[1:] < score[:-1]
    is_below[before_start] = True
    not_below = np.flatnonzero(~is_below) + 1
    if not len(not_below):
        return None
    rises = not_below[score[not_below] > score[not_below - 1]]
    position = np.arange(len(score))
    if not len(rises):
        return _Sorted(position, position, not_below)
    line = position.copy()
    unsorted = distinct(np.searchsorted(bounds, rises, "right") - 1)
    lengths = bounds[unsorted + 1] - bounds[unsorted]
    rows = ranges(bounds[unsorted], lengths)
    in_order = rows[_descending(score[rows], lengths, len(rises))]
    line[rows] = in_order
    position[in_order] = rows
    score = score[line]
    is_tied = score[1:] == score[:-1]
    is_tied[before_start] = False
    return _Sorted(line, position, np.flatnonzero(is_tied) + 1)


def _tied(by_score: _Sorted, hit_position: Ints) -> Ties:
    """Which hits are tied, and the first and the last position with the score of each of these."""
    repeated = by_score.repeated
    is_tied = np.zeros(len(by_score.line), bool)
    is_tied[repeated] = is_tied[repeated - 1] = True
    is_end = np.ones(len(repeated) + 1, bool)  # of a group, between these lines
    is_end[1:-1] = repeated[1:] > repeated[:-1] + 1
    first_in_group = repeated[is_end[:-1]] - 1
    last_in_group = repeated[is_end[1:]]
    hit = np.flatnonzero(is_tied[hit_position])
    group = np.searchsorted(last_in_group, hit_position[hit])
    return Ties(hit, first_in_group[group], last_in_group[group])


def _order_ties(by_score: _Sorted, tied: Ties, documents: Ids, grades: Floats | None) -> None:
    """Put tied lines in descending order of their ids, with grades of that of their grade first: of each
    position. Groups without a judged document stay as they are, since their order does not matter.
    """
    first = distinct(tied.first)
    lengths = distinct(tied.last) - first + 1
    positions = ranges(first, lengths)
    group = np.repeat(np.arange(len(first)), lengths)
    members = by_score.line[positions]
    order = documents.take(members).descending(group)
    if grades is not None:
        order = order[np.lexsort((-grades[positions][order], group[order]))]
    by_score.position[members[order]] = positions


def _descending(score: Floats, lengths: Ints, rises: int) -> Ints:
    """The rows of queries by score, stable. rises: how many score above the row before."""
    if len(score) > 16 * rises and len(score) > 100 * len(lengths):
        # few sorted pieces, for which a stable sort takes a tenth to a half of the time
        bounds = np.cumsum(lengths).tolist()
        pieces = np.split(-score, bounds[:-1])
        orders = (np.argsort(piece, kind="stable") for piece in pieces)
        return np.concatenate([end - len(order) + order for end, order in zip(bounds, orders, strict=True)])
    return Segments(offsets_of(lengths)).ranked(score)[0]


def ranked_rows(segments: Segments, score: Floats, documents: Ids) -> Ints:
    """The rows of each query by rank, (n,): by score, and equal ones by document id, both descending."""
    order, ties = segments.ranked(score)
    tied = np.flatnonzero(ties.lengths[ties.query] > 1)
    members = order[tied]
    order[tied] = members[documents.take(members).descending(ties.query[tied])]
    return order


class Collapse(Record):
    """Which lines of a query are of one document, True where any are."""

    delimiter: bytes = b""  # before the id of a passage, b"" where ids are those of documents
    duplicates: bool = False  # whether a line may repeat the id of another one

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
        documents = ids.before_last(self.delimiter)
        again, first = documents.repeated(query)
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

    def lines(self, lines: RunLines, judged: Ids) -> tuple[RunLines, Repeats]:
        """The lines of whole queries collapsed, and the duplicates that are errors. judged: ids of queries."""
        query = _query_of(lines)
        again = first = np.empty(0, np.int64)
        if not self.duplicates:
            again, first = lines.documents.repeated(query)
        documents, rows = self.best(lines.documents, lines.score, query)
        collapsed = lines.take(rows, lines.query, np.searchsorted(rows, lines.bounds))
        return collapsed.replace(documents=documents), Repeats.of(lines, again, first, judged)

    def columns(self, columns: Columns) -> Columns:
        """A run in memory collapsed. Duplicates are no errors here."""
        query = np.repeat(columns.queries.distinct()[1], columns.lengths)
        documents, rows = self.best(columns.documents, columns.value, query)
        is_best = np.zeros(len(query), bool)
        is_best[rows] = True
        return columns.take(is_best).replace(documents=documents)


EACH = Collapse()  # each line is a document


def first_rows(columns: Columns, depth: int, collapse: Collapse) -> Columns:
    """The rows that may be in the first ranks of their query: no other block can move the others up."""
    if collapse:
        columns = collapse.columns(columns)
    segments = Segments(columns.bounds)
    lowest = segments.nth_largest(columns.value, depth)
    return columns.take(columns.value >= lowest.repeat(segments.lengths)).light()
