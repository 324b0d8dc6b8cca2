"""The parts that explanations are drawn from: rows by column name, grids of them, and drawings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gradeval.analysis.explanation import Explanation
from gradeval.errors import visible
from gradeval.render import Digits
from gradeval.render.grids import ABSENT, Cell, Grid, number

_LEFT = frozenset(("rank", "document", "title", "ideal", "ideal rank", "point", "levels"))


class Lines(NamedTuple):
    """Text whose line ends and spaces are kept: a drawing."""

    lines: tuple[str, ...]


Block = Grid | Lines | str
Rows = list[dict[str, str]]
"""Column -> text of each row; a column that a row lacks is blank."""


def value_of(explanation: Explanation, digits: Digits) -> str:
    return "undefined" if math.isnan(explanation.value) else number(explanation.value, digits)


def grade_of(grade: float | None) -> str:
    return ABSENT if grade is None else f"{grade:.15g}"


def grid_of(title: str, rows: Rows, names: Sequence[str]) -> Grid:
    """The columns of these names that are not blank everywhere."""
    names = [name for name in names if any(row.get(name) for row in rows)]
    cells = [tuple(Cell(row.get(name, "")) for name in names) for row in rows]
    labels = next((c for c, name in enumerate(names) if name not in _LEFT), len(names))
    left = frozenset(c for c, name in enumerate(names) if name in _LEFT)
    return Grid(title, tuple(map(visible, names)), cells, max(labels, 1), left)
