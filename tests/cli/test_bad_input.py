"""Input that is wrong: exit code 2, nothing on stdout. tests/formats has the errors of each format."""

import os
from pathlib import Path

import pytest
from helpers import each

from .command import QRELS, RUN, fails

pytestmark = pytest.mark.usefixtures("folder")


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


def test_files_that_are_another() -> None:
    """Each is one error."""
    Path("q").write_text("".join(f"q1 0 d{n} 1\n" for n in range(5000)))
    Path("r").write_text("".join(f"q1 Q0 d{n} 1 {n} tag\n" for n in range(5000)))
    rest = ", and none of the 5,000 lines is right. This looks like {}; the qrels come first, then the runs"
    as_qrels = "r:1: 6 fields where qrels have 4 (query iter document grade)" + rest.format("a run")
    assert fails("r", "q") == fails("r", "r") == as_qrels
    as_run = "q:1: 4 fields where a run has 6 (query Q0 document rank score tag)" + rest.format("qrels")
    assert fails("q", "q") == as_run
    Path("q").write_text("q1 0 d 1\n")
    assert fails("q", "q") == as_run.replace(", and none of the 5,000 lines is right", "")
    Path("wide").write_text(QRELS, encoding="utf-16")
    for args in ("wide r", "q wide", "l wide", "q r --query-ids wide", "trec_eval q r -Z wide"):
        said = fails(*args.split())
        assert said == "wide:1: this is text in UTF-16. Convert it with iconv -f UTF-16 -t UTF-8"
