"""gradeval.spark and its peers on a local Spark of two cores: `python -m tests.bench.on_spark ROWS [strings]`.

Prints a line for each measurement: its name, and the median seconds of interleaved warm calls, or for a ratio
what the first takes of the second. The peers are a cogroup that does nothing, which is the engine's own cost;
the nDCG of Spark's RankingEvaluator (MLlib); and nDCG in a Python function that is called for each query.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gradeval.spark
from gradeval.spark.frames import bucket_count, qrels_wire, run_wire

from .inprocess import interleaved, say

CORES = 2
DEPTH, JUDGED = 100, 10
PAGE = os.sysconf("SC_PAGE_SIZE")


def write(folder: Path, rows: int, strings: bool) -> None:
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

        def ids(values: Any, prefix: str) -> Any:
            flat = values.ravel()
            return pa.array(np.char.add(prefix, flat.astype("U"))) if strings else pa.array(flat)

        judged = np.take_along_axis(document, places, axis=1)
        qrels = {
            "query_id": ids(np.repeat(query, JUDGED), "user"),
            "doc_id": ids(judged, "item"),
            "relevance": grade.ravel(),
        }
        run = {
            "query_id": ids(np.repeat(query, DEPTH), "user"),
            "doc_id": ids(document[:, :DEPTH], "item"),
            "score": score.ravel(),
        }
        pq.write_table(pa.table(qrels), folder / "qrels" / f"{part}.parquet")
        pq.write_table(pa.table(run), folder / "run" / f"{part}.parquet")


def keys_of(spark: Any, partitions: int) -> str:
    """An integer for each partition that Spark sends there, so that no two buckets share one."""
    keys = spark.range(100 * partitions).selectExpr("cast(id as int) key").repartition(partitions, "key")
    chosen = keys.groupBy(F().spark_partition_id()).agg(F().min("key").alias("key")).collect()
    return ", ".join(str(row.key) for row in chosen)


def nothing(qrels: Any, run: Any, rows: int) -> Callable[[], object]:
    """A cogroup of as many buckets that does nothing."""

    def function(key, qrels, runs):  # type: ignore[no-untyped-def]
        import pyarrow as pa

        return pa.table({"rows": pa.array([qrels.num_rows + runs.num_rows], pa.int64())})

    buckets = bucket_count(rows, CORES)
    keys = keys_of(qrels.sparkSession, buckets)
    bucket = F().expr(f"element_at(array({keys}), pmod(hash(query), {buckets}) + 1)")

    def call() -> object:
        left, right = (
            wire.frame.withColumn("bucket", bucket).repartition(buckets, "bucket").groupBy("bucket")
            for wire in (qrels_wire(qrels, {}), run_wire(run, {}, {}, "run"))
        )
        return left.cogroup(right).applyInArrow(function, "rows long").collect()

    return call


def mllib(qrels: Any, run: Any) -> Callable[[], object]:
    """nDCG@10 of binary relevance, of lists that Spark makes of the rows; documents are numbers for it."""
    from pyspark.ml.evaluation import RankingEvaluator

    def call() -> object:
        predicted = run.groupBy("query_id").agg(ranked("cast(x.d as double)").alias("prediction"))
        relevant = qrels.where("relevance > 0").groupBy("query_id")
        labels = relevant.agg(F().expr("collect_list(cast(doc_id as double))").alias("label"))
        return RankingEvaluator(metricName="ndcgAtK", k=10).evaluate(predicted.join(labels, "query_id"))

    return call


def by_query(qrels: Any, run: Any) -> Callable[[], object]:
    """nDCG@10 by a Python function that is called with the lists of each query, as in RePlay."""
    import math

    def ndcg(predicted: list[Any], relevant: list[Any]) -> float:
        found = set(relevant)
        gain = sum(1 / math.log2(place + 2) for place, d in enumerate(predicted[:10]) if d in found)
        ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(found))))
        return gain / ideal if ideal else 0.0

    def call() -> object:
        predicted = run.groupBy("query_id").agg(ranked("x.d").alias("predicted"))
        relevant = qrels.where("relevance > 0").groupBy("query_id")
        labels = relevant.agg(F().collect_list("doc_id").alias("relevant"))
        function = F().udf(ndcg, "double")
        values = predicted.join(labels, "query_id").select(function("predicted", "relevant").alias("value"))
        return values.agg({"value": "avg"}).collect()

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


def ranked(document: str) -> Any:
    """The documents of a query, the best first."""
    order = "sort_array(collect_list(struct(-score as s, doc_id as d)))"
    return F().expr(f"transform({order}, x -> {document})")


class Memory:
    """The largest memory of this process's descendants while the block runs, in MiB, without what they share:
    of the Java machine, and of all Python workers together.
    """

    def __enter__(self) -> Memory:
        self.java = self.workers = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            parents, sizes, names = {}, {}, {}
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    name, _, rest = (process / "stat").read_text().rpartition(") ")
                    size = int((process / "statm").read_text().split()[1]) - int(
                        (process / "statm").read_text().split()[2]
                    )
                except (OSError, IndexError, ValueError):
                    continue
                pid = int(process.name)
                parents[pid], sizes[pid] = int(rest.split()[1]), size * PAGE / 2**20
                names[pid] = name.partition("(")[2]
            own = {os.getpid()}
            for _ in range(6):
                own |= {pid for pid, parent in parents.items() if parent in own}
            own.discard(os.getpid())
            self.java = max(self.java, sum(sizes[pid] for pid in own if names[pid] == "java"))
            self.workers = max(self.workers, sum(sizes[pid] for pid in own if names[pid] != "java"))


def main(rows: int, strings: bool, repeat: int) -> None:
    with tempfile.TemporaryDirectory(prefix="gradeval-spark-") as temporary:
        spark = gradeval.spark.session(f"local[{CORES}]", [("spark.local.dir", temporary)])
        frames = {}
        for size in (rows, 2 * rows, 4 * rows) if not strings else (rows,):
            folder = Path(temporary) / str(size)
            folder.mkdir()
            write(folder, size, strings)
            frames[size] = tuple(spark.read.parquet(str(folder / name)) for name in ("qrels", "run"))
        qrels, run = frames[rows]
        calls = {
            "gradeval, 7 metrics": lambda: gradeval.spark.evaluate(qrels, run).summary(),
            "cogroup that does nothing": nothing(qrels, run, rows),
        }
        if not strings:
            calls["MLlib, nDCG@10"] = mllib(qrels, run)
            calls["Python function for each query"] = by_query(qrels, run)
        interleaved(calls, 1)  # to warm up
        found = interleaved(calls, repeat)
        for name, seconds in found.items():
            say(f"{name}, s", seconds)
        ours = found["gradeval, 7 metrics"]
        for name, seconds in list(found.items())[1:]:
            say(f"of {name}", ours / seconds)
        if strings:
            return
        start = time.perf_counter()
        tenth = qrels.where("query_id % 10 = 0"), run.where("query_id % 10 = 0")
        cogrouped_by_query(*tenth)()
        taken = 10 * (time.perf_counter() - start)
        say("pandas function for each query, ten times a tenth of them, s", taken)
        say("of pandas function for each query", ours / taken)
        for times, size in enumerate(frames, 1):
            with Memory() as memory:
                start = time.perf_counter()
                gradeval.spark.evaluate(*frames[size]).summary()
                say(f"{2 ** (times - 1)} x the rows, s", time.perf_counter() - start)
            say(f"{2 ** (times - 1)} x the rows, MiB of Java", memory.java)
            say(f"{2 ** (times - 1)} x the rows, MiB of the workers", memory.workers)
        spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] == ["strings"], 5)
