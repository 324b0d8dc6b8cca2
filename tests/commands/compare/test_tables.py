"""Tables of values per query: gradeval's rows, trec_eval's, and CSV or TSV with a column for each metric."""

import gzip
import math
from pathlib import Path

import pytest
from helpers import each, error_of, raises

import gradeval
from gradeval.commands.compare.tables import ValueTable, read_values
from gradeval.errors import InputError, InputErrors
from gradeval.formats.sources import Source


def read(tmp_path: Path, text: str | bytes) -> list[ValueTable]:
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
    [table] = read(tmp_path, text)
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
    [table] = read(tmp_path, b'query,AP\n"\xff,\n""",1\n\xe2\x80\xa8,2\n')
    assert list(table.queries) == ['\udcff,\n"', "\u2028"]
    # undefined values
    for text in ("", "nan", "NaN", "NA", "null", "None", "n/a"):
        [table] = read(tmp_path, f"query,AP\nq1,{text}\nq2,1\n")
        assert math.isnan(table.values["AP"]["q1"])
    # compressed
    assert values(read(tmp_path, gzip.compress(b"query,AP\nq1,1\n"))[0]) == {"AP": {"q1": 1.0}}


def test_rows_per_value(tmp_path: Path) -> None:
    text = "query\tmetric\ta\tb\nq1\tAP\t0.5\t1\nq1\trelstring\t1\t0\nq2\tAP\t.25\tnan\nall\tAP\t.3\t1\n"
    first, second = read(tmp_path, text)
    assert (first.name, values(first)) == ("a", {"AP": {"q1": 0.5, "q2": 0.25}})
    assert second.name == "b" and second.values["AP"]["q1"] == 1
    assert math.isnan(second.values["AP"]["q2"])
    with_ends = "run\tquery\tmetric\tvalue\tlow\thigh\na\tq1\tAP\t0.5\t.4\t.6\n"
    assert values(read(tmp_path, with_ends)[0]) == {"AP": {"q1": 0.5}}
    # gradevals own rows
    rows = ["a\tq1\tAP\t0.5", "a\tq1\tP@5\t1", "a\tq2\tAP\t0.25", "a\tq2\tP@5\t0.2", "a\tall\tAP\t0.375"]
    text = "run\tquery\tmetric\tvalue\n" + "\n".join(rows) + '\nb\t"q1\tAP\tnan\nb\tq1\trelstring\t1-0\n'
    first, second = read(tmp_path, text)
    assert (first.name, values(first)) == ("a", EXPECTED)
    assert second.name == "b" and list(second.queries) == ['"q1']  # own TSV has no quotes
    assert math.isnan(second.values["AP"]['"q1'])
    csv = 'run,query,metric,value\n"a,1","q1",AP,0.5\n'
    assert values(read(tmp_path, csv)[0]) == {"AP": {"q1": 0.5}}
    # trec evals rows
    rows = ("runid all STANDARD", "num_ret q1 10", "map q1 0.5000", "map q2 0.25", "relstring q2 '10-'")
    text = "".join("{:22}\t{}\t{}\n".format(*row.split()) for row in (*rows, "map all 0.3750"))
    [table] = read(tmp_path, text)
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
def test_refused(tmp_path: Path, text: str, message: str) -> None:
    assert error_of((InputError, InputErrors), read, tmp_path, text).replace(f"{tmp_path}/", "") == message


# compared from Python


def test_tables_are_compared_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("qid,AP,lat\n1,.5,10\n2,.25,20\n3,1,30\n")
    Path("b.csv").write_text("AP,lat,qid\n.75,5,1\n.5,5,2\n")
    both = ["a.csv", Path("b.csv")]
    ap, lat = gradeval.compare_tables(both, lower_is_better="lat", power=True).comparisons
    assert (ap.run, ap.baseline, ap.n, lat.n) == ("b", "a", 3, 2)
    assert lat.difference == -10 and (lat.won, lat.lost) == (2, 0) and ap.power is not None
    named = gradeval.compare_tables({"x": "a.csv", "y": b"b.csv"}, "AP", queries="both")
    assert named.values.runs == ("x", "y")
    assert gradeval.compare_tables(both, ["AP"], query_ids="1,2").comparisons[0].n == 2
    assert gradeval.compare_tables(both, "AP", columns={"query": "qid"}).comparisons[0].n == 3
    for tables, options, what in (
        ({"x": {"q": {"d": 1}}}, {}, "a table of values must be a file, not a dict"),
        (both, {"rel": 2}, "unknown option rel"),
        ("a.csv", {}, "there is 1 run"),
    ):
        raises(gradeval.GradevalError, what, gradeval.compare_tables, tables, **options)
