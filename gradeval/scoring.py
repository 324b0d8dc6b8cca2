"""Judgments and metrics → values: the one kernel that everything which scores ends in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

import numpy as np

from gradeval.arrays import Floats
from gradeval.errors import MetricError
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments


def score(judgments: Judgments, specs: Sequence[Spec]) -> Floats:
    """The value of each metric for each query: float64 (M, Q), NaN where undefined, and for texts.

    judgments: the table of Q queries, with a run's ranks; a depth and judged-only are already applied to it.
    A part of a collection scores as it would within the whole, since the table carries the collection's scale.
    Raises MetricError where a metric cannot be computed from these grades, or a plugin fails.
    """
    return np.array([_values(spec, judgments) for spec in specs]).reshape(len(specs), judgments.segments.count)


class Scored(NamedTuple):
    """What metrics say of some queries.

    values: float64 (M, Q), NaN where undefined, and for texts. texts: for each metric that is text, by its
    position, the words of each query.
    """

    values: Floats
    texts: dict[int, list[str]]

    @classmethod
    def joined(cls, parts: Sequence[Scored]) -> Scored:
        """Several shares of the queries, in order, as a whole."""
        values = np.concatenate([part.values for part in parts], axis=1)
        return cls(values, {m: [*chain(*(part.texts[m] for part in parts))] for m in parts[0].texts})


def scored(judgments: Judgments, specs: Sequence[Spec]) -> Scored:
    """The values of score(), and the words of the metrics that are text."""
    texts = {m: _texts(spec, judgments) for m, spec in enumerate(specs) if spec.metric.text}
    return Scored(score(judgments, specs), texts)


def _values(spec: Spec, judgments: Judgments) -> Floats:
    with _named(spec), np.errstate(over="raise", divide="ignore", invalid="ignore"):
        values = spec.metric(judgments, **spec.params)
        if np.isinf(values).any() or not (
            spec.metric.undefined or spec.metric.text or np.isfinite(values).all()
        ):
            raise FloatingPointError
    return values


def _texts(spec: Spec, judgments: Judgments) -> list[str]:
    with _named(spec):
        return spec.metric.texts(judgments, **spec.params)


@contextmanager
def _named(spec: Spec) -> Iterator[None]:
    """Name the metric in what is raised: grades are in a range where only its parameters can be too large."""
    try:
        yield
    except MetricError as error:
        raise MetricError(f"{spec}: {error}") from None
    except FloatingPointError:
        raise MetricError(f"{spec}: a value is too large for a floating-point number") from None
