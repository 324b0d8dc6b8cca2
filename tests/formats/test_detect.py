"""Telling formats apart by the first line of data."""

from __future__ import annotations

import gzip

import pytest
from plain import pipe

from gradeval.errors import InputError
from gradeval.formats.detect import detect
from gradeval.formats.sources import Source


@pytest.fixture
def source(tmp_path):
    def write(content):
        path = tmp_path / "file"
        path.write_bytes(content)
        return Source(str(path))

    return write


CASES = [
    (b"301 0 d1 1", "trec"),
    (b"301 Q0 d1 1 2.5 tag", "trec"),
    (b"301\tQ0\td1\t1\t2.5", "trec"),
    (b"q#1 0 d1 1", "trec"),
    (b"301#x 0 d1 1", "trec"),
    (b"301 0 d#1 1", "trec"),
    (b"1 0 2:3 1", "trec"),
    (b"1:1 2:2 3:3 x", "trec"),
    (b"hello", "trec"),
    (b"\x89PNG\r\n\x1a\n\0\0\0", "trec"),
    (b"2 qid:1 1:0.5 2:1 # docid = X", "letor"),
    (b"2 qid:1 1:0.5 2:1#X", "letor"),
    (b"2 qid:1 # X 0 d 1", "letor"),
    (b"2 qid:1", "letor"),
    (b"-1 1:0.5", "letor"),
    (b"1.5\tqid:x\t9:\t2:y", "letor"),
    (b"bad qid:1 1:2", "letor"),
    (b"0 # X", "letor"),
    (b"0 #", "letor"),
    (b"0.5", "scores"),
    (b"-1e-3", "scores"),
    (b"  7 ", "scores"),
    (b"nan", "scores"),
]


@pytest.mark.parametrize(("line", "kind"), CASES)
@pytest.mark.parametrize(
    "before", [b"", b"# 1 qid:2\n\n  \t\r\n \t# 0.5\n", b"\xef\xbb\xbf", b"#" * 70_000 + b"\n" * 70_000]
)
@pytest.mark.parametrize("behind", [b"", b"\n", b"\r\n0.5\n1 qid:2 3:4\n301 0 d1 1\n"])
def test_the_first_line_of_data_tells(line, kind, before, behind, source):
    assert detect(source(before + line + behind)) == kind


@pytest.mark.parametrize(("line", "kind"), CASES[:3] + CASES[10:])
def test_lines_that_end_in_a_bare_cr(line, kind, source):
    """The reader refuses them; it must be the one of the format."""
    assert detect(source(b"# 1\r" + line + b"\r" + line)) == kind


def test_unpacked_and_from_a_pipe(source):
    assert detect(source(gzip.compress(b"2 qid:1 1:0.5\n"))) == "letor"
    with pipe(b"0.5\n") as path:
        assert detect(Source(path)) == "scores"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "the file is empty"),
        (gzip.compress(b""), "the file is empty"),
        (b"\n", "no line holds data: all are blank or comments"),
        (b"# a\n" * 50_000, "no line holds data: all are blank or comments"),
        (b"\x1f\x8b\x08 no archive", "the archive is damaged or incomplete"),
    ],
    ids=["empty", "empty-gzip", "blank", "comments", "damaged"],
)
def test_no_data(content, what, source):
    with pytest.raises(InputError, match=what):
        detect(source(content))
