"""The levels of µAP, φ of nDCGφ, and the groups of rankDCG."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gradeval.analysis.explanation import Explanation, Phi
from gradeval.render import Digits
from gradeval.render.canvas import BLOCKS, NO_STYLE, Canvas, Scale, ticks
from gradeval.render.explanation.cells import Lines, Rows, grade_of, grid_of, value_of
from gradeval.render.grids import Grid, number

_CURVE_HEIGHT = 9
_AXIS, _LEAST_COLUMNS = 7, 20  # what the axis of the curve takes, and what it leaves
_MOST = 20  # rows of a table


def details(explanation: Explanation, ranks: int, digits: Digits) -> Iterator[Grid | str]:
    """The levels of µAP, φ of nDCGφ, the groups of rankDCG."""
    if explanation.levels:
        yield _levels(explanation, ranks, digits)
    if explanation.phi is not None:
        yield from phi_tables(explanation.phi, digits)
    if explanation.groups:
        rows = [
            {
                "grade": grade_of(one.grade),
                "level": str(one.level),
                "ideal positions": str(one.first) if one.first == one.last else f"{one.first}-{one.last}",
                "discount": number(one.discount, digits),
            }
            for one in explanation.groups
        ]
        yield grid_of(
            "Levels, which are the gains, and the discount that documents of a level share",
            _first(rows, "grade"),
            list(rows[0]),
        )


def _first(rows: Rows, label: str) -> Rows:
    """The first rows, and how many follow."""
    more = len(rows) - _MOST
    return [*rows[:_MOST], {label: f"{more} more"}] if more > 0 else rows


def _levels(explanation: Explanation, ranks: int, digits: Digits) -> Grid:
    """Scheel's table 1: a row for each threshold, or those of the largest weight, then the weighted mean."""
    heaviest = sorted(explanation.levels, key=lambda one: -one.weight)
    shown, others = sorted(heaviest[:_MOST], key=lambda one: one.grade), heaviest[_MOST:]
    length = min(len(explanation.levels[0].marks), ranks)
    marks = f"ranks 1-{length}" if length > 1 else "rank 1"
    rows: Rows = [
        {
            "levels": f"grade >= {grade_of(one.grade)}",
            marks: one.marks[:ranks],
            "relevant": str(one.relevant),
            "AP": number(one.average_precision, digits),
            "weight": number(one.weight, digits),
            "AP · weight": number(one.average_precision * one.weight, digits),
        }
        for one in shown
    ]
    if others:
        rest = math.fsum(one.average_precision * one.weight for one in others)
        rows.append({"levels": f"{len(others)} more", "AP · weight": number(rest, digits)})
    rows.append({"levels": "weighted mean", "AP · weight": value_of(explanation, digits)})
    return grid_of("AP at each level: + reaches it, - does not", rows, list(rows[0]))


def phi_tables(phi: Phi, digits: Digits) -> Iterator[Grid | str]:
    """The control points of φ, and φ of each grade."""
    points = [
        {"point": name, "grade": grade_of(grade), "φ": number(value, digits)}
        for name, grade, value in phi.points
    ]
    if points:
        yield grid_of("Control points of φ", points, ("point", "grade", "φ"))
    else:
        yield "There are no control points of φ: no grade is above 0."
    if phi.whisker is not None and all(name != "whisker" for name, _, _ in phi.points):
        whisker = number(phi.whisker, digits)
        yield f"The whisker, {whisker}, is no control point: no grade is an outlier above it."
    values = [
        {
            "grade": grade_of(grade),
            "judged": str(count),
            "φ": number(value, digits),
            "gain": number(gain, digits),
        }
        for grade, count, value, gain in phi.values
    ]
    yield grid_of("φ and gain 2^φ - 1 of each grade", _first(values, "grade"), ("grade", "judged", "φ", "gain"))


def curve(phi: Phi, width: int | None) -> Iterator[Lines]:
    """φ by grade, with the control points as o; nothing where all grades are equal."""
    if phi.curve[0][0] == phi.curve[-1][0]:
        return
    x, y = np.array(phi.curve).T
    columns = len(x) if width is None else max(min(len(x), width - _AXIS), _LEAST_COLUMNS)
    canvas = Canvas(columns, _CURVE_HEIGHT, Scale(x[0], x[-1]), Scale(0.0, 1.0))
    canvas.path(x, y, (BLOCKS.path, NO_STYLE))
    canvas.marks((point[1:] for point in phi.points), ("o", NO_STYLE))
    chart = canvas.chart([0.0, 0.5, 1.0], ticks(x[0], x[-1], columns // 10), BLOCKS)
    yield Lines(("  φ by grade", *chart.lines()))
