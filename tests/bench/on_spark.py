"""gradeval.spark and its peers on a local Spark of two cores: `python -m tests.bench.on_spark ROWS`.

Prints a line for each measurement: its name, and the median seconds of interleaved warm calls, or for a ratio
what the first takes of the second. The peers are a cogroup that does nothing, which is the engine's own cost;
the nDCG of Spark's RankingEvaluator (MLlib); and, once on a tenth of the queries, a pandas function for each.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gradeval.spark
from gradeval.spark.results import Request, bucket_count, wire
from gradeval.spark.sessions import Input

from .inprocess import interleaved, say

CORES = 2
DEPTH, JUDGED = 100, 10


def write(folder: Path, rows: int) -> None:
    """Parquet files of qrels and a run, in random order of the queries, with the documents of each together."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(2)
    queries = rows // (DEPTH + JUDGED)
    step = 10_000
    for name in ("qrels", "run"):
        (folder / name).mkdir()
    for part, first in enumerate(range(0, queries, step)):
        count = min(step, queries - first)
        query = rng.permutation(count) + first
        document = rng.integers(0, 50_000, (count, DEPTH + 5)) * (DEPTH + 5) + np.arange(DEPTH + 5)
        grade = rng.choice(5, (count, JUDGED), p=(0.5, 0.2, 0.15, 0.1, 0.05)).astype(float)
        places = rng.permuted(np.tile(np.arange(DEPTH + 5), (count, 1)), axis=1)[:, :JUDGED]
        score = -np.sort(-rng.random((count, DEPTH)), axis=1)

        judged = np.take_along_axis(document, places, axis=1)
        for name, ids, column, values in (
            ("qrels", judged, "relevance", grade),
            ("run", document[:, :DEPTH], "score", score),
        ):
            rows = {"query_id": np.repeat(query, ids.shape[1]), "doc_id": ids.ravel(), column: values.ravel()}
            pq.write_table(pa.table(rows), folder / name / f"{part}.parquet")


def nothing(qrels: Any, run: Any, rows: int) -> Callable[[], object]:
    """A cogroup of as many buckets that does nothing."""

    def function(key, qrels, runs):  # type: ignore[no-untyped-def]
        import pyarrow as pa

        return pa.table({"rows": pa.array([qrels.num_rows + runs.num_rows], pa.int64())})

    buckets = bucket_count(rows, CORES)
    # an integer for each partition that Spark sends there, so that no two buckets share one
    spread = (
        qrels.sparkSession.range(100 * buckets).selectExpr("cast(id as int) key").repartition(buckets, "key")
    )
    chosen = spread.groupBy(F().spark_partition_id()).agg(F().min("key").alias("key")).collect()
    chosen_keys = ", ".join(str(row.key) for row in chosen)
    bucket = F().expr(f"element_at(array({chosen_keys}), pmod(hash(query), {buckets}) + 1)")

    def call() -> object:
        left, right = (
            wire(Input(number, frame, frame.columns), number, Request.of("AP", {}))
            .frame.withColumn("bucket", bucket)
            .repartition(buckets, "bucket")
            .groupBy("bucket")
            for number, frame in (("grade", qrels), ("score", run))
        )
        return left.cogroup(right).applyInArrow(function, "rows long").collect()

    return call


def mllib(qrels: Any, run: Any) -> Callable[[], object]:
    """nDCG@10 of binary relevance, of lists that Spark makes of the rows; documents are numbers for it."""
    from pyspark.ml.evaluation import RankingEvaluator

    ranked = "transform(sort_array(collect_list(struct(-score as s, doc_id as d))), x -> cast(x.d as double))"

    def call() -> object:
        predicted = run.groupBy("query_id").agg(F().expr(ranked).alias("prediction"))
        relevant = qrels.where("relevance > 0").groupBy("query_id")
        labels = relevant.agg(F().expr("collect_list(cast(doc_id as double))").alias("label"))
        return RankingEvaluator(metricName="ndcgAtK", k=10).evaluate(predicted.join(labels, "query_id"))

    return call


def cogrouped_by_query(qrels: Any, run: Any) -> Callable[[], object]:
    """nDCG@10 by a function of pandas frames that is called for each query."""

    def ndcg(key, qrels, run):  # type: ignore[no-untyped-def]
        import pandas as pd

        graded = dict(zip(qrels.doc_id, qrels.relevance, strict=True))
        ranked = run.sort_values("score", ascending=False).doc_id[:10]
        gains = np.array([graded.get(d, 0.0) for d in ranked])
        ideal = np.sort(qrels.relevance.to_numpy())[::-1][:10]
        best = (ideal / np.log2(np.arange(len(ideal)) + 2)).sum()
        value = (gains / np.log2(np.arange(len(gains)) + 2)).sum() / best if best else 0.0
        return pd.DataFrame({"value": [value]})

    def call() -> object:
        grouped = qrels.groupBy("query_id").cogroup(run.groupBy("query_id"))
        return grouped.applyInPandas(ndcg, "value double").agg({"value": "avg"}).collect()

    return call


def F() -> Any:
    from pyspark.sql import functions

    return functions


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory(prefix="gradeval-spark-") as temporary:
        spark = gradeval.spark.session(f"local[{CORES}]", [("spark.local.dir", temporary)])
        write(Path(temporary), rows)
        qrels, run = (spark.read.parquet(str(Path(temporary) / name)) for name in ("qrels", "run"))
        ours = "gradeval, 7 metrics"
        calls = {
            ours: lambda: gradeval.spark.evaluate(qrels, run).summary(),
            "cogroup that does nothing": nothing(qrels, run, rows),
            "MLlib, nDCG@10": mllib(qrels, run),
        }
        interleaved(calls, 1)  # to warm up
        found = interleaved(calls, 5)
        tenth = qrels.where("query_id % 10 = 0"), run.where("query_id % 10 = 0")
        by_tenth = interleaved({"": cogrouped_by_query(*tenth)}, 1)[""]
        found["pandas function for each query"] = 10 * by_tenth
        for name, seconds in found.items():
            say(f"{name}, s", seconds)
            if name != ours:
                say(f"of {name}", found[ours] / seconds)
        spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]))
