"""The values of one run: of its queries, or their summary; and a run that failed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Bools, Floats, Ints
from gradeval.errors import GradevalError
from gradeval.options import DEFAULT_TIES
from gradeval.registry.spec import Spec

Number = float | int | None


class Column(NamedTuple):
    """One metric's values for the counted queries of a run, in qrels order, or its one summary value.

    values: float64 (n,), NaN where undefined. texts: the values of a text metric instead. ends: the lowest and
    the highest values over the orders of ties tried, empty without Options.tie_range.
    """

    spec: Spec
    values: Floats
    texts: Sequence[str] | None = None
    ends: tuple[Column, ...] = ()

    def exact(self) -> Sequence[Number | str]:
        """The values for JSON: counts are int, and values that are not finite are None."""
        if self.texts is not None:
            return self.texts
        plain = (self.values + 0.0).tolist()  # + 0.0 makes -0.0 a plain 0.0
        number = int if self.spec.metric.is_count else float
        return [number(value) if math.isfinite(value) else None for value in plain]


class Summary(NamedTuple):
    """The summary of a run whose values by query are not kept.

    queries: how many are counted. means: (M,). undefined: how many values of each metric, (M,). ends: the
    lowest and the highest means over the orders of ties, (2, M), empty without Options.tie_range. texts:
    position of a text metric -> the text to print.
    """

    queries: int
    means: Floats
    undefined: Ints
    ends: tuple[Floats, ...]
    texts: Mapping[int, str]


@dataclass(frozen=True, eq=False)
class RunResult:
    """The values of one run.

    name: as in tables. path: as the user gave it. sha256: of the file, None if there is no file.
    values: float64 (M, Q), NaN where undefined. counted: which queries are printed and averaged, (Q,).
    texts: position of a text metric -> the text of each query. tie_range: the lowest and the
    highest values over the orders of ties tried, (2, M, Q); None without Options.tie_range. ties: the order of
    tied scores. summary: where the values of the queries are not kept; these are empty then. depth: the most
    documents that are evaluated of a query, None where it is unknown.
    """

    name: str
    path: str
    sha256: str | None
    values: Floats = field(repr=False)
    counted: Bools = field(repr=False)
    texts: Mapping[int, Sequence[str]] = field(default_factory=dict, repr=False)
    tie_range: Floats | None = field(default=None, repr=False)
    ties: str = DEFAULT_TIES
    summary: Summary | None = field(default=None, repr=False)
    depth: int | None = None

    @property
    def queries(self) -> int:
        """How many queries are counted."""
        return int(self.counted.sum()) if self.summary is None else self.summary.queries

    def counted_texts(self, m: int) -> list[str]:
        """The texts of one metric for the counted queries."""
        return [self.texts[m][q] for q in np.flatnonzero(self.counted).tolist()]


class FailedRun(NamedTuple):
    """A run that could not be evaluated. path: as the user gave it."""

    path: str
    error: GradevalError
