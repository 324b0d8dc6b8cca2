"""gradeval explain."""

import gzip
from pathlib import Path

import pytest
from cli.command import RUN, fails, gradeval
from helpers import each

from gradeval import explain as gradeval_explain


@pytest.fixture(autouse=True)
def files(folder):
    Path("r.run").write_text(RUN)


def explain(line):
    return gradeval("explain", "q", "r.run", *line.split())


def test_a_query():
    done = explain("--query q1 -m AP")
    [one] = gradeval_explain("q", "r.run", "AP", "q1")
    assert done == (0, one.render(), "")


def test_the_worst_query():
    done = explain("--worst 1")
    assert done.out.startswith("nDCG@10, query q3, r: 0.0000\n")
    [line] = done.lines
    assert line == "warning: r: 1 query is not in the run, so nothing is retrieved ('q3') [nothing_retrieved]"
    assert "The run has no documents for this query." in done.out
    assert explain("--worst 1 --queries both").out.startswith("nDCG@10, query q1")
    assert explain("--worst 9 --query-ids q1").out.count("nDCG@10, query") == 1
    assert explain("--worst 1 --strict").code == 2
    assert explain("--worst 1 --quiet").err == ""
    # against
    Path("other.run").write_text("q1 Q0 a 1 1 t\nq2 Q0 e 1 1 t\n")
    done = explain("--against new=other.run --worst 1")
    assert done.out.startswith("nDCG@10, query q1: r 0.3") and done.err == ""
    assert "document  grade  r rank  new rank  r adds  new adds  difference\n" in done.out
    # titles
    Path("t.gz").write_bytes(gzip.compress(b"a\tThe best\n"))
    assert "  The best\n" in explain("--query q1 --text t.gz").out
    Path("t.gz").write_bytes(b"z9\tother\n")
    done = explain("--query q1 --text t.gz")
    none = "no document of the queries has a title in it; are the ids those of the runs? [no_titles]"
    assert (done.code, done.lines) == (0, [f"warning: t.gz: {none}"])


@each("args, message", [
    ("", "one of query and worst chooses what is explained (--query ID, --worst N)"),
    ("--query q1 --query-ids q1", "queries and query_ids are those that worst chooses from; query names them"),
    ("--query q1 --queries both", "queries and query_ids are those that worst chooses from"),
    ("--query q1 --ranks 0", "'0' is not an integer from 1"),
    ("--query q1 -f tsv", "'tsv' is not one of"),
])  # fmt: skip
def test_errors(args, message):
    said = fails("explain", "q", "r.run", *args.split())
    assert message in said and "\n" not in said


def test_a_run_is_needed():
    gradeval("q", "r.run", "-q", "-f", "json", "-o", "saved.json")
    for line, said in {
        "explain q --query q1": "Missing argument 'RUN'",
        "explain q --worst 1": "Try 'gradeval explain --help'",
        "explain q r=r.run --against r=s.run --query q1":
            "gradeval: two runs have the label 'r': r.run and s.run",
        "explain l --feature 1,2 --query 1": "one run is explained at a time",
        "study agreement l --feature 1,99": "no line has feature 99",
        "explain q saved.json --query q1": "a saved result has no documents. Give the run",
        "plot curve q saved.json": "a saved result has no documents. Give the run",
    }.items():  # fmt: skip
        assert said in fails(*line.split()), line
    done = gradeval("explain", "l", "--feature", "2", "--query", "1", "-m", "nDCG")
    assert done.out.startswith("nDCG, query 1, feature2: ")
