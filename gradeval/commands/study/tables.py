"""What studies share: their outcome, the metrics and numbers they take, orders, and generated rankings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments
from gradeval.commands.study.tabled import Tabled
from gradeval.errors import MetricError, OptionError, described
from gradeval.registry.metric import Kind
from gradeval.registry.spec import Spec, parse
from gradeval.statistics.sampling import TOLERANCE
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import SHARE

MAX_SEED = 2**64 - 1


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Study(Tabled):
    """The outcome of a study."""

    layout = "gradeval.commands.study.layout"

    kind: ClassVar[str] = "study"


def averaged_metrics(metrics: str | Iterable[str]) -> list[Spec]:
    """The metrics of a study: those with a value for each query whose mean is taken. Raises MetricError."""
    specs = parse(metrics)
    for spec in specs:
        if spec.metric.kind is not Kind.MEAN or not spec.metric.per_query:
            raise MetricError(f"{spec}: a study needs metrics whose mean over queries is taken")
    return specs


def competing_metrics(metrics: str | Iterable[str]) -> list[Spec]:
    """Such metrics by which systems can be ordered. Raises MetricError."""
    specs = averaged_metrics(metrics)
    for spec in specs:
        if spec.metric.higher_is_better is None:
            raise MetricError(f"{spec}: neither high nor low values are better, so it orders no systems")
    return specs


def whole(name: str, value: Any, low: int, high: int) -> int:
    """The value, an integer from low to high. Raises OptionError."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = low - 1
    if isinstance(value, bool) or number != value or not low <= number <= high:
        raise OptionError(f"{name} must be an integer from {low} to {high}, not {described(value)}")
    return number


def levels_of(values: Floats) -> Ints:
    """The place of each value among the different ones, from 0 for the smallest, (S,).

    Values that agree to 1e-12 of the largest magnitude are equal: rounding orders no systems. Where a value is
    NaN there is no order: all have the place 0.
    """
    if np.isnan(values).any():
        return np.zeros(len(values), np.int64)
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > TOLERANCE * np.abs(values).max(initial=0.0)
    level = np.empty(len(values), np.int64)
    level[order] = np.append(0, np.cumsum(steps))[: len(values)]
    return level


def full_rankings(grade: Floats, scale: Floats | None = None, score: Floats | None = None) -> Judgments:
    """The table of Q rankings of n documents whose grades by rank are given, (Q, n).

    scale: the grades that are in use, by default those that occur. score: (Q, n), never rising with the rank;
    by default no two documents are tied.
    """
    queries, items = grade.shape
    rank = np.arange(1.0, items + 1)
    return Judgments(
        _equal_segments(queries, items),
        np.ascontiguousarray(grade, np.float64).reshape(-1),
        np.tile(rank, queries),
        np.tile(-rank, queries) if score is None else score.reshape(-1),
        np.arange(queries * items),
        np.full(queries, items),
        scale=scale,  # type: ignore[arg-type]  # None is what the table makes its own of
    )


@lru_cache(maxsize=4)
def _equal_segments(queries: int, items: int) -> Segments:
    """Queries of equal length; what is computed from them serves all tables of this shape."""
    return Segments(np.arange(queries + 1) * items)


def shares(count: int, rows: int) -> Iterator[slice]:
    """`count` parts of this many rows each, in shares that fit a processor's cache."""
    step = max(1, SHARE // rows)
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
