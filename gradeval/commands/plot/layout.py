"""The document of a picture: its numbers, the picture of queries and of curves in characters too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from string import ascii_letters
from unicodedata import east_asian_width

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.plot.picture import Axis, Bars, Panel, Picture
from gradeval.commands.study.tables import document as study_document
from gradeval.commands.study.tables import spaced
from gradeval.errors import visible
from gradeval.registry.metric import in_ascii
from gradeval.render.document import Block, Document, Grid, Lines, RenderOptions, Sentences
from gradeval.render.document import Line as TextLine
from gradeval.render.numbers import ABSENT, number, probability, signed
from gradeval.render.table import COLOURS, shortened, styled, wrapped, write_table

WIDTH = 80  # where there is no terminal
DRAWN = ("queries", "curve")
MARKS = ascii_letters[26:] + ascii_letters[:26]  # of lines, the capitals first
_MOST_WIDTH = 120
_LEAST_WIDTH = 30
_LEAST_BESIDE = 36  # of a chart next to another one
_MARGIN = 8  # about what the axis takes
_GAP = 3
_HEIGHT, _LOW_HEIGHT = 15, 11  # of a chart alone, and of one of several
_STEP = 9  # columns between the marks of a curve
_MOST_ENDS = 5  # queries that are named at either end
_MOST_VALUES = 6  # columns of the values of curves
_NAME = 24
_EIGHTHS, _HALVES = "▁▂▃▄▅▆▇█", "▄█"  # of a row, from below
_HALVES_DOWN = "▀█"
_TO_ASCII = str.maketrans("─·…−┤│└┼░▄▀█", "-.~-+|++:oo#")
_BAR_WIDTH = 8

Cell = tuple[str, int]
"""A character, and the position of its style, -1 for none."""
Chart = list[list[Cell]]
"""Rows of cells."""
_BLANK = (" ", -1)


def document(
    picture: Picture, how: RenderOptions, *, table: str | None = None, ascii: bool = False
) -> Document:
    """table: which one tsv and csv print, by default the first. ascii: draw with ASCII characters only.

    Queries and curves are drawn, as wide as the terminal, by default 80 characters.
    """
    numbers = study_document(picture, how, table=table)
    if picture.name not in DRAWN:
        return numbers
    how = how._replace(width=max(min(how.width or WIDTH, _MOST_WIDTH), _LEAST_WIDTH))

    def blocks() -> Iterator[Block]:
        values = (_values(panel, how) for panel in picture.panels if panel.bars is None)
        note = TextLine(f"Intervals: {picture.note}.", "dim")
        text = write_table((*_charts(picture, how, ascii), *values, note), how)
        yield Lines((in_ascii(text).translate(_TO_ASCII) if ascii else text).splitlines())

    return Document(blocks=blocks, rows=numbers.rows, content=numbers.content)


def _charts(picture: Picture, how: RenderOptions, ascii: bool) -> Iterator[Block]:
    panels, room = picture.panels, how.width or WIDTH
    across = max(1, min(picture.across, len(panels), (room + _GAP) // (_LEAST_BESIDE + _GAP)))
    width = (room - _GAP * (across - 1)) // across
    size = width - _MARGIN, _HEIGHT if len(panels) == 1 else _LOW_HEIGHT  # within the axes
    ranges = _ranges(panels)
    for first in range(0, len(panels), across):
        part = panels[first : first + across]
        titles = [_title(panel, width) for panel in part]
        charts = []
        for panel, title in zip(part, titles, strict=True):
            ends = ranges[panel.y]
            chart = _lines(panel, ends, *size) if panel.bars is None else _bars(panel.bars, ends, *size, ascii)
            above = [""] * (max(map(len, titles)) - len(title)) + title
            charts.append(_titled(chart, above, visible(panel.x.label)))
        yield Lines([_text(row, how.colour) for row in _beside(charts)])
        for panel in part:
            if panel.bars is not None:
                yield Sentences(list(_of_bars(panel.bars, how)))


def _ranges(panels: Sequence[Panel]) -> dict[Axis, tuple[float, float]]:
    """The lowest and the highest value of the panels that have an axis in common."""
    ranges: dict[Axis, tuple[float, float]] = {}
    for panel in panels:
        shown = [line.y for line in panel.lines] if panel.bars is None else [panel.bars.y, np.zeros(1)]
        if len(panel.lines) == 1:
            shown += [ends for ends in (panel.lines[0].low, panel.lines[0].high) if ends is not None]
        values = np.concatenate(shown)
        values = values[~np.isnan(values)]
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        before = ranges.get(panel.y, (low, high))
        ranges[panel.y] = min(low, before[0]), max(high, before[1])
    return ranges


def _title(panel: Panel, width: int) -> list[str]:
    """The lines above a chart; names that are wider are shortened."""
    title = f"{panel.title}: {panel.y.label}" if panel.title else panel.y.label
    return [line for wide in wrapped(visible(title), width) for line in shortened([wide], width)]


# --- charts


def _bars(bars: Bars, ends: tuple[float, float], width: int, height: int, ascii: bool) -> Chart:
    """A column for each query, or for several, above and below 0. ends: the values there must be room for."""
    y, count = bars.y, len(bars.y)
    if count > width:
        edges = np.linspace(0, count, width + 1).round().astype(int)
        y = np.add.reduceat(y, edges[:-1]) / np.diff(edges)
    share = min(max(width // max(count, 1), 1), _BAR_WIDTH)  # characters of a column
    low, high = min(0.0, ends[0]), max(0.0, ends[1])
    unit = step_of(high - low, height)
    above, below = math.ceil(high / unit - 1e-9), math.ceil(-low / unit - 1e-9)
    # a wide column has a gap after it
    heights = [
        height
        for value in (y / unit).tolist()
        for height in ([value] * share if share < 3 else [*[value] * (share - 1), 0.0])
    ]
    up = _HALVES if ascii or ends[0] < 0 else _EIGHTHS  # halves are as exact above 0 as below
    styles = (0, 1) if bars.sign > 0 else (1, 0)
    rows = [[_part(height, n, up, styles[0]) for height in heights] for n in range(above, 0, -1)]
    rows.append(_cells("─" * len(heights)))
    rows += [[_part(-height, n, _HALVES_DOWN, styles[1]) for height in heights] for n in range(1, below + 1)]
    every = next(step for step in (1, 2, 4, 5, 10, 10**6) if (above + below) / step <= 6)
    labelled = [n for n in range(-below, above + 1) if n % every == 0]
    texts = labels([unit * n for n in labelled])
    at = {above - n: text for n, text in zip(labelled, texts, strict=True)}
    return _with_axis(rows, at, above, "┼" if below else "└")


def _part(height: float, row: int, glyphs: str, style: int) -> Cell:
    """The part of a column that is in a row, 1 for the one next to 0. height: of the column, in rows."""
    part = math.floor((height - (row - 1)) * len(glyphs) + 0.5)
    if row == 1 and height > 1e-9:
        part = max(part, 1)  # what is not 0 is seen
    return (glyphs[min(part, len(glyphs)) - 1], style) if part > 0 else _BLANK


def _lines(panel: Panel, ends: tuple[float, float], width: int, height: int) -> Chart:
    """The lines of a panel, the later ones above the earlier, their marks above all."""
    lines, alone = panel.lines, len(panel.lines) == 1
    x = np.concatenate([line.x for line in lines])
    x_ends, y_ends = (float(x.min()), float(x.max())), rounded(*ends, 10, (panel.y.low, panel.y.high))
    chart = [[_BLANK] * width for _ in range(height)]

    def columns(x: Floats) -> Floats:
        return _share(x, x_ends, panel.x.log) * (width - 1)

    def rows(y: Floats) -> list[int]:
        """-1, which is no row, for NaN."""
        shares = (_share(y, y_ends) * (height - 1)).tolist()
        return [-1 if math.isnan(share) else height - 1 - round(share) for share in shares]

    def sampled(x: Floats, y: Floats) -> list[int]:
        """The rows of a line at each column from its first to its last."""
        return rows(np.interp(np.array(covered(x), np.float64), columns(x), y))

    def covered(x: Floats) -> range:
        first, last = (round(float(columns(x)[end])) for end in (0, -1))
        return range(max(first, 0), min(last, width - 1) + 1)

    def put(columns: Iterable[int], rows: Iterable[int], cell: Cell) -> None:
        for column, row in zip(columns, rows, strict=True):
            if 0 <= row < height:
                chart[row][column] = cell

    for style, line in enumerate(lines):
        at = covered(line.x)
        if alone and line.low is not None and line.high is not None:
            ends_of = zip(at, sampled(line.x, line.high), sampled(line.x, line.low), strict=True)
            for column, upper, lower in ends_of:
                put([column] * (lower + 1 - upper), range(upper, lower + 1), ("░", style))
        put(at, sampled(line.x, line.y), ("·", style))
    for style, line in enumerate(lines):
        mark = "o" if alone else MARKS[style % len(MARKS)]
        if len(line.x) * 2 <= width:
            put(map(round, columns(line.x).tolist()), rows(line.y), (mark, style))
        elif not alone:  # along the curve, each curve's at columns of their own
            first = _STEP * style // len(lines)
            for column, row in zip(covered(line.x), sampled(line.x, line.y), strict=True):
                if (column - first) % _STEP == 0:
                    put([column], [row], (mark, style))
    y_ticks, x_ticks = ticks(*y_ends, 5), _x_ticks(x_ends, width, panel.x)
    chart.append(_cells("─" * width))
    texts = dict(zip(rows(np.array(y_ticks)), labels(y_ticks), strict=True))
    chart = _with_axis(chart, texts, height, "└")
    below = _below(list(map(round, columns(np.array(x_ticks)).tolist())), labels(x_ticks), width)
    return [*chart, _cells(" " * (len(chart[0]) - width) + below)]


def _share(values: Floats, ends: tuple[float, float], log: bool = False) -> Floats:
    """The part of an axis that each value is at, from 0 to 1."""
    low, high = np.log(ends) if log else ends
    return (
        ((np.log(values) if log else values) - low) / (high - low) if high != low else np.full(len(values), 0.5)
    )


def _x_ticks(ends: tuple[float, float], width: int, axis: Axis) -> list[float]:
    low, high = ends
    if axis.log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = [step * 10.0**power for power in powers for step in (1, 2, 5)]
        return [step for step in steps if low <= step <= high]
    return sorted({low, *ticks(low, high, max(width // (8 if width > 40 else 6), 2), axis.whole), high})


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


def step_of(width: float, most: int, whole: bool = False) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten of which at most so many go into the width.

    whole: an integer.
    """
    if not width > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width / most))
    steps = (power * factor for factor in (1, 2, 2.5, 5, 10, 20))
    step = next(step for step in steps if width / step <= most * (1 + 1e-9))
    return step if not whole or step.is_integer() else 1.0 if step < 1 else math.ceil(step / 5) * 5.0


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


def _with_axis(rows: Chart, texts: Mapping[int, str], floor: int, corner: str) -> Chart:
    """The rows behind an axis. texts: of the ticks, by row. floor: the row of the other axis."""
    margin = max([5, *map(len, texts.values())])
    return [
        [*_cells(f"{texts.get(r, ''):>{margin}} {corner if r == floor else '┤' if r in texts else '│'}"), *row]
        for r, row in enumerate(rows)
    ]


def _titled(chart: Chart, title: Sequence[str], below: str) -> Chart:
    """The chart with lines above it, and one below it, to the right; its rows have the same width."""
    rows = [*map(_cells, title), *chart]
    rows.append(_cells(f"{below:>{max(map(len, rows))}}"))
    width = max(map(len, rows))
    return [[*row, *[_BLANK] * (width - len(row))] for row in rows]


def _beside(charts: Sequence[Chart]) -> Chart:
    """Charts next to each other."""
    rows: Chart = [[] for _ in range(max(map(len, charts)))]
    for position, chart in enumerate(charts):
        for r in range(len(rows)):
            rows[r] += _cells(" " * _GAP if position else "")
            rows[r] += chart[r] if r < len(chart) else [_BLANK] * len(chart[0])
    return rows


def _cells(text: str) -> list[Cell]:
    """The characters of a text; a wide one has an empty cell after it."""
    return [
        (part, -1)
        for character in text
        for part in ((character, "") if east_asian_width(character) in "FW" else (character,))
    ]


def _text(row: Sequence[Cell], colour: bool) -> str:
    parts = []
    for style, cells in groupby(row, key=lambda cell: cell[1]):
        text = "".join(character for character, _ in cells)
        has_style = colour and style >= 0 and text.strip() != ""
        parts.append(styled(text, COLOURS[style % len(COLOURS)], has_style))
    return "".join(parts).rstrip()


# --- numbers below


def _of_bars(bars: Bars, how: RenderOptions) -> Iterator[str]:
    count, room = len(bars.y), (how.width or WIDTH) - _MARGIN
    if not count:
        yield "No query has a value."
        return
    if count > room:
        low, high = count // room, -(-count // room)
        yield f"Each column is the mean of {low if low == high else f'{low} or {high}'} queries."
    pair, digits = bars.pair, how.digits
    write = number if pair is None else signed
    mean, *ends = (write(value, digits) for value in (bars.mean, bars.low, bars.high))
    interval = "" if math.isnan(bars.low) else f", interval {ends[0]} to {ends[1]}"
    if pair is None:
        yield f"Mean of {count} {'query' if count == 1 else 'queries'}: {mean}{interval}."
    else:
        p = "" if math.isnan(pair.p_corrected) else f", p {probability(pair.p_corrected, digits)}"
        means = " and ".join(number(mean, digits) for mean in (pair.baseline_mean, pair.mean))
        yield f"Won {pair.won}, tied {pair.tied}, lost {pair.lost}. Means {means}."
        yield f"Difference {mean}{interval}{p}."
    named = list(zip(bars.queries, bars.y.tolist(), strict=True))
    first, last = named[:_MOST_ENDS], named[: -_MOST_ENDS - 1 : -1]
    if count <= 2 * _MOST_ENDS:
        groups = [("Queries", named)]
    elif pair is None:
        groups = [("Highest", first), ("Lowest", last)]
    else:
        won = [(query, value) for query, value in first if value * bars.sign > 0]
        groups = [("Won most", won), ("Lost most", [(q, value) for q, value in last if value * bars.sign < 0])]
    for what, queries in groups:
        names = shortened([visible(query) for query, _ in queries], _NAME)
        values = (write(value, digits) for _, value in queries)
        listed = ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))
        if listed:
            yield f"{what}: {listed}."


def _values(panel: Panel, how: RenderOptions) -> Grid:
    """The letter and the name of each run, and its values at some of the cutoffs."""
    lines, letters = panel.lines, len(panel.lines) > 1
    x = lines[0].x
    places = spaced(len(x), _MOST_VALUES)
    at = [f"{x[place]:.15g}" for place in places]
    names = shortened([visible(line.name) for line in lines], _NAME)
    rows = []
    for row, line in enumerate(lines):
        cells = [number(float(line.y[place]), how.digits) for place in places]
        ends = [float(of[-1]) for of in (line.low, line.high) if of is not None]
        interval = " to ".join(number(end, how.digits) for end in ends)
        letter = [MARKS[row % len(MARKS)]] if letters else []
        rows.append([*letter, names[row], *cells, ABSENT if any(map(math.isnan, ends)) else interval])
    head = (*([""] if letters else []), "run", *at, f"interval at {at[-1]}")
    return Grid(panel.y.label, head, rows, labels=2 if letters else 1)
