"""What some metrics are made of besides their terms: levels of µAP, φ of nDCGφ, groups of rankDCG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from gradeval.arrays import Floats
from gradeval.arrays.segments import distinct
from gradeval.commands.explain.documents import Document, grades_of
from gradeval.commands.explain.result import Level, LevelGroup, Phi, Term
from gradeval.metrics._kernels import exp2_gain
from gradeval.metrics.average_precision import average_precision
from gradeval.metrics.ndcg_phi import control_points, fitted_phi, named_points, phi_through
from gradeval.tables.judgments import Judgments

_SAMPLES = 64  # of the curve of φ, between its ends


def scaled(name: str, judgments: Judgments, params: dict[str, Any]) -> tuple[str, Callable[[Floats], Floats]]:
    """What the gains of a metric are made from in place of grades: its name, and grades -> it; '' for none.

    judgments: of one query.
    """
    if name == "NDCNG":
        highest = float(judgments.highest[0])
        return "grade/m", lambda grade: np.maximum(grade, 0.0) / (highest or 1.0)
    if name == "nDCGphi":
        return "φ", _phi(judgments, params)
    return "", lambda grade: grade


def _phi(judgments: Judgments, params: dict[str, Any]) -> Callable[[Floats], Floats]:
    if "points" in params:
        return lambda grade: phi_through(params["points"], grade)
    fitted = fitted_phi(judgments, params.get("variant", "paper"))
    return lambda grade: fitted(np.maximum(grade, 0.0), np.zeros(len(grade), np.int64))


def phi_of(judgments: Judgments, params: dict[str, Any], samples: int = _SAMPLES) -> Phi:
    """φ of nDCGφ for a table of one query. samples: of the curve."""
    phi = _phi(judgments, params)
    points: list[tuple[str, float, float]]
    if "points" in params:
        points, whisker = [("given", *point) for point in params["points"]], None
    else:
        variant = params.get("variant", "paper")
        points = [(name, *point) for name, point in named_points(judgments, variant)[0].items()]
        whisker = float(control_points(judgments, variant)[0][0, 2])
        if judgments.highest[0] <= 0:  # φ is 0 at every grade, which points would contradict
            points, whisker = [], None
    grades, ordered = distinct(judgments.grade)[::-1], np.sort(judgments.grade)
    counts = np.searchsorted(ordered, grades, "right") - np.searchsorted(ordered, grades)
    values = phi(grades)
    rows = zip(grades.tolist(), counts.tolist(), values.tolist(), exp2_gain(values).tolist(), strict=True)
    ends = (min(points[0][1], float(grades[-1])), points[-1][1]) if points else (0.0, 0.0)
    at = np.linspace(*ends, samples)
    curve = zip(at.tolist(), phi(at).tolist(), strict=True)
    return Phi(tuple(points), whisker, tuple(rows), tuple(curve))


def levels_of(judgments: Judgments, ranked: Sequence[Document]) -> tuple[Level, ...]:
    """The levels of µAP for a table of one query, the lowest first. ranked: the documents in rank order."""
    grades = distinct(judgments.grade[judgments.grade > 0]).tolist()
    of_ranked = grades_of(ranked)
    return tuple(
        Level(
            grade,
            int(np.count_nonzero(judgments.grade >= grade)),
            float(average_precision(judgments, rel=grade).values()[0]),
            (grade - before) / grades[-1],
            np.where(of_ranked >= grade, b"+", b"-").tobytes().decode(),
        )
        for before, grade in zip([0.0, *grades], grades, strict=False)
    )


def groups_of(ideal: Sequence[Term]) -> tuple[LevelGroup, ...]:
    """The documents of each grade in the ideal ranking of rankDCG."""
    groups = []
    for level, members in groupby(ideal, key=lambda one: one.gain):
        terms = list(members)
        first, last = terms[0], terms[-1]
        if first.document is not None:
            grade, positions = first.document.grade or 0.0, (first.position or 0, last.position or 0)
            groups.append(LevelGroup(int(level or 0), grade, *positions, first.discount or 0.0))
    return tuple(groups)
