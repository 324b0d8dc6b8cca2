"""gradeval explain."""

import gzip
from pathlib import Path

import pytest
from cli.command import LETOR, QRELS, RUN, fails, gradeval
from helpers import each


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "q").write_text(QRELS)
    (tmp_path / "r.run").write_text(RUN)
    return tmp_path / "q", tmp_path / "r.run"


def test_a_query(files):
    done = gradeval("explain", *files, "--query", "q1", "-m", "AP")
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


def test_the_worst_query(files, tmp_path):
    done = gradeval("explain", *files, "--worst", "1")
    assert done.out.startswith("nDCG@10, query q3, r: 0.0000\n")
    assert (
        done.err
        == "warning: r: 1 query is not in the run, so nothing is retrieved ('q3') [nothing_retrieved]\n"
    )
    assert "The run has no documents for this query." in done.out
    assert gradeval("explain", *files, "--worst", "1", "--queries", "both").out.startswith("nDCG@10, query q1")
    assert gradeval("explain", *files, "--worst", "9", "--query-ids", "q1").out.count("nDCG@10, query") == 1
    assert gradeval("explain", *files, "--worst", "1", "--strict").code == 2
    assert gradeval("explain", *files, "--worst", "1", "--quiet").err == ""
    # against
    other = tmp_path / "other.run"
    other.write_text("q1 Q0 a 1 1 t\nq2 Q0 e 1 1 t\n")
    done = gradeval("explain", *files, "--against", f"new={other}", "--worst", "1")
    assert done.out.startswith("nDCG@10, query q1: r 0.3")
    assert "document  grade  r rank  new rank  r adds  new adds  difference\n" in done.out
    assert done.err == ""
    # titles
    titles = tmp_path / "t.gz"
    titles.write_bytes(gzip.compress(b"a\tThe best\n"))
    done = gradeval("explain", *files, "--query", "q1", "--text", titles)
    assert "  The best\n" in done.out
    titles.write_bytes(b"z9\tother\n")
    done = gradeval("explain", *files, "--query", "q1", "--text", titles)
    assert done.code == 0
    assert done.err == (
        f"warning: {titles}: no document of the queries has a title in it; are the ids those of the runs? "
        "[no_titles]\n"
    )


@each("args, message", [
    ("", "No query given: --query ID chooses one"),
    ("--query q1 --worst 1", "--query and --worst are mutually exclusive"),
    ("--query q1 --text none.tsv", "none.tsv: no such file"),
    ("--query q1 --query-ids q1", "--query-ids and --query are mutually exclusive: --worst chooses"),
    ("--query q1 --queries judged", "--queries and --query are mutually exclusive"),
    ("--worst 1 --query-ids q1,x", "--query-ids: query 'x' is not in "),
    ("--worst 0", "'0' is not an integer from 1"),
    ("--query q1 --ranks 0", "'0' is not an integer from 1"),
    ("--query q1 -f tsv", "'tsv' is not one of"),
    ("--query q1 -o x.csv", "cannot infer a format from x.csv"),
])  # fmt: skip
def test_errors(files, args, message):
    said = fails("explain", *files, *args.split())
    assert message in said and "\n" not in said


def test_a_run_is_needed(files, tmp_path):
    assert "Missing argument 'RUN'" in fails("explain", files[0], "--query", "q1")
    assert "Try 'gradeval explain --help'" in fails("explain", *files)
    qrels, run = files
    said = fails("explain", qrels, f"r={run}", "--against", "r=other.run", "--query", "q1")
    assert said == f"gradeval: two runs have the label 'r': {run} and other.run"
    letor = tmp_path / "l"
    letor.write_text(LETOR)
    done = gradeval("explain", letor, "--feature", "2", "--query", "1", "-m", "nDCG")
    assert done.out.startswith("nDCG, query 1, feature2: ")
    assert "one run is explained at a time" in fails("explain", letor, "--feature", "1,2", "--query", "1")
    assert "no line has feature 99" in fails("explain", letor, "--feature", "99", "--query", "1")
    assert "no line has feature 99" in fails("study", "agreement", letor, "--feature", "1,99")
    # a saved result has no documents
    qrels, run = files
    saved = tmp_path / "saved.json"
    assert gradeval(qrels, run, "-q", "-f", "json", "-o", saved).code == 0
    for command in (["explain", "--query", "q1"], ["plot", "curve"]):
        done = gradeval(*command, qrels, saved)
        assert (done.code, done.out) == (2, "")
        assert "a saved result has no documents" in done.err and "Give the run" in done.err
