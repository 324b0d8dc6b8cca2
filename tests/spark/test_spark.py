"""Spark's data frames evaluated are what files are, whatever the partitions; what fails, fails cleanly."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import error_of, raises
from metrics.test_every_option import QRELS, RUN

import gradeval
from gradeval.errors import GradevalError, InputError, OptionError
from gradeval.notices import NoticeKind
from gradeval.spark.results import bucket_function, in_buckets

from .tables import check, every_metric
from .test_kernel import CASES, RUNS

if not os.environ.get("GRADEVAL_SPARK"):
    pytest.skip("make test-spark runs them", allow_module_level=True)

pytestmark = pytest.mark.spark

QRELS_COLUMNS = "query_id string, doc_id string, relevance double"
ON_THE_WIRE = ("0 run", "cast(user as long) query", "doc_id document", "score number")
RUN_COLUMNS = "query_id string, doc_id string, score double"


def rows(of: Mapping[Any, Mapping[Any, float]]) -> list[tuple[Any, Any, float]]:
    return [(q, d, value) for q, documents in of.items() for d, value in documents.items()]


@pytest.fixture(scope="module")
def frames(spark: Any) -> tuple[Any, Any]:
    qrels = spark.createDataFrame(rows(QRELS), QRELS_COLUMNS).repartition(5, "doc_id")
    both = [(name, *row) for name, run in RUNS.items() for row in rows(run)]
    runs = spark.createDataFrame(both, f"run string, {RUN_COLUMNS}").repartition(3, "doc_id")
    return qrels.cache(), runs.cache()


BUCKETS = [(1, {}), (2, CASES[-1][1]), (7, {"rel": 2.0, "ties": "best"}), (64, {"zero_grade": 1.0, "depth": 5})]


@pytest.mark.parametrize("buckets, options", BUCKETS, ids=str)
def test_every_metric(frames: Any, buckets: int, options: dict[str, Any]) -> None:
    metrics = every_metric()
    results = gradeval.spark.evaluate(*frames, metrics, buckets=buckets, **options).persist()
    check(results, gradeval.evaluate(QRELS, RUNS, metrics, **options))
    results.unpersist()


def test_a_dict_of_frames_and_integer_ids(spark: Any) -> None:
    """Ids are the same whether they are integers or strings, and stay integers on the wire."""
    number = {q: n for n, q in enumerate(sorted({*QRELS, "zz"}), 100)}
    qrels = {number[q]: of for q, of in QRELS.items()}
    runs = {name: {number[q]: of for q, of in run.items()} for name, run in RUNS.items()}
    expected = gradeval.evaluate(
        {str(q): of for q, of in qrels.items()},
        {name: {str(q): of for q, of in run.items()} for name, run in runs.items()},
    )
    judged = spark.createDataFrame(rows(qrels), QRELS_COLUMNS.replace("query_id string", "user long"))
    as_long = RUN_COLUMNS.replace("query_id string", "user int")
    first = spark.createDataFrame(rows(runs["first"]), as_long)
    second = spark.createDataFrame(rows(runs["second"]), as_long)
    check(gradeval.spark.evaluate(judged, {"first": first, "second": second}), expected)
    texts = second.selectExpr("cast(user as string) user", "doc_id", "cast(score as string) score")
    results = gradeval.spark.evaluate(judged, {"first": first, "second": texts}, buckets=3)
    check(results, expected)
    assert [run.name for run in results.summary().runs] == ["first", "second"]
    wire = in_buckets(results._qrels.frame, first.selectExpr(*ON_THE_WIRE), 3)
    assert dict(wire.dtypes)["query"] == "bigint"


def test_columns_have_any_name_and_grades_are_real(spark: Any) -> None:
    judged = {q: {d: grade + n / 7 for n, (d, grade) in enumerate(of.items())} for q, of in QRELS.items()}
    expected = gradeval.evaluate(judged, {"run": RUN}, "AP nDCGphi rankDCG", zero_grade=0.1)
    columns = {"query": "the user", "document": "item.id", "grade": "stars", "score": "p"}
    options = {"columns": columns, "zero_grade": 0.1, "buckets": np.int64(2)}
    runs = spark.createDataFrame(rows(RUN), "`the user` string, `item.id` string, p float")
    qrels = spark.createDataFrame(rows(judged), "`the user` string, `item.id` string, stars double")
    for grade in ("double", "string"):
        cast = qrels.withColumn("stars", qrels.stars.cast(grade))
        check(gradeval.spark.evaluate(cast, {"run": runs}, "AP nDCGphi rankDCG", **options), expected)


def test_ranks_and_distances(spark: Any) -> None:
    qrels = spark.createDataFrame(rows(QRELS), QRELS_COLUMNS)
    far = [(q, d, -score) for q, d, score in rows(RUN)]
    expected = gradeval.evaluate(QRELS, {"run": RUN}, "AP nDCG@3")
    for name, role in (("distance", "distance"), ("Position", "rank")):
        runs = spark.createDataFrame(far, RUN_COLUMNS.replace("score", name))
        given = gradeval.spark.evaluate(qrels, {"run": runs}, "AP nDCG@3", columns={role: name})
        check(given, expected)
    found = gradeval.spark.evaluate(qrels, {"run": runs}, "AP nDCG@3").results()
    assert found.means.tolist() == given.results().means.tolist()
    by_rank = [(notice.subject, notice.rule) for notice in found.notices if notice.kind is NoticeKind.BY_RANK]
    assert by_rank == [("run", "Position")]
    runs = runs.withColumnRenamed("Position", "distance")
    what = r"a distance, of which the lowest comes first\. columns=\{'distance': 'distance'\} reads"
    raises(InputError, what, gradeval.spark.evaluate, qrels, {"run": runs})


def test_ties_in_the_order_of_a_column(spark: Any) -> None:
    ordered = [(q, d, score, n) for n, (q, d, score) in enumerate(rows(RUN))]
    runs = spark.createDataFrame(ordered, f"{RUN_COLUMNS}, line int").repartition(4, "doc_id")
    qrels = spark.createDataFrame(rows(QRELS), QRELS_COLUMNS)
    results = gradeval.spark.evaluate(qrels, {"run": runs}, ties="input", columns={"order": "line"}, buckets=2)
    check(results, gradeval.evaluate(QRELS, {"run": RUN}, ties="input"))
    what = "ties 'input' requires a column that orders"
    raises(OptionError, what, gradeval.spark.evaluate, qrels, runs, ties="input")


def test_strings_with_large_offsets(spark: Any, frames: Any) -> None:
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        check(gradeval.spark.evaluate(*frames, "AP", buckets=2), gradeval.evaluate(QRELS, RUNS, "AP"))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


def test_one_query_has_most_rows(spark: Any) -> None:
    """It is a bucket of its own size; of 40 buckets most are empty."""
    query = "if(id < 90000, 0, id % 7)"
    runs = spark.range(100_000).selectExpr(f"{query} query_id", "id doc_id", "hash(id) / 1e6 score")
    qrels = runs.where("doc_id % 97 = 0").selectExpr("query_id", "doc_id", "abs(hash(doc_id, 1)) % 4 relevance")
    results = gradeval.spark.evaluate(qrels, {"run": runs}, "nDCG@10 AP rankDCG", buckets=40)
    check(results, gradeval.evaluate(qrels.toArrow(), {"run": runs.toArrow()}, "nDCG@10 AP rankDCG"))


def jobs_of(spark: Any) -> int:
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


def test_a_wrong_schema_starts_no_job(spark: Any, frames: Any) -> None:
    before = jobs_of(spark)
    for schema, message in (
        ("query_id string, doc_id string, grades double", "no grade column"),
        ("query_id double, doc_id string, relevance double", "query id .column query_id. has the type double"),
        ("query_id string, doc_id string, relevance boolean", "grade .column relevance. has the type boolean"),
        ("query_id string, doc_id array<int>, relevance double", "id .column doc_id. has the type array"),
    ):
        raises(InputError, message, gradeval.spark.evaluate, spark.createDataFrame([], schema), frames[1])
    for options in ({"metrics": "nDGC"}, {"rel": "x"}, {"jobs": 2}, {"buckets": 0}, {"metrics": "runid"}):
        error_of(GradevalError, gradeval.spark.evaluate, *frames, **options)
    raises(InputError, "no column named 'line'", gradeval.spark.evaluate, *frames, columns={"order": "line"})
    assert jobs_of(spark) == before


def test_other_data_than_frames(spark: Any, frames: Any) -> None:
    """An error that says what to give, before any job."""
    before = jobs_of(spark)
    qrels, runs = frames
    raises(OptionError, "two runs have the label '1'", gradeval.spark.evaluate, qrels, {1: runs, "1": runs})
    joined = runs.alias("a").join(runs.alias("b"), "doc_id")
    twice = joined.select("a.query_id", "b.query_id", "doc_id", "a.score")
    what = r"the query column may be 'query_id' or 'query_id'\. Rename one"
    raises(InputError, what, gradeval.spark.evaluate, qrels, {"a": twice})
    read = "is not a data frame of Spark. Give one, such as spark.read.parquet(PATH), or a dict of them by"
    for data, said in (
        (("q.parquet", runs), f"qrels: 'q.parquet' (builtins.str) {read}"),
        ((qrels, Path("r.parquet")), f"runs: PosixPath('r.parquet') (pathlib.PosixPath) {read}"),
        ((qrels, [runs]), "runs: [DataFrame["),
        ((qrels, {}), "runs: no runs given"),
        ((qrels, {"a": {"q": {"d": 1}}}), f"a: {{'q': {{'d': 1}}}} (builtins.dict) {read}"),
        ((None, runs), f"qrels: None (builtins.NoneType) {read}"),
    ):
        assert error_of(InputError, gradeval.spark.evaluate, *data).startswith(said)
    for columns, said in (
        ({"query": "user"}, "columns: query=user is no column of any table; qrels has 'query_id'"),
        ({"score": "user"}, "runs: no column named 'user'; the columns are 'run', 'query_id'"),
        ({"run": "user"}, "runs: no column named 'user'"),
    ):
        raises(GradevalError, said, gradeval.spark.evaluate, qrels, runs, columns=columns)
    what = r"a: no score column .* Name it with columns=\{'score': NAME\}"
    raises(InputError, what, gradeval.spark.evaluate, qrels, {"a": runs.drop("score")})
    assert jobs_of(spark) == before


def test_results_are_shown_without_a_job(spark: Any, frames: Any) -> None:
    before = jobs_of(spark)
    qrels, runs = frames
    shown = "SparkResults(qrels='qrels', runs={}, metrics=['AP', 'nDCG@3'])"
    assert str(gradeval.spark.evaluate(qrels, runs, "AP nDCG@3")) == shown.format("column run")
    alone = runs.drop("run")
    assert str(gradeval.spark.evaluate(qrels, alone, "AP nDCG@3")) == shown.format("['run']")
    assert str(gradeval.spark.evaluate(qrels, {"a": alone}, "AP nDCG@3")) == shown.format("['a']")
    assert jobs_of(spark) == before
    what = r"a: it has several runs \(column run\), such as 'first' and 'sec"
    raises(InputError, what, gradeval.spark.evaluate(qrels, {"a": runs}, "AP").summary)


def test_a_bad_row_fails_cleanly(spark: Any, frames: Any) -> None:
    bad = spark.createDataFrame([("first", "q1", "x", math.nan)], f"run string, {RUN_COLUMNS}")
    results = gradeval.spark.evaluate(frames[0], frames[1].unionByName(bad), "AP", buckets=3)
    raises(GradevalError, r"first: query 'q1', document 'x': the score .* nan is", results.summary)
    listed = results.results()
    assert [one.name for one in listed.runs] == ["second"]
    raises(GradevalError, "query 'q1', document 'x'", results.per_query)
    results.unpersist()
    other = frames[1].selectExpr("run", "'z' || query_id query_id", "doc_id", "score")
    alone = gradeval.spark.evaluate(frames[0], other, "AP")
    raises(GradevalError, "first: it has no query in common with qrels", alone.per_query)
    assert gradeval.spark.evaluate(*frames, "AP").summary().runs, "the session goes on"


def test_nothing_to_evaluate(spark: Any, frames: Any) -> None:
    nothing = frames[1].where("false")
    for qrels, runs, said in (
        (frames[0], nothing, "runs: no data: it has no rows"),
        (frames[0].where("false"), frames[1], "no judgments given"),
        (frames[0], {"a": nothing}, "a: no data: it has no rows"),
    ):
        raises(InputError, said, gradeval.spark.evaluate(qrels, runs).summary)


def once(fault: Callable[[], object], function: Any, marker: str) -> Any:
    """The function of a bucket, with a fault the first time."""

    def faulty(batches):  # type: ignore[no-untyped-def]
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return function(batches)
        return fault()

    return faulty


@pytest.mark.parametrize("fault", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 1 / 0])
def test_a_lost_worker_changes_nothing(frames: Any, fault: Any, tmp_path: Path, monkeypatch: Any) -> None:
    from pyspark import cloudpickle

    import gradeval.spark.results as module

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    marker = tmp_path / "marker"
    monkeypatch.setattr(module, "bucket_function", lambda *job: once(fault, bucket_function(*job), str(marker)))
    expected = gradeval.evaluate(QRELS, RUNS)
    check(gradeval.spark.evaluate(*frames, buckets=3), expected)
    assert marker.exists()
