"""Formats of the output, and many runs with a bad one among them."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path

import pytest
from helpers import each

from gradeval.render import WRITERS

from .command import fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

TSV = "run\tquery\tmetric\tvalue\nr\tall\tAP\t0.2593\n"
STARTS = {
    "table": "run      AP\n",
    "tsv": TSV,
    "csv": "run,query,metric,value\nr,all,AP,0.2593\n",
    "json": "{",
    "jsonl": '{"run": "r", "query": "all", "metric": "AP", "value": 0.259',
    "md": "| run |",
    "latex": "\\begin{tabular}",
    "trec": "map                   \tall\t0.2593\n",
}


@pytest.mark.parametrize("name", WRITERS)
def test_formats(name: str) -> None:
    done = gradeval("q", "r", "-m", "AP", "-f", name)
    assert done.code == 0
    assert done.out.startswith(STARTS[name])
    assert gradeval("q", "r", "-m", "AP", "--format", name, "-o", "out").out == ""
    assert Path("out").read_text() == done.out


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


def test_a_table_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    for columns in (50, 300):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = gradeval("q", "r", "-m", "P.5,10,15,20,30,100,200", terminal=True).out.splitlines()
        assert max(map(len, lines)) <= columns
        assert (len(lines) > 3) == (columns == 50)


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


def test_spreadsheet() -> None:
    Path("q").write_text("=q 0 a 1\n")
    Path("-r").write_text("=q Q0 a 1 -2 @t\n")
    args = ("q", "./-r", "-m", "AP runid", "-q", "-f", "csv", "--digits", "1")
    assert "\n'-r,'=q,AP,1.0\n" in gradeval(*args, "--spreadsheet").out
    assert "\n-r,=q,AP,1.0\n" in gradeval(*args).out
    assert fails("q", "./-r", "--spreadsheet", "-f", "tsv").startswith(
        "gradeval: --spreadsheet requires -f csv."
    )
    assert "--spreadsheet requires -f csv" in fails("q", "./-r", "--spreadsheet")


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


def test_every_bad_run_is_reported() -> None:
    Path("empty").mkdir()
    done = gradeval("q", "none", "r", "empty", "q", "-m", "AP", "--quiet")
    assert done.code == 2
    assert done.out == TSV
    assert [line.split(":")[0] for line in done.lines] == ["none", "empty", "q"]
    assert fails("q", "none", "empty", "q").count("\n") == 2


def test_bad_features_among_good_ones() -> None:
    done = gradeval("l", "l", "none", "--feature", "1", "-m", "AP")
    assert done == (2, "run\tquery\tmetric\tvalue\nl:feature1\tall\tAP\t0.7500\n",
                    "none: no such file. Check the path\n")  # fmt: skip


def test_the_order_of_rows_is_that_of_the_arguments() -> None:
    Path("r2").write_bytes(Path("r").read_bytes())
    out = gradeval("q", "r2", "r", "-m", "num_rel AP", "-q", "-j", "4").out
    rows = [tuple(line.split("\t")[:3]) for line in out.splitlines()[1:]]
    assert rows == [
        (run, query, metric)
        for run in ("r2", "r")
        for query in ("q1", "q2", "q3", "all")
        for metric in ("num_rel", "AP")
    ]


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


def test_a_run_whose_name_is_no_utf8(folder: Path) -> None:
    name = os.fsdecode(b"r\xff")
    try:
        (folder / name).write_bytes((folder / "r").read_bytes())
    except OSError:
        pytest.skip("no such names here")
    assert gradeval("q", name, "-m", "AP").out == TSV.replace("r\tall", f"{name}\tall")
    assert fails("q", name + "2") == "r\\udcff2: no such file. Check the path"


def test_sort() -> None:
    Path("worst").write_text("q1 Q0 b 1 9 t\nq2 Q0 e 1 9 t\n")
    Path("best").write_text("q1 Q0 a 1 9 t\nq2 Q0 a 1 9 t\n")
    runs, order = ("worst", "mid=r", "best"), ["best", "mid", "worst"]
    for sort, expected in (("AP", order), ("map", order), ("-AP", order[::-1])):
        assert names("q", *runs, "--sort", sort) == expected
        for format in ("table", "md", "csv", "trec"):
            out = gradeval("q", *runs, "-m", "AP P@1", "-f", format, "--sort", sort, "--quiet").out
            assert sorted(order, key=out.index) == expected
    assert "give one of the metrics" in fails("q", "r", "-m", "P@1 P@2", "--sort", "P@1,2")
    assert "was not evaluated" in fails("q", "r", "--by-level", "--sort", "RR")
    assert gradeval("q", "r", "-m", "muAP", "--by-level", "--sort", "AP(rel=2)").code == 0


@pytest.mark.parametrize("more", [[], ["--by-level"]])
def test_runs_cannot_be_ordered_by_text(more: list[str]) -> None:
    error = fails("q", "r", "-m", "unj@10,runid", "--sort", "runid", *more)
    assert error.startswith("gradeval: --sort runid: give one of the metrics with numbers: ")


def test_without_a_better_direction_the_highest_is_first() -> None:
    """As the help says."""
    Path("many").write_text("".join(f"q1 Q0 x{n} 1 {9 - n} t\n" for n in range(5)))
    Path("few").write_text("q1 Q0 a 1 9 t\n")
    for metric in ("unj@5", "num_ret"):
        for sort, expected in ((metric, ["many", "few"]), (f"-{metric}", ["few", "many"])):
            out = gradeval("q", "few", "many", "-m", metric, "--sort", sort, "--quiet").out
            assert [line.split("\t")[0] for line in out.splitlines()[1:]] == expected
    said = " ".join(gradeval("--help").out.split())
    assert "the highest first for a metric of which neither high nor low is better, such as unj" in said


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


def test_labels_in_a_spreadsheet() -> None:
    args = ("q", "r", "-m", "AP", "-f", "csv", "--spreadsheet", "--quiet", "--label", "=a=-1")
    assert "not NAME=VALUE" in fails(*args)
    assert gradeval(*args[:-1], "a==1+1").out.splitlines()[1].startswith("'=1+1,r,all,")


def test_no_labels_in_what_is_read_again() -> None:
    Path("m.toml").write_text('metrics = "AP"\nsystems = ["s"]\nruns = "r"\n[collections.a]\nqrels = "q"\n')
    said = fails("batch", "m.toml", "--resume", "-o", "b.jsonl", "--label", "a=b")
    assert "--resume and --label are mutually exclusive" in said
