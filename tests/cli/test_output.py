"""Formats of the output, and many runs with a bad one among them."""

import json
import os
import re
import stat
from pathlib import Path

import pytest
from helpers import each

from .command import fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

TSV = "run\tquery\tmetric\tvalue\nr\tall\tAP\t0.2593\n"


def test_tsv_where_no_person_looks_and_a_table_where_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    assert gradeval("q", "r", "-m", "AP").out == TSV
    table = gradeval("q", "r", "-m", "AP", terminal=True).out
    assert "\x1b[" in table
    assert re.sub(r"\x1b\[\d*m", "", table) == gradeval("q", "r", "-m", "AP", "-f", "table").out
    assert gradeval("q", "r", "-m", "AP", "-f", "tsv", terminal=True).out == TSV
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as environment:
            environment.setenv(name, value)
            assert "\x1b[" not in gradeval("q", "r", "-m", "AP", terminal=True).out
    gradeval("q", "r", "-m", "AP", "-o", "out", terminal=True)
    assert Path("out").read_text() == TSV


def test_json_lists_the_runs_that_failed(folder: Path) -> None:
    (folder / "bad").write_text("q1 Q0 a 1 x tag\nq1 Q0 b 2 y tag\n")
    (folder / "other").write_text("q9 Q0 a 1 1 tag\n")
    done = gradeval("q", "r", "bad", "none", "other", "-m", "AP", "-f", "json", "--quiet")
    assert done.code == 2
    found = json.loads(done.out)
    assert [run["path"] for run in found["runs"]] == ["r"]
    assert found["failed"] == [
        {
            "path": "bad",
            "errors": ["bad:1: the score 'x' is not a number", "bad:2: the score 'y' is not a number"],
        },
        {"path": "none", "errors": ["none: no such file. Check the path"]},
        {
            "path": "other",
            "errors": [
                "other: it has no query in common with q. Check the query ids: 'q9' here, 'q1', 'q2', 'q3' in q"
            ],
        },
    ]
    assert [line for run in found["failed"] for line in run["errors"]] == done.lines
    assert json.loads(gradeval("q", "r", "-m", "AP", "-f", "json").out)["failed"] == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_devices() -> None:
    """A device is written to, not replaced."""
    assert fails("q", "r", "--quiet", "-o", "/dev/full") == (
        "gradeval: /dev/full cannot be written (No space left on device)"
    )
    assert gradeval("q", "r", "-o", "/dev/null").code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


# Names and several runs


def names(*args: str) -> list[str]:
    return [line.split("\t")[0] for line in gradeval(*args, "-m", "AP", "-f", "tsv").out.splitlines()[1:]]


def test_labels_name_runs() -> None:
    Path("k=1").write_bytes(Path("r").read_bytes())
    os.mkdir("d")
    Path("d/r").write_bytes(Path("r").read_bytes())
    assert names("q", "BM25+RM3=r", "k=1", "r", "x=k=1") == ["BM25+RM3", "k=1", "r", "x"]
    assert names("q", "r=k=1", "r", "d/r") == ["r", "r#2", "d/r"]
    assert names("l", "A=l", "m=s", "--feature", "2") == ["A"]  # s has no features
    assert names("l", "A=l", "--feature", "1,2") == ["A:feature1", "A:feature2"]
    assert names("l", "best=s") == ["best"]
    assert gradeval("q", "x=-", "-m", "AP", stdin="r").out.startswith("run\tquery\tmetric\tvalue\nx\tall")
    assert fails("q", "a=r", "a=k=1") == "gradeval: two runs have the label 'a': r and k=1"
    assert fails("q", "a=none") == "none: no such file. Check the path"
    assert "'-' can be given once only" in fails("q", "a=-", "b=-")
    assert "it is one of the input files" in fails("q", "a=r", "-o", "r")


@each("place", [0, 1, 2])
@each("jobs", [1, 2, 4])
def test_a_bad_run_is_reported_and_the_others_are_printed(place: int, jobs: int) -> None:
    Path("bad").write_text("q1 Q0 a 1 x t\nq1 Q0 b\n")
    Path("r2").write_bytes(Path("r").read_bytes())
    runs = ["r", "r2"]
    runs.insert(place, "bad")
    done = gradeval("q", *runs, "-m", "AP", "-j", jobs, "--quiet")
    assert done.code == 2
    assert done.out == TSV + "r2\tall\tAP\t0.2593\n"
    assert done.lines == [
        "bad:1: the score 'x' is not a number",
        "bad:2: 3 fields where a run has 6 (query Q0 document rank score tag)",
    ]
    again = gradeval("q", "none", "r", "none", "-m", "AP", "--quiet")  # once
    assert (again.code, again.err) == (2, "none: no such file. Check the path\n")


def test_ids_go_through_as_the_bytes_they_are(folder: Path) -> None:
    """Bytes that are no UTF-8, surrogates in UTF-8, and spaces that are none here."""
    for query in (b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", "a\u2003\u0085b".encode(), "é".encode()):
        (folder / "odd").write_bytes(query + b" 0 d 1\n")
        (folder / "r").write_bytes(query + b" Q0 d 1 1 t\n")
        done = gradeval("odd", "r", "-m", "AP", "-q", "-n")
        assert done.code == 0
        assert done.out.encode("utf-8", "surrogateescape").split(b"\n")[1] == b"r\t" + query + b"\tAP\t1.0000"
        text = os.fsdecode(query)
        assert gradeval("odd", "r", "-q", "-m", "AP", "-n", "--query-ids", text).out == done.out
        (folder / "ids").write_bytes(query)
        assert gradeval("odd", "r", "-q", "-m", "AP", "-n", "--query-ids", "ids").out == done.out


def test_sort() -> None:
    Path("worst").write_text("q1 Q0 b 1 9 t\nq2 Q0 e 1 9 t\n")
    Path("best").write_text("q1 Q0 a 1 9 t\nq2 Q0 a 1 9 t\n")
    runs, order = ("worst", "mid=r", "best"), ["best", "mid", "worst"]
    for sort, expected in (("AP", order), ("map", order), ("-AP", order[::-1])):
        assert names("q", *runs, "--sort", sort) == expected
        for format in ("table", "md", "csv", "trec"):
            out = gradeval("q", *runs, "-m", "AP P@1", "-f", format, "--sort", sort, "--quiet").out
            assert sorted(order, key=out.index) == expected
    assert names("q", *runs, "--sort", "AP", "--top", "2") == order[:2]
    assert "give one of the metrics" in fails("q", "r", "-m", "P@1 P@2", "--sort", "P@1,2")
    assert "was not evaluated" in fails("q", "r", "--by-level", "--sort", "RR")
    assert gradeval("q", "r", "-m", "muAP", "--by-level", "--sort", "AP(rel=2)").code == 0


def test_wide() -> None:
    Path("r2").write_bytes(Path("r").read_bytes())
    wide = gradeval("q", "r", "x=r2", "-m", "AP num_rel", "-q", "--wide", "--quiet").out
    assert wide.startswith("query\tmetric\tr\tx\nq1\tAP\t0.2778\t0.2778\n")
    assert gradeval("q", "r", "-m", "AP", "-qn", "--wide", "-f", "table").out.startswith("query       r\n")
    assert fails("q", "r", "--wide").startswith("gradeval: --wide requires -q.")
    assert "--wide and --tie-range are mutually exclusive." in fails("q", "r", "-q", "--wide", "--tie-range")
    assert "--wide and -f trec are mutually exclusive." in fails("q", "r", "-q", "--wide", "-f", "trec")


# Columns in front, and no head


@pytest.mark.parametrize("args", [(), ("-q",), ("-q", "--wide"), ("-q", "--tie-range")])
def test_labels(args: tuple[str, ...]) -> None:
    """Each row has the same values in front, in the order given; the rest is as without them."""
    call = ("q", "r", "-m", "AP runid", "--quiet", *args)
    labels = ("--label", "night=2026-11-22", "--label", 'say "a",b=\tx=1')
    for format, front in (("tsv", "2026-11-22\t\\tx=1\t"), ("csv", "2026-11-22,\tx=1,")):
        head, *rows = gradeval(*call, "-f", format).out.splitlines()
        labelled, *with_labels = gradeval(*call, *labels, "-f", format).out.splitlines()
        assert labelled == {"tsv": 'night\tsay "a",b\t', "csv": 'night,"say ""a"",b",'}[format] + head
        assert with_labels == [front + row for row in rows] and rows
        without_head = gradeval(*call, *labels, "-f", format, "--no-header").out.splitlines()
        assert without_head == with_labels
    objects = [json.loads(line) for line in gradeval(*call, "-f", "jsonl").out.splitlines()]
    with_labels = [json.loads(line) for line in gradeval(*call, *labels, "-f", "jsonl").out.splitlines()]
    front_of = {"night": "2026-11-22", 'say "a",b': "\tx=1"}
    assert with_labels == [{**front_of, **values} for values in objects]
    assert [*with_labels[0]][:2] == [*front_of]


def test_labels_of_other_commands() -> None:
    Path("m.toml").write_text('metrics = "AP"\nsystems = ["s"]\nruns = "r"\n[collections.a]\nqrels = "q"\n')
    for call in (
        ("compare", "q", "r", "b=r", "--all-pairs", "-q"),  # two tables
        ("batch", "m.toml"),
        ("gate", "q", "r", "--require", "AP >= 0", "--min-coverage", "0"),
        ("study", "levels", "q", "r"),
        ("plot", "curve", "q", "r"),
    ):
        plain = gradeval(*call, "-f", "tsv", "--quiet").out
        assert plain
        tables = [table.splitlines() for table in plain.split("\n\n")]
        labelled = gradeval(*call, "-f", "tsv", "--quiet", "--label", "a=b").out.split("\n\n")
        assert [table.splitlines() for table in labelled] == [
            [f"a\t{head}", *(f"b\t{row}" for row in rows)] for head, *rows in tables
        ]
        rows_alone = gradeval(*call, "-f", "tsv", "--quiet", "--no-header").out.split("\n\n")
        assert [table.splitlines() for table in rows_alone] == [rows for _, *rows in tables]
    lines = gradeval("batch", "m.toml", "-f", "jsonl", "--label", "a=b").out.splitlines()
    assert lines and all(line.startswith('{"a": "b", ') for line in lines)


@each(
    ("args", "what"),
    [
        (("--spreadsheet",), "--spreadsheet requires -f csv"),
        (("--label", "run=x"), "gradeval: label run: the output has a column of this name"),
        (("--label", "run=x", "-f", "jsonl"), "gradeval: label run: the output has a column of this name"),
        (("--label", "a=x", "--label", "a=y"), "'a' is given twice"),
        (("--label", "a"), "'a' is not NAME=VALUE"),
        (("--label", "=a"), "'=a' is not NAME=VALUE"),
        (("--label", "a=x", "-f", "json"), "--label requires -f tsv, -f csv or -f jsonl"),
        (("--label", "a=x", "-f", "trec"), "--label requires"),
        (("--no-header", "-f", "table"), "--no-header requires -f tsv or -f csv"),
        (("--no-header", "-f", "jsonl"), "--no-header requires"),
    ],
)
def test_labels_that_cannot_be(args: tuple[str, ...], what: str) -> None:
    assert what in fails("q", "r", "--quiet", *args)
