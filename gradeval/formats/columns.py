"""The columns of qrels or a run, block by block or whole: every reader returns them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.arrays.segments import Segments, distinct, offsets_of, stable_order
from gradeval.arrays.strings import IdIndex, IdPairs, Ids
from gradeval.arrays.threads import ordered_map
from gradeval.formats.detect import explained
from gradeval.formats.diagnostics import UNLABELLED_HINT, LeftOut, LineProblems, Problem, shown
from gradeval.formats.scan import DataLines, floats
from gradeval.formats.sources import Block, Source
from gradeval.notices import many
from gradeval.records import Record

_DECIMAL_COMMA = rb"[-+]?\d*,\d+(?:[eE][-+]?\d+)?"
_NAME_OF_NUMBERS = rb"(?i)scores?|sim(?:ilarity)?|rel(?:evance)?|grade|label|rating|rank|distance"  # in headers
RANKS_CHECKED = 10_000  # lines of a run whose ranks are compared with their scores


IDENTICAL_IDS = LeftOut(
    "no document is left: the id of each is that of its query", "--ignore-identical-ids leaves these out"
)
EXCLUDED = LeftOut("no document is left: all are excluded", "--exclude names those that are removed")


Blocks = Callable[[], Iterator[Any]]
ReadBlock = Callable[[Any], "Columns"]


class BlockTable(Record):
    """Qrels or a run, read a block at a time."""

    name: str
    blocks: Blocks  # yields them, from the beginning whenever it is called
    columns: ReadBlock  # reads a block; several threads call it
    names: tuple[str, ...] = ()  # of its columns, if they have some
    expected_size: int = 1 << 20  # a generous guess of how many bytes there are to read
    is_whole: bool = False  # whether there is one block, read already
    # columns() with the rank of each row; None without a rank column
    ranked: ReadBlock | None = None
    has_splits: bool = False  # whether it is a predictions file of MTEB

    def read(self, jobs: int) -> Iterator[Columns]:
        """The columns of each block."""
        return ordered_map(self.columns, self.blocks(), jobs)

    @classmethod
    def of(
        cls,
        source: Source,
        columns: ReadBlock,
        names: Sequence[str] = (),
        blocks: Blocks | None = None,
    ) -> BlockTable:
        """A file. blocks: by default those of its lines."""
        return cls(source.name, blocks or source.blocks, columns, tuple(names), source.expected_size)


class RankCheck(Record):
    """The ranks of the first lines of a run against the scores."""

    contradicting: int = 0  # queries where the rank rises with the score, or where the scores are the ranks
    compared: int = 0  # queries with both
    of_scores: bool = False  # whether scores were compared with the order of rows, as there is no rank column
    in_place: str = ""  # the column of ranks that was read because there are no scores, '' where there are

    def joined(self, other: RankCheck) -> RankCheck:
        """Of two blocks, the check of that which was compared."""
        return max(self, other, key=lambda check: (check.compared, check.in_place))


class ExtraFields(Record):
    """The lines of a run with more fields than a run has."""

    lines: int = 0  # how many
    first: int = -1  # the first, 0-based, -1 without one

    def joined(self, other: ExtraFields, before: int) -> ExtraFields:
        """With those of a later block. before: the number of lines before it."""
        if not other.lines:
            return self
        return ExtraFields(self.lines + other.lines, self.first if self.lines else before + other.first)


class Columns(Record):
    """The rows of a block: ids and one value each, and what is wrong with lines that are no rows."""

    queries: Ids  # the id of each group of neighbouring rows with one query, (S,)
    bounds: Ints  # group s owns rows bounds[s]:bounds[s+1], (S+1,)
    documents: Ids  # of each row, (n,)
    value: Floats  # the grade or the score of each row, (n,)
    line: Ints  # of each row, 0-based in the block, (n,)
    lines: int  # how many the block has
    first: bool = True  # whether no block with lines is before it
    last: bool = True  # whether none is behind it
    problems: LineProblems = LineProblems()
    tag: bytes | None = None  # the run tag in the block's last line
    ranks: RankCheck = RankCheck()  # the rank column against the scores
    numbered: bool = False  # whether documents are numbered 1, 2, … in each query, since the file has no ids
    rank: Floats | None = None  # the rank column where it was asked for, NaN where it holds no number, (n,)
    left_out: LeftOut | None = None  # why rows of the block were left out, if any were
    unrated: int = 0  # how many rows are none, since they have no label
    extra: ExtraFields = ExtraFields()  # the lines with more fields than a run has
    # of qrels: the subtopic of each row, (n,), or that of all, as is usual; None without such a column
    # of runs: the name of the run, until only_run() has checked it
    subtopic: Ids | bytes | None = None
    excluded: int = 0  # how many rows were removed, since their documents are excluded

    @property
    def lengths(self) -> Ints:
        """How many rows each of the queries has, (S,)."""
        return np.diff(self.bounds)

    @property
    def query(self) -> Ints:
        """Which of the queries each row is of, (n,)."""
        return np.repeat(np.arange(len(self.queries)), self.lengths)

    @property
    def subtopics(self) -> Ids:
        """The subtopic of each row, (n,), b"" where there is none."""
        if isinstance(self.subtopic, Ids):
            return self.subtopic
        return Ids.of([self.subtopic or b""]).take(np.zeros(len(self.value), np.int64))

    @classmethod
    def whole(cls, queries: Ids, documents: Ids, value: Floats, line: Ints | None = None) -> Columns:
        """All rows of a table in memory. queries: of each row, (n,). line: by default each row is one."""
        line = np.arange(len(value)) if line is None else line
        return cls(*grouped(queries), documents, value, line=line, lines=int(line.max(initial=-1)) + 1)

    @classmethod
    def failed(cls, lines: int, block: Any, problem: Problem) -> Columns:
        """No rows of a block: the problem is why the rest of the file is not read."""
        problems = LineProblems((problem,), 1, final=True)
        nothing = cls.whole(Ids.of([]), Ids.of([]), np.empty(0))
        return nothing.replace(lines=lines, first=block.first, last=block.last, problems=problems)

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """Blocks of one file, in order, as a whole."""
        lines = offsets_of([part.lines for part in parts])
        line = [part.line + first for part, first in zip(parts, lines, strict=False)]
        tags = [part.tag for part in parts if part.tag is not None]
        extra = ExtraFields()
        for part, first in zip(parts, lines.tolist(), strict=False):
            extra = extra.joined(part.extra, first)
        return cls(
            Ids.joined([part.queries.compact() for part in parts]),
            offsets_of(np.concatenate([lines[:0], *(part.lengths for part in parts)])),
            Ids.joined([part.documents.compact() for part in parts]),
            np.concatenate([np.empty(0), *(part.value for part in parts)]),
            line=np.concatenate([lines[:0], *line]),
            lines=int(lines[-1]),
            tag=tags[-1] if tags else None,
            ranks=reduce(RankCheck.joined, (part.ranks for part in parts), RankCheck()),
            left_out=next((part.left_out for part in parts if part.left_out), None),
            extra=extra,
            excluded=sum(part.excluded for part in parts),
        )

    def with_ranks(self, rows: DataLines, field: int) -> Columns:
        """With the ranks in a field of the lines, NaN where it is no number. rows: also bad ones."""
        rank, bad = floats(rows.fields[field])
        rank[bad] = np.nan
        return self.replace(rank=rank[np.searchsorted(rows.line, self.line)])

    def checked(self, rank: Floats | None) -> Columns:
        """With a check of the first rows in the first block: of their ranks, or without these of scores 1, 2, …
        rank: of these rows at least, NaN where it is no number; such rows are not compared.
        """
        count = min(len(self.value), RANKS_CHECKED)
        if not self.first or not count:
            return self
        query = self.query[:count]
        rows = np.arange(count)
        ids = self.queries.take(slice(query[-1] + 1))
        if len(distinct(ids.keys())) < len(ids):  # the rows of a query may be apart
            query = ids.distinct()[1][query]
            rows = stable_order(query)
        if rank is not None and np.isnan(rank[:count]).all():
            rank = None
        if rank is not None:
            rows = rows[~np.isnan(rank[rows])]
        queries = Segments.of_equal(query[rows])
        has_several = queries.lengths > 1
        score = self.value[rows]
        are_places = has_several & np.logical_and.reduceat(score == queries.place + 1, queries.starts)
        if rank is None:
            return self.replace(ranks=RankCheck(int(are_places.sum()), int(has_several.sum()), of_scores=True))
        rank = rank[rows]
        rises = np.append(np.sign(np.diff(rank)) * np.sign(np.diff(score)), 0.0)
        rises[queries.ends - 1] = 0  # of two queries
        balance = np.add.reduceat(rises, queries.starts)
        exchanged = are_places & np.logical_or.reduceat(rank != np.floor(rank), queries.starts)
        contradicting = (balance > 0) | exchanged
        compared = (balance != 0) | exchanged
        return self.replace(ranks=RankCheck(int(contradicting.sum()), int(compared.sum())))

    def take(self, rows: Bools) -> Columns:
        """Some of the rows, by a mask."""
        if rows.all():
            return self
        counts = offsets_of(rows)[self.bounds]
        queries = np.flatnonzero(np.diff(counts))  # queries that keep a row
        return self.replace(
            queries=self.queries.take(queries),
            bounds=np.append(counts[queries], counts[-1]),
            documents=self.documents.take(rows),
            value=self.value[rows],
            line=self.line[rows],
            rank=None if self.rank is None else self.rank[rows],
            subtopic=self.subtopic.take(rows) if isinstance(self.subtopic, Ids) else self.subtopic,
        )

    def without_rows(self, problems: LineProblems) -> Columns:
        """No rows where there are problems, which are why the file is not used."""
        if not problems.total:
            return self
        return self.take(np.zeros(len(self.value), bool)).replace(problems=problems)

    def of_queries(self, wanted: IdIndex) -> Columns:
        """Only the rows of these queries, which keep no other memory alive."""
        rows = self.take(np.repeat(wanted.find(self.queries) >= 0, self.lengths))
        return rows.replace(queries=rows.queries.compact(), documents=rows.documents.compact())

    def without_identical_ids(self, delimiter: bytes) -> Columns:
        """The rows whose document does not have the query's id. One that is named by its place has none.
        delimiter: between the id of a document and that of its passage, b"" where ids are those of documents.
        """
        if self.numbered:
            return self
        documents = self.documents.before_last(delimiter)
        remaining = self.take(~documents.same(np.arange(len(documents)), self.queries, self.query))
        has_identical = len(remaining.value) < len(self.value)
        return remaining.replace(left_out=IDENTICAL_IDS) if has_identical else remaining

    def without_pairs(self, pairs: IdPairs, delimiter: bytes) -> Columns:
        """The rows whose query and document are none of these. delimiter: as in without_identical_ids()."""
        documents = self.documents.before_last(delimiter)
        is_excluded = pairs.has(self.queries, self.bounds, documents)
        count = int(np.count_nonzero(is_excluded))
        if not count:
            return self
        return self.take(~is_excluded).replace(left_out=EXCLUDED, excluded=self.excluded + count)

    def light(self) -> Columns:
        """The same rows, whose ids hold on to nothing that they do not need."""
        both = (self.queries, self.documents)
        queries, documents = (ids.detached() for ids in both)
        return self.replace(queries=queries, documents=documents)


def of_one_run(table: BlockTable, column: str) -> BlockTable:
    """The same file, whose rows must have one name of a run. column: that of the names, '' without one."""
    if not column:
        return table
    first = next((first_run(table.columns(block)) for block in table.blocks()), b"")
    hint = "Split it into a file for each run"

    def of_run(columns: ReadBlock) -> ReadBlock:
        return lambda block: only_run(columns(block), first, hint)

    return table.replace(columns=of_run(table.columns), ranked=table.ranked and of_run(table.ranked))


def first_run(columns: Columns) -> bytes:
    """The name of the run of the first row, b"" where there is none."""
    names = columns.subtopic
    if isinstance(names, Ids):
        return names[0] if len(names) else b""
    return names or b""


def only_run(columns: Columns, first: bytes, hint: str) -> Columns:
    """The rows of a run without its name, or a problem where they have another name than the first row."""
    names = columns.subtopic if isinstance(columns.subtopic, Ids) else Ids.of([first_run(columns)])
    columns = columns.replace(subtopic=None)
    if not len(columns.value):
        return columns
    rows = [0] if names[0] != first else names.changes()[:1].tolist()
    if not rows:
        return columns
    message = f"the column run names a second run ({shown(names[rows[0]])}), after {shown(first)}"
    line = int(columns.line[rows[0]])
    problem = Problem(line if line >= 0 else None, message, hint)
    return columns.without_rows(columns.problems + LineProblems.listed([problem], True))


def light_subtopics(ids: Ids) -> Ids | bytes:
    """The subtopics of rows, without the block: a single one where all are the same."""
    if len(ids) and not len(ids.changes()):
        return ids[0]
    return ids.detached()


def grouped(queries: Ids) -> tuple[Ids, Ints]:
    """The queries and the bounds of columns, from the query of each row, (n,)."""
    starts = np.append(0, queries.changes())[: len(queries)]
    return queries.take(starts), np.append(starts, len(queries))


# --- from the fields of lines


def odd_lines(rows: DataLines, expected: str) -> LineProblems:
    """The lines with too few or too many fields."""
    counts = rows.odd_counts.tolist()
    return LineProblems.of(rows.odd, lambda i: f"{many(counts[i], 'field', 'fields')} where {expected}")


def columns_of(
    block: Block, rows: DataLines, name: str, wrong: LineProblems | None, problems: LineProblems, kind: str = ""
) -> Columns:
    """The columns of rows with the fields query, document, number, and perhaps the subtopic. name: of the
    number, in messages. wrong: why the block cannot be read. problems: of its lines. kind: as in explained().
    """
    fields = rows.fields
    line = rows.line
    value, bad = floats(fields[2])
    lines = len(line) + problems.total
    if wrong is not None:
        problems = wrong
        bad = np.arange(len(value))
    elif len(bad):
        problems += _not_numbers(name, fields[2].take(bad), line[bad])
    problems = explained(problems, block, lines, "grade" if name == "grade" else "score", kind)
    if len(bad):
        good = np.ones(len(value), bool)
        good[bad] = False
        fields = tuple(ids.take(good) for ids in fields)
        value = value[good]
        line = line[good]
    queries, bounds = grouped(fields[0])
    return Columns(
        queries,
        bounds,
        fields[1],
        value,
        line=line,
        lines=rows.lines,
        first=block.first,
        last=block.last,
        problems=problems,
        subtopic=light_subtopics(fields[3]) if len(fields) > 3 else None,
    )


def _not_numbers(name: str, texts: Ids, lines: Ints) -> LineProblems:
    """The problems of fields that are no numbers. name: of the number."""

    def hint(i: int) -> str:
        if re.fullmatch(_NAME_OF_NUMBERS, texts[i]):
            return "This is a header; remove the line"
        if not texts[i] and name == "grade":
            return UNLABELLED_HINT
        return "Numbers have a decimal point and no commas" if re.fullmatch(_DECIMAL_COMMA, texts[i]) else ""

    return LineProblems.of(lines, lambda i: not_a_number(name, texts[i]), hint)


def not_a_number(name: str, field: bytes) -> str:
    try:
        kind = "number" if math.isfinite(float(field)) else "finite number"  # float() takes 1_0
    except ValueError:
        kind = "number"
    return f"the {name} {shown(field)} is not a {kind}"
