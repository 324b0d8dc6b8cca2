"""Formats of the output, many runs with a bad one among them, and files of --output."""

import gzip
import json
import os
import re
import stat
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import pytest
from helpers import each

from gradeval.render import WRITERS

from .command import RUN, fails, gradeval

pytestmark = pytest.mark.usefixtures("folder")

TSV = "run\tquery\tmetric\tvalue\nr\tall\tAP\t0.2593\n"


def test_tsv_where_no_person_looks_and_a_table_where_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    call = ("q", "r", "-m", "AP")
    assert gradeval(*call).out == gradeval(*call, "-f", "tsv", terminal=True).out == TSV
    table = gradeval(*call, terminal=True).out
    assert "\x1b[" in table
    plain = re.sub(r"\x1b\[\d*m", "", table)
    assert plain == gradeval(*call, "-f", "table").out
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as environment:
            environment.setenv(name, value)
            assert gradeval(*call, terminal=True).out == plain


def test_json_lists_the_runs_that_failed() -> None:
    Path("bad").write_text("q1 Q0 a 1 x tag\nq1 Q0 b 2 y tag\n")
    done = gradeval("q", "r", "bad", "none", "-m", "AP", "-f", "json", "--quiet")
    found = json.loads(done.out)
    assert (done.code, [run["path"] for run in found["runs"]]) == (2, ["r"])
    assert {run["path"]: run["errors"] for run in found["failed"]} == {
        "bad": ["bad:1: the score 'x' is not a number", "bad:2: the score 'y' is not a number"],
        "none": ["none: no such file. Check the path"],
    }
    assert [line for run in found["failed"] for line in run["errors"]] == done.lines
    assert json.loads(gradeval("q", "r", "-m", "AP", "-f", "json").out)["failed"] == []


def names(*args: str) -> list[str]:
    return [line.split("\t")[0] for line in gradeval(*args, "-m", "AP", "-f", "tsv").out.splitlines()[1:]]


def test_names_of_runs_and_wide_tables() -> None:
    Path("k=1").write_bytes(Path("r").read_bytes())
    os.mkdir("d")
    Path("d/r").write_bytes(Path("r").read_bytes())
    assert names("q", "BM25+RM3=r", "k=1", "r", "x=k=1") == ["BM25+RM3", "k=1", "r", "x"]
    assert names("q", "r=k=1", "r", "d/r") == ["r", "r#2", "d/r"]
    assert names("l", "A=l", "m=s", "--feature", "2") == ["A", "m"]  # s has no features
    assert names("l", "A=l", "--feature", "1,2") == ["A:feature1", "A:feature2"]
    assert names("l", "best=s") == ["best"]
    assert gradeval("q", "x=-", "-m", "AP", stdin="r").out.startswith("run\tquery\tmetric\tvalue\nx\tall")
    assert fails("q", "a=r", "a=k=1") == "gradeval: two runs have the label 'a': r and k=1"
    assert "'-' can be given once only" in fails("q", "a=-", "b=-")
    assert "it is one of the input files" in fails("q", "a=r", "-o", "r")
    # wide
    wide = gradeval("q", "r", "x=r", "-m", "AP num_rel", "-q", "--wide", "--quiet").out
    assert wide.startswith("query\tmetric\tr\tx\nq1\tAP\t0.2778\t0.2778\n")
    assert gradeval("q", "r", "-m", "AP", "-qn", "--wide", "-f", "table").out.startswith("query       r\n")
    assert fails("q", "r", "--wide").startswith("gradeval: --wide requires -q.")
    for option in ("--tie-range", "--bounds", "-f trec"):
        said = fails("q", "r", "-q", "--wide", *option.split())
        assert f"--wide and {option} are mutually exclusive." in said


def test_a_bad_run_is_reported_and_the_others_are_printed() -> None:
    Path("bad").write_text("q1 Q0 a 1 x t\nq1 Q0 b\n")
    Path("r2").write_text(RUN)
    for runs, jobs in (("bad r r2", 1), ("r bad r2", 1), ("r bad r2", 4), ("r r2 bad", 2)):
        done = gradeval("q", *runs.split(), "-m", "AP", "-j", jobs, "--quiet")
        assert done[:2] == (2, TSV + "r2\tall\tAP\t0.2593\n")
        assert [line[:6] for line in done.lines] == ["bad:1:", "bad:2:"]
    again = gradeval("q", "none", "r", "none", "-m", "AP", "--quiet")  # once
    assert (again.code, again.err) == (2, "none: no such file. Check the path\n")


def test_ids_go_through_as_the_bytes_they_are() -> None:
    """Bytes that are no UTF-8, surrogates in UTF-8, and spaces that are none here."""
    for query in (b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", "a\u2003\u0085b".encode(), "é".encode()):
        Path("odd").write_bytes(query + b" 0 d 1\n")
        Path("r").write_bytes(query + b" Q0 d 1 1 t\n")
        Path("ids").write_bytes(query)
        for ids in ([], ["--query-ids", os.fsdecode(query)], ["--query-ids", "ids"]):
            done = gradeval("odd", "r", "-m", "AP", "-qn", *ids)
            row = done.out.encode("utf-8", "surrogateescape").split(b"\n")[1]
            assert (done.code, row) == (0, b"r\t" + query + b"\tAP\t1.0000")


def test_sort() -> None:
    Path("worst").write_text("q1 Q0 b 1 9 t\nq2 Q0 e 1 9 t\n")
    Path("best").write_text("q1 Q0 a 1 9 t\nq2 Q0 a 1 9 t\n")
    runs, order = ("worst", "mid=r", "best"), ["best", "mid", "worst"]
    for sort, format, expected in (
        *(("AP", format, order) for format in ("table", "md", "csv", "trec")),
        ("map", "tsv", order),
        ("-AP", "tsv", order[::-1]),
    ):
        out = gradeval("q", *runs, "-m", "AP P@1", "-f", format, "--sort", sort, "--quiet").out
        assert sorted(order, key=out.index) == expected
    assert names("q", *runs, "--sort", "AP", "--top", "2") == order[:2]
    assert names("q", *runs, "--rank", "--top", "2") == order[:2]
    assert gradeval("q", "r", "-m", "muAP", "--by-level", "--sort", "AP(rel=2)").code == 0
    for line, said in (
        ("-m P@1,2 --sort P@1,2", "give one of the metrics"),
        ("--by-level --sort RR", "was not evaluated"),
        ("--top 2", "gradeval: --top requires --sort or --rank. Try 'gradeval --help'."),
    ):
        assert said in fails("q", "r", *line.split())


@each("options", ["-q", "-q --wide", "-q --tie-range --bounds"])
def test_labels(options: str) -> None:
    """Each row has the same values in front, in the order given; the rest is as without them."""
    call = ("q", "r", "-m", "AP runid", "--quiet", *options.split(), "-f")
    labels = ("--label", "night=2026-11-22", "--label", 'say "a",b=\tx=1')
    for format, labelled, front in (
        ("tsv", 'night\tsay "a",b\t', "2026-11-22\t\\tx=1\t"),
        ("csv", 'night,"say ""a"",b",', "2026-11-22,\tx=1,"),
    ):
        head, *rows = gradeval(*call, format).out.splitlines()
        with_labels = [front + row for row in rows]
        assert gradeval(*call, format, *labels).out.splitlines() == [labelled + head, *with_labels] and rows
        assert gradeval(*call, format, *labels, "--no-header").out.splitlines() == with_labels
    plain, with_labels = (
        [json.loads(line) for line in gradeval(*call, "jsonl", *of).out.splitlines()] for of in ((), labels)
    )
    front = {"night": "2026-11-22", 'say "a",b': "\tx=1"}
    assert with_labels == [front | values for values in plain] and [*with_labels[0]][:2] == [*front]


def test_labels_of_other_commands() -> None:
    Path("m.toml").write_text('metrics = "AP"\nsystems = ["s"]\nruns = "r"\n[collections.a]\nqrels = "q"\n')

    def tables(line: str, *options: str) -> list[list[str]]:
        out = gradeval(*line.split(), "-f", "tsv", "--quiet", *options).out
        assert out
        return [table.splitlines() for table in out.split("\n\n")]

    for line in (
        "compare q r b=r --all-pairs -q",  # two tables
        "batch m.toml",
        "gate q r --require AP>=0 --min-coverage 0",
        "study levels q r",
        "plot curve q r",
    ):
        plain = tables(line)
        labelled = [[f"a\t{head}", *(f"b\t{row}" for row in rows)] for head, *rows in plain]
        assert tables(line, "--label", "a=b") == labelled
        assert tables(line, "--no-header") == [rows for _, *rows in plain]
    lines = gradeval("batch", "m.toml", "-f", "jsonl", "--label", "a=b").out.splitlines()
    assert lines and all(line.startswith('{"a": "b", ') for line in lines)


@each("options, what", [
    ("--spreadsheet", "--spreadsheet requires -f csv"),
    ("--label run=x -f jsonl", "gradeval: label run: the output has a column of this name"),
    ("--label a=x --label a=y", "--label: a name is given twice"),
    ("--label a", "'a' is not NAME=VALUE"),
    ("--label a=x -f json", "--label requires -f tsv or -f csv or -f jsonl"),
    ("--no-header -f table", "--no-header requires -f tsv or -f csv"),
])  # fmt: skip
def test_labels_that_cannot_be(options: str, what: str) -> None:
    assert what in fails("q", "r", "--quiet", *options.split())


# Nothing in the data can steer a terminal


ODD = "\x1b[31m\x9b\u202e\u2028"
ESCAPED = r"\x1b[31m\x9b\u202e\u2028"


SHOWN = {
    "json": r"\u001b[31m\u009b\u202e\u2028",
    "jsonl": r"\u001b[31m\u009b\u202e\u2028",
    "md": r"\\x1b\[31m\\x9b\\u202e\\u2028",
    "latex": ESCAPED.replace("\\", r"\textbackslash{}").replace("[", "{[}"),
}


@each("name", WRITERS)
def test_nothing_can_steer_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query, a tag, a file name. In a pipe or a file, formats for machines have names as they are."""
    monkeypatch.setenv("NO_COLOR", "1")
    Path("odd").write_text(f"{ODD}q 0 a 1\n")
    Path(f"{ODD}r").write_text(f"{ODD}q Q0 a 1 1 {ODD}t\n")
    args = ("odd", f"{ODD}r", "-m", "AP runid", "-q", "-f", name)
    shown, written = gradeval(*args, terminal=True).out, gradeval(*args).out
    assert shown.count("\n") == written.count("\n")
    escaped = SHOWN.get(name, ESCAPED)
    for end in "qt" if name == "trec" else "qrt":  # which names no run where there is one only
        assert escaped + end in shown
        assert (ODD if name in ("tsv", "csv", "trec") else escaped) + end in written


def test_other_commands_cannot_steer_a_terminal_either() -> None:
    Path("odd").write_text(f"{ODD}q 0 a 1\n")
    Path(f"{ODD}r").write_text(f"{ODD}q Q0 a 1 1 {ODD}t\n")
    for args, shown in (
        (("trec_eval", "odd", f"{ODD}r", "-q", "-m", "map"), f"map                   \t{ESCAPED}q\t1.0000\n"),
        (("trec_eval", "odd", f"{ODD}r", "-m", "runid"), f"runid                 \tall\t{ESCAPED}t\n"),
        (("convert", f"{ODD}r", "-", "--to", "trec"), f"{ESCAPED}q Q0 a 1 1 {ESCAPED}t\n"),
        (("ir_measures", "odd", f"{ODD}r", "-q", "AP"), f"{ESCAPED}q\tAP\t1.0000\nall\tAP\t1.0000\n"),
    ):
        assert gradeval(*args, terminal=True).out.startswith(shown)
        assert gradeval(*args).out.startswith(shown.replace(ESCAPED, ODD))
    if find_spec("pyarrow") is not None:
        said = "gradeval: a parquet file is not for a terminal: name OUT. Try 'gradeval convert --help'.\n"
        assert gradeval("convert", "odd", "-", "--to", "parquet", terminal=True) == (2, "", said)


@each("name", [name for name, format in WRITERS.items() if format.ending])
def test_the_ending_of_the_file_sets_the_format(name: str) -> None:
    expected = gradeval("q", "r", "-m", "AP", "-f", name).out
    for path in (f"out{WRITERS[name].ending}", f"a.b{WRITERS[name].ending.upper()}"):
        assert gradeval("q", "r", "-m", "AP", "-o", path, terminal=True).code == 0
        assert Path(path).read_text() == expected


def test_a_file_without_an_ending_is_tsv() -> None:
    for path in ("out", ".out", "out."):
        assert gradeval("q", "r", "-m", "AP", "-o", path).code == 0
        assert Path(path).read_text() == TSV
    endings = ".txt, .tsv, .csv, .json, .jsonl, .md, .tex. -f sets the format"
    said = f"gradeval: cannot infer a format from out.xlsx: the endings are {endings}"
    assert fails("q", "r", "-o", "out.xlsx") == said and not Path("out.xlsx").exists()
    assert gradeval("q", "r", "-m", "AP", "-o", "out.xlsx", "-f", "tsv").code == 0
    assert Path("out.xlsx").read_text() == TSV
    assert gradeval("q", "r", "-m", "AP", "-o", "out.tsv.GZ").code == 0
    assert gzip.decompress(Path("out.tsv.GZ").read_bytes()).decode() == TSV


# Files


def test_a_file_is_replaced_with_its_mode_and_links(folder: Path) -> None:
    assert gradeval("q", "r", "-m", "AP", "-o", "out") == (0, "", gradeval("q", "r", "-m", "AP").err)
    assert Path("out").read_text() == TSV
    assert sorted(os.listdir(folder)) == ["l", "out", "q", "r", "s"]
    # an old file is replaced and keeps its mode
    Path("out").write_text("old" * 999)
    os.chmod("out", 0o640)
    assert gradeval("q", "r", "-m", "AP", "--output", "out").code == 0
    assert Path("out").read_text() == TSV
    assert stat.S_IMODE(os.stat("out").st_mode) == 0o640
    # a new file has the mode of others
    before = os.umask(0o027)
    try:
        gradeval("q", "r", "-m", "AP", "-o", "out")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("out").st_mode) == 0o640
    # a link stays one
    Path("there").mkdir()
    os.symlink("there/out", "link")
    assert gradeval("q", "r", "-m", "AP", "-o", "link").code == 0
    assert os.readlink("link") == "there/out"
    assert Path("there/out").read_text() == TSV


@each("args", ["q none", "none r", "q q", "q r -m qqq", "q r --strict"])
def test_an_error_leaves_the_file_as_it_is(args: str, folder: Path) -> None:
    Path("out").unlink(missing_ok=True)
    for text in ([], ["old"]):
        for old in text:
            Path("out").write_text(old)
        before = sorted(os.listdir(folder))
        fails(*args.split(), "-o", "out")
        assert sorted(os.listdir(folder)) == before
    assert Path("out").read_text() == "old"


def test_a_write_that_ends_early_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("out").write_text("old")
    said = "gradeval: out cannot be written (No space left on device)\n"
    for error, code, err in (
        (OSError(28, "No space left on device"), 2, said),
        (KeyboardInterrupt(), 130, "\n"),
    ):
        monkeypatch.setattr(os, "replace", mock.Mock(side_effect=error))
        assert gradeval("q", "r", "-m", "AP", "--quiet", "-o", "out") == (code, "", err)
        assert Path("out").read_text() == "old"
        assert sorted(os.listdir(folder)) == ["l", "out", "q", "r", "s"]


def test_where_no_file_can_be_written(folder: Path) -> None:
    Path("there").mkdir()
    (folder / "m.toml").write_text(MANIFEST)
    before = sorted(os.listdir(folder))
    option = "gradeval: --output"
    for args, said in (
        ("q r -o there", f"{option} there: it is a directory"),
        (
            "q r -o nowhere/out",
            f"{option} nowhere/out: directory {folder.resolve() / 'nowhere'} does not exist",
        ),
        ("q r -o q/out", f"{option} q/out: directory "),
        ("q r --output=", f"{option}: no file given"),
        # files that are missing would be read the next time
        ("batch m.toml -o ./later", f"{option} ./later: it would be one of the input files"),
        ("q r -o q.query", f"{option} q.query: it would be one of the input files"),
    ):
        assert fails(*args.split()).startswith(said)
    assert sorted(os.listdir(folder)) == before
    if os.path.exists("/dev/full"):  # a device is written to, not replaced
        said = "gradeval: /dev/full cannot be written (No space left on device)"
        assert fails("q", "r", "--quiet", "-o", "/dev/full") == said
        for command in ("q r", "explain q r --query q1"):  # whose format is that of a pipe
            assert gradeval(*command.split(), "-o", "/dev/null").code == 0
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


MANIFEST = """\
systems = ["scores", "later"]
metrics = ["AP"]
[collections.c]
qrels = "plain"
runs = { scores = "s", later = "later" }
options = { groups = "sizes" }
"""
READ = {
    "q r -o q": "q",
    "q - -o r": "r",
    "q r -o link": "r",
    "q r -o hard": "r",
    "q r --query-ids ./ids -o ids": "ids",
    "plain s -o plain.query": "plain.query",
    "q --runs-from list -o r": "r",
    "compare q r other --by groups -o groups": "groups",
    "explain plain --query 1 --against plain2 --feature 1 -f json -o plain2.query": "plain2.query",
    "plot phi plain --groups sizes.svg --save sizes.svg": "sizes.svg",
    "convert plain --groups sizes --feature 1 --as run --to trec sizes": "sizes",
    "batch m.toml -o sizes": "sizes",
}


def test_no_file_that_is_read_is_written() -> None:
    texts = {"ids": "q1\n", "list": "r\n", "groups": "q1\tx\n", "m.toml": MANIFEST, "other": RUN}
    texts |= dict.fromkeys(["plain", "plain2"], "2 1:3\n0 1:2\n1 1:1\n0 1:4\n")
    sizes = ["sizes", "sizes.svg", "plain.query", "plain2.query"]
    for name, text in (texts | dict.fromkeys(sizes, "2\n2\n")).items():
        Path(name).write_text(text)
    os.symlink("r", "link")
    os.link("r", "hard")
    for command, name in READ.items():
        args, before = command.split(), Path(name).read_text()
        option = {"-o": "--output", "--save": "--save"}.get(args[-2], "OUT")
        said = fails(*args, stdin="r" if "-" in args else None)
        assert said == f"gradeval: {option} {args[-1]}: it is one of the input files", command
        assert Path(name).read_text() == before


def test_ranks_of_runs() -> None:
    """Equal means at the digits printed share a rank; one that is undefined has none."""
    for name, scores in {"best": "9 1", "same": "9.5 2", "worst": "1 9"}.items():
        lines = (f"q1 Q0 {document} 1 {score} t" for document, score in zip("ab", scores.split(), strict=True))
        Path(name).write_text("\n".join(lines) + "\n")
    args = ["q", "worst", "best", "same", "-m", "RR AP", "--quiet", "--rank"]
    rows = [line.split("\t") for line in gradeval(*args).out.splitlines()]
    assert rows[0][-1] == "rank" and [row[-1] for row in rows[1:]] == ["3", "3", "1", "1", "1", "1"]
    rows = [line.split("\t") for line in gradeval(*args, "-q").out.splitlines()]
    assert {row[-1] for row in rows[1:] if row[1] != "all"} == {""}
    table = [line.split() for line in gradeval(*args, "-f", "table", "--sort", "AP").out.splitlines()]
    assert table[0][:2] == ["rank", "run"] and [row[:2] for row in table[2:5]] == [
        ["1", "best"],
        ["1", "same"],
        ["3", "worst"],
    ]
    assert table[5:] == [[], ["Ranks:", "by", "AP."]]
    runs = ["q", "worst", "best", "copy=best", "same", "-m", "RR AP"]
    cut = "note: --top 1 leaves out copy, same, with the same AP as the last run"
    for sort, count, said in (("AP", 1, [cut]), ("AP", 3, []), ("AP", 9, []), ("-AP", 1, [])):
        lines = gradeval(*runs, "--sort", sort, "--top", count).lines
        assert [line for line in lines if "--top" in line] == said
    assert gradeval(*runs, "--sort", "AP", "--top", 1, "--quiet").err == ""
    assert [run["rank"] for run in json.loads(gradeval(*args, "-f", "json").out)["runs"]] == [3, 1, 1]
    assert '"rank": 3}' in gradeval(*args, "-f", "jsonl").out.splitlines()[0]
    for more in ("-n -q", "-q --wide", "-f trec"):
        assert "--rank and " in fails(*args, *more.split())
    for more in ("-m runid", "-m unj@5", "-m num_ret --sort num_ret"):
        assert "--rank requires a metric of which high" in fails("q", "best", "--rank", *more.split())


def test_ranks_are_by_a_metric_with_a_direction() -> None:
    """The first of the default metrics is the number of queries."""
    for name, scores in {"best": "9 1", "worst": "1 9"}.items():
        lines = (f"q1 Q0 {document} 1 {score} t" for document, score in zip("ab", scores.split(), strict=True))
        Path(name).write_text("\n".join(lines) + "\n")
    for more in ([], ["-m", "num_q RR"]):
        content = json.loads(gradeval("q", "worst", "best", *more, "--quiet", "--rank", "-f", "json").out)
        assert [run["rank"] for run in content["runs"]] == [2, 1], more


def test_runs_are_named_by_their_tags() -> None:
    Path("other").write_text(Path("r").read_text().replace("tag", "another"))
    Path("untagged.tsv").write_text("query\tdocument\tscore\nq1\ta\t1\n")
    args = ["-m", "AP", "--quiet", "--name-by", "tag"]
    done = gradeval("q", "r", "other", "Mine=r", "untagged.tsv", *args)
    assert [line.split("\t")[0] for line in done.out.splitlines()[1:]] == ["tag", "another", "Mine", "untagged"]
    said = "--name-by tag: r and ./r would both be named 'tag'. Name one, as NAME=./r, or use --name-by file."
    assert said in fails("q", "r", "./r", *args)
    assert gradeval("q", "r", "X=./r", *args).code == 0
    assert gradeval("q", "r", *args[:-1], "file").out == gradeval("q", "r", *args[:3]).out
