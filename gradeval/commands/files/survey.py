"""Counts of a file that is validated, made while it is read: how the text is written, and what a run holds.

Documents, ties, duplicates, ranks against scores; compression, encoding, separators and line ends.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Bools, Bytes, Ints
from gradeval.arrays.hashing import KeyTable, in_group
from gradeval.arrays.segments import Segments, distinct
from gradeval.arrays.strings import repeats
from gradeval.commands.files.result import Description, Issues, RunFacts
from gradeval.formats.diagnostics import ORDER, LineProblems, Problem, Problems, shown
from gradeval.formats.scan import CR, LF, SPACE, TAB
from gradeval.formats.sources import BLOCK, Block, Source, compression_of
from gradeval.tables.qrels import Qrels
from gradeval.tables.ranking import Found, Lines
from gradeval.tables.reduction import Total


class Collected:
    """Issues of a file while they are found: the first `limit` by line are kept."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept: list[Problem] = []
        self.kinds: Counter[str] = Counter()

    def add(self, problem: Problem, first_line: int = 0) -> None:
        line = None if problem.line is None else first_line + problem.line + 1
        self.kinds[problem.kind] += 1
        self.kept.append(problem._replace(line=line))
        if len(self.kept) > 2 * self.limit + 100:
            self._prune()

    def _prune(self) -> None:
        self.kept.sort(key=lambda issue: issue.line or 0)
        del self.kept[self.limit :]

    def join(self, others: Collected) -> None:
        self.kept += others.kept
        self.kinds.update(others.kinds)

    def issues(self) -> Issues:
        self._prune()
        return Issues(tuple(self.kept), self.kinds.total(), dict(self.kinds.most_common()))


class AllProblems(Problems):
    """The problems of a file, which is read on whatever is wrong with its lines."""

    def __init__(self, path: str, role: str, limit: int, order: str = ORDER) -> None:
        super().__init__(path, role, order)
        self.errors = Collected(limit)

    @property
    def enough(self) -> float:
        return math.inf

    def add(self, found: LineProblems, first_line: int = 0) -> None:
        for problem in found.all() if found.total else ():
            self.errors.add(problem, first_line)
        super().add(found, first_line)

    def check(self) -> None:
        """They are reported with what the other lines hold."""


class LetorProblems(AllProblems):
    """All problems of a LETOR file: without all of its lines there are no rows."""

    def check(self) -> None:
        Problems.check(self)


_MARK = b"\xef\xbb\xbf"
_DELIMITERS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
_HEAD = 1 << 16  # bytes in which a delimiter is looked for


class ObservedSource(Source):
    """A file that is described while it is read; the last reading from the beginning counts."""

    def blocks(self, size: int = BLOCK) -> Iterator[Block]:
        self._seen = _Seen()
        for block in super().blocks(size):
            self._seen.add(block.bytes[: block.size])
            yield block

    def chunks(self, size: int = BLOCK) -> Iterator[Bytes]:
        self._seen = _Seen()
        for chunk in super().chunks(size):
            self._seen.add(chunk)
            yield chunk

    def described(self, has_fields: bool) -> Description:
        """Raises InputError. has_fields: whether fields are separated by spaces and tabs."""
        stored, start = self.beginning()
        return self._seen.described(compression_of(stored), start.startswith(_MARK), has_fields)


class _Seen:
    """Counts of the bytes so far."""

    def __init__(self) -> None:
        self.head = b""
        self.lines = self.returns = self.tabs = self.spaces = 0
        self.is_ascii, self.is_binary = True, False
        self.not_utf8: int | None = None
        self.pending = b""  # the beginning of a character that the text was cut in

    def add(self, text: Bytes) -> None:
        if not len(text):
            return
        self.head = self.head or text[:_HEAD].tobytes()
        ends = text == LF
        if self.not_utf8 is None and (self.pending or text.max() > 127):
            self.is_ascii = False
            self._check(text)
        self.is_binary |= not text.all()
        self.returns += int(np.count_nonzero(ends[1:] & (text[:-1] == CR)))
        self.tabs += int(np.count_nonzero(text == TAB))
        self.spaces += int(np.count_nonzero(text == SPACE))
        self.lines += int(np.count_nonzero(ends))

    def _check(self, text: Bytes) -> None:
        data = self.pending + text.tobytes()
        before, self.pending = len(self.pending), b""
        try:
            data.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                self.pending = data[error.start :]
            else:
                at = max(error.start - before, 0)
                self.not_utf8 = self.lines + int(np.count_nonzero(text[:at] == LF)) + 1

    def described(self, compression: str, has_mark: bool, has_fields: bool) -> Description:
        if self.is_binary:
            return Description(compression, "binary", None, "", "")
        encoding = "ASCII" if self.is_ascii else "UTF-8" if self.not_utf8 is None else "not UTF-8"
        encoding = "UTF-8 with a BOM" if has_mark and self.not_utf8 is None else encoding
        ends = " and ".join(
            name for name, count in (("LF", self.lines - self.returns), ("CRLF", self.returns)) if count
        )
        return Description(compression, encoding, self.not_utf8, self._separators(has_fields), ends)

    def _separators(self, has_fields: bool) -> str:
        if has_fields:
            return " and ".join(name for name, count in (("spaces", self.spaces), ("tabs", self.tabs)) if count)
        line = self.head.split(b"\n", 1)[0].decode("utf-8", "replace")
        if line.lstrip()[:1] in ("{", "["):
            return ""
        return max(_DELIMITERS.items(), key=lambda item: line.count(item[0]))[1]


class _Duplicates(NamedTuple):
    """Documents that come again: the line of each, that of the first, and their ids."""

    line: Ints
    first: Ints
    documents: list[bytes]


class _Survey(NamedTuple):
    """Counts of whole queries. counts: the documents of each, (S,). against: the first line in which
    the rank rises with the score, of each query where it does so on balance.
    """

    counts: Ints
    tied: int
    tied_queries: int
    duplicates: _Duplicates | None
    ranked: int
    disordered: int
    against: Ints


class Surveyed(Total):
    """A run's facts, with what eval would keep of it."""

    detects_repeated_run = False  # each duplicate is reported

    def __init__(self, qrels: Qrels, limit: int) -> None:
        super().__init__(qrels, "trec")
        self.counts: list[Ints] = []
        self.tied = self.tied_queries = self.ranked = self.disordered = self.contradicting = 0
        self.has_ranks = False
        self.duplicates, self.against = Collected(limit), Collected(limit)

    def find(self, lines: Lines) -> Found:
        self.has_ranks |= lines.rank is not None
        found = super().find(lines)
        return found._replace(more=_survey(lines, found))

    def add(self, found: Found, first_line: int) -> None:
        super().add(found, first_line)
        survey: _Survey = found.more
        self.counts.append(survey.counts)
        self.tied += survey.tied
        self.tied_queries += survey.tied_queries
        self.ranked += survey.ranked
        self.disordered += survey.disordered
        self.contradicting += len(survey.against)
        for line in survey.against.tolist():
            what = "the rank rises with the score here, as in most lines of this query"
            self.against.add(Problem(line, what), first_line)
        if survey.duplicates is not None:
            again, first, documents = survey.duplicates
            for line, before, document in zip(again.tolist(), first.tolist(), documents, strict=True):
                what = f"duplicate document {shown(document)} for its query"
                hint = f"The first is in line {first_line + before + 1}"
                self.duplicates.add(Problem(line, what, hint), first_line)

    def report(self, problems: Problems) -> None:
        """Nothing: all duplicates are listed."""

    def facts(self, has_qrels: bool, share: float | None) -> RunFacts:
        """share: of the first documents that is judged, None without qrels or a query that they have."""
        counts = np.concatenate([np.empty(0, np.int64), *self.counts])
        tag = self.tag.decode("utf-8", "surrogateescape")
        duplicates = self.duplicates.kinds.total()
        low, high = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
        middle = float(np.median(counts)) if len(counts) else 0.0
        facts = RunFacts(
            len(counts),
            int(counts.sum()),
            (low, middle, high),
            self.tied,
            self.tied_queries,
            duplicates,
            tag=tag,
        )
        if self.has_ranks:
            facts = replace(
                facts, ranked=self.ranked, contradicting=self.contradicting, disordered=self.disordered
            )
        if not has_qrels:
            return facts
        judged, missing = len(self.retrieved), int(np.count_nonzero(self.retrieved == 0))
        return replace(facts, judged_queries=judged, missing=missing, unjudged=self.unjudged, judged=share)


def _survey(lines: Lines, found: Found) -> _Survey:
    segments = Segments(lines.bounds)
    ties = segments.ties(segments.sorted_descending(lines.score))
    groups = np.flatnonzero(ties.lengths > 1)
    tied = int(ties.lengths[groups].sum())
    tied_queries = len(distinct(segments.query[ties.offsets[groups]]))
    duplicates = None
    if found.repeats.total:
        again, first = repeats(
            KeyTable(in_group(lines.documents.keys(), segments.query)), lines.documents, segments.query
        )
        documents = lines.documents.take(again).tolist()
        duplicates = _Duplicates(lines.line[again], lines.line[first], documents)
    ranked, disordered, against = _against(lines)
    return _Survey(np.diff(lines.bounds), tied, tied_queries, duplicates, ranked, disordered, against)


def _against(lines: Lines) -> tuple[int, int, Ints]:
    """How many queries have ranks that can be compared with the scores; in how many a rank rises with the
    score; and the first line of those where it does so on balance.
    """
    none = np.empty(0, np.int64)
    if lines.rank is None or not len(lines.score):
        return 0, 0, none
    rises = np.sign(np.diff(lines.rank)) * np.sign(np.diff(lines.score))
    rises = np.append(0.0, np.nan_to_num(rises))  # of each line and the one before
    rises[lines.bounds[:-1]] = 0
    balance = np.add.reduceat(rises, lines.bounds[:-1])
    is_against: Bools = rises > 0
    disordered = np.add.reduceat(is_against, lines.bounds[:-1], dtype=np.int64) > 0
    queries = np.flatnonzero(balance > 0)
    rows = np.flatnonzero(is_against)
    first = rows[np.searchsorted(rows, lines.bounds[queries])]
    ranked = int(np.count_nonzero(np.add.reduceat(rises != 0, lines.bounds[:-1], dtype=np.int64)))
    return ranked, int(np.count_nonzero(disordered)), lines.line[first]
