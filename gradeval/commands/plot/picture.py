"""A picture as data: its panels, and the tables of the numbers behind it; and what is printed of it."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gradeval.arrays import Floats
from gradeval.commands.compare.compare import PairComparison
from gradeval.commands.study.tables import Study, spaced
from gradeval.commands.study.tables import document as study_document
from gradeval.errors import GradevalError, OptionError, visible
from gradeval.notices import Kind, Notice
from gradeval.render import Digits
from gradeval.render import document as doc
from gradeval.render.document import ABSENT, number, probability, signed

DRAWN = ("queries", "curve")
WIDTH = 80  # of a drawing
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_BELOW = " (below 0)"
_MOST_ENDS = 5  # queries that are named at either end
_MOST_VALUES = 6  # columns of the values of curves


class Axis(NamedTuple):
    label: str  # with the unit
    low: float | None = None  # where values end, None where they need not
    high: float | None = None
    log: bool = False  # logarithmic
    whole: bool = False  # of integers


@dataclass(frozen=True, eq=False)
class Line:
    """A line through (x, y), x ascending."""

    name: str
    x: Floats = field(repr=False)
    y: Floats = field(repr=False)
    low: Floats | None = field(default=None, repr=False)  # the interval or range at each x, if there is one
    high: Floats | None = field(default=None, repr=False)
    marked: bool = False  # whether each x has a value of its own, and not a sample of a curve
    points: tuple[tuple[str, float, float], ...] = ()  # (name, x, y), such as the control points of φ


@dataclass(frozen=True, eq=False)
class Bars:
    """A bar for each query, in the order they are drawn."""

    queries: tuple[str, ...] = field(repr=False)
    y: Floats = field(repr=False)  # values, or differences from a baseline
    mean: float
    low: float  # the interval of the mean, NaN where there is none
    high: float
    sign: int = 1  # -1 where lower is better
    pair: PairComparison | None = None  # what differences are of


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes with lines, or with bars. title: what distinguishes it from the others, '' for one alone."""

    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...] = ()
    bars: Bars | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Picture(Study):
    """A study that is drawn.

    panels: the parts of the picture, row by row. note: what intervals are, and over what; '' where there are
    none. across: panels that are side by side. same_y: whether values of all panels are to be compared, so that
    one range serves them.
    """

    layout = "gradeval.commands.plot.picture"

    kind: ClassVar[str] = "plot"
    panels: tuple[Panel, ...]
    note: str = ""
    across: int = 1
    same_y: bool = False

    _repr_html_ = None  # type: ignore[assignment]  # notebooks prefer it, and would not show the picture

    def _repr_svg_(self) -> str:
        data: bytes = drawing().image(self, "svg")[0]
        return data.decode()

    def _repr_png_(self) -> bytes:
        data: bytes = drawing().image(self, "png")[0]
        return data

    def save(self, path: str | os.PathLike[str], *, size: tuple[float, float] | None = None) -> None:
        """Save it as an SVG, PNG or PDF file, by the ending of the path. size: width and height in inches.

        Requires matplotlib: pip install 'gradeval[plot]'. Raises GradevalError.
        """
        from gradeval.formats.output import OutputFile

        path = os.fspath(path)
        format = format_of(path)
        file = OutputFile(path, (), "save")
        data, missing = drawing().image(self, format, size)
        if missing:
            warnings.warn(str(without_glyphs(missing)), stacklevel=2)
        file.write(data)


def format_of(path: str, option: str = "save") -> str:
    """'svg', 'png' or 'pdf', by the ending of the path. Raises OptionError."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in (".svg", ".png", ".pdf"):
        what = f"unknown ending '{ending}'" if ending else "no ending"
        raise OptionError(f"{option} {path}: {what}. The endings are .svg, .png and .pdf")
    return ending[1:]


def drawing() -> Any:
    """The module that draws with matplotlib. Raises GradevalError where that is not installed."""
    try:
        with warnings.catch_warnings():
            # those of matplotlib's modules, which --strict would make errors, are not about results
            warnings.simplefilter("ignore")
            return import_module("gradeval.commands.plot.figure")
    except ImportError:
        raise GradevalError(
            "matplotlib, which saves pictures, is not installed. Install it with pip install 'gradeval[plot]'"
        ) from None


def without_glyphs(missing: str) -> Notice:
    """The notice about characters that the font lacks."""
    return Notice(Kind.NO_GLYPHS, "", 0, rule=missing if len(missing) <= 10 else missing[:10] + "…")


# --- the document


def document(picture: Picture, how: doc.RenderOptions, *, table: str | None = None) -> doc.Document:
    """table: which one tsv and csv print, by default the first. Queries and curves are drawn in characters."""
    numbers = study_document(picture, how, table=table)
    if picture.name not in DRAWN:
        return numbers

    def blocks() -> Iterator[doc.Block]:
        for panel in picture.panels:
            if panel.bars is None:
                yield _curves(panel, how.digits)
                continue
            yield doc.Line(f"{visible(panel.title)}: {visible(panel.y.label)}", "strong")
            if len(panel.bars.y):
                yield doc.Lines(_bars(panel.bars, min(how.width or WIDTH, WIDTH) - len(_BELOW)))
            yield doc.Sentences(list(_of_bars(panel.bars, how.digits)))
        yield doc.Line(f"Intervals: {picture.note}.", "dim")

    return doc.Document(blocks=blocks, rows=numbers.rows, content=numbers.content)


def _bars(bars: Bars, width: int) -> list[str]:
    """A column for each query, or the mean of several; what is below 0 has a line of its own."""
    y = _sampled(bars.y, width)
    largest = float(np.abs(y).max())
    below = [_drawn(-y, 0.0, largest) + _BELOW] if (y < 0).any() else []
    return [line for line in (_drawn(y, 0.0, largest).rstrip(), *below) if line]


def _sampled(y: Floats, width: int) -> Floats:
    """The values, or the means of neighbours where there are more than the width."""
    if len(y) <= width:
        return y
    edges = np.linspace(0, len(y), width + 1).round().astype(int)
    means: Floats = np.add.reduceat(y, edges[:-1]) / np.diff(edges)
    return means


def _drawn(y: Floats, low: float, high: float) -> str:
    """A character for each value, as high as its share of the range; a blank for NaN, and below the range."""
    share = np.nan_to_num((y - low) / ((high - low) or 1.0), nan=-1.0).clip(-1.0, 1.0)
    eighths = np.where(share > 1e-9, np.maximum(np.rint(share * 8), 1), 0).astype(int)  # what is not 0 is seen
    return "".join(_EIGHTHS[eighth] for eighth in eighths.tolist())


def _of_bars(bars: Bars, digits: Digits) -> Iterator[str]:
    count, pair = len(bars.y), bars.pair
    if not count:
        yield "No query has a value."
        return
    write = number if pair is None else signed
    mean, *ends = (write(value, digits) for value in (bars.mean, bars.low, bars.high))
    interval = "" if math.isnan(bars.low) else f", interval {ends[0]} to {ends[1]}"
    queries = list(zip(bars.queries, bars.y.tolist(), strict=True))
    first, last = queries[:_MOST_ENDS], queries[: -_MOST_ENDS - 1 : -1]
    if pair is None:
        yield f"Mean of {count} {'query' if count == 1 else 'queries'}: {mean}{interval}."
        groups = {"Highest": first, "Lowest": last}
    else:
        p = "" if math.isnan(pair.p_corrected) else f", p {probability(pair.p_corrected, digits)}"
        means = " and ".join(number(mean, digits) for mean in (pair.baseline_mean, pair.mean))
        yield f"Won {pair.won}, tied {pair.tied}, lost {pair.lost}. Means {means}."
        yield f"Difference {mean}{interval}{p}."
        groups = {"Won most": [(query, value) for query, value in first if value * bars.sign > 0]}
        groups["Lost most"] = [(query, value) for query, value in last if value * bars.sign < 0]
    for what, named in groups.items() if count > 2 * _MOST_ENDS else [("Queries", queries)]:
        if named:
            yield f"{what}: {', '.join(f'{visible(query)} {write(value, digits)}' for query, value in named)}."


def _curves(panel: Panel, digits: Digits) -> doc.Grid:
    """The curve of each run, on one scale for all, and its values at some of the cutoffs."""
    lines, x = panel.lines, panel.lines[0].x
    places = spaced(len(x), _MOST_VALUES)
    y = np.concatenate([line.y[~np.isnan(line.y)] for line in lines])
    low, high = (float(y.min()), float(y.max())) if len(y) else (0.0, 0.0)
    low -= (high - low or 1.0) / 8  # so that the lowest value is seen
    rows = []
    for line in lines:
        ends = [number(float(of[-1]), digits) for of in (line.low, line.high) if of is not None]
        interval = ABSENT if ABSENT in ends else " to ".join(ends)
        values = (number(value, digits) for value in line.y[places].tolist())
        rows.append((visible(line.name), _drawn(_sampled(line.y, WIDTH // 2), low, high), *values, interval))
    at = [f"{x[place]:.15g}" for place in places]
    head = ("run", "curve", *at, f"interval at {at[-1]}")
    return doc.Grid(visible(panel.y.label), head, rows, labels=2)
