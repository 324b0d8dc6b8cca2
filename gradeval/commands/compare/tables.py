"""Tables of values per query, from gradeval, trec_eval or anything else that writes CSV or TSV, compared.

Four layouts are detected from the first line: gradeval's own rows (a header 'run query metric value'), and its
wide ones (a header 'query metric RUN…'); those of `trec_eval -q` (measure, query and value, without a header);
and a table with a header, in which one column has the query ids and each other one the values of a metric.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradeval.commands.compare.compare import compare_values
from gradeval.commands.compare.options import CompareOptions
from gradeval.commands.compare.result import LARGEST, ComparedMetric, Comparison, QueryValues
from gradeval.errors import InputError, MetricError, OptionError, UnknownQueryError, first_names, named
from gradeval.evaluation.runs import Planned, check_labels, names_of, separate_runs
from gradeval.formats.csv import is_number, is_query_name, query_column
from gradeval.formats.diagnostics import SHOWN, LineProblems, Problem, Problems, no_data
from gradeval.formats.lines import read_text
from gradeval.formats.sources import Source
from gradeval.notices import MAX_QUERIES, Kind, Notice
from gradeval.options import Options, parse_number
from gradeval.registry.spec import Spec, parse, split
from gradeval.tables.load import is_path, source_of
from gradeval.tables.run_names import run_names

SUMMARY = "all"
"""The query of rows that hold a mean, in gradeval's and trec_eval's output."""

_OWN = ["run", "query", "metric", "value"]
_WIDE = ["query", "metric"]
_UNDEFINED = frozenset(("", "nan", "na", "n/a", "null", "none"))
_MARKED = re.compile(r"[ \t]+")
_SUFFIX = re.compile(r"(?<=.)\.(?:csv|tsv)$")


@dataclass
class ValueTable:
    """The values of one run. path: of the file. name: of the run; '' where the file names none, until
    read_tables() does.

    values: metric -> query -> value, NaN where it is undefined; metrics and queries in order of the file.
    queries: all queries that the file has for this run.
    """

    path: str
    name: str
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    queries: dict[str, None] = field(default_factory=dict)


def compare_tables(
    tables: Any,
    metrics: str | Iterable[str] | None = None,
    *,
    lower_is_better: str | Iterable[str] = (),
    queries: str = "judged",
    query_ids: str | Iterable[str] | None = None,
    columns: Any = (),
    **options: Any,
) -> Comparison:
    """Compare tables of values per query, which any tool may have computed.

    tables: files, or a dict of them by name: CSV or TSV with a column of query ids and one for each metric,
    gradeval's own rows (-q), or the output of trec_eval -q. metrics: their names; by default all that every
    table has. lower_is_better: metrics where lower values are better; by default as gradeval's metric of the
    name, or higher. queries: 'judged' counts a query that a table lacks as 0, or excludes it where lower values
    are better; 'both' excludes it. query_ids: these queries only. columns: {'query': NAME}, the column of
    query ids; by default it has a usual name. options: as compare() has them. Raises GradevalError.
    """
    files = separate_runs(tables)
    if other := next((table for _, table in files if not is_path(table)), None):
        raise OptionError(f"a table of values must be a file, not a {type(other).__name__}")
    return compare_files(
        [(label, source_of(table).path) for label, table in files],
        [metrics] if isinstance(metrics, str) else list(metrics or ()),
        [lower_is_better] if isinstance(lower_is_better, str) else list(lower_is_better),
        Options.of(queries=queries, query_ids=query_ids, columns=columns),
        CompareOptions.of(**options),
    )


def compare_files(
    files: Sequence[tuple[str | None, str]],
    metrics: Sequence[str],
    lower_is_better: Sequence[str],
    evaluation: Options,
    options: CompareOptions,
    query_ids: Callable[[Iterable[str], str], Sequence[str]] | None = None,
) -> Comparison:
    """The tables in (label, path) files compared. query_ids: chooses queries, given those of all tables."""
    columns = dict(evaluation.columns)
    if others := [role for role in columns if role != "query"]:
        raise OptionError(f"columns {others[0]}: tables of values have query=NAME only")
    tables = read_tables(files, columns.get("query"))
    ids = evaluation.query_ids if query_ids is None else query_ids(_all_queries(tables), "the tables")
    complete = evaluation.queries == "judged"
    values, notices = from_tables(
        tables, metrics, complete=complete, lower_is_better=lower_is_better, query_ids=ids
    )
    return compare_values(values, options, notices)


def read_tables(files: Sequence[tuple[str | None, str]], column: str | None = None) -> list[ValueTable]:
    """The tables of values in files, (label, path) each. column: of query ids. Raises InputError(s).

    A label is the name of the run of its file, and the beginning of the names of several.
    """
    check_labels(files)
    tables: list[ValueTable] = []
    planned: list[Planned] = []
    for label, path in files:
        source = Source(path)
        of_file = read_values(source, column)
        for table in of_file:
            name = table.name or _SUFFIX.sub("", run_names([source.name])[0])
            if len(of_file) == 1:
                planned.append(Planned(label, source.name, name))
            else:
                planned.append(Planned(label and f"{label}:{name}", f"{source.name}:{name}", name))
        tables += of_file
    _drop_summaries(tables)
    _name_alike(tables)
    for table, name in zip(tables, names_of(planned), strict=True):
        table.name = name
    return tables


def _drop_summaries(tables: Sequence[ValueTable]) -> None:
    """Drop rows 'all', in any case, that have the means of a table, or are all that the other tables lack."""

    def is_lone(table: ValueTable, query: str) -> bool:
        others = set().union(*(other.queries for other in tables if other is not table))
        return table.queries.keys() - others == {query}

    for is_summary in (_has_means, is_lone):
        rows = [(table, query) for table in tables for query in table.queries if query.casefold() == SUMMARY]
        for table, query in [row for row in rows if is_summary(*row)]:
            del table.queries[query]
            for of_metric in table.values.values():
                of_metric.pop(query, None)


def _has_means(table: ValueTable, query: str) -> bool:
    """Whether the values of the row are the means of the others, or their sums, but for rounding."""
    is_mean = []
    for of_metric in table.values.values():
        value = of_metric.get(query, math.nan)
        others = [other for name, other in of_metric.items() if name != query and not math.isnan(other)]
        if others and not math.isnan(value):
            total = math.fsum(others)
            is_mean.append(
                any(math.isclose(value, summary, abs_tol=1e-3) for summary in (total / len(others), total))
            )
    return bool(is_mean) and all(is_mean)


def _name_alike(tables: Sequence[ValueTable]) -> None:
    """Give metrics that tables spell in different ways, such as map and AP, gradeval's name in all of them."""
    spellings: dict[str, set[str]] = {}
    for table in tables:
        for name in table.values:
            if (spec := _spec(name)) is not None:
                spellings.setdefault(str(spec), set()).add(name)
    for table in tables:
        for canonical, names in spellings.items():
            own = [name for name in table.values if name in names]
            if len(names) > 1 and len(own) == 1:
                table.values = {canonical if name == own[0] else name: of for name, of in table.values.items()}


def _spec(name: str) -> Spec | None:
    """The metric of gradeval that a column is named after, None where there is none."""
    try:
        specs = parse(name)
    except MetricError:
        return None
    return specs[0] if len(specs) == 1 else None


def _all_queries(tables: Iterable[ValueTable]) -> list[str]:
    """The queries that at least one of the tables has, in order of first appearance."""
    return list(dict.fromkeys(query for table in tables for query in table.queries))


def from_tables(
    tables: Sequence[ValueTable],
    metrics: Sequence[str] = (),
    *,
    complete: bool = True,
    lower_is_better: Sequence[str] = (),
    query_ids: Sequence[str] | None = None,
) -> tuple[QueryValues, list[Notice]]:
    """The values of the tables, and what should be known of them.

    metrics: which to take, by name, several separated by spaces or commas; by default all that every table
    has. complete: a query that a table lacks and another has counts as 0 (if lower values are better, it is
    excluded); otherwise it is excluded. lower_is_better: metrics with this direction; by default that of
    gradeval's metric of the name, or higher. query_ids: only these queries. Raises InputError, MetricError,
    UnknownQueryError.
    """
    columns, notices = _columns(tables, metrics, lower_is_better)
    for table in reversed(tables[1:]):
        if set(_all_queries(other for other in tables if other is not table)).isdisjoint(table.queries):
            what = "it has no query in common with the other tables"
            raise InputError(table.path, what, hint="Check the query ids")
    queries = _all_queries(tables)
    if query_ids is not None:
        if unknown := [query for query in query_ids if query not in set(queries)]:
            raise UnknownQueryError(unknown, "the tables")
        queries = [query for query in queries if query in set(query_ids)]
    lower = [column.name for column in columns if column.sign < 0] if complete else []
    rule = "judged" if complete and len(lower) < len(columns) else "both"
    values = np.full((len(tables), len(columns), len(queries)), np.nan)
    for r, table in enumerate(tables):
        missing = np.array([query not in table.queries for query in queries], np.bool_)
        if missing.any():
            ids = tuple(queries[q] for q in np.flatnonzero(missing)[:MAX_QUERIES])
            excluded_for = ", ".join(lower) if rule == "judged" else ""
            count = int(missing.sum())
            notices.append(Notice(Kind.MISSING_VALUES, table.name, count, excluded_for, ids, rule))
        for m, column in enumerate(columns):
            of_metric = table.values[column.name]
            values[r, m] = [of_metric.get(query, math.nan) for query in queries]
            if complete and column.sign > 0:
                values[r, m, missing] = 0.0
            undefined = np.isnan(values[r, m]) & ~missing
            if undefined.any():
                ids = tuple(queries[q] for q in np.flatnonzero(undefined)[:MAX_QUERIES])
                notices.append(Notice(Kind.UNDEFINED, table.name, int(undefined.sum()), column.name, ids))
    names, paths = tuple(table.name for table in tables), tuple(table.path for table in tables)
    return QueryValues(tuple(queries), names, paths, columns, values), notices


def _columns(
    tables: Sequence[ValueTable], metrics: Sequence[str], lower_is_better: Sequence[str]
) -> tuple[tuple[ComparedMetric, ...], list[Notice]]:
    """The metrics to compare, and a notice of those that not all tables have; arguments as of from_tables()."""
    present = list(dict.fromkeys(name for table in tables for name in table.values))
    notices = []
    if metrics:
        texts = [[text] if text in present else split(text) for text in metrics]  # a column may have any name
        names = [_named(name, present) for several in texts for name in several]
        for name in names:
            for table in tables:
                if name not in table.values:
                    what = f"it has no values of {name}, only of {first_names(table.values)}"
                    raise InputError(table.path, what)
    else:
        names = [name for name in present if all(name in table.values for table in tables)]
        if not names:
            shown = "; ".join(f"{table.path}: {first_names(table.values)}" for table in tables)
            raise MetricError(f"no metric is in every table ({shown})")
        if others := [name for name in present if name not in names]:
            notices.append(Notice(Kind.EXCLUDED_METRICS, "", len(others), rule=", ".join(others)))
    for name in lower_is_better:
        if name not in present:
            raise MetricError(f"{name} is in no table", hint="there are " + first_names(present))
    columns = []
    for name in dict.fromkeys(names):
        spec = _spec(name)
        higher = True if spec is None else spec.metric.higher_is_better
        columns.append(ComparedMetric(name, name, False if name in lower_is_better else higher))
    return tuple(columns), notices


def _named(metric: str, present: Sequence[str]) -> str:
    """The name that the tables have for a metric, which may be spelled as gradeval or trec_eval does."""
    if metric in present:
        return metric
    if (wanted := _spec(metric)) is not None:
        for name in present:
            if _spec(name) == wanted:
                return name
    raise MetricError(f"{metric} is in no table", hint="there are " + first_names(present))


Row = tuple[int, list[str]]
"""The 0-based line at which a row begins, and its fields."""


def read_values(source: Source, column: str | None = None) -> list[ValueTable]:
    """The tables of a file: one, or one for each run of gradeval's own output.

    column: the name of the column of query ids; by default it has a usual name. Raises InputError(s).
    """
    text = read_text(source)
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise no_data(source.name, len(lines) - 1)
    if text.lstrip().startswith(b"{"):
        hint = (
            "Compare saved results with the qrels and without --values: gradeval compare QRELS RESULT.json ..."
        )
        raise InputError(source.name, "this is JSON", hint=hint)
    if _is_trec(first):
        rows: Iterator[Row] = ((n, _trec_fields(line)) for n, line in enumerate(lines) if line.strip())
        head = ["measure", "query", "value"]
        tables, problems = _by_rows(source, rows, head, lambda row: [("", row[1], row[0], row[2])])
    else:
        rows = _csv_rows(source, lines, first)
        _, head = next(rows)
        if head[:4] == _OWN:  # --tie-range adds columns
            tables, problems = _by_rows(source, rows, head, lambda row: [(row[0], row[1], row[2], row[3])])
        elif head[:2] == _WIDE and head[2:]:
            runs = head[2:]
            if twice := next((run for place, run in enumerate(runs) if run in runs[:place]), None):
                raise InputError(source.name, f"two columns are named {named(twice)}", line=1)
            tables, problems = _by_rows(
                source,
                rows,
                head,
                lambda row: [(run, row[0], row[1], text) for run, text in zip(runs, row[2:], strict=True)],
            )
        else:
            tables, problems = _by_columns(source, rows, head, column)
    if problems:
        shown = Problems(source.name)
        shown.add(LineProblems(tuple(problems[:SHOWN]), len(problems)))
        raise shown.error()
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
    is_own = first.rstrip("\r") == "\t".join(_OWN)
    reader = csv.reader(
        (line + "\n" for line in lines),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if is_own else csv.QUOTE_MINIMAL,
        strict=True,
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
    source: Source,
    rows: Iterator[Row],
    head: Sequence[str],
    values_of: Callable[[list[str]], list[tuple[str, str, str, str]]],
) -> tuple[list[ValueTable], list[Problem]]:
    """Tables from rows that name the metric of their values. values_of: (run, query, metric, text) in a row."""
    tables: dict[str, ValueTable] = {}
    problems: list[Problem] = []
    for number, row in rows:
        if len(row) != len(head):
            problems.append(_wrong_count(number, len(row), f"{len(head)} ({' '.join(head)})"))
            continue
        for run, query, metric, text in values_of(row):
            if query == SUMMARY or metric in ("runid", "relstring"):
                continue
            table = tables.setdefault(run, ValueTable(source.name, run))
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
    table = ValueTable(source.name, "", {name: {} for name in metrics.values()})
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
