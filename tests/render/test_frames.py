"""Results as frames of other libraries."""

import math

import pytest
from helpers import error_of, raises

from gradeval import GradevalError, evaluate

QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}, "é": {"d": 1}}
RUNS = {"x": {"1": {"b": 3.0, "a": 1.0}, "2": {"a": 5.0}}, "y": {"1": {"a": 1.0}, "é": {"d": 1}}}
METRICS = "num_q AP relstring rankDCG num_ret gm_map"


def results():
    return evaluate(QRELS, RUNS, METRICS, queries="both")


def expected(found):
    return [
        (run.name, query, metric, found.per_query(run.name, metric)[query])
        for run in found.runs
        for query in found.counted_queries(run.name)
        for metric in ("AP", "rankDCG", "num_ret")
    ]


def same(rows, others):
    rows = [tuple(row) for row in rows]
    assert [row[:3] for row in rows] == [row[:3] for row in others]
    for (*_, value), (*_, other) in zip(rows, others, strict=True):
        assert value == other or (math.isnan(value) and math.isnan(other))


def test_frames_have_a_row_for_each_value():
    found = results()
    rows = expected(found)
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["run", "query", "metric", "value"]
    same(frame.itertuples(index=False), rows)
    frame = found.to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame.schema == dict.fromkeys(("run", "query", "metric"), polars.String) | {"value": polars.Float64}
    same(frame.rows(), rows)
    assert evaluate(QRELS, RUNS, "num_q").to_polars().shape == (0, 4)


def test_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    found = results()
    table = found.to_arrow()
    assert isinstance(table, pyarrow.Table)
    same(zip(*table.to_pydict().values(), strict=True), expected(found))
    assert str(pyarrow.table(found)) == str(table)  # equals() would compare NaN
    same(pytest.importorskip("polars").DataFrame(found).rows(), expected(found))


def test_libraries_that_are_not_installed(monkeypatch):
    def fail(name):
        raise ImportError(name)

    found = results()
    monkeypatch.setattr("gradeval.render.document.import_module", fail)
    for method, library, package in (
        ("to_pandas", "pandas", "pandas"),
        ("to_polars", "polars", "polars"),
        ("to_arrow", "pyarrow", "gradeval[arrow]"),
        ("__arrow_c_stream__", "pyarrow", "gradeval[arrow]"),
    ):
        error = error_of(GradevalError, getattr(found, method))
        assert error == f"{library} is not installed. Install it with pip install '{package}'"


def test_names_that_are_not_utf8():
    pytest.importorskip("pandas")
    qrels = {"1": {"a": 1}, "q\udcff": {"a": 1}}
    for runs, message in (
        ({"run": {"1": {"a": 1.0}}}, r"query 'q\\udcff': data frames need names in UTF-8"),
        ({"r\udcff": {"1": {"a": 1.0}}}, r"run 'r\\udcff': data frames need names in UTF-8"),
    ):
        raises(GradevalError, message, evaluate(qrels, runs, "AP").to_pandas)
