"""Pictures in characters, and their numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from helpers import each
from hypothesis import given
from hypothesis import strategies as some

import gradeval
from gradeval.commands.plot.layout import _bars, _text, _titled, labels, rounded, step_of, ticks
from gradeval.commands.plot.picture import Bars
from gradeval.errors import OptionError

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
BLOCK = re.compile(r"[^\x00-\x7f]")


@each("name", PICTURES)
def test_whole_output(name):
    picture = PICTURES[name]()
    assert picture.render() == (GOLDEN / f"{name}.txt").read_text("utf-8")
    for width in (40, 60, 80, 120):
        for ascii in (False, True):
            text = picture.render(width=width, ascii=ascii)
            drawn = text.split("\n\n")[0] if ascii else text  # in sentences phi is longer than φ
            assert max(map(len, drawn.splitlines())) <= width
            assert not (ascii and BLOCK.search(text))
    assert picture.render(width=1000) == picture.render(width=120)
    coloured = picture.render(colour=True)
    assert "\x1b[" in coloured and "\x1b[" not in picture.render()
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == picture.render().splitlines()


def test_long_titles_take_several_lines():
    """Those of charts beside each other as many as the longest."""
    picture = gradeval.plot.curve(QRELS, RUNS[:2], "P nDCG(gain=exp,discount=letor,top=1/2/3)", at="1,2")
    assert picture.render(width=75).splitlines()[:2] == [
        f"{'':38}Mean",
        "Mean P@k                              nDCG(gain=exp,top=…discount=letor)@k",
    ]
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0}}
    long = f"bm25 with k1 0.9 and b 0.4 {'x' * 50}"
    text = gradeval.plot.queries(qrels, {"base": run, long: run}, "AP").render(width=40)
    assert text.startswith(f"bm25 with k1 0.9 and b 0.4\n{'x' * 20}…{'x' * 19}\n− base: Difference in AP\n")


def test_names_cannot_steer_the_terminal():
    qrels = {"q\x1b[2J": {"a": 1}, "p": {"a": 2, "b": 1}}
    run = {"q\x1b[2J": {"a": 1.0}, "p": {"b": 1.0}}
    for picture in (
        gradeval.plot.queries(qrels, {"r\x1b": run, "s\n": run}),
        gradeval.plot.curve(qrels, {"r\x1b": run, "s\n": run}, at="1,2"),
        gradeval.plot.phi(qrels, query=list(qrels)),
    ):
        text = picture.render()
        assert "\x1b" not in text
        assert r"\x1b" in text


def test_many_queries_share_columns():
    qrels = {f"q{n}": {"a": 1} for n in range(500)}
    run = {f"q{n}": {f"x{rank}": -rank for rank in range(n % 7)} | {"a": -99.0} for n in range(500)}
    text = gradeval.plot.queries(qrels, run, "RR").render()
    assert "Each column is the mean of 6 or 7 queries.\nMean of 500 queries: 0.37" in text
    assert max(map(len, text.splitlines())) <= 80


def test_nothing_is_defined():
    qrels = {"q": {"a": 1}, "p": {"a": 1}}
    picture = gradeval.plot.queries(qrels, {"q": {"a": 1.0}, "p": {"a": 1.0}}, "rankDCG")
    assert "No query has a value.\n" in picture.render()
    assert picture.table("summary").rows[0][2] == 0


def test_more_lines_than_letters():
    runs = {f"run{n}": {"q": {"a": 1.0, "b": float(n)}} for n in range(60)}
    text = gradeval.plot.curve({"q": {"a": 1, "b": 2}}, runs, at="1,2").render()
    assert "\nz  run51 " in text and "\nA  run52 " in text


def test_phi_and_swaps_are_numbers():
    """In characters; matplotlib draws them."""
    study = gradeval.study.swaps("muAP nDCG", levels=(2, 3), items=8, repeats=7, swaps=50)
    picture = gradeval.plot.swaps("muAP nDCG", levels=(2, 3), items=8, repeats=7, swaps=50)
    numbers = study.render().replace("The distance is within the noise for muAP, nDCG.\n\n", "")
    assert picture.render() == f"{numbers.removesuffix(chr(10))}; confidence 95\n"
    text = gradeval.plot.phi(QRELS, query="424").render()
    assert text.startswith("φ and gain 2^φ - 1 of each grade\ncurve ")
    assert "\nquery 424      4       1  1.0000  1.0000\n" in text
    assert "\nquery 424  whisker    2.5  0.6250      yes\n" in text


def test_formats():
    picture = PICTURES["differences"]()
    with pytest.raises(OptionError, match=r"unknown format 'trec': choose from table, tsv, csv, json, md"):
        picture.render("trec")
    assert picture.render("tsv").splitlines()[1].startswith("dense\tbm25\tnDCG@10\t1\t424\t0.3274\t")
    assert picture.render("csv", table="summary").startswith("run,baseline,metric,queries,")
    with pytest.raises(OptionError, match=r"unknown table 'x'. Tables: queries, summary"):
        picture.render("tsv", table="x")
    formula = gradeval.plot.queries({"=1+1": {"a": 1}}, {"=1+1": {"a": 1.0}})
    assert ",'=1+1," in formula.render("csv", spreadsheet=True)
    assert ",=1+1," in formula.render("csv")
    assert str(picture).startswith(picture.render() + "warning: ")


numbers = some.floats(-1e6, 1e6).map(lambda number: round(number, 6))


def bars(values, width, height, ascii=False):
    """A chart of these values as lines."""
    y = np.array(values)
    chart = _bars(Bars((), y, 0.0, 0.0, 0.0), (min(values), max(values)), width, height, ascii)
    return [_text(row, False) for row in chart]


def test_bars_are_drawn_in_eighths_and_halves():
    """Above and below 0; what is not 0 is seen; wide bars have gaps."""
    assert bars([1, 0.5, 0.24, 0.01, 0], 5, 4) == [
        " 1.00 ┤█",
        " 0.75 ┤█",
        " 0.50 ┤██",
        " 0.25 ┤███▁",
        " 0.00 └─────",
    ]
    assert [line[7:] for line in bars([1, 0.5, -0.25, -0.75, -1], 5, 4)] == [
        "█", "██", "─────", "  ▀██", "   ▀█",
    ]  # fmt: skip
    assert bars([1, 0.6], 2, 1, ascii=True)[0] == "    1 ┤█▄"
    assert bars([1, 1], 8, 1)[0] == "    1 ┤███ ███"


@given(some.lists(some.integers(-9, 9).map(lambda n: n / 9), min_size=1, max_size=30), some.integers(3, 20))
def test_any_bars_can_be_drawn(values, height):
    lines = bars(values, 40, height)
    assert len(lines) <= height + 3
    assert bool(set("".join(lines)) & set("▁▂▃▄▅▆▇█▀")) == any(values)


def test_wide_characters_take_two_columns():
    for title in ("测试 wide", "ascii 123"):
        rows = _titled([[("x", 0)]], [title], "below")
        assert [_text(row, False) for row in rows] == [title, "x", "    below"]
        assert {len(row) for row in rows} == {9}


@given(numbers, numbers, some.integers(2, 20))
def test_ticks_are_few_and_within(first, second, most):
    low, high = sorted((first, second))
    slack = 1e-6 * max(abs(low), abs(high), 1e-300)
    for whole in (False, True):
        values = ticks(low, high, most, whole)
        assert len(values) <= most + 1
        assert all(low - slack <= value <= high + slack for value in values)
        assert not whole or all(value == round(value) for value in values)
    if high > low:
        assert step_of(high - low, most) * most >= (high - low) * (1 - 1e-6)
        ends = rounded(low, high, most, (None, None))
        assert ends[0] <= low + slack and ends[1] >= high - slack


def test_a_range_does_not_go_beyond_the_ends():
    assert rounded(0.01, 0.999, 10, (0.0, 1.0)) == (0.0, 1.0)
    assert rounded(0.93, 0.999, 2, (0.0, 1.0)) == (0.9, 1.0)
    assert rounded(0.5, 0.5, 4, (0.0, 1.0)) == (0.0, 1.0)


def test_labels():
    for values, texts in (
        ((0, 1, 2), "0 1 2"),
        ((0.0, 0.25), "0.00 0.25"),
        ((-0.0, -0.5), "0.0 -0.5"),
        ((), ""),
    ):
        assert labels(values) == texts.split()
