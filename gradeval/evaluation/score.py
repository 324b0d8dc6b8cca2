"""Judgments and metrics → values: all evaluation ends here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np

from gradeval.arrays import Bools, Floats
from gradeval.arrays.numbers import natural_log
from gradeval.errors import MetricError, NoExpectedValueError
from gradeval.records import Record
from gradeval.registry.metric import GEOMETRIC_MIN, Kind
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments


def score(judgments: Judgments, specs: Sequence[Spec]) -> Floats:
    """The value of each metric for each query: float64 (M, Q), NaN where undefined, and for texts.

    judgments: the table of Q queries, with the ranks of a run; depth and judged_only are already applied.
    A part of a collection scores as within the whole, as the table has the collection's scale.
    Raises MetricError if a metric cannot be computed from these grades, or a plugin fails.
    """
    return scored(judgments, specs).values


def summarize(specs: Sequence[Spec], values: Floats, counted: Bools, weights: Floats | None = None) -> Floats:
    """The summary value of each metric, (M,), from the values of the queries that are counted, (M, Q). weights:
    of the queries in means, (Q,); sums have none.
    """
    values = summands(specs, values)
    defined = counted & ~np.isnan(values)
    with np.errstate(over="ignore", invalid="ignore"):
        # added one by one in query order, as a loop would: np.sum adds in pairs and can end elsewhere
        total = np.cumsum(np.where(defined, values, 0.0), axis=1)[:, -1:].sum(axis=1)
        mean: Floats = total / defined.sum(axis=1)
        if weights is not None:
            shares = np.where(defined, weights, 0.0)
            mean = np.where(defined, values * weights, 0.0).sum(axis=1) / shares.sum(axis=1)
    return summaries(specs, total, mean)


def summands(specs: Sequence[Spec], values: Floats) -> Floats:
    """The numbers that are added up for the summary values, (M, Q): the logarithms for a geometric mean."""
    geometric = [m for m, spec in enumerate(specs) if spec.metric.kind is Kind.GEOMETRIC]
    if geometric:
        values = values.copy("K")  # in memory as before, so that sums are added in the same order
    for m in geometric:
        values[m] = natural_log(np.maximum(values[m], GEOMETRIC_MIN))
    return values


def summaries(specs: Sequence[Spec], total: Floats, mean: Floats) -> Floats:
    """The summary value of each metric, (M,), from the total and the mean of its summands."""
    values = np.where([spec.metric.is_summed for spec in specs], total, mean)
    for m, spec in enumerate(specs):
        if spec.metric.kind is Kind.GEOMETRIC:
            values[m] = math.exp(values[m])
    return values


class Scored(Record):
    """The values of some queries.

    values: float64 (M, Q), NaN where undefined, and for texts. texts: position of a text
    metric -> the text of each query. empty: which queries have nothing relevant to a metric that needs it,
    (M, Q).
    """

    values: Floats
    texts: dict[int, list[str]]
    empty: Bools

    @classmethod
    def joined(cls, parts: Sequence[Scored]) -> Scored:
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.values for part in parts], axis=1),
            {m: [*chain(*(part.texts[m] for part in parts))] for m in parts[0].texts},
            np.concatenate([part.empty for part in parts], axis=1),
        )


def scored(judgments: Judgments, specs: Sequence[Spec]) -> Scored:
    """The values of score(), those of text metrics, and the queries without relevant documents."""
    shape = len(specs), judgments.segments.count
    values, empty = np.empty(shape), np.zeros(shape, bool)
    texts: dict[int, list[str]] = {}
    for m, spec in enumerate(specs):
        metric = spec.metric
        try:  # the metric is named in what is raised: grades have a range, so only parameters can be too large
            with np.errstate(over="raise", divide="ignore", invalid="ignore"):
                row, is_empty = metric.values(judgments, **spec.params)
                finite = np.isfinite(row if is_empty is None else row[~is_empty])
                if not finite.all() and (np.isinf(row).any() or not (metric.undefined or metric.text)):
                    raise FloatingPointError
            values[m] = row
            if is_empty is not None:
                values[m, is_empty], empty[m] = judgments.no_relevant, is_empty
            if metric.text:
                texts[m] = metric.texts(judgments, **spec.params)
        except NoExpectedValueError:  # names the metric already
            raise
        except MetricError as error:
            raise MetricError(f"{spec}: {error}") from None
        except FloatingPointError:
            raise MetricError(f"{spec}: a value is too large for a floating-point number") from None
    return Scored(values, texts, empty)
