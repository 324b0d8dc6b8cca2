"""Random values to compare, and their comparisons."""

import math

import numpy as np

from gradeval.commands.compare.compare import ComparedMetric, Comparison, QueryValues, compare_values
from gradeval.compare_options import CompareOptions

NAN = math.nan
QUERIES = 9  # so that all sign flips are tried
EXACT = {"rel": 1e-9, "abs": 1e-12}


def table(runs: dict[str, dict[str, list[float]]], queries=None, lower=()) -> QueryValues:
    """run -> metric -> values of the queries."""
    metrics = list(next(iter(runs.values())))
    values = np.array([[of[metric] for metric in metrics] for of in runs.values()], np.float64)
    queries = queries or [f"q{i:02}" for i in range(values.shape[2])]
    columns = tuple(ComparedMetric(metric, metric, metric not in lower) for metric in metrics)
    return QueryValues(tuple(queries), tuple(runs), tuple(f"{run}.run" for run in runs), columns, values)


def random_runs(seed: int, runs: int = 3, metrics: int = 2, queries: int = QUERIES) -> QueryValues:
    values = np.random.default_rng(seed).beta(2, 3, (runs, metrics, queries)).round(4)
    names = ["A", "B", "C", "D"][:runs]
    of_runs = {
        name: {f"m{m}": row.tolist() for m, row in enumerate(of)}
        for name, of in zip(names, values, strict=True)
    }
    return table(of_runs)


def compared(values: QueryValues, **options) -> Comparison:
    return compare_values(values, CompareOptions(**options))


def pairs_of(values: QueryValues, baseline: str, run: str, metric: str) -> tuple[list[float], list[float]]:
    """The values of both runs for the queries where both have one."""
    m = [column.name for column in values.metrics].index(metric)
    both = [values.values[values.runs.index(name), m].tolist() for name in (baseline, run)]
    pairs = [pair for pair in zip(*both, strict=True) if not any(map(math.isnan, pair))]
    return [one for one, _ in pairs], [two for _, two in pairs]
