"""Tables of values per query, from gradeval, trec_eval or anything else that writes CSV or TSV.

Three layouts are detected from the first line: gradeval's own rows (a header 'run query metric value'); those
of `trec_eval -q` (measure, query and value, without a header); and a table with a header, whose first column
has the query ids and each other column the values of a metric.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from gradeval.errors import InputError, named
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems, no_data
from gradeval.formats.fields import read_text
from gradeval.formats.sources import Source
from gradeval.options import parse_number

SUMMARY = "all"
"""The query of rows that hold a mean, in gradeval's and trec_eval's output."""

LARGEST = 1e150
"""The largest magnitude of a value: sums of squares stay finite."""

_OWN = ["run", "query", "metric", "value"]
_UNDEFINED = frozenset(("", "nan", "na", "n/a", "null", "none"))
_MARKED = re.compile(r"[ \t]+")


@dataclass
class ValueTable:
    """The values of one run. name: what the file calls it, '' where the file names no run.

    values: metric -> query -> value, NaN where it is undefined; metrics and queries in order of the file.
    queries: all queries that the file has for this run.
    """

    name: str
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    queries: dict[str, None] = field(default_factory=dict)


Row = tuple[int, list[str]]
"""The 0-based line at which a row begins, and its fields."""


def read_values(source: Source) -> list[ValueTable]:
    """The tables of a file: one, or one for each run of gradeval's own output. Raises InputError(s)."""
    text = read_text(source)
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    first = next((line for line in lines if line.strip()), None)
    if first is None or text.lstrip().startswith(b"{"):
        if first is None:
            raise no_data(source.name, len(lines) - 1)
        hint = (
            "Compare saved results with the qrels and without --values: gradeval compare QRELS RESULT.json ..."
        )
        raise InputError(source.name, "this is JSON", hint=hint)
    if _is_trec(first):
        rows: Iterator[Row] = (
            (number, _trec_fields(line)) for number, line in enumerate(lines) if line.strip()
        )
        tables, problems = _by_rows(rows, ("measure", "query", "value"), lambda row: ("", *row))
    else:
        rows = _csv_rows(source, lines, first)
        _, head = next(rows)
        if head == _OWN:
            tables, problems = _by_rows(rows, _OWN, lambda row: (row[0], row[2], row[1], row[3]))
        else:
            tables, problems = _by_columns(source, rows, head)
    if problems:
        found = Problems(source.name)
        found.add(LineProblems(tuple(problems[:SHOWN]), len(problems)))
        raise found.error()
    if not any(table.queries for table in tables):
        raise InputError(source.name, "there are no values per query", hint="Print them with -q")
    return tables


def _is_trec(line: str) -> bool:
    """Whether it is a line of trec_eval: measure, query and a number (or, of runid, a word)."""
    fields = _trec_fields(line)
    return len(fields) == 3 and (fields[0] == "runid" or _is_number(fields[2]))


def _trec_fields(line: str) -> list[str]:
    return _MARKED.split(line.strip(" \t\r"))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv_rows(source: Source, lines: Sequence[str], first: str) -> Iterator[Row]:
    """The rows as Python's csv reads them, without blank ones. first: the line that tells the delimiter.

    The line of a row is that at which it begins, since a quoted field may hold line ends. gradeval's own TSV
    has no quotes.
    """
    delimiter = next((char for char in "\t,;" if char in first), "\t")
    plain = first.rstrip("\r") == "\t".join(_OWN)
    text = (line + "\n" for line in lines)
    reader = (
        csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        if plain
        else csv.reader(text, delimiter=delimiter, strict=True)
    )
    before = 0
    try:
        for row in reader:
            if any(text.strip() for text in row):
                yield before, [text.strip(" ") for text in row]
            before = reader.line_num
    except csv.Error as error:
        what = f"this is not CSV ({error})"
        if "new-line character" in str(error):  # whose advice is for programs that call csv
            what = "there is a CR within a line. Lines end in LF or CRLF"
        raise InputError(source.name, what, line=before + 1) from None


def _by_rows(
    rows: Iterator[Row], head: Sequence[str], order: Callable[[list[str]], Sequence[str]]
) -> tuple[list[ValueTable], list[Problem]]:
    """Tables from rows that hold one value each. order: the fields of a row -> run, metric, query, value."""
    tables: dict[str, ValueTable] = {}
    problems: list[Problem] = []
    for number, row in rows:
        if len(row) != len(head):
            problems.append(_wrong_count(number, len(row), f"{len(head)} ({' '.join(head)})"))
            continue
        run, metric, query, text = order(row)
        if query == SUMMARY or metric in ("runid", "relstring"):
            continue
        table = tables.setdefault(run, ValueTable(run))
        table.queries[query] = None
        _add(table, problems, number, metric, query, text)
    return list(tables.values()), problems


def _by_columns(source: Source, rows: Iterator[Row], head: list[str]) -> tuple[list[ValueTable], list[Problem]]:
    """The table with a column for each metric."""
    metrics = head[1:]
    hint = "The first line names the columns: the query ids, then a column for each metric"
    if not metrics:
        raise InputError(source.name, "there is one column only", line=1, hint=hint)
    for place, name in enumerate(metrics, 2):
        if not name or _is_number(name):
            what = f"column {place} has no name" if not name else f"column {place} is named {named(name)}"
            raise InputError(source.name, what, line=1, hint=hint)
        if name in metrics[: place - 2]:
            raise InputError(source.name, f"two columns are named {named(name)}", line=1)
    table = ValueTable("", {name: {} for name in metrics})
    problems: list[Problem] = []
    for number, row in rows:
        if len(row) != len(head):
            problems.append(_wrong_count(number, len(row), f"the header has {len(head)}"))
        elif not row[0]:
            problems.append(Problem(number, "the query id is missing"))
        elif row[0] in table.queries:
            problems.append(Problem(number, f"query {named(row[0])} appears twice"))
        else:
            table.queries[row[0]] = None
            for name, text in zip(metrics, row[1:], strict=True):
                _add(table, problems, number, name, row[0], text)
    return [table], problems


def _wrong_count(number: int, count: int, expected: str) -> Problem:
    return Problem(number, f"{count} field{'s' * (count != 1)} where {expected}")


def _add(table: ValueTable, problems: list[Problem], number: int, metric: str, query: str, text: str) -> None:
    """Add a value to the table, or what is wrong with it to the problems."""
    of_metric = table.values.setdefault(metric, {})
    if query in of_metric:
        problems.append(Problem(number, f"{metric} of query {named(query)} appears twice"))
        return
    try:
        value = math.nan if text.lower() in _UNDEFINED else parse_number(text)
    except ValueError:
        problems.append(Problem(number, f"the value {named(text)} of {metric} is not a finite number"))
        return
    if abs(value) > LARGEST:
        problems.append(Problem(number, f"the value {named(text)} of {metric} is beyond {LARGEST:g}"))
    of_metric[query] = value


def metric_names(tables: Sequence[ValueTable]) -> list[str]:
    """The metrics that at least one of the tables has, in order of first appearance."""
    return list(dict.fromkeys(chain.from_iterable(table.values for table in tables)))
