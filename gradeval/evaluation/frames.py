"""Results as data frames of other libraries, in long form: run, query, metric, value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.errors import GradevalError, named
from gradeval.evaluation.results import Results
from gradeval.render.document import frame_of, library


def long_form(results: Results) -> tuple[dict[str, tuple[Sequence[str], Ints]], Floats]:
    """The columns run, query and metric, and the values, (N,): of each run each counted query.

    A column is its distinct strings, and which of them each row has, (N,). Metrics without numbers for each
    query are left out. Results whose runs are summaries have their means, and no column of queries. Raises
    GradevalError for names that are not UTF-8.
    """
    specs, runs = results.specs, results.runs
    has_values = not runs or any(run.summary is None for run in runs)
    is_shown = [of.per_query if has_values else of.has_summary for of in (spec.metric for spec in specs)]
    numeric = [m for m, spec in enumerate(specs) if is_shown[m] and not spec.metric.text]
    counted = [np.flatnonzero(run.counted) if has_values else np.zeros(1, np.int64) for run in runs]
    if has_values:
        values = [run.values[numeric][:, of].T.ravel() for run, of in zip(runs, counted, strict=True)]
    else:
        values = list(results.means[:, numeric])
    value = np.concatenate([np.empty(0), *values])
    metric = np.arange(len(value)) % max(len(numeric), 1)
    query = np.repeat(np.concatenate([metric[:0], *counted]), len(numeric))
    columns: dict[str, tuple[Sequence[str], Ints]] = {
        "run": ([run.name for run in runs], np.repeat(np.arange(len(runs)), [len(of) for of in values])),
        **({"query": (results.queries, query)} if has_values else {}),
        "metric": ([str(specs[m]) for m in numeric], metric),
    }
    for what, (names, _) in columns.items():
        _check_utf8(what, names)
    return columns, value


def _check_utf8(what: str, names: Sequence[str]) -> None:
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        wrong = next(name for name in names if any("\ud800" <= letter <= "\udfff" for letter in name))
        message = f"{what} {named(wrong)}: data frames need names in UTF-8. Results.per_query() takes any"
        raise GradevalError(message) from None


def to_pandas(results: Results) -> Any:
    pandas = library("pandas")
    columns, value = long_form(results)
    texts = {name: np.array(distinct, object)[code] for name, (distinct, code) in columns.items()}
    return pandas.DataFrame({**texts, "value": value})


def to_polars(results: Results) -> Any:
    polars = library("polars")
    columns, value = long_form(results)
    texts = {
        name: polars.Series(list(distinct), dtype=polars.String).gather(code)
        for name, (distinct, code) in columns.items()
    }
    return polars.DataFrame({**texts, "value": value})


def to_arrow(results: Results) -> Any:
    pyarrow = library("pyarrow")
    columns, value = long_form(results)
    texts = {
        name: pyarrow.array(list(distinct), pyarrow.string()).take(pyarrow.array(code))
        for name, (distinct, code) in columns.items()
    }
    return pyarrow.table({**texts, "value": value})


def means(results: Results, name: str) -> Any:
    columns: dict[str, Any] = {"run": [run.name for run in results.runs]}
    for m, spec in enumerate(results.specs):
        if spec.metric.has_summary and not spec.metric.text:
            columns[str(spec)] = results.means[:, m]
    return frame_of(columns, name, ["run"])


def per_query(results: Results, name: str) -> Any:
    _check_utf8("run", [run.name for run in results.runs])
    _check_utf8("query", results.queries)
    counted = [results.counted_queries(r) for r in range(len(results.runs))]
    names = np.repeat(np.array([run.name for run in results.runs], object), [len(ids) for ids in counted])
    columns: dict[str, Any] = {"run": names.tolist(), "query": [query for ids in counted for query in ids]}
    for m, spec in enumerate(results.specs):
        if spec.metric.per_query and not spec.metric.text:
            of_runs = [run.values[m, run.counted] for run in results.runs]
            columns[str(spec)] = np.concatenate([np.empty(0), *of_runs])
    return frame_of(columns, name, ["run", "query"])
