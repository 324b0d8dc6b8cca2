"""The bounds of values: the lowest and the highest that judgments of the unjudged documents could give."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import offsets_of
from gradeval.arrays.threads import map_all
from gradeval.errors import MetricError
from gradeval.evaluation.score import Judge, naming
from gradeval.registry.metric import NO_BOUNDS, REGISTRY, load
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import grade_of_bounds, shares_of
from gradeval.tables.unjudged import Unjudged

_ROUNDING = 1e-12  # a sum in another order may end in another last digit


def check_bounds(specs: Sequence[Spec]) -> None:
    """Raise MetricError where no metric has bounds, as those of condensed lists."""
    if all(spec.bounds == NO_BOUNDS for spec in specs):
        load()
        having = [metric.name for metric in REGISTRY.values() if metric.bounds is not None]
        conditions = [_condition(spec) for spec in specs if spec.metric.bounds is not None]
        message = f"no bounds over missing judgments: {', '.join(map(str, specs))}"
        alternatives = f"metrics with bounds: {', '.join(having)}"
        raise MetricError(message, hint="; ".join(dict.fromkeys(conditions)) or alternatives)


def _condition(spec: Spec) -> str:
    """Under which parameters a metric has bounds, of which it has others."""
    if spec.params.get("judged_only"):
        return f"{spec.metric.name} has them without judged_only"
    return f"{spec.metric.name} has them {str(spec.metric.bounds).partition('; ')[2]}"


def bounds_of(judge: Judge, specs: Sequence[Spec], values: Floats, jobs: int) -> Floats:
    """The lowest and the highest value of each metric and query, (2, M, Q); NaN for metrics without bounds.
    values: of the run, (M, Q). Raises MetricError.
    """
    bounded = [(m, spec) for m, spec in enumerate(specs) if spec.bounds != NO_BOUNDS]
    bounds = np.full((2, *values.shape), np.nan)
    top = grade_of_bounds(judge.qrels.scale, judge.options)

    @np.errstate(over="raise", divide="ignore", invalid="ignore")
    def fill(queries: slice, jobs: int) -> None:
        judgments = judge(queries)
        for m, spec in bounded:
            with naming(spec):
                bounds[:, m, queries] = _limits(judgments, spec, top, values[m, queries])

    map_all(fill, shares_of(_rows(judge, [spec for _, spec in bounded])), jobs)
    return bounds


def _rows(judge: Judge, specs: Sequence[Spec]) -> Ints:
    """The offsets of the queries in a table of all judgments and of the first ranks that metrics look at."""
    depths = [spec.metric.last_rank(spec.params) for spec in specs]
    depth = min(max(k or np.inf for k in depths), judge.options.depth or np.inf)
    first = np.minimum(judge.reduced.retrieved, depth).astype(np.int64)
    return judge.qrels.offsets + offsets_of(first)


def _limits(judgments: Judgments, spec: Spec, top: float, values: Floats) -> Floats:
    """The bounds of each query, (2, Q): the value itself, or the end of the metric's range, where they differ
    from it by rounding.
    """
    metric, params = spec.metric, spec.params
    unjudged = Unjudged.of(judgments, metric.last_rank(params), top)
    limits: Floats = np.array(metric.open_values(judgments, unjudged, **params).limits())
    likely: list[float | Floats] = [*filter(math.isfinite, metric.limits), values]
    for exact in likely:
        rounding = _ROUNDING * np.maximum(np.abs(exact), 1.0)
        limits = np.where(np.abs(limits - exact) <= rounding, exact, limits)
    return limits
