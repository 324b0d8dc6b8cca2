"""The facts of a file, collected while it is read: its problems, how its text is written, what a run holds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Bools, Bytes, Ints
from gradeval.arrays.hashing import KeyTable, salts
from gradeval.arrays.segments import Segments, distinct
from gradeval.arrays.strings import repeats
from gradeval.commands.files.report import SHOWN_IDS, Description, Issues, RunFacts
from gradeval.formats.diagnostics import ORDER, LineProblems, Problem, Problems, first_in, shown
from gradeval.formats.scan import CR, LF, SPACE, TAB
from gradeval.formats.sources import BLOCK, Block, Source, compression_of
from gradeval.notices import Kind
from gradeval.tables.passages import Collapse
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import Found, Lines
from gradeval.tables.reduction import Total

_MARK = b"\xef\xbb\xbf"
_DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
_HEAD = 1 << 16  # bytes in which a delimiter is looked for


class Collected:
    """Problems of a file, counted by kind; the first `limit` by line are kept."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.first: list[Problem] = []
        self.kinds: Counter[str] = Counter()
        self.notices: dict[Kind, None] = {}

    def add(self, problem: Problem, first_line: int = 0, notice: Kind | None = None) -> None:
        """notice: the kind of a warning, as --allow names it."""
        self.notices |= {} if notice is None else {notice: None}
        line = None if problem.line is None else first_line + problem.line + 1
        self.kinds[problem.kind] += 1
        self.first.append(problem._replace(line=line))
        if len(self.first) > 2 * self.limit + 100:
            self._prune()

    def _prune(self) -> None:
        self.first.sort(key=lambda problem: problem.line or 0)
        del self.first[self.limit :]

    def join(self, others: Collected) -> None:
        self.first += others.first
        self.kinds.update(others.kinds)
        self.notices |= others.notices

    def issues(self) -> Issues:
        self._prune()
        return Issues(
            tuple(self.first), self.kinds.total(), dict(self.kinds.most_common()), tuple(self.notices)
        )


class AllProblems(Problems):
    """The problems of a file, which is read on whatever is wrong with its lines.

    must_be_right: whether check() raises them, as of a LETOR file: without all of its lines there are no rows.
    """

    def __init__(
        self, path: str, role: str, limit: int, order: str = ORDER, must_be_right: bool = False
    ) -> None:
        super().__init__(path, role, order)
        self.errors, self.must_be_right = Collected(limit), must_be_right

    @property
    def enough(self) -> float:
        return math.inf

    def add(self, found: LineProblems, first_line: int = 0) -> None:
        for problem in found.all() if found.total else ():
            self.errors.add(problem, first_line)
        super().add(found, first_line)

    def check(self) -> None:
        if self.must_be_right:
            super().check()


class ObservedSource(Source):
    """A file whose text is described while it is read; the last reading from the beginning counts."""

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        self._restart()
        for block in super().blocks(size):
            self._see(block.bytes[: block.size])
            yield block

    def chunks(self, size: int = BLOCK) -> Iterator[Bytes]:
        self._restart()
        for chunk in super().chunks(size):
            self._see(chunk)
            yield chunk

    def _restart(self) -> None:
        self._head = self._cut = b""  # _cut: the beginning of a character that a block ends within
        self._lines = self._returns = self._tabs = self._spaces = 0
        self._is_ascii, self._is_binary = True, False
        self._not_utf8: int | None = None

    def _see(self, text: Bytes) -> None:
        if not len(text):
            return
        self._head = self._head or text[:_HEAD].tobytes()
        ends = text == LF
        if self._not_utf8 is None and (self._cut or text.max() > 127):
            self._is_ascii = False
            self._check_utf8(text)
        self._is_binary |= not text.all()
        self._returns += int(np.count_nonzero(ends[1:] & (text[:-1] == CR)))
        self._tabs += int(np.count_nonzero(text == TAB))
        self._spaces += int(np.count_nonzero(text == SPACE))
        self._lines += int(np.count_nonzero(ends))

    def _check_utf8(self, text: Bytes) -> None:
        data, before, self._cut = self._cut + text.tobytes(), len(self._cut), b""
        try:
            data.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                self._cut = data[error.start :]
            else:
                valid = text[: max(error.start - before, 0)]
                self._not_utf8 = self._lines + int(np.count_nonzero(valid == LF)) + 1

    def described(self, has_fields: bool) -> Description:
        """Raises InputError. has_fields: whether fields are separated by spaces and tabs."""
        stored, start = self.beginning()
        compression = compression_of(stored)
        if self._is_binary:
            return Description(compression, "binary", None, "", "")
        encoding = "ASCII" if self._is_ascii else "UTF-8"
        if self._not_utf8 is not None:
            encoding = "not UTF-8"
        elif start.startswith(_MARK):
            encoding = "UTF-8 with a BOM"
        ends = _present({"LF": self._lines - self._returns, "CRLF": self._returns})
        if has_fields:
            separators = _present({"spaces": self._spaces, "tabs": self._tabs})
        else:
            line = self._head.split(b"\n", 1)[0].decode("utf-8", "replace")
            by_count = max(_DELIMITERS, key=line.count)
            separators = "" if line.lstrip()[:1] in ("{", "[") else _DELIMITERS[by_count]
        return Description(compression, encoding, self._not_utf8, separators, ends)


def _present(counts: dict[str, int]) -> str:
    return " and ".join(name for name, count in counts.items() if count)


class _Counts(NamedTuple):
    """Counts of whole queries: the documents of each, (S,); those with tied scores, and the indices of their
    queries; the lines of duplicates, those of the first, and their ids; queries whose ranks can be compared
    with scores, and the indices of those where some rank rises with the score; the first line that does so
    where it does so on balance.
    """

    documents: Ints
    tied: int
    tied_queries: Ints
    again: Ints
    first: Ints
    ids: list[bytes]
    ranked: int
    disordered: Ints
    against: Ints


class CountedRun(Total):
    """What evaluations keep of a run, with its facts. names: the id of each query by its index."""

    def __init__(self, qrels: Qrels, limit: int, names: Mapping[int, bytes], collapse: Collapse) -> None:
        super().__init__(qrels, "trec", collapse)
        self.names, self.first_unjudged = names, [np.empty(0, np.int64)]
        self.counts: list[_Counts] = []
        self.has_ranks = False
        self.duplicates, self.against = Collected(limit), Collected(limit)

    def find(self, lines: Lines) -> Found:
        self.has_ranks |= lines.rank is not None
        found = super().find(lines)
        return found._replace(more=_counts(lines, found))

    def add(self, found: Found, first_line: int) -> None:
        super().add(found, first_line)
        if self.unjudged and sum(map(len, self.first_unjudged)) <= SHOWN_IDS:
            self.first_unjudged.append(found.query[found.query >= len(self.retrieved)])
        counts: _Counts = found.more
        for line in counts.against.tolist():
            what = "the rank rises with the score here, as in most lines of this query"
            self.against.add(Problem(line, what), first_line, Kind.RANKS)
        rows = zip(counts.again.tolist(), counts.first.tolist(), counts.ids, strict=True)
        for line, before, document in rows:
            what = f"duplicate document {shown(document)} for its query"
            self.duplicates.add(Problem(line, what, first_in(first_line + before)), first_line)
        none = np.empty(0, np.int64)
        self.counts.append(counts._replace(again=none, first=none, ids=[]))  # which are not kept twice

    def report(self, problems: Problems) -> None:
        """Nothing: all duplicates are listed."""

    def facts(self, has_qrels: bool, share: float | None) -> RunFacts:
        """share: of the first documents that is judged, None without qrels or a query that they have."""
        documents, tied, disordered = (
            np.concatenate([getattr(of_part, name) for of_part in self.counts])
            for name in ("documents", "tied_queries", "disordered")
        )
        queries = {"tied_queries": tied, "disordered": disordered}
        if has_qrels:
            queries["unjudged"] = np.concatenate(self.first_unjudged)
        first_ids = {
            name: tuple(self.names[query].decode("utf-8", "surrogateescape") for query in first)
            for name, index in queries.items()
            # two queries with one key have other indices
            if (first := [query for query in index[: SHOWN_IDS + 1].tolist() if query in self.names])
        }
        facts = RunFacts(
            len(documents),
            int(documents.sum()),
            (int(documents.min()), float(np.median(documents)), int(documents.max())),
            sum(of_part.tied for of_part in self.counts),
            len(tied),
            self.duplicates.kinds.total(),
            tag=self.tag.decode("utf-8", "surrogateescape"),
            collapsed=self.collapsed if self.collapse else None,
            first_ids=first_ids,
        )
        if self.has_ranks:
            facts = replace(
                facts,
                ranked=sum(of_part.ranked for of_part in self.counts),
                contradicting=sum(len(of_part.against) for of_part in self.counts),
                disordered=len(disordered),
            )
        if not has_qrels:
            return facts
        judged, missing = len(self.retrieved), int(np.count_nonzero(self.retrieved == 0))
        return replace(facts, judged_queries=judged, missing=missing, unjudged=self.unjudged, judged=share)


def _counts(lines: Lines, found: Found) -> _Counts:
    segments = Segments(lines.bounds)
    ties = segments.ties(segments.sorted_descending(lines.score))
    groups = np.flatnonzero(ties.lengths > 1)
    tied_queries = lines.query[distinct(segments.query[ties.offsets[groups]])]
    again = first = np.empty(0, np.int64)
    if found.repeats.total:
        keys = KeyTable(lines.documents.keys() + salts(segments.count)[segments.query])
        again, first = repeats(keys, lines.documents, segments.query)
    return _Counts(
        np.diff(lines.bounds),
        int(ties.lengths[groups].sum()),
        tied_queries,
        lines.line[again],
        lines.line[first],
        lines.documents.take(again).tolist(),
        *_against(lines),
    )


def _against(lines: Lines) -> tuple[int, Ints, Ints]:
    """The last three of _Counts."""
    if lines.rank is None or not len(lines.score):
        return 0, np.empty(0, np.int64), np.empty(0, np.int64)
    rises = np.sign(np.diff(lines.rank)) * np.sign(np.diff(lines.score))
    rises = np.append(0.0, np.nan_to_num(rises))  # of each line and the one before
    rises[lines.bounds[:-1]] = 0
    is_against: Bools = rises > 0
    balance, ranked, disordered = (
        np.add.reduceat(column, lines.bounds[:-1], dtype=np.float64) > 0
        for column in (rises, rises != 0, is_against)
    )
    rows = np.flatnonzero(is_against)
    first = rows[np.searchsorted(rows, lines.bounds[np.flatnonzero(balance)])]
    return int(np.count_nonzero(ranked)), lines.query[disordered], lines.line[first]
