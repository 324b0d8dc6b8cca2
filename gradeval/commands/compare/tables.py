"""Tables of values per query, from gradeval, trec_eval or anything else that writes CSV or TSV, compared.

They are files, Results, or data frames, which are read as CSV with a header is. Four layouts are detected from
the first line: gradeval's own rows (a header 'run query metric value'), and its wide ones (a header 'query
metric RUN…'); those of `trec_eval -q` (measure, query and value, without a header); and a table with a header,
in which one column has the query ids and each other one the values of a metric.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradeval.arrays import Bools
from gradeval.commands.compare.compare import (
    LARGEST,
    ComparedMetric,
    ComparedSystem,
    Comparison,
    QueryValues,
    compare_values,
)
from gradeval.commands.compare.coverage import Coverage, JudgedQueries
from gradeval.compare_options import CompareOptions
from gradeval.errors import (
    InputError,
    MetricError,
    OptionError,
    UnknownQueryError,
    described,
    first_names,
    named,
)
from gradeval.evaluation.outcome import no_common_query
from gradeval.evaluation.plan import weights_of, with_weights
from gradeval.evaluation.results import SavedResult
from gradeval.evaluation.runs import check_labels, separate_runs
from gradeval.evaluation.saved import is_saved, read_saved
from gradeval.file_formats import LabelledRun, run_names, short_name
from gradeval.formats.csv import query_column, usual_columns
from gradeval.formats.diagnostics import LineProblems, Problem, no_data
from gradeval.formats.format import is_number
from gradeval.formats.lines import read_text
from gradeval.formats.sources import Source
from gradeval.notices import MAX_QUERIES, Notice, NoticeKind
from gradeval.options import LaterIds, Options, parse_number, takes
from gradeval.registry.spec import Spec, parse, split
from gradeval.render.printable import warned
from gradeval.tables.load import is_path, source_of

if TYPE_CHECKING:
    from gradeval.keywords import CompareResults, Unpack

SUMMARY = "all"  # the query of rows that hold means, as in gradeval's and trec_eval's output

_OWN = ["run", "query", "metric", "value"]
_WIDE = ["query", "metric"]
_TEXTS = frozenset(("runid", "relstring"))  # metrics of trec_eval and gradeval
_UNDEFINED = frozenset(("", "nan", "na", "n/a", "null", "none", "<na>"))
_SPACES = re.compile(r"[ \t]+")
_SUFFIX = re.compile(r"(?<=.)\.(?:csv|tsv)$")
_HEADER = "The first line names the columns: one of query ids, and one for each metric"


@dataclass
class ValueTable:
    """The values of one run."""

    path: str  # of the file
    name: str  # '' where the file has none, until all are read
    values: dict[str, dict[str, float]] = field(default_factory=dict)  # metric -> query -> value, or NaN
    queries: dict[str, None] = field(default_factory=dict)  # all that the file has for this run

    def add(self, query: str, metric: str, text: str) -> str:
        """Add a value; what is wrong with it, or ''."""
        of_metric = self.values.setdefault(metric, {})
        if not query:
            return "the query id is missing"
        if query in of_metric:
            return f"{metric} of query {named(query)} appears twice"
        try:
            value = math.nan if text.lower() in _UNDEFINED else parse_number(text)
        except ValueError:
            value = math.inf
        self.queries[query] = None
        of_metric[query] = value
        is_wrong = abs(value) > LARGEST
        return f"the value {named(text)} of {metric} is not a number up to {LARGEST:g}" if is_wrong else ""


@takes(CompareOptions.table)
def compare_tables(
    tables: Any,
    metrics: str | Iterable[str] | None = None,
    *,
    lower_is_better: str | Iterable[str] = (),
    queries: Literal["judged", "both"] = "judged",
    query_ids: str | Iterable[str] | None = None,
    columns: Any = (),
    query_weights: Any = None,
    **options: Unpack[CompareResults],
) -> Comparison:
    """Compare tables of values per query, which any tool may have computed.

        >>> gradeval.compare_tables(["a.csv", "b.csv"], lower_is_better="latency").rows()

    tables: files, Results or data frames, one or a list, or a dict of them by name. Files are saved results,
    or CSV or TSV with a column of query ids and one for each metric, gradeval's own rows (-q), or the output
    of trec_eval -q; rows of the query 'all', which hold means, are ignored. Frames have the columns of CSV,
    and query ids may be their index; with a column run they have several runs, as those of Results do.
    metrics: their names; by default all that every table has. lower_is_better: metrics where lower values are
    better; by default as gradeval's metric of the name, or higher. queries: 'judged' counts a query that a
    table lacks as 0, or excludes it where lower values are better; 'both' excludes it. query_ids: these
    queries only. columns: {'query': NAME}, the column of query ids; by default it has a usual name.
    query_weights: as evaluate() takes them. options: as compare() has them. Raises GradevalError.
    """
    evaluation = Options(queries=queries, query_ids=query_ids, columns=columns, query_weights=query_weights)
    compared_as = CompareOptions(**options)
    if compared_as.bounds:
        raise OptionError("bounds: tables of values have no unjudged documents. Compare the runs themselves")
    roles = dict(evaluation.columns)
    if unused := [role for role in roles if role != "query"]:
        raise OptionError(f"columns {unused[0]}: tables of values have query=NAME only")
    if evaluation.query_weights is not None:
        compared_as.check_weights()
    separate = separate_runs(_without_index(tables))
    read = _read_tables(separate, roles.get("query"))
    compared, notices = _columns(read, _names(metrics), _names(lower_is_better))
    counted = _counted_queries(read, evaluation.query_ids)
    values, missing = _values(read, compared, counted, complete=evaluation.queries == "judged")
    values, weighted = _weighted(values, evaluation)
    values = values.of_systems(compared_as.replicates)
    return warned(compare_values(values, compared_as, [*notices, *missing, *weighted]))


def _read_tables(files: Sequence[LabelledRun], column: str | None) -> list[ValueTable]:
    """The tables of (label, file) pairs, with different names. column: of query ids. Raises GradevalError."""
    check_labels(files)
    read = []
    planned = []
    for number, (label, file) in enumerate(files, 1):
        of_file = _tables_of(file, label or f"table{number}", column)
        for table in of_file:
            name = table.name or _SUFFIX.sub("", short_name(table.path))
            of_run = f":{name}" if len(of_file) > 1 else ""  # a label then begins the names of all
            planned.append((label and label + of_run, table.path + of_run, name))
        read += of_file
    for table, name in zip(read, run_names(planned), strict=True):
        table.name = name
    return read


def _tables_of(data: Any, path: str, column: str | None) -> list[ValueTable]:
    """The tables of a file, of saved results or of a frame. path: the name of data in messages."""
    if is_path(data):
        source = source_of(data)
        if not is_saved(source):
            return read_values(source, column)
        data = read_saved(source)
    if isinstance(data, SavedResult):
        return [
            ValueTable(
                data.path,
                run.name,
                {
                    name: dict(zip(run.queries, values.tolist(), strict=True))
                    for name, values in run.values.items()
                },
                dict.fromkeys(run.queries),
            )
            for run in data.runs
        ]
    columns = _columns_of(data)
    if columns is None:
        raise OptionError(f"a table of values must be a file, Results or a data frame, not {described(data)}")
    rows = zip(*columns.values(), strict=True)
    texts = ((number, list(map(str, row))) for number, row in enumerate(rows))
    head = list(map(str, columns))
    return _read(path, (texts, len(head), _values_of(path, head, column)))


def _columns_of(frame: Any) -> dict[Any, Any] | None:
    """The columns of a frame of any library; None for other data."""
    if hasattr(frame, "to_pydict"):  # of pyarrow
        return dict(frame.to_pydict())
    if not hasattr(frame, "to_dict"):
        return None
    return dict(frame.to_dict("list") if hasattr(frame, "reset_index") else frame.to_dict(as_series=False))


def _without_index(tables: Any) -> Any:
    """The tables, frames of pandas with their index as columns: named ones, or of query ids without a name."""
    if type(tables) in (list, tuple):  # not labelled files
        return [*map(_without_index, tables)]
    if isinstance(tables, dict):
        return {name: _without_index(table) for name, table in tables.items()}
    if not hasattr(tables, "reset_index"):
        return tables
    names = list(tables.index.names)
    if names != [None]:
        return tables.reset_index()
    has_queries = bool(usual_columns(list(map(str, tables.columns)), "query"))
    is_numbered = type(tables.index).__name__ == "RangeIndex"  # as pandas makes it
    return tables if has_queries or is_numbered else tables.rename_axis("query").reset_index()


def _names(names: str | Iterable[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else list(names or ())


def _counted_queries(tables: Sequence[ValueTable], query_ids: Any) -> list[str]:
    """The queries that count, of those in any table. Raises GradevalError."""
    _check_common_queries(tables)
    every = dict.fromkeys(query for table in tables for query in table.queries)
    ids = query_ids.choose(every, "the tables") if isinstance(query_ids, LaterIds) else query_ids
    if ids is None:
        return list(every)
    if unknown := [query for query in ids if query not in every]:
        raise UnknownQueryError(unknown, "the tables")
    chosen = set(ids)
    return [query for query in every if query in chosen]


def _check_common_queries(tables: Sequence[ValueTable]) -> None:
    """Raise InputError where a table has no query of the others."""
    for table in reversed(tables[1:]):
        elsewhere = dict.fromkeys(chain(*(other.queries for other in tables if other is not table)))
        if table.queries.keys().isdisjoint(elsewhere):
            raise no_common_query(table.path, "the other tables", list(table.queries), list(elsewhere))


def _weighted(values: QueryValues, evaluation: Options) -> tuple[QueryValues, list[Notice]]:
    """The values with the weights of queries, if there are any, and their notice. Raises GradevalError."""
    if evaluation.query_weights is None:
        return values, []
    path = evaluation.query_weights if isinstance(evaluation.query_weights, str) else ""
    every = np.ones(len(values.queries), np.bool_)
    weights = weights_of(values.queries, every, with_weights(evaluation), path)
    notice = Notice(NoticeKind.WEIGHTED, "", len(values.queries), rule=path)
    return replace(values, weights=weights).weighing(), [notice]


def _columns(
    tables: Sequence[ValueTable], metrics: Sequence[str], lower_is_better: Sequence[str]
) -> tuple[list[ComparedMetric], list[Notice]]:
    """The metrics to compare, by default all that every table has, and a notice of those that not all have."""
    _unify_spellings(tables)
    present = list(dict.fromkeys(name for table in tables for name in table.values))
    for name in lower_is_better:
        if name not in present:
            raise _in_no_table(name, present)
    notices = []
    if metrics:
        names = _named_columns(tables, metrics, present)
    else:
        names = _common_columns(tables, present)
        if excluded := [name for name in present if name not in names]:
            notices.append(Notice(NoticeKind.EXCLUDED_METRICS, "", len(excluded), rule=", ".join(excluded)))
    return [_compared(name, lower_is_better) for name in names], notices


def _unify_spellings(tables: Sequence[ValueTable]) -> None:
    """Metrics that tables spell in different ways, such as map and AP, get gradeval's name in all of them."""
    spellings: dict[Spec, set[str]] = {}
    for name in {name for table in tables for name in table.values}:
        if (spec := _spec(name)) is not None:
            spellings.setdefault(spec, set()).add(name)
    for table, (spec, alike) in product(tables, spellings.items()):
        if len(alike) > 1 and len(alike & table.values.keys()) == 1:
            values = table.values.items()
            table.values = {str(spec) if name in alike else name: of_metric for name, of_metric in values}


def _in_no_table(name: str, present: Sequence[str]) -> MetricError:
    return MetricError(f"{name} is in no table", hint="there are " + first_names(present))


def _named_columns(
    tables: Sequence[ValueTable], metrics: Sequence[str], present: Sequence[str]
) -> dict[str, None]:
    """The columns of these metrics, which all tables must have. Raises MetricError, InputError."""
    # a column may have any name, even one that is a list of metrics
    texts = chain.from_iterable([name] if name in present else split(name) for name in metrics)
    names = dict.fromkeys(_column(text, present) for text in texts)
    for name, table in product(names, tables):
        if name not in table.values:
            raise InputError(table.path, f"it has no values of {name}, only of {first_names(table.values)}")
    return names


def _column(text: str, present: Sequence[str]) -> str:
    """The column of a metric, which may be spelled as gradeval or trec_eval does. Raises MetricError."""
    if text in present:
        return text
    spec = _spec(text)
    for name in present:
        if spec is not None and _spec(name) == spec:
            return name
    raise _in_no_table(text, present)


def _common_columns(tables: Sequence[ValueTable], present: Sequence[str]) -> dict[str, None]:
    """The columns that all tables have. Raises MetricError if there are none."""
    names = dict.fromkeys(name for name in present if all(name in table.values for table in tables))
    if not names:
        shown = "; ".join(f"{table.path}: {first_names(table.values)}" for table in tables)
        raise MetricError(f"no metric is in every table ({shown})")
    return names


def _compared(name: str, lower_is_better: Sequence[str]) -> ComparedMetric:
    spec = _spec(name)
    higher_is_better = True if spec is None else spec.metric.higher_is_better
    return ComparedMetric(name, name, False if name in lower_is_better else higher_is_better)


def _spec(name: str) -> Spec | None:
    try:
        specs = parse(name)
    except MetricError:
        return None
    return specs[0] if len(specs) == 1 else None


def _values(
    tables: Sequence[ValueTable], columns: Sequence[ComparedMetric], queries: Sequence[str], *, complete: bool
) -> tuple[QueryValues, list[Notice]]:
    """The values for these metrics and queries, and notices of missing ones. complete: of queries='judged'."""
    lower = [column.name for column in columns if column.sign < 0] if complete else []
    rule = "judged" if complete and len(lower) < len(columns) else "both"
    excluded = ", ".join(lower) if rule == "judged" else ""
    values = np.full((len(tables), len(columns), len(queries)), np.nan)
    notices = []
    runs = []
    for table, of_table in zip(tables, values, strict=True):
        missing = np.array([query not in table.queries for query in queries], np.bool_)
        present = len(queries) - int(missing.sum())
        coverage = Coverage(table.name, table.path, present, len(queries), "queries")
        judged = JudgedQueries(np.ones(len(queries), np.bool_), missing)
        runs.append(ComparedSystem(table.name, table.path, coverage, judged))
        about_missing = Notice(NoticeKind.MISSING_VALUES, table.name, 0, excluded, rule=rule)
        notices += _of_queries(about_missing, queries, missing)
        for row, column in zip(of_table, columns, strict=True):
            row[:] = [table.values[column.name].get(query, math.nan) for query in queries]
            if complete and column.sign > 0:
                row[missing] = 0.0
            about_undefined = Notice(NoticeKind.UNDEFINED, table.name, 0, column.name)
            notices += _of_queries(about_undefined, queries, np.isnan(row) & ~missing)
    return QueryValues(tuple(queries), tuple(runs), tuple(columns), values), notices


def _of_queries(notice: Notice, queries: Sequence[str], chosen: Bools) -> list[Notice]:
    """The notice with the ids of the chosen queries; none if none is chosen."""
    ids = [queries[q] for q in np.flatnonzero(chosen).tolist()]
    return [notice.replace(count=len(ids), queries=tuple(ids[:MAX_QUERIES]))] if ids else []


Row = tuple[int, list[str]]  # the 0-based line at which it begins, and its fields
Values = Callable[[list[str]], Iterable[tuple[str, str, str, str]]]  # (run, query, metric, text) of a row


def read_values(source: Source, column: str | None = None) -> list[ValueTable]:
    """One table, or one for each run of gradeval's own output. column: of query ids. Raises InputError(s)."""
    lines = read_text(source).decode("utf-8", "surrogateescape").split("\n")
    first = next((line.strip(" \t\r") for line in lines if line.strip()), None)
    if first is None:
        raise no_data(source.name, len(lines) - 1)
    if first.startswith("{"):
        command = "without --values: gradeval compare QRELS RESULT.json ..."
        hint = f"Compare saved results with the qrels and {command}"
        raise InputError(source.name, "this is JSON", hint=hint)
    return _read(source.name, _layout(source, lines, first, column))


def _read(path: str, layout: Layout) -> list[ValueTable]:
    """A table for each run in the rows. Raises InputError(s)."""
    rows, count, values = layout
    tables = {}
    problems = []
    for number, row in rows:
        if len(row) != count:
            message = f"{len(row)} field{'s' * (len(row) != 1)} where a line has {count}"
            problems.append(Problem(number, message))
            continue
        for run, query, metric, value in values(row):
            if metric in _TEXTS or query.lower() == SUMMARY:
                continue
            if run not in tables:
                tables[run] = ValueTable(path, run)
            if wrong := tables[run].add(query, metric, value):
                problems.append(Problem(number, wrong))
                break
    LineProblems.listed(problems).check(path)
    if not tables:
        raise InputError(path, "there are no values per query", hint="Print them with -q")
    return list(tables.values())


Layout = tuple[Iterator[Row], int, Values]  # the rows, how many fields they must have, how they are read


def _layout(source: Source, lines: Sequence[str], first: str, column: str | None) -> Layout:
    fields = _SPACES.split(first)
    if len(fields) == 3 and (fields[0] == "runid" or is_number(fields[2])):  # of trec_eval
        numbered = ((n, _SPACES.split(line.strip(" \t\r"))) for n, line in enumerate(lines) if line.strip())
        return numbered, 3, lambda row: [("", row[1], row[0], row[2])]
    rows = _csv_rows(source, lines, first)
    _, head = next(rows)
    return rows, len(head), _values_of(source.name, head, column)


def _values_of(path: str, head: list[str], column: str | None) -> Values:
    """How the rows of a table with this header are read; columns with texts of queries are ignored."""
    if head[:3] == _OWN[1:]:  # a frame of one run
        return lambda row: [("", row[0], row[1], row[2])]
    if head[:4] == _OWN:  # --tie-range adds columns
        return lambda row: [(row[0], row[1], row[2], row[3])]
    is_wide = head[:2] == _WIDE and len(head) > 2
    _check_header(path, head, is_wide)
    if is_wide:
        return lambda row: [(run, row[0], row[1], text) for run, text in zip(head[2:], row[2:], strict=True)]
    if len(head) == 1:
        raise InputError(path, "there is one column only", line=1, hint=_HEADER)
    ids = query_column(head, column, path)
    metrics = {c: name for c, name in enumerate(head) if c != ids and not usual_columns([name], "query")}
    return lambda row: [("", row[ids], name, row[c]) for c, name in metrics.items()]


def _check_header(path: str, head: Sequence[str], is_wide: bool) -> None:
    """Raise InputError where two columns have the same name, or one has none. is_wide: runs may have any."""
    for c, name in enumerate(head):
        is_named = name not in ("", "Unnamed: 0") and not is_number(name)  # the latter as pandas writes it
        if (name and name in head[:c]) or not (is_wide or is_named):
            message = f"column {c + 1} is named {named(name)}{' too' * (name in head[:c])}"
            raise InputError(path, message, line=1, hint=_HEADER)


def _csv_rows(source: Source, lines: Sequence[str], first: str) -> Iterator[Row]:
    """The rows as Python's csv reads them, without blank ones. first: the line that shows the delimiter."""
    delimiter = next((char for char in "\t,;" if char in first), "\t")
    reader = csv.reader(
        (f"{line}\n" for line in lines),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if first == "\t".join(_OWN) else csv.QUOTE_MINIMAL,  # our own TSV has no quotes
        strict=True,
    )
    before = 0
    try:
        for row in reader:
            if any(text.strip() for text in row):
                yield before, [text.strip(" ") for text in row]
            before = reader.line_num
    except csv.Error as error:
        message = f"this is not CSV ({error})"
        if "new-line character" in str(error):  # whose advice is for programs that call csv
            message = "there is a CR within a line. Lines end in LF or CRLF"
        raise InputError(source.name, message, line=before + 1) from None
