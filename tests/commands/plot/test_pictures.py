"""Pictures: their numbers are those of evaluate, compare and study; in characters and with matplotlib."""

import math
import re
import sys
import warnings
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers import each, error_of, raises
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import t as student

import gradeval
from commands.groups import QRELS, RUNS
from gradeval.commands.compare.compare import QueryValues, compare_values
from gradeval.commands.plot.charts import Bars
from gradeval.commands.plot.pictures import (
    MEDIAN,
    POOLED,
    _bars,
    _of_bars,
    curves_of,
    expanded,
    format_of,
    of_pairs,
)
from gradeval.compare_options import CompareOptions
from gradeval.errors import GradevalError, MetricError, OptionError, UnknownQueryError


def interval(values, confidence=0.95):
    values = values[~np.isnan(values)]
    half = student.ppf((1 + confidence) / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return max(values.mean() - half, 0.0), min(values.mean() + half, 1.0)  # the range of the metrics here


def test_differences_are_those_of_compare():
    picture = gradeval.plot.queries(QRELS, RUNS, "nDCG@10", baseline="dense", confidence=90)
    comparison = gradeval.compare(QRELS, RUNS, "nDCG@10", baseline="dense", confidence=90.0)
    names = picture.table("summary").columns
    assert [row[0] for row in picture.table("summary").rows] == ["bm25", "hybrid"]
    for row in picture.table("summary").rows:
        one = comparison.find(row[0], "nDCG@10")
        own = dict(zip(names, row, strict=True))
        assert own.pop("queries") == one.n
        assert own == {name: getattr(one, name) for name in own}
    values = {run: gradeval.evaluate(QRELS, RUNS, "nDCG@10").per_query(run, 0) for run in ("dense", "hybrid")}
    rows = [row[4:] for row in picture.table("queries").rows if row[0] == "hybrid"]
    assert len(rows) == 50
    for query, base, value, difference in rows:
        assert (base, value) == (values["dense"][query], values["hybrid"][query])
        assert difference == pytest.approx(value - base, abs=1e-15)
    assert [row[3] for row in rows] == sorted((row[3] for row in rows), reverse=True)


def test_a_lower_value_wins_where_lower_is_better():
    """The first bars are the queries that got better."""
    qrels = {query: {"a": 1, "b": 0} for query in ("q1", "q2", "q3")}
    worse, better = {"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}
    runs = {"old": dict.fromkeys(qrels, better), "new": {"q1": better, "q2": worse, "q3": worse}}
    results = gradeval.evaluate(qrels, runs, "RR")
    values = QueryValues.of(results, results.specs)
    metrics = tuple(replace(one, higher_is_better=False) for one in values.metrics)
    values = replace(values, metrics=metrics)
    [panel], _ = of_pairs(values, compare_values(values, CompareOptions()).comparisons)
    assert panel.bars.sign == -1
    assert panel.bars.queries == ("q2", "q3", "q1")
    assert panel.bars.y.tolist() == [-0.5, -0.5, 0]
    assert (panel.bars.pair.won, panel.bars.pair.tied) == (2, 1)
    many = replace(panel.bars, queries=tuple("abcdefghijk"), y=np.linspace(-0.5, 0.5, 11))
    *_, won, lost = _of_bars(many, 1)
    assert won == "Won most: a -0.5, b -0.4, c -0.3, d -0.2, e -0.1."
    assert lost == "Lost most: k +0.5, j +0.4, i +0.3, h +0.2, g +0.1."


def test_cutoffs_as_a_list():
    of_list, of_text = (gradeval.plot.curve(QRELS, RUNS[:2], "nDCG", at=at) for at in ([1, 5, 20], "1,5,20"))
    assert of_list.table("curve") == of_text.table("curve")
    for at in (5, 1.5, b"1,2"):
        raises(OptionError, "at must be a list", gradeval.plot.curve, QRELS, RUNS[:2], "nDCG", at=at)


@each(("metric", "at"), [("nDCG", "1-3,10"), ("P(rel=2)", "5,1"), ("iprec_at_recall", "0,0.5,1")])
def test_curves_are_the_means(metric, at):
    picture = gradeval.plot.curve(QRELS, RUNS[:2], metric, at=at)
    rows = picture.table("curve").rows
    [panel] = picture.panels
    values = sorted(map(float, expanded(at)))
    assert [row[2] for row in rows] == values * 2
    for r, line in enumerate(panel.lines):
        assert line.x.tolist() == values
        for k, value in enumerate(values):
            spec = f"{metric}@{value:g}"
            results = gradeval.evaluate(QRELS, RUNS[r], spec)
            _, _, _, mean, low, high, count = row = rows[r * len(values) + k]
            assert row[:2] == (line.name, metric)
            assert mean == line.y[k] == results.mean(0, spec)
            assert (low, high) == (line.low[k], line.high[k])
            assert (low, high) == pytest.approx(interval(results.values(0, spec)), rel=1e-12)
            assert count == 50


def test_metrics_of_curves():
    for metrics, at, names in (
        ("nDCG", None, [("nDCG", 20)]),
        ("nDCG@5,10 P@3,1 nDCG@20", None, [("nDCG", 3), ("P", 2)]),
        ("ndcg_cut.5,10", None, [("nDCG", 2)]),
        (["P", "R"], "1-4", [("P", 4), ("R", 4)]),
        ("iprec_at_recall", None, [("iprec_at_recall", 11)]),
        ("Rprec_mult", None, [("Rprec_mult", 10)]),
        ("nDCG(gain=exp)", "10,100", [("nDCG(gain=exp)", 2)]),
    ):
        curves = curves_of(metrics, at)
        assert [(str(metric), len(by_value)) for metric, by_value in curves.items()] == names
        assert all(list(by_value) == sorted(by_value) for by_value in curves.values())
    for metrics, at, says in (
        ("AUC", None, "AUC: AUC takes no cutoff, so it has no curve: for example"),
        ("nDCG@10", None, "nDCG@10: a curve needs two cutoffs or more: for example nDCG@5,10,20"),
        ("nDCG@5,10", "1-3", "nDCG@5,10 has its own cutoffs, so --at is not for it"),
        ("nDCG", "3-1", "--at '3-1': a range must increase"),
        ("nDCG", "1-5000", "at most 1000 points"),
        ("nDCG", "1,x", "cutoff must be a positive integer, not 'x'"),
        ("nDGC", None, "did you mean nDCG"),
        ("num_rel_ret@5,10", None, "num_rel_ret"),
        ("", None, "no metrics given"),
    ):
        assert says in error_of((MetricError, OptionError), curves_of, metrics, at)


def rows_of(picture, table):
    found = {}
    for curve, *row in picture.table(table).rows:
        found.setdefault(curve, []).append(tuple(row))
    return found


def test_phi_of_a_collection():
    """All judgments as one query; and the quartiles of the queries, which each query's φ is among."""
    qrels = {"q1": {"a": 0, "b": 1, "c": 4}, "q2": {"a": 0, "b": 0, "c": 2}, "q3": {"a": 0}}
    picture = gradeval.plot.phi(qrels)
    pooled = {"q": {str(n): grade for n, grade in enumerate([0, 1, 4, 0, 0, 2, 0])}}
    together = gradeval.plot.phi(pooled, query="q")
    for table in ("phi", "points"):
        assert rows_of(picture, table)[POOLED] == rows_of(together, table)["query q"]
    assert picture.note.endswith("of 2")  # q3 has no grade above 0
    lines = [gradeval.plot.phi(qrels, query=query).panels[0].lines for query in ("q1", "q2")]
    median = {row["grade"]: row["median"] for row in picture.table("quartiles").to_dicts()}
    assert list(median) == [0, 1, 2, 4]
    assert median[4] == 1 and median[0] == 0
    assert median[2] == pytest.approx(sum(np.interp(2, line.x, line.y) for [line] in lines) / 2, abs=1e-3)
    assert (np.diff(list(median.values())) >= 0).all()
    assert [row["queries"] for row in picture.table("quartiles").to_dicts()] == [2, 2, 2, 1]
    assert [line.name for line in picture.panels[0].lines] == [POOLED, MEDIAN]
    same = gradeval.plot.phi(qrels, "nDCGphi(points=0:0/4:1)")
    assert [line.name for line in same.panels[0].lines] == ["all queries"]
    assert [table.name for table in same.tables if table.data] == ["phi", "points"]
    # phi is what explain shows
    for metric in ("nDCGphi", "nDCGphi(variant=released)", "nDCGphi(points=0:0/2:0.5/4:1)"):
        [explained] = gradeval.explain(QRELS, RUNS[0], metric, "424")
        picture = gradeval.plot.phi(QRELS, metric, query="424")
        assert rows_of(picture, "phi") == {"query 424": [*explained.phi.values[::-1]]}
        points = [(*point, True) for point in explained.phi.points]
        assert rows_of(picture, "points")["query 424"][: len(points)] == points
        assert [line.points for line in picture.panels[0].lines] == [explained.phi.points]


def test_errors():
    raises(
        MetricError,
        "φ is drawn of one metric with gains made from it, such as nDCGphi, not of nDCG",
        gradeval.plot.phi,
        QRELS,
        "nDCG",
    )
    raises(UnknownQueryError, "'nowhere'", gradeval.plot.phi, QRELS, query="nowhere")
    raises(OptionError, "confidence must be a percentage", gradeval.plot.curve, QRELS, RUNS, confidence=100)
    raises(GradevalError, "no run is named 'x'", gradeval.plot.queries, QRELS, RUNS, baseline="x")
    raises(MetricError, "gm_map", gradeval.plot.queries, QRELS, RUNS, "gm_map")


def test_swaps_are_those_of_the_study():
    small = {"levels": (2, 3), "items": 8, "repeats": 7, "swaps": 5}
    study = gradeval.study.swaps("muAP nDCG", **small)
    picture = gradeval.plot.swaps("muAP nDCG", **small, confidence=90)
    assert picture.table("distances") == study.table("distances")
    columns = picture.table("curves").columns
    kept = [place for place, name in enumerate(columns) if name not in ("low", "high")]
    rows = picture.table("curves").rows
    assert [tuple(row[place] for place in kept) for row in rows] == study.table("curves").rows
    for row in rows:
        own = dict(zip(columns, row, strict=True))
        half = student.ppf(0.95, 6) * own["sd"] / math.sqrt(7)
        ends = max(own["mean"] - half, 0), min(own["mean"] + half, 1)  # within the range of both metrics
        assert (own["low"], own["high"]) == pytest.approx(ends, abs=1e-12)
    assert len(picture.panels) == 4
    u, i, m = 1, 0, 1  # unevenly used, 2 levels, nDCG
    line = picture.panels[3].lines[0]
    assert line.y.tolist() == study.mean[u, i, m].tolist()
    # one repeat has no interval
    picture = gradeval.plot.swaps("nDCG", levels=(2,), items=4, repeats=1, swaps=3)
    assert all(np.isnan(line.low).all() for panel in picture.panels for line in panel.lines)
    assert picture.note == ""


# pictures in characters


GOLDEN = Path(__file__).parent / "golden"
PICTURES = {
    "queries": lambda: gradeval.plot.queries(QRELS, RUNS[0]),
    "differences": lambda: gradeval.plot.queries(QRELS, RUNS),
    "means": lambda: gradeval.plot.means(QRELS, RUNS, "nDCG@10 AP"),
    "curve": lambda: gradeval.plot.curve(QRELS, RUNS),
    "curve-of-one": lambda: gradeval.plot.curve(QRELS, RUNS[0], "iprec_at_recall"),
    "log": lambda: gradeval.plot.curve(QRELS, RUNS[:2], "P R", at="1-3,10,20,50,100", log=True),
}


@each("name", PICTURES)
def test_whole_output(name):
    picture = PICTURES[name]()
    assert picture.render() == (GOLDEN / f"{name}.txt").read_text("utf-8")
    assert (
        name.startswith(("curve", "log", "means")) or max(map(len, picture.render(width=50).splitlines())) <= 50
    )
    coloured = picture.render(colour=True)
    assert "\x1b[" in coloured and "\x1b[" not in picture.render()
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == picture.render()


def drawn(values, width=80):
    return _bars(Bars((), np.array(values, float), 0.0, 0.0, 0.0), width)


def test_bars_are_drawn_in_eighths():
    """Above and below 0 on one scale; what is not 0 is seen; several share a column."""
    assert drawn([1, 0.5, 0.24, 0.01, 0]) == ["█▄▂▁"]
    assert drawn([1, 0.5, 0, -0.25, -1]) == ["█▄", "   ▂█ (below 0)"]
    assert drawn([-0.5, -1]) == ["▄█ (below 0)"]
    assert drawn([0, 0]) == []
    assert drawn([1, 1, 0.5, 0.5], width=2) == ["█▄"]


@given(some.lists(some.integers(-9, 9).map(lambda n: n / 9), min_size=1, max_size=30))
def test_any_bars_can_be_drawn(values):
    values = sorted(values, reverse=True)
    lines = drawn(values)
    assert bool(set("".join(lines)) & set("▁▂▃▄▅▆▇█")) == any(values)
    blocks = "".join(line.removesuffix(" (below 0)").strip() for line in lines)
    assert len(blocks) == sum(value != 0 for value in values)


@each("size", [1, 24, 25, 29, 38, 92])
def test_drawings_are_as_wide_as_names_and_numbers_leave_room_for(size):
    runs = {"x" * (size - 1) + letter: run for letter, run in zip("abc", RUNS, strict=True)}
    picture = gradeval.plot.means(QRELS, runs, "AP")
    _, head, _, *rows = picture.render("table", width=80).split("\n\n")[0].splitlines()
    place = head.index("interval")
    drawings = [row[place : head.index("mean") - 4].rstrip() for row in rows]
    means = picture.panels[0].means
    assert len(rows) == len(runs) and max(map(len, rows)) <= 80 and "high" in head
    low, high = means.low.min(), means.high.max()
    last = max(map(len, drawings)) - 1
    for drawing, *numbers in zip(drawings, means.low, means.mean, means.high, strict=True):
        assert drawing.strip(" ─├●┤") == ""
        found = [drawing.index(sign) for sign in "├●┤"]
        assert found == [round(last * (number - low) / (high - low)) for number in numbers]
    assert "…" not in gradeval.plot.curve(QRELS, {"x" * 38: RUNS[0]}).render("table", width=80)


def test_curves_have_one_scale():
    """Of all runs; the lowest value is seen."""
    runs = {"a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}, "b": {"q": {"z": 3.0, "y": 2.0, "x": 1.0}}}
    qrels = {"q": {"x": 1, "y": 0, "z": 0}}
    lines = gradeval.plot.curve(qrels, runs, "P", at="1-3").render().splitlines()
    assert [line.split()[:3] for line in lines[3:5]] == [["a", "█▄▃", "1.0000"], ["b", "▁▁▃", "0.0000"]]
    equal = gradeval.plot.curve(qrels, {"a": runs["a"]}, "R", at="1-3").render()
    assert "a    ███" in equal
    # nothing is defined
    qrels = {"q": {"a": 1}, "p": {"a": 1}}
    picture = gradeval.plot.queries(qrels, {"q": {"a": 1.0}, "p": {"a": 1.0}}, "rankDCG")
    assert "No query has a value.\n" in picture.render()
    assert picture.table("summary").rows[0][2] == 0
    # in characters; matplotlib draws them
    study = gradeval.study.swaps("muAP nDCG", levels=(2, 3), items=8, repeats=7, swaps=50)
    picture = gradeval.plot.swaps("muAP nDCG", levels=(2, 3), items=8, repeats=7, swaps=50)
    numbers = study.render().replace("The distance is within the noise for muAP, nDCG.\n\n", "")
    assert picture.render() == f"{numbers.removesuffix(chr(10))}; confidence 95\n"
    text = gradeval.plot.phi(QRELS, query="424").render()
    assert text.startswith("φ and gain 2^φ - 1 of each grade\ncurve ")
    assert "\nquery 424      4       1  1.0000  1.0000\n" in text
    assert "\nquery 424  whisker    2.5  0.6250      yes\n" in text


with_matplotlib = pytest.mark.skipif(not find_spec("matplotlib"), reason="matplotlib is not installed")

SMALL = {"levels": (2, 3), "items": 8, "repeats": 7, "swaps": 5}
TINY = {"q1": {"a": 1, "b": 2}, "q2": {"a": 1, "c": 1}}
TINY_RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}}


@pytest.fixture(scope="module")
def pictures():
    return {
        "queries": gradeval.plot.queries(QRELS, RUNS[0]),
        "differences": gradeval.plot.queries(QRELS, RUNS),
        "curve": gradeval.plot.curve(QRELS, RUNS, "P nDCG", at="1,2,5,20", log=True),
        "phi": gradeval.plot.phi(QRELS),
        "swaps": gradeval.plot.swaps("muAP nDCG", **SMALL),
    }


def image(*args):
    from gradeval.commands.plot.figure import image  # matplotlib takes a while to import

    return image(*args)


@with_matplotlib
@pytest.mark.slow
@each(("format", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_same_bytes(format, start, monkeypatch):
    """Without the time, the version of matplotlib or the settings of the user; without pyplot."""
    import matplotlib

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    picture = gradeval.plot.queries(TINY, TINY_RUN)
    data, missing = image(picture, format, (3, 2))
    assert missing == ""
    with matplotlib.rc_context({"lines.linewidth": 9, "svg.fonttype": "none", "svg.hashsalt": None}):
        before = matplotlib.rcParams.copy()
        assert image(picture, format, (3, 2))[0] == data
        assert matplotlib.rcParams.copy() == before
    assert data.startswith(start)
    assert matplotlib.__version__.encode() not in data
    assert b"<dc:date>" not in data and b"CreationDate" not in data
    assert b"<text" not in data  # letters are paths: they need no font


def figure_of(picture, size=None):
    from gradeval.commands.plot import figure

    with figure.style.context(["default", figure._SETTINGS]):
        return figure._figure(picture, size)


@with_matplotlib
def test_bars_their_names_and_their_room(pictures):
    picture = pictures["differences"]
    found = figure_of(picture)
    assert len(found.axes) == len(picture.panels) == 2
    for axes, panel in zip(found.axes, picture.panels, strict=True):
        heights = [bar.get_height() for container in axes.containers[:1] for bar in container]
        assert heights == panel.bars.y.tolist()
        colours = {bar.get_facecolor() for bar in axes.containers[0]}
        assert len(colours) == 2
        assert axes.get_title(loc="left").startswith(f"{panel.title}\n{panel.bars.pair.won} won, ")
        assert axes.get_xlabel() == "Queries by difference (50)"
    assert found.axes[0].get_ylabel() == "Difference in nDCG@10"
    assert found.axes[0].get_ylim() == found.axes[1].get_ylim()
    # queries are named where there is room
    picture = pictures["queries"]
    names = [text.get_text() for text in figure_of(picture).axes[0].get_xticklabels()]
    assert names == list(picture.panels[0].bars.queries)
    assert names[0] not in [text.get_text() for text in figure_of(picture, (3, 2)).axes[0].get_xticklabels()]
    # a size that is too small is an error
    raises(OptionError, "too small for 2 by 2 charts", figure_of, pictures["swaps"], (3.3, 2.4))
    figure_of(pictures["swaps"], (3.3, 3.2))


@with_matplotlib
@each("name", ["curve", "phi", "swaps"])
def test_lines_are_the_data(pictures, name):
    picture = pictures[name]
    for axes, panel in zip(figure_of(picture).axes, picture.panels, strict=True):
        lines = [line for line in axes.get_lines() if line.get_linestyle() != "None"]
        assert len(lines) == len(panel.lines)
        for line, of in zip(lines, panel.lines, strict=True):
            np.testing.assert_array_equal(line.get_xdata(), of.x)
            np.testing.assert_array_equal(line.get_ydata(), of.y)
        assert axes.get_xlabel() in (panel.x.label, "")
        low, high = axes.get_ylim()
        assert low > -0.2 and high < 1.2


@with_matplotlib
@pytest.mark.slow
def test_lines_differ_without_colours():
    """In dashes or in markers; and no two neighbours in either."""
    runs = {f"run{n:02}": {"q1": {"a": 1.0, "b": n}} for n in range(12)}
    [axes] = figure_of(gradeval.plot.curve(TINY, runs, at="1,2")).axes
    styles = [(line._dash_pattern, line.get_marker()) for line in axes.get_lines()[:12]]
    assert len({str(style) for style in styles}) == 12
    assert all(one[0] != other[0] and one[1] != other[1] for one, other in pairwise(styles))
    # they are text: no mathematics, nothing left out of the legend, bytes that are not UTF-8 have a
    # mark
    names = ["$a_b$", "_hidden", "x" * 100, "caf\udce9", "tab\t", "no \ufffe \uffff"]
    picture = gradeval.plot.curve(TINY, dict.fromkeys(names, TINY_RUN), at="1,2")
    [legend] = figure_of(picture).legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown[:2] == names[:2]
    assert len(shown[2]) == 32 and "…" in shown[2]
    assert shown[3:] == ["caf\ufffd", r"tab\t", "no \ufffd \ufffd"]
    data, missing = image(picture, "svg")
    assert not missing
    ElementTree.fromstring(data)


@with_matplotlib
@pytest.mark.slow
def test_characters_that_the_font_lacks(tmp_path):
    picture = gradeval.plot.queries(TINY, {"测试": TINY_RUN})
    assert image(picture, "svg")[1] == "测试"
    with pytest.warns(UserWarning, match="the font of saved pictures lacks 测试, shown as boxes"):
        picture.save(tmp_path / "x.svg")
    many = gradeval.plot.queries(TINY, {"".join(map(chr, range(0x6D4B, 0x6D4B + 20))): TINY_RUN})
    assert re.search(" lacks [^ ]{10}…, shown", str(many.image("svg")[1][0]))
    # their outline, so that the file stays small
    qrels = {f"q{n}": {"a": 1} for n in range(900)}
    run = {query: {f"x{rank}": -rank for rank in range(n % 7)} | {"a": -99.0} for n, query in enumerate(qrels)}
    assert image(gradeval.plot.queries(qrels, run, "RR"), "svg", (3, 2))[0].count(b"<path") < 200


@with_matplotlib
@pytest.mark.slow
@each("picture", [
    lambda: gradeval.plot.queries(TINY, TINY_RUN, "rankDCG"),
    lambda: gradeval.plot.queries({"q": {"a": 1}}, {"r": {"q": {"a": 1.0}}, "s": {"q": {"b": 1.0}}}),
    lambda: gradeval.plot.phi({"q": {"a": 0}}, query="q"),
    lambda: gradeval.plot.swaps("nDCG", levels=(2,), items=2, repeats=1, swaps=1),
])  # fmt: skip
def test_little_data(picture):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", gradeval.EvaluationWarning)
        assert image(picture(), "svg")[0].startswith(b"<?xml")


@with_matplotlib
def test_save(pictures, tmp_path):
    path = tmp_path / "phi.SVG"
    path.write_text("old")
    pictures["phi"].save(path, size=(3, 2))
    assert path.read_bytes() == image(pictures["phi"], "svg", (3, 2))[0]
    assert b'width="216pt"' in path.read_bytes()
    assert [one.name for one in tmp_path.iterdir()] == ["phi.SVG"]
    raises(OptionError, "size must be width and height in inches", pictures["phi"].save, path, size=(0, 2))
    raises(OptionError, r"no such|does not exist", pictures["phi"].save, tmp_path / "nowhere" / "x.svg")
    # unknown endings
    for path, what in (("x.jpg", "unknown ending '.jpg'"), ("x", "no ending"), ("", "no ending")):
        with pytest.raises(OptionError) as error:
            format_of(path)
        assert str(error.value) == f"save {path}: {what}. The endings are .svg, .png and .pdf"
    error_of(GradevalError, pictures["phi"].save, "x.svgz")


def test_axes_are_the_users_to_change(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = gradeval.evaluate(QRELS, RUNS, "nDCG@10 AP")
    picture = gradeval.plot.means(results)
    plain, path = picture.image("svg")[0], tmp_path / "means.svg"
    assert [axes.get_xlabel() for axes in picture.axes] == ["Mean nDCG@10", "Mean AP"]
    [label, *_] = picture.axes[0].get_yticklabels()
    assert label.get_text() == results.runs[0].name
    picture.axes[0].set_gid("changed")
    picture.save(path)
    assert b'id="changed"' in path.read_bytes() and b'id="changed"' not in plain
    picture.save(path, size=(9, 4))
    assert b'width="648pt" height="288pt"' in path.read_bytes()
    low, high = results.interval("bm25", "AP")
    row = next(
        row for row in picture.table("means").to_dicts() if (row["run"], row["metric"]) == ("bm25", "AP")
    )
    assert (row["low"], row["mean"], row["high"]) == (low, results.mean("bm25", "AP"), high)
    assert len(gradeval.plot.curve(QRELS, RUNS).axes) == 1
