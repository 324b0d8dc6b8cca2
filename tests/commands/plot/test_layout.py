"""Pictures in characters, and their numbers."""

import re
from pathlib import Path

import numpy as np
from helpers import each
from hypothesis import given
from hypothesis import strategies as some

import gradeval
from gradeval.commands.plot.picture import Bars, _bars

GOLDEN = Path(__file__).parent / "golden"
SEARCH = Path(__file__).parents[3] / "sample_data" / "search"
QRELS = str(SEARCH / "qrels.txt")
RUNS = [str(SEARCH / f"{name}.run") for name in ("bm25", "dense", "hybrid")]
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
    """The lines of a drawing of bars."""
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
