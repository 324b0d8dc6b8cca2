"""Reduces a run, while it is read, to the ranks of the judged documents.

A block's whole queries are ranked by the thread that scanned it; a query cut by a block's end is joined
from its parts. Only if a query's lines are not together is the run read again, with its lines sorted by query
through a temporary file. Memory follows the judgments and the longest query, not the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from gradeval.arrays.hashing import KeySet, KeyTable, in_group
from gradeval.arrays.segments import distinct
from gradeval.arrays.strings import repeats
from gradeval.arrays.threads import ordered_map
from gradeval.formats.columns import Blocks, Columns, ExtraFields, RankCheck
from gradeval.formats.diagnostics import LineProblems, Problems, no_data
from gradeval.formats.sources import temporary_error
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import REVERSED, Found, Lines, query_indices
from gradeval.tables.reduced import AnyTotal, Reduced, Total, repeated_run

_Block = TypeVar("_Block")


def reduce_columns(columns: Columns, qrels: Qrels, ties: str, path: str) -> Reduced:
    """Reduce a run that is in memory. Raises InputError(s), such as for duplicate documents."""
    problems = Problems(path)
    problems.add(columns.problems)
    problems.check()
    if columns.left_out and not len(columns.value):
        raise no_data(path, columns.lines, True)
    if ties == "trec" and columns.numbered:  # names that are numbers are ordered as numbers
        ties = REVERSED
    total = Total(qrels, ties)
    total.add(total.find(Lines.of(columns, qrels)), 0)
    total.note(columns, 0)
    total.report(problems)
    problems.check()
    return total.reduced()


def reduce_blocks(
    source: Blocks[_Block], columns: Callable[[_Block], Columns], qrels: Qrels, ties: str, jobs: int
) -> Reduced:
    """Reduce a run of any length. Raises InputError(s)."""
    return collect(source, columns, lambda: (Total(qrels, ties), Problems(source.name, "run")), jobs).reduced()


def collect(
    source: Blocks[_Block],
    columns: Callable[[_Block], Columns],
    begin: Callable[[], tuple[AnyTotal, Problems]],
    jobs: int,
) -> AnyTotal:
    """What is found in a run of any length, query by query. Raises InputError(s).

    begin: makes what collects it, and its problems; it is called again where the run must be read again.
    """
    try:
        return _in_one_pass(source, columns, *begin(), jobs)
    except _QueryNotGrouped as scattered:
        enough = scattered.enough
    from gradeval.tables.sorting import collect_by_sorting

    try:
        return collect_by_sorting(source, columns, *begin(), jobs, enough)
    except OSError as error:
        raise temporary_error(source.name, error) from None


class _QueryNotGrouped(Exception):
    """A query's lines are not together. enough: the number of lines known to hold enough errors, if any."""

    def __init__(self, enough: int | None = None) -> None:
        self.enough = enough


class _Order:
    """Which queries of a run were seen, to detect one whose lines are not together.

    A file that holds its run twice is not a run with scattered lines. The keys of each query's documents
    distinguish the two in the first pass.
    """

    def __init__(self, qrels: Qrels) -> None:
        self.seen = np.zeros(len(qrels.queries), bool)
        self.key = np.zeros(len(qrels.queries), np.uint64)
        self.others = KeySet()
        self.new = 0  # documents of queries seen for the first time
        self.again = 0  # documents of queries seen again with the same documents
        self.line = -1  # the first line of these
        self.is_sure = False  # whether a duplicate is confirmed, not by its key alone

    def add(self, found: Found, first_line: int, total: Total) -> bool:
        """Whether no query is seen again, or from one on all are, with the same documents.

        first_line: the number of lines before those of found. total: what was found before.
        """
        judged = found.query < len(self.seen)
        query, key = found.query[judged], found.key[judged]
        others = np.sort(found.query[~judged].view(np.uint64))
        count = len(judged)  # of queries seen for the first time
        if self.again or self.seen[query].any() or self.others.has(others).any():
            is_again = np.empty(len(judged), bool)
            is_again[judged] = self.seen[query]
            is_again[~judged] = self.others.has(found.query[~judged].view(np.uint64))
            count = int(is_again.argmax())
            is_same = np.ones(len(judged), bool)
            is_same[judged] = ~self.seen[query] | (self.key[query] == key)
            if not (is_again[count:].all() and is_same.all()) or (self.again and count):
                return False
            if not self.again:
                self.line = first_line + int(found.line[count])
            self.again += int(found.retrieved[count:].sum())
            self.is_sure |= bool(np.isfinite(total.rank[found.row]).any())
            judged = judged[:count]
            query, key = found.query[:count][judged], found.key[:count][judged]
            others = np.sort(found.query[:count][~judged].view(np.uint64))
        self.seen[query] = True
        self.key[query] = key
        self.others.add(others)
        self.new += int(found.retrieved[:count].sum())
        return True

    @property
    def is_repeated_run(self) -> bool:
        """Whether all queries were seen twice."""
        return self.is_sure and self.again >= self.new


class _Cut(NamedTuple):
    """Lines of a query that may continue in another block, and its id."""

    id: bytes
    lines: Lines


class _Part(NamedTuple):
    """A thread's result for a block: pieces in order.

    lines, last, problems: as in Columns. scattered: a query's lines are not together in the block, so there
    are no pieces. enough: whether there are enough duplicate documents to stop reading. left_out: as in
    Columns.
    """

    pieces: list[Found | _Cut]
    lines: int
    last: bool
    problems: LineProblems
    tag: bytes | None = None
    ranks: RankCheck = RankCheck()
    extra: ExtraFields = ExtraFields()
    scattered: bool = False
    enough: bool = False
    left_out: bool = False


def _holds_enough(read: Columns, qrels: Qrels, enough: float) -> bool:
    """Whether a block has enough duplicate documents to stop reading."""
    query = np.repeat(query_indices(qrels, read.queries), np.diff(read.bounds))
    again, _ = repeats(KeyTable(in_group(read.documents.keys(), query)), read.documents, query)
    return len(again) >= enough


def _in_one_pass(
    source: Blocks[_Block],
    columns: Callable[[_Block], Columns],
    total: AnyTotal,
    problems: Problems,
    jobs: int,
) -> AnyTotal:
    qrels = total.qrels
    may_be_endless = not source.stored_size

    def part(block: _Block) -> _Part:
        read = columns(block)
        noted = read.tag, read.ranks, read.extra
        whole = _Part([], read.lines, read.last, read.problems, *noted, left_out=read.left_out)
        count = len(read.queries)
        if not count:
            return whole
        query = query_indices(qrels, read.queries, by_key=True)
        lines = Lines(query, read.bounds, read.documents, read.value, read.line, read.rank)
        if len(distinct(lines.query)) < count:
            return whole._replace(
                scattered=True, enough=may_be_endless and _holds_enough(read, qrels, problems.enough)
            )
        first = 0 if read.first else 1
        last = max(first, count if read.last else count - 1)
        if first:
            whole.pieces.append(_Cut(read.queries[0], lines.part(0, 1).compact()))
        if last > first:
            whole.pieces.append(total.find(lines.part(first, last)))
        if last < count:
            whole.pieces.append(_Cut(read.queries[last], lines.part(last, count).compact()))
        is_within = (
            count == 1 and not read.last
        )  # of one query, whose duplicates are otherwise found at its end
        return whole._replace(
            enough=may_be_endless and is_within and _holds_enough(read, qrels, problems.enough)
        )

    order = _Order(qrels)
    cut: list[_Cut] = []  # parts of a query that may continue in the next block; lines are counted in the file

    def add(found: Found, first_line: int) -> None:
        if not order.add(found, first_line, total) or (order.again and not total.detects_repeated_run):
            enough = problems.found.total + total.repeats.total >= problems.enough
            raise _QueryNotGrouped(problems.lines if enough else None)
        total.add(found, first_line)

    def close() -> None:
        if cut:
            lines = Lines.joined([part.lines for part in cut])
            cut.clear()  # to free its memory first
            add(total.find(lines), 0)

    left_out = False
    made = ordered_map(part, source.blocks(), jobs)
    for before, one in problems.until_enough(made, lambda: total.repeats.total):
        if one.scattered:
            raise _QueryNotGrouped(problems.lines if one.enough else None)
        total.note(one, before)
        left_out |= one.left_out
        for piece in one.pieces:
            if isinstance(piece, Found):
                close()
                add(piece, before)
            else:
                if cut and cut[0].id != piece.id:
                    close()
                cut.append(piece._replace(lines=piece.lines.later(before)))
        if one.enough:
            close()
        if order.is_repeated_run:
            break
    else:
        close()
    if order.is_repeated_run:
        problems.add(repeated_run(order.line, order.again, order.new))
    elif order.again:
        raise _QueryNotGrouped(problems.end)
    else:
        total.report(problems)
    problems.check()
    if not (total.documents or problems.found.total):
        raise no_data(source.name, problems.lines, left_out)
    return total
