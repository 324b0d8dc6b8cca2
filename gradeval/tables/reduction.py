"""Reduces a run, while it is read, to the ranks of the judged documents.

A block's whole queries are ranked by the thread that scanned it; a query cut by a block's end is joined
from its parts. Only if a query's lines are not together is the run read again, with its lines sorted by query
through a temporary file. Memory follows the judgments and the longest query, not the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import distinct, offsets_of, ranges
from gradeval.arrays.strings import Ids, KeySet
from gradeval.arrays.threads import ordered_map
from gradeval.formats.columns import BlockTable, Columns, ExtraFields, RankCheck
from gradeval.formats.diagnostics import COLLAPSES, LeftOut, LineProblems, Problem, Problems, no_data
from gradeval.formats.sources import temporary_error
from gradeval.records import Record, fields_of
from gradeval.tables import ranking
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import EACH, NO_SCORES, Collapse, IdenticalIds, Ranked, RunLines, Ties, Wanted
from gradeval.tables.retrieved import UnjudgedIds

_Arrays = TypeVar("_Arrays", bound=Record)
_ROW = np.dtype([("query", "<i8"), ("score", "<f8"), ("line", "<i8"), ("length", "<i4"), ("id_length", "<i4")])
_RANKED_ROW = np.dtype([*_ROW.descr, ("rank", "<f8")])
_TOGETHER = 1 << 16  # about how many lines of queries that blocks cut are ranked at a time
_SHARE = 8 << 20  # about how many bytes of a run are sorted in memory at a time


class Reduced(Record):
    """A run reduced to its judged documents."""

    rank: Floats  # of each judgment, (N,), inf where the run did not retrieve the document
    score: Floats  # likewise, -inf where it did not
    retrieved: Ints  # how many documents each judged query retrieved, (Q,)
    unjudged: int  # how many queries of the run the qrels lack
    ties: Ties  # the judged documents that share their score
    tag: str = ""  # the run tag of the last line
    ranks: RankCheck = RankCheck()  # the rank column against the scores
    extra: ExtraFields = ExtraFields()  # the lines with more fields than a run has
    identical: IdenticalIds = ranking.NO_IDENTICAL_IDS  # queries that retrieved a document with their own id
    collapsed: tuple[int, str] = (0, "")  # how many lines did not count, and what they are called
    excluded: int = 0  # how many lines were removed, since their documents are excluded
    documents: UnjudgedIds | None = None  # those that are not judged, where they are wanted
    # where unjudged documents have a grade: of all documents of the judged queries, descending in each
    scores: Floats = NO_SCORES

    def scores_of(self, queries: Ints) -> Floats:
        """The scores of these queries, NO_SCORES where none are kept."""
        if not len(self.scores):
            return NO_SCORES
        first = offsets_of(self.retrieved)[queries]
        return self.scores[ranges(first, self.retrieved[queries])]


class Total:
    """Collects what is found, query by query. ties: as in ranking.find(). collapse: lines of one document.
    wanted: the unjudged documents to keep, None for none.
    """

    keeps_ranks = True  # of judged documents

    def __init__(
        self, qrels: Qrels, ties: str, collapse: Collapse = EACH, wanted: Wanted | None = None
    ) -> None:
        self.qrels = qrels
        self.ties_rule = ties
        self.collapse = collapse
        self.wanted = wanted
        self.retrieved = np.zeros(len(qrels.queries), np.int64)
        self.unjudged = 0
        self.ties = [ranking.NO_TIES]
        self.identical = [ranking.NO_IDENTICAL_IDS]
        judgments = len(qrels.grade) if self.keeps_ranks else 0
        self.rank = np.full(judgments, np.inf)
        self.score = np.full(judgments, -np.inf)
        self.tag = b""
        self.ranks = RankCheck()
        self.extra = ExtraFields()
        self.lines = self.collapsed = self.excluded = 0
        self.repeats = LineProblems()  # duplicate documents
        self.scores: list[tuple[Ints, Floats]] = []  # of judged queries, where they are kept
        self.documents: list[UnjudgedIds] = []

    def see(self, index: Ints, queries: Ids) -> None:
        """Take the ids of queries with these indices, before their lines; several threads call it."""

    def find(self, lines: RunLines) -> Ranked:
        """The judged documents in the lines of whole queries; several threads call it."""
        if not self.collapse:
            return self.ranked(lines)
        collapsed, repeated = self.collapse.lines(lines, self.qrels.queries)
        result = self.ranked(collapsed)
        return result.replace(repeats=repeated, collapsed=len(lines.score) - len(collapsed.score))

    def ranked(self, lines: RunLines) -> Ranked:
        """The judged documents in lines that are collapsed."""
        result = ranking.find(lines, self.qrels, self.ties_rule)
        if self.wanted is None:
            return result
        judged = len(self.retrieved)
        return result.replace(details=UnjudgedIds.of(lines, result, self.wanted, judged, self.ties_rule))

    def add(self, result: Ranked, first_line: int) -> None:
        """first_line: the number of lines before those of the result."""
        judged = result.query < len(self.retrieved)
        self.retrieved[result.query[judged]] = result.retrieved[judged]
        if len(result.scores):
            self.scores.append((result.query[judged], result.scores))
        if self.wanted is not None:
            self.documents.append(result.details)
        self.unjudged += len(judged) - int(np.count_nonzero(judged))
        self.ties.append(result.ties)
        self.identical.append(result.identical)
        self.rank[result.row] = result.rank
        self.score[result.row] = result.score
        self.lines += int(result.retrieved.sum()) + result.collapsed
        self.collapsed += result.collapsed
        if len(result.repeats.line):
            # the others are not kept, nor what they would be made from
            self.repeats = (self.repeats + result.repeats.problems(first_line)).replace(every=None)

    def note(self, read: Columns | _Part, first_line: int) -> None:
        """Keep a block's run tag, its check of the rank column, which the first has, and its extra fields."""
        self.tag = self.tag if read.tag is None else read.tag
        self.ranks = self.ranks.joined(read.ranks)
        self.extra = self.extra.joined(read.extra, first_line)
        self.excluded += read.excluded

    def report(self, problems: Problems) -> None:
        """Add the duplicate documents: each is a problem, or all are one in a file that holds its run twice."""
        again = self.repeats.total
        new = self.lines - self.repeats.total
        line = self.repeats.first[0].line or 0 if again else 0
        if again < max(new, 2) or line < new:
            problems.add(self.repeats)
            return
        documents = f"the {new:,} documents" if new > 1 else "the document"
        message = f"the file seems to hold the run twice: from here on, {documents} above are repeated"
        problems.add(LineProblems((Problem(line, message, f"Keep the lines above this one; {COLLAPSES}"),), 1))

    def reduced(self) -> Reduced:
        return Reduced(
            self.rank,
            self.score,
            self.retrieved,
            self.unjudged,
            _joined(self.ties),
            tag=self.tag.decode("utf-8", "surrogateescape"),
            ranks=self.ranks,
            extra=self.extra,
            identical=_joined(self.identical),
            collapsed=(self.collapsed, self.collapse.what),
            excluded=self.excluded,
            documents=None if self.wanted is None else UnjudgedIds.joined(self.documents),
            scores=self.scores_by_query(),
        )

    def scores_by_query(self) -> Floats:
        """Those that were kept, in the order of the qrels."""
        if not self.scores:
            return NO_SCORES
        first = offsets_of(self.retrieved)
        scores = np.empty(first[-1])
        while self.scores:  # each is freed when it is copied
            query, of_queries = self.scores.pop()
            scores[ranges(first[query], self.retrieved[query])] = of_queries
        return scores


AnyTotal = TypeVar("AnyTotal", bound=Total)


def _joined(parts: list[_Arrays]) -> _Arrays:
    """One record of arrays from several."""
    columns = zip(*(fields_of(part).values() for part in parts), strict=True)
    return type(parts[0])(*map(np.concatenate, columns))


def reduce_columns(columns: Columns, qrels: Qrels, ties: str, path: str, collapse: Collapse = EACH) -> Reduced:
    """Reduce a run that is in memory. Raises InputError(s), such as for duplicate documents."""
    return collect_columns(columns, lambda ties: Total(qrels, ties, collapse), ties, path).reduced()


def collect_columns(columns: Columns, begin: Callable[[str], AnyTotal], ties: str, path: str) -> AnyTotal:
    """Reduce a run that is in memory. begin: makes what collects it, by the order of ties."""
    problems = Problems(path)
    problems.add(columns.problems)
    problems.check()
    if columns.left_out and not len(columns.value):
        raise no_data(path, columns.lines, columns.left_out)
    if ties == "trec" and columns.numbered:  # names that are numbers are ordered as numbers
        ties = ranking.REVERSED
    total = begin(ties)
    total.see(ranking.query_indices(total.qrels, columns.queries), columns.queries)
    total.add(total.find(RunLines.of(columns, total.qrels)), 0)
    if columns.numbered:
        total.identical.clear()
        total.identical.append(ranking.NO_IDENTICAL_IDS)
    total.note(columns, 0)
    total.report(problems)
    problems.check()
    return total


def collect(table: BlockTable, begin: Callable[[], tuple[AnyTotal, Problems]], jobs: int) -> AnyTotal:
    """Reduce a run of any length. begin: makes what collects it, and its problems, again for a second pass."""
    try:
        return _in_one_pass(table, *begin(), jobs)
    except QueryNotGrouped:
        pass  # its lines are read again outside the handler, which keeps memory alive
    try:
        return collect_by_sorting(table, *begin(), jobs)
    except OSError as error:
        raise temporary_error(table.name, error) from None


class QueryNotGrouped(Exception):
    """A query's lines are not together."""


class _Part(Record):
    """A thread's result for a block, and the facts of its Columns besides the rows."""

    result: Any
    lines: int
    last: bool
    problems: LineProblems
    tag: bytes | None
    ranks: RankCheck
    extra: ExtraFields
    left_out: LeftOut | None
    excluded: int

    @classmethod
    def of(cls, read: Columns, result: Any) -> _Part:
        return cls(result, **{name: getattr(read, name) for name in cls.__match_args__[1:]})


class _OnePass:
    """Finds the judged documents of a run, the lines of whose queries are together."""

    def __init__(self, table: BlockTable, total: Total) -> None:
        self.table = table
        self.total = total
        self.seen = np.zeros(len(total.qrels.queries), bool)  # of the judged queries
        self.unjudged_queries = KeySet()
        # the pieces of queries that blocks cut; their lines are counted in the file
        self.cut: list[RunLines] = []
        self.begins: list[int] = []  # with which of these each query begins
        self.last_cut: bytes | None = None  # the query that may continue in the next block

    def part(self, block: Any) -> _Part:
        """The pieces of a block: what is found in its whole queries; of each that it cuts, id and lines."""
        read = self.table.columns(block)
        count = len(read.queries)
        if not count:
            return _Part.of(read, [])
        query = ranking.query_indices(self.total.qrels, read.queries, by_key=True)
        self.total.see(query, read.queries)
        if len(distinct(query)) < count:
            raise QueryNotGrouped
        lines = RunLines(query, read.bounds, read.documents, score=read.value, line=read.line, rank=read.rank)
        pieces: list[Ranked | tuple[bytes, RunLines]] = []
        first = 0 if read.first else 1
        last = max(first, count if read.last else count - 1)
        if first:
            pieces.append((read.queries[0], lines.part(0, 1).compact()))
        if last > first:
            pieces.append(self.total.find(lines.part(first, last)))
        if last < count:
            pieces.append((read.queries[last], lines.part(last, count).compact()))
        return _Part.of(read, pieces)

    def add(self, piece: Ranked | tuple[bytes, RunLines], first_line: int) -> None:
        """Take a piece of a block. first_line: the number of lines before the block."""
        if isinstance(piece, Ranked):
            self._add_whole(piece, first_line)
            self.last_cut = None
            return
        query, lines = piece
        if query != self.last_cut:
            self.close(_TOGETHER)
            self.begins.append(len(self.cut))
        self.last_cut = query
        self.cut.append(lines.replace(line=lines.line + first_line))

    def close(self, rows: int = 0) -> None:
        """Rank the queries that blocks cut, together, if they have more rows."""
        if sum(len(lines.line) for lines in self.cut) > rows:
            lines = RunLines.joined(self.cut, self.begins)
            self.cut.clear()  # to free its memory first
            self.begins.clear()
            if len(distinct(lines.query)) < len(lines.query):
                raise QueryNotGrouped
            self._add_whole(self.total.find(lines), 0)

    def _add_whole(self, result: Ranked, first_line: int) -> None:
        judged = result.query < len(self.seen)
        query = result.query[judged]
        keys = result.query[~judged].view(np.uint64)
        if self.seen[query].any() or self.unjudged_queries.has(keys).any():
            raise QueryNotGrouped
        self.seen[query] = True
        self.unjudged_queries.add(keys)
        self.total.add(result, first_line)


def _in_one_pass(table: BlockTable, total: AnyTotal, problems: Problems, jobs: int) -> AnyTotal:
    """Raises QueryNotGrouped, and InputError(s)."""
    reading = _OnePass(table, total)
    left_out = None
    parts = ordered_map(reading.part, table.blocks(), jobs)
    for before, part in problems.until_enough(parts, lambda: total.repeats.total):
        total.note(part, before)
        left_out = left_out or part.left_out
        for piece in part.result:
            reading.add(piece, before)
    reading.close()
    total.report(problems)
    problems.check()  # which validate's keep instead of raising them
    if not (total.lines or problems.found.total):
        raise no_data(table.name, problems.lines, left_out)
    return total


class _Shares:
    """The lines of a run in shares by query, in a file: of each block its rows, then the ids of documents and
    of unjudged queries.
    """

    def __init__(self, file: Any, table: BlockTable, total: Total) -> None:
        self.file = file
        self.table = table
        self.total = total
        self.qrels = total.qrels
        self.count = min(table.expected_size // _SHARE + 1, 2**15)
        self.offsets: list[Ints] = []  # for each block: those of each share's rows and ids, (3, count + 1)
        self.row_type = _ROW

    def sort(self, block: Any) -> _Part:
        """A block by share: rows, ids of documents and of unjudged queries, and the offsets of the shares."""
        read = self.table.columns(block)
        number = ranking.query_indices(self.qrels, read.queries, by_key=True)
        self.total.see(number, read.queries)
        group = read.query
        share = (number[group] % self.count).astype(np.uint16)
        order = np.argsort(share, kind="stable")
        documents = read.documents.take(order)
        rows = np.empty(len(order), _ROW if read.rank is None else _RANKED_ROW)
        if read.rank is not None:
            rows["rank"] = read.rank[order]
        rows["query"] = number[group[order]]
        rows["score"] = read.value[order]
        rows["line"] = read.line[order]
        rows["length"] = documents.length
        rows["id_length"] = 0
        is_unjudged = rows["query"] >= len(self.qrels.queries)
        ids = read.queries.take(group[order][is_unjudged])
        rows["id_length"][is_unjudged] = ids.length
        bounds = offsets_of(np.bincount(share, minlength=self.count))
        text_bounds = (offsets_of(rows[name])[bounds] for name in ("length", "id_length"))
        offsets = np.array([bounds * rows.itemsize, *text_bounds])
        return _Part.of(read, (rows, documents.text(), ids.text(), offsets))

    def write(self, part: _Part, first_line: int) -> None:
        """first_line: the number of lines before the part."""
        rows, documents, ids, offsets = part.result
        rows["line"] += first_line
        self.row_type = rows.dtype
        # the three columns follow one another in the file
        self.offsets.append(self.file.tell() + offsets + offsets_of(offsets[:-1, -1])[:, None])
        for column in (rows, documents, ids):
            self.file.write(column.tobytes())

    def read(self) -> Iterator[RunLines]:
        """The lines of each share, by query."""
        for share in range(self.count):
            rows = np.frombuffer(self._bytes(0, share), self.row_type)
            documents = Ids.of_bytes(self._bytes(1, share), rows["length"].astype(np.int64))
            query = rows["query"].copy()
            unjudged = np.flatnonzero(rows["id_length"])
            if len(unjudged):
                length = rows["id_length"][unjudged].astype(np.int64)
                number = Ids.of_bytes(self._bytes(2, share), length).distinct()[1]
                if number.max() >= len(distinct(query[unjudged])):  # different queries have one key
                    query[unjudged] = len(self.qrels.queries) + number
            rank = rows["rank"] if self.row_type == _RANKED_ROW else None
            yield RunLines.grouped(query, documents, rows["score"], rows["line"], rank)

    def _bytes(self, column: int, share: int) -> bytes:
        """A share of the rows, the ids of documents, or those of queries."""
        parts = []
        for offsets in self.offsets:
            first, last = offsets[column, share : share + 2].tolist()
            if last > first:
                self.file.seek(first)
                parts.append(self.file.read(last - first))
        return b"".join(parts)


def collect_by_sorting(table: BlockTable, total: AnyTotal, problems: Problems, jobs: int) -> AnyTotal:
    """Reduce a run in any order: sort the lines into shares by query, then rank each share."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        shares = _Shares(file, table, total)
        for before, part in problems.until_enough(ordered_map(shares.sort, table.blocks(), jobs)):
            total.note(part, before)
            shares.write(part, before)
        for result in ordered_map(total.find, shares.read(), jobs):
            total.add(result, 0)
    total.report(problems)
    problems.check()
    return total
