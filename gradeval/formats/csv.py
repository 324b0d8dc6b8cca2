"""CSV and TSV with a header: recommenders' files, Quepid's, BEIR's, and those of frames and spreadsheets."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Bytes, Ints
from gradeval.arrays.strings import Ids
from gradeval.errors import InputError, first_names, named
from gradeval.formats.columns import Columns, Table, columns_of, of_one_run, with_subtopics
from gradeval.formats.diagnostics import NOTHING, LineProblems, Problem
from gradeval.formats.memory import RUN_NAMES, object_ids
from gradeval.formats.scan import CR, LF, DataLines, not_text
from gradeval.formats.sources import Block, Source
from gradeval.notices import many
from gradeval.options import ROLES, Options

_RECBOLE = re.compile(r":(?:token|float)(?:_seq)?$")
_JOINERS = re.compile(r"[-_ .]")
_SHOWN = 20  # columns that an error names

# Each role's usual names without '-', '_', spaces and capitals, in groups: a name of an earlier group is meant
# where a table has others too (PyTerrier's 'docno' is the id and 'docid' a number; its 'query' is the text).
# Two names of one group are ambiguous.
USUAL_NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "query": (("queryid", "qid", "topicid", "userid", "uid"), ("query", "topic", "user"), ("querytext",)),
    "document": (
        ("docno", "corpusid"),
        ("docid", "documentid", "did", "iid", "itemid", "pid", "passageid", "productid"),
        ("document", "doc", "item", "passage"),
    ),
    "grade": (("relevance", "rel", "grade", "label", "rating", "qrel"),),
    "score": (("score", "scores", "sim", "similarity", "prediction"), ("rank",)),
    "subtopic": (
        ("subtopic", "subtopicid"),
        ("aspect", "aspectid", "nugget", "nuggetid"),
        ("intent",),
        ("iteration",),
    ),
}
OPTION = "--columns {}=NAME"  # how a user of the command names the column of a role
ARGUMENT = "columns={{'{}': NAME}}"  # and how a user of Python does
_SUBTOPIC = "subtopic"
_QUEPID = "rating"  # in its exports an empty one is no judgment
DELIMITERS = "\t,;|"
_QUOTE = ord('"')
_LONGEST_HEADER = 1 << 16
_NO_HEADER = re.compile(rb"[ \t]*(?:\r?\n|#|sep=)")
_NONE: Ints = np.empty(0, np.int64)
BEIR_COLUMNS = ("query-id", "corpus-id", "score")  # of judgments: there the score is the grade
BEIR_HEADER = re.compile(rb"[ \r]*query-id[ \r]*\t[ \r]*corpus-id[ \r]*\t[ \r]*score[ \r]*(?:\n|\Z)")
_LONGEST_BEIR_HEADER = 100  # bytes of a header


class Chosen(NamedTuple):
    """The columns that are read. number: of the grade or score. by_rank: it holds ranks; the score is -rank.
    empty_is_unjudged: whether a row with an empty number is left out, as in Quepid's exports. subtopic: '' if
    the table has none. run: of a run, the column with the names of runs, '' if the table has none.
    """

    query: str
    document: str
    number: str
    by_rank: bool = False
    empty_is_unjudged: bool = False
    subtopic: str = ""
    run: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (*self[:3], *filter(None, (self.subtopic, self.run)))

    def finished(self, columns: Columns, number: str) -> Columns:
        """Columns of these names, with the score in place of the rank. Qrels hold on to no block."""
        if number == "grade":
            return columns.light()
        return columns.replace(value=-columns.value) if self.by_rank else columns.checked()


def choose(
    names: Sequence[str], number: str, by_role: Mapping[str, str], path: str, naming: str = OPTION
) -> Chosen:
    """The columns to read among those of a table. Raises InputError where one is missing or ambiguous.

    number: 'grade' or 'score'. by_role: names that the user gave; a table without the query or document column
    of this name may have usual names, since qrels and runs can differ. naming: how the user names a column.
    """

    def usual(role: str) -> str:
        return names[_only(names, usual_columns(names, role), role, path, naming)]

    query, document = (by_role[role] if by_role.get(role) in names else usual(role) for role in ROLES[:2])
    is_beir = {*map(simplified, BEIR_COLUMNS)} <= {*map(simplified, names)}
    if number in by_role:
        check_has(names, by_role[number], path)
        name = by_role[number]
    elif number == "grade" and is_beir and not usual_columns(names, "grade"):
        name = next(name for name in names if simplified(name) == "score")
    else:
        name = usual(number)
    if number == "score":
        run = RUN_NAMES if RUN_NAMES in names and RUN_NAMES not in (query, document, name) else ""
        return Chosen(query, document, name, by_rank=simplified(name) == "rank", run=run)
    subtopic = by_role.get(_SUBTOPIC, "")
    if _SUBTOPIC in by_role:
        check_has(names, subtopic, path)
    elif others := [at for at in usual_columns(names, _SUBTOPIC) if names[at] not in (query, document, name)]:
        subtopic = names[_only(names, others, _SUBTOPIC, path, naming)]
    return Chosen(query, document, name, empty_is_unjudged=simplified(name) == _QUEPID, subtopic=subtopic)


def usual_columns(names: Sequence[str], role: str, with_id: bool = False) -> list[int]:
    """The columns of the first group of usual names that a table has. with_id: and those called 'id'."""
    plain = [*map(simplified, names)]
    groups = ([at for at, name in enumerate(plain) if name in group] for group in USUAL_NAMES[role])
    return [*next(filter(None, groups), []), *(at for at, name in enumerate(plain) if with_id and name == "id")]


def query_column(names: Sequence[str], chosen: str | None, path: str) -> int:
    """The position of the column of query ids.

    The table has no documents, so 'id' is a usual name too. chosen: its name, which a table need not have if it
    has a usual one. Raises InputError where it is missing or ambiguous.
    """
    if chosen is not None and chosen in names:
        return names.index(chosen)
    return _only(names, usual_columns(names, "query", with_id=True), "query", path, OPTION)


def check_has(names: Sequence[str], name: str, path: str) -> None:
    if name not in names:
        raise InputError(path, f"no column named {named(name)}; {_list_of(names)}")


def is_query_name(name: str) -> bool:
    """Whether a column of this name has the ids or the texts of queries."""
    return bool(usual_columns([name], "query"))


def are_columns(names: Sequence[str], by_role: Mapping[str, str]) -> bool:
    """Whether these fields of a first line are column names: at least two are of what a table must have."""
    roles = [
        any(usual_columns(names, role) or by_role.get(role) in names for role in several)
        for several in (ROLES[:1], ROLES[1:2], ROLES[2:4])
    ]
    return sum(roles) >= 2 and not any(map(is_number, names))


def simplified(name: str) -> str:
    """A column name without its RecBole type, joiners and capitals."""
    return _JOINERS.sub("", _RECBOLE.sub("", name.strip())).lower()


def _only(names: Sequence[str], found: Sequence[int], role: str, path: str, naming: str) -> int:
    """The one column that was found for a role. Raises InputError."""
    if len(found) == 1:
        return found[0]
    if found:
        both = " or ".join(named(names[place]) for place in found)
        is_one_name = len({names[place] for place in found}) == 1
        hint = "Rename one" if is_one_name else f"Choose with {naming.format(role)}"
        raise InputError(path, f"the {role} column may be {both}", hint=hint)
    usual = ", ".join(name for group in USUAL_NAMES[role] for name in group)
    what = f"no {role} column ({usual}); {_list_of(names)}"
    raise InputError(path, what, hint=f"Name it with {naming.format(role)}")


def _list_of(names: Sequence[str]) -> str:
    return f"the columns are {first_names(map(named, names), _SHOWN)}"


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class Header(NamedTuple):
    """The first line, and how the file is written.

    delimiter: between fields. skips_spaces: a space after it is part of no field. names: of the columns. size:
    of the line, in bytes. has_quotes: whether fields may be in quotes; otherwise these are part of the fields.
    """

    delimiter: str
    skips_spaces: bool
    names: Sequence[str] = ()
    size: int = 0
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


def table(
    source: Source, number: str, options: Options, delimiters: str = DELIMITERS, has_quotes: bool = True
) -> Table:
    """A file with a header in which one of the delimiters separates column names. Raises InputError."""
    for block in source.blocks():
        header = header_of(block.bytes[: block.size], delimiters, dict(options.columns))
        if header is None:
            what = "the first line is no header with the names of at least two columns"
            hint = "Without a header, use another format"
            if _NO_HEADER.match(block.bytes[: min(block.size, _LONGEST_HEADER)].tobytes()):
                hint = "The header must be the first line; remove what is before it"
            raise InputError(source.name, what, hint=hint, line=1)
        header = header._replace(has_quotes=has_quotes)
        chosen = choose(header.names, number, dict(options.columns), source.name)
        file = _File(source, header, chosen, number)
        return of_one_run(Table.of(source, file.columns, header.names, file.blocks), chosen.run)
    raise InputError(source.name, "the file is empty")


def header_of(text: Bytes, delimiters: str, by_role: dict[str, str]) -> Header | None:
    """The header that a text begins with, None where there is none. by_role: names that the user gave."""
    line, end, _ = text[:_LONGEST_HEADER].tobytes().partition(b"\n")
    try:
        decoded = line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError:
        return None
    if "\0" in decoded:
        return None
    headers = []
    for delimiter in delimiters:
        if delimiter not in decoded:
            continue
        parts = decoded.split(delimiter)
        header = Header(delimiter, all(part.startswith(" ") for part in parts[1:]))
        try:
            [names] = header.rows(iter([decoded]))
        except (csv.Error, ValueError):
            continue
        names = [name.strip() for name in names]
        if are_columns(names, by_role):
            headers.append(header._replace(names=names, size=len(line) + len(end)))
    return headers[0] if len(headers) == 1 else None


class _Part(NamedTuple):
    """Lines: fields of a block, or records, each with its line. skipped: the header's. error: what ended it."""

    block: Block
    skipped: int
    fields: list[Ids] | None = None
    records: list[tuple[int, list[str]]] | None = None
    lines: int = 0
    error: Problem | None = None


class _File:
    """Only the csv module knows where a record with quotes ends: these blocks are read in order."""

    def __init__(self, source: Source, header: Header, chosen: Chosen, number: str) -> None:
        self.source, self.header, self.chosen, self.number = source, header, chosen, number
        names = header.names
        self.wanted = [names.index(name) for name in chosen.names]

    def blocks(self) -> Iterator[_Part]:
        blocks = iter(self.source.blocks())
        size = 0
        for whole in blocks:
            size += whole.size
            head = self.header.size if whole.first else 0
            block = whole.replace(bytes=whole.bytes[head:], size=whole.size - head)
            skipped = int(block.first)
            if not self.header.has_quotes or not (block.bytes[: block.size] == _QUOTE).any():
                yield _Part(block, skipped)
            elif (fields := self._fields(block, quotes=True)) is not None:
                yield _Part(block, skipped, fields)
            else:
                yield self._records(block, blocks, skipped)
        if size <= self.header.size:
            raise InputError(self.source.name, "no data: there is no row below the header")

    def columns(self, part: _Part) -> Columns:
        block, skipped = part.block, part.skipped
        if part.records is None:
            problem = not_text(block, skipped)
            if problem is not None:
                return Columns.failed(0, block, problem)
            if (fields := part.fields or self._fields(block)) is not None:
                count = len(fields[0])
                return self._columns(
                    block, DataLines(tuple(fields), np.arange(count) + skipped, count + skipped)
                )
            part = self._records(block, iter(()), skipped)
        assert part.records is not None
        n = len(self.header.names)
        line = np.array([at for at, _ in part.records], np.int64)
        counts = np.array([len(record) for _, record in part.records], np.int64)
        records = [record for _, record in part.records if len(record) == n]
        fields = [object_ids([record[k] for record in records], "id")[0] for k in self.wanted]
        rows = DataLines(tuple(fields), line[counts == n], part.lines)
        odd = np.flatnonzero(counts != n)
        quotes = f"A field with '{self.header.delimiter}' in it must be in double quotes"
        problems = LineProblems.of(
            line[odd],
            lambda i: f"{many(int(counts[odd[i]]), 'field', 'fields')} where the header has {n}",
            lambda i: quotes if counts[odd[i]] > n and self.header.has_quotes else "",
        )
        if part.error is not None:
            problems = LineProblems.joined([problems, LineProblems((part.error,), 1, final=True)])
        return self._columns(part.block, rows, problems)

    def _columns(self, block: Block, rows: DataLines, problems: LineProblems = NOTHING) -> Columns:
        keep = np.ones(len(rows.line), bool)
        for what, ids in zip(("query", "document"), rows.fields, strict=False):
            if not ids.length.all():
                empty = ids.length == 0
                of_empty = LineProblems.of(rows.line[empty], lambda _, what=what: f"the {what} id is empty")  # type: ignore[misc]
                problems = LineProblems.joined([problems, of_empty])
                keep &= ~empty
        unrated = 0
        if self.chosen.empty_is_unjudged and self.number == "grade":
            empty = rows.fields[2].length == 0
            unrated = int(np.count_nonzero(keep & empty))
            keep &= ~empty
        if not keep.all():
            rows = rows.replace(fields=tuple(ids.take(keep) for ids in rows.fields), line=rows.line[keep])
        what = "rank" if self.chosen.by_rank else self.number
        columns = columns_of(block, rows, what, None, problems).replace(unrated=unrated)
        columns = with_subtopics(columns, rows) if len(self.wanted) > 3 else columns
        return self.chosen.finished(columns, self.number)

    def _fields(self, block: Block, quotes: bool = False) -> list[Ids] | None:
        """The wanted fields of a block of plain lines, None for another."""
        if self.header.skips_spaces:
            return None
        text = block.bytes[: block.size]
        n = len(self.header.names)
        ends = np.flatnonzero((text == ord(self.header.delimiter)) | (text == LF))
        lines, rest = divmod(len(ends), n)
        if rest or not (text[ends[n - 1 :: n]] == LF).all() or np.count_nonzero(text == LF) != lines:
            return None
        starts = np.append(0, ends[:-1] + 1)[: len(ends)]
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
        error: Problem | None = None

        def lines() -> Iterator[str]:
            nonlocal pending, last, read, error
            for part in chain([block], blocks):
                error = not_text(part, skipped + read)
                if error is not None:
                    return
                text = part.bytes[: part.size].tobytes().decode("utf-8", "surrogateescape")
                last, pending = part.last, text.split("\n")[-2::-1]
                read += len(pending)
                while pending:
                    yield pending.pop() + "\n"

        records: list[tuple[int, list[str]]] = []
        reader = self.header.rows(lines())
        begin = skipped
        try:
            for record in reader:
                if record:
                    records.append((begin, record))
                begin = skipped + reader.line_num
                if not pending:
                    break
        except csv.Error as wrong:
            is_open = "end of data" in str(wrong) or "field limit" in str(wrong)
            what = "the quoted field that begins here is not closed" if is_open else str(wrong)
            error = error or Problem(begin, what)
        return _Part(block.replace(last=last), skipped, None, records, skipped + read, error)


def tsv_table(source: Source, number: str, options: Options) -> Table:
    return table(source, number, options, "\t")


def beir_table(source: Source, number: str, options: Options) -> Table:
    for block in source.blocks():
        if not BEIR_HEADER.match(block.bytes[: min(block.size, _LONGEST_BEIR_HEADER)].tobytes()):
            what = f"the first line is not {' '.join(BEIR_COLUMNS)}, separated by tabs"
            raise InputError(source.name, what, line=1, hint="Omit the format, or give csv or tsv")
        break
    return table(source, number, options, "\t", has_quotes=False)
