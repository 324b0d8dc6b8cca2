"""Tables of texts that several formats draw, and numbers as text."""

from __future__ import annotations

import math
from typing import NamedTuple

from gradeval.render import Digits

ABSENT = "-"  # stands where there is no number


class Cell(NamedTuple):
    """What stands in a grid. mark: printed after it or as a superscript, such as the letters of runs."""

    text: str
    mark: str = ""
    bold: bool = False


class Grid(NamedTuple):
    """A table to draw.

    labels: how many of the first columns hold names, which are aligned to the left. left: further columns that
    are.
    Nothing in it can steer a terminal, or change the direction of other text.
    """

    title: str
    head: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    labels: int = 1
    left: frozenset[int] = frozenset()

    def is_left(self, column: int) -> bool:
        return column < self.labels or column in self.left


def number(value: float, digits: Digits) -> str:
    """A value or a difference; zero has no sign."""
    if math.isnan(value):
        return ABSENT
    if digits == "full" or math.isinf(value):
        return repr(float(value) + 0.0)
    text = f"{value:.{digits}f}"
    return text if text[0] != "-" or text.strip("-0.") else text[1:]


def signed(value: float, digits: Digits) -> str:
    """A difference, with its sign."""
    text = number(value, digits)
    return text if text == ABSENT or text[0] == "-" or not text.strip("0.") else f"+{text}"
