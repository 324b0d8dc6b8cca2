"""Reduces a run, while it is read, to where it put the judged documents.

A block's whole queries are ranked by the thread that scanned it; a query cut by a block's end is put together
from its parts. Only where a query comes back later in the file is the run read a second time, with its lines
sorted by query through a temporary file. Memory follows the judgments and the longest query, not the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gradeval.arrays.hashing import KeySet, KeyTable, in_group
from gradeval.arrays.segments import distinct
from gradeval.arrays.strings import repeats
from gradeval.arrays.threads import ordered_map
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problems, no_data
from gradeval.formats.sources import Block, Source, temporary_error
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import Found, Lines, find, keyed_query_numbers, query_numbers
from gradeval.tables.reduced import Reduced, Total, run_again


def reduce_columns(columns: Columns, qrels: Qrels, ties: str, path: str) -> Reduced:
    """Reduce a run that is in memory whole. Raises InputError(s), as where a document comes twice."""
    problems = Problems(path)
    problems.add(columns.problems)
    problems.check()
    total = Total(qrels)
    total.add(find(Lines.of(columns, qrels), qrels, ties), 0)
    total.report(problems)
    problems.check()
    return total.reduced()


def reduce_blocks(
    source: Source, columns: Callable[[Block], Columns], qrels: Qrels, ties: str, jobs: int
) -> Reduced:
    """Reduce a run of any length. Raises InputError(s)."""
    try:
        return _in_one_pass(source, columns, qrels, ties, jobs)
    except _ComesBack as scattered:
        enough = scattered.enough
    from gradeval.tables.sorting import reduce_by_sorting

    try:
        return reduce_by_sorting(source, columns, qrels, ties, jobs, enough)
    except OSError as error:
        raise temporary_error(source.name, error) from None


class _ComesBack(Exception):
    """A query's lines are not together. enough: the lines that hold enough errors, if any are known to."""

    def __init__(self, enough: int | None = None) -> None:
        self.enough = enough


class _Order:
    """Which queries of a run have come, to see where one comes back.

    A run that comes back as a whole is no run whose lines are scattered. The keys of each query's documents
    distinguish the two while it is read for the first time.
    """

    def __init__(self, qrels: Qrels) -> None:
        self.seen = np.zeros(len(qrels.queries), bool)
        self.key = np.zeros(len(qrels.queries), np.uint64)
        self.others = KeySet()
        self.new = 0  # documents of queries that had not come before
        self.again = 0  # documents of queries that come back with the documents that they had
        self.line = -1  # where the first of these does
        self.is_sure = False  # whether one of their documents is known to come again, not by its key alone

    def add(self, found: Found, first_line: int, total: Total) -> bool:
        """Whether no query comes back, or all do from one on, with the same documents.

        first_line: the lines before those that found counts. total: what was found before.
        """
        judged = found.query < len(self.seen)
        query, key = found.query[judged], found.key[judged]
        others = np.sort(found.query[~judged].view(np.uint64))
        count = len(judged)  # of queries that come for the first time
        if self.again or self.seen[query].any() or self.others.has(others).any():
            comes_back = np.empty(len(judged), bool)
            comes_back[judged] = self.seen[query]
            comes_back[~judged] = self.others.has(found.query[~judged].view(np.uint64))
            count = int(comes_back.argmax())
            is_same = np.ones(len(judged), bool)
            is_same[judged] = ~self.seen[query] | (self.key[query] == key)
            if not (comes_back[count:].all() and is_same.all()) or (self.again and count):
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
    def is_whole_again(self) -> bool:
        """Whether all that came before has come back."""
        return self.is_sure and self.again >= self.new


class _Cut(NamedTuple):
    """Lines of a query that may go on in another block, and its id."""

    id: bytes
    lines: Lines


class _Part(NamedTuple):
    """What a thread makes of a block: pieces in order.

    lines, last, problems: as in Columns. scattered: a query comes back in the block, and there are no pieces.
    enough: so many documents come twice for their query that no more need be read.
    """

    pieces: list[Found | _Cut]
    lines: int
    last: bool
    problems: LineProblems
    tag: bytes | None = None
    scattered: bool = False
    enough: bool = False


def _holds_enough(read: Columns, qrels: Qrels) -> bool:
    """Whether so many documents of a block come twice for their query that no more need be read."""
    query = np.repeat(query_numbers(qrels, read.queries), np.diff(read.bounds))
    again, _ = repeats(KeyTable(in_group(read.documents.keys(), query)), read.documents, query)
    return len(again) >= SHOWN


def _in_one_pass(
    source: Source, columns: Callable[[Block], Columns], qrels: Qrels, ties: str, jobs: int
) -> Reduced:
    may_be_endless = not source.stored_size

    def part(block: Block) -> _Part:
        read = columns(block)
        whole = _Part([], read.lines, read.last, read.problems, read.tag)
        count = len(read.queries)
        if not count:
            return whole
        lines = Lines(
            keyed_query_numbers(qrels, read.queries), read.bounds, read.documents, read.number, read.line
        )
        if len(distinct(lines.query)) < count:
            return whole._replace(scattered=True, enough=may_be_endless and _holds_enough(read, qrels))
        first = 0 if read.first else 1
        last = max(first, count if read.last else count - 1)
        if first:
            whole.pieces.append(_Cut(read.queries[0], lines.part(0, 1).compact()))
        if last > first:
            whole.pieces.append(find(lines.part(first, last), qrels, ties))
        if last < count:
            whole.pieces.append(_Cut(read.queries[last], lines.part(last, count).compact()))
        is_within = count == 1 and not read.last  # of a query whose repeats are else found at its end
        return whole._replace(enough=may_be_endless and is_within and _holds_enough(read, qrels))

    problems = Problems(source.name)
    total, order = Total(qrels), _Order(qrels)
    cut: list[_Cut] = []  # the parts of a query that may go on in the next block; their lines are the file's

    def add(found: Found, first_line: int) -> None:
        if not order.add(found, first_line, total):
            enough = problems.found.total + total.repeats.total >= SHOWN
            raise _ComesBack(problems.lines if enough else None)
        total.add(found, first_line)

    def close() -> None:
        if cut:
            lines = Lines.joined([part.lines for part in cut])
            cut.clear()  # before more memory is needed
            add(find(lines, qrels, ties), 0)

    made = ordered_map(part, source.blocks(), jobs)
    for before, one in problems.until_enough(made, lambda: total.repeats.total):
        if one.scattered:
            raise _ComesBack(problems.lines if one.enough else None)
        total.tag = total.tag if one.tag is None else one.tag
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
        if order.is_whole_again:
            break
    else:
        close()
    if order.is_whole_again:
        problems.add(run_again(order.line, order.again, order.new))
    elif order.again:
        raise _ComesBack(problems.end)
    else:
        total.report(problems)
    problems.check()
    if not total.documents:
        raise no_data(source.name, problems.lines)
    return total.reduced()
