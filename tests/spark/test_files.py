"""gradeval spark prints what gradeval eval prints, of files of every format that Spark reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.command import gradeval
from shared_data import shared

import gradeval as gradeval_package
from gradeval import evaluate
from gradeval.cli.spark import spark_command
from gradeval.options import Options
from gradeval.registry.spec import parse
from gradeval.spark.files import evaluate_files, read_qrels, read_runs
from gradeval.spark.session import engine_errors

from .tables import check, every_metric

if not os.environ.get("GRADEVAL_SPARK"):
    pytest.skip("make test-spark runs them", allow_module_level=True)

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 2 t\nq1 Q0 x 2 1 t\nq2 Q0 c 1 2 t\nq2 Q0 a 2 1.5 t\n"
ROWS = [line.split() for line in RUN.splitlines()]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text(QRELS)
    Path("r.txt").write_text(RUN)
    return tmp_path


def table(kind: str) -> str:
    """The run as a file of this kind."""
    rows = [(q, d, s) for q, _, d, _, s, _ in ROWS]
    if kind == "jsonl":
        return "".join(json.dumps({"qid": q, "docno": d, "score": float(s)}) + "\n" for q, d, s in rows)
    mark = {"csv": ";", "tsv": "\t"}[kind]
    lines = [mark.join(("qid", "docno", "score")), *(mark.join((q, f'"{d}"', s)) for q, d, s in rows)]
    return "\n".join(lines) + "\n"


def test_prints_what_eval_prints() -> None:
    for more in (
        (),
        ("-f", "json"),
        ("--tie-range", "-m", "AP nDCG@2"),
        ("--query-ids", "q2"),
        ("--by-level",),
    ):
        expected, found = gradeval("q.txt", "r.txt", *more), gradeval("spark", "q.txt", "r.txt", *more)
        assert (found.code, found.err) == (0, expected.err)
        if "json" in more:
            one, other = json.loads(found.out), json.loads(expected.out)
            assert one["runs"][0]["summary"] == other["runs"][0]["summary"]
            assert one["notices"] == other["notices"]
        else:
            assert found.out == expected.out


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
    rows = [(name, q, d, float(s)) for name in ("a", "b") for q, _, d, _, s, _ in ROWS]
    frame = spark.createDataFrame(rows, "run string, query_id string, doc_id string, score double")
    frame.write.parquet(str(folder / "runs.parquet"))
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
    for args, said in (
        (("q.txt", "nowhere.txt"), "nowhere.txt: No such file or directory"),
        (("q.txt", "*.nothing"), "*.nothing: No such file or directory"),
        (("q.txt", "r.txt", "--ties", "input"), "gradeval: ties='input' requires a column that orders"),
        (("q.txt", "r.txt", "--query-ids", "q9"), "gradeval: --query-ids: query 'q9' is not in q.txt"),
        (("r.txt", "r.txt"), "r.txt: line 'q1 Q0 a 1 2 t': 6 fields where qrels have 4"),
        (("q.txt", "a=r.txt", "a=r.txt"), "gradeval: two runs have the label 'a'"),
    ):
        done = gradeval("spark", *args)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(said)


def test_strict() -> None:
    Path("short.txt").write_text("".join(RUN.splitlines(keepends=True)[:1]))
    done = gradeval("spark", "q.txt", "short.txt", "--strict", "-o", "values.parquet")
    assert (done.code, done.out) == (2, "")
    assert "warning: short: 1 judged query is not in the run, counted as 0" in done.lines
    assert not Path("values.parquet").exists()


REAL = {
    "robust03": ("robust03_qrels.txt.gz", "input.NLPR03vb10.gz", "input.humR03dc.gz"),
    "dl19": ("qrels.dl19-passage.txt", "BM25.dl19.txt", "REP_LLAMA.dl19.txt.gz"),
    "covid": ("qrels.covid-round5.txt.gz", "BM25.covid.txt"),
    "news": ("news_Facebook.qrels", "news_Facebook.ts36.run"),
}


@pytest.mark.parametrize(
    "name, buckets, options",
    [
        ("robust03", 7, {"depth": 100}),
        ("dl19", 2, {"rel": 2.0}),
        ("covid", 64, {"judged_only": True, "queries": "both"}),
        ("news", 1, {"zero_grade": 1.0, "ties": "worst"}),
    ],
)
def test_real_files(spark: Any, name: str, buckets: int, options: dict[str, Any]) -> None:
    """Every metric, bit for bit."""
    qrels, *runs = (str(shared(name, file)) for file in REAL[name])
    specs = parse(every_metric())
    with engine_errors():
        results = evaluate_files(spark, qrels, runs, specs, Options.of(**options), {}, buckets).persist()
        check(results, evaluate(qrels, runs, every_metric(), **options))
        results.unpersist()


def test_the_readme(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its three lines, and its command."""
    root = Path(__file__).resolve().parents[2]
    text = (root / "README.md").read_text("utf-8")
    section = text[text.index("## Spark\n") :]
    lines = section[section.index("```py\n") + 6 :].partition("```")[0]
    sample = root / "sample_data" / "search"
    runs = {name: read_runs(spark, str(sample / f"{name}.run"), None, {}, {}) for name in ("bm25", "dense")}
    named = {name: wire.frame.withColumnRenamed("number", "score") for name, wire in runs.items()}
    judged = read_qrels(spark, str(sample / "qrels.txt"), None, {}).frame.withColumnRenamed("number", "grade")
    monkeypatch.chdir(folder)
    lines = lines.replace("values.parquet", str(folder / "values.parquet"))
    exec(lines, given := {"gradeval": gradeval_package, "qrels": judged, "runs": named})
    expected = evaluate(sample / "qrels.txt", [sample / "bm25.run", sample / "dense.run"], "nDCG@10 AP")
    assert given["results"].summary().means == pytest.approx(expected.means, rel=1e-12)
    assert len(spark.read.parquet(str(folder / "values.parquet")).columns) == 4
    command = section[section.index("$ gradeval spark") + 2 :].partition("\n")[0].split()
    known = {option for param in spark_command.params for option in param.opts}
    assert {word for word in command if word.startswith("-")} <= known


def test_a_process_of_its_own_says_nothing_else() -> None:
    """What the Java machine would say on standard error is not shown."""
    command = [sys.executable, "-m", "gradeval", "spark", "q.txt", "r.txt", "-m", "AP", "--master", "local[1]"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "run\tquery\tmetric\tvalue\nr\tall\tAP\t1.0000\n"
    assert [line for line in done.stderr.splitlines() if not line.startswith("note: ")] == []
    assert done.returncode == 0
