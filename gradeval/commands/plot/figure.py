"""Pictures drawn with matplotlib: its objects alone, nothing of pyplot, no settings of the user's.

Lines differ in colour (the colour-blind-safe palette of Okabe and Ito), in dashes and in
markers, so that they can be read in grey. The same picture has the same bytes.
"""

from __future__ import annotations

import io
import logging
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from gradeval.commands.plot.charts import Bars, Charts, Line, Means, Panel
from gradeval.errors import OptionError, visible
from gradeval.render.document import number, probability, signed

_BLUE, _ORANGE = "#0072B2", "#E69F00"
_COLOURS = (_BLUE, "#D55E00", "#009E73", "#000000", "#CC79A7", "#56B4E9", _ORANGE)
_DASHES = ("-", (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.2)), (0, (8, 2, 1, 2, 1, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")
_SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("font.size", "axes.labelsize", "axes.titlesize"), 8),
    **dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), 7),
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,  # a name may have a $
    "savefig.dpi": 300,
    "svg.fonttype": "path",
    "svg.hashsalt": "gradeval",
    "pdf.fonttype": 42,  # TrueType, which publishers ask for
}
# without the time and the version, which would change the bytes
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "gradeval"},
    "png": {"Software": "gradeval"},
    "pdf": {"CreationDate": None, "Creator": "gradeval", "Producer": None},
}
_MOST_INCHES = 100.0
_POINTS = 72  # in an inch
_ALONE, _WIDE = (5.0, 3.2), (6.5, 3.2)  # inches of one chart: of lines, and of bars
_SMALL, _SMALLER = (3.2, 2.3), (2.4, 1.9)  # of each of several
_LEAST_WIDTH, _LEAST_HEIGHT, _LEGEND = 1.5, 1.2, 0.6  # inches of a chart, and of what is around several
_ROW, _AROUND = 0.25, 1.1  # inches of a run in a chart of means, and of what is around
_NARROW = 2.2  # inches of a chart whose logarithmic axis has few numbers
_MOST_BANDS = 4  # lines with shaded intervals; those of more are drawn as error bars
_MARKS = 10  # on a line
_MOST_MARKS = 60  # on all lines, if each point has one
_BESIDE = 0.02  # of the bars: the room on either side of their mean
_CLOSE = 0.12  # of the axis: points whose names would touch
_MOST_BARS = 400  # that are drawn one by one
_LABEL = 6.6  # points that the name of a query takes on the axis
_NAME, _ID = 32, 16  # characters of a run's name and of a query's
_DIGITS = 4
_MANY = 6  # panels, of which three are side by side
_STEPS = [1, 2, 5, 10]  # between the numbers of an axis


def image(
    picture: Charts, format: str, size: tuple[float, float] | None = None, figure: Figure | None = None
) -> tuple[bytes, str]:
    """The picture in a format of matplotlib, and the characters that its font lacks. figure: as it was drawn
    before, and a user may have changed it. Raises OptionError.
    """
    if size is not None and not all(0 < inches <= _MOST_INCHES for inches in size):
        raise OptionError(f"size must be width and height in inches, up to {_MOST_INCHES:g}, not {size}")
    if figure is not None and size is not None:
        figure.set_size_inches(_size(size, len(picture.panels), _across(picture), False))
    with _settings() as caught:
        sink = io.BytesIO()
        (figure or _figure(picture, size)).savefig(sink, format=format, metadata=_METADATA[format])
    codes = {int(code[1]) for warning in caught if (code := re.match(r"Glyph (\d+) ", str(warning.message)))}
    return sink.getvalue(), "".join(map(chr, sorted(codes)))


def drawn(picture: Charts) -> Figure:
    """The picture as a figure of matplotlib."""
    with _settings():
        return _figure(picture, None)


@contextmanager
def _settings() -> Iterator[list[warnings.WarningMessage]]:
    """matplotlib's defaults with ours, and nothing on standard error about fonts and caches; the warnings."""
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with style.context(["default", _SETTINGS]), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield caught
    finally:
        logger.setLevel(level)


def _figure(picture: Charts, size: tuple[float, float] | None) -> Figure:
    panels = picture.panels
    of_bars = panels[0].bars is not None
    across = _across(picture)
    down = -(-len(panels) // across)
    lines, means = panels[0].lines, panels[0].means
    if size is None and means is not None:
        size = across * _SMALL[0], down * (_AROUND + _ROW * len(means.names))
    size = _size(size, len(panels), across, of_bars)
    figure = Figure(figsize=size, layout="constrained")
    rows = [panels[first : first + across] for first in range(0, len(panels), across)]
    is_same = all(len({panel.y for panel in row}) == 1 for row in rows)  # one axis serves a row
    share_y: Any = "row" if is_same else False
    if picture.same_y or (of_bars and is_same):
        share_y = "all"
    grid = figure.subplots(down, across, squeeze=False, sharey=share_y, sharex=bool(lines) and down > 1)
    handles = _draw_panels(grid, panels, size[0] / across, shares_y_label=is_same)
    if len(lines) > 1:
        _add_legend(figure, [_shown(line.name, _NAME) for line in lines], handles, size[0])
    if picture.note:
        intervals = "Shaded" if 0 < len(lines) <= _MOST_BANDS else "Error bars"
        figure.supxlabel(f"{intervals}: {picture.note}", fontsize=6.5, color="0.35")
    return figure


def _across(picture: Charts) -> int:
    """How many panels are side by side."""
    if picture.across > 1:
        return picture.across
    return min(len(picture.panels), 3 if len(picture.panels) > _MANY else 2)


def _draw_panels(grid: Any, panels: Sequence[Panel], width: float, shares_y_label: bool) -> list[Any]:
    """Draw the charts, each this wide; the handles of the last one's lines for the legend."""
    _, across = grid.shape
    for axes in list(grid.flat)[len(panels) :]:
        axes.remove()
    drawn = list(zip(grid.flat, panels, strict=False))
    handles = []
    for position, (axes, panel) in enumerate(drawn):
        handles = _draw(axes, panel, width, len(panels))
        is_below_another = position + across < len(panels)
        if shares_y_label and position % across:
            axes.set_ylabel("")
        if panel.lines and is_below_another:
            axes.set_xlabel("")
    for axes, panel in drawn:  # after all are drawn, since panels may share their axes
        if panel.lines:
            _range(axes, panel, width)
    return handles


def _size(size: tuple[float, float] | None, panels: int, across: int, of_bars: bool) -> tuple[float, float]:
    """The size in inches that was asked for, or the usual one. Raises OptionError where it is too small."""
    down = -(-panels // across)
    if size is None and panels == 1:
        return _WIDE if of_bars else _ALONE
    if size is None:
        panel_width, panel_height = _SMALLER if across > 2 else _SMALL
        return across * panel_width, down * panel_height
    wide = round(_LEAST_WIDTH * across, 2)
    high = round(_LEAST_HEIGHT * down + (_LEGEND if down > 1 else 0.0), 2)
    if size[0] < wide or size[1] < high:
        sentence = f"size {size[0]:g}x{size[1]:g} is too small for {across} by {down} charts"
        raise OptionError(f"{sentence}: give {wide:g}x{high:g} inches or more")
    return size


def _add_legend(figure: Figure, names: list[str], handles: list[Any], width: float) -> None:
    """The names of the lines above the charts, in as many columns as there is room for."""
    room = width * _POINTS / (max(map(len, names)) * 4 + 40)
    columns = max(1, min(len(names), int(room)))
    # a name that begins with _ would be left out, so names come afterwards
    widths = ["x" * len(name) for name in names]
    legend = figure.legend(
        handles, widths, loc="outside upper center", ncols=columns, frameon=False, handlelength=3
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)


def _shown(text: str, room: int | None = None) -> str:
    """Text without control characters, with a mark for what is not UTF-8, or not XML. room: in characters."""
    text = visible(text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    text = text.translate({0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD})
    if room is None or len(text) <= room:
        return text
    end = (room - 1) // 2
    return f"{text[: room - 1 - end]}…{text[-end:]}"


def _draw(axes: Any, panel: Panel, width: float, count: int) -> list[Any]:
    axes.set_xlabel(_shown(panel.x.label))
    axes.set_ylabel(_shown(panel.y.label))
    if panel.title:
        axes.set_title(_shown(panel.title, 60 if count == 1 else 44), loc="left")
    bars = panel.bars
    if panel.means is not None:
        _means(axes, panel.means)
        return []
    if bars is None:
        handles = [_line(axes, line, position, len(panel.lines)) for position, line in enumerate(panel.lines)]
        named = [line.points for line in panel.lines if line.points]
        if len(named) == 1:
            _name_points(axes, named[0])
        return handles
    summary = f"mean {number(bars.mean, _DIGITS)}"
    if (pair := bars.pair) is not None:
        mean = signed(bars.mean, _DIGITS).replace("-", "−")
        p = "" if math.isnan(pair.p_corrected) else f", p {probability(pair.p_corrected, _DIGITS)}"
        summary = f"{pair.won} won, {pair.tied} tied, {pair.lost} lost; mean {mean}{p}"
    axes.set_title(f"{axes.get_title(loc='left')}\n{summary}", loc="left")
    _bars(axes, bars, width)
    return []


def _range(axes: Any, panel: Panel, width: float) -> None:
    """The ends of the axes: none beyond what values can be."""
    low, high = axes.get_ylim()
    has_names = any(line.points for line in panel.lines)
    room = (0.06 if has_names else 0.02) * (high - low)  # for the lines at the very end
    if panel.y.low is not None and low < panel.y.low:
        low = panel.y.low - room
    if panel.y.high is not None and high > panel.y.high:
        high = panel.y.high + room
    axes.set_ylim(low, high)
    if panel.x.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if width >= _NARROW else (1,)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_locator(LogLocator(subs=()))
    elif panel.x.whole:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=_STEPS))


def _name_points(axes: Any, points: Sequence[tuple[str, float, float]]) -> None:
    """Names next to the points; those of points that are close together next to the last of them."""
    x_min, x_max = axes.get_xlim()
    together = []
    for (name, x, y), following in zip_longest(points, points[1:]):
        together.append(name)
        if following is not None and following[1] - x <= _CLOSE * (x_max - x_min):
            continue
        # above the last point, since the line comes from below
        offset, ha, va = ((6, -3), "left", "top") if following else ((-4, 4), "right", "bottom")
        axes.annotate(", ".join(together), (x, y), offset, textcoords="offset points", ha=ha, va=va, fontsize=7)
        together = []


def _line(axes: Any, line: Line, position: int, count: int) -> Any:
    colour, dashes = _COLOURS[position % len(_COLOURS)], _DASHES[position % len(_DASHES)]
    marker = _MARKERS[position % len(_MARKERS)]
    step = 1 if line.marked and len(line.x) * count <= _MOST_MARKS else max(1, len(line.x) // _MARKS)
    every = slice(step * position // count if step > 1 else 0, None, step)
    has_marks = line.marked or (count > 1 and not line.points)
    marks = {"marker": marker if has_marks else "", "markerfacecolor": "white" if position % 2 else colour}
    [drawn] = axes.plot(line.x, line.y, color=colour, linestyle=dashes, markevery=every, zorder=3, **marks)
    if line.low is not None and line.high is not None:
        if count <= _MOST_BANDS:
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, linewidth=0)
        else:
            errors = np.array([line.y - line.low, line.high - line.y])[:, every]
            thin = {"ecolor": colour, "elinewidth": 0.6, "alpha": 0.7}
            axes.errorbar(line.x[every], line.y[every], errors, fmt="none", **thin)
    if line.bound is not None:
        axes.plot(line.x, line.bound, color=colour, linestyle=":", linewidth=0.8, drawstyle="steps-mid")
    if line.points:
        x, y = (np.array([point[1:] for point in line.points]).T).tolist()
        axes.plot(x, y, linestyle="", marker=marker, color=colour, markersize=5, zorder=4)
    return drawn


def _means(axes: Any, means: Means) -> None:
    rows = np.arange(len(means.names))
    errors = np.nan_to_num([means.mean - means.low, means.high - means.mean])
    thin = {"ecolor": "black", "elinewidth": 0.8, "capsize": 2, "markersize": 4}
    axes.errorbar(means.mean, rows, xerr=errors, fmt="D", color=_BLUE, **thin)
    axes.set_yticks(rows, [_shown(name, _NAME) for name in means.names])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="x", color="0.9", linewidth=0.6)


def _bars(axes: Any, bars: Bars, width: float) -> None:
    count = len(bars.y)
    y = bars.y
    x = np.arange(1, count + 1)
    won, lost = (_BLUE, _ORANGE) if bars.sign > 0 else (_ORANGE, _BLUE)
    if count <= _MOST_BARS:
        axes.bar(x, y, width=0.8, color=np.where(y < 0, lost, won), linewidth=0)
    else:
        axes.fill_between(x, np.maximum(y, 0), color=won, linewidth=0)
        axes.fill_between(x, np.minimum(y, 0), color=lost, linewidth=0)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.axhline(bars.mean, color="black", linestyle=(0, (5, 2)), linewidth=0.8, zorder=3)
    beside = count + 0.5 + max(0.5, _BESIDE * count)  # where the mean stands
    if not math.isnan(bars.low):
        errors = [[bars.mean - bars.low], [bars.high - bars.mean]]
        sizes = {"markersize": 3, "capsize": 2}
        axes.errorbar([beside], [bars.mean], errors, fmt="D", color="black", elinewidth=1, zorder=4, **sizes)
    axes.set_xlim(0.4, beside + max(0.5, _BESIDE * count))
    room = (width - 0.7) * _POINTS / max(count, 1)
    if room >= _LABEL:
        names = [_shown(query, _ID) for query in bars.queries]
        is_wide = max(map(len, names), default=0) * _LABEL > room
        axes.set_xticks(x, names, rotation=90 if is_wide else 0, fontsize=min(7, room * 0.95))
        axes.tick_params(axis="x", length=0)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=_STEPS))
