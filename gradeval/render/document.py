"""The content of a result before it has a format: grids for people, rows for programs, content for JSON.

A feature has a module `layout` with document(result, how, …) -> OutputDocument, which chooses and orders what
is printed. The writers (table, tsv, csv, json, jsonl, md, latex) know documents and nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.errors import visible
from gradeval.records import Record
from gradeval.render import Digits

Text = list[str] | str
"""The texts of a column, one a row; a string is the same in all rows."""

# --- numbers as text: one at a time for tables, and in columns of any length

ABSENT = "-"  # stands where there is no number
_FEW = 100  # values that are written one by one


def number(value: float, digits: Digits) -> str:
    """A value or a difference; zero has no sign."""
    if math.isnan(value):
        return ABSENT
    if digits == "full" or math.isinf(value):
        return repr(float(value) + 0.0)
    text = f"{value:.{digits}f}"
    return text if text[0] != "-" or text.strip("-0.") else text[1:]


def signed(value: float, digits: Digits) -> str:
    """A difference, with its sign."""
    text = number(value, digits)
    return text if text == ABSENT or text[0] == "-" or not text.strip("0.") else f"+{text}"


def plain(value: float, digits: Digits) -> str:
    """A number for a program."""
    return "nan" if math.isnan(value) else number(value, digits)


def nonzero(value: float, text: str, least: float = 0.0) -> str:
    """The text of a number that decides: above `least`, one significant digit where it would round to 0."""
    return f"{value:.0e}" if abs(value) > least and not text.strip("+-0.") else text


def significant(value: float, digits: Digits) -> str:
    """A p-value with this many significant digits, so that a small one is not 0."""
    return repr(value) if digits == "full" else f"{value:.{max(digits, 1)}g}"


def probability(p: float, digits: Digits) -> str:
    """A p-value for people; one that would be rounded to 0 is shown as below the smallest number shown."""
    least = 0.0 if digits == "full" else 10.0**-digits
    return f"<{least:.{digits}f}" if p < least / 2 else number(p, digits)


def decimals(values: Floats, whole: bool, *, digits: Digits, width: int = 0, signed: bool = False) -> list[str]:
    """Values as text. Counts have no decimals. Zero has no sign; with signed, a rounded negative has."""
    values = values + 0.0  # makes -0.0 a plain 0.0
    if whole:
        return of_distinct(values, lambda number: str(int(number)) if number == number else "nan")
    if digits == "full":
        return of_distinct(values, repr)
    pattern = f"%{width}.{digits}f"
    if signed or not (values < 0).any():
        return of_distinct(values, pattern.__mod__)
    return of_distinct(values, lambda value: f"{plain(value, digits):>{width}}")


def of_distinct(values: Floats, write: Callable[[float], str]) -> list[str]:
    """write(value) for each value, called once for equal ones where there seem to be many."""
    first = values[:_FEW].tolist()
    if len(values) <= _FEW or len(set(first)) > 0.9 * len(first):
        return list(map(write, values.tolist()))
    distinct, index = np.unique(values, return_inverse=True)
    texts: list[str] = np.array(list(map(write, distinct.tolist())), object)[index].tolist()
    return texts


def exact(value: Any) -> Any:
    """A number as JSON can hold it, None where it is not finite; so each one in a dict or a list."""
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else None  # + 0.0 makes -0.0 a plain 0.0
    if isinstance(value, dict):
        return {name: exact(part) for name, part in value.items()}
    return list(map(exact, value)) if isinstance(value, list) else value


# --- the parts of a document


class RenderOptions(Record):
    """How a document is written: the arguments of Printable.render()."""

    digits: Digits = 4
    colour: bool = False
    width: int | None = None
    spreadsheet: bool = False
    format: str = "table"
    header: bool = True
    label: Mapping[str, str] = {}


class Cell(Record):
    text: str
    mark: str = ""  # after it: the letters of runs (a superscript where there are any), or ' [low, high]'
    bold: bool = False

    @property
    def has_letters(self) -> bool:
        return self.mark.replace(",", "").isalpha()


class Grid(Record):
    """A table for people. Nothing in it can steer a terminal, or change the direction of other text."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[Sequence[str | Cell]]  # strings are cells without a mark
    labels: int = 1  # how many of the first columns hold names, which every further table repeats
    left_columns: frozenset[int] | None = None  # columns that are aligned to the left, by default the labels
    joined: frozenset[int] = frozenset()  # columns that stay in the table of the one before
    runs_in_head: bool = False  # whether columns have the names of runs

    @property
    def cells(self) -> list[list[Cell]]:
        return [[Cell(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows]

    def is_left(self, column: int) -> bool:
        return column < self.labels if self.left_columns is None else column in self.left_columns


class Lines(Record):
    """Text whose line ends and spaces are kept: a drawing."""

    lines: Sequence[str]


class StyledLine(Record):
    """A line of its own. style: 'heading', 'strong', or 'dim'."""

    text: str
    style: str


class Sentences(Record):
    """An explanation of the numbers: a paragraph a sentence on a terminal, one paragraph in other formats."""

    sentences: Sequence[str]


Block = Grid | Lines | StyledLine | Sentences | str
"""A string is a paragraph."""


class Rows(Record):
    """A table for programs, in parts that have the same columns. A part is one or several rows for each of
    its items, such as a row for each metric of each query: for each of these rows the texts of its columns.
    """

    head: Sequence[str]
    parts: Iterable[Sequence[Sequence[Text]]]
    names: frozenset[int] = frozenset()  # columns of input text, which a spreadsheet could read as a formula

    @classmethod
    def of(cls, head: Sequence[str], rows: Iterable[Sequence[str]], names: Iterable[str] = ()) -> Rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        return cls(head, [[columns]] if columns else [], frozenset(map(head.index, names)))


class ColumnKind(Record):
    """How the values of a column become text."""

    plain: Callable[[Any, Digits], str]  # for programs
    shown: Callable[[Any, Digits], str | Cell]  # for people
    is_name: bool = False  # text of the input, which could be a formula, or steer a terminal


NAME = ColumnKind(lambda text, digits: text, lambda text, digits: visible(text), is_name=True)
WORD = ColumnKind(lambda value, digits: str(value), lambda value, digits: str(value))
NUMBER = ColumnKind(plain, number)
SIGNED = ColumnKind(plain, signed)
PROBABILITY = ColumnKind(significant, probability)


class Column(Record):
    """A column of a table, declared once."""

    name: str  # for programs, '' where they do not have it
    head: str  # for people, likewise
    kind: ColumnKind = WORD
    key: str = ""  # of the value in a row, by default the name


def data_columns(names: str, kind: ColumnKind = WORD) -> list[Column]:
    """Columns that only programs have."""
    return [Column(name, "", kind) for name in names.split()]


def grid_of(
    title: str, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], digits: Digits, labels: int = 1
) -> Grid:
    columns = [column for column in columns if column.head]
    cells = [[column.kind.shown(row[column.key or column.name], digits) for column in columns] for row in rows]
    return Grid(title, tuple(column.head for column in columns), cells, labels)


def rows_of(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], digits: Digits) -> Rows:
    columns = [column for column in columns if column.name]
    texts = []
    for row in rows:
        values = ((column.kind, row[column.key or column.name]) for column in columns)
        texts.append([text if isinstance(text, str) else kind.plain(text, digits) for kind, text in values])
    names = [column.name for column in columns if column.kind.is_name]
    return Rows.of([column.name for column in columns], texts, names)


class OutputDocument(Record, kw_only=True):
    """The parts of what is printed, each made when a format asks for it; None for those that do not exist."""

    blocks: Callable[[], Iterable[Block]] | None = None  # for people: table, md, latex
    rows: Callable[[], Iterable[Rows]] | None = None  # for programs: tsv, csv
    content: Callable[[], Mapping[str, Any]] | None = None  # the object of json
    records: Callable[[], Iterable[Mapping[str, Any]] | Rows] | None = None  # of jsonl; texts of Rows are JSON
    columns: Callable[[], Iterable[Rows]] | None = None  # rows without a head: trec
    page: Callable[[], str] | None = None  # the text of html, which has no other format beside it
    is_log: bool = False  # printed where a runner of a CI service reads commands: no line may be one


# --- the writers for programs: TSV with escapes for tabs and line ends, CSV with quotes, trec_eval's columns,
# and JSON, one object or an object on each line: ASCII, exact numbers, null for what is undefined

_FORMULA = tuple("=+-@＝＋－＠\t\r\n")  # text that begins so is a formula in spreadsheets
_BREAKS = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r"})


def write_tsv(tables: Iterable[Rows], options: RenderOptions) -> str:
    """A line for each row; an empty line between tables."""
    return "\n".join(_lines(table, options, "\t", one_field, str) for table in tables)


def write_trec(tables: Iterable[Rows], options: RenderOptions) -> str:
    """trec_eval's columns, which have no head: for each run its queries, then the summary."""
    return "".join(_lines(table, options, "\t", str, one_field) for table in tables)


def write_csv(tables: Iterable[Rows], options: RenderOptions) -> str:
    name = not_a_formula if options.spreadsheet else str
    return "\n".join(_lines(table, options, ",", _quoted, name) for table in tables)


def _lines(
    table: Rows, options: RenderOptions, separator: str, field: Callable[[str], str], name: Callable[[str], str]
) -> str:
    """The head, if there is one, and the rows. field: writes a text; name: what is done to names before."""

    def written(column: Text, is_name: bool) -> Text:
        if is_name and name is not str:
            column = name(column) if isinstance(column, str) else list(map(name, column))
        if isinstance(column, str):
            return field(column)
        together = "".join(column)
        return column if field(together) == together else list(map(field, column))

    head = [field(name(column)) for column in table.head]
    text = [separator.join(head) + "\n"] if head and options.header else []
    for part in table.parts:
        rows = [[written(column, c in table.names) for c, column in enumerate(row)] for row in part]
        starts = ["", *[separator] * (max(map(len, rows), default=1) - 1)]
        text.append(interleaved(rows, starts, "\n"))
    return "".join(text)


def one_field(text: str) -> str:
    """A name with escapes for tabs and line ends, which would end its field or line."""
    return text.translate(_BREAKS)


def _quoted(text: str) -> str:
    """The text as a field, in quotes where it needs them."""
    is_plain = not ("," in text or '"' in text or "\r" in text or "\n" in text)
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def not_a_formula(text: str) -> str:
    """The text, after a single quote if a spreadsheet would read it as a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


class Values:
    """A large object in the content of a document: of each query an object with the value of each metric.
    json.dumps would take several times as long. texts: of each metric, the values as JSON.
    """

    def __init__(self, queries: list[str], metrics: list[str], texts: list[list[str]]) -> None:
        self.queries, self.metrics, self.texts = queries, metrics, texts

    def written(self, indent: str) -> str:
        """As json.dumps writes it with indent=2, below an entry with this indent."""
        if not self.queries or not self.metrics:
            return "{}"
        import json
        from json.encoder import encode_basestring_ascii

        parts: list[Text] = [f"\n{indent}  ", list(map(encode_basestring_ascii, self.queries)), ": {"]
        between = ""
        for metric, texts in zip(self.metrics, self.texts, strict=True):
            parts += [f"{between}\n{indent}    {json.dumps(metric)}: ", texts]
            between = ","
        parts.append(f"\n{indent}  }},")
        return "{" + joined(parts).removesuffix(",") + f"\n{indent}}}"


def write_json(content: Mapping[str, Any], options: RenderOptions) -> str:
    import json  # which takes 1 % of a small command

    large: list[Values] = []

    def default(value: Any) -> str:
        if not isinstance(value, Values):
            return str(value)
        large.append(value)
        return _MARK

    text = json.dumps(content, indent=2, default=default, allow_nan=False) + "\n"
    if not large:
        return text
    values = iter(large)
    return re.sub(_MARKED, lambda match: f"{match[1]}{match[2]}{next(values).written(match[1])}", text)


_MARK = "values of queries"
_MARKED = rf'(?m)^( *)("[a-z_]+": )"{_MARK}"(?=,?$)'


def write_jsonl(records: Iterable[Mapping[str, Any]] | Rows, options: RenderOptions) -> str:
    import json
    from json.encoder import encode_basestring_ascii

    if not isinstance(records, Rows):
        return "".join(json.dumps(record, default=str, allow_nan=False) + "\n" for record in records)
    starts = [f"{', ' if c else '{'}{encode_basestring_ascii(name)}: " for c, name in enumerate(records.head)]
    return "".join(interleaved(part, starts, "}\n") for part in records.parts)


def joined(columns: Sequence[Text]) -> str:
    """The text of rows from the texts of each column, of which there is one for each row."""
    count = next((len(column) for column in columns if not isinstance(column, str)), 1)
    pieces: list[str] = [""] * (count * len(columns))
    for index, column in enumerate(columns):
        pieces[index :: len(columns)] = [column] * count if isinstance(column, str) else column
    return "".join(pieces)


def interleaved(part: Sequence[Sequence[Text]], starts: Sequence[str], end: str) -> str:
    """The rows of a part. starts: before each column; end: of a row."""
    return joined([text for row in part for text in (*chain(*zip(starts, row, strict=False)), end)])
