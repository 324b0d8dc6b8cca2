"""A ranking as small as can be told in a line, on which every metric's page has a value."""

from __future__ import annotations

import numpy as np

from gradeval.arrays.segments import Segments
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments

RANKED = (1, None, 3, 0, 2)
MISSED = (2,)
ABOUT = (
    "on the little ranking: grades "
    + ", ".join("none" if grade is None else str(grade) for grade in RANKED)
    + " by rank; missed: "
    + ", ".join(map(str, MISSED))
)


def little_ranking() -> Judgments:
    """The table of one query: documents that were judged, with falling scores, and those missed."""
    found = [(grade, rank) for rank, grade in enumerate(RANKED, 1) if grade is not None]
    rows = [*found, *((grade, np.inf) for grade in MISSED)]
    grade, rank = np.array(rows, np.float64).T
    offsets, retrieved = np.array([0, len(rows)]), np.array([len(RANKED)])
    return Judgments(Segments(offsets), grade, rank, 10 - rank, np.arange(len(rows)), retrieved, tag="little")


def value_of(spec: Spec) -> str:
    """What a metric says of the little ranking."""
    if spec.metric.text:
        return spec.metric.texts(little_ranking(), **spec.params)[0]
    [value] = spec.metric(little_ranking(), **spec.params).tolist()
    return str(int(value)) if spec.metric.whole else f"{value:.4f}"
