"""Metrics that are words, and those that say something of queries or of their summary only, in every format."""

import csv
import io
import json

import numpy as np
import pytest
from helpers import each, raises

from gradeval.errors import OptionError
from gradeval.evaluation.results import Results, RunResult
from gradeval.registry.spec import parse
from gradeval.render import WRITERS

NAN = float("nan")


@pytest.fixture
def words() -> Results:
    values = np.array([[NAN, NAN], [0.5, 0.25], [NAN, NAN], [0.5, 0.25]])
    texts = {0: ['m"e'] * 2, 2: ["1-", "0\t>"]}
    run = RunResult("r", "r", None, values, np.ones(2, bool), texts)
    return Results("qrels", None, ("q1", "q2"), tuple(parse("runid AP relstring gm_map")), (run,))


def test_words_in_each_format(words) -> None:
    rows = list(csv.reader(io.StringIO(words.render("csv", per_query=True))))
    assert [row[2:] for row in rows[3:6]] == [["AP", "0.2500"], ["relstring", "0\t>"], ["runid", 'm"e']]
    assert words.render("tsv", per_query=True).splitlines()[4] == "r\tq2\trelstring\t0\\t>"
    labelled = words.render("trec", labels=["one", "two", "three", "four"])
    assert labelled == 'one\tall\tm"e\ntwo\tall\t0.3750\nfour\tall\t0.3536\n'
    assert "relstring             \tq2\t'0\t>'\nrunid" in words.render("trec", per_query=True)
    [run] = json.loads(words.render("json", per_query=True))["runs"]
    assert run["summary"] == {"runid": 'm"e', "AP": 0.375, "gm_map": pytest.approx(0.125**0.5)}
    assert run["per_query"]["q2"] == {"AP": 0.25, "relstring": "0\t>"}
    lines = [json.loads(line) for line in words.render("jsonl", per_query=True).splitlines()]
    assert [line["value"] for line in lines[:5]] == [0.5, "1-", 0.25, "0\t>", 'm"e']
    queries, summary = words.render("table", per_query=True).split("\n\n")[-2:]
    assert "relstring" in queries and "runid" not in queries and "gm" not in queries
    assert 'm"e' in summary and "relstring" not in summary and "gm" in summary


def test_what_formats_refuse_or_leave_out(words) -> None:
    for format in ("table", "json", "md", "latex", "trec"):
        what = "label requires one of the formats tsv, csv, jsonl"
        raises(OptionError, what, words.render, format, label={"a": "b"})
    for name, hint in (
        ("foo", ": the options are digits, .*, label, per_query, .*"),
        ("per_quer", r": did you mean per_query\?"),
    ):
        raises(OptionError, f"^unknown option {name}{hint}", words.render, "tsv", **{name: 1})
    run = RunResult("r", "r", None, np.full((1, 2), NAN), np.ones(2, bool), {0: ["1-", "0"]})
    for format in WRITERS.keys() - {"json"}:  # a metric that says nothing of the whole
        text = Results("qrels", None, words.queries, words.specs[2:3], (run,)).render(format)
        assert "relstring" not in text


@each(("format", "backslash"), [("table", "\\"), ("md", "\\\\"), ("latex", r"\textbackslash{}")])
def test_words_cannot_steer_the_terminal(words, format: str, backslash: str) -> None:
    [run] = words.runs
    odd = run.replace(texts={0: ["\x1bc"] * 2, 2: ["1\u202e", "0\t"]})
    text = words.replace(runs=(odd,)).render(format, per_query=True)
    assert all(backslash + escaped in text for escaped in ("x1bc", "u202e", "t"))
    assert not set("\x1b\u202e\t") & set(text)
