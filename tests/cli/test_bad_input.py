"""Input that is wrong: every row is an error with file, line and reason, exit code 2, and nothing on stdout."""

import os
from pathlib import Path

import pytest
from helpers import each

from gradeval.formats.diagnostics import first_in

from .command import LETOR, QRELS, RUN, fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

LIKE = "This looks like format scores: its first lines"
QRELS_HAVE = "where qrels have 4 (query iter document grade)"

BAD = [  # a file, its good lines, a further one, what is said of it, the arguments; more are in tests/formats
    ("q", QRELS, "q1 0 e", f"3 fields {QRELS_HAVE}", "q r"),
    ("q", QRELS, "q1 0 e\0 1", "binary data (a NUL byte). Is this the right file?", "q r"),
    ("r", RUN, "q1 Q0 e 1 nan tag", "the score 'nan' is not a finite number", "q r"),
    ("r", RUN, "q4 Q0 a 9 2 tag", f"duplicate document 'a' for its query. {first_in(7)}", "q r"),
    ("l", LETOR, "1 1:1", "no qid: here, though other lines have one", "l --feature 1"),
    ("s", "1\n2\n3\n", "1 2", "2 fields where one score per line is expected", "l s"),
]


@each(("name", "good", "line", "what", "args"), BAD)
def test_a_bad_line(name: str, good: str, line: str, what: str, args: str, folder: Path) -> None:
    """It is the line that is named: behind the good ones, and behind a comment too."""
    before = Path(name).read_text()
    for text in (good, good + "\n# a comment\n\n"):
        Path(name).write_text(text + line + "\n")
        assert fails(*args.split(), "--quiet") == f"{name}:{text.count(chr(10)) + 1}: {what}"
    Path(name).write_text(before)


@each("count", [1, 20, 21, 5000])
def test_up_to_twenty_errors_then_a_count(count: int) -> None:
    Path("r").write_text(RUN + "q1 Q0 d 1 x t\n" * count)
    lines = fails("q", "r").splitlines()
    assert lines[:20] == [f"r:{n}: the score 'x' is not a number" for n in range(9, 9 + min(count, 20))]
    rest = {21: ["r: 1 more error"], 5000: ["r: 4980 more errors"]}
    assert lines[20:] == rest.get(count, [])


def test_files_that_are_none() -> None:
    Path("p").write_text("1 1:2\n")
    Path("there").mkdir()
    Path("there/file").touch()
    os.symlink("loop", "loop")
    for name, what in (("there", "this is a directory, not a file"), ("none", "no such file. Check the path")):
        for args in ((name, "r"), ("q", f"x={name}"), ("p", "s", "--groups", name)):
            assert fails(*args) == f"{name}: {what}"
    assert fails("", "r") == "'': no such file. Check the path"
    for name, what in (("q/none", "Not a directory"), ("n" * 300, "File name too long"), ("loop", "")):
        assert fails(name, "r").startswith(f"{name}: the file cannot be read ({what}")


@each("lines", [1, 5000])
def test_the_files_in_the_wrong_order_are_one_error(lines: int) -> None:
    Path("q").write_text("".join(f"q1 0 d{n} 1\n" for n in range(lines)))
    Path("r").write_text("".join(f"q1 Q0 d{n} 1 {n} tag\n" for n in range(lines)))
    alike = f", and none of the {lines:,} lines is right" if lines > 1 else ""
    order = "the qrels come first, then the runs"
    as_qrels = f"r:1: 6 fields {QRELS_HAVE}{alike}. This looks like a run; {order}"
    assert fails("r", "q") == fails("r", "r") == as_qrels
    as_run = "4 fields where a run has 6 (query Q0 document rank score tag)"
    assert fails("q", "q") == f"q:1: {as_run}{alike}. This looks like qrels; {order}"
    Path("r").write_text("".join(f"q1 Q0 d{n} 1 {n}\n" for n in range(lines)))
    assert fails("r", "q") == as_qrels.replace("6 fields", "5 fields")


def test_files_that_do_not_belong_together() -> None:
    Path("wide").write_text(QRELS, encoding="utf-16")
    Path("short").write_text("1\n2\n3\n")
    need_letor = "need a LETOR file as qrels"
    for args, said in (
        ("q l", "Choose what ranks its documents with --feature"),
        ("l l", "Choose what ranks its documents with --feature"),
        ("q s", f"s: scores, one per line, {need_letor}, but q is not one. Give the LETOR file as qrels"),
        ("q --feature 1", "q: this is not a LETOR file. --feature requires LETOR files"),
        ("s r --qrels-format trec", f"s:1: 1 field {QRELS_HAVE}, and none of the 4 lines is right. {LIKE}"),
        ("l short", "short: there are 3 scores, but l has 4 lines of data"),
        ("l l --feature 9999999", "l: no line has feature 9999999"),
        *(
            (args, "wide:1: this is text in UTF-16. Convert it with iconv -f UTF-16 -t UTF-8")
            for args in ("wide r", "q wide", "l wide", "q r --query-ids wide", "trec_eval q r -Z wide")
        ),
    ):  # fmt: skip
        assert said in fails(*args.split()), args
    done = gradeval("l", "--feature", "1,7,2,8,5", "-m", "AP")
    assert (done.code, done.lines) == (2, ["l: no line has features 5, 7-8"])
    assert [line.split("\t")[0] for line in done.out.splitlines()[1:]] == ["feature1", "feature2"]
