"""Charts of characters: lines on a canvas, columns above and below 0, and their axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from unicodedata import east_asian_width

import numpy as np

from gradeval.arrays import Floats

NO_STYLE = -1


class Glyphs(NamedTuple):
    """The characters of axes and columns. up: columns of 1/n … n/n of a row; down: the same from above."""

    tick: str
    side: str
    corner: str
    floor: str
    zero: str
    path: str
    band: str
    up: str
    down: str


BLOCKS = Glyphs("┤", "│", "└", "─", "┼", "·", "░", "▁▂▃▄▅▆▇█", "▀█")
HALVES = BLOCKS._replace(up="▄█")  # as exact above 0 as below
ASCII = Glyphs("+", "|", "+", "-", "+", ".", ":", "o#", "o#")

Cell = tuple[str, int]
"""A character, and the position of its style, NO_STYLE for none."""


@dataclass(frozen=True)
class Chart:
    """Rows of cells, all of one width."""

    rows: tuple[tuple[Cell, ...], ...]

    @property
    def width(self) -> int:
        return len(self.rows[0])

    def lines(self) -> list[str]:
        """The rows without styles."""
        return ["".join(character for character, _ in row).rstrip() for row in self.rows]


class Scale(NamedTuple):
    """The part of an axis that a value is at, from 0 to 1."""

    low: float
    high: float
    log: bool = False

    def at(self, values: Floats) -> Floats:
        ends = np.array([self.low, self.high])
        if self.log:
            values, ends = np.log(values), np.log(ends)
        width = ends[1] - ends[0]
        return (values - ends[0]) / width if width else np.full(len(values), 0.5)


def step_of(width: float, most: int, whole: bool = False) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten of which at most so many go into the width.

    whole: an integer.
    """
    if not width > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width / most))
    steps = [power * one for one in (1, 2, 2.5, 5, 10, 20)]
    found = next(step for step in steps if width / step <= most * (1 + 1e-9))
    return found if not whole or found.is_integer() else 1.0 if found < 1 else math.ceil(found / 5) * 5.0


def ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """Round numbers from low to high. whole: integers."""
    step = step_of(high - low, most, whole)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [step * n for n in range(first, last + 1)]


def rounded(low: float, high: float, most: int, ends: tuple[float | None, float | None]) -> tuple[float, float]:
    """The range, widened to round numbers, but not beyond the ends."""
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = step_of(high - low, most)
    low, high = step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)
    return (low if ends[0] is None else max(low, ends[0])), (high if ends[1] is None else min(high, ends[1]))


def labels(values: Sequence[float]) -> list[str]:
    """The numbers with as many decimals as they need."""
    for digits in range(8):
        texts = [f"{value + 0.0:.{digits}f}" for value in values]
        off = (abs(float(text) - value) for text, value in zip(texts, values, strict=True))
        if max(off, default=0.0) <= 1e-9 * max(map(abs, values), default=0.0):
            return texts
    return [f"{value:.6g}" for value in values]


class Canvas:
    """Cells in which lines are drawn, the later ones above the earlier."""

    def __init__(self, width: int, height: int, x: Scale, y: Scale) -> None:
        self.width, self.height, self.x, self.y = width, height, x, y
        self._cells: list[list[Cell]] = [[(" ", NO_STYLE)] * width for _ in range(height)]

    def columns(self, x: Floats) -> list[int]:
        return [round(one) for one in (self.x.at(x) * (self.width - 1)).tolist()]

    def rows(self, y: Floats) -> list[int]:
        """-1, which is no row, for NaN."""
        top = self.height - 1
        return [-1 if math.isnan(one) else top - round(one) for one in (self.y.at(y) * top).tolist()]

    def put(self, column: int, row: int, cell: Cell) -> None:
        if 0 <= column < self.width and 0 <= row < self.height:
            self._cells[row][column] = cell

    def _sampled(self, x: Floats, y: Floats) -> tuple[list[int], Floats]:
        """The columns from the first to the last x, and y there."""
        place = self.x.at(x) * (self.width - 1)
        first, last = (round(float(place[end])) for end in (0, -1))
        columns = list(range(max(first, 0), min(last, self.width - 1) + 1))
        return columns, np.interp(np.array(columns, np.float64), place, y)

    def path(self, x: Floats, y: Floats, cell: Cell) -> None:
        self.trail(x, y, cell, 0, 1)

    def trail(self, x: Floats, y: Floats, cell: Cell, first: int, step: int) -> None:
        """The path at every step-th column."""
        columns, at = self._sampled(x, y)
        for column, row in zip(columns, self.rows(at), strict=True):
            if (column - first) % step == 0:
                self.put(column, row, cell)

    def band(self, x: Floats, low: Floats, high: Floats, cell: Cell) -> None:
        columns, lows = self._sampled(x, low)
        _, highs = self._sampled(x, high)
        known = ~np.isnan(lows + highs)
        for column, upper, lower, is_known in zip(
            columns, self.rows(highs), self.rows(lows), known, strict=True
        ):
            for row in range(upper, lower + 1) if is_known else ():
                self.put(column, row, cell)

    def marks(self, points: Iterable[tuple[float, float]], cell: Cell) -> None:
        x, y = np.array(list(points)).reshape(-1, 2).T
        for column, row in zip(self.columns(x), self.rows(y), strict=True):
            self.put(column, row, cell)

    def chart(self, y_ticks: Sequence[float], x_ticks: Sequence[float], glyphs: Glyphs) -> Chart:
        """The cells with their axes."""
        at = dict(zip(self.rows(np.array(y_ticks)), labels(y_ticks), strict=True))
        margin = max([5, *map(len, at.values())])
        lines = []
        for row, cells in enumerate(self._cells):
            side = f"{at.get(row, ''):>{margin}} {glyphs.tick if row in at else glyphs.side}"
            lines.append([*_plain(side), *cells])
        lines.append(_plain(" " * (margin + 1) + glyphs.corner + glyphs.floor * self.width))
        below = _below(self.columns(np.array(x_ticks)), labels(x_ticks), self.width)
        lines.append(_plain(" " * (margin + 2) + below))
        return _even(lines)


def column_chart(
    y: Floats, ends: tuple[float, float], share: int, height: int, glyphs: Glyphs, styles: tuple[int, int]
) -> Chart:
    """A column for each value, `share` characters wide, above and below 0.

    ends: the lowest and the highest value that there must be room for. height: about so many rows. styles: of
    the columns above 0 and of those below.
    """
    low, high = min(0.0, ends[0]), max(0.0, ends[1])
    unit = step_of(high - low, height)
    above, below = math.ceil(high / unit - 1e-9), math.ceil(-low / unit - 1e-9)
    cells = [part for value in (y / unit).tolist() for part in _repeated(value, share)]
    every = next(one for one in (1, 2, 4, 5, 10, 10**6) if (above + below) / one <= 6)
    labelled = [n for n in range(-below, above + 1) if n % every == 0]
    shown = dict(zip(labelled, labels([unit * n for n in labelled]), strict=True))
    margin = max([5, *map(len, shown.values())])
    lines: list[list[Cell]] = []

    def side(n: int, glyph: str) -> list[Cell]:
        return _plain(f"{shown.get(n, ''):>{margin}} {glyph}")

    for n in range(above, 0, -1):
        row = [_part(one, n, glyphs.up, styles[0]) for one in cells]
        lines.append([*side(n, glyphs.tick if n in shown else glyphs.side), *row])
    lines.append([*side(0, glyphs.zero if below else glyphs.corner), *_plain(glyphs.floor * len(cells))])
    for n in range(1, below + 1):
        row = [_part(-one, n, glyphs.down, styles[1]) for one in cells]
        lines.append([*side(-n, glyphs.tick if -n in shown else glyphs.side), *row])
    return _even(lines)


def _repeated(value: float, share: int) -> list[float]:
    """A column, wide ones with a gap after it."""
    return [value] * share if share < 3 else [*[value] * (share - 1), 0.0]


def _part(height: float, row: int, glyphs: str, style: int) -> Cell:
    """The part of a column that is in a row, 1 for the one next to 0. height: of the column, in rows."""
    part = math.floor((height - (row - 1)) * len(glyphs) + 0.5)
    if row == 1 and height > 1e-9:
        part = max(part, 1)  # what is not 0 is seen
    return (glyphs[min(part, len(glyphs)) - 1], style) if part > 0 else (" ", NO_STYLE)


def _below(places: Sequence[int], texts: Sequence[str], width: int) -> str:
    """The labels below their columns; those that would touch another are left out, the last one stays."""
    line = [" "] * (width + 20)
    end = len(line)
    for place, text in reversed(list(zip(places, texts, strict=True))):
        start = max(0, place - len(text) // 2) if place < width - 1 else max(0, width - len(text))
        if start + len(text) < end:
            line[start : start + len(text)] = text
            end = start
    return "".join(line).rstrip()


def _plain(text: str) -> list[Cell]:
    """The characters of a text; a wide one has an empty cell after it."""
    if text.isascii():
        return [(character, NO_STYLE) for character in text]
    pairs = ((character, "") if east_asian_width(character) in "FW" else character for character in text)
    return [(character, NO_STYLE) for pair in pairs for character in pair]


def _even(lines: Iterable[Sequence[Cell]]) -> Chart:
    lines = list(lines)
    width = max(map(len, lines))
    return Chart(tuple((*line, *[(" ", NO_STYLE)] * (width - len(line))) for line in lines))


def beside(charts: Sequence[Chart], gap: int = 3) -> Chart:
    """Charts next to each other."""
    height = max(len(chart.rows) for chart in charts)
    lines: list[list[Cell]] = [[] for _ in range(height)]
    for position, chart in enumerate(charts):
        empty = _plain(" " * chart.width)
        for row, line in enumerate(lines):
            line.extend(_plain(" " * gap if position else ""))
            line.extend(chart.rows[row] if row < len(chart.rows) else empty)
    return _even(lines)


def titled(chart: Chart, title: Sequence[str], below: str = "") -> Chart:
    """The chart with lines above it, and one below it, to the right."""
    above = [_plain(line) for line in title]
    width = max(chart.width, *map(len, above))
    lines: list[Sequence[Cell]] = [*above, *chart.rows]
    return _even([*lines, _plain(f"{below:>{width}}")] if below else lines)
