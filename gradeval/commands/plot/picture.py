"""A picture as data: its panels, and the tables of the numbers behind it."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from gradeval.arrays import Floats
from gradeval.commands.compare.result import PairComparison
from gradeval.commands.study.tables import Study
from gradeval.errors import GradevalError, OptionError
from gradeval.notices import Kind, Notice


class Axis(NamedTuple):
    """label: with the unit. low, high: where values end, None where they need not. log: logarithmic.

    whole: of integers.
    """

    label: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False


@dataclass(frozen=True, eq=False)
class Line:
    """A line through (x, y), x ascending. low, high: the interval or range at each x, None where there is none.

    marked: whether each x has a value of its own, and not a sample of a curve. points: (name, x, y) of those
    that have a name, such as the control points of φ.
    """

    name: str
    x: Floats = field(repr=False)
    y: Floats = field(repr=False)
    low: Floats | None = field(default=None, repr=False)
    high: Floats | None = field(default=None, repr=False)
    marked: bool = False
    points: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Bars:
    """A bar for each query, in the order they are drawn.

    y: values, or differences from a baseline. sign: -1 where lower is better. mean: of y, low, high: its
    interval; NaN where there is none. pair: what differences are of.
    """

    queries: tuple[str, ...] = field(repr=False)
    y: Floats = field(repr=False)
    mean: float
    low: float
    high: float
    sign: int = 1
    pair: PairComparison | None = None


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

    layout = "gradeval.commands.plot.layout"

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
        try:
            file.write(data)
        except OSError as error:
            raise GradevalError(f"{path} cannot be written ({error.strerror or error})") from None


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
