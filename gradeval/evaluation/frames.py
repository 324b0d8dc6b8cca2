"""Results as data frames of other libraries, in long form: run, query, metric, value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.errors import GradevalError, named
from gradeval.evaluation.results import Results

_EXTRAS = {"pyarrow": "gradeval[arrow]"}


class Names(NamedTuple):
    """A column of strings: the distinct ones, and which of them each row has, (N,)."""

    distinct: Sequence[str]
    code: Ints

    @classmethod
    def of(cls, what: str, distinct: Sequence[str], code: Ints) -> Names:
        """what: what each name is of. Raises GradevalError where one was read from bytes that are not UTF-8."""
        try:
            "".join(distinct).encode()
        except UnicodeEncodeError:
            wrong = next(name for name in distinct if any("\ud800" <= letter <= "\udfff" for letter in name))
            message = f"{what} {named(wrong)}: data frames need names in UTF-8. Results.per_query() takes any"
            raise GradevalError(message) from None
        return cls(distinct, code)


def long_form(results: Results) -> tuple[dict[str, Names], Floats]:
    """The columns run, query and metric, and the values, (N,): of each run each counted query.

    Metrics without numbers for each query are left out. Results whose runs are summaries have their means, and
    no column of queries. Raises GradevalError for names that are not UTF-8.
    """
    if results.runs and all(run.summary is not None for run in results.runs):
        return _means(results)
    numeric = [m for m, spec in enumerate(results.specs) if spec.metric.per_query and not spec.metric.text]
    runs, queries, values = [], [], []
    for run in results.runs:
        counted = np.flatnonzero(run.counted)
        values.append(run.values[numeric][:, counted].T.ravel())
        queries.append(np.repeat(counted, len(numeric)))
        runs.append(len(values[-1]))
    value = np.concatenate([np.empty(0), *values])
    metric = np.arange(len(value)) % max(len(numeric), 1)
    names = {
        "run": Names.of("run", [run.name for run in results.runs], np.repeat(np.arange(len(runs)), runs)),
        "query": Names.of("query", results.queries, np.concatenate([metric[:0], *queries])),
        "metric": Names.of("metric", [str(results.specs[m]) for m in numeric], metric),
    }
    return names, value


def _means(results: Results) -> tuple[dict[str, Names], Floats]:
    """The columns run and metric, and the summary values, (N,)."""
    numeric = [m for m, spec in enumerate(results.specs) if spec.metric.has_summary and not spec.metric.text]
    count = len(results.runs) * len(numeric)
    of_run, of_metric = np.divmod(np.arange(count), max(len(numeric), 1))
    names = {
        "run": Names.of("run", [run.name for run in results.runs], of_run),
        "metric": Names.of("metric", [str(results.specs[m]) for m in numeric], of_metric),
    }
    return names, results.means[:, numeric].ravel()


def to_pandas(results: Results) -> Any:
    pandas = _library("pandas")
    names, value = long_form(results)
    columns = {name: np.array(column.distinct, object)[column.code] for name, column in names.items()}
    return pandas.DataFrame({**columns, "value": value})


def of_rows(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas.DataFrame of dicts with the same keys."""
    return _library("pandas").DataFrame(list(rows))


def to_polars(results: Results) -> Any:
    polars = _library("polars")
    names, value = long_form(results)
    columns = {
        name: polars.Series(list(column.distinct), dtype=polars.String).gather(column.code)
        for name, column in names.items()
    }
    return polars.DataFrame({**columns, "value": value})


def to_arrow(results: Results) -> Any:
    pyarrow = _library("pyarrow")
    names, value = long_form(results)
    columns = {
        name: pyarrow.array(list(column.distinct), pyarrow.string()).take(pyarrow.array(column.code))
        for name, column in names.items()
    }
    return pyarrow.table({**columns, "value": value})


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        hint = f"pip install '{_EXTRAS.get(name, name)}'"
        raise GradevalError(f"{name} is not installed. Install it with {hint}") from None
