"""Input that is wrong: every row is an error with file, line and reason, exit code 2, and nothing on stdout."""

import os
from pathlib import Path

import pytest
from helpers import check_each, each

from gradeval.formats.diagnostics import first_in

from .command import LETOR, QRELS, RUN, fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

QRELS_HAVE = "where qrels have 4 (query iter document grade)"
A_RUN_HAS = "where a run has 6 (query Q0 document rank score tag)"
LOOKS_LIKE_A_RUN = ". This looks like a run; the qrels come first, then the runs"
LOOKS_LIKE_QRELS = ". This looks like qrels; the qrels come first, then the runs"
BINARY = "binary data (a NUL byte). Is this the right file?"

# a line, what is said of it; all others are in tests/formats
BAD_QRELS = {"q1 0 e": f"3 fields {QRELS_HAVE}", "q1 0 e\0 1": BINARY}
BAD_RUNS = {
    "q1 Q0 e 1 nan tag": "the score 'nan' is not a finite number",
    "q4 Q0 a 9 2 tag": f"duplicate document 'a' for its query. {first_in(7)}",
}
BAD_LETOR = {"1 1:1": "no qid: here, though other lines have one"}
BAD_SCORES = {"1 2": "2 fields where one score per line is expected"}
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
    assert fails("", "r") == "'': no such file. Check the path"
    assert fails("n" * 300, "r").startswith("n" * 300 + ": the file cannot be read (File name too long)")
    os.symlink("loop", "loop")
    assert fails("loop", "r").startswith("loop: the file cannot be read (")


@pytest.mark.parametrize("lines", [1, 5000])
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


def test_files_that_do_not_belong_together() -> None:
    assert "Choose what ranks its documents with --feature" in fails("q", "l")
    assert "Choose what ranks its documents with --feature" in fails("l", "l")
    assert fails("q", "s") == (
        "s: scores, one per line, need a LETOR file as qrels, but q is not one. Give the LETOR file as qrels"
    )
    assert fails("q", "--feature", "1") == "q: this is not a LETOR file. --feature requires LETOR files"
    scores = f"s:1: 1 field {QRELS_HAVE}, and so in all 4 lines. This looks like format scores: its first lines"
    assert fails("s", "r", "--qrels-format", "trec").startswith(scores)
    Path("wide").write_text(QRELS, encoding="utf-16")
    said = "wide:1: this is text in UTF-16. Convert it with iconv -f UTF-16 -t UTF-8"
    assert fails("wide", "r") == fails("q", "wide") == fails("l", "wide") == said
    assert fails("q", "r", "--query-ids", "wide") == fails("trec_eval", "q", "r", "-Z", "wide") == said
    # a scores file of the wrong length
    Path("s").write_text("1\n2\n3\n")
    assert fails("l", "s") == "s: there are 3 scores, but l has 4 lines of data"
    # a feature that no line has
    done = gradeval("l", "--feature", "1,7,2,8,5", "-m", "AP")
    assert (done.code, done.lines) == (2, ["l: no line has features 5, 7-8"])
    assert [line.split("\t")[0] for line in done.out.splitlines()[1:]] == ["feature1", "feature2"]
    assert fails("l", "l", "--feature", "9999999").startswith("l: no line has feature 9999999")
