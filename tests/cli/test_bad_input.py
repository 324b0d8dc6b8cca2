"""Input that is wrong: every row is an error with file, line and reason, exit code 2, and nothing on stdout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers import check_each, each

from .command import LETOR, QRELS, RUN, fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

QRELS_HAVE = "where qrels have 4 (query iter document grade)"
A_RUN_HAS = "where a run has 6 (query Q0 document rank score tag)"
LOOKS_LIKE_A_RUN = ". This looks like a run; the qrels come first, then the runs"
LOOKS_LIKE_QRELS = ". This looks like qrels; the qrels come first, then the runs"
BINARY = "binary data (a NUL byte). Is this the right file?"

RANGE = "Grades are 0 or between 1e-150 and 1e150 in absolute value; rescale them"

# a line, what is said of it; the others are in tests/formats
BAD_QRELS = {
    "q1 0 e": f"3 fields {QRELS_HAVE}",
    "q1 0 e 1,5": "the grade '1,5' is not a number. Numbers have a decimal point and no commas",
    "q1 0 e ١": "the grade '١' is not a number",
    "q1 0 e 5e-324": f"the grade 5e-324 is out of range. {RANGE}",
    "q1 0 e 1e308": f"the grade 1e+308 is out of range. {RANGE}",
    "q1 0 a 2": "document 'a' has grade 2 here and 3 before in line 1",
    "q1 0 e\0 1": BINARY,
}
BAD_RUNS = {
    "q1 Q0 e 1": f"4 fields {A_RUN_HAS}",
    "q1 Q0 e 1 nan tag": "the score 'nan' is not a finite number",
    "q1 Q0 a 9 1 tag": "duplicate document 'a' for its query. The first is in line 3",
    "q4 Q0 a 9 2 tag": "duplicate document 'a' for its query. The first is in line 8",
    "q1 Q0 e\0 1 1 tag": BINARY,
}
BAD_LETOR = {
    "x qid:2 1:1": "the grade 'x' is not a number",
    "1 qid: 1:1": "no query id after qid:",
    "1 qid:2 1:inf": "the value of feature 1 'inf' is not a finite number",
    "1 1:1": "no qid: here, though other lines have one",
    "1 qid:2\0 1:1": BINARY,
}
BAD_SCORES = {
    "x": "the score 'x' is not a number",
    "1 2": "2 fields where one score per line is expected",
    "1\0": BINARY,
}


BAD = {  # the file, its good lines, what is wrong with a further one, the arguments
    "qrels": ("q", QRELS, BAD_QRELS, ["q", "r"]),
    "run": ("r", RUN, BAD_RUNS, ["q", "r"]),
    "letor": ("l", LETOR, BAD_LETOR, ["l", "--feature", "1"]),
    "scores": ("s", "1\n2\n3\n", BAD_SCORES, ["l", "s"]),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line(kind: str) -> None:
    """It is the line that is named: behind the good ones, and behind a comment too."""
    name, text, lines, args = BAD[kind]

    def check(case: tuple[str, str]) -> None:
        line, before = case
        Path(name).write_text(before + line + "\n")
        assert fails(*args, "--quiet") == f"{name}:{before.count(chr(10)) + 1}: {lines[line]}"

    check_each([(line, text + more) for line in lines for more in ("", "\n# a comment\n\n")], check)


@each(
    ("text", "what"),
    [("", "the file is empty"), ("# nothing\n\n \t\r\n", "no data: all lines are blank or comments")],
)
def test_files_without_data(text: str, what: str) -> None:
    Path("none").write_text(text)
    for args in (("none", "r"), ("q", "none"), ("l", "none"), ("none", "--feature", "1")):
        assert fails(*args) == f"none: {what}"
    assert fails("-", "r", stdin="none") == fails("q", "-", stdin="none") == f"<stdin>: {what}"


@each("count", [1, 20, 21, 5000])
def test_up_to_twenty_errors_then_a_count(count: int) -> None:
    Path("r").write_text(RUN + "q1 Q0 d 1 x t\n" * count)
    lines = fails("q", "r").splitlines()
    assert lines[:20] == [f"r:{n}: the score 'x' is not a number" for n in range(9, 9 + min(count, 20))]
    rest = {21: ["r: 1 more error"], 5000: ["r: 4980 more errors"]}
    assert lines[20:] == rest.get(count, [])


def test_files_that_are_none(folder: Path) -> None:
    Path("p").write_text("1 1:2\n")
    Path("there").mkdir()
    Path("there/file").touch()
    for args in (("there", "r"), ("q", "x=there"), ("p", "s", "--groups", "there")):
        assert fails(*args) == "there: this is a directory, not a file"
    for args in (("none", "r"), ("q", "none"), ("p", "s", "--groups", "none")):
        assert fails(*args) == "none: no such file. Check the path"
    assert fails("q/none", "r").startswith("q/none: the file cannot be read (Not a directory)")
    assert fails("", "r").startswith(": ")
    assert fails("n" * 300, "r").startswith("n" * 300 + ": the file cannot be read (File name too long)")
    os.symlink("loop", "loop")
    assert fails("loop", "r").startswith("loop: the file cannot be read (")


@pytest.mark.parametrize("lines", [1, 3, 5000])
def test_the_files_in_the_wrong_order_are_one_error(lines: int) -> None:
    Path("q").write_text("".join(f"q1 0 d{n} 1\n" for n in range(lines)))
    Path("r").write_text("".join(f"q1 Q0 d{n} 1 {n} tag\n" for n in range(lines)))
    alike = f", and so in all {lines:,} lines" if lines > 1 else ""
    as_qrels = f"r:1: 6 fields {QRELS_HAVE}{alike}{LOOKS_LIKE_A_RUN}"
    as_run = f"q:1: 4 fields {A_RUN_HAS}{alike}{LOOKS_LIKE_QRELS}"
    assert fails("r", "q") == fails("r", "r") == as_qrels
    assert fails("q", "q") == as_run
    Path("r").write_text("".join(f"q1 Q0 d{n} 1 {n}\n" for n in range(lines)))
    assert fails("r", "q") == as_qrels.replace("6 fields", "5 fields")


def test_a_file_of_another_format() -> None:
    assert "Choose what ranks its documents with --feature" in fails("q", "l")
    assert "Choose what ranks its documents with --feature" in fails("l", "l")
    assert fails("q", "s") == (
        "s: scores, one per line, need a LETOR file as qrels, but q is not one. Give the LETOR file as qrels"
    )
    assert fails("q", "--feature", "1") == "q: this is not a LETOR file. --feature requires LETOR files"
    scores = f"1 field {QRELS_HAVE}, and so in all 4 lines. Scores, one per line, need a LETOR file as qrels"
    assert fails("s", "r", "--qrels-format", "trec") == f"s:1: {scores}"
    Path("wide").write_text(QRELS, encoding="utf-16")
    Path("plain").write_text("1 1:2\n")
    for coding in ("utf-16", "utf-16-be", "utf-32", "utf-32-be"):
        name = coding[:6].upper()
        for text in (QRELS, "1\n2\n"):
            mark = "\ufeff" if coding.endswith("be") else ""
            Path("wide").write_text(mark + text, encoding=coding)
            said = f"wide:1: this is text in {name}. Convert it with iconv -f {name} -t UTF-8"
            assert fails("wide", "r") == fails("q", "wide") == fails("l", "wide") == said
            assert fails("plain", "s", "--groups", "wide") == said
            in_lists = said.replace(":1:", ":")
            assert fails("q", "r", "--query-ids", "wide") == in_lists
            assert fails("trec_eval", "q", "r", "-Z", "wide") == in_lists


def test_labels_without_features() -> None:
    """The first lines of an SVMlight file may hold nothing else; where all do, an option says what they are."""
    Path("g").write_text("3\n")
    Path("v").write_text("0\n2 1:2\n1 1:1 # d\n")
    assert gradeval("v", "--feature", "1", "--groups", "g", "-m", "RR").out.endswith("\t1.0000\n")
    Path("v").write_text("0\n2\n1\n")
    assert fails("v", "s", "--groups", "g") == (
        "v: each of its first lines is one number, so that it may hold labels or scores. "
        "--qrels-format letor reads labels; scores are a run, which comes after a LETOR file"
    )
    Path("s").write_text("3\n5\n4\n")
    assert gradeval("v", "s", "--groups", "g", "--qrels-format", "letor", "-m", "RR").out.endswith("\t1.0000\n")
    assert fails("l", "s", "--feature", "1") == (
        "s: this is not a LETOR file. --feature requires LETOR files; if each line is a label, "
        "give --run-format letor"
    )


@pytest.mark.parametrize("count", [2, 3, 5, 100])
def test_a_scores_file_of_the_wrong_length(count: int) -> None:
    Path("s").write_text("1\n" * count)
    assert fails("l", "s") == f"s: there are {count} scores, but l has 4 lines of data"


def test_a_feature_that_no_line_has() -> None:
    done = gradeval("l", "--feature", "1,7,2,8,5", "-m", "AP")
    assert (done.code, done.lines) == (2, ["l: no line has features 5, 7-8"])
    assert [line.split("\t")[0] for line in done.out.splitlines()[1:]] == ["feature1", "feature2"]
    assert fails("l", "l", "--feature", "9999999").startswith("l: no line has feature 9999999")


def test_long_lines_and_ids() -> None:
    """A megabyte in a line, long ids, and a score of many digits."""
    long = "d" * 10**5
    Path("q").write_text(f"{long} 0 {long}e 1\n{long} 0 e 0\n")
    Path("r").write_text(f"{long} Q0 {long}e 1 {'1' * 300}.{'0' * 10**5}1 {'t' * 10**6}\n{long} Q0 e 1 0\n")
    done = gradeval("q", "r", "-q", "-m", "AP")
    assert done == (0, f"run\tquery\tmetric\tvalue\nr\t{long}\tAP\t1.0000\nr\tall\tAP\t1.0000\n", "")
    Path("r").write_text("x" * 10**6)
    assert fails("q", "r").startswith("r:1: 1 field")
    Path("r").write_text(f"q Q0 d 1 {'x' * 10**5} t\n")
    assert len(fails("q", "r")) < 200
    Path("r").write_text(f"q Q0 {long} 1 1 t\n" * 2)
    assert len(fails("q", "r")) < 300


def test_an_endless_list_of_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradeval.formats import sources

    monkeypatch.setattr(sources, "LONGEST_LINE", 3 << 20)
    Path("ids").write_text("q1\n" + "q2 " * (1 << 21))
    said = fails("q", "r", "--query-ids", "ids")
    assert said == "ids:2: the line is longer than 64 MiB. Is this the right file?"


def test_an_error_does_not_move_the_cursor() -> None:
    Path("r").write_bytes(b"q1 Q0 d 1 \x1b[2J\x07 t\n")
    assert fails("q", "r") == "r:1: the score '\\x1b[2J\\x07' is not a number"
