"""Reduces a run, while it is read, to the ranks of the judged documents.

A block's whole queries are ranked by the thread that scanned it; a query cut by a block's end is joined
from its parts. Only if a query's lines are not together is the run read again, with its lines sorted by query
through a temporary file. Memory follows the judgments and the longest query, not the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradeval.arrays import Bytes, Floats, Ints
from gradeval.arrays.hashing import KeySet, KeyTable, salts
from gradeval.arrays.segments import distinct
from gradeval.arrays.strings import PAD, Ids, repeats
from gradeval.arrays.threads import ordered_map
from gradeval.formats.columns import Blocks, Columns, ExtraFields, RankCheck
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems, no_data, shown
from gradeval.formats.sources import temporary_error
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import (
    NO_IDENTICAL_IDS,
    NO_TIES,
    REVERSED,
    Found,
    IdenticalIds,
    Lines,
    Ties,
    find,
    query_indices,
)

_Block = TypeVar("_Block")
_KEPT = np.dtype([("query", "<i8"), ("score", "<f8"), ("line", "<i8"), ("length", "<i4"), ("id_length", "<i4")])
_RANKED = np.dtype([*_KEPT.descr, ("rank", "<f8")])
_SHARE = 8 << 20  # about how many bytes of a run are sorted in memory at a time


class Reduced(NamedTuple):
    """A run reduced to its judged documents.

    rank, score: of each judgment, (N,), inf and -inf where the run did not retrieve the document.
    retrieved: how many documents each judged query retrieved, (Q,). unjudged: how many queries of the run the
    qrels lack. ties: the judged documents that share their score. tag: the run tag of its last line. ranks:
    its rank column against its scores. extra: its lines with more fields than a run has. identical: the judged
    queries that retrieved a document with their own id.
    """

    rank: Floats
    score: Floats
    retrieved: Ints
    unjudged: int
    ties: Ties
    tag: str = ""
    ranks: RankCheck = RankCheck()
    extra: ExtraFields = ExtraFields()
    identical: IdenticalIds = NO_IDENTICAL_IDS


class Read(Protocol):
    """The facts about a run that a block's columns hold besides its rows, as in Columns."""

    @property
    def tag(self) -> bytes | None: ...

    @property
    def ranks(self) -> RankCheck: ...

    @property
    def extra(self) -> ExtraFields: ...


class Total:
    """Collects what is found, query by query. ties: the order of tied scores, as in ranking.find()."""

    detects_repeated_run = True  # and reports it as one problem, without its lines

    def __init__(self, qrels: Qrels, ties: str) -> None:
        self.qrels, self.ties_rule = qrels, ties
        self.retrieved = np.zeros(len(qrels.queries), np.int64)
        self.unjudged = 0
        self.ties: list[Ties] = []
        self.identical = [NO_IDENTICAL_IDS]
        self.rank = np.full(len(qrels.grade), np.inf)
        self.score = np.full(len(qrels.grade), -np.inf)
        self.tag = b""
        self.ranks = RankCheck()
        self.extra = ExtraFields()
        self.documents = 0
        self.repeats = LineProblems()  # duplicate documents
        self.last_new = -1  # the last line that is not a duplicate

    def find(self, lines: Lines) -> Found:
        """The judged documents in the lines of whole queries; several threads call it."""
        return find(lines, self.qrels, self.ties_rule)

    def add(self, found: Found, first_line: int) -> None:
        """first_line: the number of lines before those of found."""
        judged = found.query < len(self.retrieved)
        self.retrieved[found.query[judged]] = found.retrieved[judged]
        self.unjudged += len(judged) - int(np.count_nonzero(judged))
        self.ties.append(found.ties)
        self.identical.append(found.identical)
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
                    f"duplicate document {shown(document)} for its query",
                    f"The first is in line {first_line + first + 1}",
                )
                for line, first, document in zip(*columns, strict=True)
            )
            self.repeats = LineProblems.joined([self.repeats, LineProblems(first, total)])

    def note(self, read: Read, first_line: int) -> None:
        """Keep a block's run tag, its check of the rank column, which the first has, and its extra fields.

        first_line: the number of lines before the block.
        """
        self.tag = self.tag if read.tag is None else read.tag
        self.ranks = max(self.ranks, read.ranks, key=lambda check: check.compared)
        self.extra = self.extra.joined(read.extra, first_line)

    def report(self, problems: Problems) -> None:
        """Add the duplicate documents: each is a problem, or all are one problem where nothing else follows."""
        again, new = self.repeats.total, self.documents - self.repeats.total
        if (
            again
            and self.last_new < (line := self.repeats.first[0].line or 0)
            and again >= min(max(new, 2), SHOWN + 1)
        ):
            problems.add(repeated_run(line, again, new))
        else:
            problems.add(self.repeats)

    def reduced(self) -> Reduced:
        tag = self.tag.decode("utf-8", "surrogateescape")
        ties = Ties(*map(np.concatenate, zip(*self.ties, strict=True))) if self.ties else NO_TIES
        identical = IdenticalIds(*map(np.concatenate, zip(*self.identical, strict=True)))
        return Reduced(
            self.rank, self.score, self.retrieved, self.unjudged, ties, tag, self.ranks, self.extra, identical
        )


AnyTotal = TypeVar("AnyTotal", bound=Total)


def repeated_run(line: int, again: int, new: int) -> LineProblems:
    """The problem of a file that holds its run twice, the second copy from this line on.

    again, new: how many documents are duplicates, and how many precede them.
    """
    which, documents = "a part of the run", f"{again:,} documents"
    if again >= new:
        which, documents = "the run", f"the {new:,} documents above" if new > 1 else "the document above"
    what = f"the file seems to hold {which} twice: from here on, {documents} are repeated"
    return LineProblems((Problem(line, what, "Keep the lines above this one"),), 1)


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
    reduced = total.reduced()
    return reduced._replace(identical=NO_IDENTICAL_IDS) if columns.numbered else reduced


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
    """Reduce a run of any length, query by query. Raises InputError(s).

    begin: makes what collects it, and its problems; it is called again where the run must be read again.
    """
    try:
        return _in_one_pass(source, columns, *begin(), jobs)
    except _QueryNotGrouped as scattered:
        enough = scattered.enough
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
    salt = salts(len(qrels.queries) + len(read.queries))  # of any index
    again, _ = repeats(KeyTable(read.documents.keys() + salt[query]), read.documents, query)
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


# --- runs whose lines are not grouped by query: sorted through a temporary file


class _Sorted(NamedTuple):
    """The lines of a block by share: kept, the ids of the documents, and those of queries that are not judged.

    bounds: the offsets in bytes of each share's rows and its two kinds of ids, (3, shares + 1).
    """

    kept: NDArray[np.void]
    texts: tuple[Bytes, Bytes]
    bounds: Ints
    lines: int
    last: bool
    problems: LineProblems
    tag: bytes | None
    ranks: RankCheck
    extra: ExtraFields


def collect_by_sorting(
    source: Blocks[_Block],
    columns: Callable[[_Block], Columns],
    total: AnyTotal,
    problems: Problems,
    jobs: int,
    enough: int | None = None,
) -> AnyTotal:
    """Reduce a run in any order: sort the lines into shares by query, then rank each share.

    enough: the number of lines after which no more need be read, where they are known to hold errors.
    """
    import tempfile

    qrels = total.qrels
    shares = min(source.expected_size // _SHARE + 1, 2**15)

    def sort(block: _Block) -> _Sorted:
        read = columns(block)
        number = query_indices(qrels, read.queries, by_key=True)
        lengths = np.diff(read.bounds)
        query = np.repeat(number, lengths)
        share = (query % shares).astype(np.uint16)
        order = np.argsort(share, kind="stable")
        documents = read.documents.take(order)
        kept = np.empty(len(order), _KEPT if read.rank is None else _RANKED)
        if read.rank is not None:
            kept["rank"] = read.rank[order]
        kept["query"], kept["score"], kept["line"] = query[order], read.value[order], read.line[order]
        kept["length"], kept["id_length"] = documents.length, 0
        ids = Ids.of([])
        if (number >= len(qrels.queries)).any():
            ids = read.queries.take(np.repeat(np.arange(len(number)), lengths)[order])
            ids = ids.take(kept["query"] >= len(qrels.queries))
            kept["id_length"][kept["query"] >= len(qrels.queries)] = ids.length
        rows = np.append(0, np.cumsum(np.bincount(share, minlength=shares)))
        ends = (np.append(0, np.cumsum(kept[name], dtype=np.int64))[rows] for name in ("length", "id_length"))
        bounds = np.array([rows * kept.itemsize, *ends])
        texts = documents.text(), ids.text()
        noted = read.tag, read.ranks, read.extra
        return _Sorted(kept, texts, bounds, read.lines, read.last, read.problems, *noted)

    with tempfile.TemporaryFile() as file:
        places = []  # for each block: the offsets of each share's rows and ids, (3, shares + 1)
        kind = _KEPT
        for before, one in problems.until_enough(ordered_map(sort, source.blocks(), jobs)):
            total.note(one, before)
            one.kept["line"] += before
            kind = one.kept.dtype
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
                kept = np.frombuffer(read(0, share), kind)
                documents = column(read(1, share), kept["length"])
                query = kept["query"].copy()
                others = np.flatnonzero(kept["id_length"])
                if len(others):  # different queries may have one key
                    ids = column(read(2, share), kept["id_length"][others])
                    query[others] = len(qrels.queries) + ids.distinct()[1]
                rank = None if kind is _KEPT else kept["rank"]
                yield Lines.grouped(query, documents, kept["score"], kept["line"], rank)

        for result in ordered_map(total.find, read_shares(), jobs):
            total.add(result, 0)
    total.report(problems)
    problems.check()
    return total
