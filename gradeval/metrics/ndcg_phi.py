"""nDCGφ: gains from the distribution of the query's grades."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from gradeval.arrays import Floats, Ints
from gradeval.arrays.segments import monotone_curve, quantile
from gradeval.metrics._kernels import EXP2, Gain, exp2_gain, normalized_dcg
from gradeval.registry.invariants import IDEAL_IS_ONE, PROMOTION_HELPS, SCALE_FREE
from gradeval.registry.metric import metric
from gradeval.registry.params import AtK, Pairs, Param, choice, pairs
from gradeval.tables.judgments import Judgments
from gradeval.tables.terms import Details, RelevanceFunction, Terms

ROUNDING = 1e-12  # of the range of grades: a grade this close to the fence is not beyond it
NAMES = ("lowest", "median", "whisker", "highest")
# which of the control points each kind of query has, by their places in NAMES
_POINTS = [1, 3], [0, 1, 3], [1, 2, 3], [0, 1, 2, 3]
_FORM = "grade:φ/grade:φ/…, at least two"


def _parse_points(text: str) -> Pairs:
    points = pairs(text, _FORM)
    if len(points) < 2:
        raise ValueError(_FORM)
    phis = [phi for _, phi in points]
    if phis != sorted(phis) or phis[0] < 0 or phis[-1] > 1:
        raise ValueError(f"{_FORM}, with φ between 0 and 1 and never decreasing")
    return points


Variant = Annotated[
    str, choice("φ as in the paper, or as in the code released by its authors", ("paper", "released"))
]
Points = Annotated[
    Pairs | None,
    Param(
        "control points of φ, the same for every query",
        _parse_points,
        _FORM,
        "0:0/9:1",
        without="computed from each query's grades",
    ),
]


def fitted_phi(judgments: Judgments, variant: str) -> RelevanceFunction:
    """φ as each query's grades make it."""
    x, y, kind = _control_points(judgments, variant)
    has_gain = judgments.highest > 0

    def phi(grade: Floats, query: Ints) -> Floats:
        median, highest = x[query, 1], x[query, 3]
        value: Floats = ((grade >= highest) & (grade > 0)).astype(np.float64)
        between = np.flatnonzero((grade > median) & (grade < highest))
        kinds = kind[query[between]]
        for k, columns in enumerate(_POINTS):
            rows = between[kinds == k]
            queries = np.flatnonzero(kind == k)
            if len(rows):
                curve = np.searchsorted(queries, query[rows])
                points = (queries[:, None], columns)
                value[rows] = monotone_curve(x[points], y[points], curve, grade[rows])
        return value

    def points(q: int) -> tuple[tuple[str, float, float], ...]:
        """The highest alone where there is no curve."""
        columns = _POINTS[kind[q]] if kind[q] >= 0 else [3]
        return tuple((NAMES[c], float(x[q, c]), float(y[q, c])) for c in columns if has_gain[q])

    return RelevanceFunction(phi, points, whisker=x[:, 2])


def _control_points(judgments: Judgments, variant: str) -> tuple[Floats, Floats, Ints]:
    """x and φ of the four control points, (Q, 4), and the kind of each query, (Q,). A query whose median is its
    highest grade, or that has no grades, has no curve: its kind is -1.
    """
    # grades below 0 count as 0, which leaves them in descending order
    grades = np.maximum(judgments.ideal, 0.0)
    within = judgments.segments
    if variant == "released":
        rows = np.flatnonzero(grades > 0)
        grades = grades[rows]
        within = within.take(rows)
    x = np.zeros((within.count, 4))
    y = np.zeros((within.count, 4))
    kind = np.full(within.count, -1)
    filled = within.lengths > 0
    start = within.starts[filled]
    size = within.lengths[filled]
    highest = grades[start]
    lowest = grades[start + size - 1]
    # counted from the smallest: quartiles, or Tukey's hinges
    quarter = (size - 1) / 4 if variant == "paper" else (size + 3) // 2 / 2 - 1
    places = quarter, (size - 1) / 2, size - 1 - quarter
    low, median, high = (quantile(grades, start, size, position) for position in places)
    fence = high + 1.5 * (high - low)
    rounding = ROUNDING * (highest - lowest)
    beyond = highest - fence > rounding
    if variant == "released":
        limit = np.repeat(fence + rounding, size)
        fence = within.max(np.where(grades <= limit, grades, 0.0))[filled]
    first = lowest if variant == "paper" else np.zeros(len(start))
    spread = np.where(highest > lowest, highest - lowest, 1.0)
    x[filled] = np.stack([first, median, fence, highest], axis=1)
    y[filled, 2] = 1 - (highest - fence) / spread
    y[:, 3] = 1.0
    # which points are different: a position in _POINTS
    kind[filled] = np.where(median < highest, (first < median) + 2 * (beyond & (fence > median)), -1)
    return x, y, kind


def _given_phi(points: Pairs) -> RelevanceFunction:
    """φ through these points, for every query."""
    x, y = (np.array([column]) for column in zip(*points, strict=True))
    named = tuple(("given", grade, phi) for grade, phi in points)

    def phi(grade: Floats, query: Ints) -> Floats:
        return np.where(grade >= 0, monotone_curve(x, y, np.zeros(len(grade), np.int64), grade), 0.0)

    return RelevanceFunction(phi, lambda q: named)


def _check_points(params: Mapping[str, Any]) -> None:
    if "points" in params and "variant" in params:
        raise ValueError("points and variant are mutually exclusive")


@metric(
    "nDCGφ",
    invariants=[IDEAL_IS_ONE, SCALE_FREE.unless("points"), PROMOTION_HELPS],
    check=_check_points,
    example="nDCGphi(variant=released)@10",
    needs_relevant=True,
)
def ndcg_phi(
    judgments: Judgments, *, variant: Variant = "paper", points: Points = None, cutoff: AtK = None
) -> Terms:
    """Normalized discounted cumulated gain with gains from the divergence of the query's grades.

    Use when grades are numbers such as views or sales, with few large values that must not be misplaced.
    Not when grades are few levels set by assessors: below the median all count 0.

    nDCGφ@k = DCG@k / ideal DCG@k, with gain 2^φ(grade) - 1 and discount log2(rank + 1). φ is the monotone
    cubic interpolation (pchip) through (min, 0), (median, 0), (max, 1) of the query's judged grades and, if
    max is above w = Q3 + 1.5 (Q3 - Q1), through (w, 1 - (max - w) / (max - min)). With variant=released, φ is
    computed from the grades above 0, w is the largest of them that is not above the fence from Tukey's
    hinges, and the first point is (0, 0). Coinciding points are merged: two points make a line, and if the
    median equals max, φ is 1 for max and 0 below. Also written nDCGφ.

    Grades below 0 count as 0, also in the median. With variant=paper it equals NDCNG for a query whose median
    grade is then 0, or that has one distinct grade above 0: all control points are on the line
    φ = grade / max. So it is on pools with mostly non-relevant documents.

    Source: Moniz, Torgo, Vinagre, "Data-driven relevance judgments for ranking evaluation", 2016, section 3.
    """
    if points is not None:
        phi = _given_phi(points)
        mapped = judgments.once(
            ("points", points),
            lambda: judgments.replace(grade=phi.of(judgments.grade, judgments.query)),
        )
        terms = normalized_dcg(mapped, EXP2, cutoff)
    else:
        phi = judgments.once(("phi", variant), lambda: fitted_phi(judgments, variant))
        gain = Gain(("phi", variant), lambda grade, query: exp2_gain(phi.of(grade, query)))
        terms = normalized_dcg(judgments, gain, cutoff)

    def details() -> Details:
        return Details(symbol="φ", scaled=phi.of(judgments.grade, judgments.query), phi=phi)

    return terms.replace(details=details)
