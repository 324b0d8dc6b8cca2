"""tsv, csv and jsonl: a row for each value."""

from __future__ import annotations

import csv
import io
import json
import time

import numpy as np
import pytest
from helpers import each

from gradeval.evaluation.results import Results, RunResult
from gradeval.registry.spec import parse
from gradeval.render.numbers import decimals

NAN = float("nan")


def test_tsv(make) -> None:
    results = make("num_q muAP", {"a": [[1, 1], [0.5, NAN]], "b": [[1, 1], [0, 1 / 3]]})
    assert results.render("tsv", per_query=True) == (
        "run\tquery\tmetric\tvalue\n"
        "a\tq1\tmuAP\t0.5000\n"
        "a\tq2\tmuAP\tnan\n"
        "a\tall\tnum_q\t2\n"
        "a\tall\tmuAP\t0.5000\n"
        "b\tq1\tmuAP\t0.0000\n"
        "b\tq2\tmuAP\t0.3333\n"
        "b\tall\tnum_q\t2\n"
        "b\tall\tmuAP\t0.1667\n"
    )
    assert "b\tq2\tmuAP\t0.3333333333333333\n" in results.render("tsv", per_query=True, digits="full")


def test_csv_quotes_what_needs_it(make) -> None:
    results = make("AP", {'a,"b"\n': [[0.5]]}, queries=["x,y"])
    text = results.render("csv", per_query=True)
    assert text == ('run,query,metric,value\n"a,""b""\n","x,y",AP,0.5000\n"a,""b""\n",all,AP,0.5000\n')
    assert list(csv.reader(io.StringIO(text)))[1] == ['a,"b"\n', "x,y", "AP", "0.5000"]
    text = make("AP", {"a\rb": [[0.5]]}).render("csv")
    assert list(csv.reader(io.StringIO(text, newline="")))[1:] == [["a\rb", "all", "AP", "0.5000"]]


@each("first", "=+-@＝＋－＠\t\r\n")
def test_csv_for_a_spreadsheet(first: str, make) -> None:
    """Text is quoted that would be calculated, and numbers stay numbers."""
    results = make("AP", {f"{first}r": [[-0.5, NAN]]}, queries=[f"{first}q", "q="])
    text = results.render("csv", per_query=True, spreadsheet=True)
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert [row[:2] for row in rows[1:]] == [[f"'{first}r", query] for query in (f"'{first}q", "q=", "all")]
    assert [row[3] for row in rows[1:]] == ["-0.5000", "nan", "-0.5000"]
    plain = list(csv.reader(io.StringIO(results.render("csv"), newline="")))
    assert plain[1] == [f"{first}r", "all", "AP", "-0.5000"]


def test_a_file_name_cannot_break_a_tsv_line(make) -> None:
    assert (
        make("AP", {"a\tb\nc\r": [[0.5]]}).render("tsv").splitlines()[1] == r"a\tb\nc\r" + "\tall\tAP\t0.5000"
    )


@pytest.mark.parametrize("format", ["tsv", "csv", "trec"])
def test_ids_are_written_as_the_bytes_that_were_read(format: str, make) -> None:
    ids = [b"\xff\xfe", "é\u2028\u00a0".encode(), b"\x01\x1f", b"%s{0}\\", b"a;b|c'd"]
    results = make("AP", {"a": [[0.5] * 5]}, queries=[id.decode(errors="surrogateescape") for id in ids])
    written = results.render(format, per_query=True).encode(errors="surrogateescape")
    for id in ids:
        assert written.count(id) == 1


def test_jsonl(make) -> None:
    results = make("num_q AP", {"a": [[1, 1, 1], [1 / 3, NAN, -0.0]]}, queries=["q1", 'q"\udcff', "é"])
    text = results.render("jsonl", per_query=True, digits=1)
    assert text == (
        '{"run": "a", "query": "q1", "metric": "AP", "value": 0.3333333333333333}\n'
        '{"run": "a", "query": "q\\"\\udcff", "metric": "AP", "value": null}\n'
        '{"run": "a", "query": "\\u00e9", "metric": "AP", "value": 0.0}\n'
        '{"run": "a", "query": "all", "metric": "num_q", "value": 3}\n'
        '{"run": "a", "query": "all", "metric": "AP", "value": 0.16666666666666666}\n'
    )
    assert json.loads(text.splitlines()[1])["query"] == 'q"\udcff'


def test_infinite_is_null_in_json(make) -> None:
    results = make("AP", {"a": [[float("inf")]]})
    assert json.loads(results.render("jsonl"))["value"] is None
    assert json.loads(results.render("json"))["runs"][0]["summary"] == {"AP": None}


@pytest.mark.parametrize("format", ["tsv", "csv", "jsonl", "trec"])
def test_a_large_collection_takes_no_time(format: str) -> None:
    size = 20_000
    specs = tuple(parse("AP muAP nDCG@5,10 P@5,10"))
    values = np.random.default_rng(0).random((6, size))
    run = RunResult("a", "a", None, values, np.ones(size, bool))
    results = Results("qrels", None, tuple(map(str, range(size))), specs, (run,))
    start = time.process_time()
    assert results.render(format, per_query=True).count("\n") >= 6 * size
    assert time.process_time() - start < 2  # 0.1 is usual; a loop of slow steps takes more than this


@each("digits", [0, 1, 2, 4, 6, 7, "full"])
@each("signed", [False, True])
def test_many_values_are_written_as_one(digits: int | str, signed: bool) -> None:
    """What is looked up by units of the last decimal, against each value by itself."""
    draw = np.random.default_rng(4)
    halves = (draw.integers(0, 2000, 300) + 0.5) / 10.0 ** draw.integers(0, 8, 300)
    near = np.concatenate([np.nextafter(halves, 0), halves, np.nextafter(halves, np.inf)])
    odd = [np.nan, 0, -0.0, 1e9, 1e300]
    values = np.concatenate([near, -near, draw.random(500), draw.integers(0, 5, 500), odd])
    for chosen in (values, draw.permutation(values), np.repeat(values[:40], 9)):
        found = decimals(chosen, False, digits=digits, signed=signed, width=6)
        ones = np.split(chosen, len(chosen))
        single = [decimals(one, False, digits=digits, signed=signed, width=6) for one in ones]
        assert found == [text for [text] in single]
    counts = draw.integers(0, 50, 500).astype(float)
    assert decimals(counts, True, digits=digits) == [str(int(count)) for count in counts]
