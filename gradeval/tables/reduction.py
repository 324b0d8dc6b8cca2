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

from gradeval.arrays import Bytes, Floats, Ints
from gradeval.arrays.hashing import KeySet, KeyTable, in_group
from gradeval.arrays.segments import distinct
from gradeval.arrays.strings import PAD, Ids, repeats
from gradeval.arrays.threads import ordered_map
from gradeval.formats.columns import Columns
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems, no_data, shown
from gradeval.formats.sources import Block, Source, temporary_error
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import NO_TIES, Found, Lines, Ties, find, query_numbers


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


def reduce_columns(columns: Columns, qrels: Qrels, ties: str, path: str) -> Reduced:
    """Reduce a run that is in memory whole. Raises InputError(s), as where a document comes twice."""
    problems = Problems(path)
    problems.add(columns.problems)
    problems.check()
    total = _Total(qrels)
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
    try:
        return _by_sorting(source, columns, qrels, ties, jobs, enough)
    except OSError as error:
        raise temporary_error(source.name, error) from None


class _ComesBack(Exception):
    """A query's lines are not together. enough: the lines that hold enough errors, if any are known to."""

    def __init__(self, enough: int | None = None) -> None:
        self.enough = enough


class _Total:
    """Adds up what is found, query by query."""

    def __init__(self, qrels: Qrels) -> None:
        self.retrieved = np.zeros(len(qrels.queries), np.int64)
        self.unjudged = 0
        self.ties: list[Ties] = []
        self.rank = np.full(len(qrels.grade), np.inf)
        self.score = np.full(len(qrels.grade), -np.inf)
        self.tag = b""
        self.documents = 0
        self.repeats = LineProblems()  # the documents that come again for their query
        self.last_new = -1  # the last line of another document

    def add(self, found: Found, first_line: int) -> None:
        """first_line: the lines before those that found counts."""
        judged = found.query < len(self.retrieved)
        self.retrieved[found.query[judged]] = found.retrieved[judged]
        self.unjudged += len(judged) - int(np.count_nonzero(judged))
        self.ties.append(found.ties)
        self.rank[found.row] = found.rank
        self.score[found.row] = found.score
        self.documents += int(found.retrieved.sum())
        total, *columns, last_new = found.repeats
        if last_new >= 0:
            self.last_new = max(self.last_new, first_line + last_new)
        if total:
            first = tuple(
                Problem(
                    first_line + line,
                    f"document {shown(document)} comes a second time for its query",
                    f"The first time is line {first_line + first + 1}",
                )
                for line, first, document in zip(*columns, strict=True)
            )
            self.repeats = LineProblems.joined([self.repeats, LineProblems(first, total)])

    def report(self, problems: Problems) -> None:
        """Add the documents that come again: each is a problem, or all are one where nothing else follows."""
        again, new = self.repeats.total, self.documents - self.repeats.total
        if (
            again
            and self.last_new < (line := self.repeats.first[0].line or 0)
            and again >= min(max(new, 2), SHOWN + 1)
        ):
            problems.add(_twice(line, again, new))
        else:
            problems.add(self.repeats)

    def reduced(self) -> Reduced:
        tag = self.tag.decode("utf-8", "surrogateescape")
        ties = Ties(*map(np.concatenate, zip(*self.ties, strict=True))) if self.ties else NO_TIES
        return Reduced(self.rank, self.score, self.retrieved, self.unjudged, ties, tag)


def _twice(line: int, again: int, new: int) -> LineProblems:
    """The problem of a run that is in its file twice, the second time from the line on.

    again, new: how many documents come again for their query, and how many stand above.
    """
    which, documents = "a part of the run", f"{again:,} documents"
    if again >= new:
        which, documents = "the run", f"the {new:,} documents above" if new > 1 else "the document above"
    what = f"the file seems to hold {which} twice: from here on, {documents} come again"
    return LineProblems((Problem(line, what, "Keep the lines above this one"),), 1)


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

    def add(self, found: Found, first_line: int, total: _Total) -> bool:
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


_OTHER = np.uint64(1 << 62)  # added to half the key of a query that is not judged: its number in the first pass


def _numbers(qrels: Qrels, queries: Ids) -> Ints:
    """The number of each query, (n,): its place in the qrels, or for those not judged one made from its key."""
    number = qrels.query_index.find(queries)
    unknown = np.flatnonzero(number < 0)
    if len(unknown):
        number[unknown] = ((queries.take(unknown).keys() >> np.uint64(2)) | _OTHER).view(np.int64)
    return number


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
        lines = Lines(_numbers(qrels, read.queries), read.bounds, read.documents, read.number, read.line)
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
    total, order = _Total(qrels), _Order(qrels)
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
        problems.add(_twice(order.line, order.again, order.new))
    elif order.again:
        raise _ComesBack(problems.end)
    else:
        total.report(problems)
    problems.check()
    if not total.documents:
        raise no_data(source.name, problems.lines)
    return total.reduced()


_KEPT = np.dtype([("query", "<i8"), ("score", "<f8"), ("line", "<i8"), ("length", "<i4"), ("id_length", "<i4")])
_SHARE = 8 << 20  # about how many bytes of a run are sorted in memory at a time


class _Sorted(NamedTuple):
    """The lines of a block by share: kept, the ids of the documents, and those of queries that are not judged.

    bounds: where the rows and the two kinds of ids of each share begin, in bytes, (3, shares + 1).
    """

    kept: NDArray[np.void]
    texts: tuple[Bytes, Bytes]
    bounds: Ints
    lines: int
    last: bool
    problems: LineProblems
    tag: bytes | None


def _by_sorting(
    source: Source,
    columns: Callable[[Block], Columns],
    qrels: Qrels,
    ties: str,
    jobs: int,
    enough: int | None = None,
) -> Reduced:
    """The way for runs whose queries come back: sort the lines into shares by query, then rank each share.

    enough: the lines after which no more need be read, if errors are known to be among them.
    """
    import tempfile

    shares = min(source.expected_size // _SHARE + 1, 2**15)

    def sort(block: Block) -> _Sorted:
        read = columns(block)
        number = _numbers(qrels, read.queries)
        lengths = np.diff(read.bounds)
        query = np.repeat(number, lengths)
        share = (query % shares).astype(np.uint16)
        order = np.argsort(share, kind="stable")
        documents = read.documents.take(order)
        kept = np.empty(len(order), _KEPT)
        kept["query"], kept["score"], kept["line"] = query[order], read.number[order], read.line[order]
        kept["length"], kept["id_length"] = documents.length, 0
        ids = Ids.of([])
        if (number >= len(qrels.queries)).any():
            ids = read.queries.take(np.repeat(np.arange(len(number)), lengths)[order])
            ids = ids.take(kept["query"] >= len(qrels.queries))
            kept["id_length"][kept["query"] >= len(qrels.queries)] = ids.length
        rows = np.append(0, np.cumsum(np.bincount(share, minlength=shares)))
        ends = (np.append(0, np.cumsum(kept[name], dtype=np.int64))[rows] for name in ("length", "id_length"))
        bounds = np.array([rows * _KEPT.itemsize, *ends])
        texts = documents.text(), ids.text()
        return _Sorted(kept, texts, bounds, read.lines, read.last, read.problems, read.tag)

    problems = Problems(source.name)
    total = _Total(qrels)
    with tempfile.TemporaryFile() as file:
        places = []  # for each block: where the rows and the ids of each share begin, (3, shares + 1)
        for before, one in problems.until_enough(ordered_map(sort, source.blocks(), jobs)):
            total.tag = total.tag if one.tag is None else one.tag
            one.kept["line"] += before
            at = file.tell()
            for column in (one.kept, *one.texts):
                file.write(column.tobytes())
            places.append(at + one.bounds + np.append(0, np.cumsum(one.bounds[:-1, -1]))[:, None])
            if enough is not None and problems.lines >= enough:
                problems.end = None if one.last else problems.lines
                break

        def read_shares() -> Iterator[Lines]:
            def read(kind: int, share: int) -> bytes:
                parts = []
                for bounds in places:
                    first, last = bounds[kind, share : share + 2].tolist()
                    if last > first:
                        file.seek(first)
                        parts.append(file.read(last - first))
                return b"".join(parts)

            def column(text: bytes, lengths: Ints) -> Ids:
                length = lengths.astype(np.int64)
                return Ids(np.frombuffer(text + bytes(PAD), np.uint8), np.cumsum(length) - length, length)

            for share in range(shares):
                kept = np.frombuffer(read(0, share), _KEPT)
                documents = column(read(1, share), kept["length"])
                query = kept["query"].copy()
                others = np.flatnonzero(kept["id_length"])
                if len(others):  # different ones may have one key, but not one id
                    ids = column(read(2, share), kept["id_length"][others])
                    query[others] = len(qrels.queries) + ids.distinct()[1]
                yield Lines.grouped(query, documents, kept["score"], kept["line"])

        for result in ordered_map(lambda lines: find(lines, qrels, ties), read_shares(), jobs):
            total.add(result, 0)
    total.report(problems)
    problems.check()
    return total.reduced()
