"""The values of several runs for the same queries: what comparisons, gates and batches are made of."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.commands.compare.tables import LARGEST, SUMMARY, ValueTable, metric_names, read_values
from gradeval.errors import GradevalError, InputError, MetricError, UnknownQueryError, first_names
from gradeval.evaluation.given import Planned, check_labels, names_of
from gradeval.formats.sources import Source
from gradeval.notices import MAX_QUERIES, Kind, Notice
from gradeval.registry.spec import Spec, parse, split, usable
from gradeval.results import Results
from gradeval.statistics.tests import paired_differences
from gradeval.tables.run_names import run_names


@dataclass(frozen=True)
class ComparedMetric:
    """A metric. name: canonical; display: as tables show it. higher_is_better: None where neither is."""

    name: str
    display: str
    higher_is_better: bool | None = True

    @classmethod
    def of(cls, spec: Spec) -> ComparedMetric:
        return cls(str(spec), spec.display, spec.metric.higher_is_better)

    @property
    def sign(self) -> int:
        """What a difference is multiplied with, so that better is above 0."""
        return -1 if self.higher_is_better is False else 1


@dataclass(frozen=True, eq=False)
class QueryValues:
    """The values of R runs for M metrics and Q queries.

    queries: ids in the order of the input. values: (R, M, Q), NaN where a value is undefined or a query does
    not count. paths: of the runs, as the user gave them.
    """

    queries: tuple[str, ...] = field(repr=False)
    runs: tuple[str, ...]
    paths: tuple[str, ...]
    metrics: tuple[ComparedMetric, ...]
    values: Floats = field(repr=False)

    def __post_init__(self) -> None:
        for column, of_runs in zip(self.metrics, np.moveaxis(self.values, 1, 0), strict=True):
            for run, values in zip(self.runs, of_runs, strict=True):
                if (np.abs(values) > LARGEST).any():
                    what = f"{column.name} of {run} has values beyond {LARGEST:g}, which cannot be compared"
                    raise MetricError(what)

    @classmethod
    def of(cls, results: Results, specs: Iterable[Spec]) -> QueryValues:
        """The values of these metrics, which have a number for each query."""
        places = [results.specs.index(spec) for spec in specs]
        size = (len(results.runs), len(places), len(results.queries))
        values = [[results.values(r, m) for m in places] for r in range(len(results.runs))]
        return cls(
            tuple(results.queries),
            tuple(run.name for run in results.runs),
            tuple(run.path for run in results.runs),
            tuple(ComparedMetric.of(results.specs[m]) for m in places),
            np.array(values, np.float64).reshape(size),
        )

    @property
    def by_id(self) -> Ints:
        """The positions of the queries in order of their ids as bytes, (Q,).

        Random signs belong to rows: in this order they do not depend on that of the input.
        """
        ids = [query.encode("utf-8", "surrogateescape") for query in self.queries]
        return np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)

    @property
    def means(self) -> Floats:
        """The mean of each run and metric over the queries with a value, (R, M); NaN where there is none.

        Added one by one in the order of the queries, as an evaluation adds them.
        """
        defined = ~np.isnan(self.values)
        total = np.cumsum(np.where(defined, self.values, 0.0), axis=2)[..., -1:].sum(axis=2)
        with np.errstate(invalid="ignore"):
            means: Floats = total / defined.sum(axis=2)
        return means

    def differences(self, baseline: int, run: int) -> Floats:
        """run - baseline, (M, Q), NaN where either has no value."""
        return paired_differences(self.values[baseline], self.values[run])

    def select(self, which: Bools | Ints) -> QueryValues:
        """The same for some of the queries, or in another order."""
        positions = np.arange(len(self.queries))[which].tolist()
        queries = tuple(self.queries[q] for q in positions)
        return QueryValues(queries, self.runs, self.paths, self.metrics, self.values[..., positions])

    def run(self, named: str | int) -> int:
        """The position of a run, by its name, its path or its position. Raises GradevalError."""
        if isinstance(named, int):
            if -len(self.runs) <= named < len(self.runs):
                return named % len(self.runs)
            raise GradevalError(f"there is no run {named}: there are {len(self.runs)}")
        for names in (self.runs, self.paths):
            if named in names:
                return names.index(named)
        if named == "-" and "<stdin>" in self.paths:
            return self.paths.index("<stdin>")
        raise GradevalError(f"no run is named '{named}': there are {', '.join(self.runs)}")

    def metric(self, named: str | Spec) -> int:
        """The position of a metric, by any spelling. Raises MetricError."""
        names = [column.name for column in self.metrics]
        if str(named) in names:
            return names.index(str(named))
        specs = [str(spec) for spec in parse(named)] if isinstance(named, str) else []
        if len(specs) == 1 and specs[0] in names:
            return names.index(specs[0])
        raise MetricError(f"{named} was not compared", hint="there are " + ", ".join(names))


def comparable(specs: Sequence[Spec]) -> list[Spec]:
    """The metrics that have a number for each query, whose mean is the metric's value."""
    return [spec for spec in specs if spec.metric.per_query and not spec.metric.text]


def is_num_q(spec: Spec) -> bool:
    """Whether it is the number of queries."""
    return spec.metric.name == "num_q"


def comparable_metrics(
    metrics: str | Iterable[str], why: str = "so runs cannot be compared by it"
) -> tuple[list[Spec], tuple[Notice, ...]]:
    """The metrics that have a number for each query, and a notice of those of groups that have none.

    why: that one which is named itself is an error. Raises MetricError.
    """
    specs, left_out = usable(metrics, lambda spec: bool(comparable([spec])), lambda spec: _refused(spec, why))
    return specs, left_out_of_groups(left_out)


def left_out_of_groups(names: Sequence[str]) -> tuple[Notice, ...]:
    """The notice of metrics that groups have, and that are left out."""
    if not names:
        return ()
    return (Notice(Kind.EXCLUDED_METRICS, "", len(names), rule=", ".join(names), informational=True),)


def _refused(spec: Spec, why: str) -> MetricError:
    return MetricError(f"{spec} has no value for each query, {why}")


def check_comparable(specs: Sequence[Spec], why: str = "so runs cannot be compared by it") -> None:
    """Raise MetricError for the first metric that has no number for each query. why: that is an error."""
    for spec in specs:
        if spec not in comparable([spec]):
            raise _refused(spec, why)


def missing_notices(results: Results, r: int) -> list[Notice]:
    """The notices of judged queries that a run lacks."""
    name = results.runs[r].name
    return [one for one in results.notices if one.kind is Kind.MISSING and one.subject == name]


MOST_NAMES = 8  # of metrics in a message

Tables = Sequence[tuple[str, str, ValueTable]]
"""(name, path, table) of each run."""


def read_tables(paths: Sequence[tuple[str | None, str]], column: str | None = None) -> Tables:
    """The tables of values in files, (label, path) each. column: of query ids. Raises InputError(s).

    A label is the name of the run of its file, and the beginning of the names of several.
    """
    check_labels(paths)
    found: list[tuple[Planned, str, ValueTable]] = []
    for label, path in paths:
        source = Source(path)
        tables = read_values(source, column)
        for table in tables:
            name = table.name or _stem(source.name)
            plan = Planned(label, source.name, name)
            if len(tables) > 1:
                plan = Planned(label and f"{label}:{name}", f"{source.name}:{name}", name)
            found.append((plan, source.name, table))
    _drop_summaries([table for _, _, table in found])
    _name_alike([table for _, _, table in found])
    names = names_of([plan for plan, _, _ in found])
    return [(name, path, table) for name, (_, path, table) in zip(names, found, strict=True)]


def _drop_summaries(tables: Sequence[ValueTable]) -> None:
    """Drop rows 'all', in any case, that have the means of a table, or are all that the other tables lack."""

    def drop(is_summary: Callable[[ValueTable, str], bool]) -> None:
        pairs = [(table, query) for table in tables for query in table.queries if query.casefold() == SUMMARY]
        for table, query in [pair for pair in pairs if is_summary(*pair)]:
            del table.queries[query]
            for of_metric in table.values.values():
                of_metric.pop(query, None)

    def is_lone(table: ValueTable, query: str) -> bool:
        others = set().union(*(other.queries for other in tables if other is not table))
        return table.queries.keys() - others == {query}

    drop(_has_means)
    drop(is_lone)


def _has_means(table: ValueTable, query: str) -> bool:
    """Whether the values of the row are the means of the others, or their sums, but for rounding."""
    found = []
    for of_metric in table.values.values():
        value = of_metric.get(query, math.nan)
        others = [of for name, of in of_metric.items() if name != query and not math.isnan(of)]
        if others and not math.isnan(value):
            total = math.fsum(others)
            found.append(any(math.isclose(value, of, abs_tol=1e-3) for of in (total / len(others), total)))
    return bool(found) and all(found)


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


def _check_overlap(tables: Tables) -> None:
    """Raise InputError for the last table that has no query in common with the others."""
    for r in range(len(tables) - 1, 0, -1):
        others = set(all_queries([*tables[:r], *tables[r + 1 :]]))
        _, path, table = tables[r]
        if others.isdisjoint(table.queries):
            what = "it has no query in common with the other tables"
            raise InputError(path, what, hint="Check the query ids")


def _stem(path: str) -> str:
    """The name of a file without folder and suffix."""
    [name] = run_names([path])
    return _SUFFIX.sub("", name)


_SUFFIX = re.compile(r"(?<=.)\.(?:csv|tsv)$")


def all_queries(tables: Tables) -> list[str]:
    """The queries that at least one of the tables has, in order of first appearance."""
    return list(dict.fromkeys(query for _, _, table in tables for query in table.queries))


def from_tables(
    tables: Tables,
    metrics: Sequence[str] = (),
    *,
    complete: bool = True,
    lower_is_better: Sequence[str] = (),
    query_ids: Sequence[str] | None = None,
) -> tuple[QueryValues, list[Notice]]:
    """The values of (name, path, table) of each run, and what should be known of them.

    metrics: which to take, by name, several separated by spaces or commas; by default all that every table
    has. complete: a query that a table lacks and another has counts as 0 (if lower values are better, it is
    excluded); otherwise it is excluded. lower_is_better: metrics with this direction; by default that of
    gradeval's metric of the name, or higher. query_ids: only these queries. Raises InputError, MetricError,
    UnknownQueryError.
    """
    present = metric_names([table for _, _, table in tables])
    shared = [metric for metric in present if all(metric in table.values for _, _, table in tables)]
    notices: list[Notice] = []
    if metrics:
        wanted = [_named(metric, present) for text in metrics for metric in _names(text, present)]
        for metric in wanted:
            for _, path, table in tables:
                if metric not in table.values:
                    raise InputError(
                        path, f"it has no values of {metric}, only of {first_names(table.values, MOST_NAMES)}"
                    )
    else:
        wanted = shared
        if not wanted:
            names = "; ".join(f"{path}: {first_names(table.values, MOST_NAMES)}" for _, path, table in tables)
            raise MetricError(f"no metric is in every table ({names})")
        if others := [metric for metric in present if metric not in shared]:
            notices.append(Notice(Kind.EXCLUDED_METRICS, "", len(others), rule=", ".join(others)))
    columns = tuple(_column(metric, lower_is_better) for metric in dict.fromkeys(wanted))
    unknown = [metric for metric in lower_is_better if metric not in present]
    if unknown:
        raise MetricError(f"{unknown[0]} is in no table", hint="there are " + first_names(present, MOST_NAMES))
    _check_overlap(tables)
    queries = all_queries(tables)
    if query_ids is not None:
        unknown = [query for query in query_ids if query not in set(queries)]
        if unknown:
            raise UnknownQueryError(unknown, "the tables")
        queries = [query for query in queries if query in set(query_ids)]
    values = np.full((len(tables), len(columns), len(queries)), np.nan)
    for r, (name, _, table) in enumerate(tables):
        missing = np.array([query not in table.queries for query in queries], np.bool_)
        if missing.any():
            ids = [query for query, is_missing in zip(queries, missing, strict=True) if is_missing]
            lower = [column.name for column in columns if column.sign < 0] if complete else []
            rule = "judged" if complete and len(lower) < len(columns) else "both"
            apart = ", ".join(lower) if rule == "judged" else ""
            queries_shown = tuple(ids[:MAX_QUERIES])
            notices.append(Notice(Kind.MISSING_VALUES, name, len(ids), apart, queries_shown, rule))
        for m, column in enumerate(columns):
            of_metric = table.values[column.name]
            values[r, m] = [of_metric.get(query, math.nan) for query in queries]
            if complete and column.sign > 0:
                values[r, m, missing] = 0.0
            undefined = np.isnan(values[r, m]) & ~missing
            if undefined.any():
                ids = [queries[q] for q in np.flatnonzero(undefined)[:MAX_QUERIES].tolist()]
                count = int(undefined.sum())
                notices.append(Notice(Kind.UNDEFINED, name, count, column.name, tuple(ids)))
    runs, paths = tuple(name for name, _, _ in tables), tuple(path for _, path, _ in tables)
    return QueryValues(tuple(queries), runs, paths, columns, values), notices


def _names(text: str, present: Sequence[str]) -> list[str]:
    """The names in a text; names of columns may have any characters."""
    return [text] if text in present else split(text)


def _named(metric: str, present: Sequence[str]) -> str:
    """The name that the tables have for a metric, which may be spelled as gradeval or trec_eval does."""
    if metric in present:
        return metric
    try:
        wanted = parse(metric)
    except MetricError:
        wanted = []
    for name in present:
        if len(wanted) == 1 and _spec(name) == wanted[0]:
            return name
    raise MetricError(f"{metric} is in no table", hint="there are " + first_names(present, MOST_NAMES))


def _spec(name: str) -> Spec | None:
    """The metric of gradeval that a column is named after, None where there is none."""
    try:
        specs = parse(name)
    except MetricError:
        return None
    return specs[0] if len(specs) == 1 else None


def _column(name: str, lower_is_better: Sequence[str]) -> ComparedMetric:
    spec = _spec(name)
    higher = spec.metric.higher_is_better if spec is not None else True
    return ComparedMetric(name, name, False if name in lower_is_better else higher)
