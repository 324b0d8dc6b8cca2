"""Tables of values per query, from gradeval, trec_eval or anything else that writes CSV or TSV.

Four layouts are detected from the first line: gradeval's own rows (a header 'run query metric value'), and its
wide ones (a header 'query metric RUN…'); those of `trec_eval -q` (measure, query and value, without a header);
and a table with a header, in which one column has the query ids and each other one the values of a metric.
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
from gradeval.formats.names import is_number, is_query_name, query_column
from gradeval.formats.sources import Source
from gradeval.options import parse_number

SUMMARY = "all"
"""The query of rows that hold a mean, in gradeval's and trec_eval's output."""

LARGEST = 1e150
"""The largest magnitude of a value: sums of squares stay finite."""

_OWN = ["run", "query", "metric", "value"]
_WIDE = ["query", "metric"]
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

Value = tuple[str, str, str, str]
"""Run, query, metric and value, as the file has them."""


def read_values(source: Source, column: str | None = None) -> list[ValueTable]:
    """The tables of a file: one, or one for each run of gradeval's own output.

    column: the name of the column of query ids; by default it has a usual name. Raises InputError(s).
    """
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
        head = ["measure", "query", "value"]
        tables, problems = _by_rows(rows, head, lambda row: [("", row[1], row[0], row[2])])
    else:
        rows = _csv_rows(source, lines, first)
        _, head = next(rows)
        if head[:4] == _OWN:  # --tie-range adds columns
            tables, problems = _by_rows(rows, head, lambda row: [(row[0], row[1], row[2], row[3])])
        elif head[:2] == _WIDE and head[2:]:
            runs = _run_columns(source, head)
            tables, problems = _by_rows(
                rows,
                head,
                lambda row: [(run, row[0], row[1], text) for run, text in zip(runs, row[2:], strict=True)],
            )
        else:
            tables, problems = _by_columns(source, rows, head, column)
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
    return len(fields) == 3 and (fields[0] == "runid" or is_number(fields[2]))


def _trec_fields(line: str) -> list[str]:
    return _MARKED.split(line.strip(" \t\r"))


def _csv_rows(source: Source, lines: Sequence[str], first: str) -> Iterator[Row]:
    """The rows as Python's csv reads them, without blank ones. first: shows the delimiter.

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


def _run_columns(source: Source, head: Sequence[str]) -> Sequence[str]:
    """The runs of gradeval's wide rows."""
    runs = head[2:]
    if len(set(runs)) < len(runs):
        twice = next(run for place, run in enumerate(runs) if run in runs[:place])
        raise InputError(source.name, f"two columns are named {named(twice)}", line=1)
    return runs


def _by_rows(
    rows: Iterator[Row], head: Sequence[str], values_of: Callable[[list[str]], list[Value]]
) -> tuple[list[ValueTable], list[Problem]]:
    """Tables from rows that name the metric of their values."""
    tables: dict[str, ValueTable] = {}
    problems: list[Problem] = []
    for number, row in rows:
        if len(row) != len(head):
            problems.append(_wrong_count(number, len(row), f"{len(head)} ({' '.join(head)})"))
            continue
        for run, query, metric, text in values_of(row):
            if query == SUMMARY or metric in ("runid", "relstring"):
                continue
            table = tables.setdefault(run, ValueTable(run))
            table.queries[query] = None
            _add(table, problems, number, metric, query, text)
    return list(tables.values()), problems


def _by_columns(
    source: Source, rows: Iterator[Row], head: list[str], column: str | None
) -> tuple[list[ValueTable], list[Problem]]:
    """The table with a column for each metric, and one of query ids; the texts of queries are ignored."""
    hint = "The first line names the columns: one of query ids, and one for each metric"
    if len(head) == 1:
        raise InputError(source.name, "there is one column only", line=1, hint=hint)
    for c, name in enumerate(head):
        if not name or name == "Unnamed: 0" or is_number(name):  # pandas names one so that had no name
            what = f"column {c + 1} has no name" if not name else f"column {c + 1} is named {named(name)}"
            raise InputError(source.name, what, line=1, hint=hint)
        if name in head[:c]:
            raise InputError(source.name, f"two columns are named {named(name)}", line=1)
    ids = query_column(head, column, source.name)
    metrics = {c: name for c, name in enumerate(head) if c != ids and not is_query_name(name)}
    if not metrics:
        raise InputError(source.name, "there is no column of a metric", line=1, hint=hint)
    table = ValueTable("", {name: {} for name in metrics.values()})
    problems: list[Problem] = []
    for number, row in rows:
        query = row[ids] if len(row) == len(head) else ""
        if len(row) != len(head):
            problems.append(_wrong_count(number, len(row), f"the header has {len(head)}"))
        elif not query:
            problems.append(Problem(number, "the query id is missing"))
        elif query in table.queries:
            problems.append(Problem(number, f"query {named(query)} appears twice"))
        else:
            table.queries[query] = None
            for c, name in metrics.items():
                _add(table, problems, number, name, query, row[c])
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
