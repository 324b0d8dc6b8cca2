"""The example ranking of the metric pages: each page shows how the metric's value for it comes about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradeval.arrays import Floats
from gradeval.arrays.segments import Segments
from gradeval.registry.metric import Metric
from gradeval.registry.spec import Spec
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import DiscountedTerms, Terms

RANKED = (1, None, 3, 0, 2)
MISSED = (2,)
_NEGLIGIBLE = 1e-9
ABOUT = (
    "for the example ranking: grades "
    + ", ".join("unjudged" if grade is None else str(grade) for grade in RANKED)
    + " by rank; not retrieved: "
    + ", ".join(map(str, MISSED))
)


def ranking(ranked: Sequence[float | None] = RANKED, missed: Sequence[float] = MISSED) -> Judgments:
    """A table of one query: the judged documents retrieved, by rank, and those not retrieved."""
    found = [(grade, rank) for rank, grade in enumerate(ranked, 1) if grade is not None]
    rows = [*found, *((grade, np.inf) for grade in missed)]
    grade, rank = np.array(rows, np.float64).T
    offsets, retrieved = np.array([0, len(rows)]), np.array([len(ranked)])
    return Judgments(Segments(offsets), grade, rank, 10 - rank, np.arange(len(rows)), retrieved, tag="example")


def value_of(spec: Spec, judgments: Judgments | None = None) -> str:
    """The value of a metric on the example ranking, or on another of one query."""
    judgments = ranking() if judgments is None else judgments
    if spec.metric.text:
        return spec.metric.texts(judgments, **spec.params)[0]
    [value] = spec.metric(judgments, **spec.params).tolist()
    return str(int(value)) if spec.metric.is_count else f"{value:.4f}"


def sum_of(spec: Spec) -> list[list[str]] | None:
    """The value on the example ranking as a sum: rows of cells, the last of each a number.

    A heading; a row for each document; the sum and what it is divided by. None for a metric that is no sum.
    """
    judgments = ranking()
    terms = None if spec.metric.text else spec.metric.terms(judgments, **spec.params)
    if terms is None:
        return None
    if spec.params.get("judged_only"):
        judgments = judgments.judged_only()
    columns = {
        name: dict(zip(terms.row.tolist(), map(number, values.tolist()), strict=True))
        for name, values in columns_of(judgments, terms).items()
    }
    by_rank = {rank: row for row, rank in enumerate(judgments.rank.tolist()) if np.isfinite(rank)}
    retrieved = int(judgments.retrieved[0])
    lines = [["rank", "grade", *columns]]
    for rank in range(1, retrieved + 1):
        row = by_rank.get(rank)
        grade = "unjudged" if row is None else number(judgments.grade[row])
        lines.append([str(rank), grade, *(column.get(row, "") for column in columns.values())])
    for row in np.flatnonzero(~judgments.is_retrieved).tolist():
        cells = (column.get(row, "") for column in columns.values())
        lines.append(["not retrieved", number(judgments.grade[row]), *cells])
    empty = [""] * len(columns)
    lines.append(["sum", *empty, number(terms.total[0])])
    lines += ([name, *empty, number(value)] for name, value in steps_of(terms))
    return [*lines, ["value", *empty, value_of(spec)]]


def ideal_of(spec: Spec) -> str:
    """'7/1 + 3/1.5850 = 8.8928': what the sum is divided by, where that is the sum of the ideal ranking."""
    terms = None if spec.metric.text else spec.metric.terms(ranking(), **spec.params)
    if terms is None or terms.ideal is None:
        return ""
    ideal = terms.ideal()
    if isinstance(ideal, DiscountedTerms):
        pairs = zip(ideal.gain.tolist(), ideal.discount.tolist(), strict=True)
        parts = [f"{number(gain)}/{number(discount)}" for gain, discount in pairs]
    else:
        parts = list(map(number, np.broadcast_to(ideal.value, ideal.row.shape).tolist()))
    base = float(np.broadcast_to(terms.base, 1)[0])
    less = f" - {number(base)}" if base else ""
    return f"{' + '.join(parts)}{less} = {number(ideal.total[0] - base)}"


def columns_of(judgments: Judgments, terms: Terms) -> dict[str, Floats]:
    """What the terms are made of: name of a column -> a number for each term, (T,)."""
    columns = {"term": np.broadcast_to(terms.value, terms.row.shape)}
    if not isinstance(terms, DiscountedTerms):
        return columns
    columns = {"gain": terms.gain, "discount": terms.discount, **columns}
    if (terms.row >= 0).all() and (terms.rank != judgments.rank[terms.row]).any():
        columns = {"position": terms.rank, **columns}
    return columns


def steps_of(terms: Terms) -> Iterator[tuple[str, float]]:
    """What is done to the sum of one query, one after the other, to get the value."""
    for name, value, default in (
        ("minus", terms.base, 0.0),
        ("times", terms.scale, 1.0),
        ("divided by", terms.normalizer, 1.0),
    ):
        one = float(np.broadcast_to(value, 1)[0])
        if one != default:
            yield name, one


def number(value: float) -> str:
    """With four decimals, or none for an integer; rounding in the last bits does not count."""
    return str(round(value)) if abs(value - round(value)) < _NEGLIGIBLE else f"{value:.4f}"


def is_graded(metric: Metric) -> bool:
    """Whether it distinguishes grades above 0: their sizes change its value for a ranking."""
    needed = {param.name: param.parse(param.example) for param in metric.params if param.required}
    spec = Spec(metric, tuple(needed.items()))
    return value_of(spec, ranking([1, None, 3, 0, 2], [5])) != value_of(spec, ranking([1, None, 1, 0, 1], [1]))


def without_relevant(metric: Metric) -> str:
    """What it does for a query without a relevant document."""
    if metric.needs_relevant:
        return "counts as 0; --no-relevant 1 or skip changes that"
    needed = {param.name: param.parse(param.example) for param in metric.params if param.required}
    spec = Spec(metric, tuple(needed.items()))
    same, different = (value_of(spec, ranking([0, None, low], [0])) for low in (0, -1))
    if "nan" in (same, different):
        about = "undefined" if different == "nan" else "undefined if all its judged grades are equal"
        return f"{about}, and then excluded from the mean; --no-relevant does not apply"
    if float(same) == 0 and float(different) == 0:
        return "0; --no-relevant does not apply"
    return "evaluated as any other; --no-relevant does not apply"
