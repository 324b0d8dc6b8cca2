"""Qrels and runs as the tables of buckets, and the evaluation of all buckets, without Spark."""

import math
import random
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from helpers import with_needed

from gradeval.evaluation.results import Results
from gradeval.options import Options
from gradeval.registry.metric import REGISTRY, load
from gradeval.registry.spec import parse
from gradeval.spark.kernel import RunValues, SparkJob, State, evaluate_bucket
from gradeval.tables.qrels import counted_grades

load()

Numbers = Mapping[str, Mapping[str, float]]


def every_metric() -> list[str]:
    return [with_needed(name) for name, metric in REGISTRY.items() if not metric.text]


KINDS = {"query": pl.String, "document": pl.String, "number": pl.Float64, "place": pl.Int64}


def table(rows: Sequence[tuple[Any, ...]], *names: str) -> Any:
    return pl.DataFrame(rows, {name: KINDS[name] for name in names}, orient="row")


def in_buckets(qrels: Numbers, runs: Mapping[str, Numbers], count: int, seed: int) -> list[tuple[Any, Any]]:
    """The table of the qrels and those of the runs, of each bucket."""
    rng = random.Random(seed)
    sources = [
        [(q, d, float(value)) for q, documents in of.items() for d, value in documents.items()]
        for of in (qrels, *runs.values())
    ]
    for rows in sources:
        rng.shuffle(rows)
    buckets = []
    for number in range(count):
        chosen = [[row for row in rows if zlib.crc32(row[0].encode()) % count == number] for rows in sources]
        of_qrels, *of_runs = (table(rows, "query", "document", "number") for rows in chosen)
        buckets.append((of_qrels, of_runs))
    return buckets


def job_of(qrels: Numbers, runs: Mapping[str, Numbers], metrics: Sequence[str], **options: Any) -> SparkJob:
    chosen = Options(**options)
    scale = counted_grades(np.unique([grade for of in qrels.values() for grade in of.values()]), chosen)
    return SparkJob(tuple(parse(metrics)), chosen, scale, tuple(runs), tuple(runs))


def evaluated(
    qrels: Numbers, runs: Mapping[str, Numbers], job: SparkJob, count: int, seed: int = 0
) -> tuple[list[State], list[RunValues]]:
    buckets, values = [], []
    for judged, retrieved in in_buckets(qrels, runs, count, seed):
        bucket, of_runs = evaluate_bucket(judged, retrieved, job)
        buckets.append(bucket)
        values += of_runs
    return buckets, values


def same(value: float, expected: float) -> bool:
    return value == expected or (math.isnan(value) and math.isnan(expected))


def check(results: Any, expected: Results) -> None:
    rows = {(row.run, row.query, row.metric): row.value for row in results.per_query().collect()}
    expected_rows = {}
    for run in (result.name for result in expected.runs):
        for spec in expected.specs:
            if spec.metric.per_query:
                values = expected.per_query(run, spec)
                expected_rows |= {(run, query, str(spec)): value for query, value in values.items()}
    assert rows.keys() == expected_rows.keys()
    values = {key: math.nan if value is None else value for key, value in rows.items()}
    assert [key for key, value in expected_rows.items() if not same(values[key], value)] == []
    summary = results.summary()
    assert summary.means == pytest.approx(expected.means, rel=1e-12, abs=1e-12, nan_ok=True)
    assert [run.name for run in summary.runs] == [run.name for run in expected.runs]
