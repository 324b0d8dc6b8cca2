"""gradeval convert: its options, where it writes, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.command import fails, gradeval
from helpers import each


@pytest.fixture(autouse=True)
def files(folder):
    return folder


def test_to_a_file_and_back():
    done = gradeval("convert", "r", "r.json.gz")
    assert done == (0, "", "")
    assert gradeval("convert", "--as", "run", "r.json.gz", "r2.run", "--tag", "tag") == (0, "", "")
    assert gradeval("q", "r2.run", "-q").out.replace("r2", "r") == gradeval("q", "r", "-q").out


def test_standard_input_and_output():
    done = gradeval("convert", "-", "-", "--to", "csv", "--top", 1, stdin="r")
    assert (done.code, done.err) == (0, "")
    assert done.out == "query_id,doc_id,score\nq1,b,9\nq2,e,5\nq4,a,1\n"


def test_warnings():
    Path("real").write_text("q1 0 a 1.5\nq1 0 a 1.5\n")
    done = gradeval("convert", "real", "-", "--to", "trec")
    assert done.out == "q1 0 a 1.5\n"
    assert done.lines == [
        "warning: real: 1 duplicate judgment with the same grade, written once",
        "warning: real: 1 grade is no integer; trec_eval reads integers only",
    ]
    assert gradeval("convert", "real", "-", "--to", "trec", "--quiet").err == ""


def test_nothing_is_written_after_an_error():
    Path("bad").write_text("q1 Q0 a 1 3 t\nq1 Q0 b 2 x t\n")
    assert fails("convert", "bad", "out.csv") == "bad:2: the score 'x' is not a number"
    assert not Path("out.csv").exists()
    assert fails("convert", "bad", "-", "--to", "csv").startswith("bad:2:")


@each(
    "args, message",
    [
        (("r", "-"), "choose a format with --to"),
        (("r", "x.txt"), "the ending of x.txt means no format"),
        (("r", "r", "--to", "csv"), "OUT r: it is one of the input files"),
        (("r", "no/x.csv"), "OUT no/x.csv: directory"),
        (("q", "x.csv", "--top", "3"), "from runs only"),
        (("r", "x.csv", "--top", "0"), "not an integer from 1"),
        (("r", "x.csv", "--nope"), "Try 'gradeval convert --help'"),
        (("r",), "Missing argument"),
    ],
)
def test_wrong_usage(args, message):
    assert message in fails("convert", *args)
    assert not Path("x.csv").exists()


def test_help_lists_the_formats_that_can_be_written():
    from gradeval.commands.files.command import FORMATS
    from gradeval.formats.write import WRITERS

    assert tuple(WRITERS) == FORMATS
    endings = {ending for writer in WRITERS.values() for ending in writer.endings}
    shown = gradeval("convert", "--help").out
    assert all(ending in shown for ending in endings - {".qrel", ".res", ".ndjson", ".feather"})


def test_subtopics():
    Path("subtopics").write_text("q 1 a 0\nq 2 a 2\nq 1 b 1\n")
    done = gradeval("convert", "subtopics", "out", "--to", "trec", "--as", "qrels")
    assert (done.code, Path("out").read_text()) == (0, "q 0 a 2\nq 0 b 1\n")
    assert done.lines == [
        "note: subtopics: 1 judgment of a further subtopic; the highest grade of a document is written"
    ]
