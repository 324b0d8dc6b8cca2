"""CSV and TSV with a header, as of recommenders, Quepid, BEIR and frames; without one, runs of MS MARCO."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradeval.arrays import Bytes, Ints
from gradeval.arrays.segments import Segments
from gradeval.arrays.strings import PAD, Ids, padded
from gradeval.errors import InputError, LowestFirstError, first_names, named
from gradeval.formats.columns import Blocks, BlockTable, Columns, RankCheck, columns_of, of_one_run
from gradeval.formats.detect import named_columns
from gradeval.formats.diagnostics import NOTHING, LineProblems, Problem, shown
from gradeval.formats.format import QRELS_FIRST, RANKED, Format, FormatWriter, counts, is_number
from gradeval.formats.memory import DOCUMENT, QUERY, RUN_NAMES, SUBTOPIC, object_ids
from gradeval.formats.scan import CR, LF, DataLines, byte_order_mark, marked_lines, not_lines
from gradeval.formats.sources import LONGEST_LINE, UTF8_MARK, Block, Source
from gradeval.formats.trec import qrels_fields
from gradeval.formats.write import (
    Content,
    LineFields,
    Write,
    by_column,
    contains,
    is_one_of,
    no_spaces,
    refusing,
)
from gradeval.notices import many
from gradeval.options import OF_SCORES, ROLES, UNJUDGED, Options

if TYPE_CHECKING:
    from gradeval.arrays.text import Field

_RECBOLE = re.compile(r":(?:token|float)(?:_seq)?$")
_JOINERS = re.compile(r"[-_ .]")
_IN_ORDER = 'where the documents are in order, list their ids alone: ["DOCUMENT1", "DOCUMENT2"]'
_RANKS = "where the rows are in order, write a column rank: 1, 2, 3, … for each query"
_SHOWN = 20  # columns that an error names
_COMPARED = 9  # lines, whose delimiters show a table

# Each role's usual names without '-', '_', spaces and capitals, in groups: a name of an earlier group is meant
# where a table has others too (PyTerrier's 'docno' is the id and 'docid' a number; its 'query' is the text).
# Two names of one group are ambiguous.
USUAL_NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "query": (("queryid", "qid", "topicid", "userid", "uid"), ("query", "topic", "user"), ("querytext",)),
    "document": (
        ("docno", "corpusid"),
        ("docid", "documentid", "did", "iid", "itemid", "pid", "passageid", "chunkid", "nodeid", "productid"),
        ("document", "doc", "item", "passage"),
    ),
    "grade": (("relevance", "rel", "grade", "label", "rating", "qrel"),),
    "score": (("score", "scores", "sim", "similarity", "prediction"),),
    "rank": (("rank",), ("position",)),
    "distance": (("distance", "distances"),),
    "subtopic": (
        ("subtopic", "subtopicid"),
        ("aspect", "aspectid", "nugget", "nuggetid"),
        ("intent",),
        ("iteration",),
    ),
    "id": (("id",),),  # of what the rows are about
}
OPTION = "--columns {}=NAME"  # how a user of the command names the column of a role
ARGUMENT = "columns={{'{}': NAME}}"  # and how a user of Python does
_QUEPID = "rating"  # in its exports an empty one is no judgment
DELIMITERS = "\t,;|"
_DELIMITER = rb"[\t,;|]"
_FIGURE = rb"[ \t]*[-+]?[\d.][-+.\deE]*[ \t\r]*"
_QUOTE = ord('"')
_LONGEST_HEADER = 1 << 16
_NO_HEADER = re.compile(rb"[ \t]*(?:\r?\n|#|sep=)")
BEIR_COLUMNS = ("query-id", "corpus-id", "score")  # of judgments: there the score is the grade


class Chosen(NamedTuple):
    """The columns that are read."""

    query: str  # '' where it is no column
    document: str
    number: str
    kind: str  # what the number is: a grade, a score, or a distance or rank, of which the score is the negative
    subtopic: str = ""  # '' if the table has none
    run: str = ""  # likewise
    rank: str = ""  # the ranks beside the scores, '' if there are none
    is_given: bool = False  # whether the user named the number
    unlabelled: str | None = None  # the option

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(filter(None, (*self[:3], self.subtopic, self.run)))

    @property
    def labels(self) -> tuple[str, ...]:
        """What messages call the values of the columns."""
        return QUERY, DOCUMENT, self.kind, SUBTOPIC if self.subtopic else RUN_NAMES

    @property
    def is_negated(self) -> bool:
        return self.kind in OF_SCORES[1:]

    @property
    def empty_is_unjudged(self) -> bool:
        """Whether a row of CSV with an empty number is left out."""
        is_default = self.unlabelled is None and simplified(self.number) == _QUEPID
        return self.kind == "grade" and (is_default or self.unlabelled == UNJUDGED)

    @property
    def in_place(self) -> str:
        """The column of ranks that is read because there are no scores, '' where there are."""
        return self.number if self.kind == "rank" and not self.is_given else ""

    def finished(self, columns: Columns) -> Columns:
        """Columns of these names as rows of qrels, which hold on to no block, or of a run."""
        if self.kind == "grade":
            return columns.light()
        if self.is_negated:
            columns = columns.replace(value=-columns.value)
        if self.in_place:
            return columns.replace(ranks=RankCheck(in_place=self.in_place))
        return columns.checked(columns.rank).replace(rank=None)


def chosen_table(
    source: Source,
    names: Sequence[str],
    chosen: Chosen,
    read: Callable[[Any, Chosen], Columns],
    blocks: Blocks | None = None,
) -> BlockTable:
    """A file with names of columns. read: the columns of a block, with ranks if there is a column of them."""

    def columns(block: Any) -> Columns:
        return chosen.finished(read(block, chosen if block.first else chosen._replace(rank="")))

    def ranked(block: Any) -> Columns:
        rows = read(block, chosen)
        rank = np.full(len(rows.value), np.nan) if rows.rank is None else rows.rank
        return chosen.finished(rows).replace(rank=rank)

    file = BlockTable.of(source, columns, names, blocks)
    return of_one_run(file.replace(ranked=ranked) if chosen.rank else file, chosen.run)


def choose(
    names: Sequence[str],
    number: str,
    by_role: Mapping[str, str],
    path: str,
    naming: str = OPTION,
    *,
    in_lists: bool = False,
) -> Chosen:
    """The columns to read. Raises InputError where one is missing or ambiguous. by_role: names that the user
    gave; a table without the query or document column of this name may have usual names, since qrels and runs
    can differ. naming: how the user names a column. in_lists: whether each query has a list of its rows.
    """
    table = _NamedTable(names, by_role, path, naming)
    query = "" if in_lists else table.column("query", usual_columns(names, "query"))
    usual = usual_columns(names, "document") or usual_columns(names, "id") * in_lists
    document = table.column("document", usual)
    return table.of_qrels(query, document) if number == "grade" else table.of_run(query, document)


def chosen_of(
    names: Sequence[str], number: str, options: Options, path: str, *, in_lists: bool = False
) -> Chosen:
    """The columns of a file, as choose() has them."""
    chosen = choose(names, number, dict(options.columns), path, in_lists=in_lists)
    return chosen._replace(unlabelled=options.unlabelled)


class _NamedTable(NamedTuple):
    """Names of columns from which to choose, and what choose() knows of them."""

    names: Sequence[str]
    by_role: Mapping[str, str]
    path: str
    naming: str

    def column(self, role: str, usual: Sequence[int]) -> str:
        """The column of a role, by default the usual one. Raises InputError."""
        name = self.by_role.get(role)
        if name is not None and role not in ROLES[:2]:
            check_has(self.names, name, self.path)
        if name is not None and name in self.names:
            return name
        return self.names[_only(self.names, usual, role, self.path, self.naming)]

    def of_qrels(self, query: str, document: str) -> Chosen:
        names = self.names
        usual = usual_columns(self.names, "grade")
        if not usual and {*map(simplified, BEIR_COLUMNS)} <= {*map(simplified, names)}:
            usual = [column for column, name in enumerate(names) if simplified(name) == "score"][:1]
        grade = self.column("grade", usual)
        subtopics = self._usual_besides(SUBTOPIC, (query, document, grade))
        subtopic = self.column(SUBTOPIC, subtopics) if subtopics or SUBTOPIC in self.by_role else ""
        return Chosen(query, document, grade, "grade", subtopic=subtopic)

    def of_run(self, query: str, document: str) -> Chosen:
        kind = self._kind_of_scores()
        if {*self.names} <= {query, document}:
            hint = _RANKS if query else _IN_ORDER
            raise InputError(self.path, "no scores or ranks beside the ids", hint=f"W{hint[1:]}")
        other_names = [name for name in self.names if name not in (query, document, RUN_NAMES)]
        if kind == "score" and kind not in self.by_role and not usual_columns(self.names, kind):
            raise self._no_scores(other_names, _RANKS if query else _IN_ORDER)
        score = self.column(kind, usual_columns(self.names, kind))
        run = RUN_NAMES if RUN_NAMES in self.names and RUN_NAMES not in (query, document, score) else ""
        ranks = self._usual_besides("rank", (query, document, score))
        rank = self.names[ranks[0]] if len(ranks) == 1 and kind != "rank" else ""
        return Chosen(query, document, score, kind, run=run, rank=rank, is_given=kind in self.by_role)

    def _no_scores(self, other_names: Sequence[str], in_order: str) -> InputError:
        """The error of a run without a known column of scores or ranks. other_names: than those of the ids.
        in_order: the hint for rows in order.
        """
        by_score, *lowest = (
            self._named(role, other_names[0] if len(other_names) == 1 else "") for role in OF_SCORES
        )
        by_lowest = " or ".join(lowest)
        usual = ", ".join(chain.from_iterable(USUAL_NAMES["score"] + USUAL_NAMES["rank"]))
        columns = first_names(map(named, self.names), _SHOWN)
        message = f"no score column ({usual}); the columns are {columns}"
        name_it = "Name it"
        if usual_columns(self.names, "grade"):
            name_it = f"This looks like qrels. {QRELS_FIRST}. Name the scores of a run"
        return InputError(
            self.path,
            message,
            hint=f"{name_it} with {by_score}, or, where the lowest comes first, with {by_lowest}; {in_order}",
        )

    def _named(self, role: str, name: str) -> str:
        """How the user names a column for a role, NAME where it is not known which."""
        column = repr(name) if self.naming == ARGUMENT else name
        return self.naming.format(role).replace("NAME", column if name else "NAME")

    def _usual_besides(self, role: str, chosen: Sequence[str]) -> list[int]:
        return [column for column in usual_columns(self.names, role) if self.names[column] not in chosen]

    def _kind_of_scores(self) -> str:
        """What ranks the documents of a run: a score, distance or rank as given, or else a score, or a rank.
        Raises LowestFirstError for a distance that is not given as one, and a rank that is given as a score.
        """
        given = next((role for role in OF_SCORES if role in self.by_role), "")
        if given in OF_SCORES[1:]:
            return given
        names = [self.by_role["score"]] if given else self.names
        kind = next((role for role in ("score", "rank", "distance") if usual_columns(names, role)), "score")
        if kind == "distance" or (kind == "rank" and given):
            name = names[usual_columns(names, kind)[0]]
            reason = f"the column {named(name)} is a {kind}, of which the lowest comes first"
            raise LowestFirstError(self.path, reason, hint=f"{self._named(kind, name)} reads score = -{kind}")
        return kind


def usual_columns(names: Sequence[str], role: str) -> list[int]:
    """The columns of the first group of usual names that a table has; all names that end in distance."""
    plain = [*map(simplified, names)]
    if role == "distance":
        return [at for at, name in enumerate(plain) if name.endswith(USUAL_NAMES[role][0])]
    groups = ([at for at, name in enumerate(plain) if name in group] for group in USUAL_NAMES[role])
    return next(filter(None, groups), [])


def query_column(names: Sequence[str], chosen: str | None, path: str) -> int:
    """The column of query ids, or 'id', in a table without documents. Raises InputError. chosen: a name."""
    if chosen in names:
        return names.index(chosen)
    return _only(names, usual_columns(names, "query") + usual_columns(names, "id"), "query", path)


def check_has(names: Sequence[str], name: str, path: str) -> None:
    if name not in names:
        columns = first_names(map(named, names), _SHOWN)
        raise InputError(path, f"no column named {named(name)}; the columns are {columns}")


def are_columns(names: Sequence[str], by_role: Mapping[str, str]) -> bool:
    """Whether these fields of a first line are column names: at least two are of what a table must have."""
    has = [bool(usual_columns(names, role)) or by_role.get(role) in names for role in ROLES[:6]]
    return has[0] + has[1] + any(has[2:]) >= 2 and not any(map(is_number, names))


def simplified(name: str) -> str:
    """A column name without its RecBole type, joiners and capitals."""
    return _JOINERS.sub("", _RECBOLE.sub("", name.strip())).lower()


def _only(names: Sequence[str], candidates: Sequence[int], role: str, path: str, naming: str = OPTION) -> int:
    """The one column that was found for a role. Raises InputError."""
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        both = " or ".join(named(names[column]) for column in candidates)
        is_one_name = len({names[column] for column in candidates}) == 1
        hint = "Rename one" if is_one_name else f"Choose with {naming.format(role)}"
        raise InputError(path, f"the {role} column may be {both}", hint=hint)
    usual = ", ".join(chain.from_iterable(USUAL_NAMES[role]))
    message = f"no {role} column ({usual}); the columns are {first_names(map(named, names), _SHOWN)}"
    raise InputError(path, message, hint=f"Name it with {naming.format(role)}")


class Header(NamedTuple):
    """The first line."""

    delimiter: str
    skips_spaces: bool  # after a delimiter
    names: Sequence[str] = ()
    size: int = 0  # in bytes
    has_quotes: bool = True  # whether fields may be in quotes

    def rows(self, text: str) -> Any:
        """csv.reader of the text, which raises csv.Error for a quote that is not closed."""
        return csv.reader(
            io.StringIO(text, newline="\n"),
            delimiter=self.delimiter,
            skipinitialspace=self.skips_spaces,
            quoting=csv.QUOTE_MINIMAL if self.has_quotes else csv.QUOTE_NONE,
            strict=True,
        )


def _detected(text: bytes, options: Options) -> str:
    line = text.split(b"\n", 1)[0]
    delimiter = re.search(_DELIMITER, line)
    if delimiter is None or any(re.fullmatch(_FIGURE, field) for field in line.split(delimiter[0])):
        return ""
    header = header_of(np.frombuffer(text, np.uint8), DELIMITERS, dict(options.columns))
    if header is None or header.delimiter != "\t":
        return "csv" if header else ""
    return "beir" if tuple(header.names) == BEIR_COLUMNS and b'"' not in line else "tsv"


def table(
    source: Source, number: str, options: Options, delimiters: str = DELIMITERS, names: tuple[str, ...] = ()
) -> BlockTable:
    """A file with a header. names: those of a format whose fields are never in quotes. Raises InputError."""
    block = next(source.blocks_from_head(), None)
    if block is None:
        raise InputError(source.name, "the file is empty")
    header = header_of(block.text, delimiters, dict(options.columns))
    is_other = names and header and (tuple(header.names) != names or _QUOTE in block.bytes[: header.size])
    if header is None or is_other:
        raise _no_header(source.name, names, block, number)
    header = header._replace(has_quotes=not names)
    chosen = chosen_of(header.names, number, options, source.name)
    read = partial(_columns, header=header)
    return chosen_table(source, header.names, chosen, read, partial(_blocks, source, header))


def _no_header(path: str, names: tuple[str, ...], block: Block, number: str) -> InputError:
    """The error of a file without a header, or without these names."""
    message = "the first line is no header with the names of at least two columns"
    lines = [line for line in block.bytes[: min(block.size, _LONGEST_HEADER)].tobytes().split(b"\n") if line]
    hint = named_columns(lines[:_COMPARED], number, "") or "Without a header, use another format"
    if names:
        message = f"the first line is not {' '.join(names)}, separated by tabs"
        hint = "Omit the format"
    elif _NO_HEADER.match(block.bytes[: min(block.size, _LONGEST_HEADER)].tobytes()):
        hint = "The header must be the first line; remove what is before it"
    return InputError(path, message, hint=hint, line=1)


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
    for delimiter in filter(decoded.__contains__, delimiters):
        parts = decoded.split(delimiter)
        header = Header(delimiter, all(part.startswith(" ") for part in parts[1:]))
        try:
            [names] = header.rows(decoded)
        except (csv.Error, ValueError):
            continue
        names = [name.strip() for name in names]
        if are_columns(names, by_role):
            headers.append(header._replace(names=names, size=len(line) + len(end)))
    return headers[0] if len(headers) == 1 else None


def _blocks(source: Source, header: Header) -> Iterator[Block]:
    """Blocks of whole records, without the header: where quotes are not closed, with the next block."""
    size = quotes = 0
    parts = []
    for block in source.blocks():
        head = header.size if block.first else 0
        size += block.size - head
        parts.append(block.replace(bytes=block.bytes[head:], size=block.size - head))
        if header.has_quotes:
            quotes += int(np.count_nonzero(parts[-1].text == _QUOTE))
        if quotes % 2 and not block.last and sum(part.size for part in parts) < LONGEST_LINE:
            continue
        if len(parts) > 1:
            joined = padded(*(part.text for part in parts))
            yield block.replace(bytes=joined, size=len(joined) - PAD, first=parts[0].first)
        else:
            yield parts[0]
        parts = []
        quotes = 0
    if not size:
        raise InputError(source.name, "no data: there is no row below the header")


def _columns(block: Block, chosen: Chosen, header: Header) -> Columns:
    """The chosen columns of a block, without the rows that are problems or unjudged."""
    skipped = int(block.first and header.size > 0)  # the header's line
    if (problem := not_lines(block, skipped)) is not None:
        return Columns.failed(0, block, problem)
    names = (*chosen.names, chosen.rank) if chosen.rank else chosen.names
    wanted = [header.names.index(name) for name in names]
    problems = NOTHING
    if (rows := _split(block, header, wanted, skipped)) is None:
        rows, problems = _parsed(block, header, wanted, skipped)
    marked = rows.line[np.isin(rows.line, skipped + marked_lines(block))]  # others are within a quoted field
    if len(marked):
        return Columns.failed(0, block, byte_order_mark(int(marked[0])))
    keep = np.ones(len(rows.line), bool)
    for label, ids in zip((QUERY, DOCUMENT), rows.fields, strict=False):
        if not ids.length.all():
            problems += LineProblems.of(rows.line[ids.length == 0], f"the {label} is empty")
            keep &= ids.length > 0
    unrated = 0
    if chosen.empty_is_unjudged:
        unrated = int(np.count_nonzero(keep & (rows.fields[2].length == 0)))
        keep &= rows.fields[2].length > 0
    if not keep.all():
        rows = rows.replace(fields=tuple(ids.take(keep) for ids in rows.fields), line=rows.line[keep])
    read = rows.replace(fields=rows.fields[: len(chosen.names)])
    columns = columns_of(block, read, chosen.kind, None, problems).replace(unrated=unrated)
    return columns.with_ranks(rows, len(chosen.names)) if chosen.rank else columns


def _split(block: Block, header: Header, wanted: list[int], skipped: int) -> DataLines | None:
    """The wanted fields of a block of plain lines, of which some may be in quotes; None for another."""
    if header.skips_spaces:
        return None
    text = block.text
    n = len(header.names)
    field_ends = np.flatnonzero((text == ord(header.delimiter)) | (text == LF))
    lines, remainder = divmod(len(field_ends), n)
    if remainder or not (text[field_ends[n - 1 :: n]] == LF).all() or np.count_nonzero(text == LF) != lines:
        return None
    field_starts = np.append(0, field_ends[:-1] + 1)[: len(field_ends)]
    returns = np.count_nonzero(text == CR)
    if returns:
        has_return = text[field_ends[n - 1 :: n] - 1] == CR
        if np.count_nonzero(has_return) != returns:
            return None
        field_ends[n - 1 :: n] -= has_return
    quotes = np.count_nonzero(text == _QUOTE) if header.has_quotes else 0
    if quotes:
        is_quoted = text[np.minimum(field_starts, len(text) - 1)] == _QUOTE
        is_quoted &= (field_ends - field_starts >= 2) & (text[field_ends - 1] == _QUOTE)
        if quotes != 2 * np.count_nonzero(is_quoted):
            return None
        field_starts = field_starts + is_quoted
        field_ends = field_ends - is_quoted
    is_empty = field_ends[::n] == field_starts[::n]
    if (is_empty & (field_ends[n - 1 :: n] == field_starts[n - 1 :: n])).any():  # it may be a blank line
        return None
    fields = tuple(Ids(block.bytes, field_starts[k::n], field_ends[k::n] - field_starts[k::n]) for k in wanted)
    return DataLines(fields, np.arange(lines) + skipped, lines + skipped)


def _parsed(block: Block, header: Header, wanted: list[int], skipped: int) -> tuple[DataLines, LineProblems]:
    """The wanted fields of any block, as the csv module reads it, and what is wrong with its lines."""
    text = block.text.tobytes().decode("utf-8", "surrogateescape")
    n = len(header.names)
    lines = skipped + text.count("\n")
    records = []
    line = []
    wrong = []
    reader = header.rows(text)
    begin = skipped
    error = NOTHING
    try:
        for record in reader:
            if not any(record):  # a blank line, as Excel writes them: ;;;;
                pass
            elif len(record) == n:
                records.append(record)
                line.append(begin)
            else:
                is_split = len(record) > n and header.has_quotes
                hint = f"A field with '{header.delimiter}' in it must be in double quotes" if is_split else ""
                fields = many(len(record), "field", "fields")
                layout = f"a line has {n}, separated by tabs ({' '.join(header.names)})"
                where = f"the header has {n}" if header.size else layout
                wrong.append(Problem(begin, f"{fields} where {where}", hint))
            begin = skipped + reader.line_num
    except csv.Error as reason:
        is_open = "end of data" in str(reason) or "field limit" in str(reason)
        message = "the quoted field that begins here is not closed" if is_open else str(reason)
        error = LineProblems.listed([Problem(begin, message)], final=True)
    fields_of = (object_ids([record[k] for record in records], "id")[0] for k in wanted)
    rows = DataLines(tuple(fields_of), np.array(line, np.int64), lines)
    return rows, LineProblems.listed(wrong) + error


def without_header(block: Block, names: tuple[str, str, str]) -> Columns:
    """The columns of lines with three fields between tabs: query, document and a number."""
    header = Header("\t", False, names, has_quotes=False)
    return _columns(block, Chosen(*names, kind=names[2]), header)


# --- MS MARCO


def _detected_ranks(text: bytes, options: Options) -> str:
    return "msmarco" if counts(text, RANKED, 1, with_spaces=True) else ""


def _msmarco_table(source: Source, number: str, options: Options) -> BlockTable:
    """The score is -rank; each rank must follow that of the line of its query before."""

    def blocks() -> Iterator[Columns]:
        last: dict[bytes, int] = {}  # the last rank of each query so far
        for block in source.blocks():
            columns = without_header(block, ("query", "passage", "rank"))
            before = []
            for query, count in zip(columns.queries.tolist(), columns.lengths.tolist(), strict=True):
                before.append(last.get(query, 0))
                last[query] = before[-1] + count
            rows = Segments(columns.bounds)
            expected = rows.place + 1 + np.array(before, np.int64)[rows.query]
            problems = columns.problems + _wrong_rank(columns, expected)
            yield columns.replace(value=-columns.value, problems=problems)

    return BlockTable.of(source, lambda columns: columns, blocks=blocks)


def _wrong_rank(columns: Columns, expected: Ints) -> LineProblems:
    """The first row whose rank is not the expected one, which ends the reading."""
    rows = np.flatnonzero(columns.value != expected)
    if not len(rows):
        return NOTHING
    row = int(rows[0])
    query = columns.queries[columns.query[row]]
    rank = f"the rank is {columns.value[row]:g} where query {shown(query)} needs {expected[row]}"
    hint = "Ranks must be 1, 2, … for each query in the order of the file"
    return LineProblems.listed([Problem(int(columns.line[row]), rank, hint)], final=True)


def _write_ranks(batches: Iterator[Columns], sink: Any, content: Content) -> None:
    """Ranks instead of scores, in their order."""

    def ranked(batch: Columns) -> Columns:
        assert batch.rank is not None
        order = np.lexsort((batch.rank, batch.query))
        return batch.replace(documents=batch.documents.take(order), rank=batch.rank[order])

    def fields(row: LineFields, content: Content) -> list[Field]:
        return [row.query, b"\t", row.document, b"\t", row.rank, b"\n"]

    by_column(fields)(map(ranked, batches), sink, content)


_no_tabs = refusing(
    "tabs or line ends", b"\t\r\n" + UTF8_MARK, contains(rb"[\t\r\n]"), contains(b"\\A" + UTF8_MARK)
)


def _refused_by_msmarco(batch: Columns, content: Content) -> LineProblems:
    if content.role == "run":
        return _no_tabs(batch, content)
    real = np.flatnonzero(batch.value != np.rint(batch.value))
    message = "the grade {!r} cannot be written: MS MARCO's are integers"
    of_grades = LineProblems.of(batch.line[real], lambda i: message.format(float(batch.value[real[i]])))
    return no_spaces(batch, content) + of_grades


MSMARCO = Format(
    "msmarco",
    "the third field counts 1, 2, … within the first query",
    _msmarco_table,
    _detected_ranks,
    no_qrels=("this looks like a run of MS MARCO (query passage rank)", QRELS_FIRST),
    # its qrels are TREC's with tabs
    writer=lambda: FormatWriter(
        by_column(partial(qrels_fields, space=b"\t")), _write_ranks, _refused_by_msmarco
    ),
)


# --- writing tables


def _written(delimiter: str, header: tuple[str, ...] | None = None, has_quotes: bool = True) -> Write:
    characters = f'{delimiter}"\r\n'.encode()
    special = is_one_of(characters + UTF8_MARK)
    mark = delimiter.encode()

    def quoted(field: bytes) -> bytes:
        # a byte order mark at the beginning of a line is an error
        is_plain = field.translate(None, characters) == field and not field.startswith(UTF8_MARK)
        return field if is_plain else b'"%b"' % field.replace(b'"', b'""')

    def cells(ids: Ids) -> Ids:
        is_odd = has_quotes and special[ids.text()].any()
        return Ids.of([*map(quoted, ids.tolist())]) if is_odd else ids

    def fields(row: LineFields, content: Content) -> list[Field]:
        columns = [cells(row.query), mark, cells(row.document), mark, *row.number]
        if row.subtopic is not None:
            columns += [mark, cells(row.subtopic)]
        return [*columns, b"\n"]

    def write(batches: Iterator[Columns], sink: Any, content: Content) -> None:
        sink.write(delimiter.join(header or content.names).encode() + b"\n")
        by_column(fields)(batches, sink, content)

    return write


def _writer(delimiter: str) -> FormatWriter:
    return FormatWriter(_written(delimiter), _written(delimiter), refusing())


_KNOWN = "its first line is a header of known column names"
CSV = Format("csv", _KNOWN, table, _detected, writer=partial(_writer, ","))
TSV = Format(
    "tsv",
    f"{_KNOWN}, separated by tabs",
    partial(table, delimiters="\t"),
    _detected,
    writer=partial(_writer, "\t"),
)
BEIR = Format(
    "beir",
    "its header is BEIR's: query-id, corpus-id, score",
    partial(table, delimiters="\t", names=BEIR_COLUMNS),
    _detected,
    writer=lambda: FormatWriter(
        _written("\t", BEIR_COLUMNS, has_quotes=False),
        None,
        refusing(
            "tabs or line ends, nor quotes at its beginning,",
            b'\t\r\n"' + UTF8_MARK,
            contains(rb'[\t\r\n]|\A"'),
            contains(b"\\A" + UTF8_MARK),
        ),
        has_subtopics=False,
    ),
)
