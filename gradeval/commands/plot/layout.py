"""The document of a picture: its numbers, the picture of queries and of curves in characters too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from string import ascii_letters
from typing import NamedTuple

import numpy as np

from gradeval.commands.plot.picture import Axis, Bars, Panel, Picture
from gradeval.commands.study.tables import document as study_document
from gradeval.commands.study.tables import spaced
from gradeval.errors import visible
from gradeval.registry.metric import in_ascii
from gradeval.render import Digits
from gradeval.render.canvas import (
    ASCII,
    BLOCKS,
    HALVES,
    NO_STYLE,
    Canvas,
    Chart,
    Glyphs,
    Scale,
    beside,
    column_chart,
    rounded,
    ticks,
    titled,
)
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
_TO_ASCII = str.maketrans({"─": "-", "·": "*", "…": "~", "−": "-"})
_BAR_WIDTH = 8


class PlotRenderOptions(NamedTuple):
    """How a picture is drawn in characters. ascii: without block characters and lines of them."""

    digits: Digits
    colour: bool
    width: int
    ascii: bool


def document(
    picture: Picture, how: RenderOptions, *, table: str | None = None, ascii: bool = False
) -> Document:
    """table: which one tsv and csv print, by default the first. ascii: draw with ASCII characters only.

    Queries and curves are drawn, as wide as the terminal, by default 80 characters.
    """
    numbers = study_document(picture, how, table=table)
    if picture.name not in DRAWN:
        return numbers
    width = max(min(how.width or WIDTH, _MOST_WIDTH), _LEAST_WIDTH)
    options = PlotRenderOptions(how.digits, how.colour, width, ascii)

    def blocks() -> Iterator[Block]:
        values = (_values(panel, options) for panel in picture.panels if panel.bars is None)
        note = TextLine(f"Intervals: {picture.note}.", "dim")
        parts = (*_charts(picture, options), *values, note)
        text = write_table(parts, how._replace(width=width))
        yield Lines((in_ascii(text).translate(_TO_ASCII) if ascii else text).splitlines())

    return Document(blocks=blocks, rows=numbers.rows, content=numbers.content)


def _charts(picture: Picture, options: PlotRenderOptions) -> Iterator[Block]:
    panels = picture.panels
    across = max(1, min(picture.across, len(panels), (options.width + _GAP) // (_LEAST_BESIDE + _GAP)))
    width = (options.width - _GAP * (across - 1)) // across
    size = width - _MARGIN, _HEIGHT if len(panels) == 1 else _LOW_HEIGHT  # within the axes
    ranges = _ranges(panels)
    for first in range(0, len(panels), across):
        part = panels[first : first + across]
        titles = [_title(panel, width) for panel in part]
        charts = []
        for panel, title in zip(part, titles, strict=True):
            draw = _lines if panel.bars is None else _bars
            above = [""] * (max(map(len, titles)) - len(title)) + title
            chart = draw(panel, ranges[panel.y], *size, options)
            charts.append(titled(chart, above, visible(panel.x.label)))
        yield Lines(_lines_of(beside(charts, _GAP), options))
        for panel in part:
            if panel.bars is not None:
                yield Sentences(list(_of_bars(panel.bars, options)))


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


def _lines_of(chart: Chart, options: PlotRenderOptions) -> Sequence[str]:
    if not options.colour:
        return chart.lines()
    lines = []
    for row in chart.rows:
        runs = (
            (style, "".join(c for c, _ in cells)) for style, cells in groupby(row, key=lambda cell: cell[1])
        )
        parts = [
            text if style == NO_STYLE or not text.strip() else styled(text, COLOURS[style % len(COLOURS)], True)
            for style, text in runs
        ]
        lines.append("".join(parts).rstrip())
    return lines


def _glyphs(options: PlotRenderOptions, signed: bool = False) -> Glyphs:
    return ASCII if options.ascii else HALVES if signed else BLOCKS


def _bars(
    panel: Panel, ends: tuple[float, float], width: int, height: int, options: PlotRenderOptions
) -> Chart:
    assert panel.bars is not None
    y, count = panel.bars.y, len(panel.bars.y)
    if count > width:
        edges = np.linspace(0, count, width + 1).round().astype(int)
        y = np.add.reduceat(y, edges[:-1]) / np.diff(edges)
    share = min(max(width // max(count, 1), 1), _BAR_WIDTH)
    styles = (0, 1) if panel.bars.sign > 0 else (1, 0)
    return column_chart(y, ends, share, height, _glyphs(options, ends[0] < 0), styles)


def _lines(
    panel: Panel, ends: tuple[float, float], width: int, height: int, options: PlotRenderOptions
) -> Chart:
    lines, alone, glyphs = panel.lines, len(panel.lines) == 1, _glyphs(options)
    x = np.concatenate([line.x for line in lines])
    y_range = rounded(*ends, 10, (panel.y.low, panel.y.high))
    x_scale = Scale(float(x.min()), float(x.max()), panel.x.log)
    canvas = Canvas(width, height, x_scale, Scale(*y_range))
    for place, line in enumerate(lines):
        if alone and line.low is not None and line.high is not None:
            canvas.band(line.x, line.low, line.high, (glyphs.band, place))
        canvas.path(line.x, line.y, (glyphs.path, place))
    for place, line in enumerate(lines):
        mark = "o" if alone else MARKS[place % len(MARKS)]
        if len(line.x) * 2 <= width:
            canvas.marks(zip(line.x.tolist(), line.y.tolist(), strict=True), (mark, place))
        elif not alone:  # along the curve, each curve's at columns of their own
            canvas.trail(line.x, line.y, (mark, place), _STEP * place // len(lines), _STEP)
    return canvas.chart(ticks(*y_range, 5), _x_ticks(x_scale, width, panel.x.whole), glyphs)


def _x_ticks(scale: Scale, width: int, whole: bool) -> list[float]:
    if scale.log:
        powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
        steps = [step * 10.0**power for power in powers for step in (1, 2, 5)]
        return [step for step in steps if scale.low <= step <= scale.high]
    between = ticks(scale.low, scale.high, max(width // (8 if width > 40 else 6), 2), whole)
    return sorted({scale.low, *between, scale.high})


def _of_bars(bars: Bars, options: PlotRenderOptions) -> Iterator[str]:
    count, room = len(bars.y), options.width - _MARGIN
    if not count:
        yield "No query has a value."
        return
    if count > room:
        low, high = count // room, -(-count // room)
        yield f"Each column is the mean of {low if low == high else f'{low} or {high}'} queries."
    write = number if bars.pair is None else signed
    mean, *ends = (write(value, options.digits) for value in (bars.mean, bars.low, bars.high))
    interval = "" if math.isnan(bars.low) else f", interval {ends[0]} to {ends[1]}"
    pair = bars.pair
    if pair is None:
        yield f"Mean of {count} {'query' if count == 1 else 'queries'}: {mean}{interval}."
    else:
        p = "" if math.isnan(pair.p_corrected) else f", p {probability(pair.p_corrected, options.digits)}"
        means = " and ".join(number(mean, options.digits) for mean in (pair.baseline_mean, pair.mean))
        yield f"Won {pair.won}, tied {pair.tied}, lost {pair.lost}. Means {means}."
        yield f"Difference {mean}{interval}{p}."
    named = list(zip(bars.queries, bars.y.tolist(), strict=True))
    if count <= 2 * _MOST_ENDS:
        yield f"Queries: {_listed(named, options, bars)}."
        return
    first, last = named[:_MOST_ENDS], named[: -_MOST_ENDS - 1 : -1]
    if pair is None:
        yield f"Highest: {_listed(first, options, bars)}."
        yield f"Lowest: {_listed(last, options, bars)}."
        return
    for what, ends_of, sign in (("Won most", first, bars.sign), ("Lost most", last, -bars.sign)):
        of_sign = [(query, value) for query, value in ends_of if value * sign > 0]
        if of_sign:
            yield f"{what}: {_listed(of_sign, options, bars)}."


def _listed(queries: Sequence[tuple[str, float]], options: PlotRenderOptions, bars: Bars) -> str:
    write = number if bars.pair is None else signed
    names = shortened([visible(query) for query, _ in queries], _NAME)
    values = (write(value, options.digits) for _, value in queries)
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))


def _values(panel: Panel, options: PlotRenderOptions) -> Grid:
    """The letter and the name of each run, and its values at some of the cutoffs."""
    lines, alone = panel.lines, len(panel.lines) == 1
    x = lines[0].x
    places = spaced(len(x), _MOST_VALUES)
    at = [f"{x[place]:.15g}" for place in places]
    rows = []
    names = shortened([visible(line.name) for line in lines], _NAME)
    for row, line in enumerate(lines):
        cells = [number(float(line.y[place]), options.digits) for place in places]
        letter = () if alone else (MARKS[row % len(MARKS)],)
        ends = [float(of[-1]) for of in (line.low, line.high) if of is not None]
        interval = (
            ABSENT if any(map(math.isnan, ends)) else " to ".join(number(end, options.digits) for end in ends)
        )
        rows.append((*letter, names[row], *cells, interval))
    head = (*(() if alone else ("",)), "run", *at, f"interval at {at[-1]}")
    return Grid(panel.y.label, head, rows, labels=1 if alone else 2)
