"""Tables of judgments made without files: all documents judged and retrieved, in the order of their scores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import Segments
from gradeval.tables.judgments import Judgments
from gradeval.tables.qrels import SHARE


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


def mean_sd_count(values: Floats, axis: int) -> tuple[Floats, Floats, Ints]:
    """The mean and the standard deviation (n - 1 in the denominator) of what is not NaN, and its number n."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(defined, values, 0.0).sum(axis=axis) / count
        off = np.where(defined, values - np.expand_dims(mean, axis), 0.0)
        return mean, np.sqrt((off * off).sum(axis=axis) / (count - 1)), count
