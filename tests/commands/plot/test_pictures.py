"""The numbers behind pictures are those of evaluate, compare and study; pictures in characters."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import each, error_of, raises
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import t as student

import gradeval
from commands.groups import QRELS, RUNS
from gradeval.commands.compare.compare import QueryValues, compare_values
from gradeval.commands.plot.picture import Bars, _bars, _of_bars
from gradeval.commands.plot.pictures import MEDIAN, POOLED, curves_of, expanded, of_pairs
from gradeval.compare_options import CompareOptions
from gradeval.errors import GradevalError, MetricError, OptionError, UnknownQueryError


def interval(values, confidence=0.95):
    values = values[~np.isnan(values)]
    half = student.ppf((1 + confidence) / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return values.mean() - half, values.mean() + half


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
    raises(MetricError, "nDCG has no φ: only nDCGphi has", gradeval.plot.phi, QRELS, "nDCG")
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
        assert (own["low"], own["high"]) == pytest.approx((own["mean"] - half, own["mean"] + half), abs=1e-12)
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
    "curve": lambda: gradeval.plot.curve(QRELS, RUNS),
    "curve-of-one": lambda: gradeval.plot.curve(QRELS, RUNS[0], "iprec_at_recall"),
    "log": lambda: gradeval.plot.curve(QRELS, RUNS[:2], "P R", at="1-3,10,20,50,100", log=True),
}


@each("name", PICTURES)
def test_whole_output(name):
    picture = PICTURES[name]()
    assert picture.render() == (GOLDEN / f"{name}.txt").read_text("utf-8")
    assert name.startswith(("curve", "log")) or max(map(len, picture.render(width=50).splitlines())) <= 50
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
