"""Studies as text."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from gradeval.commands.study.tables import Study, Table
from gradeval.errors import OptionError

ROWS = [("a\tb", 1, 0.12345, True, 2.0, 7), ('c",\x1b[2J', 20, float("nan"), False, None, 7)]
STUDY = Study(
    name="example",
    options={"metrics": ["AP", "nDCG"], "alpha": 0.05, "seed": 7, "evaluation": {"rel": None}},
    tables=(
        Table("hidden", "Not shown", ("run", "value"), [("r", -0.0)], shown=False),
        Table("first", "What it is", ("run", "count", "value", "holds", "threshold", "seed"), ROWS),
        Table("wide", "Shown only", ("run", *map(str, range(12))), [("r", *[0.5] * 12)], data=False),
    ),
)


def test_table():
    text = STUDY.render("table", width=60)
    assert text == (
        "What it is\n"
        "run         count   value  holds  threshold\n"
        "───────────────────────────────────────────\n"
        "a\\tb            1  0.1235    yes          2\n"
        'c",\\x1b[2J     20     nan     no\n'
        "\nShown only\n"
        "run       0       1       2       3       4       5       6\n"
        "───────────────────────────────────────────────────────────\n"
        "r    0.5000  0.5000  0.5000  0.5000  0.5000  0.5000  0.5000\n"
        "\n"
        "run       7       8       9      10      11\n"
        "───────────────────────────────────────────\n"
        "r    0.5000  0.5000  0.5000  0.5000  0.5000\n"
        "\nexample: metrics AP, nDCG; alpha 0.05; seed 7\n"
    )


def test_colours_are_asked_for():
    assert "\x1b" not in STUDY.render("table")
    assert "\x1b[1m" in STUDY.render("table", colour=True)


def test_rows_of_one_table():
    assert STUDY.render("tsv") == "run\tvalue\nr\t0.0000\n"
    lines = STUDY.render("tsv", table="first", digits="full").splitlines()
    assert lines[1] == "a\\tb\t1\t0.12345\tyes\t2\t7"
    assert lines[2] == 'c",\x1b[2J\t20\tnan\tno\t\t7'
    rows = list(csv.reader(io.StringIO(STUDY.render("csv", table="first"))))
    assert rows[1] == ["a\tb", "1", "0.1235", "yes", "2", "7"]
    with pytest.raises(OptionError, match=r"unknown table 'wide'. Tables: hidden, first"):
        STUDY.render("tsv", table="wide")


def test_csv_quotes_what_a_reader_would_split():
    table = Table("odd", "", ("run", "value"), [("a\rb", 0.5), ("c,d", 0.5), ("=1", 0.5)])
    study = replace(STUDY, tables=(table,))
    assert study.render("csv") == 'run,value\n"a\rb",0.5000\n"c,d",0.5000\n=1,0.5000\n'
    assert study.render("csv", spreadsheet=True).endswith("'=1,0.5000\n")


def test_json_is_exact():
    content = json.loads(STUDY.render("json"))
    assert content["study"] == "example"
    assert content["options"]["evaluation"] == {"rel": None}
    assert set(content["tables"]) == {"hidden", "first"}
    assert content["tables"]["first"][0]["value"] == 0.12345
    assert content["tables"]["first"][1]["value"] is None
    assert content["tables"]["first"][0]["holds"] is True
    assert np.isfinite(content["tables"]["hidden"][0]["value"])


def test_a_study_ends_in_what_it_shows():
    """A sentence before the line of its options, and in JSON."""
    study = replace(STUDY, finding="AP is \x1b[2Jbest.")
    assert study.render("table").splitlines()[-3:] == [
        "AP is \\x1b[2Jbest.", "", "example: metrics AP, nDCG; alpha 0.05; seed 7"
    ]  # fmt: skip
    assert study.to_dict()["finding"] == "AP is \x1b[2Jbest."
    assert "finding" not in STUDY.to_dict()
