"""What is drawn: charts side by side, each with axes, and lines or bars."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from gradeval.arrays import Floats
from gradeval.commands.compare.compare import PairComparison


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
    x: Floats
    y: Floats
    low: Floats | None = None  # the interval or range at each x, if there is one
    high: Floats | None = None
    marked: bool = False  # whether each x has a value of its own, and not a sample of a curve
    bound: Floats | None = None  # of a gate at each x, NaN where there was none
    points: tuple[tuple[str, float, float], ...] = ()  # (name, x, y), such as the control points of φ


@dataclass(frozen=True, eq=False)
class Bars:
    """A bar for each query, in the order they are drawn."""

    queries: tuple[str, ...]
    y: Floats  # values, or differences from a baseline
    mean: float
    low: float  # the interval of the mean, NaN where there is none
    high: float
    sign: int = 1  # -1 where lower is better
    pair: PairComparison | None = None  # what differences are of
    without_relevant: Collection[str] = ()  # the queries without a relevant document, where these are known


@dataclass(frozen=True, eq=False)
class Means:
    """The mean of each run with its interval, in order from the top; NaN where there is none."""

    names: tuple[str, ...]
    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes with lines, bars or means. title: what distinguishes it from the others, '' for one alone."""

    title: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...] = ()
    bars: Bars | None = None
    means: Means | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Charts:
    panels: tuple[Panel, ...]  # row by row
    note: str = ""  # what intervals are, and over what, '' where there are none
    across: int = 1  # panels that are side by side
    same_y: bool = False  # whether one range of values serves all panels
