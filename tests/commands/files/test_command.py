"""gradeval validate and gradeval convert: options, what they print and write, and exit codes."""

import json
import re
from pathlib import Path

import pytest
from cli.command import fails, gradeval
from helpers import each

BAD = "q1 Q0 a 1 3 t\nq1 Q0 b 2 x t\nq1 Q0 a 3 1 t\n"


@pytest.fixture(autouse=True)
def files(folder):
    Path("bad").write_text(BAD)
    return folder


def test_reports_of_validate():
    done = gradeval("validate", "q", "bad")
    assert (done.code, done.err) == (2, "")
    shown = done.out.splitlines()
    assert "bad:2: error: the score 'x' is not a number" in shown
    assert "bad:3: error: duplicate document 'a' for its query. The first is in line 1; --dup" in done.out
    assert "2 files: 2 errors, 1 warning" in shown
    report = json.loads(gradeval("validate", "q", "bad", "-f", "json").out)
    assert (report["ok"], report["errors"]) == (False, 2)
    qrels, run = report["files"]
    assert (qrels["qrels"]["queries"], run["run"]["documents"]) == (3, 2)
    assert [error["line"] for error in run["errors"]["first"]] == [2, 3]
    kinds = ["the score … is not a number", "duplicate document … for its query"]
    assert run["errors"]["kinds"] == dict.fromkeys(kinds, 1)
    # where eval has nothing to evaluate
    Path("other").write_text("q9 Q0 a 1 1 t\n")
    done = gradeval("validate", "q", "other")
    assert done.code == 2
    said = "it has no query in common with q. Check the query ids: 'q9' here, 'q1', 'q2', 'q3' in q"
    assert f"other: error: {said}" in done.out.splitlines()
    assert "coverage   0 of 3 judged queries, 1 unjudged query: 'q9'" in done.out and "%" not in done.out
    assert fails("q", "other") == f"other: {said}"
    found = json.loads(gradeval("validate", "q", "other", "-f", "json").out)["files"][1]["run"]
    assert (found["judged_queries"], found["missing"], found["judged"]) == (3, 3, None)
    # an unreadable file does not affect the others
    done = gradeval("validate", "q", "missing", "r")
    assert done.code == 2
    assert "missing: error: no such file. Check the path" in done.out.splitlines()
    assert "\nr: run, 0 errors" in done.out


def test_warnings_are_errors_with_strict():
    Path("r2").write_text("q1 Q0 a 1 1 t\n")
    assert gradeval("validate", "q", "r2").code == 0
    done = gradeval("validate", "q", "r2", "--strict")
    kinds = re.search(r"--allow (\S+) accepts", done.err)[1]
    assert (done.code, "missing" in kinds, done.out) == (2, True, "")
    assert gradeval("validate", "q", "r2").out in done.err
    assert gradeval("validate", "q", "r2", "--strict", "--allow", kinds).code == 0
    assert gradeval("validate", "q", "r2", "--fail-on-warning", "--allow", kinds).code == 0
    assert gradeval("validate", "q", "r2", "--fail-on-warning", "--allow", "text").code == 3
    assert gradeval("validate", "r2", "--strict").code == 0
    assert gradeval("validate", "q", "r2", "--fail-on-warning").code == 3


def test_options_of_validate():
    assert "This looks like qrels; the qrels come first" in gradeval("validate", "--as", "run", "q").out
    assert "This looks like a run; the qrels come first" in gradeval("validate", "--as", "qrels", "r").out
    # max errors
    done = gradeval("validate", "bad", "--max-errors", 1)
    assert "bad: 1 more error; --max-errors sets the limit" in done.out.splitlines()
    assert "bad:3: error:" not in done.out
    Path("##[error]x").write_text(BAD)  # a name is no command of a CI service
    assert "##[" not in gradeval("validate", "--as", "run", "##[error]x").out
    assert gradeval("validate", "bad", "--max-errors", "all").code == 2
    Path("worse").write_text(BAD + "q1 Q0 d 1 x t\n" * 50)
    call = ("validate", "--as", "run", "worse")
    options = [], ["--max-errors", 30], ["--max-errors", "all"], ["--verbose"]
    few, listed, every, total = (gradeval(*call, *more).out.count(": error: ") for more in options)
    assert (few, listed) == (20, 30) and every == total > 50
    brief = gradeval(*call).out.splitlines()
    assert f"worse: {total - 20} more errors; --verbose lists all" in brief and "  errors by kind" in brief
    [file] = json.loads(gradeval(*call, "-f", "json").out)["files"]
    assert len(file["errors"]["first"]) == total
    # the histogram has the most frequent ones only
    Path("many").write_text("".join(f"1 0 d{n} {max(n, 5) / 10}\n" for n in range(100)))
    shown = gradeval("validate", "many").out.splitlines()
    assert "  grades     95 from 0.5 to 9.9; the most frequent:" in shown
    assert sum("█" in line or "▏" in line for line in shown) == 20


def test_warnings():
    Path("real").write_text("q1 0 a 1.5\nq1 0 a 1.5\n")
    done = gradeval("convert", "real", "-", "--to", "trec")
    assert done.out == "q1 0 a 1.5\n"
    assert done.lines == [
        "warning: real: 1 duplicate judgment with the same grade, written once",
        "warning: real: 1 grade is no integer; trec_eval reads integers only",
    ]
    assert gradeval("convert", "real", "-", "--to", "trec", "--quiet").err == ""
    Path("subtopics").write_text("q 1 a 0\nq 2 a 2\nq 1 b 1\n")
    done = gradeval("convert", "subtopics", "out", "--to", "json", "--as", "qrels")
    assert (done.code, Path("out").read_text()) == (0, '{\n"q": {"a": 2, "b": 1}\n}\n')
    assert "1 judgment of a further subtopic; the highest grade of a document is written" in done.err


def test_wrong_usage():
    for args, message in (
        ("convert bad x.csv", "bad:2: the score 'x' is not a number"),
        ("validate", "no files given"),
        ("validate - -", "'-' can be given once only"),
        ("validate bad --max-errors x", "not an integer"),
        ("convert r", "Missing argument 'OUT'. Try 'gradeval convert --help'."),
        ("convert", "Missing argument 'IN...'. Try 'gradeval convert --help'."),
        ("convert r -", "choose a format with --to"),
        ("convert r x.txt", "cannot infer a format from x.txt. Choose one with --to (in Python to=): "),
        ("convert r r --to csv", "OUT r: it is one of the input files"),
        ("convert r no/x.csv", "OUT no/x.csv: directory"),
        ("convert q x.csv --top 3", "from runs only"),
        ("convert r x.csv --top 0", "not an integer from 1"),
        ("convert r x.csv --nope", "Try 'gradeval convert --help'"),
    ):
        assert message in fails(*args.split())
    assert not Path("x.csv").exists()


@each("name", ["csv", "parquet", "msmarco"])
def test_subtopics_are_kept_where_the_format_has_them(name):
    rows = "q 1 a 0\nq 2 a 2\nr 1 b 1\nq 1 b,c 1\n"
    Path("subtopics").write_text(rows + "q 2 a 2\n")
    done = gradeval("convert", "subtopics", "out", "--to", name, "--as", "qrels")
    assert done.lines == ["warning: subtopics: 1 duplicate judgment with the same grade, written once"]
    assert gradeval("convert", "out", "back", "--to", "trec", "--as", "qrels").lines == []
    assert sorted(Path("back").read_text().splitlines()) == sorted(rows.splitlines())


def test_many_files_are_a_table_first() -> None:
    runs = [f"r{n}" for n in range(6)]
    for name in runs:
        Path(name).write_bytes(Path("r").read_bytes())
    Path("r3").write_text("1 Q0 d x y z\n")
    short = gradeval("validate", "q", *runs)
    table, details = short.out.split("\n\n", 1)
    assert [line.split()[0] for line in table.splitlines()[2:]] == ["q", *runs]
    assert details.startswith("r3: run, 1 error") and "r1: run" not in details
    assert short.out.endswith("; --verbose describes the other 6 files\n")
    whole = gradeval("validate", "q", *runs, "--verbose")
    assert all(f"\n{name}: run" in whole.out for name in runs) and "--verbose" not in whole.out


def test_binary_formats_are_no_text() -> None:
    pytest.importorskip("pyarrow")
    for name in ("r.parquet", "r.arrow"):
        assert gradeval("convert", "r", name).code == 0
        done = gradeval("validate", "--as", "run", name)
        assert "  data       not compressed, binary\n" in done.out and "ASCII" not in done.out


def test_facts_fit_a_terminal(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "72")
    queries = [f"question-é-{n}" for n in range(20)]
    lines = (f"{query} Q0 {document}\t1 5 t\n" for query in queries for document in "ab")
    Path("r").write_text("".join(lines))
    text = re.sub(r"\x1b\[\d*m", "", gradeval("validate", "r", "--as", "run", terminal=True).out)
    assert max(map(len, text.splitlines())) <= 72
    assert re.search(r"\n  text +not .*\n {13}.*in LF\n", text)
    whole = gradeval("validate", "r", "--as", "run").out
    assert "lines end in LF\n" in whole and " ".join(text.split()) == " ".join(whole.split())
