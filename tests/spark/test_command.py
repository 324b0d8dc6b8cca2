"""gradeval spark without PySpark: arguments and options are checked before Spark starts."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.command import fails, gradeval
from helpers import each_row, raises

from gradeval.errors import GradevalError, MetricError, OptionError
from gradeval.spark import evaluate
from gradeval.spark.results import Request
from gradeval.spark.sessions import NEEDED, named_runs, reads_local_files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two runs, and no PySpark: what would start it fails."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for name in ("HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text("q1 0 a 1\n")
    for name in "ab":
        Path(f"{name}.txt").write_text("q1 Q0 a 1 2 t\n")
    Path("o.json").write_text('{\n  "gradeval": "1.0",\n  "format": 1\n}\n')
    return tmp_path


@each_row(
    ("q.txt", "gradeval: Missing argument 'RUN...'. Try 'gradeval spark --help'."),
    ("q.txt a.txt --conf x", "gradeval: Invalid value for '--conf': 'x' is not NAME=VALUE"),
    ("q.txt nowhere.txt", "nowhere.txt: No such file or directory"),
    ("q.txt X=nowhere/*.txt", "nowhere/*.txt: No such file or directory"),
    ("q.txt o.json", "o.json: a saved result has no documents. Give the run that it was made from"),
    ("o.json a.txt", "o.json: a saved result has no documents. Give the qrels that it was made from"),
    ("q.txt X=a.txt X=b.txt", "gradeval: two runs have the label 'X'"),
    ("q.txt a.txt -m nDGC", "gradeval: nDGC: did you mean nDCG?"),
    ("q.txt a.txt -m runid", "gradeval: runid is text: on Spark, metrics are numbers"),
    ("q.txt a.txt --ties input", "gradeval: ties 'input' requires a column that orders the rows of the runs: a "
     "shuffle keeps no order. Name it with --columns order=NAME"),
    ("q.txt a.txt -o x.xlsx", "gradeval: cannot infer a format from x.xlsx: the endings are .txt, .tsv,"),
    ("q.txt a.txt --tie-range -f trec", "gradeval: --tie-range and -f trec are mutually exclusive"),
    ("q.txt a.txt --columns foo=x", "gradeval: columns must be some of query=NAME, document=NAME, grade=NAME, "
     "score=NAME, distance=NAME, rank=NAME, subtopic=NAME, judge=NAME, run=NAME, order=NAME, "
     "each once, not 'foo=x'"),
    ("q.txt a.txt -o b.parquet", "gradeval: b.parquet exists; choose another name, or remove it"),
    ("q.txt X=a.txt -o a.txt", "gradeval: --output a.txt: it is one of the input files"),
    ("q.txt a.txt --baseline a", "gradeval: there is 1 run. Give two runs or more"),
    ("q.txt a.txt b.txt --baseline c", "gradeval: no run is named 'c': there are a, b"),
    ("q.txt a.txt b.txt --confidence 90", "gradeval: --confidence requires --baseline or --all-pairs."),
    ("q.txt a.txt b.txt --all-pairs -f jsonl", "gradeval: A comparison has no format jsonl. Formats: table,"),
    ("q.txt a.txt b.txt --all-pairs --by-level", "gradeval: --by-level is of evaluations; a comparison has no"),
    ("q.txt a.txt b.txt --all-pairs -m gm_map", "gradeval: gm_map has no value for each query, so runs cannot"),
    ("q.txt a.txt b.txt --all-pairs --correction maxt", "gradeval: Invalid value for '--correction': 'maxt'"),
)  # fmt: skip
def test_errors_are_found_before_spark_starts(args: str, error: str) -> None:
    Path("b.parquet").mkdir(exist_ok=True)
    assert fails("spark", *args.split()).startswith(error)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read() -> None:
    Path("a.txt").chmod(0)
    assert fails("spark", "q.txt", "a.txt") == "a.txt: Permission denied"


def test_no_file_that_is_read_is_written() -> None:
    os.makedirs("runs/of a")
    Path("runs/of a/part.tsv").write_text("q1 Q0 a 1 2 t\n")
    said = "gradeval: --output runs/of a/part.tsv: it is one of the input files"
    for run in ("X=runs/of a", "runs/*", "runs/{of a,b}", f"file://{os.getcwd()}/runs", "runs", "runs/[o]*/"):
        assert fails("spark", "q.txt", run, "-o", "runs/of a/part.tsv") == said, run


def test_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    for args in ("q.txt a.txt", "q.txt a.txt b.txt --baseline b.txt", "s3a://x/y hdfs:/z", "{q,r}.txt a.txt"):
        assert fails("spark", *args.split()).startswith(f"gradeval: {NEEDED} (pyspark")
    assert reads_local_files([])
    assert not reads_local_files([("spark.hadoop.fs.defaultFS", "hdfs://x:9000")])
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")  # files of a cluster are not looked for here
    assert fails("spark", "nowhere.txt", "nowhere.run").startswith(f"gradeval: {NEEDED}")


def test_names_of_patterns() -> None:
    paths = {
        "runs/new/*.parquet": "new",
        "runs/new/part-*": "new",
        "runs/bm25-*.csv.gz": "bm25",
        "runs/[ab]/dense*.parquet": "dense",
        "new/*/*.parquet": "new",
        "*.parquet": "*",
        "runs/new.parquet": "new",
        "s3a://bucket/runs/new/": "new",
    }
    assert {path: next(iter(named_runs("q.txt", [path], None, False)[0])) for path in paths} == paths


def test_groups_leave_out_text() -> None:
    request = Request.of("AP official", {})
    names = [str(spec) for spec in request.specs]
    assert "runid" not in names
    assert names[:3] == ["AP", "num_q", "num_ret"]
    [notice] = request.notices
    assert str(notice) == "1 metric of a group has no number for each query, excluded: runid"
    assert notice.informational
    [notice] = Request.of(["all_trec"], {}).notices
    assert notice.rule == "runid, relstring"
    raises(MetricError, "relstring is text", Request.of, "official relstring", {})
    assert Request.of("AP", {}).notices == ()


def test_options_of_python() -> None:
    for options, said in (
        ({"jobs": 2}, "unknown option jobs: the options are buckets, rel, depth, .*, columns, .*, duplicates$"),
        ({"buckets": 0}, "buckets must be an integer from 1 to 100000, not 0"),
        ({"ties": "input"}, r"Name it with columns=\{'order': NAME\}"),
        ({"columns": {"row": "x"}}, "run=NAME, order=NAME, each once, not {'row': 'x'}"),
        ({"columns": [1, 2]}, "columns cannot be read from "),
        ({"rel": "x"}, "rel must be a finite number"),
        ({"rel": -1}, "rel must be at least 0"),
    ):
        raises(OptionError, said, evaluate, None, None, "AP", **options)


def test_pyspark_or_java_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    raises(GradevalError, r"pip install 'gradeval\[spark\]'.* \(pyspark", evaluate, 1, 2)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    said = fails("spark", "q.txt", "a.txt")
    assert said.startswith(f"gradeval: {NEEDED} (pyspark") and said.endswith("java not found)")


def test_help() -> None:
    said = gradeval("spark", "--help").out
    for part in ("gradeval spark qrels.parquet OLD=runs/old NEW=runs/new --baseline OLD", "--master",
                 "pip install 'gradeval[spark]'", ".jsonl or .json; otherwise trec"):  # fmt: skip
        assert part in " ".join(said.split())
    assert not [part for part in ("LETOR", "detected from the content", "maxT") if part in said]
