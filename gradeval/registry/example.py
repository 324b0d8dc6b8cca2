"""The example ranking of the metric pages: each page shows the metric's value for it."""

from __future__ import annotations

import numpy as np

from gradeval.arrays.segments import Segments
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments

RANKED = (1, None, 3, 0, 2)
MISSED = (2,)
ABOUT = (
    "for the example ranking: grades "
    + ", ".join("unjudged" if grade is None else str(grade) for grade in RANKED)
    + " by rank; not retrieved: "
    + ", ".join(map(str, MISSED))
)


def example_ranking() -> Judgments:
    """A table of one query: the judged documents retrieved, by rank, and those not retrieved."""
    found = [(grade, rank) for rank, grade in enumerate(RANKED, 1) if grade is not None]
    rows = [*found, *((grade, np.inf) for grade in MISSED)]
    grade, rank = np.array(rows, np.float64).T
    offsets, retrieved = np.array([0, len(rows)]), np.array([len(RANKED)])
    return Judgments(Segments(offsets), grade, rank, 10 - rank, np.arange(len(rows)), retrieved, tag="example")


def value_of(spec: Spec) -> str:
    """The value of a metric on the example ranking."""
    if spec.metric.text:
        return spec.metric.texts(example_ranking(), **spec.params)[0]
    [value] = spec.metric(example_ranking(), **spec.params).tolist()
    return str(int(value)) if spec.metric.is_count else f"{value:.4f}"
