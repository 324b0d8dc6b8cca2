"""gradeval explain."""

import gzip
from pathlib import Path

import pytest
from cli.command import RUN, fails, gradeval
from helpers import each


@pytest.fixture(autouse=True)
def files(folder):
    """q and r.run."""
    Path("r.run").write_text(RUN)


def explain(line):
    return gradeval("explain", "q", "r.run", *line.split())


def test_a_query():
    done = explain("--query q1 -m AP")
    assert (done.code, done.err) == (0, "")
    assert (
        done.out.splitlines()
        == """\
AP, query q1, r: 0.2778

rank  document   score  grade    term    adds
─────────────────────────────────────────────
1     b         9.0000      0  0.0000  0.0000
2     x         8.0000      -  0.0000  0.0000
3     c         7.0000      1  0.3333  0.1111
4     a         7.0000      3  0.5000  0.1667
-     d                     2

AP = sum 0.8333 / 3 = 0.2778

Not retrieved (rank -): 1 document with a grade above 0. Not judged: 1 of the first 4 (grade -).
Tied scores: 2 of the first 4, ordered by --ties trec.
""".splitlines()
    )


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
    ("--query q1 --worst 1", "one of query and worst chooses"),
    ("--query q1 --text none.tsv", "none.tsv: no such file"),
    ("--query q1 --query-ids q1", "--query-ids and --query are mutually exclusive: --worst chooses"),
    ("--query q1 --queries judged", "--queries and --query are mutually exclusive"),
    ("--worst 1 --query-ids q1,x", "--query-ids: query 'x' is not in "),
    ("--worst 0", "'0' is not an integer from 1"),
    ("--query q1 --ranks 0", "'0' is not an integer from 1"),
    ("--query q1 -f tsv", "'tsv' is not one of"),
    ("--query q1 -o x.csv", "cannot infer a format from x.csv"),
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
        "explain l --feature 99 --query 1": "no line has feature 99",
        "study agreement l --feature 1,99": "no line has feature 99",
        "explain q saved.json --query q1": "a saved result has no documents. Give the run",
        "plot curve q saved.json": "a saved result has no documents. Give the run",
    }.items():  # fmt: skip
        assert said in fails(*line.split()), line
    done = gradeval("explain", "l", "--feature", "2", "--query", "1", "-m", "nDCG")
    assert done.out.startswith("nDCG, query 1, feature2: ")
