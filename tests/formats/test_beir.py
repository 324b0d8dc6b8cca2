"""BEIR's TSV, split at tabs only."""

from __future__ import annotations

from helpers import each
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.reading import Small, errors_of, read
from gradeval.formats.detect import detect

HEADER = b"query-id\tcorpus-id\tscore\n"
ROWS = [("a b", '"y', 2.0), ("a b", '"z"', 0.0), ('"', "it's, #1", 1.0), ("#2", 'x"y""', 1.0)]


def written(rows, end="\n"):
    lines = "".join("\t".join((query, document, repr(number))) + end for query, document, number in rows)
    return HEADER + lines.encode()


@each("size", [1, 30, 1 << 20])
@each("end", ["\n", "\r\n"])
def test_quotes_are_part_of_ids(size, end, put):
    source = put(written(ROWS, end), size)
    assert detect(source) == "beir"
    for options in ({}, {"qrels_format": "beir"}):
        assert read(source, "grade", **options) == (ROWS, [1, 2, 3, 4])
    assert read(source, "score", run_format="beir")[0] == ROWS


CHARACTERS = st.characters(exclude_characters="\0\t\r\n", exclude_categories=["Cs"])


@given(ids=st.lists(st.text(CHARACTERS, min_size=1)))
@settings(deadline=None)
def test_any_ids(ids, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any_of_beir"
    rows = [(one, "d", 1.0) for one in ["q", *ids]]
    path.write_bytes(written(rows))
    assert read(Small(path, 20), "grade")[0] == rows


def test_wrong_lines(put):
    text = HEADER + b'q\t"a\tb"\t1\nq\ta\nq\t"b"\tx\n'
    assert errors_of(put(text), "grade") == [
        "2: 4 fields where the header has 3",
        "3: 2 fields where the header has 3",
        "4: the grade 'x' is not a number",
    ]


def test_a_header_in_quotes_is_tsv(put):
    text = b'"query-id"\t"corpus-id"\t"score"\n"q"\t"a\tb"\t1\n'
    assert detect(put(text)) == "tsv"
    assert read(put(text), "grade")[0] == [("q", "a\tb", 1.0)]
    [error] = errors_of(put(text), "grade", qrels_format="beir")
    assert error.startswith("1: the first line is not query-id corpus-id score, separated by tabs")
