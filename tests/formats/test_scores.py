"""Files of numbers, one a line: scores, and group sizes of SVMlight files."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers import each
from plain import Cut, Halting

from gradeval.arrays.strings import PAD
from gradeval.errors import InputError, InputErrors
from gradeval.formats.letor import read_letor, read_numbers
from gradeval.formats.sources import Block, Source

from .letor_rows import SIZES, errors_of, rows_of


@pytest.fixture
def small_blocks(monkeypatch):
    """Sources that are opened inside are read in small blocks too."""
    monkeypatch.setattr(Source.blocks, "__defaults__", (4,))


@pytest.mark.parametrize("size", SIZES)
def test_read_numbers(size, path):
    path.write_bytes(b"1\n-2.5e3\n\n  .5 \r\n# four\n7.\n0.1")
    numbers, lines = read_numbers(Cut(path, size), "score")
    assert numbers.tolist() == [1.0, -2500.0, 0.5, 7.0, 0.1]
    assert lines.tolist() == [0, 1, 3, 5, 6]


@each("size", [1, 1 << 20])
@each(
    ("text", "errors"),
    [
        (
            b"1\nx\n2 3\n",
            ["2: the score 'x' is not a number", "3: 2 fields where one score per line is expected"],
        ),
        (b"1\n\n# c\nnan\n", ["4: the score 'nan' is not a finite number"]),
        (b"1\n2\n\0\n", ["3: binary data (a NUL byte). Is this the right file?"]),
        (b"1\n.5\r-2\r3", [r"2: lines end in a bare CR. Convert them with tr '\r' '\n'"]),
        (b"", [" the file is empty"]),
        (b"#\n", [" no data: all lines are blank or comments"]),
    ],
)
def test_wrong_numbers(text, errors, size, path):
    path.write_bytes(text)
    with pytest.raises((InputError, InputErrors)) as caught:
        read_numbers(Cut(path, size), "score")
    assert str(caught.value).splitlines() == [f"{path}:{error}" for error in errors]


def test_reading_stops_after_twenty_errors(path):
    path.write_bytes(b"1\n" + b"x\n" * 10 + b"1 2\n" * 1000)
    with pytest.raises(InputErrors) as caught:
        read_numbers(Cut(path, 16), "score")
    *_, end = str(caught.value).splitlines()
    assert re.fullmatch(rf"{path}:2\d: reading stopped here(, after \d more errors?)?", end)


def test_blocks_without_lines(path):
    """What a pipe yields that brings nothing for a while."""
    path.write_bytes(b"1\n2\n3\n")
    numbers, lines = read_numbers(Halting(path, 3), "score")
    assert (numbers.tolist(), lines.tolist()) == ([1, 2, 3], [0, 1, 2])


@pytest.mark.parametrize(("name", "whole"), [("score", False), ("group size", True)])
def test_numbers_that_never_end(name, whole, path):
    """A pipe that goes on for ever is not read beyond what can belong to the LETOR file."""

    class Endless(Source):
        def blocks(self, size=0):
            while True:
                yield Block(np.frombuffer(b"1\n" * 10 + bytes(PAD), np.uint8), 20, False, False)

    with pytest.raises(
        InputError, match=rf"more {name}s than the 25 lines of data; reading stopped at line 30"
    ):
        read_numbers(Endless(path), name, 25, whole)


SVMLIGHT = b"1 1:1\n0 1:2 # X\n# between\n2 1:3\n0\n"
GROUPED = [(b"1", b"1", 1.0, 0), (b"1", b"X", 0.0, 1), (b"1", b"3", 2.0, 3), (b"2", b"1", 0.0, 4)]


@each("groups", [b"3\n1\n", b"3\n1", b"3\r\n0\n1\n\n", b"# sizes\n 3.0\n1e0\n"], ids=ascii)
@each("beside", [".query", ".group", None])
@pytest.mark.usefixtures("small_blocks")
def test_groups(groups, beside, tmp_path):
    file = tmp_path / ("sizes" if beside is None else f"file{beside}")
    file.write_bytes(groups)
    assert rows_of(tmp_path / "file", SVMLIGHT, groups=str(file) if beside is None else None) == GROUPED


def test_given_groups_come_before_those_beside(tmp_path):
    path = tmp_path / "file"
    (tmp_path / "file.query").write_text("4\n")
    (tmp_path / "file.group").write_text("junk\n")
    given_groups = tmp_path / "sizes"
    given_groups.write_text("3\n1\n")
    assert {row[0] for row in rows_of(path, SVMLIGHT)} == {b"1"}
    assert rows_of(path, SVMLIGHT, groups=str(given_groups)) == GROUPED


@pytest.mark.parametrize("before", ["", "0 1:1\n0\n"])
def test_groups_are_for_files_without_qid(before, path, tmp_path):
    (tmp_path / "sizes").write_text("4\n")
    said = errors_of(path, f"# x\n{before}0 qid:7 1:1\n".encode(), groups=str(tmp_path / "sizes"))
    line = 2 + before.count("\n")
    assert said == [f"{line}: unexpected qid:. Omit --groups, which is for files without qid:"]


@pytest.mark.parametrize(
    ("groups", "what"),
    [
        (b"3\n2\n", "{groups}: the group sizes add up to 5 lines, but {path} has 4"),
        (b"2\n1.5\n", "{groups}:2: the group size '1.5' is not a non-negative integer"),
        (b"5\n-1\n", "{groups}:2: the group size '-1' is not a non-negative integer"),
        (b"3\n1 1\n", "{groups}:2: 2 fields where one group size per line is expected"),
        (b"3\nx\n", "{groups}:2: the group size 'x' is not a number"),
        (b"", "{groups}: the file is empty"),
        (None, "{groups}: no such file. Check the path"),
    ],
)
def test_wrong_groups(groups, what, tmp_path):
    path, file = tmp_path / "file", tmp_path / "sizes"
    path.write_bytes(SVMLIGHT)
    if groups is not None:
        file.write_bytes(groups)
    with pytest.raises(InputError, match=f"^{re.escape(what.format(groups=file, path=path))}$"):
        read_letor(Source(str(path)), np.empty(0, np.int64), str(file))


def test_no_groups(path):
    hint = f"Give their sizes, one per line, in {path}.query or with --groups FILE"
    assert errors_of(path, SVMLIGHT) == [f" no line has a qid:, so the queries are unknown. {hint}"]
