"""Results as frames of other libraries, and what notebooks show of them."""

import math
from xml.etree import ElementTree

import pytest
from helpers import error_of, raises

import gradeval
from gradeval import GradevalError, evaluate
from gradeval.evaluation.results import Results
from gradeval.render.document import Cell, Grid, Lines, Sentences, StyledLine
from gradeval.render.markup import write_html

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
    pyarrow = pytest.importorskip("pyarrow")
    table = found.to_arrow()
    assert isinstance(table, pyarrow.Table)
    same(zip(*table.to_pydict().values(), strict=True), rows)
    assert str(pyarrow.table(found)) == str(table)  # equals() would compare NaN
    same(polars.DataFrame(found).rows(), rows)


def test_libraries_that_are_not_installed(monkeypatch):
    def fail(name):
        raise ImportError(name)

    found = results()
    monkeypatch.setattr("gradeval.render.printable.import_module", fail)
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
        ({"run": {"1": {"a": 1.0}}}, r"query 'q\\xff' \('qÿ' in cp1252\): data frames need names in UTF-8"),
        ({"r\udcff": {"1": {"a": 1.0}}}, r"run 'r\\xff' \('rÿ' in cp1252\): data frames need names in UTF-8"),
    ):
        raises(GradevalError, message, evaluate(qrels, runs, "AP").to_pandas)


MARKUP_QRELS = {"1": {"a": 2, "b": 0, "<i>": 1}, "2": {"a": 1}}
MARKUP_RUNS = {"x<b>": {"1": {"b": 3.0, "a": 1.0}, "2": {"a": 5.0}}, "y": {"1": {"a": 1.0}, "2": {"b": 1.0}}}


def evaluated() -> Results:
    return gradeval.evaluate(MARKUP_QRELS, MARKUP_RUNS, "num_q AP P@1 relstring")


def test_tables_are_html() -> None:
    html = evaluated()._repr_html_()
    ElementTree.fromstring(html)
    assert '<td style="text-align:left">x&lt;b&gt;</td>' in html and "<b>" in html
    assert "<small>note: " in html or "<small>warning: " in html
    grid = Grid("T<", ("run", "AP"), [["x", Cell("0.5", "a,b")], ["y", Cell("0.4", " [0, 1]")]])
    html = write_html(
        [grid, Lines(["a  <", "b"]), StyledLine("A & B", "heading"), StyledLine("small", "dim"), "plain"]
    )
    for part in (
        *("<caption>T&lt;</caption>", "0.5<sup>a,b</sup>", "0.4 [0, 1]", "<pre>a  &lt;\nb</pre>"),
        *("<p><b>A &amp; B</b></p>", "<p><small>small</small></p>", "<p><small>plain</small></p></div>"),
    ):
        assert part in html
    assert write_html([Sentences(["One.", "Two."])]) == "<div><p><small>One. Two.</small></p></div>"


def test_every_result_has_html() -> None:
    found = evaluated()
    whys = gradeval.explain(MARKUP_QRELS, MARKUP_RUNS["y"], "AP", "1")
    for result in (found.compare("AP"), whys, whys[0], gradeval.study.levels(MARKUP_QRELS, MARKUP_RUNS)):
        assert result._repr_html_().startswith("<div><table>") or "<p>" in result._repr_html_()
    assert str(whys[0]).startswith(whys[0].render())


def test_pages_and_pictures() -> None:
    pytest.importorskip("jinja2"), pytest.importorskip("matplotlib")
    frame = ElementTree.fromstring(gradeval.report(MARKUP_QRELS, MARKUP_RUNS, "AP")._repr_html_())
    assert frame.tag == "iframe" and frame.attrib["srcdoc"].startswith("<!doctype html>")
    picture = gradeval.plot.queries(MARKUP_QRELS, MARKUP_RUNS["y"], "AP")
    assert picture._repr_html_ is None
    assert picture._repr_svg_().startswith("<?xml") and picture._repr_png_().startswith(b"\x89PNG")


def test_means_of_a_metric() -> None:
    found = evaluated()
    assert found["P@1"] == {"x<b>": 0.5, "y": 0.5} and found["num_q"] == {"x<b>": 2, "y": 2}
    with pytest.raises(gradeval.MetricError, match="was not evaluated"):
        found["RR"]
    error_of(TypeError, list, found)  # type: ignore[call-overload]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_wide_frames(library: str) -> None:
    pytest.importorskip(library)
    found = evaluated()
    means, values = found.means_frame(library), found.per_query_frame(library)  # type: ignore[arg-type]
    if library == "pandas":
        assert means.index.name == "run" and values.index.names == ["run", "query"]
        assert means.loc["y", "AP"] == found.mean("y", "AP")
        assert values.loc[("x<b>", "2"), "AP"] == 1.0
        means, values = means.reset_index(), values.reset_index()
    assert list(means.columns) == ["run", "num_q", "AP", "P@1"] and len(means) == 2
    assert list(values.columns) == ["run", "query", "AP", "P@1"] and len(values) == 4
    with pytest.raises(gradeval.OptionError, match="library must be pandas or polars, not 'duckdb'"):
        found.means_frame("duckdb")  # type: ignore[arg-type]


def test_every_table_is_a_frame() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    whys = gradeval.explain(MARKUP_QRELS, MARKUP_RUNS["y"], "AP", "1")
    study = gradeval.study.levels(MARKUP_QRELS, MARKUP_RUNS)
    tables = [evaluated().compare("AP"), whys, whys[0], study.table("values"), gradeval.validate("nowhere")]
    for table in tables:
        pandas, polars = table.to_pandas(), table.to_polars()
        assert list(pandas.columns) == polars.columns and len(pandas) == len(polars) > 0
    assert list(whys[0].to_pandas().columns) == ["id", "rank", "score", "grade", "contribution"]
    assert whys.to_polars()["query"].unique().to_list() == ["1"]
