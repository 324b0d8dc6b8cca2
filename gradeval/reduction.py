"""Reduces a run, while it is read, to where it put the judged documents.

A block's whole queries are ranked by the thread that scanned it; a query cut by a block's end is put together
from its parts. Only where a query comes back later in the file is the run read a second time, with its lines
sorted by query through a temporary file. Memory follows the judgments and the longest query, not the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradeval.formats.problems import Problem, Problems, no_data, shown
from gradeval.formats.sources import Block, Source, temporary_error
from gradeval.formats.trec import Columns
from gradeval.ids import PAD, Bytes, Ids
from gradeval.judgments import Qrels
from gradeval.parallel import ordered_map
from gradeval.ranking import NO_TIES, Found, Lines, QueryNumbers, Ties, find
from gradeval.segments import Floats, Ints, distinct


class Reduced(NamedTuple):
    """What is kept of a run.

    rank, score: of each judgment, (N,), inf and -inf where the run did not retrieve the document.
    retrieved: how many documents each judged query retrieved, (Q,). unjudged: how many queries of the run the
    qrels lack. ties: the judged documents that share their score. tag: what the run calls itself in its last
    line.
    """

    rank: Floats
    score: Floats
    retrieved: Ints
    unjudged: int
    ties: Ties
    tag: str = ""


def reduce_lines(lines: Lines, qrels: Qrels, ties: str, path: str) -> Reduced:
    """Reduce a run that is in memory whole. Raises InputError where a document comes twice."""
    problems = Problems(path)
    total = _Total(qrels, problems)
    total.add(find(lines, qrels, ties), 0)
    problems.check()
    return total.reduced()


def reduce_blocks(
    source: Source, columns: Callable[[Block], Columns], qrels: Qrels, ties: str, jobs: int
) -> Reduced:
    """Reduce a run of any length. Raises InputError(s)."""
    try:
        return _in_one_pass(source, columns, qrels, ties, jobs)
    except _ComesBack:
        try:
            return _by_sorting(source, columns, qrels, ties, jobs)
        except OSError as error:
            raise temporary_error(source.name, error) from None


class _ComesBack(Exception):
    """A query's lines are not together."""


class _Total:
    """Adds up what is found, query by query."""

    def __init__(self, qrels: Qrels, problems: Problems) -> None:
        self.problems = problems
        self.seen = np.zeros(len(qrels.queries), bool)
        self.seen_others: set[int] = set()
        self.retrieved = np.zeros(len(qrels.queries), np.int64)
        self.ties: list[Ties] = []
        self.rank = np.full(len(qrels.grade), np.inf)
        self.score = np.full(len(qrels.grade), -np.inf)
        self.tag = b""

    def add(self, found: Found, first_line: int) -> None:
        """first_line: the lines before those that found counts."""
        judged = found.query < len(self.seen)
        query = found.query[judged]
        others = found.query[~judged].tolist()
        if self.seen[query].any() or not self.seen_others.isdisjoint(others):
            raise _ComesBack
        self.seen[query] = True
        self.seen_others.update(others)
        self.retrieved[query] = found.retrieved[judged]
        self.ties.append(found.ties)
        self.rank[found.row] = found.rank
        self.score[found.row] = found.score
        for line, first, document in found.repeated:
            what = f"document {shown(document)} comes a second time for its query"
            hint = f"The first time is line {first_line + first + 1}"
            self.problems.add([Problem(line, what, hint)], first_line)

    def reduced(self) -> Reduced:
        tag = self.tag.decode("utf-8", "surrogateescape")
        ties = Ties(*map(np.concatenate, zip(*self.ties, strict=True))) if self.ties else NO_TIES
        return Reduced(self.rank, self.score, self.retrieved, len(self.seen_others), ties, tag)


class _Part(NamedTuple):
    """What a thread makes of a block: pieces in order, either Found or a cut query's Lines."""

    pieces: list[Found | Lines]
    lines: int
    problems: list[Problem]
    tag: bytes | None = None
    comes_back: bool = False


def _in_one_pass(
    source: Source, columns: Callable[[Block], Columns], qrels: Qrels, ties: str, jobs: int
) -> Reduced:
    numbers = QueryNumbers(qrels)

    def part(block: Block) -> _Part:
        read = columns(block)
        if read.problems or not len(read.queries):
            return _Part([], read.lines, read.problems)
        lines = Lines(numbers.of(read.queries), read.bounds, read.documents, read.number, read.line)
        count = len(lines.query)
        if len(distinct(lines.query)) < count:
            return _Part([], read.lines, [], comes_back=True)
        first = 0 if block.first else 1
        last = max(first, count if block.last else count - 1)
        pieces: list[Found | Lines] = []
        if first:
            pieces.append(lines.part(0, 1).compact())
        if last > first:
            pieces.append(find(lines.part(first, last), qrels, ties))
        if last < count:
            pieces.append(lines.part(last, count).compact())
        return _Part(pieces, read.lines, [], read.tag)

    problems = Problems(source.name)
    total = _Total(qrels, problems)
    cut: list[Lines] = []  # the parts of a query that may go on in the next block; their lines are the file's

    def close() -> None:
        if cut:
            total.add(find(Lines.joined(cut), qrels, ties), 0)
            cut.clear()

    before = 0
    empty = True
    for made in ordered_map(part, source.blocks(), jobs):
        problems.add(made.problems, before)
        if made.comes_back:
            raise _ComesBack
        total.tag = total.tag if made.tag is None else made.tag
        for piece in made.pieces:
            empty = False
            if isinstance(piece, Found):
                close()
                total.add(piece, before)
            else:
                if cut and cut[0].query[0] != piece.query[0]:
                    close()
                cut.append(piece.later(before))
        before += made.lines
    close()
    problems.check()
    if empty:
        raise no_data(source.name, before)
    return total.reduced()


_KEPT = np.dtype([("query", "<i8"), ("score", "<f8"), ("line", "<i8"), ("length", "<i8")])
_SHARE = 8 << 20  # about how many bytes of a run are sorted in memory at a time


def _by_sorting(
    source: Source, columns: Callable[[Block], Columns], qrels: Qrels, ties: str, jobs: int
) -> Reduced:
    """The way for runs whose queries come back: sort the lines into shares by query, then rank each share."""
    import tempfile

    numbers = QueryNumbers(qrels)
    shares = min(source.expected_size // _SHARE + 1, 2**15)

    def sort(block: Block) -> tuple[NDArray[np.void], Bytes, Ints, Ints, int, list[Problem], bytes | None]:
        read = columns(block)
        query = np.repeat(numbers.of(read.queries), np.diff(read.bounds))
        share = (query % shares).astype(np.uint16)
        order = np.argsort(share, kind="stable")
        documents = read.documents.take(order)
        kept = np.empty(len(order), _KEPT)
        kept["query"], kept["score"], kept["line"] = query[order], read.number[order], read.line[order]
        kept["length"] = documents.length
        rows = np.concatenate([[0], np.cumsum(np.bincount(share, minlength=shares))])
        ends = np.concatenate([[0], np.cumsum(documents.length)])[rows]
        return kept, documents.text(), rows * _KEPT.itemsize, ends, read.lines, read.problems, read.tag

    problems = Problems(source.name)
    total = _Total(qrels, problems)
    with tempfile.TemporaryFile() as file:
        places = []  # for each block: where the rows and where the ids of each share begin
        before = 0
        for kept, text, rows, ends, lines, found, tag in ordered_map(sort, source.blocks(), jobs):
            problems.add(found, before)
            total.tag = total.tag if tag is None else tag
            kept["line"] += before
            before += lines
            at = file.tell()
            file.write(kept.tobytes())
            file.write(text.tobytes())
            places.append((at + rows, at + rows[-1] + ends))
        problems.check()

        def read_shares() -> Iterator[Lines]:
            def read(bounds: Ints, share: int) -> bytes:
                file.seek(bounds[share])
                return file.read(bounds[share + 1] - bounds[share])

            for share in range(shares):
                kept = np.frombuffer(b"".join(read(rows, share) for rows, _ in places), _KEPT)
                text = b"".join(read(ends, share) for _, ends in places) + bytes(PAD)
                length = kept["length"].copy()
                documents = Ids(np.frombuffer(text, np.uint8), np.cumsum(length) - length, length)
                yield Lines.grouped(kept["query"], documents, kept["score"], kept["line"])

        for result in ordered_map(lambda lines: find(lines, qrels, ties), read_shares(), jobs):
            total.add(result, 0)
    problems.check()
    return total.reduced()
