"""CSV and TSV with a header: recommenders' files, Quepid's, BEIR's, and those of frames and spreadsheets.

What Python's csv module reads is read. A block of lines that all have the header's number of fields, each
without quotes or wholly in quotes, is split by array arithmetic; any other block is left to that module.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bytes, Ints
from gradeval.arrays.strings import Ids
from gradeval.errors import InputError
from gradeval.formats.columns import Columns, FileBlocks, Table
from gradeval.formats.diagnostics import LineProblems, Problem
from gradeval.formats.memory import object_ids
from gradeval.formats.names import Chosen, choose, is_header
from gradeval.formats.scan import CR, LF, Rows, binary_data
from gradeval.formats.sources import TOO_LONG, Block, Source
from gradeval.formats.trec import columns_of
from gradeval.notices import many
from gradeval.options import Options

DELIMITERS = "\t,;|"
_QUOTE = ord('"')
_LONGEST_HEADER = 1 << 16
_NO_HEADER = re.compile(rb"[ \t]*(?:\r?\n|#|sep=)")
_NONE: Ints = np.empty(0, np.int64)


class Dialect(NamedTuple):
    """How a file is written. delimiter: between fields. skips_spaces: a space after it is part of no field.
    has_quotes: whether fields may be in quotes; otherwise these are part of the fields.
    """

    delimiter: str
    skips_spaces: bool = False
    has_quotes: bool = True

    def rows(self, lines: Iterator[str]) -> Any:
        """csv.reader of the lines, which raises csv.Error for a quote that is not closed."""
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            skipinitialspace=self.skips_spaces,
            quoting=csv.QUOTE_MINIMAL if self.has_quotes else csv.QUOTE_NONE,
            strict=True,
        )


class Header(NamedTuple):
    """The first line. names: of the columns. size: of the line, in bytes."""

    names: list[str]
    dialect: Dialect
    size: int


def table(
    source: Source, number: str, options: Options, delimiters: str = DELIMITERS, has_quotes: bool = True
) -> Table:
    """A file with a header in which one of the delimiters separates column names. has_quotes: that of Dialect.

    Raises InputError.
    """
    for block in source.blocks():
        header = header_of(block.bytes[: block.size], delimiters, dict(options.columns))
        if header is None:
            what = "the first line is no header with the names of at least two columns"
            hint = "Without a header, use another format"
            if _NO_HEADER.match(block.bytes[: min(block.size, _LONGEST_HEADER)].tobytes()):
                hint = "The header must be the first line; remove what is before it"
            raise InputError(source.name, what, hint=hint, line=1)
        header = header._replace(dialect=header.dialect._replace(has_quotes=has_quotes))
        chosen = choose(header.names, number, dict(options.columns), source.name)
        file = _File(source, header, chosen, number)
        return Table(file, file.columns, tuple(header.names))
    raise InputError(source.name, "the file is empty")


def header_of(text: Bytes, delimiters: str, given: dict[str, str]) -> Header | None:
    """The header that a text begins with, None where there is none. given: names of columns, by role."""
    line, end, _ = text[:_LONGEST_HEADER].tobytes().partition(b"\n")
    try:
        decoded = line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError:
        return None
    if "\0" in decoded:
        return None
    found = []
    for delimiter in delimiters:
        if delimiter not in decoded:
            continue
        parts = decoded.split(delimiter)
        dialect = Dialect(delimiter, all(part.startswith(" ") for part in parts[1:]))
        try:
            [names] = dialect.rows(iter([decoded]))
        except (csv.Error, ValueError):
            continue
        names = [name.strip() for name in names]
        if is_header(names, given):
            found.append(Header(names, dialect, len(line) + len(end)))
    return found[0] if len(found) == 1 else None


class _Part(NamedTuple):
    """Lines of the file: fields of a block, or records that the csv module has read, each with its line.

    lines: how many there are. skipped: the header's, which no row is of. error: what ended the reading.
    """

    block: Block
    fields: list[Ids] | None = None
    records: list[tuple[int, list[str]]] | None = None
    lines: int = 0
    skipped: int = 0
    error: Problem | None = None


class _File(FileBlocks):
    """Only the csv module knows where a record with quotes ends: these blocks are read in order."""

    def __init__(self, source: Source, header: Header, chosen: Chosen, number: str) -> None:
        super().__init__(source)
        self.header, self.chosen, self.number = header, chosen, number
        names = header.names
        self.wanted = [names.index(name) for name in chosen[:3]]

    def blocks(self) -> Iterator[_Part]:
        blocks = iter(self.source.blocks())
        size = 0
        for whole in blocks:
            size += whole.size
            block, skipped = whole, 0
            if block.first and block.size:
                head = self.header.size
                block = block._replace(bytes=block.bytes[head:], size=block.size - head)
                skipped = 1
            text = block.bytes[: block.size]
            if not self.header.dialect.has_quotes or not (text == _QUOTE).any():
                yield _Part(block, skipped=skipped)
            elif (fields := self._fields(block, quotes=True)) is not None:
                yield _Part(block, fields, skipped=skipped)
            else:
                yield self._records(block, blocks, skipped)
        if size <= self.header.size:
            raise InputError(self.name, "no data: there is no row below the header")

    def columns(self, part: _Part) -> Columns:
        block = part.block
        fields = part.fields
        if part.records is None:
            problem = _unreadable(block, part.skipped)
            if problem is not None:
                return _failed(block, problem)
            if fields is None and not self.header.dialect.skips_spaces:
                fields = self._fields(block)
        if fields is not None:
            count = len(fields[0])
            rows = Rows(tuple(fields), np.arange(count) + part.skipped, count + part.skipped, _NONE, _NONE)
            return self._columns(block, rows, LineProblems())
        if part.records is None:
            part = self._records(block, iter(()), part.skipped)
        return self._of_records(part)

    def _fields(self, block: Block, quotes: bool = False) -> list[Ids] | None:
        """The wanted fields of a block of plain lines, None for another."""
        text = block.bytes[: block.size]
        n = len(self.header.names)
        ends = np.flatnonzero((text == ord(self.header.dialect.delimiter)) | (text == LF))
        lines, rest = divmod(len(ends), n)
        if rest or not (text[ends[n - 1 :: n]] == LF).all() or np.count_nonzero(text == LF) != lines:
            return None
        starts = np.empty_like(ends)
        starts[:1] = 0
        np.add(ends[:-1], 1, out=starts[1:])
        returns = np.count_nonzero(text == CR)
        if returns:
            last = ends[n - 1 :: n]
            has_return = text[last - 1] == CR
            if np.count_nonzero(has_return) != returns:
                return None
            ends[n - 1 :: n] -= has_return
        if n == 1 or (ends[n - 1 :: n] == starts[::n]).any():  # a blank line
            return None
        if quotes:
            is_quoted = text[np.minimum(starts, len(text) - 1)] == _QUOTE
            is_quoted &= (ends - starts >= 2) & (text[ends - 1] == _QUOTE)
            if np.count_nonzero(text == _QUOTE) != 2 * np.count_nonzero(is_quoted):
                return None
            starts, ends = starts + is_quoted, ends - is_quoted
        return [Ids(block.bytes, starts[k::n], ends[k::n] - starts[k::n]) for k in self.wanted]

    def _records(self, block: Block, blocks: Iterator[Block], skipped: int) -> _Part:
        """The records that begin in a block; the last may end in one of the next blocks."""
        pending: list[str] = []  # the lines of a block that are left, from the last on
        last, read = block.last, 0

        def lines() -> Iterator[str]:
            nonlocal pending, last, read
            for one in chain([block], blocks):
                problem = _unreadable(one, read)
                if problem is not None:
                    raise _Unreadable(problem)
                text = one.bytes[: one.size].tobytes().decode("utf-8", "surrogateescape")
                last, pending = one.last, text.split("\n")[-2::-1]
                read += len(pending)
                while pending:
                    yield pending.pop() + "\n"

        records: list[tuple[int, list[str]]] = []
        error = None
        reader = self.header.dialect.rows(lines())
        begin = 0
        try:
            for record in reader:
                if record:
                    records.append((begin, record))
                begin = reader.line_num
                if not pending:
                    break
        except _Unreadable as found:
            error = found.problem
        except csv.Error as wrong:
            is_open = "end of data" in str(wrong) or "field limit" in str(wrong)
            error = Problem(begin, "the quoted field that begins here is not closed" if is_open else str(wrong))
        if error is not None:
            error = error._replace(line=(error.line or 0) + skipped)
        return _Part(block._replace(last=last), None, records, read, skipped, error)

    def _of_records(self, part: _Part) -> Columns:
        """The columns of records of the csv module."""
        assert part.records is not None
        n = len(self.header.names)
        line = np.array([at for at, _ in part.records], np.int64) + part.skipped
        counts = np.array([len(record) for _, record in part.records], np.int64)
        odd = np.flatnonzero(counts != n)
        dialect = self.header.dialect
        in_quotes = (
            f"A field with '{dialect.delimiter}' in it must be in double quotes" if dialect.has_quotes else ""
        )
        problems = LineProblems.of(
            line[odd],
            lambda i: f"{many(int(counts[odd[i]]), 'field', 'fields')} where the header has {n}",
            lambda i: in_quotes if counts[odd[i]] > n else "",
        )
        records = [record for _, record in part.records if len(record) == n]
        fields = tuple(object_ids([record[k] for record in records], "id")[0] for k in self.wanted)
        lines = part.lines + part.skipped
        rows = Rows(fields, line[counts == n], lines, _NONE, _NONE)
        if part.error is not None:
            problems = LineProblems.joined([problems, LineProblems((part.error,), 1, final=True)])
        return self._columns(part.block, rows, problems)

    def _columns(self, block: Block, rows: Rows, problems: LineProblems) -> Columns:
        keep = np.ones(len(rows.line), bool)
        for what, ids in zip(("query", "document"), rows.fields, strict=False):
            empty = np.flatnonzero(ids.length == 0)
            if len(empty):
                text = f"the {what} id is empty"
                problems = LineProblems.joined(
                    [problems, LineProblems.of(rows.line[empty], lambda _, text=text: text)]  # type: ignore[misc]
                )
                keep[empty] = False
        unrated = 0
        if self.chosen.empty_is_unjudged and self.number == "grade":
            empty_number = rows.fields[2].length == 0
            unrated = int(np.count_nonzero(keep & empty_number))
            keep &= ~empty_number
        if not keep.all():
            rows = rows._replace(fields=tuple(ids.take(keep) for ids in rows.fields), line=rows.line[keep])
        what = "rank" if self.chosen.by_rank else self.number
        columns = columns_of(block, rows, what, None, problems)._replace(unrated=unrated)
        if self.chosen.by_rank:
            columns = columns._replace(value=-columns.value)
        return columns.light() if self.number == "grade" else columns


class _Unreadable(Exception):
    """Why the rest of a file cannot be read."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def _unreadable(block: Block, before: int) -> Problem | None:
    """Why a block cannot be read, if so. before: the number of lines before it."""
    if block.too_long:
        return Problem(before, TOO_LONG, "Is this the right file?")
    text = block.bytes[: block.size]
    if not text.all():
        line = int(np.count_nonzero(text[: int(text.argmin())] == LF))
        return binary_data(b"", before + line)
    return None


def _failed(block: Block, problem: Problem) -> Columns:
    none = Ids.of([])
    rows = Rows((none, none, none), _NONE, 0, _NONE, _NONE)
    return columns_of(block, rows, "", LineProblems((problem,), 1, final=True), LineProblems())
