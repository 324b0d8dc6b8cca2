"""What notebooks show of results, and the frames of their tables."""

from xml.etree import ElementTree

import pytest

import gradeval
from gradeval.evaluation.results import Results
from gradeval.render.document import Cell, Grid, Line, Lines, Sentences
from gradeval.render.markup import write_html

QRELS = {"1": {"a": 2, "b": 0, "<i>": 1}, "2": {"a": 1}}
RUNS = {"x<b>": {"1": {"b": 3.0, "a": 1.0}, "2": {"a": 5.0}}, "y": {"1": {"a": 1.0}, "2": {"b": 1.0}}}


def results() -> Results:
    return gradeval.evaluate(QRELS, RUNS, "num_q AP P@1 relstring")


def test_tables_are_html() -> None:
    html = results()._repr_html_()
    ElementTree.fromstring(html)
    assert '<td style="text-align:left">x&lt;b&gt;</td>' in html and "<b>" in html
    assert "<small>note: " in html or "<small>warning: " in html
    grid = Grid("T<", ("run", "AP"), [["x", Cell("0.5", "a,b")], ["y", Cell("0.4", " [0, 1]")]])
    html = write_html([grid, Lines(["a  <", "b"]), Line("A & B", "heading"), Line("small", "dim"), "plain"])
    for part in (
        *("<caption>T&lt;</caption>", "0.5<sup>a,b</sup>", "0.4 [0, 1]", "<pre>a  &lt;\nb</pre>"),
        *("<p><b>A &amp; B</b></p>", "<p><small>small</small></p>", "<p><small>plain</small></p></div>"),
    ):
        assert part in html
    assert write_html([Sentences(["One.", "Two."])]) == "<div><p><small>One. Two.</small></p></div>"


def test_every_result_has_html() -> None:
    found = results()
    whys = gradeval.explain(QRELS, RUNS["y"], "AP", "1")
    for result in (found.compare("AP"), whys, whys[0], gradeval.study.levels(QRELS, RUNS)):
        assert result._repr_html_().startswith("<div><table>") or "<p>" in result._repr_html_()
    assert str(whys[0]).startswith(whys[0].render())


def test_pages_and_pictures() -> None:
    pytest.importorskip("jinja2"), pytest.importorskip("matplotlib")
    frame = ElementTree.fromstring(gradeval.report(QRELS, RUNS, "AP")._repr_html_())
    assert frame.tag == "iframe" and frame.attrib["srcdoc"].startswith("<!doctype html>")
    picture = gradeval.plot.queries(QRELS, RUNS["y"], "AP")
    assert picture._repr_html_ is None
    assert picture._repr_svg_().startswith("<?xml") and picture._repr_png_().startswith(b"\x89PNG")


def test_means_of_a_metric() -> None:
    found = results()
    assert found["P@1"] == {"x<b>": 0.5, "y": 0.5} and found["num_q"] == {"x<b>": 2, "y": 2}
    with pytest.raises(gradeval.MetricError, match="was not evaluated"):
        found["RR"]
    with pytest.raises(TypeError):
        list(found)  # type: ignore[call-overload]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_wide_frames(library: str) -> None:
    pytest.importorskip(library)
    found = results()
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
    whys = gradeval.explain(QRELS, RUNS["y"], "AP", "1")
    study = gradeval.study.levels(QRELS, RUNS)
    tables = [results().compare("AP"), whys, whys[0], study.table("values"), gradeval.validate("nowhere")]
    for table in tables:
        pandas, polars = table.to_pandas(), table.to_polars()
        assert list(pandas.columns) == polars.columns and len(pandas) == len(polars) > 0
    assert list(whys[0].to_pandas().columns) == ["id", "rank", "score", "grade", "contribution"]
    assert whys.to_polars()["query"].unique().to_list() == ["1"]
