"""Results made by hand: three queries, two runs, and a metric of each kind."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from gradeval.evaluation.results import Results, RunResult
from gradeval.notices import Kind, Notice
from gradeval.registry.spec import parse

NAN = float("nan")
Make = Callable[..., Results]


def make(
    metrics: str, runs: dict[str, Sequence[Sequence[float]]], queries: Sequence[str] | None = None
) -> Results:
    """Results with every query counted; the values of a run are a row for each metric."""
    tables = {name: np.array(rows, float) for name, rows in runs.items()}
    size = next(iter(tables.values())).shape[1]
    return Results(
        "qrels",
        None,
        tuple(queries or (f"q{i + 1}" for i in range(size))),
        tuple(parse(metrics)),
        tuple(RunResult(name, name, None, table, np.ones(size, bool)) for name, table in tables.items()),
    )


@pytest.fixture(name="make")
def _make() -> Make:
    return make


@pytest.fixture
def results() -> Results:
    """Odd names, a byte that is not UTF-8, an undefined value, -0.0, and a query that one run lacks."""
    bm25 = [[1, 1, 1], [0.5, 0.25, 0], [1, 0.6, -0.0], [0.2, 0.4, 0], [0.75, NAN, 0.5], [-1e-5, 0.5, 1 / 3]]
    neural = [[1, 1, 1], [0.25, 0.25, 9], [1, 0.5, 9], [0.4, 0.2, 9], [1, NAN, 9], [0.125, 0.5, 9]]
    return Results(
        qrels="judged/qrels.txt",
        qrels_sha256="ab" * 32,
        queries=("q1", "q2", "a|b_%\udcff"),
        specs=tuple(parse("num_q muAP nDCG@10 P@5 rankDCG nDCGphi@10")),
        runs=(
            RunResult("bm25_k1", "runs/bm25_k1.run.gz", "cd" * 32, np.array(bm25), np.array([True] * 3)),
            RunResult('neural,"2"', "-", None, np.array(neural), np.array([True, True, False])),
        ),
        options={"ties": "trec", "rel": None},
        notices=(Notice(Kind.MISSING, "neural", 1, rule="both"),),
    )
