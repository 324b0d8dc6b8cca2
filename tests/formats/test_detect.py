"""Telling formats apart by the first line of data."""

import gzip

from helpers import each, each_row, raises
from plain import pipe

from gradeval.errors import InputError
from gradeval.file_formats import FORMATS
from gradeval.formats.detect import ROLES, detect, kind_of, role_of
from gradeval.formats.format import format_of
from gradeval.formats.sources import Source
from gradeval.options import Options

LINES = {
    "trec": [
        b"301 0 d1 1", b"301 Q0 d1 1 2.5 tag", b"301\tQ0\td1\t1\t2.5", b"q#1 0 d1 1", b"301#x 0 d1 1",
        b"301 0 d#1 1", b"1 0 2:3 1", b"1:1 2:2 3:3 x", b"hello", b"\x0c 0 \x0b#d 1",
        b"\x89PNG\r\n\x1a\n\0\0\0",
        # two tabs, but not three fields
        b"96   0\td \t 1", b"96 0\td\t2", b"96 0\td\t1", b"96 1\td\t1\n96 0 e 0",
    ],
    "letor": [
        b"2 qid:1 1:0.5 2:1 # docid = X", b"2 qid:1 1:0.5 2:1#X", b"2 qid:1 # X 0 d 1", b"2 qid:1", b"-1 1:0.5",
        b"1.5\tqid:x\t9:\t2:y", b"bad qid:1 1:2", b"0 # X", b"0 #",
    ],
    "scores": [b"0.5", b"-1e-3", b"  7 ", b"nan"],
}  # fmt: skip
BEFORE = [b"", b"# 1 qid:2\n\n  \t\r\n \t# 0.5\n", b"\xef\xbb\xbf", b"#" * 70_000 + b"\n" * 7000]


@each(("line", "kind"), [(line, kind) for kind, lines in LINES.items() for line in lines])
def test_the_first_line_of_data_tells(line, kind, put):
    for place, before in enumerate(BEFORE):
        assert detect(put(before + line + (b"\r\n0.5\n301 0 d1 1\n" if place % 2 else b""))) == kind
    assert detect(put(line + b"\r\n0.5\n301 0 d1 1\n")) == kind
    if kind != "trec" or line in LINES["trec"][:3]:
        # the reader refuses lines that end in a bare CR; it must be the one of the format
        assert detect(put(b"# 1\r" + line + b"\r" + line)) == kind


@each("before", [b"1\n0\n", b"\xef\xbb\xbf# x\n  2 \n\n0\r\n", b"1\r", b"0\n" * 9000])
@each_row(
    (b"1 qid:2 3:4", "letor"), (b" 1 3:4 # x", "letor"), (b"1 # x", "letor"), (b"# 1 3:4", "scores"),
    (b"1 2", "scores"), (b"x", "scores"), (b"301 Q0 d1 1 2 t", "scores"),
)  # fmt: skip
def test_labels_look_like_scores_until_a_line_has_more(line, kind, before, put):
    assert detect(put(before + line)) == kind
    assert detect(put(before + b"0\n" + line + b"\n1 2 3\n1\n")) == kind


def test_only_the_first_lines_are_looked_at(put):
    assert detect(put(gzip.compress(b"2 qid:1 1:0.5\n"))) == "letor"
    with pipe(b"0.5\n") as path:
        assert detect(Source(path)) == "scores"
    assert detect(put(b"0\n" * 9_999 + b"1 3:4\n")) == "letor"
    assert detect(put(b"0\n" * 10_000 + b"1 3:4\n")) == "scores"
    for field, kind in ((b" 1:0", "letor"), (b" x", "trec")):  # and the beginning of a long one
        assert detect(put(b"1" + field * 50_000 + b" x:\n")) == kind
    assert detect(put(b"1 1:0 " + b"2" * 70_000 + b":1\n")) == "letor"  # whose third field is cut off


def test_no_data(put):
    blank, damaged = "no data: all lines are blank or comments", "the archive is damaged or incomplete"
    for content, what in (
        (b"", "the file is empty"),
        (b"# a\n" * 50_000, blank),
        (b"\x1f\x8b\x08 no", damaged),
    ):
        raises(InputError, what, detect, put(content))


def test_a_format_is_declared_as_the_table_says():
    for name, row in FORMATS.items():
        declared = format_of(name)
        assert declared.name == name and row.reads
        writer = declared.writer and declared.writer()
        assert tuple(role for role in ROLES if getattr(writer, role, None)) == row.writes
        assert row.writes or not row.endings
        assert declared.detects is not None or not row.begins


def test_a_format_of_judgments_alone_is_no_run(put, monkeypatch):
    monkeypatch.setitem(FORMATS, "csv", FORMATS["csv"].replace(reads=("qrels",)))
    source = put(b"query,doc,score\n1,a,2\n")
    raises(InputError, "these are judgments, not a run", kind_of, source, "score", Options())
    assert role_of(source, Options()) == "qrels"
