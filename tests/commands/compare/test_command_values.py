"""gradeval compare --values: tables of values, their labels, columns and missing queries."""

import gzip
import json
from pathlib import Path

import pytest
from cli.command import fails, gradeval

from .calls import compare, per_query, rows

pytestmark = pytest.mark.usefixtures("compare_files")


def tables(a: str, b: str) -> tuple[str, str, str]:
    Path("a.csv").write_text(a)
    Path("b.csv").write_text(b)
    return "--values", "a.csv", "b.csv"


def test_missing_and_undefined_values_of_tables() -> None:
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


def test_a_row_all_is_the_summary() -> None:
    for a, b in (("1,.5\n2,.25\nall,.4\n", "1,1\n2,1\n"), ("1,.5\nALL,.4\n2,.25\n", "1,1\n2,1\nAll,.9\n")):
        assert [row["n"] for row in rows(*tables(f"query,AP\n{a}", f"query,AP\n{b}"))] == ["2"]


def test_the_column_of_ids_decides_the_pairs() -> None:
    args = tables("query,AP\n301,.5\n302,.1\n", "AP,query\n.2,302\n.7,301\n")
    found = json.loads(compare(*args, "-q", "-f", "json", "--quiet").out)["per_query"]
    assert found == {"301": {"a": {"AP": 0.5}, "b": {"AP": 0.7}}, "302": {"a": {"AP": 0.1}, "b": {"AP": 0.2}}}
    args = tables("utt,AP\nx,1\ny,0\n", "AP,query\n1,x\n1,y\n")
    assert "a.csv: no query column (" in fails("compare", *args)
    assert [row["n"] for row in rows(*args, "--columns", "query=utt")] == ["2"]
    assert "tables of values have query=NAME only" in fails("compare", *args, "--columns", "document=x")


def test_labels_name_tables() -> None:
    _, *paths = tables("query,AP\n1,1\n2,0\n", "query,AP\n1,1\n2,1\n")
    args = ("--values", f"old={paths[0]}", f"new={paths[1]}")
    for baseline in ("new", "b.csv"):
        assert [(one["baseline"], one["run"]) for one in rows(*args, "--baseline", baseline)] == [
            ("new", "old")
        ]
    assert "two runs have the label 'A'" in fails("compare", "--values", "A=a.csv", "A=b.csv")
    Path("both.tsv").write_text("query\tmetric\told\tnew\n1\tAP\t1\t0\n2\tAP\t1\t1\nall\tAP\t1\t.5\n")
    found = rows("--values", "x=both.tsv", "old=a.csv")
    assert [(one["baseline"], one["run"]) for one in found] == [("x:old", "x:new"), ("x:old", "old")]
    found = rows("--values", "both.tsv", "a=a.csv", "b.csv")
    assert [(one["baseline"], one["run"]) for one in found] == [("old", "new"), ("old", "a"), ("old", "b")]
    Path("more").mkdir()
    Path("more/new.csv").write_text(Path("a.csv").read_text())
    found = rows("--values", "both.tsv", "more/new.csv")  # only the name that two runs have becomes a path
    assert [(one["baseline"], one["run"]) for one in found] == [
        ("old", "both.tsv:new"),
        ("old", "more/new.csv"),
    ]


def write_tables() -> None:
    """a.csv, b.tsv (gradeval's own), c (trec_eval's): the same runs as good, fair and poor, AP only."""
    values = per_query("good.run", "AP")
    Path("a.csv").write_bytes(b"topic,AP\r\n" + "".join(f"{q},{v!r}\r\n" for q, v in values.items()).encode())
    full = ("--digits", "full", "-m", "AP", "-q", "--quiet")
    gradeval("qrels", "fair.run", *full, "-f", "tsv", "-o", "b.tsv")
    gradeval("qrels", "poor.run", *full, "-f", "trec", "-o", "c")


def test_tables_of_values() -> None:
    write_tables()
    found = rows("--values", "a.csv", "b.tsv", "c", "--digits", "full")
    expected = rows("qrels", "good.run", "fair.run", "poor.run", "-m", "AP", "--digits", "full")
    assert [(row["baseline"], row["run"]) for row in found] == [("a", "fair"), ("a", "c")]
    for row, same in zip(found, expected, strict=True):
        assert row == {**same, "baseline": "a", "run": row["run"]}
    data = Path("c").read_bytes()
    Path("c").write_bytes(gzip.compress(data))
    assert [row["run"] for row in rows("--values", "a.csv", "c", "-m", "map")] == ["c"]


def test_where_lower_is_better_a_missing_query_is_excluded_and_the_notice_says_so() -> None:
    args = tables("query,lat,AP\n1,5,1\n2,6,0\n3,7,1\n", "query,lat,AP\n1,4,1\n2,5,1\n")
    done = compare(*args, "-m", "lat", "--lower-is-better", "lat", "-f", "table")
    assert done.lines[0] == "warning: b: no values for 1 query of the other tables, excluded [missing_values]"
    assert "Means: of each run over its own 2 to 3 queries with a value;" in done.out
    done = compare(*args, "--lower-is-better", "lat")
    fate = "counted as 0, excluded for lat (lower is better)"
    assert done.lines[0] == f"warning: b: no values for 1 query of the other tables, {fate} [missing_values]"
    assert [row["n"] for row in rows(*args, "--lower-is-better", "lat")] == ["2", "3"]
    assert "Means: of each" not in compare(*args, "-f", "table").out
