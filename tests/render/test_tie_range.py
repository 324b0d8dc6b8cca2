"""The range over the orders of ties and the mean within it, in every format."""

import json

import numpy as np
import pytest

from gradeval.evaluation.results import Results, RunResult
from gradeval.registry.spec import parse
from gradeval.render import WRITERS

NAN = float("nan")


@pytest.fixture
def ranged() -> Results:
    """AP of run a has a range in q1; scaled_utility is negative and has no mean; relstring is text."""
    specs = tuple(parse("AP scaled_utility relstring"))
    counted = np.ones(2, bool)
    first = np.array([[0.5, 0.25], [-0.5, 0.5], [NAN, NAN]])
    low, high = first.copy(), first.copy()
    low[0, 0], high[0, 0], low[1, 0] = 0.25, 0.75, -1.5
    second = np.array([[0.125, 0.125], [0.5, 0.5], [NAN, NAN]])
    mean, same = np.full((2, 3, 2), NAN)
    mean[0], same[0] = first[0] + 1e-9, second[0]
    runs = (
        RunResult("a", "a", None, first, counted, {2: ["1", "0"]}, np.array([low, high, mean])),
        RunResult("long", "long", None, second, counted, {2: ["0", "1"]}, np.array([second, second, same])),
    )
    return Results("qrels", None, ("q1", "q2"), specs, runs)


TABLE = """\
run                            AP         scaled_utility
────────────────────────────────────────────────────────
a     0.375 [0.250, 0.375, 0.500]  0.000 [-0.500, 0.000]
long  0.125                        0.500
"""
TSV = """\
run\tquery\tmetric\tvalue\tlow\thigh\texpected
a\tall\tAP\t0.375\t0.250\t0.500\t0.375
a\tall\tscaled_utility\t0.000\t-0.500\t0.000\t
long\tall\tAP\t0.125\t0.125\t0.125\t0.125
long\tall\tscaled_utility\t0.500\t0.500\t0.500\t
"""
MD = "| a    | **0.375** [0.250, 0.375, 0.500] | 0.000 [-0.500, 0.000] |\n"
LATEX = r"a & \textbf{0.375} {[}0.250, 0.375, 0.500] & 0.000 {[}$-$0.500, 0.000] \\"


def test_rows_and_tables(ranged: Results) -> None:
    assert ranged.render("table", digits=3) == TABLE
    assert ranged.render("tsv", digits=3) == TSV
    assert MD in ranged.render("md", digits=3) and LATEX in ranged.render("latex", digits=3)
    rows = [line.split("\t") for line in ranged.render("tsv", per_query=True, digits=2).splitlines()]
    assert rows[1] == ["a", "q1", "AP", "0.50", "0.25", "0.75", "0.50"]
    assert rows[3] == ["a", "q1", "relstring", "1", "", "", ""]
    table = ranged.render("table", per_query=True, digits=2)
    assert "0.50 [0.25, 0.50, 0.75]" in table and "0.25 [" not in table.split("long")[0]
    for format in WRITERS:
        assert "low" not in ranged.replace(runs=()).render(format)


def test_json(ranged: Results) -> None:
    first, second = json.loads(ranged.render("json", per_query=True))["runs"]
    assert first["low"] == {"AP": 0.25, "scaled_utility": -0.5}
    assert first["high"] == {"AP": 0.5, "scaled_utility": 0.0}
    assert first["per_query_low"]["q1"] == {"AP": 0.25, "scaled_utility": -1.5}
    assert first["per_query_high"]["q1"] == {"AP": 0.75, "scaled_utility": -0.5}
    assert second["low"] == second["high"] == second["summary"]
    lines = [json.loads(line) for line in ranged.render("jsonl", per_query=True).splitlines()]
    value = {"value": 0.5, "low": 0.25, "high": 0.75, "expected": 0.5 + 1e-9}
    assert lines[0] == {"run": "a", "query": "q1", "metric": "AP", **value}
    assert lines[2]["value"] == "1" and lines[2]["low"] is lines[2]["high"] is lines[1]["expected"] is None
    assert first["expected"] == pytest.approx({"AP": 0.375 + 1e-9}, rel=1e-12)
    assert first["per_query_expected"]["q2"] == {"AP": 0.25 + 1e-9}
    names = json.loads(ranged.render("json", per_query=True, summary=False))["runs"][0].keys()
    assert {"per_query_low", "per_query_high"} <= names and "low" not in names


def test_a_range_that_reads_as_the_value_is_left_out_of_tables(ranged: Results) -> None:
    [first, second] = ranged.runs
    ends = np.array([first.values - 1e-6, first.values + 1e-6, first.values])
    text = ranged.replace(runs=(first.replace(tie_range=ends), second)).render("md")
    assert "[" not in text
    assert "[" in ranged.replace(runs=(first.replace(tie_range=ends), second)).render("md", digits=7)
