"""gradeval spark prints what gradeval eval prints, of files of every format that Spark reads."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.command import gradeval

import gradeval as gradeval_package
from gradeval import evaluate
from gradeval.errors import named
from gradeval.options import Options
from gradeval.spark.command import spark_command
from gradeval.spark.sessions import opened

if not os.environ.get("GRADEVAL_SPARK"):
    pytest.skip("make test-spark runs them", allow_module_level=True)

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 2 t\nq1 Q0 x 2 1 t\nq2 Q0 c 1 2 t\nq2 Q0 a 2 1.5 t\n"
NAMES = ("bm25", "dense")
ROWS = [line.split() for line in RUN.splitlines()]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text(QRELS)
    Path("r.txt").write_text(RUN)
    return tmp_path


def table(kind: str) -> str:
    rows = [(q, d, s) for q, _, d, _, s, _ in ROWS]
    if kind == "jsonl":
        return "".join(json.dumps({"qid": q, "docno": d, "score": float(s)}) + "\n" for q, d, s in rows)
    mark = {"csv": ";", "tsv": "\t"}[kind]
    lines = [mark.join(("qid", "docno", "score")), *(mark.join((q, f'"{d}"', s)) for q, d, s in rows)]
    return "\n".join(lines) + "\n"


def both(spark: Any) -> Any:
    rows = [(name, q, d, float(s)) for name in ("a", "b") for q, _, d, _, s, _ in ROWS]
    return spark.createDataFrame(rows, "run string, query_id string, doc_id string, score double")


SUBTOPICS = "q1 s1 a 1, q1 s2 a 0, q1 s1 x 0, q1 s2 x 3, q2 s1 a 1, q2 s1 c 1, q2 s9 c 2, q2 s3 e 1"


@pytest.mark.parametrize("kind", ["trec", "csv", "parquet"])
def test_subtopics(kind: str, spark: Any) -> None:
    rows, path = [row.split() for row in SUBTOPICS.split(", ")], f"subtopics.{kind}"
    Path("subtopics.trec").write_text("".join(" ".join(row) + "\n" for row in rows))
    names = ["query", "subtopic", "doc", "grade"]
    if kind == "csv":
        Path(path).write_text("".join(",".join(row) + "\n" for row in (names, *rows)))
    elif kind == "parquet":
        typed = [(*row[:3], int(row[3])) for row in rows]
        spark.createDataFrame(typed, names).write.parquet(str(Path(path).resolve()))
    metrics = "alpha_nDCG@2 StRecall(of=all) AP_IA nDCG"
    for options in (["-m", metrics], ["-m", metrics, "--zero-grade", "1"], ["-m", "AP", "--by-level"]):
        expected = gradeval("subtopics.trec", "r.txt", *options)
        found = gradeval("spark", path, "r.txt", *options, "--buckets", "3")
        assert (found.code, found.out) == (0, expected.out)
        assert found.err == expected.err.replace("subtopics.trec", path)


def test_prints_what_eval_prints() -> None:
    for options in ("", "--tie-range -m AP,nDCG@2", "--query-ids q2", "--by-level", "-f json"):
        expected, found = (gradeval(*start, "q.txt", "r.txt", *options.split()) for start in ([], ["spark"]))
        assert (found.code, found.err) == (0, expected.err)
        assert found.out == expected.out or "json" in options
    one, other = json.loads(found.out), json.loads(expected.out)
    assert one["runs"][0]["summary"] == other["runs"][0]["summary"]
    assert one["notices"] == other["notices"]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_formats(kind: str) -> None:
    Path(f"r.{kind}").write_text(table(kind))
    Path("parts").mkdir()
    for number in range(2):
        Path(f"parts/part-{number}.{kind}").write_text(table(kind))
    expected = gradeval("q.txt", "r.txt").out
    assert gradeval("spark", "q.txt", f"r.{kind}").out == expected
    assert gradeval("spark", "q.txt", f"r=parts/part-1*.{kind}").out == expected
    twice = gradeval("spark", "q.txt", "parts")
    assert twice.code == 2
    assert "parts: query 'q1', document 'a': duplicate document for its query" in twice.err


def test_parquet_and_several_runs(spark: Any, folder: Path) -> None:
    both(spark).write.parquet(str(folder / "runs.parquet"))
    done = gradeval("spark", "q.txt", "runs.parquet", "-m", "AP", "-o", "values.parquet")
    assert done.out == "run\tquery\tmetric\tvalue\na\tall\tAP\t1.0000\nb\tall\tAP\t1.0000\n"
    values = spark.read.parquet(str(folder / "values.parquet"))
    assert values.columns == ["run", "query", "metric", "value"]
    assert sorted(map(tuple, values.collect())) == [(r, q, "AP", 1.0) for r in "ab" for q in ("q1", "q2")]
    again = gradeval("spark", "q.txt", "runs.parquet", "-o", "values.parquet")
    assert (again.code, again.out) == (2, "")
    assert again.err == "gradeval: values.parquet exists; choose another name, or remove it\n"
    assert values.agg({"value": "avg"}).collect()[0][0] == 1.0


def test_errors() -> None:
    Path("bad.txt").write_text("q1 Q0 a 1 2 t\nq1 Q0 x 2 abc t\nq2 Q0 c 1\n")
    done = gradeval("spark", "q.txt", "bad.txt", "r.txt", "-m", "AP")
    assert (done.code, done.out) == (2, "run\tquery\tmetric\tvalue\nr\tall\tAP\t1.0000\n")
    assert done.lines[:2] == [
        "bad.txt: line 'q1 Q0 x 2 abc t': the score 'abc' is not a number",
        "bad.txt: line 'q2 Q0 c 1': 4 fields where a run has 6 (query Q0 document rank score tag)",
    ]
    Path("r.csv").write_text(table("csv"))
    Path("head.csv").write_text("qid;docno;score\n")
    Path("empty.txt").touch()
    Path("empty.csv").touch()
    Path("array.json").write_text('[{"query_id": "q1"}]\n')
    Path("empty").mkdir()
    for args, said in (
        ("q.txt nowhere.txt", "nowhere.txt: No such file or directory"),
        ("q.txt *.nothing", "*.nothing: No such file or directory"),
        ("q.txt r.txt --ties input --columns order=line", "r.txt: no column named 'line'"),
        ("q.txt r.txt --query-ids q9", "gradeval: --query-ids: query 'q9' is not in q.txt"),
        ("r.txt r.txt", "r.txt: line 'q1 Q0 a 1 2 t': 6 fields where qrels have 4"),
        ("q.txt r.csv --columns query=user", "gradeval: columns: query=user is no column of any table"),
        ("q.txt r.csv --columns run=sys", "r.csv: no column named 'sys'; the columns are 'qid', 'docno'"),
        ("q.txt r.csv --run-format parquet", "r.csv: file:/"),
        ("q.txt empty.csv", "empty.csv: the file is empty"),
        ("q.txt array.json", "array.json:1: the first line is not a JSON object. Spark reads"),
        ("q.txt head.csv", "head.csv: no data: it has no rows"),
        ("q.txt empty.txt", "empty.txt: no data: it has no rows"),
        ("q.txt empty --run-format parquet", "empty: [UNABLE_TO_INFER_SCHEMA] "),
        ("q.txt gone://x/y", "gone://x/y: No FileSystem for scheme"),
    ):
        done = gradeval("spark", *args.split())
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(said)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_lines_that_are_no_rows_of_a_table(kind: str) -> None:
    """A field more or less than the header has, JSON that is none, a key twice: errors, as in eval."""
    mark = {"csv": ";", "tsv": "\t"}.get(kind, "")
    if kind == "jsonl":
        twice = [
            '{"qid": "q1", "docno": "y", "docno": "z", "score": 1.5}',
            '{"qid": "q1", "docno": "y", "score": 1.5, "from": [{"a": 1, "a": 2}]}',
        ]
        wrong = dict.fromkeys(twice, "a key is in the object twice")
        no_objects = ['{"qid": "q1", "docno": "y"', "[1]", '{"qid": "q1", "docno": "y\tz", "score": 1}']
        wrong |= dict.fromkeys(no_objects, "not a valid JSON object")
    else:
        said = "not as many fields as the header, which has 3"
        wrong = dict.fromkeys([mark.join(("q1", "y", "1.5", "3")), mark.join(("q1", "y"))], said)
    Path(f"r.{kind}").write_text(table(kind))
    assert gradeval("spark", "q.txt", f"r.{kind}", "--quiet").code == 0
    for line, what in wrong.items():
        Path(f"bad.{kind}").write_text(table(kind) + line + "\n")
        assert gradeval("q.txt", f"bad.{kind}").code == 2
        done = gradeval("spark", "q.txt", f"bad.{kind}", "-m", "AP")
        assert (done.code, done.out) == (2, "")
        assert done.lines[0] == f"bad.{kind}: line {named(line)}: {what}"
    Path(f"blank.{kind}").write_text(table(kind).replace("\n", "\n\n"))
    expected = gradeval("q.txt", "r.txt").out.replace("r\t", "blank\t")
    assert gradeval("spark", "q.txt", f"blank.{kind}").out == expected


def test_values_of_the_runs_that_could_be_evaluated(spark: Any, folder: Path) -> None:
    """A bad row fails its run, of which nothing is written, not even the values of other queries."""
    Path("bad.txt").write_text(RUN.replace("2 1.5", "2 nan"))
    Path("other.txt").write_text("q9 Q0 a 1 2 t\n")
    args = ("spark", "q.txt", "bad.txt", "r.txt", "other.txt", "-m", "AP", "--buckets", "7", "--quiet")
    done = gradeval(*args, "-o", "values.parquet")
    assert (done.code, done.out) == (2, "run\tquery\tmetric\tvalue\nr\tall\tAP\t1.0000\n")
    assert len(done.lines) == 2
    values = spark.read.parquet(str(folder / "values.parquet")).collect()
    assert sorted(map(tuple, values)) == [("r", "q1", "AP", 1.0), ("r", "q2", "AP", 1.0)]
    none = gradeval("spark", "q.txt", "bad.txt", "-m", "AP", "--quiet", "-o", "none.parquet")
    assert (none.code, none.out, none.lines[-1]) == (2, "", "gradeval: none.parquet was not written")
    assert not Path("none.parquet").exists()


def test_comparison(spark: Any, folder: Path) -> None:
    sample = Path(__file__).resolve().parents[2] / "sample_data" / "search"
    files = [str(sample / name) for name in ("qrels.txt", "bm25.run", "dense.run", "hybrid.run")]
    more = ("-m", "AP nDCG@10")
    for options in (("--baseline", "dense"), ("--all-pairs", "--correction", "bh", "-f", "md")):
        expected = gradeval("compare", *files, *more, *options)
        done = gradeval("spark", *files, *more, *options, "-o", "values.parquet")
        assert (done.code, done.err) == (0, expected.err)
        assert done.out == expected.out
        values = spark.read.parquet(str(folder / "values.parquet"))
        assert {row.metric for row in values.select("metric").distinct().collect()} == {"AP", "nDCG@10"}
        shutil.rmtree("values.parquet")
    bad = gradeval("spark", *files[:3], "q.txt", *more, "--baseline", "bm25", "--quiet")
    assert (bad.code, bad.out) == (2, "")
    assert bad.err.startswith("q.txt: line 'q1 0 a 1': ")


def test_a_table_of_several_runs_is_given_alone(spark: Any, folder: Path) -> None:
    frame = both(spark)
    frame.write.parquet(str(folder / "both.parquet"))
    frame.where("run = 'a'").write.parquet(str(folder / "one.parquet"))
    said = (
        "both.parquet: it has several runs (column run), such as 'a' and 'b'. Give it alone, and without a name"
    )
    for runs in (("both.parquet", "r.txt"), ("X=both.parquet",)):
        done = gradeval("spark", "q.txt", *runs, "-m", "AP")
        assert (done.code, done.out, done.lines) == (2, "", [said])
    done = gradeval("spark", "q.txt", "X=one.parquet", "r.txt", "-m", "AP")
    assert done.out.splitlines()[1:] == ["X\tall\tAP\t1.0000", "r\tall\tAP\t1.0000"]
    done = gradeval("spark", "q.txt", "both.parquet", "-m", "AP", "--baseline", "b")
    assert done.out.splitlines()[1].startswith("all\ta\tb\tAP\t2\t1.0000\t1.0000")
    done = gradeval("spark", "q.txt", "both.parquet", "--baseline", "c")
    assert (done.code, done.lines) == (2, ["gradeval: no run is named 'c': there are a, b"])


def test_strict() -> None:
    Path("short.txt").write_text("".join(RUN.splitlines(keepends=True)[:1]))
    done = gradeval("spark", "q.txt", "short.txt", "--strict", "-o", "values.parquet")
    assert (done.code, done.out) == (2, "")
    assert "warning: short: 1 judged query is not in the run ('q2'), counted as 0 [missing]" in done.lines
    assert done.lines[-1] == "gradeval: values.parquet was not written"
    assert not Path("values.parquet").exists()


def test_the_guide(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).resolve().parents[2]
    section = (root / "gradeval" / "guide" / "spark.md").read_text("utf-8")
    lines = section[section.index("```py\n") + 6 :].partition("```")[0]
    sample = root / "sample_data" / "search"
    runs = {name: opened(spark, str(sample / f"{name}.run"), "score", Options()).frame for name in NAMES}
    judged = opened(spark, str(sample / "qrels.txt"), "grade", Options()).frame
    monkeypatch.chdir(folder)
    lines = lines.replace("values.parquet", str(folder / "values.parquet"))
    exec(lines, names := {"gradeval": gradeval_package, "qrels": judged, "runs": runs})
    expected = evaluate(sample / "qrels.txt", [sample / "bm25.run", sample / "dense.run"], "nDCG@10 AP")
    assert names["results"].summary().means == pytest.approx(expected.means, rel=1e-12)
    assert len(spark.read.parquet(str(folder / "values.parquet")).columns) == 4
    command = section[section.index("$ gradeval spark") + 2 :].partition("\n")[0].split()
    known = {option for param in spark_command.params for option in param.opts}
    assert {word for word in command if word.startswith("-")} <= known
    monkeypatch.chdir(sample)
    shown, _, output = section[section.index("$ gradeval spark qrels.txt") + 2 :].partition("\n")
    assert gradeval(*shlex.split(shown)[1:]).out == output.partition("```")[0]


def test_a_process_of_its_own_says_nothing_else() -> None:
    command = [sys.executable, "-m", "gradeval", "spark", "q.txt", "r.txt", "-m", "AP", "--master", "local[1]"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "run\tquery\tmetric\tvalue\nr\tall\tAP\t1.0000\n", done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("note: ")] == []
    assert done.returncode == 0
