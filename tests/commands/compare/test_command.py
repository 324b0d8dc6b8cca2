"""gradeval compare: its options, what it takes as runs, what it refuses; tables of values per query."""

import csv
import gzip
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest
from cli.command import Done, fails, gradeval, query_ids, write_graded
from helpers import each, error_of, raises

from gradeval import GradevalError, compare_tables
from gradeval.commands.compare.tables import ValueTable, read_values
from gradeval.errors import InputError, InputErrors
from gradeval.formats.sources import Source


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    """qrels of 30 queries; the runs good, fair and poor of them; and the files of folder."""
    write_graded(query_ids(30), {"good": 3, "fair": 5, "poor": 7})


def compare(*args: object, stdin: str | None = None) -> Done:
    done = gradeval("compare", *args, stdin=stdin)
    assert done.code == 0, done.err
    return done


def rows(*args: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(compare(*args, "--quiet").out), delimiter="\t"))


def runs_of(*args: object) -> list[tuple[str, str]]:
    return [(row["baseline"], row["run"]) for row in rows(*args)]


def per_query(run: str, metric: str) -> dict[str, float]:
    done = gradeval("qrels", run, "-m", metric, "-q", "-n", "--digits", "full", "--quiet")
    lines = [line.split("\t") for line in done.out.splitlines()[1:]]
    return {query: float(value) for _, query, _, value in lines}


def test_rows_have_the_values_and_say_how_they_were_made() -> None:
    about = ("run", "baseline", "metric", "n", "group", "test", "correction", "alpha", "seed")
    found = rows("qrels", "poor.run", "good.run", "-m", "nDCG@5 AP", "--digits", "full")
    assert [[row[name] for name in about] for row in found] == [
        ["good", "poor", metric, "30", "all", "t", "holm", "0.05", ""] for metric in ("nDCG@5", "AP")
    ]
    assert not any("Judged@10" in row for row in found)
    Path("new.run").write_text(Path("good.run").read_text().replace(" d1 ", " new1 "))
    options = ("--test", "randomization", "--confidence", 99, "--samples", 999)
    [row] = rows("qrels", "poor.run", "new.run", "-m", "AP", *options)
    assert [row[name] for name in about[5:]] == ["randomization", "holm", "0.01", "1"]
    assert (row["baseline_Judged@10"], row["Judged@10"]) == ("1.0000", "0.8889")


def test_the_baseline_is_a_file_or_a_name() -> None:
    Path("fair").write_text("a file with the name of a run\n")
    for line, expected in {
        "good.run fair.run poor.run --baseline fair.run": [("fair", "good"), ("fair", "poor")],
        "good.run fair.run poor.run --baseline fair": [("fair", "good"), ("fair", "poor")],
        "good.run --baseline fair.run": [("fair", "good")],
        # labels name runs
        "A=poor.run B=good.run fair.run": [("A", "B"), ("A", "fair")],
        "A=poor.run B=good.run --baseline B": [("B", "A")],
        "A=poor.run B=good.run --baseline good.run": [("B", "A")],
        "A=poor.run fair.run --baseline good.run": [("good", "A"), ("good", "fair")],
    }.items():
        assert runs_of("qrels", *line.split(), "-m", "AP") == expected, line


def test_what_else_is_printed() -> None:
    args = ("qrels", "good.run", "poor.run", "-m", "AP", "--worst", 2, "--best", 1)
    args = (*args, "--power", "--anova", "--relative", "-q")
    tables = [[line.split("\t") for line in table.splitlines()] for table in compare(*args).out.split("\n\n")]
    assert [table[0][0] for table in tables] == ["group", "group", "group", "group", "query"]
    assert {"relative_percent", "smallest", "needed"} < set(tables[0][0])
    assert tables[2][0][-2:] == ["metric", "residual_effect_size"]
    kinds = [["all", "worst", "1"], ["all", "worst", "2"], ["all", "best", "1"]]
    assert [row[:3] for row in tables[3][1:]] == kinds
    assert tables[4][0] == ["query", "metric", "good", "poor", "poor - good"] and len(tables[4]) == 31
    assert [line.split("\t") for line in compare(*args, "-n").out.splitlines()] == tables[4]
    assert "Means" not in compare(*args, "-n", "-f", "table").out
    # groups
    groups = "".join(f"{query}\t{'ab'[q % 2]}\n" for q, query in enumerate(query_ids(30)))
    Path("groups").write_text(f"query\tgroup\n{groups}")
    done = compare("qrels", "good.run", "poor.run", "-m", "AP", "--by", "groups")
    assert [line.split("\t")[0] for line in done.out.splitlines()[1:]] == ["all", "a", "b"]
    assert done.lines == ["warning: 2 groups have fewer than 25 queries: a, b [small_groups]"]


def test_saved_results() -> None:
    gradeval("qrels", "good.run", "-m", "AP nDCG@5 num_q", "-q", "-f", "json", "-o", "good.json")
    expected = compare("qrels", "good.run", "poor.run", "-m", "AP nDCG@5")
    found = compare("qrels", "-", "poor.run", stdin="good.json")
    assert found.out == expected.out
    assert found.lines == [
        *expected.lines,
        "note: Judged@5 of good is unknown, so whether the runs differ in it was not checked; save results "
        "with Judged@5 among the metrics [judged_unknown]",
    ]
    # few queries
    Path("half.run").write_text("".join(Path("good.run").read_text().splitlines(keepends=True)[:135]))
    args = ("compare", "qrels", "good.run", "half.run", "-m", "AP")
    assert gradeval(*args).out.splitlines()[1].split("\t")[4] == "30"
    done = gradeval(*args, "--queries", "both")
    assert done.lines == [
        "warning: half: 15 judged queries are not in the run ('q15', 'q16', 'q17', 'q18', 'q19', …), excluded "
        "[missing]",
        "warning: only 15 queries; with fewer than 25, only large differences are found and "
        "intervals are rough [few_queries]",
        "warning: no p-value for 1 comparison (all differences are equal) [no_p]",
    ]
    assert done.out.splitlines()[1].split("\t")[4] == "15"
    assert "warnings are treated as errors (--strict)" in fails(*args, "--strict", "--quiet")


VALUES = "--values a.csv b.csv"


@each("args, message", [
    ("", "Missing argument 'QRELS RUN RUN...': the qrels, then two runs or more."),
    ("qrels", "Missing argument 'QRELS RUN RUN...': tables without qrels go with --values."),
    ("--values", "Missing argument: the tables of values to compare."),
    (f"{VALUES} -l 2", "--rel and --values are mutually exclusive"),
    ("qrels r r --lower-is-better AP", "--lower-is-better requires --values"),
    (f"{VALUES} -m x", "x is in no table: there are AP, y, z"),
    (f"{VALUES} -m y", "b.csv: it has no values of y, only of AP, z"),
    ("--values a.csv d.csv", "no metric is in every table (a.csv: AP, y; d.csv: w)"),
    ("--values a.csv e.csv --queries both", "e.csv: it has no query in common with the other tables"),
    (f"{VALUES} --lower-is-better x", "x is in no table"),
    ("qrels - -", "'-' can be given once only"),
    *((f"qrels good.run poor.run {line}", message) for line, message in (
        ("-m num_q", "num_q has no value for each query"),
        ("-n", "-n requires -q: nothing would be printed."),
        ("-n -q -f json", "-n and -f json are mutually exclusive"),
        ("-m AP --sort RR", "RR was not compared: there are AP"),
    )),
])  # fmt: skip
def test_refused(args: str, message: str) -> None:
    Path("a.csv").write_text("id,AP,y\n1,1,1\n2,2,1\n")
    Path("b.csv").write_text("id,AP,z\n1,1,1\n2,2,1\n")
    Path("d.csv").write_text("id,w\n1,1\n2,2\n")
    Path("e.csv").write_text("id,AP\n8,1\n9,2\n")
    assert message in fails("compare", *args.split())


def test_sorted_runs() -> None:
    """The numbers are the same, and the baseline stays; for tables of values too."""
    args = ("qrels", "fair.run", "poor.run", "good.run", "-m", "AP nDCG@5")
    unsorted = rows(*args)
    for sort, order in {"AP": ["good", "poor"], "-ndcg_cut_5": ["poor", "good"]}.items():
        found = rows(*args, f"--sort={sort}")
        assert [row["run"] for row in found[::2]] == order
        assert {row["baseline"] for row in found} == {"fair"}
        assert sorted(map(str, found)) == sorted(map(str, unsorted))
    done = compare(*args, "--sort", "AP", "-f", "md", "--quiet").out
    assert [line.split()[1] for line in done.splitlines()[4:7]] == ["good", "fair", "poor"]
    pairs = runs_of(*args, "--sort", "AP", "--all-pairs")[::2]
    assert pairs == [("good", "fair"), ("good", "poor"), ("fair", "poor")]
    for name, costs in {"a": (3, 4), "b": (2, 1), "c": (1, 1)}.items():
        Path(f"{name}.csv").write_text("query,cost\nq1,{}\nq2,{}\n".format(*costs))
    tables = ("--values", "a.csv", "b.csv", "c.csv", "--sort", "cost")
    assert runs_of(*tables) == [("a", "b"), ("a", "c")]
    assert runs_of(*tables, "--lower-is-better", "cost") == [("a", "c"), ("a", "b")]


# --values: tables of values, their labels, columns and missing queries


def tables(a: str, b: str) -> tuple[str, str, str]:
    Path("a.csv").write_text(a)
    Path("b.csv").write_text(b)
    return "--values", "a.csv", "b.csv"


def test_missing_values_of_tables() -> None:
    args = tables("id,x,rt,y\n1,1,5,1\n2,2,6,1\n3,3,7,1\n4,,8,1\n", "id,x,rt\n1,2,4\n2,4,3\n5,1,1\n4,1,1\n")
    done = compare(*args)
    assert done.lines == [
        "warning: 1 metric is not in every table or saved result, excluded: y [excluded_metrics]",
        "warning: 2 of 2 runs lack queries of the other tables, up to 1 (a), counted as 0 [missing_values]",
        "warning: a: x is undefined for 1 query, excluded from its mean [undefined]",
        "warning: only 4 queries; with fewer than 25, only large differences are found and intervals are rough "
        "[few_queries]",
    ]
    x, rt = rows(*args)
    assert (x["n"], x["won"], x["lost"]) == ("4", "3", "1")
    assert (rt["n"], rt["baseline_mean"]) == ("5", "5.2000")
    x, rt = rows(*args, "--queries", "both")
    assert (x["n"], rt["n"], rt["lost"]) == ("2", "3", "3")
    x, rt = rows(*args, "--lower-is-better", "rt")  # where 0 would be best, a missing value is left out
    assert (x["n"], rt["n"], rt["won"], rt["lost"], rt["verdict"]) == ("4", "3", "3", "0", "")
    [row] = rows(*args, "--query-ids", "1,2", "-m", "rt")
    assert row["n"] == "2"
    # where lower is better a missing query is excluded and the notice says so
    args = tables("query,lat,AP\n1,5,1\n2,6,0\n3,7,1\n", "query,lat,AP\n1,4,1\n2,5,1\n")
    done = compare(*args, "-m", "lat", "--lower-is-better", "lat", "-f", "table")
    assert done.lines[0] == "warning: b: no values for 1 query of the other tables, excluded [missing_values]"
    assert "Means: of each run over its own 2 to 3 queries with a value;" in done.out
    done = compare(*args, "--lower-is-better", "lat")
    fate = "counted as 0, excluded for lat (lower is better)"
    assert done.lines[0] == f"warning: b: no values for 1 query of the other tables, {fate} [missing_values]"
    assert [row["n"] for row in rows(*args, "--lower-is-better", "lat")] == ["2", "3"]
    assert "Means: of each" not in compare(*args, "-f", "table").out


def test_rows_of_tables() -> None:
    for a, b in (("1,.5\n2,.25\nall,.4\n", "1,1\n2,1\n"), ("1,.5\nALL,.4\n2,.25\n", "1,1\n2,1\nAll,.9\n")):
        assert [row["n"] for row in rows(*tables(f"query,AP\n{a}", f"query,AP\n{b}"))] == ["2"]
    # the column of ids decides the pairs
    args = tables("query,AP\n301,.5\n302,.1\n", "AP,query\n.2,302\n.7,301\n")
    found = json.loads(compare(*args, "-q", "-f", "json", "--quiet").out)["per_query"]
    assert found == {"301": {"a": {"AP": 0.5}, "b": {"AP": 0.7}}, "302": {"a": {"AP": 0.1}, "b": {"AP": 0.2}}}
    args = tables("utt,AP\nx,1\ny,0\n", "AP,query\n1,x\n1,y\n")
    assert "a.csv: no query column (" in fails("compare", *args)
    assert [row["n"] for row in rows(*args, "--columns", "query=utt")] == ["2"]
    assert "tables of values have query=NAME only" in fails("compare", *args, "--columns", "document=x")


def test_labels_name_tables() -> None:
    tables("query,AP\n1,1\n2,0\n", "query,AP\n1,1\n2,1\n")
    Path("both.tsv").write_text("query\tmetric\told\tnew\n1\tAP\t1\t0\n2\tAP\t1\t1\nall\tAP\t1\t.5\n")
    Path("more").mkdir()
    Path("more/new.csv").write_text(Path("a.csv").read_text())
    for line, expected in {
        "old=a.csv new=b.csv --baseline new": [("new", "old")],
        "old=a.csv new=b.csv --baseline b.csv": [("new", "old")],
        "x=both.tsv old=a.csv": [("x:old", "x:new"), ("x:old", "old")],
        "both.tsv a=a.csv b.csv": [("old", "new"), ("old", "a"), ("old", "b")],
        # only the name that two runs have becomes a path
        "both.tsv more/new.csv": [("old", "both.tsv:new"), ("old", "more/new.csv")],
    }.items():
        assert runs_of("--values", *line.split()) == expected, line


def test_tables_of_values() -> None:
    values = per_query("good.run", "AP")
    Path("a.csv").write_bytes(b"topic,AP\r\n" + "".join(f"{q},{v!r}\r\n" for q, v in values.items()).encode())
    full = ("--digits", "full", "-m", "AP", "-q", "--quiet")
    gradeval("qrels", "fair.run", *full, "-f", "tsv", "-o", "b.tsv")
    gradeval("qrels", "poor.run", *full, "-f", "trec", "-o", "c")
    found = rows("--values", "a.csv", "b.tsv", "c", "--digits", "full")
    expected = rows("qrels", "good.run", "fair.run", "poor.run", "-m", "AP", "--digits", "full")
    assert [(row["baseline"], row["run"]) for row in found] == [("a", "fair"), ("a", "c")]
    for row, same in zip(found, expected, strict=True):
        assert row == {**same, "baseline": "a", "run": row["run"]}
    Path("c").write_bytes(gzip.compress(Path("c").read_bytes()))
    assert runs_of("--values", "a.csv", "c", "-m", "map") == [("a", "c")]


def read_text(tmp_path: Path, text: str | bytes) -> list[ValueTable]:
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "t").write_bytes(data)
    return read_values(Source(tmp_path / "t"))


def values(table: ValueTable) -> dict[str, dict[str, float]]:
    return {metric: dict(of) for metric, of in table.values.items()}


HEAD = "The first line names the columns: one of query ids, and one for each metric"
EXPECTED = {"AP": {"q1": 0.5, "q2": 0.25}, "P@5": {"q1": 1.0, "q2": 0.2}}


@each("text", [
    "query,AP,P@5\nq1,0.5,1\nq2,.25,2e-1\n",
    "query,AP,P@5\r\nq1,0.5,1\r\n\r\nq2,.25,2e-1\r\n",
    'qid,AP,"P@5"\n"q1", 0.5,1\nq2,.25,"0.2"',
    "query\tAP\tP@5\nq1\t0.5\t1\nq2\t0.25\t0.2\n",
    "query;AP;P@5\nq1;0.5;1\nq2;0.25;0.2\n",
    "\ufeffquery,AP,P@5\nq1,0.5,1\nq2,.25,.2\n",
    "AP,Query ID,P@5\n0.5,q1,1\n.25,q2,.2\n",
    "id,AP,P@5\nq1,0.5,1\nq2,.25,.2\n",
    "AP,qid,query,P@5\n0.5,q1,a text,1\n.25,q2,another,.2\n",
])  # fmt: skip
def test_columns(tmp_path: Path, text: str) -> None:
    [table] = read_text(tmp_path, text)
    assert values(table) == EXPECTED
    assert list(table.queries) == ["q1", "q2"]
    assert table.name == ""


def test_other_columns_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("AP,utterance,qid\n0.5,u1,7\n")
    [table] = read_values(Source(tmp_path / "t"), "utterance")
    assert values(table) == {"AP": {"u1": 0.5}}
    (tmp_path / "t").write_text("AP,qid\n0.5,7\n")
    assert values(read_values(Source(tmp_path / "t"), "utterance")[0]) == {"AP": {"7": 0.5}}
    # ids are the bytes they are
    [table] = read_text(tmp_path, b'query,AP\n"\xff,\n""",1\n\xe2\x80\xa8,2\n')
    assert list(table.queries) == ['\udcff,\n"', "\u2028"]
    # undefined values
    for text in ("", "nan", "NaN", "NA", "null", "None", "n/a"):
        [table] = read_text(tmp_path, f"query,AP\nq1,{text}\nq2,1\n")
        assert math.isnan(table.values["AP"]["q1"])
    # compressed
    assert values(read_text(tmp_path, gzip.compress(b"query,AP\nq1,1\n"))[0]) == {"AP": {"q1": 1.0}}


def test_rows_per_value(tmp_path: Path) -> None:
    text = "query\tmetric\ta\tb\nq1\tAP\t0.5\t1\nq1\trelstring\t1\t0\nq2\tAP\t.25\tnan\nall\tAP\t.3\t1\n"
    first, second = read_text(tmp_path, text)
    assert (first.name, values(first)) == ("a", {"AP": {"q1": 0.5, "q2": 0.25}})
    assert second.name == "b" and second.values["AP"]["q1"] == 1
    assert math.isnan(second.values["AP"]["q2"])
    with_ends = "run\tquery\tmetric\tvalue\tlow\thigh\na\tq1\tAP\t0.5\t.4\t.6\n"
    assert values(read_text(tmp_path, with_ends)[0]) == {"AP": {"q1": 0.5}}
    # gradevals own rows
    rows = ["a\tq1\tAP\t0.5", "a\tq1\tP@5\t1", "a\tq2\tAP\t0.25", "a\tq2\tP@5\t0.2", "a\tall\tAP\t0.375"]
    text = "run\tquery\tmetric\tvalue\n" + "\n".join(rows) + '\nb\t"q1\tAP\tnan\nb\tq1\trelstring\t1-0\n'
    first, second = read_text(tmp_path, text)
    assert (first.name, values(first)) == ("a", EXPECTED)
    assert second.name == "b" and list(second.queries) == ['"q1']  # own TSV has no quotes
    assert math.isnan(second.values["AP"]['"q1'])
    csv = 'run,query,metric,value\n"a,1","q1",AP,0.5\n'
    assert values(read_text(tmp_path, csv)[0]) == {"AP": {"q1": 0.5}}
    # trec evals rows
    rows = ("runid all STANDARD", "num_ret q1 10", "map q1 0.5000", "map q2 0.25", "relstring q2 '10-'")
    text = "".join("{:22}\t{}\t{}\n".format(*row.split()) for row in (*rows, "map all 0.3750"))
    [table] = read_text(tmp_path, text)
    assert values(table) == {"num_ret": {"q1": 10.0}, "map": {"q1": 0.5, "q2": 0.25}}
    assert list(table.queries) == ["q1", "q2"]


@each("text, message", [
    ('{"gradeval": 1}', "t: this is JSON. Compare saved results with the qrels and without --values: "
     "gradeval compare QRELS RESULT.json ..."),
    ("query\nq1\n", f"t:1: there is one column only. {HEAD}"),
    ("q1,0.5\nq2,1\n", f"t:1: column 2 is named '0.5'. {HEAD}"),
    ("query,AP,\nq1,1,2\n", f"t:1: column 3 is named ''. {HEAD}"),
    ("AP,RR\n0.5,1\n", "t: no query column (queryid, qid, topicid, userid, uid, query, topic, user, "
     "querytext); the "
     "columns are 'AP', 'RR'. Name it with --columns query=NAME"),
    ("id,query,AP\n0,7,1\n",
     "t: the query column may be 'query' or 'id'. Choose with --columns query=NAME"),
    (",AP\n0,1\n1,2\n2,0\n", f"t:1: column 1 is named ''. {HEAD}"),
    ("Unnamed: 0,query,AP\n0,q,1\n", f"t:1: column 1 is named 'Unnamed: 0'. {HEAD}"),
    ("query\tmetric\ta\ta\nq1\tAP\t1\t1\n", f"t:1: column 4 is named 'a' too. {HEAD}"),
    ("query,AP,AP\nq1,1,2\n", f"t:1: column 3 is named 'AP' too. {HEAD}"),
    ("query,AP\nq1,1\nq1,2\n", "t:3: AP of query 'q1' appears twice"),
    ("query,AP\n,1\n", "t:2: the query id is missing"),
    ("query,AP\nq1\nq2,1,2\n", "t:2: 1 field where a line has 2\nt:3: 3 fields where a line has 2"),
    ("query,AP\nq1,x\n", "t:2: the value 'x' of AP is not a number up to 1e+150"),
    ("query,AP\nq1,inf\n", "t:2: the value 'inf' of AP is not a number up to 1e+150"),
    ("query,AP\nq1,-1e151\n", "t:2: the value '-1e151' of AP is not a number up to 1e+150"),
    ('query,AP\n"q1,1\n', "t:2: this is not CSV (unexpected end of data)"),
    ('query,AP\n"a\nb",1\n"q"1,1\n', "t:4: this is not CSV (',' expected after '\"')"),
    ("map\tq1\t0.5\nmap\tq1\t0.6\n", "t:2: map of query 'q1' appears twice"),
    ("map\tq1\t0.5\nmap q1\n", "t:2: 2 fields where a line has 3"),
    ("map\tall\t0.5\n", "t: there are no values per query. Print them with -q"),
    ("run\tquery\tmetric\tvalue\n", "t: there are no values per query. Print them with -q"),
    ("query,AP\n", "t: there are no values per query. Print them with -q"),
])  # fmt: skip
def test_tables_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    assert error_of((InputError, InputErrors), read_text, tmp_path, text).replace(f"{tmp_path}/", "") == message


def test_tables_are_compared_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("qid,AP,lat\n1,.5,10\n2,.25,20\n3,1,30\n")
    Path("b.csv").write_text("AP,lat,qid\n.75,5,1\n.5,5,2\n")
    both = ["a.csv", Path("b.csv")]
    ap, lat = compare_tables(both, lower_is_better="lat", power=True).comparisons
    assert (ap.run, ap.baseline, ap.n, lat.n) == ("b", "a", 3, 2)
    assert lat.difference == -10 and (lat.won, lat.lost) == (2, 0) and ap.power is not None
    named = compare_tables({"x": "a.csv", "y": b"b.csv"}, "AP", queries="both")
    assert named.values.runs == ("x", "y")
    assert compare_tables(both, ["AP"], query_ids="1,2").comparisons[0].n == 2
    assert compare_tables(both, "AP", columns={"query": "qid"}).comparisons[0].n == 3
    for tables, options, what in (
        ({"x": {"q": {"d": 1}}}, {}, "a table of values must be a file, Results or a data frame, not {.q"),
        (
            [np.eye(2)] * 2,
            {},
            "a table of values must be a file, Results or a data frame, not array",
        ),  # which has no truth value
        (both, {"rel": 2}, "unknown option rel"),
        ("a.csv", {}, "there is 1 run"),
    ):
        raises(GradevalError, what, compare_tables, tables, **options)
